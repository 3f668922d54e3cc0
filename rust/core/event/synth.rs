// SPDX-License-Identifier: GPL-2.0

//! Synthetic events: events that users define by their fields, and that histograms and kernel code
//! fire: `wakeup_latency u64 lat; pid_t pid; char comm[]`.
//!
//! A definition is taken apart by [`command`], into fields of the types in [`types`]; [`layout`] has
//! the offsets of the fields, and says how user space and the kernel print an entry.

pub mod command;
pub mod layout;
#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests;
pub mod types;
