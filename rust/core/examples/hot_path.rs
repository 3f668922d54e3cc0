// SPDX-License-Identifier: GPL-2.0

//! The recording of an event as one function, for disassembly with objdump and for counting
//! instructions (`scripts` and the ring buffer's document say how). It stands for the callback of a
//! tracer with a 16-byte entry.

use std::hint::black_box;

use rtrace_core::ring_buffer::{Context, CpuBuffer, Env, Wake};

#[path = "../tests/ring_buffer/memory.rs"]
mod memory;

/// A clock of one load, so that the count shows the ring buffer's cost.
struct Tick(u64);

impl Env for Tick {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.0
    }
}

/// Reserves, fills and commits an event of 16 bytes.
///
/// # Safety
///
/// As [`CpuBuffer::writer`].
#[no_mangle]
#[inline(never)]
unsafe extern "C" fn hot_path(buffer: &CpuBuffer, tick: &u64, level: u32, a: u64, b: u64) -> bool {
    let env = Tick(*tick);
    // SAFETY: nothing that interrupts this writes at `level`.
    let writer = unsafe { buffer.writer(Context::from_interrupt_level(level)) };
    let Some(header) = writer.reserve_raw(&env, 16) else {
        return false;
    };
    // SAFETY: 16 bytes of payload follow the header.
    unsafe {
        header.as_ptr().add(4).cast::<u64>().write_unaligned(a);
        header.as_ptr().add(12).cast::<u64>().write_unaligned(b);
    }
    // SAFETY: the event was reserved above.
    unsafe { writer.commit_raw(&env) == Wake::Wanted }
}

fn main() {
    let memory = memory::Memory::new(8, 4096);
    for i in 0..1000 {
        // SAFETY: one thread, no nesting.
        unsafe {
            hot_path(
                black_box(memory.buffer()),
                black_box(&i),
                black_box(0),
                i,
                i,
            )
        };
    }
    println!("{:?}", memory.buffer().stats());
}
