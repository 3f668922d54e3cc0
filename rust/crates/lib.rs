// SPDX-License-Identifier: GPL-2.0

//! The crates that are built into the kernel; see the manifest. Cargo wants a target to resolve
//! them for.

#![no_std]

pub use rustc_demangle;
