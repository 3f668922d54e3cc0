// SPDX-License-Identifier: GPL-2.0

//! Trace options: the words of `trace_options`, the files of `options/`, and the sets of options.
//!
//! [`TABLE`] lists the core options in the order of `trace_options`. A row that is not
//! [`offered`](Row::offered) is an option of ftrace that this kernel does not have: it has no file,
//! is not listed, and writing it is `EINVAL`. Tracers have their own [`TracerOption`]s.

use super::parser::trim;
use crate::core::format::{Error, Out, Result};
use core::fmt;

/// One core option.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its bit in a [`Set`].
    pub flag: Flag,
    /// The word, which is also the name of the file.
    pub name: &'static str,
    /// Whether it is on by default.
    pub default: bool,
    /// Where it can be set, and its value in a new instance.
    pub scope: Scope,
    /// Whether this kernel has it.
    pub offered: bool,
}

/// Where an option exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// At the top and in instances. A new instance takes the value of the top instance.
    Every,
    /// Its file is only in `options/` of the top instance. `trace_options` of other instances lists
    /// the word, too.
    Top,
    /// At the top and in instances. It is off in a new instance.
    Fresh,
}

macro_rules! table {
    ($($(#[$doc:meta])* $flag:ident $name:literal $default:literal $scope:ident $offered:expr;)*) => {
        /// The core options. A discriminant is the bit of the option in a [`Set`]. No interface
        /// shows it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Flag { $($(#[$doc])* $flag,)* }

        /// All core options, in ftrace's order; those that ftrace does not have come last.
        pub const TABLE: &[Row] = &[$(Row {
            flag: Flag::$flag,
            name: $name,
            default: $default,
            scope: Scope::$scope,
            offered: $offered,
        },)*];
    };
}

/// Whether there is a function tracer. The host tests behave like a kernel that has one.
const PATCH_SITES: bool = cfg!(any(CONFIG_FUNCTION_TRACER, not(CONFIG_RTRACE)));

/// Whether there are events. The host tests behave like a kernel that has them.
const EVENTS: bool = cfg!(any(CONFIG_EVENT_TRACING, not(CONFIG_RTRACE)));

/// Whether there is a branch tracer.
const BRANCHES: bool = cfg!(CONFIG_BRANCH_TRACER);

table! {
    /// Function entries print their caller.
    PrintParent "print-parent" true Every true;
    /// Offset and size follow a symbol.
    SymOffset "sym-offset" false Every true;
    /// The address follows a symbol.
    SymAddr "sym-addr" false Every true;
    /// The long form of the latency format. The normal format has no column titles then.
    Verbose "verbose" false Every true;
    /// Prints numbers only.
    Raw "raw" false Every true;
    /// Prints hexadecimal words.
    Hex "hex" false Every true;
    /// Prints binary words.
    Bin "bin" false Every true;
    /// Every trace_pipe always polls as readable.
    Block "block" false Every true;
    /// Prints the fields of events by their types.
    Fields "fields" false Every true;
    /// Allows trace_printk() to record.
    Printk "trace_printk" true Top true;
    /// Prints a line where the events of a CPU begin.
    Annotate "annotate" true Every true;
    /// Records the user stack after each event.
    UserStackTrace "userstacktrace" false Every EVENTS;
    /// Prints user stacks with file and offset.
    SymUserObj "sym-userobj" false Every EVENTS;
    /// Prints only the message of trace_printk() entries.
    PrintkMsgOnly "printk-msg-only" false Top true;
    /// Prints task, CPU and time at the start of a line.
    ContextInfo "context-info" true Every true;
    /// Selects the latency format.
    LatencyFormat "latency-format" false Every true;
    /// Saves the names of tasks.
    RecordCmd "record-cmd" true Top true;
    /// Saves and prints the thread groups of tasks.
    RecordTgid "record-tgid" false Every true;
    /// A full buffer overwrites its oldest events. Otherwise it drops new events.
    Overwrite "overwrite" true Every true;
    /// Closing free_buffer also turns recording off.
    DisableOnFree "disable_on_free" false Every true;
    /// Prints the columns of interrupt and preemption state.
    IrqInfo "irq-info" true Every true;
    /// Allows writes to trace_marker.
    Markers "markers" true Every true;
    /// Adds children to set_event_pid.
    EventFork "event-fork" false Fresh EVENTS;
    /// Makes this instance the destination of trace_printk().
    TracePrintkDest "trace_printk_dest" true Fresh true;
    /// Also records what is written to trace_marker of the top instance.
    CopyTraceMarker "copy_trace_marker" true Fresh true;
    /// Pauses recording while trace is read.
    PauseOnTrace "pause-on-trace" false Every true;
    /// Prints a hash for `%p`.
    HashPtr "hash-ptr" true Every true;
    /// Prints bit masks as lists.
    BitmaskList "bitmask-list" false Every true;
    /// Latency tracers also record functions.
    FunctionTrace "function-trace" true Every true;
    /// Adds children to set_ftrace_pid.
    FunctionFork "function-fork" false Fresh PATCH_SITES;
    /// Latency tracers print call graphs.
    DisplayGraph "display-graph" false Every PATCH_SITES;
    /// Records the kernel stack after each event.
    StackTrace "stacktrace" false Every true;
    /// Runs the branch tracer besides the current tracer.
    Branch "branch" false Every BRANCHES;
    /// Profiles print names as offsets.
    ProfTextOffset "prof-text-offset" false Top PATCH_SITES;
    /// The profiler counts the time of callees, too.
    GraphTime "graph-time" true Top PATCH_SITES;
    /// Shows names of Rust functions as paths. C has no such option.
    RustDemangle "rust-demangle" true Every true;
    /// Lists of functions and filters show them so, too. Programs cut these at colons and look the
    /// names up as symbols. C has no such option.
    RustPaths "rust-paths" false Every PATCH_SITES;
}

const _: () = assert!(TABLE.len() <= 64, "a Set has 64 bits");

/// The core options that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set(u64);

impl Set {
    /// No option is on.
    pub const NONE: Self = Self(0);

    /// The default of the top instance: the offered options that are on by default.
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

    /// The set as one word, for an atomic.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The set whose [`bits`](Self::bits) are `bits`.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether `flag` is on.
    pub const fn has(self, flag: Flag) -> bool {
        self.0 & Self::bit(flag) != 0
    }

    /// The set with `flag` on or off.
    #[must_use]
    pub const fn with(self, flag: Flag, on: bool) -> Self {
        if on {
            Self(self.0 | Self::bit(flag))
        } else {
            Self(self.0 & !Self::bit(flag))
        }
    }

    /// The options of a new instance if this is the set of the top instance.
    #[must_use]
    pub fn for_instance(self) -> Self {
        let fresh = TABLE.iter().filter(|row| row.scope == Scope::Fresh);
        fresh.fold(self, |set, row| set.with(row.flag, false))
    }

    const fn bit(flag: Flag) -> u64 {
        1 << (flag as u8)
    }
}

/// An option of one tracer. Each tracer has its own word of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracerOption {
    /// The word, which is also the name of the file.
    pub name: &'static str,
    /// The bit of the option.
    pub bit: u32,
}

/// The function tracer records the stack of each call.
pub const FUNC_STACK_TRACE: TracerOption = TracerOption {
    name: "func_stack_trace",
    bit: 1,
};
/// The function tracer compresses repeated entries.
pub const FUNC_NO_REPEATS: TracerOption = TracerOption {
    name: "func-no-repeats",
    bit: 2,
};
/// The function tracer records the arguments of each call.
pub const FUNC_ARGS: TracerOption = TracerOption {
    name: "func-args",
    bit: 4,
};
/// The options of the function tracer. All are off by default.
pub const FUNCTION_TRACER: &[TracerOption] = &[
    FUNC_STACK_TRACE,
    FUNC_NO_REPEATS,
    #[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
    FUNC_ARGS,
];

/// An option for tests that the nop tracer accepts.
pub const NOP_ACCEPT: TracerOption = TracerOption {
    name: "test_nop_accept",
    bit: 1,
};
/// An option for tests that the nop tracer never changes (`EINVAL`).
pub const NOP_REFUSE: TracerOption = TracerOption {
    name: "test_nop_refuse",
    bit: 2,
};
/// The options of the nop tracer. All are off by default.
pub const NOP_TRACER: &[TracerOption] = &[NOP_ACCEPT, NOP_REFUSE];

/// The options of the tracer `blk`. All are off by default.
#[cfg(any(CONFIG_BLK_DEV_IO_TRACE, not(CONFIG_RTRACE)))]
pub mod blk {
    use super::TracerOption;

    /// Prints lines as blkparse does.
    pub const CLASSIC: TracerOption = TracerOption {
        name: "blk_classic",
        bit: 1,
    };
    /// Records the cgroup of a request.
    #[cfg(any(CONFIG_BLK_CGROUP, not(CONFIG_RTRACE)))]
    pub const CGROUP: TracerOption = TracerOption {
        name: "blk_cgroup",
        bit: 2,
    };
    /// Prints the path of a cgroup in place of its id.
    #[cfg(any(CONFIG_BLK_CGROUP, not(CONFIG_RTRACE)))]
    pub const CGROUP_PATH: TracerOption = TracerOption {
        name: "blk_cgname",
        bit: 4,
    };

    /// All options.
    pub const OPTIONS: &[TracerOption] = &[
        CLASSIC,
        #[cfg(any(CONFIG_BLK_CGROUP, not(CONFIG_RTRACE)))]
        CGROUP,
        #[cfg(any(CONFIG_BLK_CGROUP, not(CONFIG_RTRACE)))]
        CGROUP_PATH,
    ];
}

/// The options of function_graph. Those for output also apply to older entries.
pub mod graph {
    use super::TracerOption;

    const fn option(name: &'static str, bit: u32) -> TracerOption {
        TracerOption { name, bit }
    }

    /// Prints after each return how many functions were not traced because the shadow stack was
    /// full.
    pub const OVERRUN: TracerOption = option("funcgraph-overrun", 0x1);
    /// Prints the CPU.
    pub const CPU: TracerOption = option("funcgraph-cpu", 0x2);
    /// Prints a mark before long durations.
    pub const OVERHEAD: TracerOption = option("funcgraph-overhead", 0x4);
    /// Prints the name and the pid of the task.
    pub const PROC: TracerOption = option("funcgraph-proc", 0x8);
    /// Prints the durations of functions.
    pub const DURATION: TracerOption = option("funcgraph-duration", 0x10);
    /// Prints the time.
    pub const ABS_TIME: TracerOption = option("funcgraph-abstime", 0x20);
    /// Prints the time since the start of the trace, for latency tracers.
    pub const REL_TIME: u32 = 0x40;
    /// Records and prints functions in interrupts.
    pub const IRQS: TracerOption = option("funcgraph-irqs", 0x80);
    /// Prints the name of the function after each closing brace.
    pub const TAIL: TracerOption = option("funcgraph-tail", 0x100);
    /// Prints return values.
    pub const RETVAL: TracerOption = option("funcgraph-retval", 0x800);
    /// Prints return values in hexadecimal digits, error numbers, too.
    pub const RETVAL_HEX: TracerOption = option("funcgraph-retval-hex", 0x1000);
    /// Records and prints return addresses.
    pub const RETADDR: TracerOption = option("funcgraph-retaddr", 0x2000);
    /// Records and prints the arguments of functions.
    pub const ARGS: TracerOption = option("funcgraph-args", 0x4000);
    /// Counts the time in which the task was not running.
    pub const SLEEP_TIME: TracerOption = option("sleep-time", 0x200);

    /// All options.
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
        #[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
        ARGS,
        SLEEP_TIME,
    ];

    /// The options that are on by default.
    pub const DEFAULT: u32 = CPU.bit | OVERHEAD.bit | DURATION.bit | IRQS.bit | SLEEP_TIME.bit;
}

/// A request to change an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The word without `no`.
    pub name: &'a [u8],
    /// Whether to turn it on. `no` turns it off.
    pub on: bool,
}

/// The option of a [`Request`].
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A core option.
    Core(&'static Row),
    /// An option of the current tracer.
    Tracer(&'a TracerOption),
}

/// The most bytes of a write to `trace_options`.
pub const WRITE_MAX: usize = 63;

impl<'a> Request<'a> {
    /// Parses one write: a word, perhaps after `no`, with white space around it.
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

    /// The requests of the boot parameter `trace_options=a,nob,…`.
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

    /// Finds the option among the offered core options, then in `tracer`, the options of the
    /// current tracer.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if there is no such option, for example for two words in one write.
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

/// The core options that this kernel has.
pub fn offered() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| row.offered)
}

/// The core options that have a file in `options/` of the top instance (`top`) or of another
/// instance.
pub fn files(top: bool) -> impl Iterator<Item = &'static Row> {
    offered().filter(move |row| top || row.scope != Scope::Top)
}

/// Writes the text of `trace_options`: the core options, then those of the current tracer, whose
/// bits are `on`.
///
/// # Errors
///
/// Only the errors of `out`.
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
             trace_printk_dest copy_trace_marker hash-ptr function-trace graph-time rust-demangle"
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
            text.ends_with("nofunction-fork\nnodisplay-graph\nnostacktrace\nnoprof-text-offset\ngraph-time\nrust-demangle\nnorust-paths\ntest_nop_accept\nnotest_nop_refuse\n"),
            "{text}"
        );
        assert!(text.contains("\nhash-ptr\n") && text.contains("\nnoevent-fork\n"));
        assert!(text.contains("\nnouserstacktrace\nnosym-userobj\n"));
    }
}
