// SPDX-License-Identifier: GPL-2.0

//! Models of what the buffer's glue does while writers write:
//!
//! `LOOM_MAX_PREEMPTIONS=2 RUSTFLAGS="--cfg loom" cargo test --release -p rtrace-buffer`
//!
//! There is one CPU that writes. The other threads are other CPUs, or tasks there.

use super::swap::Rings;
use super::Buffer;
use crate::kernel::cpus;
use crate::kernel::fs::pseudo_fs::{PollCall, PollEvents};
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::rcu::{self, spawn};
use kernel::sync::atomic::Relaxed;
use loom::sync::Arc;
use rtrace_core::ring_buffer::{Context, Env, Wake};
use rtrace_core::sys::points;
use std::cell::Cell;

/// A payload that leaves room for two events on a sub-buffer.
const HALF: usize = 16;

struct Clock(Cell<u64>);

impl Env for Clock {
    fn now(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }
}

fn new() -> Arc<Buffer> {
    Arc::new(Buffer::new(1, true).make().expect("there is memory"))
}

fn cpu() -> CpuId {
    CpuId::from_u32(0).expect("it is there")
}

/// Writes an event as `Buffer::write_payload` does, and says whether it was recorded.
fn write(buffer: &Buffer, clock: &Clock) -> bool {
    buffer.with_only_ring(|lane, ring| {
        // SAFETY: one thread writes.
        let writer = unsafe { ring.core.writer(Context::NORMAL) };
        let Some(mut event) = writer.reserve(clock, HALF) else {
            return false;
        };
        let time = writer.event_time();
        event.payload()[..8].copy_from_slice(&time.to_ne_bytes());
        if event.commit() == Wake::Wanted {
            lane.committed(ring);
        }
        true
    })
}

/// Consumes all events there are; they are in order, and their payload is complete.
fn drain(buffer: &Buffer, last: &mut u64) -> u64 {
    let mut reader = buffer.cpu(cpu()).expect("it is there").lock_reader();
    let mut seen = 0;
    while let Some(event) = reader.consume() {
        let payload = u64::from_ne_bytes(event.payload[..8].try_into().unwrap());
        assert_eq!(payload, event.time);
        assert!(event.time > *last, "{} after {last}", event.time);
        *last = event.time;
        seen += 1 + event.lost;
    }
    seen
}

fn records(buffer: &Buffer) -> bool {
    buffer.with_only_ring(|_, ring| ring.core.is_recording())
}

/// A switch is thrown while rings change places: the ring that comes follows it. The one that goes
/// may be late, and is set right when it comes back.
#[test]
fn swapping_while_a_switch_is_thrown() {
    rcu::model(30, || {
        let (live, spare) = (new(), new());
        let switch = spawn(1, {
            let live = live.clone();
            move || {
                live.set_on(false);
            }
        });
        live.swap(&spare, Rings::All).unwrap();
        switch.join().unwrap();
        assert!(!records(&live));
        live.swap(&spare, Rings::All).unwrap();
        assert_eq!((records(&live), records(&spare)), (false, true));
    });
}

/// The same of two switches, which the ring that comes has to follow.
#[test]
fn swapping_while_recording_is_turned_on() {
    rcu::model(30, || {
        let (live, spare) = (new(), new());
        live.set_on(false);
        let switch = spawn(1, {
            let live = live.clone();
            move || {
                live.set_on(true);
                live.set_overwrite(false);
            }
        });
        live.swap(&spare, Rings::All).unwrap();
        switch.join().unwrap();
        let overwrite = |buffer: &Buffer| buffer.with_only_ring(|_, ring| ring.core.overwrite());
        assert_eq!((records(&live), overwrite(&live)), (true, false));
        live.swap(&spare, Rings::All).unwrap();
        assert_eq!((records(&live), records(&spare)), (true, true));
        assert_eq!((overwrite(&live), overwrite(&spare)), (false, true));
    });
}

/// A snapshot is taken and nobody is kept out: it is complete after a grace period, and every event
/// is in one of the two.
#[test]
fn swapping_while_writing() {
    rcu::model(30, || {
        let (live, spare) = (new(), new());
        let snapshot = spawn(1, {
            let (live, spare) = (live.clone(), spare.clone());
            move || {
                live.swap(&spare, Rings::All).unwrap();
                let mut last = 0;
                let early = drain(&spare, &mut last);
                rcu::wait();
                let all = early + drain(&spare, &mut last);
                assert!(!spare.with_only_ring(|_, ring| ring.core.is_writing()));
                (all, last)
            }
        });
        let clock = Clock(Cell::new(0));
        let written = (0..2).filter(|_| write(&live, &clock)).count() as u64;
        let (gone, mut last) = snapshot.join().unwrap();
        assert_eq!((gone + drain(&live, &mut last), written), (2, 2));
    });
}

/// Whether who marked `buffer` and sleeps is woken by now or by the next event.
fn is_woken(buffer: &Buffer, clock: &Clock) -> bool {
    let queued = || buffer.only_lane().work.queued() != 0;
    queued() || write(buffer, clock) && queued()
}

/// A sleeper marks the ring while that goes away: the ring that comes has the mark, too.
#[test]
fn swapping_while_somebody_begins_to_wait() {
    rcu::model(5, || {
        let (live, spare) = (new(), new());
        let sleeper = spawn(1, {
            let live = live.clone();
            move || live.wait(Some(cpu()), 0).is_err()
        });
        live.swap(&spare, Rings::All).unwrap();
        let sleeps = sleeper.join().unwrap();
        assert!(sleeps);
        assert!(is_woken(&live, &Clock(Cell::new(0))), "the mark is lost");
    });
}

/// A writer takes marks away while somebody who waits for `percent` leaves one. That one is taken
/// by a wake-up, or a later event finds it. `before` is done before there are threads.
fn begin_to_wait(percent: u32, before: fn(&Buffer)) {
    rcu::model(30, move || {
        let live = new();
        before(&live);
        let earlier = live.only_lane().work.queued();
        let sleeper = spawn(1, {
            let live = live.clone();
            move || live.wait(Some(cpu()), percent).is_err()
        });
        let clock = Clock(Cell::new(0));
        assert!(write(&live, &clock));
        let sleeps = sleeper.join().unwrap();
        let lane = live.only_lane();
        if !sleeps {
            return;
        }
        let queued = lane.work.queued();
        if lane.wanted.load(Relaxed) == 0 {
            assert!(queued > earlier, "the mark was erased");
            return;
        }
        // Enough for all.
        for _ in 0..6 {
            assert!(write(&live, &clock));
        }
        assert!(lane.work.queued() > queued, "the mark is not found");
    });
}

/// Another one sleeps, as many as `live` is marked for.
fn marked(live: &Buffer, percent: u32) {
    assert!(live.wait(Some(cpu()), percent).is_err());
}

/// The ring has its flag, and nobody sleeps: all were woken by a swap.
fn woken(live: &Buffer) {
    marked(live, 0);
    live.only_lane().wake_waiters();
    assert_eq!(live.only_lane().wanted.load(Relaxed), 0);
}

#[test]
fn committing_while_somebody_begins_to_wait() {
    for percent in [0, 100] {
        begin_to_wait(percent, |live| marked(live, 0));
        begin_to_wait(percent, |live| marked(live, 100));
    }
}

#[test]
fn committing_after_a_wake_up_while_somebody_begins_to_wait() {
    for percent in [0, 100] {
        begin_to_wait(percent, woken);
    }
}

/// Two ask at once to be woken, each by another share: the smaller one counts.
#[test]
fn two_begin_to_wait() {
    rcu::model(5, || {
        let live = new();
        live.resize(None, 4 * 48).unwrap();
        let sleeper = spawn(1, {
            let live = live.clone();
            move || live.wait(Some(cpu()), 50).is_err()
        });
        let sleeps = live.wait(Some(cpu()), 100).is_err();
        assert!(sleeps & sleeper.join().unwrap());
        let filled = |percent| live.with_only_ring(|_, ring| super::lane::filled(ring, percent));
        let clock = Clock(Cell::new(0));
        assert!(write(&live, &clock));
        while !filled(50) {
            assert!(write(&live, &clock));
        }
        assert!(!filled(100));
        let woken = live.only_lane().work.queued() != 0;
        assert!(woken, "the smaller one is lost");
    });
}

/// A poller that has interrupted the writer's CPU never sleeps with an event there and no work
/// queued. The interrupt comes at each point of the writer.
#[test]
fn polling_while_writing() {
    let reached = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let mut point = 0;
    while reached.swap(false, std::sync::atomic::Ordering::Relaxed) {
        let reached = reached.clone();
        rcu::model(5, move || {
            cpus::prepare();
            let live = new();
            let poller = spawn(1, {
                let live = live.clone();
                move || {
                    let events = live.poll(None, 0, &PollCall::default());
                    cpus::end_poll();
                    events
                }
            });
            let (count, clock) = (Cell::new(0), Clock(Cell::new(0)));
            let hook = || {
                if count.replace(count.get() + 1) == point {
                    reached.store(true, std::sync::atomic::Ordering::Relaxed);
                    cpus::take();
                }
            };
            assert!(points::with(&hook, || write(&live, &clock)));
            if count.get() <= point {
                cpus::take();
            }
            let events = poller.join().unwrap();
            assert!(
                events == PollEvents::READABLE || live.only_lane().work.queued() != 0,
                "asleep with an event there"
            );
        });
        point += 1;
    }
    assert!(point > 10, "{point} points");
}

/// What a reset leaves was written after it, and nothing of it is missing.
#[test]
fn resetting_while_writing() {
    rcu::model(30, || {
        let live = new();
        let clock = Clock(Cell::new(0));
        assert!(write(&live, &clock));
        let reset = spawn(1, {
            let live = live.clone();
            move || {
                let part = || live.cpu(cpu()).expect("it is there");
                let epoch = part().epoch();
                live.reset();
                assert_ne!(part().epoch(), epoch);
            }
        });
        for _ in 0..2 {
            write(&live, &clock);
        }
        reset.join().unwrap();
        assert!(records(&live));
        let rest = drain(&live, &mut 1);
        assert!(rest <= 2, "{rest} events");
        let counts = live.cpu(cpu()).expect("it is there").counts();
        assert_eq!((counts.entries, counts.read), (0, rest), "{counts:?}");
        assert!(write(&live, &clock));
        assert_eq!(drain(&live, &mut 1), 1);
    });
}

/// A swap comes before a reset, or after it, or is refused: no ring is emptied that is written to.
#[test]
fn resetting_while_swapping() {
    rcu::model(30, || {
        let (live, spare) = (new(), new());
        let clock = Clock(Cell::new(0));
        assert!(write(&live, &clock));
        let reset = spawn(1, {
            let live = live.clone();
            move || live.reset()
        });
        let swapped = live.swap(&spare, Rings::All);
        let written = write(&live, &clock);
        reset.join().unwrap();
        assert!(matches!(swapped, Ok(()) | Err(EBUSY)));
        assert!(records(&live) && records(&spare));
        let (live, spare) = (drain(&live, &mut 0), drain(&spare, &mut 0));
        assert!(spare <= 1 && live <= u64::from(written));
        // What the swap has put aside before the reset is not emptied by it.
        assert!(swapped.is_err() || spare <= 1);
    });
}

/// Events for a ring of `bytes` and what becomes of them while it gets `more`.
fn resize(bytes: usize, more: usize, before: usize, during: usize) {
    rcu::model(30, move || {
        let live = new();
        live.resize(None, bytes).unwrap();
        let clock = Clock(Cell::new(0));
        let mut written = (0..before).filter(|_| write(&live, &clock)).count();
        let resize = spawn(1, {
            let live = live.clone();
            move || live.resize(None, more).unwrap()
        });
        written += (0..during).filter(|_| write(&live, &clock)).count();
        resize.join().unwrap();
        assert!(records(&live));
        assert_eq!(drain(&live, &mut 0), written as u64);
    });
}

#[test]
fn growing_while_writing() {
    resize(1, 3 * 48, 0, 2);
}

#[test]
fn shrinking_while_writing() {
    resize(4 * 48, 1, 7, 1);
}

/// The memory of each sub-buffer, the reader's included.
fn memory(buffer: &Buffer) -> std::vec::Vec<*mut u8> {
    buffer.with_only_ring(|_, ring| {
        let ids = 0..ring.sub_buffers();
        ids.map(|id| ring.core.sub_buffer_memory(id).expect("it is there"))
            .collect()
    })
}

/// A ring of `bytes` that holds `before` events is emptied while it gets `more`: nothing comes back,
/// and each sub-buffer has memory of its own.
fn reset_and_resize(bytes: usize, more: usize, before: usize) {
    rcu::model(5, move || {
        let live = new();
        live.resize(None, bytes).unwrap();
        let clock = Clock(Cell::new(0));
        assert_eq!((0..before).filter(|_| write(&live, &clock)).count(), before);
        let resize = spawn(1, {
            let live = live.clone();
            move || live.resize(None, more).unwrap()
        });
        live.reset();
        resize.join().unwrap();
        let mut memory = memory(&live);
        memory.sort_unstable();
        let all = memory.len();
        memory.dedup();
        assert_eq!(memory.len(), all, "a page has two owners");
        assert!(records(&live));
        let mut last = 0;
        assert_eq!(drain(&live, &mut last), 0, "events came back");
        assert_eq!((0..before).filter(|_| write(&live, &clock)).count(), before);
        assert_eq!(drain(&live, &mut last), before as u64);
    });
}

#[test]
fn resetting_while_growing() {
    reset_and_resize(1, 3 * 48, 4);
}

#[test]
fn resetting_while_shrinking() {
    reset_and_resize(4 * 48, 1, 7);
}

/// A reader goes on while the ring grows.
#[test]
fn growing_while_reading() {
    rcu::model(30, || {
        let live = new();
        let clock = Clock(Cell::new(0));
        let written = (0..4).filter(|_| write(&live, &clock)).count() as u64;
        let resize = spawn(1, {
            let live = live.clone();
            move || live.resize(None, 3 * 48).unwrap()
        });
        let mut last = 0;
        let mut seen = 0;
        for _ in 0..2 {
            let mut reader = live.cpu(cpu()).expect("it is there").lock_reader();
            let event = reader.consume().expect("there are four");
            assert!(event.time > last);
            (last, seen) = (event.time, seen + 1 + event.lost);
        }
        resize.join().unwrap();
        assert_eq!(seen + drain(&live, &mut last), written);
    });
}
