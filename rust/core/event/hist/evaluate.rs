// SPDX-License-Identifier: GPL-2.0

//! Keys and values of an entry. Any context.

use super::description::{Description, Modifier, NodeId, Place, Value, Variable};
use super::map::{Element, Map, Steps};
use super::{DEPTH, TEXT};
use crate::core::parse::parser::until_nul;
use crate::core::sys::Shared;
use core::ops::Deref;

/// The data of a hit besides the entry. All functions are called in the context of the hit.
pub trait Hit {
    /// The CPU.
    fn cpu(&self) -> u32;

    /// The name of the current task.
    fn comm(&self) -> [u8; 16];

    /// Whether this is the idle task.
    fn is_idle(&self) -> bool;

    /// The time, with `usecs` in microseconds.
    fn time(&self, usecs: bool) -> u64;

    /// Writes the return addresses on the stack to `into`, innermost first, and 0 after them.
    fn stack(&self, into: &mut [u64]);
}

/// An entry and a description of its fields.
pub struct Evaluation<'a, H> {
    /// The definition.
    pub description: &'a Description,
    /// The entry.
    pub entry: &'a [u8],
    /// The values of the references.
    pub references: &'a [u64],
    /// The other data.
    pub hit: &'a H,
}

/// The bytes at `offset`.
#[inline(always)]
fn bytes<const N: usize>(entry: &[u8], offset: u16) -> [u8; N] {
    let bytes = entry
        .get(usize::from(offset)..)
        .and_then(<[u8]>::first_chunk);
    bytes.copied().unwrap_or([0; N])
}

/// A number in the entry; 0 if it is not there.
#[inline(always)]
fn number(entry: &[u8], offset: u16, size: u8, signed: bool) -> u64 {
    match (size, signed) {
        (8, _) => u64::from_ne_bytes(bytes(entry, offset)),
        (4, false) => u32::from_ne_bytes(bytes(entry, offset)).into(),
        (4, true) => i32::from_ne_bytes(bytes(entry, offset)) as u64,
        (2, false) => u16::from_ne_bytes(bytes(entry, offset)).into(),
        (2, true) => i16::from_ne_bytes(bytes(entry, offset)) as u64,
        (_, false) => u8::from_ne_bytes(bytes(entry, offset)).into(),
        (_, true) => i8::from_ne_bytes(bytes(entry, offset)) as u64,
    }
}

/// The bytes that the location word at `offset` points to.
fn located(entry: &[u8], offset: u16, relative: bool) -> &[u8] {
    let word = u32::from_ne_bytes(bytes(entry, offset));
    let base = if relative {
        usize::from(offset).saturating_add(4)
    } else {
        0
    };
    let start = base.saturating_add((word & 0xffff) as usize);
    let rest = entry.get(start..).unwrap_or(&[]);
    rest.get(..(word >> 16) as usize).unwrap_or(rest)
}

/// Stores `text` and zeros after it.
fn pack(text: &[u8], into: &mut [u64]) {
    let room = into.len().saturating_mul(8).saturating_sub(1);
    let mut parts = text.get(..room).unwrap_or(text).chunks(8);
    for word in into {
        let mut whole = [0; 8];
        let part = parts.next().unwrap_or(&[]);
        whole
            .iter_mut()
            .zip(part)
            .for_each(|(to, byte)| *to = *byte);
        *word = u64::from_ne_bytes(whole);
    }
}

impl<H: Hit> Evaluation<'_, H> {
    /// The number of a node. That of a text or of a stack is 0.
    #[inline(always)]
    pub fn number(&self, id: NodeId) -> u64 {
        let node = self.description.node(id);
        if let (
            Value::Number {
                offset,
                size,
                signed,
            },
            Modifier::Plain,
        ) = (node.value, node.modifier)
        {
            return number(self.entry, offset, size, signed);
        }
        self.any_number(id)
    }

    #[inline(never)]
    fn any_number(&self, id: NodeId) -> u64 {
        let node = self.description.node(id);
        // An operand has a lower number than its operation, so this ends.
        let operand = |of: NodeId| if of < id { self.any_number(of) } else { 0 };
        let number = match node.value {
            Value::Hitcount => 1,
            Value::Constant(number) => number,
            Value::Number {
                offset,
                size,
                signed,
            } => number(self.entry, offset, size, signed),
            Value::Text(_) | Value::Stack | Value::StackField(_) => 0,
            Value::Cpu => self.hit.cpu().into(),
            Value::Timestamp => self.hit.time(self.description.usecs),
            Value::Negative(of) => operand(of).wrapping_neg(),
            Value::Operation(operator, a, b) => operator.apply(operand(a), operand(b)),
            Value::Reference(at) => {
                let value = self.references.get(usize::from(at));
                value.copied().unwrap_or(0)
            }
        };
        match node.modifier {
            Modifier::Log2 => match number.checked_sub(1) {
                Some(0) | None => 0,
                Some(less) => u64::from(less.ilog2()).wrapping_add(1),
            },
            Modifier::Buckets(size) => {
                let rest = number.checked_rem(size).unwrap_or(0);
                number.wrapping_sub(rest)
            }
            _ => number,
        }
    }

    /// Runs `f` on the text of a node, without NUL.
    fn with_text<R>(&self, place: Place, comm: Option<[u8; 16]>, f: impl FnOnce(&[u8]) -> R) -> R {
        match place {
            Place::Array { offset, size } => {
                let rest = self.entry.get(usize::from(offset)..).unwrap_or(&[]);
                f(until_nul(rest.get(..usize::from(size)).unwrap_or(rest)))
            }
            Place::Data(offset) => f(until_nul(located(self.entry, offset, false))),
            Place::Relative(offset) => f(until_nul(located(self.entry, offset, true))),
            Place::Comm => f(until_nul(&self.hit.comm())),
            Place::Execname => f(until_nul(&comm.unwrap_or_default())),
        }
    }

    /// Writes the stack of a node.
    #[inline]
    fn stack(&self, value: Value, into: &mut [u64]) {
        match value {
            Value::StackField(offset) => {
                // A count comes first.
                let mut words = located(self.entry, offset, false)
                    .chunks_exact(8)
                    .map(|word| {
                        let word = word.first_chunk();
                        word.map_or(0, |word| u64::from_ne_bytes(*word))
                    });
                let count = words.next().unwrap_or(0);
                let mut words = words.take(usize::try_from(count).unwrap_or(usize::MAX));
                into.fill_with(|| words.next().unwrap_or(0));
            }
            _ => self.hit.stack(into),
        }
    }

    /// Writes the key, of which `into` has as many words as the description says.
    #[inline(always)]
    pub fn key(&self, into: &mut [u64]) {
        for key in self.description.keys.as_slice() {
            let (first, words) = (usize::from(key.first), usize::from(key.words));
            let Some(place) = into.get_mut(first..).and_then(|rest| rest.get_mut(..words)) else {
                return;
            };
            match self.description.node(key.node).value {
                Value::Text(text) => self.with_text(text, None, |text| pack(text, place)),
                value @ (Value::Stack | Value::StackField(_)) => {
                    if let Some((stack, rest)) = place.split_at_mut_checked(DEPTH) {
                        self.stack(value, stack);
                        rest.fill(0);
                    }
                }
                _ => {
                    if let Some(word) = place.first_mut() {
                        *word = self.number(key.node);
                    }
                }
            }
        }
    }

    /// Counts the hit of `key`: the element that it has. `None` if the table is full.
    #[inline(always)]
    pub fn count<S: Deref<Target = [Shared]>>(
        &self,
        map: &Map<S>,
        key: &[u64],
        steps: &impl Steps,
    ) -> Option<Element> {
        let element = map.insert(key, steps, |map, element| {
            if self.description.comm {
                let comm = match self.hit.is_idle() {
                    true => *b"<idle>\0\0\0\0\0\0\0\0\0\0",
                    false => self.hit.comm(),
                };
                map.set_comm(element, &comm);
            }
        })?;
        map.add(element, 0, 1);
        for (sum, value) in (1..).zip(self.description.values.as_slice()) {
            map.add(element, sum, self.number(*value));
        }
        if self.description.slots != 0 {
            self.set_variables(map, element);
        }
        Some(element)
    }

    /// Sets the variables of the element that a hit was counted in. Any context.
    #[inline(never)]
    pub fn set_variables<S: Deref<Target = [Shared]>>(&self, map: &Map<S>, element: Element) {
        let variables = self.description.variables.as_slice().iter();
        for variable in variables.chain(self.description.implied.as_slice()) {
            self.set(map, element, variable);
        }
    }

    /// Stores what `save()` says. Any context.
    #[inline(never)]
    pub(super) fn save<S: Deref<Target = [Shared]>>(&self, map: &Map<S>, element: Element) {
        for variable in self.description.saved.as_slice() {
            self.set(map, element, variable);
        }
    }

    /// Sets a variable.
    #[inline(always)]
    fn set<S: Deref<Target = [Shared]>>(
        &self,
        map: &Map<S>,
        element: Element,
        variable: &Variable,
    ) {
        match variable.text {
            Some(text) => self.set_words(map, element, variable, text),
            None => map.set(element, variable.slot.into(), self.number(variable.node)),
        }
    }

    /// Sets a variable of a text or a stack: its words, and their address.
    #[inline(never)]
    fn set_words<S: Deref<Target = [Shared]>>(
        &self,
        map: &Map<S>,
        element: Element,
        variable: &Variable,
        text: u8,
    ) {
        let node = self.description.node(variable.node);
        let slot = variable.slot.into();
        match node.value {
            Value::Text(place) => {
                let comm = (place == Place::Execname).then(|| map.comm(element));
                let store = |bytes: &[u8]| map.set_text(element, text.into(), bytes);
                self.with_text(place, comm, store);
                map.set(element, slot, map.text_address(element, text.into()));
            }
            value @ (Value::Stack | Value::StackField(_)) => {
                let mut stack = [0; TEXT / 8];
                let (count, calls) = stack.split_at_mut(1);
                self.stack(value, calls);
                let depth = calls.iter().position(|call| *call == 0);
                if let Some(count) = count.first_mut() {
                    *count = depth.unwrap_or(calls.len()) as u64;
                }
                let words = map.text_words(element, text.into());
                words
                    .iter()
                    .zip(stack)
                    .for_each(|(to, word)| to.store_relaxed(word));
                map.set(element, slot, map.text_address(element, text.into()));
            }
            _ => map.set(element, slot, self.number(variable.node)),
        }
    }
}
