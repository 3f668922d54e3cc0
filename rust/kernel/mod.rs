// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers over kernel interfaces that the `kernel` crate lacks; each could go upstream.

pub mod sched_clock;
pub(crate) mod clock;
pub(crate) mod cpus;
