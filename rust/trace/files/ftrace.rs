// SPDX-License-Identifier: GPL-2.0

//! Files that need patch sites: function filters, lists of functions, pids, the function profile.

pub(super) mod filter;
mod functions;
mod graph;
mod pids;
pub(crate) mod profile;
#[cfg(CONFIG_FTRACE_RECORD_RECURSION)]
mod recursed;
mod token_file;
mod untraceable;

use self::filter::FilterFile;
use self::functions::{Functions, TotalInfo};
use self::graph::{GraphFile, MaxDepth};
use self::pids::PidFile;
use self::profile::ProfileEnabled;
use self::untraceable::Untraceable;
use super::node::{row, Row, Scope};
use crate::trace::fgraph::filter::GraphFilterKind;
use crate::trace::ftrace::ops::FilterKind;
use crate::trace::tasks::pids::PidListKind;

/// The rows of these files.
#[rustfmt::skip]
pub(super) static FILES: &[Row] = &[
    row(c"available_filter_functions", 0o440, Scope::Top, &Functions::Available,
        "the functions that can be traced; a line's number may stand for its name in a filter"),
    row(c"available_filter_functions_addrs", 0o440, Scope::Top, &Functions::Addresses,
        "the same with the address where each is patched"),
    row(c"dyn_ftrace_total_info", 0o440, Scope::Top, &TotalInfo,
        "how many functions can be traced, and the memory their list takes"),
    row(c"enabled_functions", 0o440, Scope::Top, &Functions::Enabled,
        "functions that call somebody now, and whom"),
    row(c"function_profile_enabled", 0o640, Scope::Top, &ProfileEnabled,
        "1 counts calls and time of every function on every CPU, for trace_stat/functionN; 0 stops"),
    row(c"max_graph_depth", 0o640, Scope::Top, &MaxDepth,
        "so many levels of calls function_graph records; 0 is all"),
    #[cfg(CONFIG_FTRACE_RECORD_RECURSION)]
    row(c"recursed_functions", 0o640, Scope::Top, &recursed::RecursedFunctions,
        "callers and functions that were hit while a callback ran; opening with O_TRUNC forgets them"),
    row(c"set_ftrace_filter", 0o640, Scope::Recorder, &FilterFile(FilterKind::Filter),
        "the functions that are traced, by name, number or glob; none listed means all. NAME:COMMAND acts when they run"),
    row(c"set_ftrace_notrace", 0o640, Scope::Recorder, &FilterFile(FilterKind::NoTrace),
        "the functions that are not traced"),
    row(c"set_ftrace_notrace_pid", 0o640, Scope::Recorder, &PidFile(PidListKind::Not),
        "tasks that are not traced"),
    row(c"set_ftrace_pid", 0o640, Scope::Recorder, &PidFile(PidListKind::Only),
        "tasks that are traced; none listed means all"),
    row(c"set_graph_function", 0o640, Scope::Top, &GraphFile(GraphFilterKind::Only),
        "function_graph records these functions and what they call; none listed means all"),
    row(c"set_graph_notrace", 0o640, Scope::Top, &GraphFile(GraphFilterKind::Not),
        "function_graph records neither these functions nor what they call"),
    row(c"touched_functions", 0o440, Scope::Top, &Functions::Touched,
        "functions that ever called somebody since boot"),
    row(c"untraceable_functions", 0o440, Scope::Top, &Untraceable,
        "functions that cannot be traced, each with the reason"),
];
