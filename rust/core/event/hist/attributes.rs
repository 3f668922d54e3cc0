// SPDX-License-Identifier: GPL-2.0

//! The parts of a definition between colons.

use super::error::{Errno, Log, Reason};
use super::{ACTIONS, DEFAULT_BITS, VARIABLES};
use crate::core::parse::number;
use crate::core::parse::parser::trim;

/// The parts of a definition. Nothing in them is resolved.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// After `keys=`.
    pub keys: &'a [u8],
    /// After `vals=`.
    pub values: Option<&'a [u8]>,
    /// After `sort=`.
    pub sort: Option<&'a [u8]>,
    /// `name=NAME`.
    pub name: Option<&'a [u8]>,
    /// The clock for timestamps.
    pub clock: &'a [u8],
    /// Binary logarithm of the number of elements.
    pub bits: u8,
    /// Whether hits are ignored.
    pub pause: bool,
    /// Whether a paused trigger continues.
    pub resume: bool,
    /// Whether all entries are removed.
    pub clear: bool,
    /// Whether the hit count is not shown.
    pub no_hitcount: bool,
    assignments: [&'a [u8]; VARIABLES],
    assigned: usize,
    actions: [&'a [u8]; ACTIONS],
    acting: usize,
}

impl<'a> Attributes<'a> {
    /// Splits `text`, which has no filter.
    ///
    /// # Errors
    ///
    /// Those of C for parts that it does not know, and for a definition without keys.
    pub fn parse(text: &'a [u8], log: &mut dyn Log) -> Result<Self, Errno> {
        let mut new = Self {
            keys: &[],
            values: None,
            sort: None,
            name: None,
            clock: b"global",
            bits: DEFAULT_BITS,
            pause: false,
            resume: false,
            clear: false,
            no_hitcount: false,
            assignments: [&[]; VARIABLES],
            assigned: 0,
            actions: [&[]; ACTIONS],
            acting: 0,
        };
        for part in text.split(|c| *c == b':') {
            match part.iter().position(|c| *c == b'=') {
                Some(at) if at.wrapping_add(1) == part.len() => {
                    log.log(Reason::EmptyAssignment, part);
                    return Err(Errno::Invalid);
                }
                Some(_) => new.assign(part, log)?,
                None => new.word(part)?,
            }
        }
        if new.keys.is_empty() {
            return Err(Errno::Invalid);
        }
        Ok(new)
    }

    /// The assignments to variables, each one or more of them.
    pub fn assignments(&self) -> &[&'a [u8]] {
        self.assignments.get(..self.assigned).unwrap_or(&[])
    }

    /// The actions.
    pub fn actions(&self) -> &[&'a [u8]] {
        self.actions.get(..self.acting).unwrap_or(&[])
    }

    fn word(&mut self, word: &'a [u8]) -> Result<(), Errno> {
        match word {
            b"nohitcount" | b"NOHC" => self.no_hitcount = true,
            b"pause" => self.pause = true,
            b"cont" | b"continue" => self.resume = true,
            b"clear" => self.clear = true,
            _ => {
                let handlers: [&[u8]; 3] = [b"onmatch(", b"onmax(", b"onchange("];
                let is_action = handlers.iter().any(|handler| word.starts_with(handler));
                let place = self.actions.get_mut(self.acting);
                *place.filter(|_| is_action).ok_or(Errno::Invalid)? = word;
                self.acting = self.acting.wrapping_add(1);
            }
        }
        Ok(())
    }

    fn assign(&mut self, part: &'a [u8], log: &mut dyn Log) -> Result<(), Errno> {
        let after = |names: &[&[u8]]| names.iter().find_map(|name| part.strip_prefix(*name));
        if let Some(keys) = after(&[b"key=", b"keys="]) {
            self.keys = keys;
        } else if let Some(values) = after(&[b"val=", b"vals=", b"values="]) {
            self.values = Some(values);
        } else if let Some(sort) = after(&[b"sort="]) {
            self.sort = Some(sort);
        } else if part.starts_with(b"name=") {
            self.name = Some(part);
        } else if let Some(clock) = after(&[b"clock="]) {
            self.clock = trim(clock);
        } else if let Some(size) = after(&[b"size="]) {
            let size = number::unsigned(size, 0)?;
            let bits = size.checked_next_power_of_two().map_or(64, u64::ilog2);
            self.bits = match bits {
                7..=17 => bits as u8,
                _ => return Err(Errno::Invalid),
            };
        } else {
            let Some(place) = self.assignments.get_mut(self.assigned) else {
                log.log(Reason::TooManyVariables, part);
                return Err(Errno::Invalid);
            };
            *place = part;
            self.assigned = self.assigned.wrapping_add(1);
        }
        Ok(())
    }
}

/// Splits a definition at the `if` between blanks: the definition, and the text from `if` on.
///
/// # Errors
///
/// `EINVAL` for an `if` at the start or without a filter.
pub fn split_filter(text: &[u8]) -> Result<(&[u8], Option<&[u8]>), Errno> {
    let is_blank = |c: Option<&u8>| matches!(c, Some(b' ' | b'\t'));
    for (at, pair) in text.windows(2).enumerate() {
        if pair != b"if" {
            continue;
        }
        if at == 0 {
            return Err(Errno::Invalid);
        }
        let (before, end) = (at.wrapping_sub(1), at.wrapping_add(2));
        if !is_blank(text.get(before)) {
            continue;
        }
        if end.wrapping_add(1) >= text.len() {
            return Err(Errno::Invalid);
        }
        if is_blank(text.get(end)) {
            let filter = text.get(at..).unwrap_or(&[]);
            return Ok((trim(text.get(..before).unwrap_or(&[])), Some(trim(filter))));
        }
    }
    Ok((text, None))
}

/// Writes each `.sym-offset` as `.symXoffset`, as C does: its minus is no operator. The modifier and
/// the names of variables have the X from then on.
pub fn hide_minus(text: &mut [u8]) {
    const BEFORE: &[u8] = b".sym";
    const WHOLE: &[u8] = b".sym-offset";
    for at in 0..text.len() {
        let rest = text.get_mut(at..).unwrap_or_default();
        if rest.starts_with(WHOLE) {
            if let Some(minus) = rest.get_mut(BEFORE.len()) {
                *minus = b'X';
            }
        }
    }
}

/// `filter`, which begins with `if`, without that word and the blank after it. More blanks are the
/// filter's, and are shown.
pub fn condition(filter: &[u8]) -> &[u8] {
    filter.get(3..).unwrap_or(&[])
}
