// SPDX-License-Identifier: GPL-2.0

//! Prints the ring buffer to the console: at an oops or a panic, by sysrq-z, by `ftrace_dump()` and
//! by function commands.
//!
//! A dump stops recording; the user may turn it on again, which takes effect when the dump is over. It
//! consumes the events and prints them in the latency format, with interrupts off. It runs in any context, NMI included, so it does not allocate or sleep. It
//! only tries a CPU's reader lock: a CPU whose lock is taken counts as empty. A second dump at the
//! same time does nothing. The output of the current tracer needs memory, so a dump prints each
//! event by its type.
//!
//! Answers to `ftrace_dump()` of
//! [`include/linux/trace_printk.h`](srctree/include/linux/trace_printk.h), and to the boot
//! parameter and sysctl `ftrace_dump_on_oops`: `0` off, `1` all CPUs, `2` or `orig_cpu` the current
//! CPU, and names of instances, `NAME` or `NAME=2`, separated by commas.

use super::cursor::{Ahead, Cursor, Head, Room, Source};
use super::source::Consume;
use super::{header, line, Record, Style, LINE_ROOM};
use crate::core::format::{LineBuf, Out};
use crate::kernel::context::{with_interrupts_off, PreemptOff};
use crate::kernel::try_lock::TryLock;
use crate::kernel::{printk, watchdog};
use crate::trace::instance::{list, Instance};
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::time::{delay::fsleep, Delta};

/// How long [`make_room`] waits before it looks once more, and how often it does.
const PAUSE: Delta = Delta::from_millis(10);
const PATIENCE: usize = 1000;

/// Bytes of an event that there is always room for.
const SHORT: usize = 4096;

/// The CPUs whose buffers are dumped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cpus {
    /// All CPUs, merged by time.
    All,
    /// The current CPU.
    This,
}

/// The most bytes of one line that are printed.
const SHOWN: usize = 1000;
pub(super) const RULE: &[u8] = b"---------------------------------\n";
pub(super) const EMPTY: &[u8] = b"   (ftrace buffer empty)\n";

/// The memory of a dump.
pub(super) struct Scratch {
    pub(super) line: [u8; LINE_ROOM],
    pub(super) record: Payload,
}

/// The memory for one event.
pub(super) struct Payload {
    /// For the sub-buffers of boot.
    short: [u8; SHORT],
    /// For larger sub-buffers. Empty until there is one.
    long: KVVec<u8>,
}

impl Payload {
    pub(super) fn bytes(&self) -> &[u8] {
        if self.long.is_empty() {
            &self.short
        } else {
            &self.long
        }
    }
}

impl Room for Payload {
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        let bytes = if self.long.is_empty() {
            &mut self.short[..]
        } else {
            &mut self.long
        };
        (len <= bytes.len()).then_some(bytes)
    }
}

/// Makes room for events of sub-buffers of `size` bytes. Dumps leave longer events out. Waits for a
/// dump that is under way. Task context, sleeps.
///
/// # Errors
///
/// `ENOMEM`; `EINTR` when a signal comes first, `EBUSY` when the dump does not end.
pub(crate) fn make_room(size: usize) -> Result {
    if ROOM.load(Relaxed) >= size {
        return Ok(());
    }
    let mut new = KVVec::from_elem(0, size, GFP_KERNEL)?;
    for _ in 0..PATIENCE {
        if put_room(&mut new) {
            return Ok(());
        }
        if current!().signal_pending() {
            return Err(EINTR);
        }
        fsleep(PAUSE);
    }
    Err(EBUSY)
}

/// Puts `new` in place if it is longer, and gives what was there. Says whether it could: no dump is
/// under way.
fn put_room(new: &mut KVVec<u8>) -> bool {
    // A dump that finds the scratch memory taken is given up. So it is not taken for long.
    let _short = PreemptOff::new();
    let Some(mut scratch) = SCRATCH.try_take() else {
        return false;
    };
    if scratch.record.bytes().len() < new.len() {
        ROOM.store(new.len(), Relaxed);
        core::mem::swap(&mut scratch.record.long, new);
    }
    true
}

/// The least room that there is for an event, in bytes.
static ROOM: Atomic<usize> = Atomic::new(SHORT);

pub(super) static SCRATCH: TryLock<Scratch> = TryLock::new(Scratch {
    line: [0; LINE_ROOM],
    record: Payload {
        short: [0; SHORT],
        long: KVVec::new(),
    },
});

/// Dumps the top instance. Any context.
pub(crate) fn top(cpus: Cpus) {
    let Some(mut scratch) = SCRATCH.try_take() else {
        return;
    };
    if let Ok(top) = Instance::top() {
        instance(top, cpus, &mut scratch);
    }
}

/// Dumps what the text of `ftrace_dump_on_oops` in `setting` asks for. Any context.
pub(crate) fn by_setting(setting: &[u8]) {
    let Some(mut scratch) = SCRATCH.try_take() else {
        return;
    };
    let orig = |text: &[u8]| text == b"2" || text == b"orig_cpu";
    for (place, part) in setting.split(|&c| c == b',').enumerate() {
        let mut words = part.splitn(2, |&c| c == b'=');
        let (name, which) = (words.next().unwrap_or(&[]), words.next());
        let top = match part {
            b"0" if place == 0 => continue,
            b"1" if place == 0 => Some(Cpus::All),
            _ if place == 0 && orig(part) => Some(Cpus::This),
            _ => None,
        };
        if let Some(cpus) = top {
            // Early in the boot there is none yet.
            if let Ok(top) = Instance::top() {
                instance(top, cpus, &mut scratch);
            }
            continue;
        }
        let cpus = if which.is_some_and(orig) {
            Cpus::This
        } else {
            Cpus::All
        };
        let dumped = list::try_with(name, |found| instance(found, cpus, &mut scratch));
        let missing: &[u8] = match dumped {
            Ok(()) => continue,
            Err(error) if error == EBUSY => b": the list of instances is locked\n",
            Err(_) => b" not found\n",
        };
        let mut text = LineBuf::new(&mut scratch.line);
        let _ = text
            .bytes(b"Instance ")
            .and(text.bytes(name))
            .and(text.bytes(missing));
        printk::emerg(text.as_bytes());
    }
}

/// Dumps one instance. Any context.
fn instance(instance: &Instance, cpus: Cpus, scratch: &mut Scratch) {
    // Of what could come between, an oops would not be dumped.
    with_interrupts_off(|| stop_and_print(instance, cpus, scratch));
}

// Not in line: interrupts that go off before an exchange of words look like a raw lock to
// `tools/testing/compiled`.
#[inline(never)]
fn stop_and_print(instance: &Instance, cpus: Cpus, scratch: &mut Scratch) {
    let buffer = instance.buffer();
    buffer.set_on(false);
    // It stays off if somebody turns it on meanwhile: what the printing itself records would have no end.
    let _pause = buffer.pause();
    let only = (cpus == Cpus::This).then(CpuId::current);
    let style = Style::of_dump(instance);
    let mut cursor = Cursor::new(Consume::without_waiting(buffer), only, 1);

    announce(instance, scratch);
    header::disarmed()
        .iter()
        .for_each(|line| printk::default(line));
    let mut any = false;
    while !cursor.is_empty() {
        if !any {
            printk::emerg(RULE);
        }
        any = true;
        // As in C, each line of option `verbose` has the same number.
        cursor.count_from(1);
        if !record(&mut cursor, &style, scratch) {
            break;
        }
        watchdog::touch();
    }
    printk::emerg(if any { RULE } else { EMPTY });
}

fn announce(instance: &Instance, scratch: &mut Scratch) {
    let Some(name) = instance.name() else {
        return printk::emerg(b"Dumping ftrace buffer:\n");
    };
    let mut text = LineBuf::new(&mut scratch.line);
    let name = name.to_bytes();
    let _ = text
        .bytes(b"Dumping ftrace instance ")
        .and(text.bytes(name))
        .and(text.bytes(b" buffer:\n"));
    printk::emerg(text.as_bytes());
}

/// Prints the oldest event and marks it as read. Returns false if there is none.
fn record(cursor: &mut Cursor<Consume<'_>>, style: &Style, scratch: &mut Scratch) -> bool {
    let Some((cpu, head)) = cursor.next(&mut scratch.record) else {
        return false;
    };
    let record = cursor.record(cpu, &head, scratch.record.bytes());
    let left = print(&mut scratch.line, cursor, &record, Some(head), style, None);
    if let Some(head) = left {
        cursor.pass(cpu, &head);
    }
    true
}

/// Prints `record`. `current` is its head if it is not marked as read yet; returns it if that is still
/// so. `started` as of [`line::write`].
pub(super) fn print<S: Source>(
    room: &mut [u8; LINE_ROOM],
    cursor: &mut Cursor<S>,
    record: &Record<'_>,
    current: Option<Head>,
    style: &Style,
    started: Option<&mut bool>,
) -> Option<Head> {
    let mut text = LineBuf::new(room);
    // A call is printed together with its return, so this is memory for the return.
    let mut neighbour = [0u8; 64];
    let mut ahead = Ahead {
        cursor,
        cpu: record.cpu,
        current,
        next: None,
        store: &mut neighbour,
    };
    // A line that is too long is cut.
    let _ = line::write(&mut text, record, style, None, &mut ahead, started);
    let text = text.as_bytes();
    printk::emerg(text.get(..SHOWN).unwrap_or(text));
    ahead.current
}
