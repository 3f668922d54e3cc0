// SPDX-License-Identifier: GPL-2.0

//! The tracing subsystem: safe Rust on [`crate::kapi`] and [`crate::rcore`].

pub(crate) mod ops;
pub(crate) mod sites;
