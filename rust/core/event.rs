// SPDX-License-Identifier: GPL-2.0

//! Fields, filters, triggers and injected entries of events: parsers and evaluation.
//!
//! | module | implements |
//! | --- | --- |
//! | [`dereference`] | the check of a `print fmt` for bad pointers |
//! | [`field`] | the kind of a field for filters, from its C type |
//! | [`filter`] | `filter` files, and the filter after `if` in triggers |
//! | [`inject`] | `inject` files |
//! | [`trigger`] | `trigger` files |
//!
//! Nothing here allocates or keeps state outside its arguments. A compiled filter is built in
//! memory of the caller.

#![forbid(unsafe_code)]

pub mod dereference;
pub mod field;
pub mod filter;
pub mod inject;
pub mod trigger;
