// SPDX-License-Identifier: GPL-2.0

//! The files of tracefs: one table of all files, and the places where each file exists.
//!
//! A [`Row`] is a name with its mode. Its [`Node`] opens the file at a [`Place`]: at the top or in
//! an instance, for one CPU or for all ([`node`]). To add a file, add a module with its `Node` (or
//! the simpler `Control` or `Lines`), and a row here.
//!
//! | module | files |
//! | --- | --- |
//! | [`recording`] | `tracing_on`, `current_tracer`, `available_tracers`, `trace_clock`, `tracing_cpumask`, `free_buffer` |
//! | [`sizes`] | `buffer_size_kb`, `buffer_total_size_kb`, `buffer_subbuf_size_kb`, `buffer_percent` |
//! | [`mod@trace`], [`trace_pipe`], [`trace_pipe_raw`] | `trace`, `snapshot`, `trace_pipe`, `trace_pipe_raw`, `snapshot_raw` |
//! | `ftrace/functions` | the functions that can be traced and those that are traced |
//! | [`options`] | `trace_options` and `options/` |
//! | [`pids`] | `set_ftrace_pid`, `set_ftrace_notrace_pid` |
//! | `ftrace/filter` | `set_ftrace_filter`, `set_ftrace_notrace` |
//! | `ftrace/graph` | `set_graph_function`, `set_graph_notrace`, `max_graph_depth` |
//! | [`printk_formats`], `eval_map` | the files of these names |
//! | [`persistent`] | `last_boot_info`, `buffer_meta` |
//! | [`latency`] | `tracing_max_latency`, `tracing_thresh` |
//! | `hwlat`, `osnoise` | the files of `hwlat_detector/` and `osnoise/` |
//! | `stack_tracer` | `stack_trace`, `stack_max_size`, `stack_trace_filter` |
//! | [`saved_cmdlines`] | `saved_cmdlines`, `saved_cmdlines_size`, `saved_tgids` |
//! | `dynamic` | `dynamic_events`, `kprobe_events`, `kprobe_profile`, `synthetic_events` |
//! | `user_events` | `user_events_data`, `user_events_status` |
//! | `ftrace/profile` | `function_profile_enabled`, `trace_stat/functionN` |
//! | `branches` | `trace_stat/branch_annotated`, `branch_all` |
//! | [`readme`] | `README`, made from the help texts of the table |
//! | [`control`], [`listing`], `token_file` | no files: common parts of small files, listings and token files |
//!
//! The modes are those of C. The code behind the table is safe Rust. The file system itself is
//! [`crate::kernel::fs::tracefs`].
//!
//! Locks: this module holds no lock while it calls a node. A node takes the locks of the code that
//! it calls.

use super::instance::feature::Feature;
use super::instance::{list, Instance, Side};
use super::tasks::pids::PidListKind;
use crate::kernel::cpus;
use crate::kernel::fs::lockdown::check_lockdown;
use crate::kernel::fs::tracefs::{self, Dir};
use kernel::{prelude::*, str::CString, sync::Arc};

#[cfg(CONFIG_TRACE_BRANCH_PROFILING)]
mod branches;
pub(crate) mod control;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod dynamic;
mod error_log;
#[cfg(CONFIG_TRACE_EVAL_MAP_FILE)]
mod eval_map;
mod events;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(super) mod ftrace;
#[cfg(CONFIG_HWLAT_TRACER)]
mod hwlat;
mod latency;
pub(crate) mod listing;
pub(crate) mod marker;
pub(crate) mod node;
mod options;
#[cfg(CONFIG_OSNOISE_TRACER)]
mod osnoise;
mod per_cpu;
mod persistent;
mod printk_formats;
mod readme;
pub(super) mod recording;
mod saved_cmdlines;
mod sizes;
#[cfg(CONFIG_STACK_TRACER)]
mod stack_tracer;
mod trace;
mod trace_pipe;
mod trace_pipe_raw;
#[cfg(CONFIG_USER_EVENTS)]
mod user_events;

use error_log::ErrorLog;
#[cfg(CONFIG_TRACE_EVAL_MAP_FILE)]
use eval_map::EvalMap;
#[cfg(CONFIG_EVENT_TRACING)]
use events::{AvailableEvents, EventPidFile, SetEvent, ShowFilters, ShowTriggers};
use latency::Microseconds;
use marker::{Marker, RawMarker};
use node::{row, Placed};
pub(crate) use node::{Node, Place, Row, Scope};
use options::TraceOptions;
use per_cpu::CpuStats;
use persistent::{BufferMeta, LastBootInfo};
use printk_formats::PrintkFormats;
use readme::Readme;
use recording::{
    AvailableTracers, CpuMask, CurrentTracer, FreeBuffer, TimestampMode, TraceClock, TracingOn,
};
use saved_cmdlines::{SavedCmdlines, SavedCmdlinesSize, SavedTgids};
#[cfg(CONFIG_FTRACE_SYSCALLS)]
use sizes::SyscallUserSize;
use sizes::{BufferPercent, BufferSize, BufferTotalSize, SubBufferSize};
#[cfg(CONFIG_STACK_TRACER)]
use stack_tracer::{StackMaxSize, StackTrace, StackTraceFilter};
use trace::Trace;
use trace_pipe::TracePipe;
use trace_pipe_raw::TracePipeRaw;

/// All files except those in `options/`, table by table, in the order of `README`.
static TABLES: &[&[Row]] = &[
    FILES,
    #[cfg(CONFIG_FUNCTION_TRACER)]
    ftrace::FILES,
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    dynamic::FILES,
];

/// Directories of the top instance with files of one tracer.
static FOLDERS: &[(&CStr, &[Row])] = &[
    #[cfg(CONFIG_HWLAT_TRACER)]
    (c"hwlat_detector", hwlat::FILES),
    #[cfg(CONFIG_OSNOISE_TRACER)]
    (c"osnoise", osnoise::FILES),
];

/// Functions that create files in `trace_stat/`.
static STATISTICS: &[fn(&Dir) -> Result] = &[
    #[cfg(CONFIG_FUNCTION_TRACER)]
    ftrace::profile::create,
    #[cfg(CONFIG_TRACE_BRANCH_PROFILING)]
    branches::create,
];

/// The files that every kernel has, and those of events and of the stack tracer.
#[rustfmt::skip]
static FILES: &[Row] = &[
    row(c"README", 0o440, Scope::Top, &Readme,
        "this text"),
    #[cfg(CONFIG_EVENT_TRACING)]
    row(c"available_events", 0o440, Scope::Top, &AvailableEvents,
        "the events there are"),
    row(c"available_tracers", 0o440, Scope::Instance, &AvailableTracers,
        "what current_tracer takes"),
    row(c"buffer_meta", 0o440, Scope::PersistentPerCpu, &BufferMeta,
        "where this CPU's buffer lies in memory that outlives the kernel"),
    row(c"buffer_percent", 0o640, Scope::Recorder, &BufferPercent,
        "how full a CPU's buffer is before those are woken who read it as pages; 0: as soon as there is anything"),
    row(c"buffer_size_kb", 0o640, Scope::Instance, &BufferSize,
        "KiB of buffer for each CPU; X where they differ"),
    row(c"buffer_size_kb", 0o640, Scope::PerCpu, &BufferSize,
        "the same for one CPU"),
    row(c"buffer_subbuf_size_kb", 0o640, Scope::Instance, &SubBufferSize,
        "KiB of a page of the buffer, which is also the longest entry. Changing it empties the buffer"),
    row(c"buffer_total_size_kb", 0o440, Scope::Instance, &BufferTotalSize,
        "KiB of buffer for all CPUs together"),
    row(c"current_tracer", 0o640, Scope::Instance, &CurrentTracer,
        "the tracer at work; nop is none. Changing it empties the buffer"),
    row(c"error_log", 0o640, Scope::Recorder, &ErrorLog,
        "why the last 8 commands were refused; truncating clears it"),
    #[cfg(CONFIG_TRACE_EVAL_MAP_FILE)]
    row(c"eval_map", 0o440, Scope::Top, &EvalMap,
        "the numbers that stand in the formats of events for names"),
    row(c"free_buffer", 0o200, Scope::Recorder, &FreeBuffer,
        "hold it open: closing it gives the buffer's memory back"),
    row(c"last_boot_info", 0o440, Scope::Persistent, &LastBootInfo,
        "where the kernel and its modules were when what the instance holds was recorded, if that was before this boot"),
    row(c"printk_formats", 0o440, Scope::Top, &PrintkFormats,
        "the texts that bprint and bputs entries point to, by address"),
    row(c"saved_cmdlines", 0o440, Scope::Top, &SavedCmdlines,
        "pids with the names that output shows for them"),
    row(c"saved_cmdlines_size", 0o640, Scope::Top, &SavedCmdlinesSize,
        "how many of them are kept; a write forgets those there are"),
    row(c"saved_tgids", 0o440, Scope::Top, &SavedTgids,
        "pids with their thread groups, while option record-tgid is on"),
    #[cfg(CONFIG_EVENT_TRACING)]
    row(c"set_event", 0o640, Scope::Recorder, &SetEvent,
        "the events that are enabled; SYSTEM:EVENT, SYSTEM or EVENT enables, with ! disables. Can enable module events via: :mod:<module>"),
    #[cfg(CONFIG_EVENT_TRACING)]
    row(c"set_event_notrace_pid", 0o640, Scope::Recorder, &EventPidFile(PidListKind::Not),
        "tasks whose events are not recorded"),
    #[cfg(CONFIG_EVENT_TRACING)]
    row(c"set_event_pid", 0o640, Scope::Recorder, &EventPidFile(PidListKind::Only),
        "tasks whose events are recorded; none listed means all"),
    #[cfg(CONFIG_EVENT_TRACING)]
    row(c"show_event_filters", 0o440, Scope::Recorder, &ShowFilters,
        "the events with filters, and those"),
    #[cfg(CONFIG_EVENT_TRACING)]
    row(c"show_event_triggers", 0o440, Scope::Recorder, &ShowTriggers,
        "the events with triggers, and those"),
    row(c"snapshot", 0o640, Scope::Snapshot, &Trace::Snapshot,
        "1 keeps what was recorded up to now, to be read here, and recording goes on; 0 frees that memory, 2 clears it"),
    row(c"snapshot", 0o640, Scope::SnapshotPerCpu, &Trace::Snapshot,
        "the same for this CPU alone; 0 is invalid"),
    row(c"snapshot_raw", 0o440, Scope::SnapshotPerCpu, &TracePipeRaw(Side::Snapshot),
        "the snapshot of this CPU in pages, as trace_pipe_raw"),
    #[cfg(CONFIG_STACK_TRACER)]
    row(c"stack_max_size", 0o640, Scope::Top, &StackMaxSize,
        "bytes of the deepest stack; a write sets what a stack must exceed to be kept"),
    #[cfg(CONFIG_STACK_TRACER)]
    row(c"stack_trace", 0o440, Scope::Top, &StackTrace,
        "the deepest stack since kernel.stack_tracer_enabled was set, function by function"),
    #[cfg(CONFIG_STACK_TRACER)]
    row(c"stack_trace_filter", 0o640, Scope::Top, &StackTraceFilter,
        "the functions at whose entry the stack's depth is looked at"),
    row(c"stats", 0o440, Scope::PerCpu, &CpuStats,
        "what this CPU's buffer counts"),
    #[cfg(CONFIG_FTRACE_SYSCALLS)]
    row(c"syscall_user_buf_size", 0o640, Scope::Recorder, &SyscallUserSize,
        "bytes of user memory that an argument of a system call may have in its event"),
    row(c"timestamp_mode", 0o440, Scope::Instance, &TimestampMode,
        "whether entries carry the time since the one before or their full time, in brackets"),
    row(c"trace", 0o640, Scope::Instance, &Trace::Live,
        "what was recorded, as text; truncating clears it"),
    row(c"trace", 0o640, Scope::PerCpu, &Trace::Live,
        "what was recorded on this CPU; truncating clears it"),
    row(c"trace_clock", 0o640, Scope::Instance, &TraceClock,
        "the clock of the time stamps, in brackets. Changing it empties the buffer"),
    row(c"trace_marker", 0o220, Scope::Recorder, &Marker,
        "records the text written to it"),
    row(c"trace_marker_raw", 0o220, Scope::Recorder, &RawMarker,
        "records a 4-byte number and the bytes behind it"),
    row(c"trace_options", 0o640, Scope::Instance, &TraceOptions,
        "how to record and print: a word sets, the word after \"no\" clears"),
    row(c"trace_pipe", 0o440, Scope::Instance, &TracePipe,
        "what is recorded, as text; reading waits and takes it out of the buffer"),
    row(c"trace_pipe", 0o440, Scope::PerCpu, &TracePipe,
        "what is recorded on this CPU; reading waits and takes it out of the buffer"),
    row(c"trace_pipe_raw", 0o440, Scope::PerCpu, &TracePipeRaw(Side::Live),
        "what is recorded on this CPU in pages, laid out as events/header_page says; by read, splice or mmap"),
    row(c"tracing_cpumask", 0o640, Scope::Instance, &CpuMask,
        "the CPUs that record, as a hexadecimal mask"),
    #[cfg(CONFIG_TRACER_MAX_TRACE)]
    row(c"tracing_max_latency", 0o640, Scope::Recorder, &Microseconds::Longest,
        "the longest latency that a latency tracer has found, in us; only longer ones are recorded"),
    row(c"tracing_on", 0o640, Scope::Recorder, &TracingOn,
        "0 stops recording and leaves everything else as it is; 1 goes on"),
    row(c"tracing_thresh", 0o640, Scope::Top, &Microseconds::Threshold,
        "where not 0, latency tracers record every latency of so many us, longest or not"),
];

/// The rows whose files exist at `place`.
fn rows(place: &Place) -> impl Iterator<Item = &'static Row> + '_ {
    let all = TABLES.iter().copied().flatten();
    all.filter(|row| row.scope.includes(place))
}

/// Creates the top-level files. Called once, at boot, after tracefs was registered. Errors as
/// [`Dir::create_file`].
///
/// A file of the table that cannot be created is logged and left out.
pub(crate) fn init() -> Result {
    check_lockdown().inspect_err(|_| pr_warn!("no tracing: the kernel is locked down\n"))?;
    let root = Dir::root()?;
    tracefs::automount_on_debugfs();
    Instance::top()?.make_files(&root)?;
    list::create_directory(&root)
}

/// The feature that gives each instance its files.
pub(crate) struct Files;

impl Feature for Files {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self, GFP_KERNEL)?)
    }

    fn directory_made(&self, instance: &Arc<Instance>, directory: &Dir) -> Result {
        create_all(directory, instance)
    }
}

/// Creates the files of `instance` in its directory.
fn create_all(dir: &Dir, instance: &Arc<Instance>) -> Result {
    let all = Place {
        instance: instance.clone(),
        cpu: None,
    };
    rows(&all).for_each(|row| row.create(dir, &all));
    options::create_all(&dir.create_dir(c"options")?, &all)?;
    events::create(dir, &all)?;
    if instance.is_top() && !STATISTICS.is_empty() {
        let stat = dir.create_dir(c"trace_stat")?;
        STATISTICS.iter().try_for_each(|create| create(&stat))?;
    }
    for (name, folder) in FOLDERS.iter().filter(|_| instance.is_top()) {
        let dir = dir.create_dir(name)?;
        let here = |at: &Place, dir: &Dir| {
            let rows = folder.iter().filter(|row| row.scope.includes(at));
            rows.for_each(|row| row.create(dir, at));
        };
        here(&all, &dir);
        if folder.iter().any(|row| row.scope == Scope::PerCpu) {
            create_per_cpu(&dir, instance, here)?;
        }
    }
    create_per_cpu(dir, instance, |at, dir| {
        rows(at).for_each(|row| row.create(dir, at));
    })
}

/// Creates `per_cpu/` in `dir`, with a directory for each CPU, which `fill` fills.
fn create_per_cpu(dir: &Dir, instance: &Arc<Instance>, fill: impl Fn(&Place, &Dir)) -> Result {
    let per_cpu = dir.create_dir(c"per_cpu")?;
    for cpu in cpus::possible() {
        let name = CString::try_from_fmt(fmt!("cpu{}", cpu.as_u32()))?;
        let dir = per_cpu.create_dir(&name)?;
        let at = Place {
            instance: instance.clone(),
            cpu: Some(cpu),
        };
        fill(&at, &dir);
    }
    Ok(())
}
