// SPDX-License-Identifier: GPL-2.0

//! The call graph as text, with the columns of `function_graph`. One line shows a call, a return,
//! or both for a function without recorded calls.
//!
//! ```text
//!  TIME | CPU)  TASK-PID | flags | mark DURATION us |  FUNCTION CALLS
//! ```
//!
//! The options select the columns ([`crate::core::parse::options::graph`]). Events are read in
//! order. Each CPU has a [`CpuState`] between lines: the task and the depth of its last line, and
//! the open function at each depth.

mod columns;

use super::entry::{
    Arguments, Common, Entry, FuncgraphEntry, FuncgraphExit, FuncgraphRetaddrEntry, Truncated,
};
use super::out::{HeldNewline, Piece};
use super::symbol::{self, Style, Symbols};
use super::Out;
use crate::core::parse::options::graph::*;
use crate::core::parse::options::{Flag, Set};
use core::fmt;
use core::ops::Range;

pub use columns::{write_duration, write_titles};

/// The number of depths whose functions are remembered.
const DEPTHS: usize = 50;

/// The start of a line, up to the blanks of its depth, if it has room for them.
type Start = Piece<80>;

/// The state of a CPU after its last line.
#[derive(Clone, Debug)]
pub struct CpuState {
    /// The task of the last line.
    pid: Option<i32>,
    /// The depth of comments, minus one.
    depth: i64,
    /// The depth of the interrupt's function whose calls are hidden.
    irq: Option<i64>,
    /// The open function at each depth. 0 if there is none.
    open: [usize; DEPTHS],
}

impl CpuState {
    /// The state before the first line.
    pub const fn new() -> Self {
        Self {
            pid: None,
            depth: 0,
            irq: None,
            open: [0; DEPTHS],
        }
    }

    fn at(&mut self, depth: i64) -> Option<&mut usize> {
        self.open.get_mut(usize::try_from(depth).ok()?)
    }
}

impl Default for CpuState {
    fn default() -> Self {
        Self::new()
    }
}

/// A task's name with its NUL.
pub type Comm = [u8; 16];

/// The call of a function.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The address of the function.
    pub func: usize,
    /// The number of traced functions around it.
    pub depth: i64,
    /// The return address, if it was recorded.
    pub retaddr: Option<usize>,
    /// The arguments, if they were recorded.
    pub args: Option<Arguments<'a>>,
}

impl<'a> Call<'a> {
    /// The call in `record`, a [`FuncgraphEntry`].
    ///
    /// # Errors
    ///
    /// [`Truncated`] if the record is too short.
    #[inline]
    pub fn of(record: &'a [u8]) -> Result<Self, Truncated> {
        let FuncgraphEntry { func, depth } = FuncgraphEntry::parse(record)?;
        Ok(Self {
            func,
            depth: depth as i64,
            retaddr: None,
            args: Arguments::of(FuncgraphEntry::tail(record)),
        })
    }

    /// The call in `record`, a [`FuncgraphRetaddrEntry`].
    ///
    /// # Errors
    ///
    /// [`Truncated`] if the record is too short.
    pub fn with_retaddr(record: &'a [u8]) -> Result<Self, Truncated> {
        let entry = FuncgraphRetaddrEntry::parse(record)?;
        Ok(Self {
            func: entry.func,
            depth: entry.depth as i64,
            retaddr: Some(entry.retaddr),
            args: Arguments::of(FuncgraphRetaddrEntry::tail(record)),
        })
    }
}

/// The data and the options of a line.
pub struct Line<'a> {
    /// The CPU.
    pub cpu: u32,
    /// The number of digits of the largest possible CPU number.
    pub cpu_width: usize,
    /// The time of the record.
    pub ts: u64,
    /// The time that relative times count from.
    pub start: u64,
    /// The common fields of the record.
    pub common: Common,
    /// The graph options that are on, and `REL_TIME` of the options for relative times.
    pub own: u32,
    /// The core options.
    pub set: Set,
    /// Names of addresses.
    pub symbols: &'a dyn Symbols,
    /// Names of tasks.
    pub comm: &'a dyn Fn(i32) -> Comm,
    /// The text section of interrupt entry functions, in this kernel.
    pub irqs: Range<usize>,
}

/// The entry or the return of an interrupt's function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Enter,
    Leave,
}

impl Line<'_> {
    fn is(&self, option: &crate::core::parse::options::TracerOption) -> bool {
        self.own & option.bit != 0
    }

    fn context(&self) -> bool {
        self.set.has(Flag::ContextInfo)
    }

    /// Whether the entry of `call` is hidden because it is in an interrupt.
    pub fn hides_entry(&self, state: &mut CpuState, call: &Call<'_>) -> bool {
        if self.is(&IRQS) || state.irq.is_none() && !self.begins_irq(call.func) {
            return false;
        }
        state.irq.get_or_insert(call.depth);
        true
    }

    /// Whether `func` is the first function of an interrupt.
    #[inline]
    fn begins_irq(&self, func: usize) -> bool {
        self.irqs.contains(&self.symbols.current_addr(func))
    }

    /// Whether a return from `depth` is hidden because it is in an interrupt.
    pub fn hides_return(&self, state: &mut CpuState, depth: i64) -> bool {
        let Some(irq) = state.irq.filter(|_| !self.is(&IRQS)) else {
            return false;
        };
        if irq >= depth {
            state.irq = None;
        }
        true
    }

    /// Writes a call. With `leaf`, the return that followed at once, writes both in one line.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn entry(
        &self,
        out: &mut dyn Out,
        state: &mut CpuState,
        call: &Call<'_>,
        leaf: Option<&FuncgraphExit>,
    ) -> fmt::Result {
        self.task_change(out, state)?;
        self.irq(out, call.func, Side::Enter)?;
        let mut start = Start::new();
        self.start(out, &mut start)?;
        match leaf {
            Some(ret) => self.leaf(out, state, &mut start, call, ret),
            None => self.opened(out, state, &mut start, call),
        }
    }

    fn leaf(
        &self,
        out: &mut dyn Out,
        state: &mut CpuState,
        start: &mut Start,
        call: &Call<'_>,
        ret: &FuncgraphExit,
    ) -> fmt::Result {
        // Comments are printed one level deeper than this.
        state.depth = call.depth.wrapping_sub(1);
        if let Some(open) = state.at(call.depth) {
            *open = 0;
        }
        let ns = ret.rettime.wrapping_sub(ret.calltime);
        self.duration(out, start, ns, call.depth)?;
        let retaddr = call.retaddr.filter(|_| self.is(&RETADDR));
        let comments = self.is(&RETVAL) || retaddr.is_some();
        let end: &[u8] = if comments { b"(); /*" } else { b"();\n" };
        self.called(out, ret.func, call.args, end)?;
        if comments {
            if let Some(retaddr) = retaddr {
                self.retaddr(out, retaddr)?;
            }
            if self.is(&RETVAL) {
                self.retval(out, ret)?;
            }
            out.bytes(b" */\n")?;
        }
        self.irq(out, ret.func, Side::Leave)
    }

    fn opened(
        &self,
        out: &mut dyn Out,
        state: &mut CpuState,
        start: &mut Start,
        call: &Call<'_>,
    ) -> fmt::Result {
        state.depth = call.depth;
        if let Some(open) = state.at(call.depth) {
            *open = call.func;
        }
        self.no_duration(out, start, call.depth)?;
        let retaddr = call.retaddr.filter(|_| self.is(&RETADDR));
        let comment = retaddr.is_some();
        let end: &[u8] = if comment { b"() { /*" } else { b"() {\n" };
        self.called(out, call.func, call.args, end)?;
        match retaddr {
            Some(retaddr) => {
                self.retaddr(out, retaddr)?;
                out.bytes(b" */\n")
            }
            None => Ok(()),
        }
    }

    /// Writes the name of `func`, and `end`, which begins with `()`. Arguments take the place of that.
    #[inline]
    fn called(
        &self,
        out: &mut dyn Out,
        func: usize,
        args: Option<Arguments<'_>>,
        end: &[u8],
    ) -> fmt::Result {
        self.symbols.write_name(func, out)?;
        let Some(args) = args else {
            return out.bytes(end);
        };
        self.symbols.write_arguments(func, &args.words(), out)?;
        out.bytes(end.strip_prefix(b"()").unwrap_or(end))
    }

    /// Writes a return that does not follow its call.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn ret(&self, out: &mut dyn Out, state: &mut CpuState, ret: &FuncgraphExit) -> fmt::Result {
        let depth = i64::from(ret.depth as i32);
        state.depth = depth.wrapping_sub(1);
        // Below the remembered depths, the return counts as that of the open function.
        let mut known = true;
        if let Some(open) = state.at(depth) {
            known = core::mem::take(open) == ret.func;
        }
        self.task_change(out, state)?;
        let mut start = Start::new();
        self.start(out, &mut start)?;
        let ns = ret.rettime.wrapping_sub(ret.calltime);
        self.duration(out, &mut start, ns, depth)?;
        if self.is(&RETVAL) {
            out.bytes(b"} /* ")?;
            self.symbols.write_name(ret.func, out)?;
            self.retval(out, ret)?;
            out.bytes(b" */\n")?;
        } else if known && !self.is(&TAIL) {
            out.bytes(b"}\n")?;
        } else {
            out.bytes(b"} /* ")?;
            self.symbols.write_name(ret.func, out)?;
            out.bytes(b" */\n")?;
        }
        if self.is(&OVERRUN) {
            writeln!(out, " (Overruns: {})", ret.overrun)?;
        }
        self.irq(out, ret.func, Side::Leave)
    }

    /// Writes a record of another type as a comment. `text` writes it, with or without a newline.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn comment(
        &self,
        out: &mut dyn Out,
        state: &mut CpuState,
        text: &dyn Fn(&mut dyn Out) -> fmt::Result,
    ) -> fmt::Result {
        self.task_change(out, state)?;
        let mut start = Start::new();
        self.start(out, &mut start)?;
        let depth = match state.depth {
            1.. => state.depth.wrapping_add(1),
            _ => 0,
        };
        self.no_duration(out, &mut start, depth)?;
        out.bytes(b"/* ")?;
        text(&mut HeldNewline::new(out))?;
        out.bytes(b" */\n")
    }

    /// Writes that the next lines on this CPU are from another task.
    #[inline]
    fn task_change(&self, out: &mut dyn Out, state: &mut CpuState) -> fmt::Result {
        let pid = self.common.pid;
        match state.pid.replace(pid) {
            // C uses this pid for "no task yet".
            None | Some(-1) => Ok(()),
            Some(before) if before == pid => Ok(()),
            Some(before) => self.change_from(out, before),
        }
    }

    #[cold]
    fn change_from(&self, out: &mut dyn Out, before: i32) -> fmt::Result {
        const RULE: &[u8] = b" ------------------------------------------\n";
        out.bytes(RULE)?;
        self.cpu(out)?;
        self.task(out, before)?;
        out.bytes(b" => ")?;
        self.task(out, self.common.pid)?;
        out.bytes(b"\n")?;
        out.bytes(RULE)?;
        out.bytes(b"\n")
    }

    /// Writes the arrow at the border of an interrupt, if `func` is its first function.
    #[inline]
    fn irq(&self, out: &mut dyn Out, func: usize, side: Side) -> fmt::Result {
        match self.begins_irq(func) {
            true => self.arrow(out, side),
            false => Ok(()),
        }
    }

    #[cold]
    fn arrow(&self, out: &mut dyn Out, side: Side) -> fmt::Result {
        self.columns(out)?;
        let filled = self.is(&DURATION) && self.context();
        if filled {
            out.bytes(b"  ")?;
        }
        out.bytes(match side {
            Side::Enter => b"==========>",
            Side::Leave => b"<==========",
        })?;
        if filled {
            out.bytes(b" |")?;
        }
        out.bytes(b"\n")
    }

    fn retaddr(&self, out: &mut dyn Out, addr: usize) -> fmt::Result {
        out.bytes(b" <-")?;
        let style = Style {
            offset: true,
            addr: self.set.has(Flag::SymAddr),
        };
        symbol::write(out, self.symbols, addr, style)
    }

    /// Writes ` ret=`. An error number is written in decimal, any other value in hexadecimal
    /// digits.
    #[inline]
    fn retval(&self, out: &mut dyn Out, ret: &FuncgraphExit) -> fmt::Result {
        let value = ret.retval as u64;
        // If an int was returned, the upper half of a negative value is clear.
        let signed = match value {
            0x8000_0000..=0xffff_ffff => i64::from(value as u32 as i32),
            _ => value as i64,
        };
        if (-4095..0).contains(&signed) && !self.is(&RETVAL_HEX) {
            write!(out, " ret={signed}")
        } else {
            write!(out, " ret=0x{value:x}")
        }
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::{text, Names};
    use super::*;
    use std::string::String;

    fn duration(ns: u64) -> String {
        text(|out| write_duration(out, ns))
    }

    #[test]
    fn durations() {
        assert_eq!(duration(0), "0.000 us    ");
        assert_eq!(duration(999), "0.999 us    ");
        assert_eq!(duration(37_986), "37.986 us   ");
        assert_eq!(duration(140_569), "140.569 us  ");
        assert_eq!(duration(1_875_614), "1875.614 us ");
        assert_eq!(duration(12_345_678), "12345.67 us ");
        assert_eq!(duration(582_926_012), "582926.0 us ");
        assert_eq!(duration(1_625_956_000), "1625956 us  ");
        assert_eq!(duration(21_625_956_000), "21625956 us ");
        assert_eq!(duration(123_321_625_956_000), "123321625956 us ");
    }

    const DEFAULT: u32 = CPU.bit | OVERHEAD.bit | DURATION.bit | IRQS.bit | SLEEP_TIME.bit;

    fn line(own: u32, pid: i32) -> Line<'static> {
        Line {
            cpu: 1,
            cpu_width: 1,
            ts: 6_226_899_999,
            start: 6_226_000_000,
            common: Common {
                pid,
                ..Common::default()
            },
            own,
            set: Set::DEFAULT,
            symbols: &Names,
            comm: &|pid| {
                let mut comm = Comm::default();
                let name: &[u8] = if pid == 0 { b"<idle>" } else { b"migration/0" };
                comm[..name.len()].copy_from_slice(name);
                comm
            },
            irqs: 0x5000..0x6000,
        }
    }

    fn exit(func: usize, depth: u32, took: u64) -> FuncgraphExit {
        FuncgraphExit {
            func,
            depth,
            rettime: took,
            ..FuncgraphExit::default()
        }
    }

    fn call(func: usize, depth: i64) -> Call<'static> {
        Call {
            func,
            depth,
            retaddr: None,
            args: None,
        }
    }

    #[test]
    fn a_nested_call_with_a_leaf() {
        let mut state = CpuState::new();
        let got = text(|out| {
            let line = line(DEFAULT, 93);
            line.entry(out, &mut state, &call(0x1004, 0), None)?;
            line.entry(
                out,
                &mut state,
                &call(0x2010, 1),
                Some(&exit(0x2010, 1, 37_986)),
            )?;
            line.comment(out, &mut state, &|out| out.bytes(b"a remark\n"))?;
            line.ret(out, &mut state, &exit(0x1004, 0, 2_000_001))
        });
        assert_eq!(
            got,
            " 1)               |  vfs_read() {\n\
             \x201) + 37.986 us   |    ksys_read();\n\
             \x201)               |  /* a remark */\n\
             \x201) # 2000.001 us |  }\n"
        );
    }

    #[test]
    fn calls_at_every_depth() {
        for depth in 0..100 {
            let mut state = CpuState::new();
            let got = text(|out| {
                let line = line(DEFAULT, 93);
                line.entry(out, &mut state, &call(0x1004, depth), None)?;
                line.ret(out, &mut state, &exit(0x1004, depth as u32, 37_986))
            });
            let blanks = " ".repeat(2 * depth as usize);
            let [open, close] = [" 1)               |  ", " 1) + 37.986 us   |  "];
            assert_eq!(
                got,
                std::format!("{open}{blanks}vfs_read() {{\n{close}{blanks}}}\n")
            );
        }
    }

    #[test]
    fn a_return_without_its_entry_and_another_task() {
        let mut state = CpuState::new();
        let got = text(|out| {
            line(DEFAULT | TAIL.bit, 0).ret(out, &mut state, &exit(0x1004, 3, 1))?;
            line(CPU.bit | DURATION.bit, 17).ret(out, &mut state, &exit(0x2010, 2, 100_001))
        });
        assert_eq!(
            got,
            " 1)   0.001 us    |        } /* vfs_read */\n \
             ------------------------------------------\n \
             1)    <idle>-0    =>   migrati-17  \n \
             ------------------------------------------\n\n \
             1)   100.001 us  |      } /* ksys_read */\n"
        );
    }

    #[test]
    fn return_values() {
        let show = |value: usize, own: u32| {
            let mut ret = exit(0x1004, 0, 0);
            ret.retval = value;
            text(|out| line(own, 1).retval(out, &ret))
        };
        assert_eq!(show(0, 0), " ret=0x0");
        assert_eq!(show(1, 0), " ret=0x1");
        assert_eq!(show(usize::MAX, 0), " ret=-1");
        assert_eq!(show(0xffff_fff5, 0), " ret=-11");
        assert_eq!(show(0xffff_fff5, RETVAL_HEX.bit), " ret=0xfffffff5");
        assert_eq!(show(0x8000_0000, 0), " ret=0x80000000");
        assert_eq!(show(0xffff_8880_0000_0000, 0), " ret=0xffff888000000000");
    }

    #[test]
    fn interrupts() {
        let mut state = CpuState::new();
        let shown = line(DEFAULT, 1);
        let got =
            text(|out| shown.entry(out, &mut state, &call(0x5010, 2), Some(&exit(0x5010, 2, 5))));
        assert!(
            got.starts_with(" 1)   ==========> |\n 1)   0.005 us    |      ")
                && got.ends_with(" 1)   <========== |\n"),
            "{got}"
        );
        let hidden = line(DEFAULT & !IRQS.bit, 1);
        assert!(!hidden.hides_entry(&mut state, &call(0x1004, 0)));
        assert!(hidden.hides_entry(&mut state, &call(0x5010, 1)));
        assert!(hidden.hides_entry(&mut state, &call(0x1004, 2)));
        assert!(hidden.hides_return(&mut state, 2));
        assert!(hidden.hides_return(&mut state, 1));
        assert!(!hidden.hides_return(&mut state, 0));
    }

    /// What another kernel has recorded, whose text was 0x10_0000 further down.
    struct Moved;

    impl Symbols for Moved {
        fn current_addr(&self, addr: usize) -> usize {
            addr + 0x10_0000
        }

        fn write_symbol(
            &self,
            addr: usize,
            offset: bool,
            out: &mut dyn Out,
        ) -> Result<bool, fmt::Error> {
            Names.write_symbol(addr, offset, out)
        }
    }

    #[test]
    fn interrupts_of_another_kernel() {
        let moved = |own| Line {
            symbols: &Moved,
            irqs: 0x10_5000..0x10_6000,
            ..line(own, 1)
        };
        let got = |func| {
            let mut state = CpuState::new();
            let leaf = exit(func, 2, 5);
            text(|out| moved(DEFAULT).entry(out, &mut state, &call(func, 2), Some(&leaf)))
        };
        assert_eq!(got(0x5010).matches("==========").count(), 2);
        assert_eq!(got(0x10_5010).matches("==========").count(), 0);
        let mut state = CpuState::new();
        let hidden = moved(DEFAULT & !IRQS.bit);
        assert!(!hidden.hides_entry(&mut state, &call(0x10_5010, 0)));
        assert!(hidden.hides_entry(&mut state, &call(0x5010, 0)));
    }

    #[test]
    fn titles() {
        assert_eq!(
            text(|out| write_titles(out, DEFAULT, false)),
            "# CPU  DURATION                  FUNCTION CALLS\n\
             # |     |   |                     |   |   |   |\n"
        );
        let all = text(|out| write_titles(out, DEFAULT | PROC.bit | ABS_TIME.bit, true));
        assert_eq!(all.lines().count(), 7);
        assert!(all.ends_with(
            "#     TIME        CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS\n\
             #      |          |     |    |        ||||      |   |                     |   |   |   |\n"
        ));
    }
}
