// SPDX-License-Identifier: GPL-2.0

//! What an argument's value is made of, compiled: a first value, addresses to be followed from
//! there, and how the result is stored.
//!
//! The three stages follow each other once, so that evaluation ends after as many steps as the
//! program has; an array does so for each of its elements.

use super::types::TextOf;
use core::ops::Range;

/// Where the first value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// A register, by its place among the registers.
    Register(u16),
    /// A word of the stack, counted from its top.
    Stack(u32),
    /// The stack pointer.
    StackPointer,
    /// What the function returns.
    Returned,
    /// This number.
    Immediate(u64),
    /// A text in the definition: these bytes of the argument.
    Text(Range<u8>),
    /// The address of a symbol, which the definition names in these bytes of the argument.
    Symbol(Range<u8>),
    /// The address of the task's name.
    Comm,
    /// The address of the task.
    Current,
    /// An argument of the function that is entered, counted from 0.
    Argument(u16),
    /// A field of another event's entry.
    Field(Field),
    /// What was saved when the function was entered, by its place there.
    Saved(u16),
    /// The address at which this place of the probed file is mapped.
    InFile(u64),
}

/// A field of an event's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it is in the entry.
    pub offset: u16,
    /// What its value is.
    pub value: FieldValue,
}

/// What of a field is its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// A number.
    Number {
        /// Its bytes: 1, 2, 4 or 8.
        size: u8,
        /// Whether it is signed.
        signed: bool,
    },
    /// Its address.
    Address,
    /// The address of what it tells the place of, counted from the entry.
    Elsewhere,
    /// The address of what it tells the place of, counted from the end of the field.
    Behind,
}

impl FieldValue {
    /// A number of so many bytes. As in C, one byte has no sign: it is read as the kernel's `char`.
    pub const fn number(size: u8, signed: bool) -> Self {
        Self::Number {
            size,
            signed: signed && size != 1,
        }
    }
}

impl Field {
    /// Its value in `entry`; 0 for an entry that is too short. Addresses are those of bytes in it.
    #[inline]
    pub fn value(&self, entry: &[u8]) -> u64 {
        let start = usize::from(self.offset);
        let word = |size: usize| {
            let mut bytes = [0; 8];
            let from = entry.get(start..start.wrapping_add(size));
            if let (Some(to), Some(from)) = (bytes.get_mut(..size), from) {
                to.copy_from_slice(from);
            }
            u64::from_le_bytes(bytes)
        };
        let address = |offset: usize| match entry.get(offset..) {
            Some(from) => from.as_ptr() as u64,
            None => 0,
        };
        match self.value {
            FieldValue::Number { size, signed } => {
                let above = 64_u32.wrapping_sub(u32::from(size).wrapping_mul(8));
                let number = word(size.into());
                match signed {
                    true => (number.wrapping_shl(above) as i64).wrapping_shr(above) as u64,
                    false => number,
                }
            }
            FieldValue::Address => address(start),
            FieldValue::Elsewhere => address((word(4) & 0xffff) as usize),
            FieldValue::Behind => {
                let behind = (word(4) & 0xffff) as usize;
                address(start.wrapping_add(4).wrapping_add(behind))
            }
        }
    }
}

impl Load {
    /// How many of C's operations it is.
    pub(super) fn ops(&self) -> usize {
        match self {
            Self::Symbol(_) => 2,
            _ => 1,
        }
    }
}

/// What is done with a value to get the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The word at `offset` behind it, in the kernel's memory or the task's.
    Read {
        /// Bytes behind the address.
        offset: i32,
        /// Whether it is the task's memory.
        user: bool,
    },
    /// This CPU's copy of what it is the per-CPU address of.
    ThisCpu,
}

/// How the result is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// The value itself, cut to its size.
    Value,
    /// What is in memory at `offset` behind it.
    Memory {
        /// Bytes behind the address.
        offset: i32,
        /// Whether it is the task's memory.
        user: bool,
    },
    /// The text at `offset` behind it.
    Text {
        /// Bytes behind the address.
        offset: i32,
        /// What it is made of.
        of: TextOf,
    },
}

/// Some bits of a number, which are shifted to its upper and then to its lower end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// Unused bits above.
    pub left: u8,
    /// Bits that are not the field's.
    pub right: u8,
}

/// Steps at most.
pub(super) const STEPS: usize = 14;

/// A compiled argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub(super) load: Load,
    pub(super) steps: [Step; STEPS],
    pub(super) step_count: u8,
    pub(super) store: Store,
    pub(super) bits: Option<Bits>,
    /// Bytes of an element.
    pub(super) size: u8,
    /// Elements, if it is an array.
    pub(super) count: Option<u8>,
}

/// What a program gets its values from: the registers and the memory at a hit. Whatever is asked
/// for may not be there, which is 0 or a refusal and no more.
pub trait Source: Copy {
    /// [`Load::Register`].
    fn register(&self, at: u16) -> u64;
    /// [`Load::Stack`].
    fn stack(&self, at: u32) -> u64;
    /// [`Load::StackPointer`].
    fn stack_pointer(&self) -> u64;
    /// [`Load::Returned`].
    fn returned(&self) -> u64;
    /// [`Load::Comm`].
    fn comm(&self) -> u64;
    /// [`Load::Current`].
    fn current(&self) -> u64;
    /// [`Load::Argument`].
    fn argument(&self, at: u16) -> u64;
    /// [`Load::Saved`].
    fn saved(&self, at: u16) -> u64;
    /// [`Load::InFile`], which only definitions of probes in programs have.
    fn in_file(&self, _offset: u64) -> u64 {
        0
    }
    /// [`Load::Field`], which only definitions of events of other events have.
    fn field(&self, _field: Field) -> u64 {
        0
    }
    /// [`Load::Symbol`] of the argument of this number.
    fn symbol(&self, argument: usize) -> u64;
    /// [`Step::ThisCpu`].
    fn this_cpu(&self, address: u64) -> u64;
    /// Reads memory; whether all of it was there.
    fn read(&self, user: bool, address: u64, to: &mut [u8]) -> bool;
    /// How many bytes [`Source::text`] wants, its end included; 0 if the text cannot be read.
    fn text_length(&self, of: TextOf, address: u64) -> usize;
    /// Copies a text as far as there is room, and ends it; how many bytes that was with its end, 0
    /// if it cannot be read.
    fn text(&self, of: TextOf, address: u64, to: &mut [u8]) -> usize;
}

/// The address before the last step, and the result.
struct Found {
    before: u64,
    value: u64,
}

/// Puts the first bytes of `value` at `at`, if there is room.
#[inline(always)]
fn put_first<const N: usize>(fields: &mut [u8], at: usize, value: [u8; 8]) {
    let to = fields.get_mut(at..at.wrapping_add(N));
    if let (Some(to), Some(from)) = (to, value.first_chunk::<N>()) {
        to.copy_from_slice(from);
    }
}

/// Where the number of a [`Plain`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlainLoad {
    Register(u16),
    Returned,
    Argument(u16),
    Saved(u16),
}

/// A number that is stored as it is found, without a step, which most arguments are. All that a hit does
/// with it is in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    load: PlainLoad,
    size: u8,
    /// Its place among what is written.
    place: u16,
}

impl Plain {
    /// As [`Program::store`]. Up to seven bytes behind the number may be overwritten: those in front of
    /// others are stored before them.
    #[inline(always)]
    pub fn store(&self, source: impl Source, fields: &mut [u8]) {
        let value = match self.load {
            PlainLoad::Register(at) => source.register(at),
            PlainLoad::Returned => source.returned(),
            PlainLoad::Argument(at) => source.argument(at),
            PlainLoad::Saved(at) => source.saved(at),
        };
        let (place, value) = (usize::from(self.place), value.to_ne_bytes());
        match fields.get_mut(place..place.wrapping_add(8)) {
            // The same for all sizes.
            Some(to) => to.copy_from_slice(&value),
            None => put(fields, place, self.size, value),
        }
    }
}

/// Writes a value of `size` bytes at `at` in `fields`, if there is room.
#[inline(always)]
fn put(fields: &mut [u8], at: usize, size: u8, value: [u8; 8]) {
    // One store each: a copy whose length is not known here would be a call.
    match size {
        8 => put_first::<8>(fields, at, value),
        4 => put_first::<4>(fields, at, value),
        2 => put_first::<2>(fields, at, value),
        _ => put_first::<1>(fields, at, value),
    }
}

/// Where an entry's texts go.
pub struct Texts {
    /// Bytes of the entry in front of what is written.
    pub header: usize,
    /// Where the next text goes, in what is written.
    pub next: usize,
}

impl Program {
    /// Whether it stores texts.
    #[inline(always)]
    pub fn has_texts(&self) -> bool {
        matches!(self.store, Store::Text { .. })
    }

    /// The same as a [`Plain`] at `place` of what is written, if it is one.
    pub fn plain(&self, place: usize) -> Option<Plain> {
        let is_alone = self.store == Store::Value && self.step_count == 0;
        let is_whole = self.bits.is_none() && self.count.is_none();
        let load = match self.load {
            Load::Register(at) => PlainLoad::Register(at),
            Load::Returned => PlainLoad::Returned,
            Load::Argument(at) => PlainLoad::Argument(at),
            Load::Saved(at) => PlainLoad::Saved(at),
            _ => return None,
        };
        let plain = Plain {
            load,
            size: self.size,
            place: u16::try_from(place).ok()?,
        };
        (is_alone && is_whole).then_some(plain)
    }

    /// The bytes of its argument that name a symbol.
    pub fn symbol(&self) -> Option<Range<usize>> {
        match &self.load {
            Load::Symbol(range) => Some(range.start.into()..range.end.into()),
            _ => None,
        }
    }

    #[inline(always)]
    fn steps(&self) -> &[Step] {
        self.steps.get(..self.step_count.into()).unwrap_or(&[])
    }

    #[inline(always)]
    fn load(&self, number: usize, source: impl Source) -> u64 {
        match self.load {
            Load::Register(at) => source.register(at),
            Load::Stack(at) => source.stack(at),
            Load::StackPointer => source.stack_pointer(),
            Load::Returned => source.returned(),
            Load::Immediate(value) => value,
            Load::Symbol(_) => source.symbol(number),
            Load::Comm => source.comm(),
            Load::Current => source.current(),
            Load::Argument(at) => source.argument(at),
            Load::Saved(at) => source.saved(at),
            Load::InFile(offset) => source.in_file(offset),
            Load::Field(field) => source.field(field),
            // Only its store asks for it.
            Load::Text(_) => 0,
        }
    }

    /// The first value and all steps; None where memory cannot be read.
    #[inline(always)]
    fn find(&self, number: usize, source: impl Source) -> Option<Found> {
        let mut found = Found {
            before: 0,
            value: self.load(number, source),
        };
        for step in self.steps() {
            found.before = found.value;
            found.value = self.step(*step, found.value, source)?;
        }
        Some(found)
    }

    #[inline(always)]
    fn step(&self, step: Step, value: u64, source: impl Source) -> Option<u64> {
        match step {
            Step::ThisCpu => Some(source.this_cpu(value)),
            Step::Read { offset, user } => {
                let mut word = [0; 8];
                let address = value.wrapping_add_signed(offset.into());
                let read = source.read(user, address, &mut word);
                read.then_some(u64::from_ne_bytes(word))
            }
        }
    }

    /// Calls `f` with the address of each text: one, or those that an array of addresses has.
    /// `None` stands for one that was not found.
    #[inline]
    fn each_text<S: Source>(&self, number: usize, source: S, mut f: impl FnMut(Option<u64>)) {
        let Store::Text { offset, .. } = self.store else {
            return;
        };
        let found = self.find(number, source);
        let count = self.count.unwrap_or(1);
        if count == 1 {
            let address = found.map(|found| found.value.wrapping_add_signed(offset.into()));
            return f(address);
        }
        // As in C, nothing is found where no step reads the addresses.
        let last = self.steps().last();
        for at in 0..u64::from(count) {
            let address = match (&found, last) {
                (Some(found), Some(step)) => {
                    self.step(*step, found.before.wrapping_add(at.wrapping_mul(8)), source)
                }
                _ => None,
            };
            f(address.map(|address| address.wrapping_add_signed(offset.into())));
        }
    }

    /// How many bytes of text [`Program::store`] wants. `body` is the argument that it was compiled
    /// from, and `number` which one that is.
    #[inline]
    pub fn text_length(&self, number: usize, body: &[u8], source: impl Source) -> usize {
        let Store::Text { of, .. } = self.store else {
            return 0;
        };
        if let Load::Text(range) = &self.load {
            let text = body.get(usize::from(range.start)..usize::from(range.end));
            return text.map_or(0, |text| text.len().wrapping_add(1));
        }
        let mut sum = 0_usize;
        self.each_text(number, source, |address| {
            let length = address.map_or(0, |address| source.text_length(of, address));
            sum = sum.saturating_add(length);
        });
        sum
    }

    /// Writes the value at `at` in `fields`; texts go where `texts` says, and move that. What cannot
    /// be read is 0, or a text of no length.
    #[inline]
    pub fn store(
        &self,
        number: usize,
        body: &[u8],
        source: impl Source,
        fields: &mut [u8],
        at: usize,
        texts: &mut Texts,
    ) {
        match self.store {
            Store::Text { of, .. } => self.store_texts(of, number, body, source, fields, at, texts),
            Store::Value if self.step_count == 0 => {
                let value = self.load(number, source);
                self.put(fields, at, value.to_ne_bytes());
            }
            Store::Value => {
                let value = self.find(number, source).map_or(0, |found| found.value);
                self.put(fields, at, value.to_ne_bytes());
            }
            Store::Memory { offset, user } => {
                let start = self.find(number, source);
                let start = start.map(|found| found.value.wrapping_add_signed(offset.into()));
                let size = usize::from(self.size);
                for element in 0..usize::from(self.count.unwrap_or(1)) {
                    let behind = element.wrapping_mul(size);
                    let mut value = [0; 8];
                    if let (Some(start), Some(to)) = (start, value.get_mut(..size)) {
                        if !source.read(user, start.wrapping_add(behind as u64), to) {
                            value = [0; 8];
                        }
                    }
                    self.put(fields, at.wrapping_add(behind), value);
                }
            }
        }
    }

    /// Writes one element.
    #[inline(always)]
    fn put(&self, fields: &mut [u8], at: usize, value: [u8; 8]) {
        let value = match self.bits {
            None => value,
            Some(bits) => self.shifted(value, bits),
        };
        put(fields, at, self.size, value);
    }

    fn shifted(&self, value: [u8; 8], bits: Bits) -> [u8; 8] {
        let width = u32::from(self.size).wrapping_mul(8);
        let above = 64_u32.wrapping_sub(width);
        let whole = u64::from_le_bytes(value).wrapping_shl(above);
        let upper = whole.wrapping_shl(bits.left.into());
        upper
            .wrapping_shr(u32::from(bits.right).wrapping_add(above))
            .to_le_bytes()
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "what `store` has, and of which kind"
    )]
    fn store_texts(
        &self,
        of: TextOf,
        number: usize,
        body: &[u8],
        source: impl Source,
        fields: &mut [u8],
        at: usize,
        texts: &mut Texts,
    ) {
        let mut place = at;
        let mut locate = |fields: &mut [u8], texts: &mut Texts, length: usize| {
            let start = texts.header.wrapping_add(texts.next);
            let location = (length as u32) << 16 | start as u32 & 0xffff;
            if let Some(to) = fields.get_mut(place..place.wrapping_add(4)) {
                to.copy_from_slice(&location.to_ne_bytes());
            }
            place = place.wrapping_add(4);
            texts.next = texts.next.saturating_add(length);
        };
        if let Load::Text(range) = &self.load {
            let text = body.get(usize::from(range.start)..usize::from(range.end));
            let text = text.unwrap_or(&[]);
            let room = fields.get_mut(texts.next..).unwrap_or(&mut []);
            let length = match room.get_mut(..text.len().wrapping_add(1)) {
                Some(to) => {
                    let ended = text.iter().chain(&[0]);
                    to.iter_mut().zip(ended).for_each(|(to, from)| *to = *from);
                    to.len()
                }
                None => 0,
            };
            return locate(fields, texts, length);
        }
        self.each_text(number, source, |address| {
            let room = fields.get_mut(texts.next..).unwrap_or(&mut []);
            let length = match address {
                Some(address) if !room.is_empty() => source.text(of, address, room),
                _ => 0,
            };
            locate(fields, texts, length.min(0xffff));
        });
    }
}
