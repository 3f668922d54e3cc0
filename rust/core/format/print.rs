// SPDX-License-Identifier: GPL-2.0

//! Prints built-in entries, without their prefix.
//!
//! A line of `trace` has these parts: a message about lost events, an `annotate` line
//! ([`super::line`]), the prefix ([`super::line::Prefix`]), the event, and in the hex form another
//! newline. [`write()`] writes the event, with the [`Show`](super::entry::Show) of the entry's
//! type.

use super::entry::{Common, Row};
use super::environment::{Env, Error, Line};
use super::line::Form;
use super::Out;
use crate::core::parse::options::Set;
use core::fmt;

/// Writes a built-in `record` with its newline, in the form that `env.set` asks for. `ts` is the
/// time of the record.
///
/// Returns `false` and writes nothing if the type is not built in. It is then the type of an event,
/// or [`write_unknown`] prints it.
///
/// # Errors
///
/// See [`Error`].
pub fn write(out: &mut dyn Out, record: &[u8], ts: u64, env: &Env<'_>) -> Result<bool, Error> {
    let line = Line { record, ts, env };
    match Row::find(Common::parse(record)?.id) {
        Some(row) => row.show(&line, out),
        None => Ok(false),
    }
}

/// Writes only the text of a `trace_printk()` record, for option `printk-msg-only`.
///
/// Returns `false` and writes nothing if the record is of another type, or if it needs
/// [`Env::strings`] and there are none.
///
/// # Errors
///
/// See [`Error`].
pub fn write_message(out: &mut dyn Out, record: &[u8], env: &Env<'_>) -> Result<bool, Error> {
    let line = Line { record, ts: 0, env };
    match Row::find(Common::parse(record)?.id) {
        Some(row) => row.message(&line, out),
        None => Ok(false),
    }
}

/// Writes a record of an unknown type.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_unknown(out: &mut dyn Out, id: u16, set: Set) -> fmt::Result {
    match Form::of(set) {
        Form::Normal => writeln!(out, "Unknown type {id}"),
        Form::Raw => writeln!(out, "{id} ?"),
        Form::Hex | Form::Bin => Ok(()),
    }
}

/// Writes the end of a line after its event: a newline in the hex form, nothing in the other forms.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_end(out: &mut dyn Out, set: Set) -> fmt::Result {
    match Form::of(set) {
        Form::Hex => out.bytes(b"\n"),
        _ => Ok(()),
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
pub(super) mod tests {
    use super::super::entry::{self, Entry, Words};
    use super::super::environment::{Strings, Tasks};
    use super::super::line::Unit;
    use super::super::symbol::tests::{text, Names};
    use super::super::symbol::ARGUMENTS;
    use super::super::LineBuf;
    use super::*;
    use crate::core::parse::options::Flag;
    use proptest::prelude::*;
    use std::string::String;
    use std::vec::Vec;

    /// Names made of numbers.
    pub(in super::super) struct Numbered;

    impl Tasks for Numbered {
        fn write_name(&self, pid: i32, out: &mut dyn Out) -> fmt::Result {
            write!(out, "task{pid}")
        }

        fn write_mapped(
            &self,
            tgid: i32,
            addr: usize,
            out: &mut dyn Out,
        ) -> core::result::Result<bool, fmt::Error> {
            if tgid != 93 || addr < 0x2000 {
                return Ok(false);
            }
            write!(out, "/bin/cat[+{:#x}]", addr - 0x2000).map(|()| true)
        }

        fn write_cgroup(
            &self,
            id: u64,
            out: &mut dyn Out,
        ) -> core::result::Result<bool, fmt::Error> {
            if id != 1 {
                return Ok(false);
            }
            out.bytes(b"/group").map(|()| true)
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
        let header = Common {
            id: E::ID,
            pid: 93,
            ..Common::default()
        };
        entry.words(header.word()).store(&mut bytes);
        bytes.extend(tail);
        bytes
    }

    fn call() -> Vec<u8> {
        record(
            entry::Function {
                ip: 0x1004,
                parent_ip: 0x2010,
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
                ip: 0x1004,
                parent_ip: 0,
            },
            &[],
        );
        assert_eq!(show(&orphan, Set::DEFAULT), "vfs_read\n");
        let with_arguments = [call(), [0; 8 * ARGUMENTS].to_vec()].concat();
        assert_eq!(
            show(&with_arguments, Set::DEFAULT),
            "vfs_read() <-ksys_read\n"
        );
        assert_eq!(show(&with_arguments, with(&[Flag::Raw])), "1004 2010\n");
    }

    #[test]
    fn switches() {
        let switch = entry::ContextSwitch {
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
    }

    #[test]
    fn markers() {
        let marker = record(entry::Print { ip: 0x3000 }, b"hello\n\0junk");
        assert_eq!(show(&marker, Set::DEFAULT), "tracing_mark_write: hello\n");
        assert_eq!(show(&marker, with(&[Flag::Raw])), "# 3000 hello\n");
        assert_eq!(show(&marker, with(&[Flag::Hex])), "type: 5\n");
        let open = record(entry::Print { ip: 0x3000 }, b"no end");
        assert_eq!(show(&open, Set::DEFAULT), "tracing_mark_write: no end");

        let raw = record(entry::RawData { id: 0x1d }, b"abc");
        assert_eq!(show(&raw, Set::DEFAULT), "# 1d buf: 61 62 63\n");
        assert_eq!(show(&raw, with(&[Flag::Raw])), "# 1d buf: 61 62 63\n");
        assert_eq!(show(&raw, with(&[Flag::Bin])), "type: 19\n");
    }

    #[test]
    fn branches() {
        let mut branch = entry::Branch {
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
    fn noise() {
        let hwlat = entry::Hwlat {
            duration: 12,
            outer_duration: 345,
            tv_sec: 1_700_000_000,
            tv_nsec: 1_000,
            seqnum: 7,
            count: 2,
            ..Default::default()
        };
        assert_eq!(
            show(&record(hwlat, &[]), Set::DEFAULT),
            "#7     inner/outer(us):   12/345   ts:1700000000.000001000 count:2\n"
        );
        assert_eq!(
            show(&record(hwlat, &[]), with(&[Flag::Raw])),
            "12 345 1700000000 000001000 7\n"
        );
        let with_nmi = entry::Hwlat {
            nmi_total_ts: 9,
            nmi_count: 3,
            ..hwlat
        };
        assert!(show(&record(with_nmi, &[]), Set::DEFAULT)
            .ends_with(" count:2 nmi-total:9 nmi-count:3\n"));
        let osnoise = entry::Osnoise {
            noise: 81,
            runtime: 1_000_000,
            max_sample: 20,
            hw_count: 1,
            nmi_count: 2,
            irq_count: 1008,
            softirq_count: 4,
            thread_count: 5,
            ..Default::default()
        };
        assert_eq!(
            show(&record(osnoise, &[]), Set::DEFAULT),
            "1000000         81  99.99190      20      1      2   1008      4      5\n"
        );
        assert_eq!(
            show(&record(osnoise, &[]), with(&[Flag::Raw])),
            "1000000 81 20 1 2 1008 4 5\n"
        );
        // C divides by zero there.
        let nothing = entry::Osnoise::default();
        assert_eq!(
            show(&record(nothing, &[]), Set::DEFAULT),
            "0          0   0.00000       0      0      0      0      0      0\n"
        );
        let timerlat = |context| entry::Timerlat {
            seqnum: 21,
            context,
            timer_latency: 3205,
        };
        for (context, name) in [(0, "   irq"), (1, "thread"), (2, "user-ret"), (3, "     ?")] {
            assert_eq!(
                show(&record(timerlat(context), &[]), Set::DEFAULT),
                std::format!("#21    context {name} timer_latency      3205 ns\n")
            );
        }
        assert_eq!(
            show(&record(timerlat(1), &[]), with(&[Flag::Raw])),
            "21 1 3205\n"
        );
    }

    #[test]
    fn stacks() {
        let callers: Vec<u8> = [0x1004, entry::TRAMPOLINE, 0x2000, usize::MAX, 0x3000]
            .iter()
            .flat_map(|a: &usize| a.to_ne_bytes())
            .collect();
        let stack = record(entry::KernelStack { size: 5, _pad: 0 }, &callers);
        assert_eq!(
            show(&stack, Set::DEFAULT),
            "<stack trace>\n => vfs_read\n => [FTRACE TRAMPOLINE]\n => ksys_read\n"
        );
        assert_eq!(show(&stack, with(&[Flag::Raw])), "type: 4\n");
        let user = entry::UserStack {
            tgid: 93,
            _pad: 0,
            caller: [0x7f00, 0x1000, 0, 1, 0, 0, 0, 0],
        };
        assert_eq!(
            show(&record(user, &[]), Set::DEFAULT),
            "<user stack trace>\n =>  <0000000000007f00>\n =>  <0000000000001000>\n"
        );
        assert_eq!(
            show(&record(user, &[]), with(&[Flag::SymUserObj])),
            "<user stack trace>\n => /bin/cat[+0x5f00]\n =>  <0000000000001000>\n"
        );
        assert_eq!(
            show(&record(user, &[]), with(&[Flag::SymUserObj, Flag::SymAddr])),
            "<user stack trace>\n => /bin/cat[+0x5f00] <0000000000007f00>\n \
             =>  <0000000000001000>\n"
        );
    }

    #[test]
    fn repeats() {
        let entry = entry::FuncRepeats {
            ip: 0x1000,
            parent_ip: 0x2000,
            count: 6,
            ..Default::default()
        };
        let record = record(entry.with_delta(1_000_000_000), &[]);
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
                ip: 0x1000,
                fmt: 0x99,
            },
            &[0; 12],
        );
        let puts = record(
            entry::Bputs {
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

        let marker = record(entry::Print { ip: 0x3000 }, b"hello\n\0junk");
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
