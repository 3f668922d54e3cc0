// SPDX-License-Identifier: GPL-2.0

//! Output: [`Out`], and [`LineBuf`], the memory in which one line is built.

use core::cell::Cell;
use core::fmt;

/// A text sink that also takes raw bytes.
///
/// Marker texts and task names may contain any byte, and the `bin` form is not text, so
/// [`fmt::Write`] alone is not enough. An error means that the sink is full; formatting stops then.
pub trait Out: fmt::Write {
    /// Appends `bytes` unchanged.
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result;

    /// Appends bytes that `write` writes to given memory. It may use all of the memory except one
    /// byte. It returns the total number of bytes. If they did not fit, it may be called again with
    /// more memory.
    fn written(&mut self, write: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result;
}

impl dyn Out + '_ {
    /// Appends `count` copies of `byte`.
    pub(super) fn fill(&mut self, byte: u8, count: usize) -> fmt::Result {
        let some = [byte; 32];
        let mut left = count;
        while left > 0 {
            let now = left.min(some.len());
            self.bytes(some.get(..now).unwrap_or(&some))?;
            left = left.wrapping_sub(now);
        }
        Ok(())
    }

    /// Appends `text` right-aligned in `width` columns, counting bytes as C's `%*s` does.
    pub(crate) fn right(&mut self, text: &[u8], width: usize) -> fmt::Result {
        self.fill(b' ', width.saturating_sub(text.len()))?;
        self.bytes(text)
    }
}

/// Copies `from` to `to`, which is as long. A short text is copied in line: to call `memcpy()` costs
/// more than that.
#[inline(always)]
pub fn copy_short(to: &mut [u8], from: &[u8]) {
    let len = from.len();
    // Most names and entries have 8 to 32 bytes.
    if len >= 16 {
        match len {
            ..=32 => copy_ends::<16>(to, from),
            33..=64 => copy_ends::<32>(to, from),
            _ => to.copy_from_slice(from),
        }
    } else if len >= 8 {
        copy_ends::<8>(to, from);
    } else if len >= 4 {
        copy_ends::<4>(to, from);
    } else if len >= 2 {
        copy_ends::<2>(to, from);
    } else if len == 1 {
        copy_ends::<1>(to, from);
    }
}

/// Copies the first and the last `N` bytes, which may overlap.
#[inline(always)]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(place), Some(first)) = (to.first_chunk_mut::<N>(), from.first_chunk()) {
        *place = *first;
    }
    if let (Some(place), Some(last)) = (to.last_chunk_mut::<N>(), from.last_chunk()) {
        *place = *last;
    }
}

/// 1 in each byte.
pub(super) const EACH: u64 = u64::MAX / 0xff;

/// The highest bit of each byte of `word`, the first byte being the lowest, that is `byte`; behind the
/// first of them others may be set, too.
#[inline(always)]
pub(super) fn marks_of(word: [u8; 8], byte: u8) -> u64 {
    // A byte that is zero borrows of its highest bit; those before it cannot.
    let word = u64::from_le_bytes(word) ^ EACH.wrapping_mul(byte as u64);
    word.wrapping_sub(EACH) & !word & (EACH << 7)
}

/// The digits of the largest number.
const MOST_DIGITS: usize = u64::MAX.ilog10() as usize + 1;

/// `00` to `99`.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut i = 0;
    while i < pairs.len() {
        pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    pairs
};

/// How many decimal digits `value` has.
#[inline]
pub(super) fn digits(value: u64) -> usize {
    match value {
        0..=9 => 1,
        10..=99 => 2,
        100..=999 => 3,
        1_000..=9_999 => 4,
        10_000..=99_999 => 5,
        100_000..=999_999 => 6,
        _ => value.ilog10().wrapping_add(1) as usize,
    }
}

/// Fills `place` with the last digits of `value`, two at a time.
#[inline]
pub(super) fn put_digits(place: &mut [u8], value: u64) {
    match u32::try_from(value) {
        // Shorter to divide.
        Ok(small) => put_pairs(place, small, |rest| (rest / 100, rest % 100)),
        Err(_) => put_pairs(place, value, |rest| (rest / 100, (rest % 100) as u32)),
    }
}

/// Fills `place` with the digits that `split` takes off `rest`, two at a time from the right.
#[inline]
fn put_pairs<T: Copy>(place: &mut [u8], mut rest: T, split: impl Fn(T) -> (T, u32)) {
    let mut pairs = place.rchunks_exact_mut(2);
    for pair in &mut pairs {
        let (left, two) = split(rest);
        rest = left;
        if let (Some(&digits), [first, second]) = (PAIRS.get(two as usize), pair) {
            [*first, *second] = digits;
        }
    }
    if let [first] = pairs.into_remainder() {
        let (_, two) = split(rest);
        *first = b'0'.wrapping_add((two % 10) as u8);
    }
}

/// A short text that is built before it goes to an [`Out`] as a whole. [`fmt`] is too slow for text
/// that is in every line. Bytes after the first `N` are cut.
///
/// # Invariants
///
/// Behind the text are blanks. `len` is at most `N`.
pub(super) struct Piece<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Piece<N> {
    /// An empty text.
    #[inline]
    pub(super) fn new() -> Self {
        Self {
            bytes: [b' '; N],
            len: 0,
        }
    }

    /// The text so far.
    #[inline]
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    /// Its length.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends one byte.
    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len = self.len.wrapping_add(1);
        }
    }

    /// Appends `text`. One whose length is known to the compiler is a store or two.
    #[inline(always)]
    pub(super) fn text(&mut self, text: &[u8]) {
        match self.next(text.len()) {
            Some(place) => copy_short(place, text),
            None => self.cut(text),
        }
    }

    /// Appends as much of `text` as there is room for.
    #[cold]
    #[inline(never)]
    fn cut(&mut self, text: &[u8]) {
        let text = text.get(..N.wrapping_sub(self.len)).unwrap_or(text);
        if let Some(place) = self.next(text.len()) {
            place.copy_from_slice(text);
        }
    }

    /// Appends `count` blanks, which are there already.
    #[inline]
    pub(super) fn blanks(&mut self, count: usize) {
        self.len = self.len.saturating_add(count).min(N);
    }

    /// The next `count` bytes, which are text from now on; none if there are not so many.
    #[inline]
    fn next(&mut self, count: usize) -> Option<&mut [u8]> {
        let end = self.len.checked_add(count)?;
        let place = self.bytes.get_mut(self.len..end)?;
        self.len = end;
        Some(place)
    }

    /// Appends `value` in decimal digits, right-aligned in `width` columns and padded with `pad`.
    pub(super) fn decimal(&mut self, value: u64, width: usize, pad: u8) {
        if value < 10 && width <= 1 {
            return self.byte(b'0'.wrapping_add(value as u8));
        }
        let mut count = digits(value);
        let before = width.saturating_sub(count);
        match pad {
            b' ' => self.blanks(before),
            // The digits come with them.
            b'0' if width <= MOST_DIGITS => count = count.max(width),
            pad => (0..before).for_each(|_| self.byte(pad)),
        }
        if let Some(place) = self.next(count) {
            put_digits(place, value);
            return;
        }
        let mut all = [0; MOST_DIGITS];
        if let Some(some) = all.get_mut(..count) {
            put_digits(some, value);
            self.text(some);
        }
    }

    /// Appends `value`, which has at most `W` decimal digits, as so many. As their number is known to
    /// the compiler, this is shorter than [`Piece::decimal`].
    #[inline]
    pub(super) fn digits<const W: usize>(&mut self, value: u32) {
        let mut digits = [0; W];
        put_pairs(&mut digits, value, |rest| (rest / 100, rest % 100));
        self.text(&digits);
    }

    /// Appends `value` in decimal digits, left-aligned in `width` columns.
    pub(super) fn decimal_left(&mut self, value: i64, width: usize) {
        let before = self.len;
        if value < 0 {
            self.byte(b'-');
        }
        self.decimal(value.unsigned_abs(), 0, b' ');
        self.blanks(width.saturating_sub(self.len.wrapping_sub(before)));
    }
}

/// An [`Out`] that writes to memory of the caller.
///
/// A piece that does not fit as a whole is dropped, and the sink is full then, as in the kernel's
/// `trace_seq`. Earlier pieces stay.
pub struct LineBuf<'a> {
    buf: &'a mut [u8],
    len: usize,
    full: bool,
}

impl<'a> LineBuf<'a> {
    /// Printed in place of the rest of a line that did not fit.
    pub const TOO_BIG: &'static [u8] = b"[LINE TOO BIG]\n";

    /// An empty line in `buf`.
    pub fn new(buf: &'a mut [u8]) -> Self {
        Self {
            buf,
            len: 0,
            full: false,
        }
    }

    /// The text so far.
    pub fn as_bytes(&self) -> &[u8] {
        self.buf.get(..self.len).unwrap_or(&[])
    }

    /// The number of bytes that still fit.
    pub fn room(&self) -> usize {
        self.buf.len().saturating_sub(self.len)
    }

    /// Ends a line that did not fit with [`TOO_BIG`](Self::TOO_BIG). Drops text to make room for
    /// it.
    pub fn close_too_big(&mut self) {
        self.len = self
            .len
            .min(self.buf.len().saturating_sub(Self::TOO_BIG.len()));
        self.full = false;
        // This fails only if the memory is smaller than the message; the line stays empty then.
        let _ = self.bytes(Self::TOO_BIG);
    }
}

impl fmt::Write for LineBuf<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes())
    }
}

impl Out for LineBuf<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let room = self
            .buf
            .get_mut(self.len..)
            .and_then(|rest| rest.get_mut(..bytes.len()));
        let Some(room) = room.filter(|_| !self.full) else {
            self.full = true;
            return Err(fmt::Error);
        };
        copy_short(room, bytes);
        self.len = self.len.wrapping_add(bytes.len());
        Ok(())
    }

    fn written(&mut self, write: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result {
        let room = self.buf.get_mut(self.len..).filter(|_| !self.full);
        let fits = room.and_then(|room| Some(write(room)).filter(|wrote| *wrote < room.len()));
        let Some(wrote) = fits else {
            self.full = true;
            return Err(fmt::Error);
        };
        self.len = self.len.wrapping_add(wrote);
        Ok(())
    }
}

/// Passes text on, except for one newline at its end.
pub(super) struct HeldNewline<'a> {
    out: &'a mut dyn Out,
    held: bool,
}

impl<'a> HeldNewline<'a> {
    pub(super) fn new(out: &'a mut dyn Out) -> Self {
        Self { out, held: false }
    }
}

impl fmt::Write for HeldNewline<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes())
    }
}

impl Out for HeldNewline<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let Some((&last, before)) = bytes.split_last() else {
            return Ok(());
        };
        if core::mem::take(&mut self.held) {
            self.out.bytes(b"\n")?;
        }
        if last == b'\n' {
            self.held = true;
            return self.out.bytes(before);
        }
        self.out.bytes(bytes)
    }

    fn written(&mut self, write: &dyn Fn(&mut [u8]) -> usize) -> fmt::Result {
        if core::mem::take(&mut self.held) {
            self.out.bytes(b"\n")?;
        }
        let held = Cell::new(false);
        self.out.written(&|room| {
            let len = write(room);
            let ends = room.get(..len).is_some_and(|text| text.ends_with(b"\n"));
            held.set(ends);
            len.saturating_sub(usize::from(ends))
        })?;
        self.held = held.get();
        Ok(())
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use core::fmt::Write;

    #[test]
    fn a_newline_at_the_end_is_held() {
        let long = |room: &mut [u8]| {
            let text: std::vec::Vec<u8> = std::iter::repeat_n(b'x', 2000).chain([b'\n']).collect();
            let len = text.len().min(room.len());
            room[..len].copy_from_slice(&text[..len]);
            text.len()
        };
        let mut memory = [0; 4096];
        let mut line = LineBuf::new(&mut memory);
        let mut held = HeldNewline::new(&mut line);
        held.written(&long).unwrap();
        held.bytes(b"y\n").unwrap();
        let text = line.as_bytes();
        assert_eq!((text.len(), &text[1999..]), (2002, b"x\ny".as_slice()));
    }

    #[test]
    fn numbers_in_a_piece() {
        let text = |write: fn(&mut Piece<64>)| {
            let mut piece = Piece::new();
            write(&mut piece);
            std::string::String::from_utf8(piece.as_bytes().to_vec()).unwrap()
        };
        assert_eq!(text(|piece| piece.decimal(0, 0, b' ')), "0");
        assert_eq!(text(|piece| piece.decimal(0, 3, b'0')), "000");
        assert_eq!(text(|piece| piece.decimal(42, 5, b' ')), "   42");
        assert_eq!(text(|piece| piece.decimal(1234, 3, b'0')), "1234");
        assert_eq!(
            text(|piece| piece.decimal(u64::MAX, 20, b' ')),
            "18446744073709551615"
        );
        assert_eq!(text(|piece| piece.decimal_left(-7, 5)), "-7   ");
        assert_eq!(text(|piece| piece.decimal_left(12345, 3)), "12345");
        assert_eq!(text(|piece| piece.digits::<3>(7)), "007");
        assert_eq!(text(|piece| piece.digits::<6>(123_456)), "123456");
        assert_eq!(text(|piece| piece.digits::<6>(1_002)), "001002");
        let mut short = Piece::<4>::new();
        short.text(b"abc");
        short.decimal(56, 0, b' ');
        assert_eq!(short.as_bytes(), b"abc5");
    }

    #[test]
    fn texts_of_every_length() {
        let text: std::vec::Vec<u8> = (1..=70).collect();
        for len in 0..=text.len() {
            let mut mem = [0; 72];
            copy_short(&mut mem[1..=len], &text[..len]);
            assert_eq!(mem[1..=len], text[..len]);
            assert_eq!((mem[0], mem[len + 1]), (0, 0), "{len}");
        }
    }

    #[test]
    fn filling_goes_beyond_the_blanks_at_hand() {
        let mut mem = [0; 100];
        let mut line = LineBuf::new(&mut mem);
        (&mut line as &mut dyn Out).fill(b'-', 70).unwrap();
        assert_eq!(line.as_bytes(), [b'-'; 70]);
    }

    #[test]
    fn a_piece_that_does_not_fit_is_dropped_whole() {
        let mut mem = [0; 8];
        let mut line = LineBuf::new(&mut mem);
        line.write_str("abcdef").unwrap();
        assert!(line.write_str("ghi").is_err());
        assert!(line.write_str("g").is_err(), "full stays full");
        assert_eq!(line.as_bytes(), b"abcdef");
    }

    #[test]
    fn text_written_in_place() {
        let mut mem = [b'.'; 8];
        let mut line = LineBuf::new(&mut mem);
        let mut write = |text: &'static [u8]| {
            line.written(&|room: &mut [u8]| {
                let fits = text.len().min(room.len());
                room[..fits].copy_from_slice(&text[..fits]);
                text.len()
            })
        };
        write(b"abc").unwrap();
        write(b"defg").unwrap();
        assert!(write(b"h").is_err(), "the last byte is for the end");
        assert_eq!(line.as_bytes(), b"abcdefg");
        assert!(line.written(&|_| 0).is_err(), "full stays full");
    }

    #[test]
    fn the_notice_always_shows() {
        let mut mem = [0; 20];
        let mut line = LineBuf::new(&mut mem);
        line.write_str("0123456789012345678").unwrap();
        assert!(line.write_str("xx").is_err());
        line.close_too_big();
        assert_eq!(line.as_bytes(), b"01234[LINE TOO BIG]\n");
    }
}
