// SPDX-License-Identifier: GPL-2.0

//! Lines of the built-in records, after their prefix.
//!
//! A line of `trace` is: a notice of lost events, an `annotate` line ([`super::line`]), the prefix
//! ([`super::line::Prefix`]), the event, and in the hex form a newline of its own. [`write()`] does
//! the event. Formats that a type does not have say only `type: ID`, as ftrace's do.

use super::entry::{self, words, Common, ContextSwitch as Switch, Entry, Truncated};
use super::line::{write_time, Form, Unit};
use super::symbol::{self, Style, Symbols};
use super::Out;
use crate::core::parse::options::{Flag, Set};
use crate::core::parse::parser::until_nul;
use core::fmt;

/// Why a line was not written whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The output is full.
    Full,
    /// The record is shorter than its type; nothing was written.
    Truncated,
}

impl From<fmt::Error> for Error {
    fn from(_: fmt::Error) -> Self {
        Self::Full
    }
}

impl From<Truncated> for Error {
    fn from(_: Truncated) -> Self {
        Self::Truncated
    }
}

/// What trace_printk() records point to.
pub trait Strings {
    /// Writes the format at address `format` with the arguments that vbin_printf() packed into
    /// `args`.
    ///
    /// # Errors
    ///
    /// Only `out`'s own.
    fn write_packed(&self, format: usize, args: &[u8], out: &mut dyn Out) -> fmt::Result;

    /// Writes the constant string at `addr`.
    ///
    /// # Errors
    ///
    /// Only `out`'s own.
    fn write_constant(&self, addr: usize, out: &mut dyn Out) -> fmt::Result;
}

/// Knows the names of tasks.
pub trait Tasks {
    /// Writes the name of the task `pid`, or what stands for one that is not known.
    ///
    /// # Errors
    ///
    /// Only `out`'s own.
    fn write_name(&self, pid: i32, out: &mut dyn Out) -> fmt::Result;
}

/// What printing needs besides the record.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The instance's options.
    pub set: Set,
    /// Names of kernel addresses.
    pub symbols: &'a dyn Symbols,
    /// Names of tasks.
    pub tasks: &'a dyn Tasks,
    /// Formats of trace_printk(); without it, its records count as unknown.
    pub strings: Option<&'a dyn Strings>,
    /// What the trace clock counts.
    pub unit: Unit,
}

/// Writes the event of a built-in `record` with its newline, in the form that `env.set` asks for.
///
/// Returns `false`, with nothing written, if the record's type is none of the built-in ones: it is
/// some event's, or [`write_unknown`] has the last word. `ts` is the record's time.
///
/// # Errors
///
/// See [`Error`].
pub fn write(out: &mut dyn Out, record: &[u8], ts: u64, env: &Env<'_>) -> Result<bool, Error> {
    let id = Common::parse(record)?.id;
    let line = Line { record, ts, env };
    let packed = id == entry::Bprint::ID || id == entry::Bputs::ID;
    if !entry::TABLE.iter().any(|row| row.id == id) || packed && env.strings.is_none() {
        return Ok(false);
    }
    match Form::of(env.set) {
        // The field lists of built-in types are out of this option's sight in ftrace, too.
        Form::Normal if env.set.has(Flag::Fields) => writeln!(out, "UNKNOWN TYPE {id}")?,
        Form::Normal => line.normal(out, id)?,
        Form::Raw => line.raw(out, id)?,
        Form::Hex | Form::Bin => line.words(out, id)?,
    }
    Ok(true)
}

/// Writes the text of a `trace_printk()` record alone, as option `printk-msg-only` has it.
///
/// Returns `false`, with nothing written, if the record is none, or it is one whose text needs
/// [`Env::strings`] and there are none.
///
/// # Errors
///
/// See [`Error`].
pub fn write_message(out: &mut dyn Out, record: &[u8], env: &Env<'_>) -> Result<bool, Error> {
    let id = Common::parse(record)?.id;
    let line = Line { record, ts: 0, env };
    match id {
        entry::Print::ID => {
            entry::Print::parse(record)?;
            out.bytes(until_nul(entry::Print::tail(record)))?;
        }
        entry::Bprint::ID | entry::Bputs::ID if env.strings.is_some() => {
            line.packed(out, id, |_, _| Ok(()))?
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Writes the event of a record whose type nobody knows.
///
/// # Errors
///
/// Only `out`'s own.
pub fn write_unknown(out: &mut dyn Out, id: u16, set: Set) -> fmt::Result {
    match Form::of(set) {
        Form::Normal => writeln!(out, "Unknown type {id}"),
        Form::Raw => writeln!(out, "{id} ?"),
        Form::Hex | Form::Bin => Ok(()),
    }
}

/// Writes what ends a line after its event: a newline in the hex form, nothing in others.
///
/// # Errors
///
/// Only `out`'s own.
pub fn write_end(out: &mut dyn Out, set: Set) -> fmt::Result {
    match Form::of(set) {
        Form::Hex => out.bytes(b"\n"),
        _ => Ok(()),
    }
}

struct Line<'a> {
    record: &'a [u8],
    ts: u64,
    env: &'a Env<'a>,
}

impl Line<'_> {
    fn normal(&self, out: &mut dyn Out, id: u16) -> Result<(), Error> {
        match id {
            entry::Function::ID => {
                let call = entry::Function::parse(self.record)?;
                let args = words(entry::Function::tail(self.record)).count() >= entry::ARGUMENTS;
                self.call(out, call.ip, args, call.parent_ip)?;
                out.bytes(b"\n")?;
            }
            entry::ContextSwitch::ID | entry::Wakeup::ID => {
                let Switch {
                    prev_pid,
                    prev_prio,
                    next_cpu,
                    next_pid,
                    next_prio,
                    ..
                } = self.switch()?;
                let (prev, next) = self.states(None)?;
                let arrow = if id == entry::Wakeup::ID {
                    "  +"
                } else {
                    "==>"
                };
                write!(
                    out,
                    " {prev_pid:7}:{prev_prio:3}:{} {arrow} ",
                    char::from(prev)
                )?;
                write!(
                    out,
                    "[{next_cpu:03}] {next_pid:7}:{next_prio:3}:{} ",
                    char::from(next)
                )?;
                self.env.tasks.write_name(next_pid as i32, out)?;
                out.bytes(b"\n")?;
            }
            entry::KernelStack::ID => self.kernel_stack(out)?,
            entry::Print::ID => {
                let print = entry::Print::parse(self.record)?;
                self.symbol(out, print.ip)?;
                out.bytes(b": ")?;
                out.bytes(until_nul(entry::Print::tail(self.record)))?;
            }
            entry::Bprint::ID | entry::Bputs::ID => self.packed(out, id, |out, ip| {
                self.symbol(out, ip)?;
                out.bytes(b": ")
            })?,
            entry::UserStack::ID => self.user_stack(out)?,
            entry::Branch::ID => self.branch(out)?,
            entry::RawData::ID => self.raw_data(out)?,
            entry::FuncRepeats::ID => {
                let repeats = entry::FuncRepeats::parse(self.record)?;
                self.call(out, repeats.ip, false, repeats.parent_ip)?;
                write!(out, " (repeats: {}, last_ts:", repeats.count)?;
                write_time(out, self.ts.wrapping_sub(repeats.delta()), self.env.unit)?;
                out.bytes(b")\n")?;
            }
            _ => no_format(out, id)?,
        }
        Ok(())
    }

    fn raw(&self, out: &mut dyn Out, id: u16) -> Result<(), Error> {
        match id {
            entry::Function::ID => {
                let call = entry::Function::parse(self.record)?;
                writeln!(out, "{:x} {:x}", call.ip, call.parent_ip)?;
            }
            entry::ContextSwitch::ID | entry::Wakeup::ID => {
                let Switch {
                    prev_pid,
                    prev_prio,
                    next_cpu,
                    next_pid,
                    next_prio,
                    ..
                } = self.switch()?;
                let (prev, next) = self.states(Some(b'+'))?;
                write!(out, "{prev_pid} {prev_prio} {} ", char::from(prev))?;
                writeln!(
                    out,
                    "{next_cpu} {next_pid} {next_prio} {}",
                    char::from(next)
                )?;
            }
            entry::Print::ID => {
                let print = entry::Print::parse(self.record)?;
                write!(out, "# {:x} ", print.ip)?;
                out.bytes(until_nul(entry::Print::tail(self.record)))?;
            }
            entry::Bprint::ID | entry::Bputs::ID => {
                self.packed(out, id, |out, ip| write!(out, ": {ip:x} : "))?
            }
            entry::RawData::ID => self.raw_data(out)?,
            entry::FuncRepeats::ID => {
                let repeats = entry::FuncRepeats::parse(self.record)?;
                let (ip, parent) = (repeats.ip, repeats.parent_ip);
                writeln!(out, "{ip} {parent} {} {}", repeats.count, repeats.delta())?;
            }
            _ => no_format(out, id)?,
        }
        Ok(())
    }

    /// The hex and bin forms, which few records have.
    fn words(&self, out: &mut dyn Out, id: u16) -> Result<(), Error> {
        if id == entry::ContextSwitch::ID || id == entry::Wakeup::ID {
            return self.switch_words(out);
        }
        if id != entry::Function::ID {
            return Ok(no_format(out, id)?);
        }
        let call = entry::Function::parse(self.record)?;
        for word in [call.ip, call.parent_ip] {
            match Form::of(self.env.set) {
                Form::Bin => out.bytes(&word.to_ne_bytes())?,
                _ => write!(out, "{word:0width$x} ", width = size_of::<usize>() * 2)?,
            }
        }
        Ok(())
    }

    /// The record of a switch or a wake-up, which have the same fields.
    fn switch(&self) -> Result<Switch, Error> {
        Ok(Switch::parse(self.record)?)
    }

    /// The letters of both states; of a wake-up the first is `sign`, if there is one.
    fn states(&self, sign: Option<u8>) -> Result<(u8, u8), Error> {
        let switch = self.switch()?;
        let sign = sign.filter(|_| switch.common.id == entry::Wakeup::ID);
        let prev = sign.unwrap_or_else(|| entry::state_letter(switch.prev_state));
        Ok((prev, entry::state_letter(switch.next_state)))
    }

    fn switch_words(&self, out: &mut dyn Out) -> Result<(), Error> {
        let Switch {
            prev_pid,
            prev_prio,
            prev_state,
            next_cpu,
            next_pid,
            next_prio,
            next_state,
            ..
        } = self.switch()?;
        if Form::of(self.env.set) == Form::Bin {
            out.bytes(&prev_pid.to_ne_bytes())?;
            out.bytes(&[prev_prio, prev_state])?;
            out.bytes(&next_cpu.to_ne_bytes())?;
            out.bytes(&next_pid.to_ne_bytes())?;
            return Ok(out.bytes(&[next_prio, next_state])?);
        }
        // The second letter is an `int` there, unlike the first.
        let (prev, next) = self.states(Some(b'+'))?;
        write!(out, "{prev_pid:08x} {prev_prio:02x} {prev:02x} ")?;
        Ok(write!(
            out,
            "{next_cpu:08x} {next_pid:08x} {next_prio:02x} {next:08x} "
        )?)
    }

    fn symbol(&self, out: &mut dyn Out, addr: usize) -> fmt::Result {
        symbol::write(out, self.env.symbols, addr, Style::of(self.env.set))
    }

    /// A call; where its arguments are recorded they are hinted at, as nobody knows their types.
    fn call(&self, out: &mut dyn Out, ip: usize, args: bool, parent: usize) -> fmt::Result {
        self.symbol(out, ip)?;
        if args {
            out.bytes(b"()")?;
        }
        if parent == 0 || !self.env.set.has(Flag::PrintParent) {
            return Ok(());
        }
        out.bytes(b" <-")?;
        self.symbol(out, parent)
    }

    fn kernel_stack(&self, out: &mut dyn Out) -> Result<(), Error> {
        entry::KernelStack::parse(self.record)?;
        out.bytes(b"<stack trace>\n")?;
        // The record's length counts, not its size field; all ones end it early.
        for caller in
            words(entry::KernelStack::tail(self.record)).take_while(|&addr| addr != usize::MAX)
        {
            out.bytes(b" => ")?;
            match caller {
                entry::TRAMPOLINE => out.bytes(b"[FTRACE TRAMPOLINE]")?,
                addr => self.symbol(out, addr)?,
            }
            out.bytes(b"\n")?;
        }
        Ok(())
    }

    fn user_stack(&self, out: &mut dyn Out) -> Result<(), Error> {
        let stack = entry::UserStack::parse(self.record)?;
        out.bytes(b"<user stack trace>\n")?;
        for addr in stack.caller.into_iter().take_while(|&addr| addr != 0) {
            out.bytes(b" => ")?;
            symbol::write_addr(out, addr)?;
            out.bytes(b"\n")?;
        }
        Ok(())
    }

    fn branch(&self, out: &mut dyn Out) -> Result<(), Error> {
        let branch = entry::Branch::parse(self.record)?;
        out.bytes(if branch.correct != 0 {
            b"[  ok  ] "
        } else {
            b"[ MISS ] "
        })?;
        out.bytes(until_nul(&branch.func))?;
        out.bytes(b":")?;
        out.bytes(until_nul(&branch.file))?;
        // C takes the line for a signed number.
        Ok(writeln!(out, ":{}", branch.line as i32)?)
    }

    fn raw_data(&self, out: &mut dyn Out) -> Result<(), Error> {
        let data = entry::RawData::parse(self.record)?;
        write!(out, "# {:x} buf:", data.id)?;
        entry::RawData::tail(self.record)
            .iter()
            .try_for_each(|byte| write!(out, " {byte:02x}"))?;
        Ok(out.bytes(b"\n")?)
    }

    /// Records of trace_printk(): `head` writes what comes before the text.
    fn packed(
        &self,
        out: &mut dyn Out,
        id: u16,
        head: impl FnOnce(&mut dyn Out, usize) -> fmt::Result,
    ) -> Result<(), Error> {
        let Some(strings) = self.env.strings else {
            return Ok(no_format(out, id)?);
        };
        if id == entry::Bputs::ID {
            let puts = entry::Bputs::parse(self.record)?;
            head(out, puts.ip)?;
            return Ok(strings.write_constant(puts.str, out)?);
        }
        let print = entry::Bprint::parse(self.record)?;
        head(out, print.ip)?;
        Ok(strings.write_packed(print.fmt, entry::Bprint::tail(self.record), out)?)
    }
}

fn no_format(out: &mut dyn Out, id: u16) -> fmt::Result {
    writeln!(out, "type: {id}")
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::{text, Names};
    use super::super::LineBuf;
    use super::*;
    use proptest::prelude::*;
    use std::string::String;
    use std::vec::Vec;

    struct Numbered;

    impl Tasks for Numbered {
        fn write_name(&self, pid: i32, out: &mut dyn Out) -> fmt::Result {
            write!(out, "task{pid}")
        }
    }

    fn env(set: Set) -> Env<'static> {
        Env {
            set,
            symbols: &Names,
            tasks: &Numbered,
            strings: None,
            unit: Unit::Nanoseconds,
        }
    }

    fn show(record: &[u8], set: Set) -> String {
        text(|out| {
            write(out, record, 6_226_899_000, &env(set))
                .map(|known| assert!(known))
                .map_err(|_| fmt::Error)
        })
    }

    fn with(flags: &[Flag]) -> Set {
        flags
            .iter()
            .fold(Set::DEFAULT, |set, &flag| set.with(flag, true))
    }

    fn record<E: Entry>(entry: E, tail: &[u8]) -> Vec<u8> {
        let mut bytes = std::vec![0; E::SIZE];
        entry.store(&mut bytes).unwrap();
        bytes.extend(tail);
        bytes
    }

    fn common(id: u16) -> Common {
        Common {
            id,
            pid: 93,
            ..Common::default()
        }
    }

    fn call() -> Vec<u8> {
        record(
            entry::Function {
                common: common(1),
                ip: 0x1004,
                parent_ip: 0x2010,
                args: [],
            },
            &[],
        )
    }

    #[test]
    fn functions() {
        assert_eq!(show(&call(), Set::DEFAULT), "vfs_read <-ksys_read\n");
        assert_eq!(
            show(&call(), with(&[Flag::SymOffset])),
            "vfs_read+0x4/0x190 <-ksys_read+0x10/0x190\n"
        );
        assert_eq!(
            show(&call(), with(&[Flag::SymAddr])),
            "vfs_read <0000000000001004> <-ksys_read <0000000000002010>\n"
        );
        assert_eq!(
            show(&call(), Set::DEFAULT.with(Flag::PrintParent, false)),
            "vfs_read\n"
        );
        assert_eq!(show(&call(), with(&[Flag::Raw])), "1004 2010\n");
        assert_eq!(
            show(&call(), with(&[Flag::Hex])),
            "0000000000001004 0000000000002010 "
        );
        assert_eq!(
            show(&call(), with(&[Flag::Bin])).as_bytes(),
            [0x1004usize.to_ne_bytes(), 0x2010usize.to_ne_bytes()].concat()
        );
        assert_eq!(show(&call(), with(&[Flag::Fields])), "UNKNOWN TYPE 1\n");
        assert_eq!(
            show(&call(), with(&[Flag::Fields, Flag::Raw])),
            "1004 2010\n"
        );
        let orphan = record(
            entry::Function {
                common: common(1),
                ip: 0x1004,
                parent_ip: 0,
                args: [],
            },
            &[],
        );
        assert_eq!(show(&orphan, Set::DEFAULT), "vfs_read\n");
        let with_arguments = [call(), [0; 8 * entry::ARGUMENTS].to_vec()].concat();
        assert_eq!(
            show(&with_arguments, Set::DEFAULT),
            "vfs_read() <-ksys_read\n"
        );
        assert_eq!(show(&with_arguments, with(&[Flag::Raw])), "1004 2010\n");
    }

    #[test]
    fn switches() {
        let switch = entry::ContextSwitch {
            common: common(2),
            prev_pid: 0,
            next_pid: 57,
            next_cpu: 1,
            prev_prio: 120,
            prev_state: 1,
            next_prio: 94,
            next_state: 0,
        };
        let wakeup = [&[3, 0][..], &record(switch, &[])[2..]].concat();
        let switch = record(switch, &[]);
        assert_eq!(
            show(&switch, Set::DEFAULT),
            "       0:120:S ==> [001]      57: 94:R task57\n"
        );
        assert_eq!(
            show(&wakeup, Set::DEFAULT),
            "       0:120:S   + [001]      57: 94:R task57\n"
        );
        assert_eq!(show(&switch, with(&[Flag::Raw])), "0 120 S 1 57 94 R\n");
        assert_eq!(show(&wakeup, with(&[Flag::Raw])), "0 120 + 1 57 94 R\n");
        assert_eq!(
            show(&wakeup, with(&[Flag::Hex])),
            "00000000 78 2b 00000001 00000039 5e 00000052 "
        );
        assert_eq!(
            show(&switch, with(&[Flag::Bin])).as_bytes(),
            [0, 0, 0, 0, 120, 1, 1, 0, 0, 0, 57, 0, 0, 0, 94, 0]
        );
        assert_eq!(entry::state_letter(9), b'?');
    }

    #[test]
    fn markers() {
        let marker = record(
            entry::Print {
                common: common(5),
                ip: 0x3000,
                buf: [],
            },
            b"hello\n\0junk",
        );
        assert_eq!(show(&marker, Set::DEFAULT), "tracing_mark_write: hello\n");
        assert_eq!(show(&marker, with(&[Flag::Raw])), "# 3000 hello\n");
        assert_eq!(show(&marker, with(&[Flag::Hex])), "type: 5\n");
        let open = record(
            entry::Print {
                common: common(5),
                ip: 0x3000,
                buf: [],
            },
            b"no end",
        );
        assert_eq!(show(&open, Set::DEFAULT), "tracing_mark_write: no end");

        let raw = record(
            entry::RawData {
                common: common(19),
                id: 0x1d,
                buf: [],
            },
            b"abc",
        );
        assert_eq!(show(&raw, Set::DEFAULT), "# 1d buf: 61 62 63\n");
        assert_eq!(show(&raw, with(&[Flag::Raw])), "# 1d buf: 61 62 63\n");
        assert_eq!(show(&raw, with(&[Flag::Bin])), "type: 19\n");
    }

    #[test]
    fn branches() {
        let mut branch = entry::Branch {
            common: common(9),
            line: 42,
            correct: 1,
            ..Default::default()
        };
        branch.func[..8].copy_from_slice(b"vfs_read");
        branch.file = [b'f'; 21];
        assert_eq!(
            show(&record(branch, &[]), Set::DEFAULT),
            "[  ok  ] vfs_read:fffffffffffffffffffff:42\n"
        );
        branch.correct = 0;
        branch.file[3] = 0;
        assert_eq!(
            show(&record(branch, &[]), Set::DEFAULT),
            "[ MISS ] vfs_read:fff:42\n"
        );
        for form in [Flag::Raw, Flag::Hex, Flag::Bin] {
            assert_eq!(show(&record(branch, &[]), with(&[form])), "type: 9\n");
        }
    }

    #[test]
    fn stacks() {
        let callers: Vec<u8> = [0x1004, entry::TRAMPOLINE, 0x2000, usize::MAX, 0x3000]
            .iter()
            .flat_map(|a: &usize| a.to_ne_bytes())
            .collect();
        let stack = record(
            entry::KernelStack {
                common: common(4),
                size: 5,
                caller: [],
            },
            &callers,
        );
        assert_eq!(
            show(&stack, Set::DEFAULT),
            "<stack trace>\n => vfs_read\n => [FTRACE TRAMPOLINE]\n => ksys_read\n"
        );
        assert_eq!(show(&stack, with(&[Flag::Raw])), "type: 4\n");
        let user = entry::UserStack {
            common: common(13),
            tgid: 93,
            caller: [0x7f00, 0x1000, 0, 1, 0, 0, 0, 0],
        };
        assert_eq!(
            show(&record(user, &[]), Set::DEFAULT),
            "<user stack trace>\n =>  <0000000000007f00>\n =>  <0000000000001000>\n"
        );
    }

    #[test]
    fn repeats() {
        let mut entry = entry::FuncRepeats {
            common: common(20),
            ip: 0x1000,
            parent_ip: 0x2000,
            count: 6,
            ..Default::default()
        };
        entry.set_delta(1_000_000_000);
        let record = record(entry, &[]);
        assert_eq!(
            show(&record, Set::DEFAULT),
            "vfs_read <-ksys_read (repeats: 6, last_ts:     5.226899)\n"
        );
        assert_eq!(
            show(&record, with(&[Flag::Raw])),
            "4096 8192 6 1000000000\n"
        );
    }

    struct Formats;

    impl Strings for Formats {
        fn write_packed(&self, format: usize, args: &[u8], out: &mut dyn Out) -> fmt::Result {
            writeln!(out, "{format:x} of {} bytes", args.len())
        }

        fn write_constant(&self, addr: usize, out: &mut dyn Out) -> fmt::Result {
            writeln!(out, "string {addr:x}")
        }
    }

    #[test]
    fn printk() {
        let print = record(
            entry::Bprint {
                common: common(6),
                ip: 0x1000,
                fmt: 0x99,
                buf: [],
            },
            &[0; 12],
        );
        let puts = record(
            entry::Bputs {
                common: common(15),
                ip: 0x1000,
                str: 0x98,
            },
            &[],
        );
        let show = |record: &[u8], set| {
            let env = Env {
                strings: Some(&Formats),
                ..env(set)
            };
            text(|out| {
                write(out, record, 0, &env)
                    .map(|known| assert!(known))
                    .map_err(|_| fmt::Error)
            })
        };
        assert_eq!(show(&print, Set::DEFAULT), "vfs_read: 99 of 12 bytes\n");
        assert_eq!(show(&puts, Set::DEFAULT), "vfs_read: string 98\n");
        assert_eq!(
            show(&print, with(&[Flag::Raw])),
            ": 1000 : 99 of 12 bytes\n"
        );
        assert_eq!(show(&puts, with(&[Flag::Hex])), "type: 15\n");

        let marker = record(
            entry::Print {
                common: common(5),
                ip: 0x3000,
                buf: [],
            },
            b"hello\n\0junk",
        );
        let alone = |record: &[u8], strings: Option<&'static dyn Strings>| {
            let env = Env {
                strings,
                ..env(Set::DEFAULT)
            };
            let mut mem = [0; 100];
            let mut out = LineBuf::new(&mut mem);
            let known = write_message(&mut out, record, &env);
            (known, String::from_utf8_lossy(out.as_bytes()).into_owned())
        };
        assert_eq!(
            alone(&print, Some(&Formats)),
            (Ok(true), "99 of 12 bytes\n".into())
        );
        assert_eq!(
            alone(&puts, Some(&Formats)),
            (Ok(true), "string 98\n".into())
        );
        assert_eq!(alone(&marker, None), (Ok(true), "hello\n".into()));
        assert_eq!(alone(&puts, None), (Ok(false), "".into()));
        assert_eq!(alone(&call(), Some(&Formats)), (Ok(false), "".into()));
        assert_eq!(
            alone(&marker[..12], None),
            (Err(Error::Truncated), "".into())
        );
    }

    #[test]
    fn unknown_and_broken() {
        let mut mem = [0; 100];
        let mut out = LineBuf::new(&mut mem);
        let env = env(Set::DEFAULT);
        for id in [0u16, 7, 6, 15, 300] {
            let mut bytes = [0; 32];
            bytes[..2].copy_from_slice(&id.to_ne_bytes());
            assert_eq!(write(&mut out, &bytes, 0, &env), Ok(false));
        }
        assert_eq!(
            write(&mut out, &call()[..20], 0, &env),
            Err(Error::Truncated)
        );
        assert_eq!(write(&mut out, &[1, 0], 0, &env), Err(Error::Truncated));
        assert_eq!(out.as_bytes(), b"");
        assert_eq!(
            write(&mut LineBuf::new(&mut [0; 10]), &call(), 0, &env),
            Err(Error::Full)
        );
        assert_eq!(
            text(|out| write_unknown(out, 300, Set::DEFAULT)),
            "Unknown type 300\n"
        );
        assert_eq!(
            text(|out| write_unknown(out, 300, with(&[Flag::Raw]))),
            "300 ?\n"
        );
        assert_eq!(text(|out| write_end(out, with(&[Flag::Hex]))), "\n");
    }

    proptest! {
        #[test]
        fn any_bytes_print(bytes in proptest::collection::vec(any::<u8>(), 0..90), id in 0u8..22, bits: u64) {
            let mut bytes = bytes;
            if let [a, b, ..] = bytes.as_mut_slice() {
                (*a, *b) = (id, 0);
            }
            let mut mem = [0; 2048];
            let _ = write(&mut LineBuf::new(&mut mem), &bytes, 7, &env(Set::from_bits(bits)));
        }
    }
}
