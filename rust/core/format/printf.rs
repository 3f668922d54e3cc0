// SPDX-License-Identifier: GPL-2.0

//! C's formats, as far as most events use them. A line of an event is made of few numbers and texts,
//! and `vsnprintf()` takes some 200 instructions for each.
//!
//! Linux's document: `Documentation/core-api/printk-formats.rst`.

use super::out::{digits, marks_of, put_digits, EACH};
use super::{copy_short, Out};
use core::fmt;

/// The longest conversion of a pointer that is known, `%` included.
pub const LONGEST_POINTER: usize = 15;
/// A width or a precision that is larger is left to C.
const WIDEST: usize = 4096;
/// As many digits has the largest number in octal.
const MOST_DIGITS: usize = 22;

/// The arguments of a format, one after the other.
pub trait Arguments {
    /// The next one, of a type that is no longer than an `int`.
    fn int(&mut self) -> i32;

    /// The next one, as long as a pointer.
    fn long(&mut self) -> i64;

    /// The text at `address`, of which C would print at most the first `most` bytes. `None` if C
    /// prints something else.
    fn text(&self, address: usize, most: Option<usize>) -> Option<&[u8]>;

    /// Writes `address` to `room` as the conversion of a pointer says: `%p` and what follows it, of at
    /// most [`LONGEST_POINTER`] bytes. Gives how many bytes it is, all written if there is room for them.
    /// `None` where that cannot be said.
    fn pointer(&self, address: usize, conversion: &[u8], room: &mut [u8]) -> Option<usize>;
}

/// Why a format is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It does not fit.
    Full,
    /// It has something that is not known here.
    Unknown,
}

/// How long an argument is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Char,
    Short,
    Int,
    Long,
}

/// A conversion up to its letter.
#[derive(Clone, Copy)]
struct Conversion {
    left: bool,
    zeros: bool,
    plus: bool,
    blank: bool,
    alternate: bool,
    /// Whether width or precision are arguments.
    has_star: bool,
    width: usize,
    precision: Option<usize>,
    size: Size,
}

/// What was written so far.
struct Line<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl Line<'_> {
    /// The next `count` bytes, to be filled in.
    #[inline]
    fn next(&mut self, count: usize) -> Result<&mut [u8], Refused> {
        let end = self.len.checked_add(count).ok_or(Refused::Full)?;
        let place = self.room.get_mut(self.len..end).ok_or(Refused::Full)?;
        self.len = end;
        Ok(place)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        self.next(bytes.len()).map(|place| copy_short(place, bytes))
    }

    fn fill(&mut self, byte: u8, count: usize) -> Result<(), Refused> {
        self.next(count).map(|place| place.fill(byte))
    }

    /// Writes what is before the first `%`, and gives the rest.
    #[inline(always)]
    fn up_to_percent<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], Refused> {
        let mut rest = text;
        while let Some((word, behind)) = rest.split_first_chunk() {
            let left = self.room.get_mut(self.len..);
            let Some(place) = left.and_then(|room| room.first_chunk_mut()) else {
                break;
            };
            *place = *word;
            let found = marks_of(*word, b'%');
            if found != 0 {
                let before = (found.trailing_zeros() / 8) as usize;
                self.len = self.len.wrapping_add(before);
                return Ok(rest.get(before..).unwrap_or_default());
            }
            self.len = self.len.wrapping_add(word.len());
            rest = behind;
        }
        let percent = rest.iter().position(|byte| *byte == b'%');
        let (before, behind) = rest
            .split_at_checked(percent.unwrap_or(rest.len()))
            .unwrap_or_default();
        self.bytes(before)?;
        Ok(behind)
    }

    fn decimal(&mut self, value: u64, is_negative: bool) -> Result<(), Refused> {
        if is_negative {
            self.bytes(b"-")?;
        }
        let place = self.next(digits(value))?;
        put_digits(place, value);
        Ok(())
    }

    fn hexadecimal(&mut self, value: u64) -> Result<(), Refused> {
        let all = hexadecimal(value);
        let zeros = (value | 1).leading_zeros() / 4;
        self.bytes(all.get(zeros as usize..).unwrap_or_default())
    }

    /// Writes the conversion of a pointer, which `text` begins with, and gives what follows it; `behind`
    /// is what is behind the `p`.
    fn pointer<'t>(
        &mut self,
        text: &[u8],
        behind: &'t [u8],
        arguments: &mut impl Arguments,
    ) -> Result<&'t [u8], Refused> {
        // What C takes for a letter there depends on its tables.
        if behind.first().is_some_and(|byte| !byte.is_ascii()) {
            return Err(Refused::Unknown);
        }
        let more = behind
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric());
        let behind = behind.get(more.count()..).unwrap_or_default();
        let length = text.len().wrapping_sub(behind.len());
        let conversion = text.get(..length).filter(|_| length <= LONGEST_POINTER);
        let conversion = conversion.ok_or(Refused::Unknown)?;
        let address = arguments.long() as usize;
        let room = self.room.get_mut(self.len..).unwrap_or_default();
        let length = arguments.pointer(address, conversion, room);
        self.next(length.ok_or(Refused::Unknown)?)?;
        Ok(behind)
    }
}

/// Writes to `room` what `format` makes of its arguments, and gives its length. What is behind that in
/// `room` may have been overwritten.
///
/// # Errors
///
/// See [`Refused`]; part of it was written then, and part of the arguments taken.
pub fn write(
    format: &[u8],
    arguments: &mut impl Arguments,
    room: &mut [u8],
) -> Result<usize, Refused> {
    let mut line = Line { room, len: 0 };
    let mut rest = format;
    loop {
        rest = line.up_to_percent(rest)?;
        // Most conversions are a letter, with at most the mark of a long number before it.
        let (is_long, letter, behind) = match rest {
            [_, b'l', b'l', letter, behind @ ..] => (true, letter, behind),
            [_, b'l' | b'z', letter, behind @ ..] => (true, letter, behind),
            [_, letter, behind @ ..] => (false, letter, behind),
            [_] => return Err(Refused::Unknown),
            [] => return Ok(line.len),
        };
        rest = match letter {
            b's' if !is_long => {
                let address = arguments.long() as usize;
                line.bytes(arguments.text(address, None).ok_or(Refused::Unknown)?)?;
                behind
            }
            b'p' if !is_long => line.pointer(rest, behind, arguments)?,
            b'd' => {
                let value = match is_long {
                    true => arguments.long(),
                    false => arguments.int().into(),
                };
                line.decimal(value.unsigned_abs(), value < 0)?;
                behind
            }
            b'u' | b'x' => {
                let value = match is_long {
                    true => arguments.long() as u64,
                    false => u64::from(arguments.int() as u32),
                };
                match letter {
                    b'u' => line.decimal(value, false)?,
                    _ => line.hexadecimal(value)?,
                }
                behind
            }
            _ => one(rest, arguments, &mut line)?,
        };
    }
}

/// Writes the conversion that `text` begins with, whatever it is; gives what follows it.
#[inline(never)]
fn one<'a>(
    text: &'a [u8],
    arguments: &mut impl Arguments,
    line: &mut Line<'_>,
) -> Result<&'a [u8], Refused> {
    let inside = text.get(1..).unwrap_or_default();
    let (how, letter, behind) = Conversion::parse(inside, arguments).ok_or(Refused::Unknown)?;
    match letter {
        b'd' | b'i' => {
            let value = how.signed(arguments);
            how.number(value.unsigned_abs(), Some(value < 0), 10, false, line)?;
        }
        b'u' => how.number(how.unsigned(arguments), None, 10, false, line)?,
        b'x' => how.number(how.unsigned(arguments), None, 16, false, line)?,
        b'X' => how.number(how.unsigned(arguments), None, 16, true, line)?,
        b'o' => how.number(how.unsigned(arguments), None, 8, false, line)?,
        b's' if how.size == Size::Int => {
            let address = arguments.long() as usize;
            let text = arguments.text(address, how.precision);
            how.padded(text.ok_or(Refused::Unknown)?, line)?;
        }
        b'c' if how.size == Size::Int => how.padded(&[arguments.int() as u8], line)?,
        b'p' if how.size == Size::Int && !how.has_star => {
            return line.pointer(text, behind, arguments);
        }
        b'%' => line.bytes(b"%")?,
        _ => return Err(Refused::Unknown),
    }
    Ok(behind)
}

impl Conversion {
    /// What is behind a `%`: how, by which letter, and what follows. `None` if it is not known.
    fn parse<'a>(text: &'a [u8], arguments: &mut impl Arguments) -> Option<(Self, u8, &'a [u8])> {
        let mut how = Self {
            left: false,
            zeros: false,
            plus: false,
            blank: false,
            alternate: false,
            has_star: false,
            width: 0,
            precision: None,
            size: Size::Int,
        };
        let mut rest = text;
        loop {
            let (&flag, behind) = rest.split_first()?;
            match flag {
                b'-' => how.left = true,
                b'0' => how.zeros = true,
                b'+' => how.plus = true,
                b' ' => how.blank = true,
                b'#' => how.alternate = true,
                _ => break,
            }
            rest = behind;
        }
        if let Some(width) = how.count(&mut rest, arguments)? {
            how.left |= width < 0;
            how.width = usize::try_from(width.unsigned_abs()).ok()?;
        }
        if let Some(behind) = rest.strip_prefix(b".") {
            rest = behind;
            let precision = how.count(&mut rest, arguments)??;
            how.precision = Some(usize::try_from(precision).unwrap_or(0));
        }
        if how.width > WIDEST || how.precision > Some(WIDEST) {
            return None;
        }
        how.size = match rest {
            [b'h', b'h', ..] => Size::Char,
            [b'h', ..] => Size::Short,
            [b'l' | b'z', ..] => Size::Long,
            _ => Size::Int,
        };
        rest = match rest {
            [b'h', b'h', behind @ ..] | [b'l', b'l', behind @ ..] => behind,
            [b'h' | b'l' | b'z', behind @ ..] => behind,
            _ => rest,
        };
        let (&letter, behind) = rest.split_first()?;
        Some((how, letter, behind))
    }

    /// Takes a width or a precision off `rest`: digits, or a `*` for an argument. `None` if it is too
    /// large.
    fn count(&mut self, rest: &mut &[u8], arguments: &mut impl Arguments) -> Option<Option<i32>> {
        if let Some(behind) = rest.strip_prefix(b"*") {
            *rest = behind;
            self.has_star = true;
            return Some(Some(arguments.int()));
        }
        let mut number = None;
        while let Some((digit @ b'0'..=b'9', behind)) = rest.split_first() {
            let so_far = number.unwrap_or(0i32).checked_mul(10)?;
            number = Some(so_far.checked_add(i32::from(digit.wrapping_sub(b'0')))?);
            *rest = behind;
        }
        Some(number)
    }

    fn signed(&self, arguments: &mut impl Arguments) -> i64 {
        match self.size {
            Size::Char => i64::from(arguments.int() as i8),
            Size::Short => i64::from(arguments.int() as i16),
            Size::Int => i64::from(arguments.int()),
            Size::Long => arguments.long(),
        }
    }

    fn unsigned(&self, arguments: &mut impl Arguments) -> u64 {
        match self.size {
            Size::Char => u64::from(arguments.int() as u8),
            Size::Short => u64::from(arguments.int() as u16),
            Size::Int => u64::from(arguments.int() as u32),
            Size::Long => arguments.long() as u64,
        }
    }

    /// Writes a text in its columns.
    fn padded(&self, text: &[u8], line: &mut Line<'_>) -> Result<(), Refused> {
        let blanks = self.width.saturating_sub(text.len());
        if blanks == 0 {
            return line.bytes(text);
        }
        if !self.left {
            line.fill(b' ', blanks)?;
        }
        line.bytes(text)?;
        match self.left {
            true => line.fill(b' ', blanks),
            false => Ok(()),
        }
    }

    /// Writes a number; `is_negative` for a signed one.
    fn number(
        &self,
        value: u64,
        is_negative: Option<bool>,
        base: u64,
        upper: bool,
        line: &mut Line<'_>,
    ) -> Result<(), Refused> {
        let mut all = [0; MOST_DIGITS];
        let digits = match base {
            10 => decimal(value, &mut all),
            _ => binary(value, if base == 16 { 4 } else { 3 }, upper, &mut all),
        };
        self.in_columns(digits, is_negative, base, upper, value == 0, line)
    }

    /// Writes a number with all that belongs to it. As in C, zeros before it and a precision do not
    /// exclude each other, and zero has a prefix, too, if it is hexadecimal.
    fn in_columns(
        &self,
        digits: &[u8],
        is_negative: Option<bool>,
        base: u64,
        upper: bool,
        is_zero: bool,
        line: &mut Line<'_>,
    ) -> Result<(), Refused> {
        let sign: &[u8] = match is_negative {
            Some(true) => b"-",
            Some(false) if self.plus => b"+",
            Some(false) if self.blank => b" ",
            _ => b"",
        };
        let prefix: &[u8] = match base {
            16 if self.alternate && upper => b"0X",
            16 if self.alternate => b"0x",
            8 if self.alternate && !is_zero => b"0",
            _ => b"",
        };
        let zeros = self.precision.unwrap_or(0).saturating_sub(digits.len());
        let before = sign.len().wrapping_add(prefix.len());
        let length = before.wrapping_add(zeros).wrapping_add(digits.len());
        let pad = self.width.saturating_sub(length);
        let (blanks, more_zeros, behind) = match (self.left, self.zeros) {
            (true, _) => (0, 0, pad),
            (false, true) => (0, pad, 0),
            (false, false) => (pad, 0, 0),
        };
        line.fill(b' ', blanks)?;
        line.bytes(sign)?;
        line.bytes(prefix)?;
        line.fill(b'0', more_zeros.saturating_add(zeros))?;
        line.bytes(digits)?;
        line.fill(b' ', behind)
    }
}

/// The digits of `value`, at the end of `all`.
fn decimal(value: u64, all: &mut [u8; MOST_DIGITS]) -> &[u8] {
    let count = digits(value);
    let start = MOST_DIGITS.saturating_sub(count);
    let place = all.get_mut(start..).unwrap_or_default();
    put_digits(place, value);
    place
}

/// The same with `bits` bits for each digit.
fn binary(value: u64, bits: u32, upper: bool, all: &mut [u8; MOST_DIGITS]) -> &[u8] {
    let letters: &[u8; 16] = match upper {
        true => b"0123456789ABCDEF",
        false => b"0123456789abcdef",
    };
    let mut rest = value;
    let mut start = all.len();
    for place in all.iter_mut().rev() {
        let digit = rest & !(!0 << bits);
        *place = letters.get(digit as usize).copied().unwrap_or(b'0');
        start = start.saturating_sub(1);
        rest >>= bits;
        if rest == 0 {
            break;
        }
    }
    all.get(start..).unwrap_or(&[])
}

/// All hexadecimal digits of `value`.
pub fn hexadecimal(value: u64) -> [u8; 16] {
    let half = |value: u32| {
        // Each four bits become a byte, in their order.
        let mut bytes = u64::from(value);
        for (by, kept) in [
            (16, 0x0000_ffff_0000_ffff),
            (8, 0x00ff_00ff_00ff_00ff),
            (4, 0x0f0f_0f0f_0f0f_0f0f),
        ] {
            bytes = (bytes << by | bytes) & kept;
        }
        // 1 in each byte that is shown as a letter: those above 9.
        let letters = bytes.wrapping_add(EACH.wrapping_mul(6)) >> 4 & EACH;
        let above = letters.wrapping_mul(u64::from(b'a'.wrapping_sub(b'9').wrapping_sub(1)));
        let digits = bytes.wrapping_add(EACH.wrapping_mul(u64::from(b'0')));
        u128::from(digits.wrapping_add(above))
    };
    (half((value >> 32) as u32) << 64 | half(value as u32)).to_be_bytes()
}

/// Writes `name+0xOFFSET/0xSIZE`, as `%pS` does.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_place(name: &[u8], offset: usize, size: usize, out: &mut dyn Out) -> fmt::Result {
    let mut all = [0; MOST_DIGITS];
    out.bytes(name)?;
    out.bytes(b"+0x")?;
    out.bytes(binary(offset as u64, 4, false, &mut all))?;
    out.bytes(b"/0x")?;
    out.bytes(binary(size as u64, 4, false, &mut all))
}
