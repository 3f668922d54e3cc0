// SPDX-License-Identifier: GPL-2.0

//! User events: events that programs define by their fields, and whose entries they write:
//! `order u32 id; __rel_loc char[] customer`.
//!
//! A definition is taken apart by [`command`]; [`layout`] has the texts that follow from it, and what
//! an entry has to keep to; [`request`] is what a program asks for by `ioctl(2)`.

pub mod command;
pub mod layout;
pub mod request;
#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests;
