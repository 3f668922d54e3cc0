// SPDX-License-Identifier: GPL-2.0

//! Data about tasks: names, pid lists, stacks.

pub(crate) mod cmdlines;
mod pid_set;
pub(crate) mod pids;
pub(crate) mod stack;
