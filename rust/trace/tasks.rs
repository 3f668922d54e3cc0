// SPDX-License-Identifier: GPL-2.0

//! What is kept of tasks: names, lists of pids, stacks.

pub(crate) mod cmdlines;
mod pid_set;
pub(crate) mod pids;
pub(crate) mod stack;
