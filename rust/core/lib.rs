// SPDX-License-Identifier: GPL-2.0

//! `rtrace-core`: the core as a host crate, for unit tests, model checking, fuzzing and benchmarks.
//!
//! The module has the same name here and in the kernel's crate, so paths inside it are the same in
//! both.

#![no_std]

#[cfg(any(test, debug_assertions, loom))]
extern crate std;

#[path = "mod.rs"]
pub mod core;

pub use crate::core::*;
