// SPDX-License-Identifier: GPL-2.0

//! Trace options: the words of `trace_options`, the files of `options/`, and the sets they switch.
//!
//! [`TABLE`] is the one list of core options, in the order in which `trace_options` shows them. A
//! row that is not [`offered`](Row::offered) names an option of ftrace that rtrace does not
//! implement yet: it has no file, is not listed, and writing it is `EINVAL`. Tracers bring their
//! own [`TracerOption`]s.

use super::parser::trim;
use crate::core::format::{Error, Out, Result};
use core::fmt;

/// One core option.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its place in a [`Set`].
    pub flag: Flag,
    /// The word, which is also the file's name.
    pub name: &'static str,
    /// Whether it is on after boot.
    pub default: bool,
    /// Where it can be set and what a new instance gets.
    pub scope: Scope,
    /// Whether rtrace has it.
    pub offered: bool,
}

/// Where an option lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Top level and instances; a new instance takes the top level's value.
    Every,
    /// Its file is in the top level's `options/` only; the word is listed for instances all the
    /// same.
    Top,
    /// Top level and instances; off in a new instance.
    Fresh,
}

macro_rules! table {
    ($($(#[$doc:meta])* $flag:ident $name:literal $default:literal $scope:ident $offered:expr;)*) => {
        /// The core options; a discriminant is the option's bit in a [`Set`], which no interface
        /// shows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Flag { $($(#[$doc])* $flag,)* }

        /// All core options in ftrace's order.
        pub const TABLE: &[Row] = &[$(Row {
            flag: Flag::$flag,
            name: $name,
            default: $default,
            scope: Scope::$scope,
            offered: $offered,
        },)*];
    };
}

/// Whether there is a function tracer; on the host as in a kernel that has one.
const PATCH_SITES: bool = cfg!(any(CONFIG_FUNCTION_TRACER, not(CONFIG_RTRACE)));

/// Whether there are events; on the host as in a kernel that has them.
const EVENTS: bool = cfg!(any(CONFIG_EVENT_TRACING, not(CONFIG_RTRACE)));

/// Whether there is a branch tracer.
const BRANCHES: bool = cfg!(CONFIG_BRANCH_TRACER);

table! {
    /// Function entries show their caller.
    PrintParent "print-parent" true Every true;
    /// Symbols are followed by offset and size.
    SymOffset "sym-offset" false Every true;
    /// Symbols are followed by their address.
    SymAddr "sym-addr" false Every true;
    /// The long form of the latency format; without it, no column titles.
    Verbose "verbose" false Every true;
    /// Numbers only.
    Raw "raw" false Every true;
    /// Hexadecimal words.
    Hex "hex" false Every true;
    /// Binary words.
    Bin "bin" false Every true;
    /// Every trace_pipe polls as readable.
    Block "block" false Every true;
    /// Events print their fields by type.
    Fields "fields" false Every true;
    /// trace_printk() records.
    Printk "trace_printk" true Top true;
    /// A line tells where a CPU's part begins.
    Annotate "annotate" true Every true;
    /// Each event is followed by the user's stack.
    UserStackTrace "userstacktrace" false Every EVENTS;
    /// User stacks show object and offset.
    SymUserObj "sym-userobj" false Every EVENTS;
    /// trace_printk() lines are their message alone.
    PrintkMsgOnly "printk-msg-only" false Top true;
    /// Lines begin with task, CPU and time.
    ContextInfo "context-info" true Every true;
    /// The latency format.
    LatencyFormat "latency-format" false Every true;
    /// Names of tasks are saved.
    RecordCmd "record-cmd" true Top true;
    /// Thread groups of tasks are saved and shown.
    RecordTgid "record-tgid" false Every true;
    /// A full buffer gives up its oldest events rather than the newest.
    Overwrite "overwrite" true Every true;
    /// Closing free_buffer also stops recording.
    DisableOnFree "disable_on_free" false Every true;
    /// The columns of interrupt and preemption state.
    IrqInfo "irq-info" true Every true;
    /// trace_marker may be written.
    Markers "markers" true Every true;
    /// Children join set_event_pid.
    EventFork "event-fork" false Fresh EVENTS;
    /// trace_printk() records here.
    TracePrintkDest "trace_printk_dest" true Fresh true;
    /// What is written to the top level's trace_marker is recorded here.
    CopyTraceMarker "copy_trace_marker" true Fresh true;
    /// Reading trace stops recording meanwhile.
    PauseOnTrace "pause-on-trace" false Every true;
    /// `%p` prints a hash.
    HashPtr "hash-ptr" true Every true;
    /// Bit masks print as lists.
    BitmaskList "bitmask-list" false Every true;
    /// Latency tracers trace functions, too.
    FunctionTrace "function-trace" true Every true;
    /// Children join set_ftrace_pid.
    FunctionFork "function-fork" false Fresh PATCH_SITES;
    /// Latency tracers show call graphs.
    DisplayGraph "display-graph" false Every PATCH_SITES;
    /// Each event is followed by the kernel's stack.
    StackTrace "stacktrace" false Every true;
    /// The branch tracer runs beside the current one.
    Branch "branch" false Every BRANCHES;
    /// Profiles show names as offsets.
    ProfTextOffset "prof-text-offset" false Top PATCH_SITES;
    /// The profiler counts callees' time.
    GraphTime "graph-time" true Top PATCH_SITES;
}

const _: () = assert!(TABLE.len() <= 64, "a Set has 64 bits");

/// A set of core options that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set(u64);

impl Set {
    /// No option on.
    pub const NONE: Self = Self(0);

    /// What the top level starts with: the offered options that are on by default.
    pub const DEFAULT: Self = {
        let mut set = Self::NONE;
        let mut rows = TABLE;
        while let [row, rest @ ..] = rows {
            if row.offered && row.default {
                set = set.with(row.flag, true);
            }
            rows = rest;
        }
        set
    };

    /// A set as one word, to be kept in an atomic.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The set that [`bits`](Self::bits) came from.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether `flag` is on.
    pub const fn has(self, flag: Flag) -> bool {
        self.0 & Self::bit(flag) != 0
    }

    /// This set with `flag` on or off.
    #[must_use]
    pub const fn with(self, flag: Flag, on: bool) -> Self {
        if on {
            Self(self.0 | Self::bit(flag))
        } else {
            Self(self.0 & !Self::bit(flag))
        }
    }

    /// What a new instance starts with where this is the top level's set.
    #[must_use]
    pub fn for_instance(self) -> Self {
        let fresh = TABLE.iter().filter(|row| row.scope == Scope::Fresh);
        fresh.fold(self, |set, row| set.with(row.flag, false))
    }

    const fn bit(flag: Flag) -> u64 {
        1 << (flag as u8)
    }
}

/// An option of one tracer, in that tracer's own word of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracerOption {
    /// The word, which is also the file's name.
    pub name: &'static str,
    /// Its bit.
    pub bit: u32,
}

/// The function tracer records the stack of each call.
pub const FUNC_STACK_TRACE: TracerOption = TracerOption {
    name: "func_stack_trace",
    bit: 1,
};
/// The function tracer compresses equal records that follow each other.
pub const FUNC_NO_REPEATS: TracerOption = TracerOption {
    name: "func-no-repeats",
    bit: 2,
};
/// The function tracer's options; all are off at first.
pub const FUNCTION_TRACER: &[TracerOption] = &[FUNC_STACK_TRACE, FUNC_NO_REPEATS];

/// An option that the nop tracer takes, to test with.
pub const NOP_ACCEPT: TracerOption = TracerOption {
    name: "test_nop_accept",
    bit: 1,
};
/// An option that the nop tracer always refuses to change (`EINVAL`), to test with.
pub const NOP_REFUSE: TracerOption = TracerOption {
    name: "test_nop_refuse",
    bit: 2,
};
/// The nop tracer's options; all are off at first.
pub const NOP_TRACER: &[TracerOption] = &[NOP_ACCEPT, NOP_REFUSE];

/// The options of function_graph. Those that say what is printed hold for what was recorded before,
/// too.
pub mod graph {
    use super::TracerOption;

    const fn option(name: &'static str, bit: u32) -> TracerOption {
        TracerOption { name, bit }
    }

    /// How many functions were not traced for want of room, after each return.
    pub const OVERRUN: TracerOption = option("funcgraph-overrun", 0x1);
    /// The CPU.
    pub const CPU: TracerOption = option("funcgraph-cpu", 0x2);
    /// A mark before long durations.
    pub const OVERHEAD: TracerOption = option("funcgraph-overhead", 0x4);
    /// Name and pid of the task.
    pub const PROC: TracerOption = option("funcgraph-proc", 0x8);
    /// How long functions took.
    pub const DURATION: TracerOption = option("funcgraph-duration", 0x10);
    /// The time.
    pub const ABS_TIME: TracerOption = option("funcgraph-abstime", 0x20);
    /// The time since the trace began, for latency tracers.
    pub const REL_TIME: u32 = 0x40;
    /// What interrupts call, in recording and in print.
    pub const IRQS: TracerOption = option("funcgraph-irqs", 0x80);
    /// The function's name after each closing brace.
    pub const TAIL: TracerOption = option("funcgraph-tail", 0x100);
    /// What functions returned.
    pub const RETVAL: TracerOption = option("funcgraph-retval", 0x800);
    /// The same in hexadecimal digits, error numbers as well.
    pub const RETVAL_HEX: TracerOption = option("funcgraph-retval-hex", 0x1000);
    /// Where functions return to, in recording and in print.
    pub const RETADDR: TracerOption = option("funcgraph-retaddr", 0x2000);
    /// Time in which the task did not run is part of a duration.
    pub const SLEEP_TIME: TracerOption = option("sleep-time", 0x200);

    /// All of them.
    pub const OPTIONS: &[TracerOption] = &[
        OVERRUN,
        CPU,
        OVERHEAD,
        PROC,
        DURATION,
        ABS_TIME,
        IRQS,
        TAIL,
        RETVAL,
        RETVAL_HEX,
        #[cfg(CONFIG_FUNCTION_GRAPH_RETADDR)]
        RETADDR,
        SLEEP_TIME,
    ];

    /// Those that are on at first.
    pub const DEFAULT: u32 = CPU.bit | OVERHEAD.bit | DURATION.bit | IRQS.bit | SLEEP_TIME.bit;
}

/// What a write to `trace_options` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The word without `no`.
    pub name: &'a [u8],
    /// On, or off because of a `no`.
    pub on: bool,
}

/// The option that a [`Request`] means.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A core option.
    Core(&'static Row),
    /// One of the current tracer's.
    Tracer(&'a TracerOption),
}

/// A write to `trace_options` may have so many bytes.
pub const WRITE_MAX: usize = 63;

impl<'a> Request<'a> {
    /// Reads one write: a word, perhaps after `no`, with white space around it.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for more than [`WRITE_MAX`] bytes.
    pub fn parse(text: &'a [u8]) -> Result<Self> {
        if text.len() > WRITE_MAX {
            return Err(Error::Invalid);
        }
        Ok(Self::word(text))
    }

    /// The parts of the boot parameter `trace_options=a,nob,…`.
    pub fn list(text: &'a [u8]) -> impl Iterator<Item = Self> {
        text.split(|&c| c == b',')
            .filter(|word| !word.is_empty())
            .map(Self::word)
    }

    fn word(text: &'a [u8]) -> Self {
        let word = trim(text);
        match word.strip_prefix(b"no") {
            Some(name) => Self { name, on: false },
            None => Self {
                name: word,
                on: true,
            },
        }
    }

    /// Finds the option among the offered core options, then in `tracer`, the current tracer's.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if neither has it, which includes two words in one write.
    pub fn resolve<'t>(&self, tracer: &'t [TracerOption]) -> Result<Target<'t>> {
        let core = offered()
            .find(|row| row.name.as_bytes() == self.name)
            .map(Target::Core);
        core.or_else(|| {
            tracer
                .iter()
                .find(|o| o.name.as_bytes() == self.name)
                .map(Target::Tracer)
        })
        .ok_or(Error::Invalid)
    }
}

/// The core options that exist.
pub fn offered() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| row.offered)
}

/// The core options that have a file in `options/` of the top level or of an instance.
pub fn files(top: bool) -> impl Iterator<Item = &'static Row> {
    offered().filter(move |row| top || row.scope != Scope::Top)
}

/// Writes the text of `trace_options`: the core options, then the current tracer's with its bits
/// `on`.
///
/// # Errors
///
/// Only `out`'s own.
pub fn write(out: &mut dyn Out, set: Set, tracer: &[TracerOption], on: u32) -> fmt::Result {
    let core = offered().map(|row| (row.name, set.has(row.flag)));
    for (name, on) in core.chain(tracer.iter().map(|o| (o.name, on & o.bit != 0))) {
        writeln!(out, "{}{name}", if on { "" } else { "no" })?;
    }
    Ok(())
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use crate::core::format::LineBuf;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn rows_lie_where_their_flags_say() {
        for (place, row) in TABLE.iter().enumerate() {
            assert_eq!(usize::from(row.flag as u8), place, "{}", row.name);
            assert!(!row.name.starts_with("no"));
        }
    }

    #[test]
    fn defaults() {
        let on: Vec<_> = TABLE.iter().filter(|r| r.default).map(|r| r.name).collect();
        assert_eq!(
            on.join(" "),
            "print-parent trace_printk annotate context-info record-cmd overwrite irq-info markers \
             trace_printk_dest copy_trace_marker hash-ptr function-trace graph-time"
        );
        assert!(Set::DEFAULT.has(Flag::IrqInfo) && !Set::DEFAULT.has(Flag::StackTrace));
        assert!(Set::DEFAULT.has(Flag::HashPtr) && !Set::DEFAULT.has(Flag::EventFork));
        let top: Vec<_> = TABLE
            .iter()
            .filter(|r| r.scope == Scope::Top)
            .map(|r| r.name)
            .collect();
        assert_eq!(
            top.join(" "),
            "trace_printk printk-msg-only record-cmd prof-text-offset graph-time"
        );
        assert!(
            files(true).any(|r| r.name == "record-cmd")
                && !files(false).any(|r| r.name == "record-cmd")
        );
    }

    #[test]
    fn instances() {
        let top = Set::DEFAULT
            .with(Flag::FunctionFork, true)
            .with(Flag::SymAddr, true);
        let instance = top.for_instance();
        assert!(!instance.has(Flag::FunctionFork) && instance.has(Flag::SymAddr));
        assert_eq!(Set::from_bits(top.bits()), top);
    }

    #[test]
    fn requests() {
        let ask = |text: &str| {
            Request::parse(text.as_bytes())?
                .resolve(FUNCTION_TRACER)
                .map(|t| match t {
                    Target::Core(row) => row.name,
                    Target::Tracer(option) => option.name,
                })
        };
        assert_eq!(ask("raw\n"), Ok("raw"));
        assert_eq!(ask("  norecord-tgid \n"), Ok("record-tgid"));
        assert_eq!(ask("nofunc_stack_trace"), Ok("func_stack_trace"));
        for text in [
            "",
            "no",
            "raw hex",
            "nonoraw",
            "Raw",
            "test_nop_accept",
            "bogus",
        ] {
            assert_eq!(ask(text), Err(Error::Invalid), "{text:?}");
        }
        assert_eq!(Request::parse(&[b' '; 64]), Err(Error::Invalid));
        assert!(Request::parse(&[b' '; 63]).is_ok());
        assert!(!Request::parse(b"noraw").unwrap().on);
        let boot: Vec<_> = Request::list(b"sym-addr,,noraw")
            .map(|r| (r.name, r.on))
            .collect();
        assert_eq!(boot, [(&b"sym-addr"[..], true), (&b"raw"[..], false)]);
    }

    #[test]
    fn listing() {
        let mut mem = [0; 1024];
        let mut out = LineBuf::new(&mut mem);
        write(&mut out, Set::DEFAULT, NOP_TRACER, NOP_ACCEPT.bit).unwrap();
        let text = String::from_utf8(out.as_bytes().to_vec()).unwrap();
        assert!(
            text.starts_with("print-parent\nnosym-offset\nnosym-addr\nnoverbose\nnoraw\n"),
            "{text}"
        );
        assert!(
            text.ends_with("nofunction-fork\nnodisplay-graph\nnostacktrace\nnoprof-text-offset\ngraph-time\ntest_nop_accept\nnotest_nop_refuse\n"),
            "{text}"
        );
        assert!(text.contains("\nhash-ptr\n") && text.contains("\nnoevent-fork\n"));
        assert!(text.contains("\nnouserstacktrace\nnosym-userobj\n"));
    }
}
