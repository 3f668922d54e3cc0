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
//! [`compile`](parse::compile) translates a text into [`Step`]s, one for each predicate. A step
//! says where evaluation continues for either result. Jumps only go forward, so evaluation takes at
//! most as many steps as there are predicates. Only the length of the text limits their number.
//! [`Program::matches`](program::Program::matches) evaluates the steps on the bytes of an entry.
//!
//! [`parse`] reads predicates, `link` fills in the jumps, [`error`] has C's error texts and their
//! positions.
//!
//! Words: a *predicate* compares one field with one value. A *join* is the `&&` or `||` after it.

pub mod error;
mod link;
pub mod parse;
pub mod program;

use self::program::Step;
use super::field::Field;
use core::ops::Range;

/// Resolves the names of a filter.
pub trait Scope {
    /// The event's own field called `name`.
    fn field(&self, name: &[u8]) -> Option<Field>;

    /// The address range of the function called `name`.
    fn function(&self, name: &[u8]) -> Option<Range<u64>>;

    /// The address range of the function that contains `address`.
    fn function_at(&self, address: u64) -> Option<Range<u64>>;

    /// The number of possible CPUs.
    fn cpus(&self) -> usize;

    /// Whether this is `ftrace:function`, whose filter is a list of functions.
    fn is_function_event(&self) -> bool {
        false
    }
}

/// There is no memory for the compiled filter.
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

    /// Appends `words` zeroed words to the masks. Returns the index of the first new word, and the
    /// new words.
    fn mask(&mut self, words: usize) -> Result<(usize, &mut [u64]), NoMemory>;
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests;
