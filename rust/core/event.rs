// SPDX-License-Identifier: GPL-2.0

//! What users say about events: which of an event's fields there are, filters over them, triggers.
//!
//! | module | answers to |
//! | --- | --- |
//! | [`dereference`] | what a `print fmt` follows |
//! | [`field`] | what a filter may do with a field, from its C type |
//! | [`filter`] | `filter` files, and what follows `if` in triggers |
//! | [`inject`] | `inject` files |
//! | [`trigger`] | `trigger` files |
//!
//! Nothing here allocates or keeps state outside its arguments; a compiled filter is built in
//! memory that the caller brings.

#![forbid(unsafe_code)]

pub mod dereference;
pub mod field;
pub mod filter;
pub mod inject;
pub mod trigger;
