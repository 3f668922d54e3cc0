// SPDX-License-Identifier: GPL-2.0

//! The platform-neutral core of rtrace.
//!
//! Nothing here names the `kernel` crate or its bindings, and nothing allocates: pages, the clock
//! and atomics come in through small traits and the `sys` module. The kernel build takes these
//! files as a module of its one crate (`cfg(CONFIG_RTRACE)` is set there), the host builds them as
//! `rtrace-core`.

pub(crate) mod bits;
pub mod event;
pub mod format;
pub mod parse;
pub mod ring_buffer;
pub mod sys;
