// SPDX-License-Identifier: GPL-2.0

//! The type behind what is fetched: `:TYPE`, `:TYPE[COUNT]`, `:bWIDTH@OFFSET/SIZE`.

use super::super::command::Spot;
use super::super::error::{Reason, Refused};
use super::super::program::Bits;
use super::super::types::Type;
use super::Context;
use crate::core::parse::number;
use crate::core::parse::parser::split_at_byte;

/// Elements of an array at most.
const ARRAY_MAX: u64 = 64;

/// An argument whose type was cut off.
pub(super) struct Typed<'a> {
    pub(super) fetch: &'a [u8],
    /// The type's name, and where it is in the argument.
    pub(super) name: Option<(&'a [u8], usize)>,
    pub(super) ty: &'static Type,
    pub(super) count: Option<u8>,
}

fn position(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().position(|&other| other == byte)
}

impl<'a> Typed<'a> {
    pub(super) fn parse(
        body: &'a [u8],
        start: usize,
        context: &Context<'_>,
    ) -> Result<Self, Refused> {
        let refused = |reason, at: usize| Err(Refused::new(reason, start.saturating_add(at)));
        let mut count = None;
        let (fetch, name) = match split_at_type(body, context.machine.is_program()) {
            None => (body, None),
            Some((fetch, ty)) => {
                let at = fetch.len().wrapping_add(1);
                let ty = match split_at_byte(ty, b'[') {
                    None => ty,
                    Some((ty, array)) => {
                        let at = at.wrapping_add(ty.len()).wrapping_add(1);
                        let Some((digits, behind)) = split_at_byte(array, b']') else {
                            return refused(Reason::ArrayNotClosed, body.len());
                        };
                        if !behind.is_empty() {
                            let behind = at.wrapping_add(digits.len()).wrapping_add(1);
                            return refused(Reason::BadArraySuffix, behind);
                        }
                        let elements = match number::unsigned(digits, 0) {
                            Ok(number @ 1..=0xffff_ffff) => number,
                            _ => return refused(Reason::BadArrayNumber, at),
                        };
                        if elements > ARRAY_MAX {
                            return refused(Reason::ArrayTooBig, at);
                        }
                        count = u8::try_from(elements).ok();
                        ty
                    }
                };
                (fetch, Some((ty, at)))
            }
        };
        let at = name.map_or(0, |(_, at)| at);
        // As in C, of an event only a type says that `$comm` is a text. C asks a constant for one, too,
        // and shows its address.
        let is_text = context.spot != Spot::Event && matches!(fetch, b"$comm" | b"$COMM")
            || fetch.starts_with(b"\\\"");
        let ty = match name {
            _ if is_text => {
                if count.is_some() || name.is_some_and(|(name, _)| name != b"string") {
                    return refused(Reason::NeedsStringType, at);
                }
                Some(Type::string())
            }
            None => Some(Type::word()),
            Some((b"symbol" | b"symstr", _)) if context.machine.is_program() => None,
            Some((name, _)) => Type::named(name),
        };
        let Some(ty) = ty else {
            return refused(Reason::BadType, at);
        };
        Ok(Self {
            fetch,
            name,
            ty,
            count,
        })
    }
}

/// What is fetched, and the type behind a colon. The pairs of colons in the path of a Rust symbol
/// behind an `@` are passed over. A program has no such symbols.
fn split_at_type(body: &[u8], is_program: bool) -> Option<(&[u8], &[u8])> {
    let symbol = position(body, b'@').filter(|at| {
        let is_fetched = position(body, b':').is_none_or(|colon| *at < colon);
        is_fetched && !is_program && !body.starts_with(b"\\")
    });
    let begins = |at: usize| {
        let begins = |byte: &u8| matches!(byte, b'<' | b'_') || byte.is_ascii_alphabetic();
        body.get(at).is_some_and(begins)
    };
    let symbol = symbol.map(|at| at.wrapping_add(1)).filter(|&at| begins(at));
    let Some(mut from) = symbol else {
        return split_at_byte(body, b':');
    };
    loop {
        let at = from.wrapping_add(position(body.get(from..)?, b':')?);
        let behind = at.wrapping_add(1);
        let next = behind.wrapping_add(1);
        let is_inside = body.get(behind) == Some(&b':') && begins(next);
        if !is_inside || body.get(from..at)?.contains(&b')') {
            return Some((body.get(..at)?, body.get(behind..)?));
        }
        from = next;
    }
}
/// `bWIDTH@OFFSET/SIZE`, of which the type has the size.
pub(super) fn bits(name: &[u8], ty: &Type) -> Option<Bits> {
    let (width, rest) = prefix(name.get(1..)?);
    let digits = rest.strip_prefix(b"@")?;
    let (offset, rest) = prefix(digits);
    let has_digits = rest.len() != digits.len();
    match has_digits && rest.starts_with(b"/") {
        true => Bits::new(offset, width, ty),
        false => None,
    }
}

impl Bits {
    /// So many bits behind the first ones of a number of this type; none if it does not have them.
    pub(super) fn new(offset: u64, width: u64, ty: &Type) -> Option<Self> {
        let all = u64::from(ty.size).wrapping_mul(8);
        let end = width.checked_add(offset)?;
        if width == 0 || end > all {
            return None;
        }
        Some(Self {
            left: u8::try_from(all.wrapping_sub(end)).ok()?,
            right: u8::try_from(all.wrapping_sub(width)).ok()?,
        })
    }
}

/// The number that `text` begins with, with C's prefixes, and what follows it; 0 without digits.
fn prefix(text: &[u8]) -> (u64, &[u8]) {
    let (radix, mut rest) = match text {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => {
            (16, text.get(2..).unwrap_or(&[]))
        }
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let mut number = 0_u64;
    while let [digit, behind @ ..] = rest {
        let Some(digit) = char::from(*digit).to_digit(radix) else {
            break;
        };
        number = number
            .saturating_mul(radix.into())
            .saturating_add(digit.into());
        rest = behind;
    }
    (number, rest)
}
