// SPDX-License-Identifier: GPL-2.0

//! Definitions of kernel probes, but for their arguments:
//!
//! ```text
//!   p[:[GROUP/][EVENT]] PLACE [ARGUMENT…]
//!   r[MAXACTIVE][:[GROUP/][EVENT]] PLACE [ARGUMENT…]       or p… PLACE%return
//!   PLACE: [MODULE:]SYMBOL[+OFFSET] | ADDRESS
//! ```
//!
//! The words are parted by blanks, and nothing quotes one.

use super::error::{Reason, Refused};
use crate::core::format::Out;
use crate::core::parse::glob::is_path;
use crate::core::parse::number;
use crate::core::parse::parser::{is_alnum, is_space, split_at_byte};
use core::fmt;

/// Bytes of a group's or an event's name, its end included.
pub const NAME_ROOM: usize = 64;
/// Returns that can be waited for at once.
const MAXACTIVE_MAX: u64 = 4096;

/// The words of a command.
pub fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    text.split(|&byte| is_space(byte))
        .filter(|word| !word.is_empty())
}

fn is_good(name: &[u8], hyphen: bool) -> bool {
    let fits = |byte: &u8| is_alnum(*byte) || *byte == b'_' || hyphen && *byte == b'-';
    name.first().is_some_and(|first| !first.is_ascii_digit()) && name.iter().all(fits)
}

/// Whether `name` is a valid name of an event or a field.
pub fn is_name(name: &[u8]) -> bool {
    is_good(name, false)
}

/// What stands for `byte` of a symbol, or of the path of a Rust function, in the name of an event. As
/// in C, the other characters of a glob stay.
pub(super) fn in_name(byte: u8, of_path: bool) -> u8 {
    let fits = match of_path {
        true => byte.is_ascii_alphanumeric() || byte == b'_',
        false => !matches!(byte, b':' | b'.' | b'*'),
    };
    if fits {
        byte
    } else {
        b'_'
    }
}

/// Where a probe is, as far as arguments ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// At a function's first instruction.
    Entry,
    /// Somewhere else, or that is not known.
    Inside,
    /// Behind a function.
    Return,
    /// At an entry of another event.
    Event,
}

/// What the kernel says of a symbol's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A function's entry.
    Entry,
    /// Behind it.
    Inside,
    /// The symbol is of a module that may come.
    Later,
}

/// Why the kernel has no place for a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// There is none of this name.
    Missing,
    /// There are several.
    NotUnique,
}

/// What the kernel knows of its symbols.
pub trait Symbols {
    /// Finds `symbol`, `NAME` or `MODULE:NAME`, and what is at `offset` there.
    ///
    /// # Errors
    ///
    /// Why it cannot be probed.
    fn find(&self, symbol: &[u8], offset: u64) -> Result<Found, NotFound>;
}

/// A place to be probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// An address.
    Address(u64),
    /// So many bytes behind a symbol.
    Symbol {
        /// `NAME` or `MODULE:NAME`.
        symbol: &'a [u8],
        /// Bytes.
        offset: u32,
    },
}

/// A definition, but for its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// Whether it probes the return of a function.
    pub is_return: bool,
    /// How many returns it can wait for at once; 0 if the definition does not say.
    pub maxactive: u32,
    /// The group, if it has one.
    pub group: Option<&'a [u8]>,
    /// The event's name, if it has one.
    pub event: Option<&'a [u8]>,
    /// The place.
    pub place: Place<'a>,
    /// What arguments may ask for there.
    pub spot: Spot,
}

/// Why a command is no definition of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionError {
    /// It is of another kind: somebody else may know it.
    OtherKind,
    /// It is of this kind, and wrong.
    Refused(Refused),
}

impl From<Refused> for DefinitionError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// Reads `[GROUP/][EVENT]`, which is at `start` of its word.
///
/// # Errors
///
/// What is wrong with a name.
#[allow(
    clippy::type_complexity,
    reason = "a group and an event, either of which may lack"
)]
pub fn event_name(text: &[u8], start: usize) -> Result<(Option<&[u8]>, Option<&[u8]>), Refused> {
    let parted = split_at_byte(text, b'/').or_else(|| split_at_byte(text, b'.'));
    let refused = |reason, at| Err(Refused::new(reason, at));
    let (group, event, at) = match parted {
        None => (None, text, start),
        Some((group, event)) => {
            if group.is_empty() {
                return refused(Reason::NoGroupName, start);
            }
            if group.len() >= NAME_ROOM {
                return refused(Reason::GroupTooLong, start);
            }
            if !is_good(group, true) {
                return refused(Reason::BadGroupName, start);
            }
            let at = start.saturating_add(group.len()).saturating_add(1);
            (Some(group), event, at)
        }
    };
    if event.is_empty() {
        return match group {
            Some(_) => Ok((group, None)),
            None => refused(Reason::NoEventName, at),
        };
    }
    if event.len() >= NAME_ROOM {
        return refused(Reason::EventTooLong, at);
    }
    if !is_name(event) {
        return refused(Reason::BadEventName, at);
    }
    Ok((group, Some(event)))
}

impl<'a> Definition<'a> {
    /// Reads a definition of a kernel probe.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and whether it is one.
    pub fn parse<W>(words: W, symbols: &dyn Symbols) -> Result<Self, DefinitionError>
    where
        W: Iterator<Item = &'a [u8]> + Clone,
    {
        let mut rest = words.clone();
        let (Some(head), Some(place)) = (rest.next(), rest.next()) else {
            return Err(DefinitionError::OtherKind);
        };
        let (is_return, head) = match head {
            [b'p', head @ ..] => (false, head),
            [b'r', head @ ..] => (true, head),
            _ => return Err(DefinitionError::OtherKind),
        };
        let (head, name) = match split_at_byte(head, b':') {
            Some((head, name)) => (head, Some(name)),
            None => (head, None),
        };
        let maxactive = match head {
            [b'0'..=b'9', ..] => maxactive(head, is_return)?,
            _ => 0,
        };
        let (place, is_return, spot) = read_place(place, is_return, symbols)?;
        // Behind `p` or `r`, what follows that, and the colon.
        let start = head.len().saturating_add(2);
        let (group, event) = match name {
            Some(name) => event_name(name, start)?,
            None => (None, None),
        };
        check_arguments(rest, spot)?;
        Ok(Self {
            is_return,
            maxactive,
            group,
            event,
            place,
            spot,
        })
    }

    /// Writes the name that the event has if the definition gives none, of a probe at so many bytes
    /// behind a symbol.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write_name(&self, symbol: &[u8], offset: u32, out: &mut dyn Out) -> fmt::Result {
        out.bytes(if self.is_return { b"r_" } else { b"p_" })?;
        let is_path = is_path(symbol);
        for byte in symbol {
            out.bytes(&[in_name(*byte, is_path)])?;
        }
        write!(out, "_{offset}")
    }
}

fn maxactive(digits: &[u8], is_return: bool) -> Result<u32, Refused> {
    let refused = |reason| Err(Refused::new(reason, 1));
    if !is_return {
        return refused(Reason::BadMaxActiveType);
    }
    if digits.len() >= NAME_ROOM {
        return refused(Reason::BadMaxActive);
    }
    match number::unsigned(digits, 0) {
        Ok(number @ 1..=0xffff_ffff) if number > MAXACTIVE_MAX => refused(Reason::MaxActiveTooBig),
        Ok(number @ 1..=MAXACTIVE_MAX) => Ok(number as u32),
        _ => refused(Reason::BadMaxActive),
    }
}

/// The symbol, which may be a path, and the offset behind it with its sign, if there is one.
pub fn split_offset(text: &[u8]) -> (&[u8], &[u8]) {
    let is_sign = |byte: &u8| matches!(byte, b'+' | b'-');
    let sign = match is_path(text) {
        false => text.iter().position(is_sign),
        // A path may have signs itself: `<fn()->u8~as~A>::f`.
        true => text.iter().rposition(is_sign).filter(|&at| {
            let offset = text.get(at..).unwrap_or(&[]);
            number::signed(offset, 0).is_ok()
        }),
    };
    text.split_at_checked(sign.unwrap_or(text.len()))
        .unwrap_or((text, &[]))
}

fn read_place<'a>(
    word: &'a [u8],
    is_return: bool,
    symbols: &dyn Symbols,
) -> Result<(Place<'a>, bool, Spot), DefinitionError> {
    if let Ok(address) = number::unsigned(word, 0) {
        // C keeps what is known of an address from the arguments.
        return Ok((Place::Address(address), is_return, Spot::Inside));
    }
    if word.contains(&b'/') && word.contains(&b':') {
        // A place in a file.
        return Err(DefinitionError::OtherKind);
    }
    let refused = |reason, at| {
        Err(DefinitionError::Refused(
            Refused::new(reason, at).in_word(1),
        ))
    };
    let (symbol, is_return) = match word.iter().position(|&byte| byte == b'%') {
        None => (word, is_return),
        Some(at) => match word.split_at_checked(at) {
            Some((symbol, b"%return")) => (symbol, true),
            _ => return refused(Reason::BadAddressSuffix, at),
        },
    };
    let (symbol, offset) = match split_offset(symbol) {
        (symbol, []) => (symbol, Ok(0)),
        (symbol, offset) => (symbol, number::signed(offset, 0)),
    };
    let Some(offset) = offset.ok().and_then(|offset| u32::try_from(offset).ok()) else {
        return refused(Reason::BadProbeAddress, 0);
    };
    let spot = match (symbols.find(symbol, offset.into()), is_return) {
        (Err(NotFound::NotUnique), _) => return refused(Reason::NotUnique, 0),
        (Err(NotFound::Missing), _) => return refused(Reason::BadProbeAddress, 0),
        (Ok(Found::Inside), true) => return refused(Reason::BadReturnProbe, 0),
        (Ok(_), true) => Spot::Return,
        (Ok(Found::Entry), false) => Spot::Entry,
        (Ok(Found::Inside | Found::Later), false) => Spot::Inside,
    };
    Ok((Place::Symbol { symbol, offset }, is_return, spot))
}

/// Looks at arguments that begin with `$arg`.
pub(super) fn check_arguments<'a>(
    arguments: impl Iterator<Item = &'a [u8]>,
    spot: Spot,
) -> Result<(), Refused> {
    let mut all = false;
    for (at, word) in (2..).zip(arguments) {
        let Some(rest) = word.strip_prefix(b"$arg") else {
            continue;
        };
        let refused = |reason| Err(Refused::new(reason, 0).in_word(at));
        match rest {
            _ if spot == Spot::Inside => return refused(Reason::NotAtEntry),
            [b'0'..=b'9', ..] => {}
            [b'*', ..] if all => return refused(Reason::ArgumentsTwice),
            [b'*', ..] => all = true,
            _ => return refused(Reason::BadVariable),
        }
    }
    Ok(())
}

/// The events that a command removes: `-:[GROUP/]EVENT [PLACE [ARGUMENT…]]`, or a definition behind
/// `!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal<'a> {
    /// Those of this group.
    pub group: Option<&'a [u8]>,
    /// Those of this name; all for an empty one.
    pub event: &'a [u8],
}

impl<'a> Removal<'a> {
    /// Reads the first word of such a command; none if it names no event.
    pub fn parse(head: &'a [u8]) -> Option<Self> {
        let name = match head {
            [b'-', rest @ ..] => rest.strip_prefix(b":")?,
            head => split_at_byte(head, b':')?.1,
        };
        match split_at_byte(name, b'/') {
            Some((group, event)) => Some(Self {
                group: Some(group),
                event,
            }),
            None if name.is_empty() => None,
            None => Some(Self {
                group: None,
                event: name,
            }),
        }
    }
}

/// What `%pd` and `%pD` stand for.
#[derive(Clone, Copy)]
pub struct Dentry {
    /// Where a directory entry has the address of its name.
    pub name: usize,
    /// Where an open file has the address of its directory entry.
    pub of_file: usize,
}

impl Dentry {
    /// Writes what `word`, an argument, stands for if its type is `%pd` or `%pD`, and says whether
    /// it is.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn expand(&self, word: &[u8], out: &mut dyn Out) -> Result<bool, fmt::Error> {
        let (rest, of_file) = match (word.strip_suffix(b":%pd"), word.strip_suffix(b":%pD")) {
            (Some(rest), _) => (rest, false),
            (None, Some(rest)) => (rest, true),
            (None, None) => return Ok(false),
        };
        let fetch = match split_at_byte(rest, b'=') {
            None => rest,
            Some((name, fetch)) => {
                out.bytes(name)?;
                out.bytes(b"=")?;
                fetch
            }
        };
        write!(out, "+0x0(+0x{:x}(", self.name)?;
        if of_file {
            write!(out, "+0x{:x}(", self.of_file)?;
        }
        out.bytes(fetch)?;
        out.bytes(if of_file { b")))" } else { b"))" })?;
        out.bytes(b":string")?;
        Ok(true)
    }
}
