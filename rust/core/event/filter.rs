// SPDX-License-Identifier: GPL-2.0

//! Filters: `prev_comm ~ "kworker*" && !(prio < 100 || cpu & CPUS{1-3})`.
//!
//! ```text
//!   expression   operand { ("&&" | "||") operand }        && binds tighter
//!   operand      "!" operand | "(" expression ")" | predicate
//!   predicate    field ["." "ustring" | "." "function"] operator value
//!   operator     == != < <= > >= & ~
//!   value        a number in any base, a text in quotes, CPUS{list}; a function's name or address
//! ```
//!
//! [`compile`](parse::compile) turns a text into [`Step`]s, one a predicate, that say where
//! evaluation goes on for either result. It only goes forward, so it ends after as many steps as
//! there are predicates at most; there is no other limit than the text's length.
//! [`Program::matches`](program::Program::matches) evaluates them on the bytes of an entry.
//!
//! [`parse`] reads predicates, [`link`] puts the jumps in, [`error`] says what C says about a
//! refused text, and where.
//!
//! Words: a *predicate* compares one field with one value; a *join* is the `&&` or `||` behind it.

pub mod error;
pub mod link;
pub mod parse;
pub mod program;

use self::program::Step;
use super::field::Field;
use core::ops::Range;

/// What names in a filter stand for.
pub trait Scope {
    /// The event's own field of this name.
    fn field(&self, name: &[u8]) -> Option<Field>;

    /// The function of this name, from its first to behind its last byte.
    fn function(&self, name: &[u8]) -> Option<Range<u64>>;

    /// The function around this address.
    fn function_at(&self, address: u64) -> Option<Range<u64>>;

    /// How many CPUs there may be.
    fn cpus(&self) -> usize;

    /// Whether this is the function event, whose filter is a list of functions.
    fn is_function_event(&self) -> bool {
        false
    }
}

/// No memory for a compiled filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

/// Memory for a compiled filter.
pub trait Storage {
    /// Appends a step.
    ///
    /// # Errors
    ///
    /// [`NoMemory`], here and in [`mask`](Self::mask).
    fn push(&mut self, step: Step) -> Result<(), NoMemory>;

    /// The steps so far.
    fn steps(&mut self) -> &mut [Step];

    /// Appends `words` zeroed words to those of the masks, and gives the new ones with the index of
    /// their first.
    fn mask(&mut self, words: usize) -> Result<(usize, &mut [u64]), NoMemory>;
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests;
