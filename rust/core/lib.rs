// SPDX-License-Identifier: GPL-2.0

//! The platform-neutral core of rtrace.
//!
//! Nothing here names the `kernel` crate or its bindings, and nothing allocates: pages, the clock and
//! atomics come in through small traits and the `sys` module. The kernel build takes these files as a
//! module of its one crate (`cfg(CONFIG_RTRACE)` is set there), the host builds them as `rtrace-core` for
//! unit tests, model checking, fuzzing and benchmarks. Paths inside are therefore relative (`super::`).

#![cfg_attr(not(CONFIG_RTRACE), no_std)]

#[cfg(all(test, not(CONFIG_RTRACE)))]
extern crate std;

pub mod ring_buffer;
pub mod sys;
pub mod text;
