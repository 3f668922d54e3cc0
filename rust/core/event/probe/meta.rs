// SPDX-License-Identifier: GPL-2.0

//! Words that stand for parameters of the probed function: `$argN` for one, `$arg*` for each.

use super::argument::ARGUMENTS_MAX;
use super::error::{Errno, Reason, Refused};
use super::kernel_types::{Function, Types};

/// A word of a definition, or what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expanded<'a> {
    /// The name of the parameter that it stands for; nothing for a word that stands for itself.
    pub name: &'a [u8],
    /// What follows the name, or the whole word.
    pub rest: &'a [u8],
    /// Where the definition has it.
    pub origin: Origin,
}

/// Where a definition has what an argument was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    word: usize,
    /// Bytes that stand for others.
    written: usize,
    /// Bytes that they stand for.
    expanded: usize,
}

impl Origin {
    /// A word that stands for itself.
    pub const fn of(word: usize) -> Self {
        Self {
            word,
            written: 0,
            expanded: 0,
        }
    }

    /// All of the word, where what it was made into has other places.
    pub const fn whole(self) -> Self {
        Self {
            written: 0,
            expanded: usize::MAX,
            ..self
        }
    }

    /// A refusal of what was made of it, at the place in the definition.
    pub fn refused(&self, refused: Refused) -> Refused {
        let behind = refused.offset.checked_sub(self.expanded);
        let offset = behind.map_or(0, |behind| behind.saturating_add(self.written));
        Refused { offset, ..refused }.in_word(self.word)
    }
}

const NAME: &[u8] = b"$arg";

/// Whether one of these words is of the function's parameters: what they are is looked up then, wherever it stands.
pub fn asks<'w>(mut words: impl Iterator<Item = &'w [u8]>) -> bool {
    words.any(|word| word.starts_with(NAME))
}

/// Calls `each` with the words of arguments, which begin with the definition's third, and with what they
/// stand for where the function is known. Returns whether any stands for something else.
///
/// # Errors
///
/// What is wrong with them, and those of `each`.
pub fn expand<'w, E: From<Refused>>(
    words: impl Iterator<Item = &'w [u8]> + Clone,
    known: Option<(&dyn Types, Function)>,
    mut each: impl FnMut(Expanded<'_>) -> Result<(), E>,
) -> Result<bool, E> {
    let numbered = || (2..).zip(words.clone());
    let is_all = |word: &[u8]| {
        let rest = word.strip_prefix(NAME);
        rest.is_some_and(|rest| rest.starts_with(b"*"))
    };
    let known = known.filter(|(_, function)| function.parameters != 0);
    let mut count = numbered().count();
    if numbered().any(|(_, word)| is_all(word)) {
        let Some((_, function)) = known else {
            let last = numbered().filter(|(_, word)| word.starts_with(NAME)).last();
            let refused = Refused::new(Reason::NoTypes, 0).with(Errno::NotSupported);
            return Err(refused.in_word(last.map_or(2, |(at, _)| at)).into());
        };
        count = count.saturating_sub(1).saturating_add(function.parameters);
    }
    if count > ARGUMENTS_MAX {
        let refused = Refused::new(Reason::TooManyArguments, 0).in_word(2);
        return Err(refused.with(Errno::TooLong).into());
    }
    let mut any = false;
    for (at, word) in numbered() {
        let refused = |reason, errno| Refused::new(reason, 0).in_word(at).with(errno);
        let digits = word.strip_prefix(NAME);
        let (Some((types, function)), Some(digits)) = (known, digits) else {
            let (name, rest, origin) = (b"".as_slice(), word, Origin::of(at));
            each(Expanded { name, rest, origin })?;
            continue;
        };
        any = true;
        let mut one = |number: usize, rest: &[u8]| {
            let missing = || refused(Reason::NoParameter, Errno::NotFound);
            let name = function.parameter(types, number).ok_or_else(missing)?.name;
            let origin = Origin {
                word: at,
                written: word.len().saturating_sub(rest.len()),
                expanded: name.len(),
            };
            each(Expanded { name, rest, origin })
        };
        if is_all(word) {
            (0..function.parameters).try_for_each(|number| one(number, b""))?;
            continue;
        }
        let length = digits.iter().take_while(|byte| byte.is_ascii_digit());
        let (digits, rest) = digits.split_at_checked(length.count()).unwrap_or_default();
        if !matches!(rest, [] | [b':', ..]) {
            return Err(refused(Reason::BadVariable, Errno::NotFound).into());
        }
        let number = digits.iter().fold(0_usize, |number, digit| {
            let digit = usize::from(digit.wrapping_sub(b'0'));
            number.saturating_mul(10).saturating_add(digit)
        });
        match number.checked_sub(1) {
            Some(number) => one(number, rest)?,
            None => return Err(refused(Reason::BadArgumentNumber, Errno::Invalid).into()),
        }
    }
    Ok(any)
}
