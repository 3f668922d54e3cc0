// SPDX-License-Identifier: GPL-2.0

//! The prefix of a line in `trace` and `trace_pipe`, and the lines between events.
//!
//! Tools parse the columns, so they match ftrace's to the byte, in its four [`Form`]s.

use super::out::Piece;
use super::Out;
use crate::core::parse::options::{Flag, Set};
use core::fmt;

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for people.
    Normal,
    /// Numbers only.
    Raw,
    /// Words in hexadecimal digits, the most significant first.
    Hex,
    /// Words as they are in memory.
    Bin,
}

impl Form {
    /// The form that the options ask for. `bin` has priority over `hex`, and `hex` over `raw`.
    pub const fn of(set: Set) -> Self {
        if set.has(Flag::Bin) {
            Self::Bin
        } else if set.has(Flag::Hex) {
            Self::Hex
        } else if set.has(Flag::Raw) {
            Self::Raw
        } else {
            Self::Normal
        }
    }
}

/// The unit of a timestamp, which depends on the trace clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, printed as seconds or microseconds.
    Nanoseconds,
    /// Any other unit (`counter`, `uptime` in jiffies, `x86-tsc`), printed as a plain number.
    Ticks,
}

/// Bits of the flags byte of an entry.
pub mod flag {
    /// Interrupts were off.
    pub const IRQS_OFF: u8 = 0x01;
    /// A lazy reschedule was pending.
    pub const NEED_RESCHED_LAZY: u8 = 0x02;
    /// A reschedule was pending.
    pub const NEED_RESCHED: u8 = 0x04;
    /// In a hard interrupt.
    pub const HARDIRQ: u8 = 0x08;
    /// In a soft interrupt.
    pub const SOFTIRQ: u8 = 0x10;
    /// The preemption counter requested a reschedule.
    pub const PREEMPT_RESCHED: u8 = 0x20;
    /// In an NMI.
    pub const NMI: u8 = 0x40;
    /// Bottom halves were off.
    pub const BH_OFF: u8 = 0x80;
}

/// The five characters for interrupt and preemption state: `d..2.`.
pub fn state(flags: u8, preempt_count: u8) -> [u8; 5] {
    let is = |bit: u8| flags & bit != 0;
    let irqs = match (is(flag::IRQS_OFF), is(flag::BH_OFF)) {
        (true, true) => b'D',
        (true, false) => b'd',
        (false, true) => b'b',
        (false, false) => b'.',
    };
    let resched = match (
        is(flag::NEED_RESCHED),
        is(flag::NEED_RESCHED_LAZY),
        is(flag::PREEMPT_RESCHED),
    ) {
        (true, true, true) => b'B',
        (true, false, true) => b'N',
        (false, true, true) => b'L',
        (true, true, false) => b'b',
        (true, false, false) => b'n',
        (false, false, true) => b'p',
        (false, true, false) => b'l',
        (false, false, false) => b'.',
    };
    let context = match (is(flag::NMI), is(flag::HARDIRQ), is(flag::SOFTIRQ)) {
        (true, true, _) => b'Z',
        (true, false, _) => b'z',
        (_, true, true) => b'H',
        (_, true, false) => b'h',
        (_, false, true) => b's',
        _ => b'.',
    };
    [
        irqs,
        resched,
        context,
        depth(preempt_count & 0xf),
        depth(preempt_count >> 4),
    ]
}

/// A depth of at most 15 as one character.
fn depth(nibble: u8) -> u8 {
    match nibble {
        0 => b'.',
        1..=9 => b'0'.wrapping_add(nibble),
        _ => b'a'.wrapping_add(nibble & 0xf).wrapping_sub(10),
    }
}

/// Converts nanoseconds to microseconds, rounded to the nearest.
pub const fn microseconds(ns: u64) -> u64 {
    ns.wrapping_add(500) / 1000
}

/// Writes ` seconds.microseconds` or the ticks, each after a blank and in its usual width.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_time(out: &mut dyn Out, ts: u64, unit: Unit) -> fmt::Result {
    let mut piece = Piece::<32>::new();
    put_time(&mut piece, ts, unit);
    out.bytes(piece.as_bytes())
}

fn put_time<const N: usize>(piece: &mut Piece<N>, ts: u64, unit: Unit) {
    piece.byte(b' ');
    match unit {
        Unit::Nanoseconds => {
            let us = microseconds(ts);
            piece.decimal(us / 1_000_000, 5, b' ');
            piece.byte(b'.');
            piece.digits::<6>((us % 1_000_000) as u32);
        }
        Unit::Ticks => piece.decimal(ts, 12, b' '),
    }
}

/// The mark for a delay of `ns` nanoseconds until the next event.
pub const fn delay_mark(ns: u64) -> u8 {
    match ns {
        // Most are, and are found out first.
        ..=10_000 => b' ',
        1_000_000_001.. => b'$',
        100_000_001.. => b'@',
        10_000_001.. => b'*',
        1_000_001.. => b'#',
        100_001.. => b'!',
        10_001.. => b'+',
    }
}

/// The data of an event's prefix.
#[derive(Clone, Copy, Debug)]
pub struct Prefix<'a> {
    /// The task's name; at most 15 bytes.
    pub comm: &'a [u8],
    /// The pid of the task.
    pub pid: i32,
    /// The thread group of the task, 0 if unknown. Used only while `record-tgid` is on.
    pub tgid: i32,
    /// The CPU whose buffer holds the event.
    pub cpu: u32,
    /// See [`flag`].
    pub flags: u8,
    /// The depths of preempt-disable (low nibble) and migrate-disable (high nibble).
    pub preempt_count: u8,
    /// The time of the event.
    pub ts: u64,
    /// The unit of `ts`.
    pub unit: Unit,
}

/// Additional data for the latency format.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// The start of the trace. Times count from it.
    pub start: u64,
    /// The time of the next event of all printed CPUs. For the last event, its own time.
    pub next: u64,
    /// The number of the event among the printed ones, from 0.
    pub index: u64,
}

impl Prefix<'_> {
    /// Writes the prefix that `set` asks for. Writes nothing if `context-info` is off.
    ///
    /// `latency` is given if the reader started with the latency format. It has an effect only in
    /// the normal form.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write(&self, out: &mut dyn Out, set: Set, latency: Option<Latency>) -> fmt::Result {
        if !set.has(Flag::ContextInfo) {
            return Ok(());
        }
        match (Form::of(set), latency) {
            (Form::Normal, None) => self.normal(out, set),
            (Form::Normal, Some(latency)) if set.has(Flag::Verbose) => self.verbose(out, latency),
            (Form::Normal, Some(latency)) => self.latency(out, latency),
            (Form::Raw, _) => write!(out, "{} {} {} ", self.pid, self.cpu, self.ts),
            (Form::Hex, _) => write!(out, "{:08x} {:08x} {:016x} ", self.pid, self.cpu, self.ts),
            (Form::Bin, _) => {
                out.bytes(&self.pid.to_ne_bytes())?;
                out.bytes(&self.cpu.to_ne_bytes())?;
                out.bytes(&self.ts.to_ne_bytes())
            }
        }
    }

    fn normal(&self, out: &mut dyn Out, set: Set) -> fmt::Result {
        let mut piece = Piece::<96>::new();
        piece.blanks(16usize.saturating_sub(self.comm.len()));
        piece.text(self.comm);
        piece.byte(b'-');
        piece.decimal_left(self.pid.into(), 7);
        piece.byte(b' ');
        if set.has(Flag::RecordTgid) {
            match self.tgid {
                0 => piece.text(b"(-------) "),
                tgid => {
                    piece.byte(b'(');
                    piece.decimal(tgid.unsigned_abs().into(), 7, b' ');
                    piece.text(b") ");
                }
            }
        }
        piece.byte(b'[');
        match self.cpu {
            0..=999 => piece.digits::<3>(self.cpu),
            more => piece.decimal(more.into(), 0, b' '),
        }
        piece.text(b"] ");
        if set.has(Flag::IrqInfo) {
            piece.text(&state(self.flags, self.preempt_count));
        }
        put_time(&mut piece, self.ts, self.unit);
        piece.text(b": ");
        out.bytes(piece.as_bytes())
    }

    fn latency(&self, out: &mut dyn Out, latency: Latency) -> fmt::Result {
        let mut piece = Piece::<64>::new();
        let comm = self.comm.get(..8).unwrap_or(self.comm);
        piece.blanks(8usize.saturating_sub(comm.len()));
        piece.text(comm);
        piece.byte(b'-');
        piece.decimal_left(self.pid.into(), 7);
        piece.byte(b' ');
        piece.decimal(self.cpu.into(), 3, b' ');
        piece.text(&state(self.flags, self.preempt_count));
        out.bytes(piece.as_bytes())?;
        let (since, gap) = self.distances(latency);
        match self.unit {
            Unit::Nanoseconds => {
                write!(out, " {since:4}us")?;
                // The marks depend on whole microseconds.
                out.bytes(&[delay_mark((gap as u64).wrapping_mul(1000))])?;
                out.bytes(b": ")
            }
            Unit::Ticks => write!(out, " {since:4}: "),
        }
    }

    fn verbose(&self, out: &mut dyn Out, latency: Latency) -> fmt::Result {
        out.right(self.comm, 16)?;
        write!(out, " {:7} {:3} ", self.pid, self.cpu)?;
        write!(
            out,
            "{} {:08x} {:08x} ",
            self.flags,
            self.preempt_count & 0xf,
            latency.index
        )?;
        let (since, gap) = self.distances(latency);
        match self.unit {
            Unit::Nanoseconds => {
                let (since, gap) = (since as u64, gap as u64);
                write!(out, "[{:08x}] ", microseconds(self.ts))?;
                write!(out, "{}.{:03}ms ", since / 1000, since % 1000)?;
                write!(out, "(+{}.{:03}ms): ", gap / 1000, gap % 1000)
            }
            Unit::Ticks => write!(out, "[{:016x}] {since} (+{gap}): ", self.ts),
        }
    }

    /// The time since the start and until the next event, in microseconds or ticks. Clocks of
    /// different CPUs can differ, so ticks can be negative.
    fn distances(&self, latency: Latency) -> (i64, i64) {
        let since = self.ts.wrapping_sub(latency.start);
        let gap = latency.next.wrapping_sub(self.ts);
        match self.unit {
            Unit::Nanoseconds => (microseconds(since) as i64, microseconds(gap) as i64),
            Unit::Ticks => (since as i64, gap as i64),
        }
    }
}

/// Writes the `annotate` line before the first event of a CPU that starts after others.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_started(out: &mut dyn Out, cpu: u32) -> fmt::Result {
    writeln!(out, "##### CPU {cpu} buffer started ####")
}

/// Writes the line before the first event after a loss of `lost` events.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_lost(out: &mut dyn Out, cpu: u32, lost: u64) -> fmt::Result {
    writeln!(out, "CPU:{cpu} [LOST {lost} EVENTS]")
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::text;
    use super::*;
    use std::string::String;

    fn cat() -> Prefix<'static> {
        Prefix {
            comm: b"cat",
            pid: 93,
            tgid: 93,
            cpu: 1,
            flags: flag::IRQS_OFF,
            preempt_count: 2,
            ts: 10_344_610_000,
            unit: Unit::Nanoseconds,
        }
    }

    fn show(prefix: Prefix<'_>, set: Set, latency: Option<Latency>) -> String {
        text(|out| prefix.write(out, set, latency))
    }

    #[test]
    fn normal() {
        let set = Set::DEFAULT;
        assert_eq!(
            show(cat(), set, None),
            "             cat-93      [001] d..2.    10.344610: "
        );
        assert_eq!(
            show(cat(), set.with(Flag::IrqInfo, false), None),
            "             cat-93      [001]     10.344610: "
        );
        let tgid = set.with(Flag::RecordTgid, true);
        assert_eq!(
            show(cat(), tgid, None),
            "             cat-93      (     93) [001] d..2.    10.344610: "
        );
        let unknown = Prefix { tgid: 0, ..cat() };
        assert_eq!(
            show(unknown, tgid, None),
            "             cat-93      (-------) [001] d..2.    10.344610: "
        );
        assert_eq!(show(cat(), set.with(Flag::ContextInfo, false), None), "");
        let ticks = Prefix {
            ts: 813,
            unit: Unit::Ticks,
            ..cat()
        };
        assert_eq!(
            show(ticks, set, None),
            "             cat-93      [001] d..2.          813: "
        );
        let wide = Prefix {
            comm: b"fifteen-letters",
            pid: 4194304,
            cpu: 1000,
            ..cat()
        };
        assert_eq!(
            show(wide, set, None),
            " fifteen-letters-4194304 [1000] d..2.    10.344610: "
        );
    }

    #[test]
    fn numbers() {
        let set = Set::DEFAULT.with(Flag::Raw, true);
        assert_eq!(show(cat(), set, None), "93 1 10344610000 ");
        let set = set.with(Flag::Hex, true);
        assert_eq!(
            show(cat(), set, None),
            "0000005d 00000001 00000002689638d0 "
        );
        let set = set.with(Flag::Bin, true);
        let mut mem = [0; 32];
        let mut out = super::super::LineBuf::new(&mut mem);
        cat().write(&mut out, set, None).unwrap();
        assert_eq!(
            out.as_bytes(),
            [
                &93i32.to_ne_bytes()[..],
                &1u32.to_ne_bytes(),
                &cat().ts.to_ne_bytes()
            ]
            .concat()
        );
    }

    #[test]
    fn latency() {
        let idle = Prefix {
            comm: b"<idle>",
            pid: 0,
            preempt_count: 1,
            flags: flag::IRQS_OFF | flag::SOFTIRQ,
            ts: 5_000_000,
            ..cat()
        };
        let at = Latency {
            start: 1_001_000,
            next: 5_150_000,
            index: 10,
        };
        let set = Set::DEFAULT;
        assert_eq!(
            show(idle, set, Some(at)),
            "  <idle>-0         1d.s1. 3999us!: "
        );
        let ticks = Prefix {
            unit: Unit::Ticks,
            ..idle
        };
        assert_eq!(
            show(ticks, set, Some(at)),
            "  <idle>-0         1d.s1. 3999000: "
        );
        let long = Prefix {
            comm: b"kworker/0:1",
            pid: 12,
            ..idle
        };
        assert_eq!(
            show(long, set, Some(at)),
            "kworker/-12        1d.s1. 3999us!: "
        );
        let set = set.with(Flag::Verbose, true);
        assert_eq!(
            show(idle, set, Some(at)),
            "          <idle>       0   1 17 00000001 0000000a [00001388] 3.999ms (+0.150ms): "
        );
        assert_eq!(
            show(ticks, set, Some(at)),
            "          <idle>       0   1 17 00000001 0000000a [00000000004c4b40] 3999000 (+150000): "
        );
    }

    /// Lines that Linux 7.3.4 has printed.
    #[test]
    fn as_measured() {
        let sh = Prefix {
            comm: b"sh",
            pid: 78,
            tgid: 0,
            cpu: 0,
            flags: 0,
            preempt_count: 1,
            ts: 19_336_522_220,
            unit: Unit::Nanoseconds,
        };
        let at = Latency {
            start: sh.ts - 23_707_900,
            next: 19_337_329_931,
            index: 0,
        };
        let set = Set::DEFAULT;
        assert_eq!(
            show(sh, set, None),
            "              sh-78      [000] ...1.    19.336522: "
        );
        assert_eq!(
            show(sh, set, Some(at)),
            "      sh-78        0...1. 23708us!: "
        );
        assert_eq!(
            show(sh, set.with(Flag::Verbose, true), Some(at)),
            "              sh      78   0 0 00000001 00000000 [01270d4a] 23.708ms (+0.808ms): "
        );
        assert_eq!(
            show(sh, set.with(Flag::Hex, true), None),
            "0000004e 00000000 00000004808be9ec "
        );
        let counted = Prefix {
            comm: b"rcu_preempt",
            pid: 13,
            preempt_count: 0,
            ts: 8,
            unit: Unit::Ticks,
            ..sh
        };
        assert_eq!(
            show(counted, set, None),
            "     rcu_preempt-13      [000] .....            8: "
        );
    }

    #[test]
    fn flags() {
        let show = |f, p| String::from_utf8(state(f, p).to_vec()).unwrap();
        assert_eq!(show(0, 0), ".....");
        assert_eq!(show(flag::IRQS_OFF | flag::BH_OFF, 0xff), "D..ff");
        assert_eq!(show(flag::BH_OFF, 0x1a), "b..a1");
        let (n, l, p) = (
            flag::NEED_RESCHED,
            flag::NEED_RESCHED_LAZY,
            flag::PREEMPT_RESCHED,
        );
        for (bits, c) in [
            (n | l | p, 'B'),
            (n | p, 'N'),
            (l | p, 'L'),
            (n | l, 'b'),
            (n, 'n'),
            (p, 'p'),
            (l, 'l'),
        ] {
            assert_eq!(show(bits, 0).chars().nth(1), Some(c));
        }
        let (z, h, s) = (flag::NMI, flag::HARDIRQ, flag::SOFTIRQ);
        for (bits, c) in [
            (z | h | s, 'Z'),
            (z | h, 'Z'),
            (z, 'z'),
            (z | s, 'z'),
            (h | s, 'H'),
            (h, 'h'),
            (s, 's'),
        ] {
            assert_eq!(show(bits, 0).chars().nth(2), Some(c));
        }
    }

    #[test]
    #[rustfmt::skip]
    fn marks() {
        for (ns, mark) in [(10_000, b' '), (10_001, b'+'), (100_001, b'!'), (1_000_001, b'#'), (10_000_001, b'*'),
            (100_000_001, b'@'), (1_000_000_000, b'@'), (1_000_000_001, b'$'), (u64::MAX, b'$')]
        {
            assert_eq!(delay_mark(ns), mark, "{ns}");
        }
    }

    #[test]
    fn notices() {
        assert_eq!(
            text(|out| write_started(out, 1)),
            "##### CPU 1 buffer started ####\n"
        );
        assert_eq!(
            text(|out| write_lost(out, 1, 23297)),
            "CPU:1 [LOST 23297 EVENTS]\n"
        );
    }
}
