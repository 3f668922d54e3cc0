// SPDX-License-Identifier: GPL-2.0

//! The ring buffer and C's, side by side: both get the same sequence of operations, and what is
//! seen of them must be the same. Sequences are made of a number, so one can be run again.
//!
//! [`c`] is C's ring buffer as it is in Linux (`c.c`, which `host` compiles), [`both`] does each
//! operation on both and compares, [`cases`] are the sequences.

mod both;
mod c;
pub mod cases;
#[path = "../../../rust/core/tests/ring_buffer/memory.rs"]
mod memory;
mod page;
mod random;
