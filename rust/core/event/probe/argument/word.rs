// SPDX-License-Identifier: GPL-2.0

//! Words that are arguments: the name in front of `=`, or none.

use super::super::command::is_name;
use super::super::error::{Reason, Refused};
use crate::core::parse::parser::split_at_byte;
use core::ops::Range;

/// Bytes of a name at most.
const NAME_MAX: usize = 32;

/// Names of fields that entries have anyway.
const RESERVED: &[&[u8]] = &[
    b"common_type",
    b"common_flags",
    b"common_preempt_count",
    b"common_pid",
    b"common_tgid",
    b"__probe_ip",
    b"__probe_ret_ip",
    b"__probe_func",
];

/// A word that is an argument, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The bytes that are its name; none if it has none and is called by its number.
    pub name: Option<Range<usize>>,
    /// Where the rest begins.
    pub body: usize,
}

impl Word {
    /// Finds the name of `word`. `is_taken` says whether another argument has a name; where the kernel
    /// `has_types`, what is recorded may be its own name.
    ///
    /// # Errors
    ///
    /// What is wrong with the name.
    pub fn parse(
        word: &[u8],
        has_types: bool,
        is_taken: impl Fn(&[u8]) -> bool,
    ) -> Result<Self, Refused> {
        let refused = |reason| Err(Refused::new(reason, 0));
        let Some((name, _)) = split_at_byte(word, b'=') else {
            let name = split_at_byte(word, b':').map_or(word, |(name, _)| name);
            let name = Some(name).filter(|name| has_types && is_name(name));
            if name.is_some_and(|name| RESERVED.contains(&name) || is_taken(name)) {
                return refused(Reason::UsedArgumentName);
            }
            return Ok(Self {
                name: name.map(|name| 0..name.len()),
                body: 0,
            });
        };
        if name.len() > NAME_MAX {
            return refused(Reason::ArgumentNameTooLong);
        }
        if name.is_empty() {
            return refused(Reason::NoArgumentName);
        }
        if !is_name(name) {
            return refused(Reason::BadArgumentName);
        }
        if RESERVED.contains(&name) || is_taken(name) {
            return refused(Reason::UsedArgumentName);
        }
        Ok(Self {
            name: Some(0..name.len()),
            body: name.len().wrapping_add(1),
        })
    }
}
