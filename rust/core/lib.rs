// SPDX-License-Identifier: GPL-2.0

//! `rtrace-core`: the core as a crate of the host, for unit tests, model checking, fuzzing and
//! benchmarks.
//!
//! The module has the name here that it has in the kernel's crate, so that paths inside it are the
//! same in both.

#![no_std]

#[cfg(test)]
extern crate std;

#[path = "mod.rs"]
pub mod core;

pub use crate::core::*;
