// SPDX-License-Identifier: GPL-2.0

//! The packed words of the ring buffer, as types: write position, ring slot, event header.
//!
//! The field widths are limits of the design: 2^24 sub-buffers per CPU, sub-buffers of at most 1
//! MiB.

use crate::core::bits::fields;
use crate::core::sys::plus_words;

/// The place of the next event: the sub-buffer, the number of events on it, and its used bytes
/// (without the sub-buffer's header). It is one word, so that one instruction reserves room and
/// counts the event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Position(pub u64);

fields!(pub Position: u64 {
    /// The used bytes of the sub-buffer.
    used: 0, 20;
    /// The events on the sub-buffer.
    events: 20, 20;
    /// The sub-buffer's id: its index in the table of descriptors.
    id: 40, 24;
});

impl Position {
    /// The highest id plus one. The id of all ones is reserved for [`Position::NONE`].
    pub const MAX_SUB_BUFFERS: usize = (1 << 24) - 1;

    /// More bytes than any sub-buffer has.
    pub const MAX_USED: u64 = 1 << 20;

    /// No position. It differs from every real position.
    pub const NONE: Self = Self(u64::MAX);

    /// A position from its three parts. Each must fit into its field.
    #[inline(always)]
    pub const fn new(id: u64, events: u64, used: u64) -> Self {
        Self(id << 40 | events << 20 | used)
    }

    /// The position after one more event of `bytes`. The caller has checked that it fits into the
    /// sub-buffer.
    #[inline(always)]
    pub const fn plus_event(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(1 << 20).wrapping_add(bytes))
    }

    /// The position after `bytes` of padding.
    #[inline(always)]
    pub const fn plus_padding(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// The used bytes after `words` more words.
    #[inline(always)]
    pub fn used_after(self, words: u64) -> u64 {
        plus_words::<0>(self.used(), words)
    }

    /// As [`plus_event`](Self::plus_event), for an event with `words` words after its header.
    #[inline(always)]
    pub fn plus_small_event(self, words: u64) -> Self {
        Self(plus_words::<{ 1 << 20 | 4 }>(self.0, words))
    }

    /// The position before the last event of `bytes` was reserved.
    #[inline(always)]
    pub const fn minus_event(self, bytes: u64) -> Self {
        Self(self.0.wrapping_sub(1 << 20).wrapping_sub(bytes))
    }

    /// The same place with one event less, for an event that has become padding.
    #[inline(always)]
    pub const fn uncount_event(self) -> Self {
        Self(self.0.wrapping_sub(1 << 20))
    }

    /// Whether both positions are on the same sub-buffer.
    #[inline(always)]
    pub const fn same_sub_buffer(self, other: Self) -> bool {
        (self.0 ^ other.0) >> 40 == 0
    }
}

/// The content of a ring slot: a sub-buffer's id, and either the sequence number of its content or
/// the mark that it is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Tag(pub u64);

fields!(pub Tag: u64 {
    /// The id of the sub-buffer in the slot.
    id: 0, 24;
    /// 1 if a reader has put an empty sub-buffer here.
    free: 24, 1;
    /// The sequence number of the sub-buffer's content, modulo [`Sequence::MODULUS`].
    sequence: 25, 39;
});

impl Tag {
    /// A slot with sub-buffer `id`, whose content has number `sequence`.
    #[inline]
    pub const fn used(id: u64, sequence: Sequence) -> Self {
        Self(sequence.0 << 25 | id)
    }

    /// A slot with the empty sub-buffer `id`.
    #[inline]
    pub const fn empty(id: u64) -> Self {
        Self(1 << 24 | id)
    }

    /// Whether the slot holds the content with number `sequence`.
    #[inline]
    pub const fn holds(self, sequence: Sequence) -> bool {
        self.0 >> 24 == sequence.0 << 1
    }
}

/// The number of a sub-buffer's content. Each sub-buffer that the writer moves to gets the next
/// number. It wraps at 2^39, so numbers are only compared by distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Sequence(pub u64);

impl Sequence {
    /// Numbers are counted modulo this.
    pub const MODULUS: u64 = 1 << 39;

    /// The number `n` steps later.
    #[inline]
    pub const fn plus(self, n: u64) -> Self {
        Self(self.0.wrapping_add(n) & (Self::MODULUS - 1))
    }

    /// The number `n` steps earlier.
    #[inline]
    pub const fn minus(self, n: u64) -> Self {
        Self(self.0.wrapping_sub(n) & (Self::MODULUS - 1))
    }

    /// Whether `self` is before `other`, for two numbers less than half the modulus apart.
    #[inline]
    pub const fn before(self, other: Self) -> bool {
        let distance = other.minus(self.0).0;
        distance != 0 && distance < Self::MODULUS / 2
    }
}

/// The 32-bit header of every record on a sub-buffer. ABI: `include/linux/ring_buffer.h`,
/// `struct ring_buffer_event`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Header(pub u32);

fields!(pub Header: u32 {
    /// The type of the record, or the length of its payload in words.
    type_len: 0, 5;
    /// The time since the record before, in units of the clock.
    delta: 5, 27;
});

impl Header {
    /// The largest payload in bytes whose length fits into `type_len`.
    pub const MAX_SMALL: usize = 28 * 4;
    /// The `type_len` of padding and of discarded events.
    pub const PADDING: u32 = 29;
    /// The `type_len` of a time extend, a record that extends the time delta.
    pub const TIME_EXTEND: u32 = 30;
    /// The `type_len` of a record with an absolute time.
    pub const TIME_STAMP: u32 = 31;
    /// The number of bits of `delta`.
    pub const DELTA_BITS: u32 = 27;
    /// The number of time bits in a time extend or an absolute timestamp.
    pub const TIME_BITS: u32 = 59;
    /// The size in bytes of the smallest event.
    pub const SMALLEST: u64 = event_size(0);
    /// The size in bytes of a time extend or an absolute timestamp.
    pub const TIME_SIZE: u64 = 8;

    /// Whether this is an event whose length is in `type_len`: a number from 1 to 28.
    #[inline(always)]
    pub const fn is_small_event(self) -> bool {
        // The other values, negated, are 0 to 3 in their five bits.
        self.0.wrapping_neg() & 0x1c != 0
    }

    /// A header. `type_len` is below 32. `delta` is cut to its 27 bits.
    #[inline(always)]
    pub const fn new(type_len: u32, delta: u64) -> Self {
        Self(type_len | (delta as u32) << 5)
    }
}

/// The size in bytes of an event with a payload of `length`, header included. As in the C kernel,
/// no event has 12 bytes. So a discarded event with delta zero can be rewritten without a change of
/// the time (see `discard.rs`).
#[inline(always)]
pub const fn event_size(length: usize) -> u64 {
    let array = if length > Header::MAX_SMALL { 4 } else { 0 };
    let size = ((length as u64).wrapping_add(4 + array + 3)) & !3;
    match size {
        4 => 8,
        12 => 16,
        size => size,
    }
}

/// The `type_len` of an event with a payload of `length` bytes, if it fits there, from a table.
#[inline(always)]
pub fn small_type_len(length: usize) -> Option<u64> {
    static TYPE_LENS: [u8; Header::MAX_SMALL + 1] = {
        let mut type_lens = [0; Header::MAX_SMALL + 1];
        let mut length = 0;
        while length < type_lens.len() {
            type_lens[length] = (event_size(length) / 4 - 1) as u8;
            length += 1;
        }
        type_lens
    };
    TYPE_LENS.get(length).map(|type_len| u64::from(*type_len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_fields() {
        let position = Position::new(0xabcdef, 0x12345, 0xfedcb);
        assert_eq!(
            (position.id(), position.events(), position.used()),
            (0xabcdef, 0x12345, 0xfedcb)
        );
        let next = Position::new(1, 0, 0).plus_event(24);
        assert_eq!(next, Position::new(1, 1, 24));
        assert_eq!(next.minus_event(24), Position::new(1, 0, 0));
        assert_eq!(next.uncount_event(), Position::new(1, 0, 24));
        assert!(next.same_sub_buffer(Position::new(1, 9, 9)));
        assert!(!next.same_sub_buffer(Position::new(2, 1, 24)));
    }

    #[test]
    fn small_events() {
        for type_len in 0..32 {
            let small = type_len != 0 && type_len < Header::PADDING;
            for delta in [0, 1, (1 << Header::DELTA_BITS) - 1] {
                assert_eq!(
                    Header::new(type_len, delta).is_small_event(),
                    small,
                    "{type_len}"
                );
            }
        }
    }

    #[test]
    fn tags_and_sequences() {
        let last = Sequence(Sequence::MODULUS - 1);
        assert_eq!(last.plus(1), Sequence(0));
        assert_eq!(Sequence(0).minus(1), last);
        assert!(last.before(Sequence(3)));
        assert!(!Sequence(3).before(last));
        assert!(!last.before(last));
        let tag = Tag::used(7, last);
        assert_eq!((tag.id(), tag.free(), tag.sequence()), (7, 0, last.0));
        assert!(tag.holds(last) && !tag.holds(Sequence(0)));
        assert!(!Tag::empty(7).holds(Sequence(0)));
    }

    #[test]
    fn event_sizes() {
        let sizes = [
            (0, 8),
            (1, 8),
            (4, 8),
            (5, 16),
            (8, 16),
            (9, 16),
            (12, 16),
            (13, 20),
            (16, 20),
        ];
        for (length, size) in sizes {
            assert_eq!(event_size(length), size, "payload of {length}");
        }
        assert_eq!(event_size(112), 116);
        assert!((0..=112)
            .all(|length| small_type_len(length).map(|words| 4 * words + 4)
                == Some(event_size(length))));
        assert_eq!(
            (small_type_len(113), small_type_len(usize::MAX)),
            (None, None)
        );
        assert_eq!(event_size(113), 124);
        assert_eq!(event_size(4072), 4080);
    }
}
