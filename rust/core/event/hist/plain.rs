// SPDX-License-Identifier: GPL-2.0

//! Hits of the usual definition: one or two keys, and keys and values are numbers in the entry.
//!
//! A [`Number`] is read in one way for all sizes: the eight bytes that end where the field ends,
//! two shifts and a mask. So a hit has no branch that depends on the definition's fields.

use super::description::{ArrayVec, Description, Modifier, NodeId, Value};
use super::map::{Element, Map, Steps};
use super::VALUES;
use crate::core::sys::Shared;
use core::ops::Deref;

/// A number in the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    /// The offset of eight bytes with the field in them.
    start: u16,
    /// The bits behind the field.
    above: u8,
    /// The bits that are not the field's.
    other: u8,
    /// The bits of the result that are not copies of the sign.
    mask: u64,
}

impl Number {
    const NONE: Self = Self {
        start: 0,
        above: 0,
        other: 0,
        mask: 0,
    };

    /// The node as a number. `None` if it is none, or is changed when it is read.
    fn of(description: &Description, id: NodeId) -> Option<Self> {
        let node = description.node(id);
        let Value::Number {
            offset,
            size,
            signed,
        } = node.value
        else {
            return None;
        };
        let changed = matches!(node.modifier, Modifier::Log2 | Modifier::Buckets(_));
        if changed || cfg!(target_endian = "big") {
            return None;
        }
        let end = offset.checked_add(size.into())?;
        let start = end.saturating_sub(8);
        // The common fields are nearer to the start than eight bytes.
        let behind = 8u16.checked_sub(end.checked_sub(start)?)?;
        let bits = match size {
            1 | 2 | 4 | 8 => size.wrapping_mul(8),
            _ => return None,
        };
        let other = 64u8.checked_sub(bits)?;
        Some(Self {
            start,
            above: u8::try_from(behind.checked_mul(8)?).ok()?,
            other,
            mask: if signed { u64::MAX } else { u64::MAX >> other },
        })
    }

    /// Its value; 0 if the entry is too short.
    #[inline(always)]
    fn read(&self, entry: &[u8]) -> u64 {
        let bytes = entry.get(usize::from(self.start)..);
        let Some(word) = bytes.and_then(<[u8]>::first_chunk) else {
            return 0;
        };
        let highest = u64::from_ne_bytes(*word).wrapping_shl(self.above.into());
        (highest as i64).wrapping_shr(self.other.into()) as u64 & self.mask
    }
}

/// The keys.
#[derive(Clone, Copy, Debug)]
enum Keys {
    One([Number; 1]),
    Two([Number; 2]),
}

/// A definition of which each key and value is a number in the entry.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    keys: Keys,
    values: ArrayVec<Number, VALUES>,
    rest: Rest,
}

/// What a hit does besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// It sets variables.
    Variables,
    /// It reads the variables of other elements, before it is counted.
    References,
}

impl Plain {
    /// The plain form of `description`. `None` if it has none.
    pub fn of(description: &Description) -> Option<Self> {
        let number = |id: NodeId| Number::of(description, id);
        let keys = match description.keys.as_slice() {
            [one] => Keys::One([number(one.node)?]),
            [one, two] => Keys::Two([number(one.node)?, number(two.node)?]),
            _ => return None,
        };
        let rest = match (description.references.is_empty(), description.slots) {
            (false, _) => Rest::References,
            (true, 0) => Rest::Nothing,
            (true, _) => Rest::Variables,
        };
        let mut values = ArrayVec::new(Number::NONE);
        if rest != Rest::References {
            for value in description.values.as_slice() {
                values.push(number(*value)?)?;
            }
        }
        (!description.comm).then_some(Self { keys, values, rest })
    }

    /// What a hit does besides. With [`Rest::References`], [`Plain::count`] is not for it.
    #[inline(always)]
    pub const fn rest(&self) -> Rest {
        self.rest
    }

    /// Runs `f` on the key of `entry`. Any context.
    #[inline(always)]
    pub fn with_key<R>(&self, entry: &[u8], f: impl FnOnce(&[u64]) -> R) -> R {
        match &self.keys {
            Keys::One(keys) => f(&keys.map(|key| key.read(entry))),
            Keys::Two(keys) => f(&keys.map(|key| key.read(entry))),
        }
    }

    /// Counts the hit of `entry`: its element. `None` if the table is full. Any context.
    #[inline(always)]
    pub fn count<S: Deref<Target = [Shared]>>(
        &self,
        entry: &[u8],
        map: &Map<S>,
        steps: &impl Steps,
    ) -> Option<Element> {
        // Not by `with_key`: the search is in line for each number of keys.
        let element = match &self.keys {
            Keys::One(keys) => map.insert(&keys.map(|key| key.read(entry)), steps, |_, _| {}),
            Keys::Two(keys) => map.insert(&keys.map(|key| key.read(entry)), steps, |_, _| {}),
        }?;
        map.add(element, 0, 1);
        for (sum, value) in (1..).zip(self.values.as_slice()) {
            map.add(element, sum, value.read(entry));
        }
        Some(element)
    }
}
