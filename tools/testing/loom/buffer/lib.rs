// SPDX-License-Identifier: GPL-2.0

//! The buffer's glue as it is in the kernel, with stand-ins for the rooms below it, so that loom runs
//! its protocols in all orders of accesses.
//!
//! From `rust/trace/buffer/` come the files that `buffer.rs` here names. Paths inside them are the
//! same in both crates.

#![allow(dead_code, reason = "the models do not use all of it")]

mod buffer;
mod kernel;

/// The core, by the path that it has in the kernel's crate.
mod core {
    pub(crate) use rtrace_core::{format, ring_buffer};
}
