// SPDX-License-Identifier: GPL-2.0

//! The features of instances that need patch sites, and the rooms that name sites.

use crate::trace::commands;
#[cfg(CONFIG_FPROBE)]
use crate::trace::fgraph::fprobe;
use crate::trace::files::ftrace::profile;
use crate::trace::ftrace::modules::{Forget, Users};
use crate::trace::instance::feature::{make as feature_of, MakeFeature};
use crate::trace::tracers::{function_filter, function_graph, function_pids};
use core::ops::Range;

/// The features, in the order in which their hooks are called.
pub(super) static FEATURES: &[MakeFeature] = &[
    feature_of::<function_filter::FunctionFilter>,
    feature_of::<function_graph::Graph>,
    feature_of::<profile::TimeOptions>,
    feature_of::<commands::Probes>,
    feature_of::<function_pids::FunctionPids>,
];

// Sets forget on their own.
impl Forget for Users {
    fn text_goes(text: Range<usize>) {
        #[cfg(CONFIG_FPROBE)]
        fprobe::forget(&text);
        commands::forget(&text);
    }
}
