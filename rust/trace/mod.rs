// SPDX-License-Identifier: GPL-2.0

//! The tracing subsystem: safe Rust on [`crate::kapi`] and [`crate::rcore`].

pub(crate) mod arch;
pub(crate) mod direct;
pub(crate) mod hash;
pub(crate) mod modules;
pub(crate) mod error_log;
pub(crate) mod output;
pub(crate) mod ops;
pub(crate) mod pids;
pub(crate) mod printk;
pub(crate) mod sites;
pub(crate) mod stack;
pub(crate) mod boot;
pub(crate) mod buffer;
pub(crate) mod clock;
pub(crate) mod cmdlines;
pub(crate) mod entry;
pub(crate) mod instance;
pub(crate) mod instances;
pub(crate) mod tracers;
pub(crate) mod files;
pub(crate) mod commands;
pub(crate) mod dump;
