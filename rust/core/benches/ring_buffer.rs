// SPDX-License-Identifier: GPL-2.0

//! Time of one event, of one consumed, of one parsed.

#[path = "../tests/ring_buffer/memory.rs"]
mod memory;

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, Criterion};
use memory::{Clock, Memory};
use rtrace_core::ring_buffer::parse::Page;
use rtrace_core::ring_buffer::Context;

fn write(memory: &Memory, clock: &Clock) {
    clock.advance(1);
    if let Some(mut event) = memory.writer(black_box(Context::NORMAL)).reserve(clock, 16) {
        event.payload().copy_from_slice(&black_box([7; 16]));
        let _ = event.commit();
    }
}

fn benches(criterion: &mut Criterion) {
    let memory = Memory::new(64, 4096);
    let clock = Clock::default();
    criterion.bench_function("write 16 bytes", |bencher| {
        bencher.iter(|| write(&memory, &clock))
    });
    criterion.bench_function("write 16 bytes and consume", |bencher| {
        let mut reader = memory.reader();
        bencher.iter(|| {
            write(&memory, &clock);
            black_box(reader.consume().map(|event| event.time))
        })
    });

    let mut page = vec![0; 4096];
    for _ in 0..1000 {
        write(&memory, &clock);
    }
    memory
        .reader()
        .copy_page(&mut page, usize::MAX, false)
        .expect("events were written");
    criterion.bench_function("parse a page", |bencher| {
        bencher.iter(|| Page::parse(black_box(&page)).map(|page| page.events().count()))
    });
}

criterion_group!(ring_buffer, benches);
criterion_main!(ring_buffer);
