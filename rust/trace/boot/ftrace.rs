// SPDX-License-Identifier: GPL-2.0

//! The features of instances that need patch sites.

use crate::trace::commands;
use crate::trace::files::ftrace::profile;
use crate::trace::instance::feature::{make as feature_of, MakeFeature};
use crate::trace::tracers::{function_filter, function_graph, function_pids};

/// The features, in the order in which their hooks are called.
pub(super) static FEATURES: &[MakeFeature] = &[
    feature_of::<function_filter::FunctionFilter>,
    feature_of::<function_graph::Graph>,
    feature_of::<profile::TimeOptions>,
    feature_of::<commands::Probes>,
    feature_of::<function_pids::FunctionPids>,
];
