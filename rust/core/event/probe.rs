// SPDX-License-Identifier: GPL-2.0

//! Events that users define by a place and by what is to be recorded there:
//! `p:net/send dev_queue_xmit dev=+0(+16($arg1)):string len=+112($arg1):u32`.
//!
//! A definition is taken apart by [`command`] or, of a probe in a program, by [`uprobe`]; its arguments
//! are compiled by [`argument`] into [`program`]s; [`layout`] says what the entries look like, from the
//! same description, and [`types`] what each value looks like. [`kernel_types`] is what the kernel knows
//! of its own types, by which arguments have names, and [`meta`] has the words that stand for several
//! arguments. [`error`] says what C says about a refused definition, and where.
//!
//! Words: a *word* is what blanks part; an *argument* is a value that is recorded; its *body* is the
//! word behind the argument's name; *fetching* is finding the value at a hit.

pub mod argument;
pub mod attached;
pub mod command;
pub mod error;
pub mod function;
pub mod kernel_types;
pub mod layout;
pub mod meta;
pub mod program;
#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests;
pub mod types;
pub mod uprobe;
