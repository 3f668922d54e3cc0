// SPDX-License-Identifier: GPL-2.0

//! Histograms: the trigger `hist`, which counts the hits of an event by the values of its fields.
//!
//! ```text
//!   hist:keys=KEY[,KEY…][:vals=VALUE[,VALUE…]][:VAR=EXPRESSION…][:sort=FIELD[.descending][,…]]
//!       [:size=N][:clock=NAME][:name=NAME][:nohitcount][:pause|cont|clear][:ACTION…] [if FILTER]
//! ```
//!
//! | module | implements |
//! | --- | --- |
//! | [`action`] | the actions: their text, and how they are run |
//! | [`attributes`] | the parts of the text between colons |
//! | `debug` | the text of `hist_debug` |
//! | [`description`] | the compiled form: keys, values and variables as [nodes](description::Node) |
//! | [`compile`] | the parser of fields and expressions |
//! | [`evaluate`] | keys and values of an entry, in any context |
//! | [`map`] | the table of entries: no locks, all memory given at creation |
//! | [`plain`] | the same for the usual definition, in fewer instructions |
//! | [`print`] | the text of a definition, of entries and of totals |
//! | [`same`] | which definitions are the same |
//! | [`error`] | C's error texts and their positions |
//!
//! Words: an *element* is the memory of one row of the table: its key, its sums and its variables.
//! A *slot* is a place of the hash table; it holds the number of an element.

pub mod action;
pub mod attributes;
pub mod compile;
#[cfg(any(CONFIG_HIST_TRIGGERS_DEBUG, not(CONFIG_RTRACE)))]
pub mod debug;
pub mod description;
pub mod error;
pub mod evaluate;
pub mod map;
pub mod plain;
pub mod print;
pub mod same;

/// The most keys.
pub const KEYS: usize = 3;
/// The most values besides the hit count.
pub const VALUES: usize = 2;
/// The most variables, and the most references to variables.
pub const VARIABLES: usize = 16;
/// The most actions.
pub const ACTIONS: usize = 8;
/// The most parameters of an action.
pub const PARAMETERS: usize = 64;
/// The most sort fields.
pub const SORTS: usize = 2;
/// Bytes of a text of variable length in a key or a variable, its NUL included.
pub const TEXT: usize = 256;
/// Return addresses of a stack trace in a key.
pub const DEPTH: usize = 31;
/// The most 64-bit words of a key.
pub const KEY_WORDS: usize = TEXT / 8 + DEPTH;
/// Binary logarithm of the number of elements without `size=`.
pub const DEFAULT_BITS: u8 = 11;

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests;
