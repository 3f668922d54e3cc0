// SPDX-License-Identifier: GPL-2.0

//! The platform-neutral core of rtrace.
//!
//! Nothing here names the `kernel` crate or its bindings, and nothing allocates. Pages, the clock
//! and atomics come in through small traits and the `sys` module. The kernel builds these files as
//! a module of its one crate (with `cfg(CONFIG_RTRACE)`). The host builds them as `rtrace-core`.

pub(crate) mod bits;
pub mod event;
pub mod format;
pub mod parse;
pub mod ring_buffer;
pub mod sys;
