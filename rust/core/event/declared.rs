// SPDX-License-Identifier: GPL-2.0

//! Events that Rust code declares: what their fields are, how an entry is laid out and filled, and
//! how it is shown.
//!
//! An entry has the common fields, then the declared ones, then the values of those that have a word
//! with offset and length instead. The text of an entry is a row of [`Piece`]s. The `print fmt` and the
//! line in `trace` are both made of it, so they say the same.

use crate::core::format::entry::Common;
use crate::core::format::{copy_short, values, Out};
use core::fmt;

/// Bytes of an entry at most. Values that would make it longer are cut.
pub const ENTRY_MAX: usize = 4000;
/// Fields of variable length at most.
pub const DYNAMIC_MAX: usize = 16;
/// Bytes of a name at most.
const NAME_MAX: usize = 63;

/// What a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// So many numbers.
    Array(u16),
    /// Any number of numbers, behind the fields.
    Numbers,
    /// A text, behind the fields.
    Text,
}

impl Kind {
    /// Whether its value is behind the fields.
    pub const fn is_dynamic(self) -> bool {
        matches!(self, Self::Numbers | Self::Text)
    }
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// C's type of one number.
    pub ty: &'a [u8],
    /// What it has.
    pub kind: Kind,
    /// The offset in an entry, in bytes.
    pub offset: usize,
    /// Bytes of one number.
    pub size: usize,
    /// Whether its numbers are signed.
    pub signed: bool,
}

impl Field<'_> {
    /// Bytes at its offset.
    pub fn room(&self) -> usize {
        match self.kind {
            Kind::Number | Kind::Bool => self.size,
            Kind::Array(count) => self.size.saturating_mul(count.into()),
            Kind::Numbers | Kind::Text => size_of::<u32>(),
        }
    }

    /// Whether it is one that an entry of `size` bytes can have.
    pub fn is_good(&self, size: usize) -> bool {
        let aligned_to = match self.kind.is_dynamic() {
            true => size_of::<u32>(),
            false => self.size,
        };
        let is_whole =
            matches!(self.size, 1 | 2 | 4 | 8) && self.offset.checked_rem(aligned_to) == Some(0);
        let is_inside = self.offset >= Common::SIZE
            && self
                .offset
                .checked_add(self.room())
                .is_some_and(|end| end <= size);
        is_name(self.name)
            && !self.name.starts_with(b"common_")
            && is_whole
            && is_inside
            && self.kind != Kind::Array(0)
    }

    /// Writes its type as `format` has it.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write_type(&self, out: &mut dyn Out) -> fmt::Result {
        match self.kind {
            Kind::Number | Kind::Bool => out.bytes(self.ty),
            Kind::Array(count) => {
                out.bytes(self.ty)?;
                write!(out, "[{count}]")
            }
            Kind::Numbers => {
                out.bytes(b"__data_loc ")?;
                out.bytes(self.ty)?;
                out.bytes(b"[]")
            }
            Kind::Text => out.bytes(b"__data_loc char[]"),
        }
    }

    /// C's words between `%` and the letter for a number of its type.
    fn length(&self) -> &'static [u8] {
        match (self.size, self.ty) {
            (_, b"unsigned long" | b"long") => b"l",
            (8, _) => b"ll",
            _ => b"",
        }
    }

    /// Its number in `entry`, with the sign in all higher bits; 0 outside of it.
    #[inline]
    fn number(&self, entry: &[u8]) -> u64 {
        fn at<const N: usize>(entry: &[u8], offset: usize) -> [u8; N] {
            let bytes = entry.get(offset..).and_then(|rest| rest.first_chunk());
            *bytes.unwrap_or(&[0; N])
        }
        let offset = self.offset;
        match (self.size, self.signed) {
            (1, false) => u8::from_ne_bytes(at(entry, offset)).into(),
            (1, true) => i8::from_ne_bytes(at(entry, offset)) as u64,
            (2, false) => u16::from_ne_bytes(at(entry, offset)).into(),
            (2, true) => i16::from_ne_bytes(at(entry, offset)) as u64,
            (4, false) => u32::from_ne_bytes(at(entry, offset)).into(),
            (4, true) => i32::from_ne_bytes(at(entry, offset)) as u64,
            _ => u64::from_ne_bytes(at(entry, offset)),
        }
    }

    /// Its bytes in `entry`; for one behind the fields those that its word says. None outside of it.
    fn bytes<'a>(&self, entry: &'a [u8]) -> &'a [u8] {
        let (start, length) = match self.kind.is_dynamic() {
            false => (self.offset, self.room()),
            true => {
                let word = entry.get(self.offset..).and_then(|rest| rest.first_chunk());
                let word = u32::from_ne_bytes(*word.unwrap_or(&[0; 4]));
                ((word & 0xffff) as usize, (word >> 16) as usize)
            }
        };
        let end = start.saturating_add(length);
        entry.get(start..end).unwrap_or(&[])
    }
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// `%d` or `%u`.
    Decimal,
    /// `%x`.
    Hex,
    /// `%X`.
    UpperHex,
    /// `%o`.
    Octal,
}

/// How a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// For a number.
    pub base: Base,
    /// Columns at least.
    pub width: u8,
    /// Whether a number is filled up with zeros.
    pub zeros: bool,
}

impl Form {
    /// Whether a field of this kind can be shown so.
    fn is_for(&self, field: &Field<'_>) -> bool {
        let plain = self.base == Base::Decimal && !self.zeros;
        match field.kind {
            Kind::Number => self.base == Base::Decimal || !field.signed,
            Kind::Text => plain,
            Kind::Bool | Kind::Array(_) | Kind::Numbers => plain && self.width == 0,
        }
    }

    fn write_conversion(&self, field: &Field<'_>, out: &mut dyn Out) -> fmt::Result {
        out.bytes(b"%")?;
        if self.zeros {
            out.bytes(b"0")?;
        }
        if field.kind == Kind::Text && self.width != 0 {
            out.bytes(b"-")?;
        }
        if self.width != 0 {
            write!(out, "{}", self.width)?;
        }
        if field.kind != Kind::Number {
            return out.bytes(b"s");
        }
        out.bytes(field.length())?;
        out.bytes(match (self.base, field.signed) {
            (Base::Decimal, true) => b"d",
            (Base::Decimal, false) => b"u",
            (Base::Hex, _) => b"x",
            (Base::UpperHex, _) => b"X",
            (Base::Octal, _) => b"o",
        })
    }

    fn write_number(&self, field: &Field<'_>, entry: &[u8], out: &mut dyn Out) -> fmt::Result {
        let (number, width) = (field.number(entry), usize::from(self.width));
        match (self.base, self.zeros) {
            (Base::Decimal, true) if field.signed => write!(out, "{:0width$}", number as i64),
            (Base::Decimal, false) if field.signed => write!(out, "{:width$}", number as i64),
            (Base::Decimal, true) => write!(out, "{number:0width$}"),
            (Base::Decimal, false) => write!(out, "{number:width$}"),
            (Base::Hex, true) => write!(out, "{number:0width$x}"),
            (Base::Hex, false) => write!(out, "{number:width$x}"),
            (Base::UpperHex, true) => write!(out, "{number:0width$X}"),
            (Base::UpperHex, false) => write!(out, "{number:width$X}"),
            (Base::Octal, true) => write!(out, "{number:0width$o}"),
            (Base::Octal, false) => write!(out, "{number:width$o}"),
        }
    }
}

/// A part of an entry's text: words, and the value of a field behind them.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The words.
    pub text: &'a [u8],
    /// The number of the field, and how it is shown.
    pub value: Option<(usize, Form)>,
}

/// A description of an event.
#[derive(Clone, Copy)]
pub struct Description<F, P> {
    /// Its fields.
    pub fields: F,
    /// Its text.
    pub pieces: P,
}

impl<'a, F, P> Description<F, P>
where
    F: Iterator<Item = Field<'a>> + Clone,
    P: Iterator<Item = Piece<'a>> + Clone,
{
    /// Whether an event whose entries have `size` bytes, without what is behind the fields, can have
    /// these fields and this text.
    pub fn is_good(&self, size: usize) -> bool {
        let is_shown = |piece: Piece<'_>| {
            let is_value = piece.value.is_none_or(|(at, form)| {
                let field = self.fields.clone().nth(at);
                field.is_some_and(|field| form.is_for(&field))
            });
            is_value && !piece.text.iter().any(u8::is_ascii_control)
        };
        let dynamic = self.fields.clone().filter(|field| field.kind.is_dynamic());
        self.fields.clone().all(|field| field.is_good(size))
            && self.pieces.clone().all(is_shown)
            && dynamic.count() <= DYNAMIC_MAX
    }

    /// Writes the `print fmt`.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write_print_fmt(&self, out: &mut dyn Out) -> fmt::Result {
        let value = |piece: &Piece<'_>| {
            let (at, form) = piece.value?;
            Some((self.fields.clone().nth(at)?, form))
        };
        out.bytes(b"\"")?;
        for piece in self.pieces.clone() {
            for byte in piece.text {
                out.bytes(match byte {
                    b'%' => b"%%",
                    b'"' => b"\\\"",
                    b'\\' => b"\\\\",
                    byte => core::slice::from_ref(byte),
                })?;
            }
            if let Some((field, form)) = value(&piece) {
                form.write_conversion(&field, out)?;
            }
        }
        out.bytes(b"\"")?;
        for piece in self.pieces.clone() {
            if let Some((field, _)) = value(&piece) {
                write_argument(&field, out)?;
            }
        }
        Ok(())
    }

    /// Writes the text of `entry`.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write_line(&self, entry: &[u8], out: &mut dyn Out) -> fmt::Result {
        for piece in self.pieces.clone() {
            out.bytes(piece.text)?;
            let Some((at, form)) = piece.value else {
                continue;
            };
            let Some(field) = self.fields.clone().nth(at) else {
                continue;
            };
            match field.kind {
                Kind::Number => form.write_number(&field, entry, out)?,
                Kind::Bool if field.number(entry) != 0 => out.bytes(b"true")?,
                Kind::Bool => out.bytes(b"false")?,
                Kind::Array(_) | Kind::Numbers => {
                    values::write_array(out, field.bytes(entry), field.size)?;
                }
                Kind::Text => {
                    let bytes = field.bytes(entry);
                    let end = bytes.iter().position(|&byte| byte == 0);
                    let text = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(bytes);
                    out.bytes(text)?;
                    let missing = usize::from(form.width).saturating_sub(text.len());
                    (0..missing).try_for_each(|_| out.bytes(b" "))?;
                }
            }
        }
        Ok(())
    }
}

/// Writes what the `print fmt` has for a value behind its text.
fn write_argument(field: &Field<'_>, out: &mut dyn Out) -> fmt::Result {
    let Field { name, size, .. } = *field;
    let around: (&[u8], &[u8]) = match field.kind {
        Kind::Number => (b", REC->", b""),
        Kind::Bool => (b", REC->", b" ? \"true\" : \"false\""),
        Kind::Text => (b", __get_str(", b")"),
        Kind::Array(_) => (b", __print_array(REC->", b", "),
        Kind::Numbers => (b", __print_array(__get_dynamic_array(", b"), "),
    };
    out.bytes(around.0)?;
    out.bytes(name)?;
    out.bytes(around.1)?;
    match field.kind {
        Kind::Array(count) => write!(out, "{count}, {size})"),
        Kind::Numbers => {
            out.bytes(b"__get_dynamic_array_len(")?;
            out.bytes(name)?;
            write!(out, ") / {size}, {size})")
        }
        Kind::Number | Kind::Bool | Kind::Text => Ok(()),
    }
}

/// Whether it can be the name of a system, an event or a field.
pub fn is_name(name: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    name.iter().all(is_word)
        && name.len() <= NAME_MAX
        && name.first().is_some_and(|byte| !byte.is_ascii_digit())
}

/// A field whose value is behind the fields.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    /// The offset of its word in an entry.
    offset: usize,
    /// Bytes of one number; 0 for a text.
    size: usize,
}

impl Dynamic {
    /// That of `field`, if it is one.
    pub fn of(field: &Field<'_>) -> Option<Self> {
        let size = match field.kind {
            Kind::Numbers => field.size,
            Kind::Text => 0,
            Kind::Number | Kind::Bool | Kind::Array(_) => return None,
        };
        Some(Self {
            offset: field.offset,
            size,
        })
    }

    /// Where its value begins behind an entry of `end` bytes.
    #[inline(always)]
    fn start(&self, end: usize) -> usize {
        let size = self.size.max(1);
        // A power of two.
        end.wrapping_add(size).wrapping_sub(1) & !size.wrapping_sub(1)
    }

    /// How many of the bytes of `value` are recorded where there is room for `room`; for a text
    /// without the NUL behind them.
    #[inline(always)]
    fn kept(&self, value: &[u8], room: usize) -> usize {
        if self.size != 0 {
            return value.len().min(room) & !self.size.wrapping_sub(1);
        }
        let value = value
            .get(..value.len().min(room.saturating_sub(1)))
            .unwrap_or(&[]);
        text_length(value)
    }
}

/// Where the first NUL of `text` is, or its end: by words, as this is part of each hit.
#[inline(always)]
fn text_length(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    let mut length = 0_usize;
    while let Some(word) = text.get(length..).and_then(|rest| rest.first_chunk()) {
        let word = u64::from_ne_bytes(*word);
        // Has a byte borrowed that had no high bit: is it 0, or behind one that is?
        if word.wrapping_sub(ONES) & !word & (ONES << 7) != 0 {
            break;
        }
        length = length.wrapping_add(8);
    }
    while text.get(length).is_some_and(|byte| *byte != 0) {
        length = length.wrapping_add(1);
    }
    length
}

/// How long the values of one hit are that are behind the fields.
pub struct Lengths {
    kept: [u16; DYNAMIC_MAX],
    /// Bytes of the entry.
    pub entry: usize,
}

impl Lengths {
    /// Those of an entry of `fixed` bytes, common fields included, without `values`. Any context.
    #[inline(always)]
    pub fn of<'a>(
        fixed: usize,
        dynamic: &[Dynamic],
        values: impl Iterator<Item = &'a [u8]>,
    ) -> Self {
        let mut lengths = Self {
            kept: [0; DYNAMIC_MAX],
            entry: fixed,
        };
        for ((field, value), kept) in dynamic.iter().zip(values).zip(&mut lengths.kept) {
            let start = field.start(lengths.entry);
            // Values that follow are empty at least: a NUL, or up to seven bytes before a number.
            let room = (ENTRY_MAX - DYNAMIC_MAX * 8).saturating_sub(start);
            let length = field.kept(value, room);
            *kept = length as u16;
            let end = start.wrapping_add(length);
            lengths.entry = end.wrapping_add(usize::from(field.size == 0));
        }
        lengths
    }

    /// Fills an entry, from behind its common fields on: `fixed` has its fields, `values` what is
    /// behind them. Any context.
    #[inline(always)]
    pub fn fill<'a>(
        &self,
        to: &mut [u8],
        fixed: &[u8],
        dynamic: &[Dynamic],
        values: impl Iterator<Item = &'a [u8]>,
    ) {
        let Some((fields, _)) = to.split_at_mut_checked(fixed.len()) else {
            return;
        };
        copy_short(fields, fixed);
        let mut end = fixed.len().wrapping_add(Common::SIZE);
        for ((field, value), kept) in dynamic.iter().zip(values).zip(self.kept) {
            let (start, length) = (field.start(end), usize::from(kept));
            let past = start.wrapping_add(length);
            let text_end = usize::from(field.size == 0);
            zero_gap(to, end, start);
            let place = to.get_mut(start.wrapping_sub(Common::SIZE)..);
            let place = place.and_then(|place| place.get_mut(..length));
            if let Some((place, value)) = place.zip(value.get(..length)) {
                copy_short(place, value);
            }
            if let Some(place) = to.get_mut(past.wrapping_sub(Common::SIZE)) {
                if field.size == 0 {
                    *place = 0;
                }
            }
            end = past.wrapping_add(text_end);
            let length = length.wrapping_add(text_end);
            let word = (length as u32) << 16 | start as u32 & 0xffff;
            let place = to.get_mut(field.offset.wrapping_sub(Common::SIZE)..);
            if let Some(place) = place.and_then(|place| place.first_chunk_mut()) {
                *place = word.to_ne_bytes();
            }
        }
    }
}

/// Zeroes the bytes of an entry from `from` to `to`, where a number begins: fewer than eight, and as many
/// as a word where there is room, as what is behind them is written later. `entry` has the bytes behind
/// the common fields.
#[inline(always)]
fn zero_gap(entry: &mut [u8], from: usize, to: usize) {
    if from == to {
        return;
    }
    let place = entry.get_mut(from.wrapping_sub(Common::SIZE)..);
    let place = place.unwrap_or(&mut []);
    match place.first_chunk_mut() {
        Some(word) => *word = [0; 8],
        None => place.fill(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::format::LineBuf;
    use std::prelude::rust_2021::*;
    use std::vec;

    fn text(write: impl FnOnce(&mut dyn Out) -> fmt::Result) -> String {
        let mut memory = [0; 9000];
        let mut buf = LineBuf::new(&mut memory);
        write(&mut buf).unwrap();
        String::from_utf8_lossy(buf.as_bytes()).into_owned()
    }

    const fn field(
        name: &'static str,
        ty: &'static str,
        kind: Kind,
        offset: usize,
        size: usize,
    ) -> Field<'static> {
        Field {
            name: name.as_bytes(),
            ty: ty.as_bytes(),
            kind,
            offset,
            size,
            signed: matches!(ty.as_bytes(), [b's' | b'l', ..]),
        }
    }

    const FIELDS: [Field<'static>; 8] = [
        field("ino", "u64", Kind::Number, 8, 8),
        field("delta", "s16", Kind::Number, 16, 2),
        field("is_new", "bool", Kind::Bool, 18, 1),
        field("address", "unsigned long", Kind::Number, 24, 8),
        field("path", "char", Kind::Text, 32, 1),
        field("words", "u64", Kind::Numbers, 36, 8),
        field("bytes", "u8", Kind::Array(3), 40, 1),
        field("name", "char", Kind::Text, 44, 1),
    ];
    const FIXED: usize = 48;

    const fn form(base: Base, width: u8, zeros: bool) -> Form {
        Form { base, width, zeros }
    }

    const PLAIN: Form = form(Base::Decimal, 0, false);

    fn description<'a>(
        pieces: &'a [Piece<'a>],
    ) -> Description<impl Iterator<Item = Field<'a>> + Clone, impl Iterator<Item = Piece<'a>> + Clone>
    {
        Description {
            fields: FIELDS.iter().copied(),
            pieces: pieces.iter().copied(),
        }
    }

    fn piece(text: &str, field: usize, form: Form) -> Piece<'_> {
        Piece {
            text: text.as_bytes(),
            value: Some((field, form)),
        }
    }

    fn entry(fixed: &[u8], values: &[&[u8]]) -> Vec<u8> {
        let dynamic: Vec<_> = FIELDS.iter().filter_map(Dynamic::of).collect();
        let lengths = Lengths::of(FIXED, &dynamic, values.iter().copied());
        // What is not written is seen.
        let mut entry = vec![0xaa; lengths.entry];
        let (_, to) = entry.split_at_mut(Common::SIZE);
        lengths.fill(to, fixed, &dynamic, values.iter().copied());
        entry
    }

    fn fixed() -> Vec<u8> {
        let mut fixed = Vec::new();
        fixed.extend(7_u64.to_ne_bytes());
        fixed.extend((-5_i16).to_ne_bytes());
        fixed.extend([1, 0, 0, 0, 0, 0]);
        fixed.extend(0xff00_u64.to_ne_bytes());
        fixed.extend([0; 8]);
        fixed.extend([1, 2, 255, 0]);
        fixed.extend([0; 4]);
        fixed
    }

    #[test]
    fn print_fmt_and_line_say_the_same() {
        let pieces = [
            piece("100% \"\\ ", 0, PLAIN),
            piece(" ", 1, form(Base::Decimal, 5, true)),
            piece(" ", 2, PLAIN),
            piece(" 0x", 3, form(Base::Hex, 8, true)),
            piece(" [", 4, form(Base::Decimal, 6, false)),
            piece("] ", 5, PLAIN),
            piece(" ", 6, PLAIN),
            piece(" ", 7, PLAIN),
            Piece {
                text: b".",
                value: None,
            },
        ];
        let description = description(&pieces);
        assert!(description.is_good(FIXED));
        assert_eq!(
            text(|out| description.write_print_fmt(out)),
            "\"100%% \\\"\\\\ %llu %05d %s 0x%08lx [%-6s] %s %s %s.\", REC->ino, REC->delta, \
             REC->is_new ? \"true\" : \"false\", REC->address, __get_str(path), \
             __print_array(__get_dynamic_array(words), __get_dynamic_array_len(words) / 8, 8), \
             __print_array(REC->bytes, 3, 1), __get_str(name)"
        );
        let words: Vec<u8> = [3_u64, 4].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let entry = entry(&fixed(), &[b"/a\0b", &words, b"last"]);
        assert_eq!(
            text(|out| description.write_line(&entry, out)),
            "100% \"\\ 7 -0005 true 0x0000ff00 [/a    ] {0x3,0x4} {0x1,0x2,0xff} last."
        );
        // Nothing is left of what was in the memory.
        assert!(!entry.get(Common::SIZE..).unwrap().contains(&0xaa));
        // An entry that ends too early has no text outside of it.
        for end in 0..entry.len() {
            text(|out| description.write_line(entry.get(..end).unwrap(), out));
        }
    }

    #[test]
    fn values_are_cut() {
        let long = [b'x'; 10_000];
        let entry_of = |values: &[&[u8]]| entry(&fixed(), values);
        for values in [
            [&long[..], &long, &long],
            [b"", &long, &long],
            [&long, b"", b""],
            [&long[..3955], &long[..3], &long[..9]],
        ] {
            let entry = entry_of(&values);
            assert!(entry.len() <= ENTRY_MAX, "{}", entry.len());
            let [path, words, name] = [&FIELDS[4], &FIELDS[5], &FIELDS[7]];
            for text in [path.bytes(&entry), name.bytes(&entry)] {
                assert_eq!(text.last(), Some(&0));
            }
            assert_eq!(words.bytes(&entry).len() % 8, 0);
            assert!(!entry.get(Common::SIZE..).unwrap().contains(&0xaa));
        }
        assert_eq!(entry_of(&[b"", b"", b""]).len(), FIXED + 1 + 7 + 1);
        assert_eq!(
            entry_of(&[&long[..100], b"", b""]).len(),
            FIXED + 101 + 3 + 1
        );
    }

    #[test]
    fn texts_end_at_their_first_nul() {
        for length in 0..40 {
            let mut text = vec![0xff; length];
            assert_eq!(text_length(&text), length);
            for nul in (0..length).rev() {
                text[nul] = 0;
                assert_eq!(text_length(&text), nul);
                // What a borrow comes from, and what has the high bit.
                if let Some(next) = text.get_mut(nul + 1) {
                    *next = [1, 0x80, 0x81][nul % 3];
                    assert_eq!(text_length(&text), nul);
                }
            }
        }
    }

    #[test]
    fn what_is_no_event_is_refused() {
        let shown = |field, form| description(&[piece("", field, form)]).is_good(FIXED);
        assert!(shown(0, form(Base::Hex, 255, true)));
        assert!(!shown(1, form(Base::Hex, 0, false)));
        assert!(!shown(2, form(Base::Decimal, 3, false)));
        assert!(!shown(4, form(Base::Decimal, 3, true)));
        assert!(!shown(5, form(Base::Octal, 0, false)));
        assert!(!shown(8, PLAIN));
        assert!(!description(&[piece("\n", 0, PLAIN)]).is_good(FIXED));
        assert!(!description(&[]).is_good(FIXED - 1));
        let good = |field: Field<'_>| field.is_good(FIXED);
        assert!(!good(field("common_pid", "u32", Kind::Number, 8, 4)));
        assert!(!good(field("r#type", "u32", Kind::Number, 8, 4)));
        assert!(!good(field("", "u32", Kind::Number, 8, 4)));
        assert!(!good(field("a", "u32", Kind::Number, 4, 4)));
        assert!(!good(field("a", "u32", Kind::Number, 10, 4)));
        assert!(!good(field("a", "u32", Kind::Number, 8, 3)));
        assert!(!good(field("a", "u32", Kind::Array(0), 8, 4)));
        assert!(!good(field("a", "u32", Kind::Array(65535), 8, 4)));
        assert!(!good(field("a", "char", Kind::Text, 10, 1)));
        assert!(good(field("a", "u32", Kind::Array(10), 8, 4)));
        assert!(is_name(b"_a1") && !is_name(b"1a") && !is_name(b"a-b") && !is_name(&[b'a'; 64]));
        let many = [FIELDS[4]; DYNAMIC_MAX + 1];
        let of = |fields: &[Field<'static>]| {
            let fields = fields.to_vec();
            Description {
                fields: fields.into_iter(),
                pieces: core::iter::empty(),
            }
            .is_good(FIXED)
        };
        assert!(!of(&many) && of(&many[1..]));
    }
}
