// SPDX-License-Identifier: GPL-2.0

//! A test of the ring buffer at the end of boot (`CONFIG_RING_BUFFER_STARTUP_TEST`).
//!
//! For ten seconds a thread on each CPU writes to one buffer, and interrupts of all CPUs write in
//! between. Each event has a number, and a text of another length than the one before. Then all is
//! read: what was written must be there, unchanged and in order, or be counted as lost. The result
//! is in the kernel log.

use crate::kernel::context::PreemptOff;
use crate::kernel::cpus;
use crate::kernel::fs::lockdown::check_lockdown;
use crate::kernel::kthread::{Place, ThisThread, Thread};
use crate::trace::buffer::{Buffer, Part};
use kernel::cpu::{self, CpuId};
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;
use kernel::time::{delay::fsleep, Delta, Instant, Monotonic};

/// The bytes of buffer for each CPU.
const SIZE: usize = 1 << 20;
/// How long is written.
const LENGTH: Delta = Delta::from_secs(10);
/// What interrupts are sent in one go. Between two goes other tasks run.
const INTERRUPTS: u32 = 50;
/// The text of which each event has the beginning.
const TEXT: &[u8] = b"Each event has a part of this text, from none of it up to all of it, by its number: 0123456789";
/// The bytes before the text: [`Head`].
const HEAD: usize = size_of::<Head>();

/// Who writes an event.
#[derive(Clone, Copy)]
enum Writer {
    Task,
    Interrupt,
}

/// Their number.
const WRITERS: usize = 2;

/// The words before the text: who wrote the event, as how manieth of the CPU, and the text's length.
type Head = [u64; 3];

/// The length of the text of an event. Neighbours differ.
fn length_of(number: u64) -> usize {
    (number.wrapping_mul(37) % (TEXT.len() as u64 + 1)) as usize
}

/// What one writer has done on one CPU. Only this writer changes it.
struct Count {
    written: Atomic<u64>,
    refused: Atomic<u64>,
}

impl Count {
    const NONE: Self = Self {
        written: Atomic::new(0),
        refused: Atomic::new(0),
    };
}

struct Test {
    buffer: Pin<KBox<Buffer>>,
    /// By CPU number.
    counts: KVec<[Count; WRITERS]>,
    ended: Atomic<bool>,
}

/// Runs the test. The end of boot, task context, sleeps.
pub(crate) fn run() {
    if check_lockdown().is_err() {
        return pr_warn!("Lockdown is enabled, skipping ring buffer tests\n");
    }
    pr_info!("Running ring buffer tests...\n");
    let test = match Test::new().and_then(write) {
        Ok(test) => test,
        Err(error) => return pr_warn!("the ring buffer was not tested: {:?}\n", error),
    };
    pr_info!("finished\n");
    let passed = cpus::online().try_for_each(|cpu| test.check(cpu).map_err(|fault| (cpu, fault)));
    match passed {
        Ok(()) => pr_info!("Ring buffer PASSED!\n"),
        Err((cpu, fault)) => {
            pr_info!("CPU {}: {}: FAILED!\n", cpu.as_u32(), fault);
            kernel::warn_on!(true);
        }
    }
}

/// Writes from threads and interrupts until the time is over.
fn write(test: Test) -> Result<Arc<Test>> {
    let test = Arc::new(test, GFP_KERNEL)?;
    let mut threads = KVec::new();
    for cpu in cpus::online() {
        let test = test.clone();
        let work = move |_: &ThisThread| test.write_as_task();
        threads.push(
            Thread::run(c"rtrace-buffer", Place::On(cpu), work)?,
            GFP_KERNEL,
        )?;
    }
    let start = Instant::<Monotonic>::now();
    while start.elapsed() < LENGTH {
        for _ in 0..INTERRUPTS {
            cpus::on_each(|| test.write(Writer::Interrupt));
        }
        fsleep(Delta::from_micros(1));
    }
    test.ended.store(true, Relaxed);
    drop(threads);
    Ok(test)
}

impl Test {
    fn new() -> Result<Self> {
        let buffer = KBox::try_pin_init(Buffer::new(SIZE, true), GFP_KERNEL)?;
        cpus::online().try_for_each(|cpu| buffer.prepare(cpu))?;
        let mut counts = KVec::new();
        for _ in 0..cpu::nr_cpu_ids() {
            counts.push([const { Count::NONE }; WRITERS], GFP_KERNEL)?;
        }
        Ok(Self {
            buffer,
            counts,
            ended: Atomic::new(false),
        })
    }

    fn count(&self, cpu: CpuId, writer: Writer) -> Option<&Count> {
        self.counts.get(cpu.as_u32() as usize)?.get(writer as usize)
    }

    fn write_as_task(&self) {
        while !self.ended.load(Relaxed) {
            for _ in 0..100 {
                self.write(Writer::Task);
            }
            fsleep(Delta::from_micros(1));
        }
    }

    /// Writes one event. Task or interrupt context.
    fn write(&self, writer: Writer) {
        let _stay = PreemptOff::new();
        let Some(count) = self.count(CpuId::current(), writer) else {
            return;
        };
        let number = count.written.load(Relaxed);
        let length = length_of(number);
        let head: Head = [writer as u64, number, length as u64];
        let mut event = [0; HEAD + TEXT.len()];
        let (words, text) = event.split_at_mut(HEAD);
        for (to, word) in words.chunks_exact_mut(8).zip(head) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        text.copy_from_slice(TEXT);
        let event = event.get(..HEAD + length).unwrap_or(&[]);
        let (count, was) = match self.buffer.write_raw(event) {
            Some(()) => (&count.written, number),
            None => (&count.refused, count.refused.load(Relaxed)),
        };
        count.store(was.wrapping_add(1), Relaxed);
    }

    /// Reads what `cpu` has recorded and says what is wrong with it.
    fn check(&self, cpu: CpuId) -> Result<(), &'static str> {
        let part = self.buffer.cpu(cpu).ok_or("no buffer")?;
        let counts = [Writer::Task, Writer::Interrupt].map(|writer| {
            let count = self.count(cpu, writer);
            count.map_or((0, 0), |count| {
                (count.written.load(Relaxed), count.refused.load(Relaxed))
            })
        });
        let [(tasks, refused), (interrupts, refused_there)] = counts;
        let (read, lost) = read(part, [tasks, interrupts])?;
        pr_info!(
            "CPU {}: {} events of a task, {} of interrupts; {} read, {} lost, {} refused\n",
            cpu.as_u32(),
            tasks,
            interrupts,
            read,
            lost,
            refused.wrapping_add(refused_there)
        );
        match (refused.wrapping_add(refused_there), tasks, interrupts) {
            (1.., ..) => Err("events were refused"),
            (_, 0, _) | (_, _, 0) => Err("a writer wrote nothing"),
            _ if read.wrapping_add(lost) != tasks.wrapping_add(interrupts) => {
                Err("events are neither there nor lost")
            }
            _ => Ok(()),
        }
    }
}

/// Reads all events of one CPU, of which there were as many as `written` says by writer. The number of
/// events, and of those that are counted as lost.
fn read(part: Part<'_>, written: [u64; WRITERS]) -> Result<(u64, u64), &'static str> {
    let mut reader = part.lock_reader();
    let (mut next, mut time) = ([0; WRITERS], 0);
    let (mut read, mut lost) = (0u64, 0u64);
    while let Some(event) = reader.consume() {
        let (words, text) = event.payload.split_at_checked(HEAD).ok_or("too short")?;
        let mut words = words.chunks_exact(8).map(|word| {
            let bytes = word.first_chunk().copied();
            bytes.map_or(0, u64::from_ne_bytes)
        });
        let mut word = || words.next().unwrap_or(0);
        let (writer, number, length) = (word() as usize, word(), word() as usize);
        let expected = next.get_mut(writer).ok_or("an unknown writer")?;
        if length != length_of(number) || text.get(..length) != TEXT.get(..length) {
            return Err("an event was changed");
        }
        // Only events that are counted as lost may be missing.
        if number < *expected || (number > *expected && lost.wrapping_add(event.lost) == 0) {
            return Err("an event is out of order");
        }
        if event.time < time {
            return Err("time goes back");
        }
        *expected = number.wrapping_add(1);
        time = event.time;
        read = read.wrapping_add(1);
        lost = lost.wrapping_add(event.lost);
    }
    // The newest events are never lost.
    if next != written {
        return Err("the last events are missing");
    }
    Ok((read, lost))
}
