// SPDX-License-Identifier: GPL-2.0

//! The tracing subsystem: safe Rust on [`crate::kapi`] and [`crate::rcore`].
