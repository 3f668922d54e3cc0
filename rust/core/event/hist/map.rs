// SPDX-License-Identifier: GPL-2.0

//! The table of a histogram: a hash table of fixed size, without locks.
//!
//! All elements are allocated with the table. An insertion takes an unused element, writes its key
//! and then publishes its number in the first empty slot of the probe sequence, by one
//! compare-exchange. If another context has filled the slot meanwhile, the search goes on there;
//! if that was the same key, the element is given back. So nobody ever waits for another context,
//! an interrupted insertion leaves nothing behind that others see, and a key has one element.
//!
//! Slots are emptied by [`Map::clear`] only, which needs the table for itself.

use super::TEXT;
use crate::core::sys::Shared;
use core::ops::{Deref, Range};

/// Words of a text in an element.
const TEXT_WORDS: usize = TEXT / 8;
/// Words of the name of a task.
const COMM_WORDS: usize = 2;

/// What an element holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Words of its key.
    pub key: usize,
    /// Its sums, the hit count included.
    pub sums: usize,
    /// Its variables.
    pub variables: usize,
    /// Whether it has the name of the task that made it.
    pub comm: bool,
    /// Its texts.
    pub texts: usize,
}

impl Layout {
    const fn variables_at(self) -> usize {
        self.sums
    }

    /// The word with one bit for each variable that is set.
    const fn set_at(self) -> usize {
        self.variables_at().saturating_add(self.variables)
    }

    const fn key_at(self) -> usize {
        let set = if self.variables == 0 { 0 } else { 1 };
        self.set_at().saturating_add(set)
    }

    const fn comm_at(self) -> usize {
        self.key_at().saturating_add(self.key)
    }

    const fn text_at(self, text: usize) -> usize {
        let comm = if self.comm { COMM_WORDS } else { 0 };
        let start = self.comm_at().saturating_add(comm);
        start.saturating_add(text.saturating_mul(TEXT_WORDS))
    }

    /// Words of an element.
    pub const fn words(self) -> usize {
        self.text_at(self.texts)
    }
}

/// The number of an element in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Element(u32);

/// Points between the steps of an insertion. Only tests implement them.
pub trait Steps {
    /// Called where an interrupting context sees a state that it sees at no other point.
    #[inline(always)]
    fn step(&self) {}
}

impl Steps for () {}

/// The table. `S` is its memory.
pub struct Map<S> {
    layout: Layout,
    stride: usize,
    /// Where an element has its key.
    key_at: usize,
    /// Where an element has the word that says which variables are set.
    set_at: usize,
    capacity: u32,
    mask: usize,
    slots: S,
    words: S,
    /// The number of elements that were ever taken.
    taken: Shared,
    /// Elements that were given back: the number of the first one, plus 1, and above it a count
    /// of changes. The first word of each has the next one, plus 1.
    spare: Shared,
    /// Hits without an element.
    drops: Shared,
}

/// The bits of a number in [`Map::spare`].
const LOW: u64 = u32::MAX as u64;

impl<S: Deref<Target = [Shared]>> Map<S> {
    /// Slots of a table of 2^`bits` elements.
    pub const fn slots_of(bits: u8) -> usize {
        2 << bits
    }

    /// Words of memory for the elements.
    pub const fn words_of(bits: u8, layout: Layout) -> usize {
        layout.words() << bits
    }

    /// An empty table. `slots` and `words` hold zeros. `None` if they are not as long as
    /// [`Map::slots_of`] and [`Map::words_of`] say.
    pub fn new(bits: u8, layout: Layout, slots: S, words: S) -> Option<Self> {
        if slots.len() != Self::slots_of(bits) || words.len() != Self::words_of(bits, layout) {
            return None;
        }
        Some(Self {
            layout,
            stride: layout.words(),
            key_at: layout.key_at(),
            set_at: layout.set_at(),
            capacity: 1 << bits,
            mask: slots.len().wrapping_sub(1),
            slots,
            words,
            taken: Shared::new(0),
            spare: Shared::new(0),
            drops: Shared::new(0),
        })
    }

    /// What an element holds.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Hits without an element, because all were in use.
    pub fn drops(&self) -> u64 {
        self.drops.load_relaxed()
    }

    #[inline(always)]
    fn word(&self, element: Element, word: usize) -> Option<&Shared> {
        let start = self.stride.wrapping_mul(element.0 as usize);
        self.words.get(start.wrapping_add(word))
    }

    #[inline(always)]
    fn part(&self, element: Element, from: usize, len: usize) -> &[Shared] {
        let start = self
            .stride
            .wrapping_mul(element.0 as usize)
            .wrapping_add(from);
        self.words
            .get(start..start.wrapping_add(len))
            .unwrap_or(&[])
    }

    /// Where the search for a key starts, and the tag of its slot, which is not 0.
    #[inline(always)]
    fn hash(key: &[u64]) -> (usize, u64) {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = key.iter().fold(0u64, |hash, word| {
            (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR)
        });
        let mixed = mixed ^ mixed >> 32;
        (mixed as usize, mixed >> 32 | 1 << 31)
    }

    #[inline(always)]
    fn has(&self, element: Element, key: &[u64]) -> bool {
        let words = self.part(element, self.key_at, key.len());
        words
            .iter()
            .zip(key)
            .all(|(word, key)| word.load_relaxed() == *key)
    }

    #[inline(always)]
    fn element_of(slot: u64) -> Element {
        Element((slot & LOW).wrapping_sub(1) as u32)
    }

    /// The element of `key`, of which only as many words count as a key here has: a histogram finds
    /// variables by its first keys. Any context.
    #[inline]
    pub fn find(&self, key: &[u64]) -> Option<Element> {
        let key = key.get(..self.layout.key)?;
        let (mut at, tag) = Self::hash(key);
        for _ in 0..self.slots.len() {
            let slot = self.slots.get(at & self.mask)?.load_acquire();
            if slot == 0 {
                return None;
            }
            if slot >> 32 == tag && self.has(Self::element_of(slot), key) {
                return Some(Self::element_of(slot));
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// The element of `key`, which is made if there is none; `made` fills in the rest of it before
    /// others see it. If there is no unused element, the hit is counted as dropped. Any context.
    #[inline(always)]
    pub fn insert(
        &self,
        key: &[u64],
        steps: &impl Steps,
        made: impl FnOnce(&Self, Element),
    ) -> Option<Element> {
        let (at, tag) = Self::hash(key);
        let slot = self.slots.get(at & self.mask)?.load_acquire();
        if slot >> 32 == tag && self.has(Self::element_of(slot), key) {
            return Some(Self::element_of(slot));
        }
        self.insert_anywhere(key, at, tag, steps, made)
    }

    #[inline(never)]
    fn insert_anywhere(
        &self,
        key: &[u64],
        from: usize,
        tag: u64,
        steps: &impl Steps,
        made: impl FnOnce(&Self, Element),
    ) -> Option<Element> {
        let mut made = Some(made);
        let mut new = None;
        let mut at = from;
        for _ in 0..self.slots.len() {
            let place = self.slots.get(at & self.mask)?;
            let mut slot = place.load_acquire();
            if slot == 0 {
                steps.step();
                let element = match new {
                    Some(element) => element,
                    None => {
                        let Some(element) = self.take(steps) else {
                            self.drops.add(1);
                            return None;
                        };
                        let words = self.part(element, self.key_at, key.len());
                        for (word, key) in words.iter().zip(key) {
                            word.store_relaxed(*key);
                        }
                        if let Some(made) = made.take() {
                            made(self, element);
                        }
                        element
                    }
                };
                new = Some(element);
                steps.step();
                if place.replace(0, tag << 32 | u64::from(element.0).wrapping_add(1)) {
                    return Some(element);
                }
                slot = place.load_acquire();
            }
            if slot >> 32 == tag && self.has(Self::element_of(slot), key) {
                if let Some(element) = new {
                    self.give_back(element, steps);
                }
                return Some(Self::element_of(slot));
            }
            at = at.wrapping_add(1);
        }
        // Half of the slots are never used, so this is not reached.
        None
    }

    /// Takes an unused element. Its words are 0, but for what an earlier user has left in its key
    /// and in texts.
    #[inline]
    fn take(&self, steps: &impl Steps) -> Option<Element> {
        loop {
            let spare = self.spare.load_acquire();
            let Some(first) = (spare & LOW).checked_sub(1) else {
                break;
            };
            let element = Element(first as u32);
            let link = self.word(element, 0)?;
            let next = link.load_relaxed();
            steps.step();
            // The count of changes above the number differs if the list has changed meanwhile.
            let changed = (spare >> 32).wrapping_add(1) << 32;
            if self.spare.replace(spare, changed | next & LOW) {
                link.store_relaxed(0);
                return Some(element);
            }
        }
        loop {
            let taken = self.taken.load_relaxed();
            if taken >= u64::from(self.capacity) {
                return None;
            }
            steps.step();
            if self.taken.replace(taken, taken.wrapping_add(1)) {
                return Some(Element(taken as u32));
            }
        }
    }

    /// Gives back an element that was not published.
    fn give_back(&self, element: Element, steps: &impl Steps) {
        let Some(link) = self.word(element, 0) else {
            return;
        };
        loop {
            let spare = self.spare.load_acquire();
            link.store_relaxed(spare & LOW);
            steps.step();
            let changed = (spare >> 32).wrapping_add(1) << 32;
            if self
                .spare
                .replace(spare, changed | u64::from(element.0).wrapping_add(1))
            {
                return;
            }
        }
    }

    /// Empties the table. Nobody else may use it meanwhile; if somebody does, entries get lost or
    /// hold wrong sums, and nothing else happens.
    pub fn clear(&self) {
        self.slots.iter().for_each(|slot| slot.store_relaxed(0));
        self.words.iter().for_each(|word| word.store_relaxed(0));
        self.spare.store_relaxed(0);
        self.drops.store_relaxed(0);
        self.taken.store_release(0);
    }

    /// The elements, in the order of the slots. Others may be added meanwhile.
    pub fn elements(&self) -> impl Iterator<Item = Element> + '_ {
        let slots = self.slots.iter().map(Shared::load_acquire);
        slots.filter(|slot| *slot != 0).map(Self::element_of)
    }

    /// The words of a key.
    pub fn key_words(&self) -> Range<usize> {
        0..self.layout.key
    }

    /// A word of the key of `element`.
    pub fn key_word(&self, element: Element, word: usize) -> u64 {
        let word = self
            .part(element, self.layout.key_at(), self.layout.key)
            .get(word);
        word.map_or(0, Shared::load_relaxed)
    }

    /// Copies bytes of the key from its word `first` on.
    pub fn key_bytes(&self, element: Element, first: usize, to: &mut [u8]) {
        for (word, part) in (first..).zip(to.chunks_mut(8)) {
            let bytes = self.key_word(element, word).to_ne_bytes();
            part.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        }
    }

    /// Adds to sum `sum`; sum 0 is the hit count. Any context.
    #[inline(always)]
    pub fn add(&self, element: Element, sum: usize, value: u64) {
        if let Some(word) = self.word(element, sum) {
            word.add(value);
        }
    }

    /// Sum `sum`.
    pub fn sum(&self, element: Element, sum: usize) -> u64 {
        self.word(element, sum).map_or(0, Shared::load_relaxed)
    }

    /// Sets a variable. Any context.
    #[inline]
    pub fn set(&self, element: Element, variable: usize, value: u64) {
        let word = self.layout.variables_at().wrapping_add(variable);
        if let (Some(word), Some(set)) = (self.word(element, word), self.word(element, self.set_at))
        {
            word.store_relaxed(value);
            set.set_bits(1 << (variable & 63));
        }
    }

    /// Raises a variable to `value`, or with `change` sets it to another value. False if it is not
    /// below, or already the same. Any context.
    pub fn track(&self, element: Element, variable: usize, value: u64, change: bool) -> bool {
        let at = self.layout.variables_at().wrapping_add(variable);
        let Some(word) = self.word(element, at) else {
            return false;
        };
        loop {
            let now = word.load_relaxed();
            let passes = match change {
                true => value != now,
                false => value > now,
            };
            if !passes {
                return false;
            }
            // Of two contexts with the same value one gets through.
            if word.replace(now, value) {
                return true;
            }
        }
    }

    /// A variable, whether it is set or not.
    pub fn variable(&self, element: Element, variable: usize) -> u64 {
        let word = self.layout.variables_at().wrapping_add(variable);
        self.word(element, word).map_or(0, Shared::load_relaxed)
    }

    /// A variable, if it is set. With `once`, it is not set afterwards. Any context.
    pub fn read(&self, element: Element, variable: usize, once: bool) -> Option<u64> {
        let set = self.word(element, self.set_at)?;
        let bit = 1 << (variable & 63);
        if set.load_acquire() & bit == 0 {
            return None;
        }
        if once {
            set.clear_bits(bit);
        }
        Some(self.variable(element, variable))
    }

    /// Stores the name of the task that makes `element`. Any context.
    pub fn set_comm(&self, element: Element, comm: &[u8; 16]) {
        self.store(self.part(element, self.layout.comm_at(), COMM_WORDS), comm);
    }

    /// The name of the task that has made `element`.
    pub fn comm(&self, element: Element) -> [u8; 16] {
        let mut comm = [0; 16];
        load(
            self.part(element, self.layout.comm_at(), COMM_WORDS),
            &mut comm,
        );
        comm
    }

    /// Stores a text of less than [`TEXT`] bytes. Any context.
    pub fn set_text(&self, element: Element, text: usize, bytes: &[u8]) {
        let bytes = bytes.get(..TEXT - 1).unwrap_or(bytes);
        self.store(
            self.part(element, self.layout.text_at(text), TEXT_WORDS),
            bytes,
        );
    }

    /// Copies a text; the bytes after it are 0. Any context.
    pub fn text(&self, element: Element, text: usize, to: &mut [u8; TEXT]) {
        load(
            self.part(element, self.layout.text_at(text), TEXT_WORDS),
            to,
        );
    }

    /// The words of a text.
    pub fn text_words(&self, element: Element, text: usize) -> &[Shared] {
        self.part(element, self.layout.text_at(text), TEXT_WORDS)
    }

    /// The address of a text. It is valid as long as the memory of the table.
    pub fn text_address(&self, element: Element, text: usize) -> u64 {
        self.text_words(element, text).as_ptr().addr() as u64
    }

    fn store(&self, words: &[Shared], bytes: &[u8]) {
        let mut parts = bytes.chunks(8);
        for word in words {
            let mut whole = [0; 8];
            let part = parts.next().unwrap_or(&[]);
            whole
                .iter_mut()
                .zip(part)
                .for_each(|(to, byte)| *to = *byte);
            word.store_relaxed(u64::from_ne_bytes(whole));
        }
    }
}

fn load(words: &[Shared], to: &mut [u8]) {
    for (word, part) in words.iter().zip(to.chunks_mut(8)) {
        let bytes = word.load_relaxed().to_ne_bytes();
        part.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
    }
}
