// SPDX-License-Identifier: GPL-2.0

//! Recovers a ring buffer from memory that an earlier kernel has left.
//!
//! A buffer whose memory outlives the kernel is found as plain bytes ([`SavedBuffer`]).
//! [`SavedBuffer::validate`] trusts none of them. It compares ids, lengths and numbers with their
//! limits and with each other, and parses the records of each sub-buffer. If the times of
//! sub-buffers contradict each other, it keeps the largest consistent set. A sub-buffer that fails
//! a check is dropped and counted. [`CpuBuffer::restore`] then sets up a new, empty buffer on the same memory,
//! so that its reader finds the kept sub-buffers, the oldest first. Events that had been read are
//! there again, too.
//!
//! Events after the commit position were not committed and are dropped.

use core::mem::{offset_of, size_of};

use super::cpu_buffer::{CommitLine, CpuBuffer, ReaderState};
use super::parse::Cursor;
use super::sub_buffer::{SubBuffer, HEADER_SIZE};
use super::word::{Position, Sequence, Tag};

/// The memory of one CPU's buffer. Nobody writes it.
#[derive(Clone, Copy, Debug)]
pub struct SavedBuffer<'a> {
    /// The bytes of the [`CpuBuffer`].
    pub buffer: &'a [u8],
    /// The bytes of its descriptors, by id.
    pub descriptors: &'a [u8],
    /// The bytes of its sub-buffers, in the order of [`place_of`].
    pub memory: &'a [u8],
    /// The number of slots, as in [`Parts`](super::Parts).
    pub nr_slots: u32,
    /// The size of a sub-buffer in bytes.
    pub sub_buffer_size: u32,
}

/// The index of the memory of sub-buffer `id`. The reader's sub-buffer comes first.
pub const fn place_of(id: u32, nr_slots: u32) -> usize {
    if id >= nr_slots {
        0
    } else {
        id as usize + 1
    }
}

/// A sub-buffer that passed the checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ValidSubBuffer {
    id: u32,
    events: u32,
    used: u32,
    /// How many contents older than the newest one it is.
    age: u64,
    /// The number of events committed before its first event.
    number: u64,
    /// The times of its first and its last event.
    first: u64,
    last: u64,
    /// Used by `choose`: the previous member of the best chain that ends here, as index plus one.
    before: u32,
    /// Used by `choose`: the end of the best chain with as many members as there are entries before
    /// this one, plus one.
    end: u32,
}

/// The result of a validation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Validation {
    /// The number of valid sub-buffers at the front, the oldest first.
    pub kept: usize,
    /// The number of dropped sub-buffers that had events.
    pub discarded: usize,
}

/// The words of a descriptor.
#[derive(Clone, Copy)]
struct SavedDescriptor {
    sealed: Position,
    sequence: Sequence,
    first_event: u64,
}

impl SavedBuffer<'_> {
    /// Checks everything. `saved` receives the valid sub-buffers. It has room for `nr_slots + 1` of
    /// them; others are dropped.
    pub fn validate(&self, saved: &mut [ValidSubBuffer]) -> Validation {
        let mut validation = Validation::default();
        let commit = self.commit();
        let newest = commit
            .and_then(|position| self.descriptor(position.id() as u32))
            .map(|descriptor| descriptor.sequence);
        let mut found = 0;
        for id in 0..=self.nr_slots {
            let Some(descriptor) = self.descriptor(id) else {
                validation.discarded += 1;
                continue;
            };
            let end = commit
                .filter(|position| position.id() == u64::from(id))
                .unwrap_or(descriptor.sealed);
            // If there is no newest one, ages count from the largest possible number.
            let age = age_of(
                descriptor.sequence,
                newest.unwrap_or(Sequence(Sequence::MODULUS / 2 - 1)),
            );
            // A sub-buffer after the commit position had no committed events, so dropping it is no
            // loss.
            let Some(age) = age.filter(|_| end.used() != 0) else {
                continue;
            };
            match (self.find(id, end), saved.get_mut(found)) {
                (Some(new), Some(place)) => {
                    *place = ValidSubBuffer {
                        age,
                        number: descriptor.first_event,
                        ..new
                    };
                    found += 1;
                }
                _ => validation.discarded += 1,
            }
        }
        let saved = saved.get_mut(..found).unwrap_or_default();
        sort(saved, |a, b| (b.age, a.first) < (a.age, b.first));
        validation.kept = choose(saved);
        validation.discarded += found - validation.kept;
        // In this case the sub-buffer that was being written is simply the newest one.
        if commit.is_none() && validation.kept != 0 {
            validation.kept -= 1;
            validation.discarded += 1;
        }
        validation
    }

    /// The commit position. `None` if it is invalid.
    fn commit(&self) -> Option<Position> {
        let at = offset_of!(CpuBuffer, commit) + offset_of!(CommitLine, commit);
        let position = Position(word(self.buffer, at)?);
        let id = u32::try_from(position.id())
            .ok()
            .filter(|id| *id <= self.nr_slots)?;
        let empty = position.used() == 0 && position.events() == 0;
        if empty || self.find(id, position).is_some() {
            return Some(position);
        }
        // Either the position is wrong and the descriptor is right, or the sub-buffer is wrong.
        let wrong = self
            .descriptor(id)
            .is_none_or(|descriptor| self.find(id, descriptor.sealed).is_some());
        (!wrong).then_some(position)
    }

    /// The descriptor of `id`. `None` if it is invalid.
    fn descriptor(&self, id: u32) -> Option<SavedDescriptor> {
        let at = size_of::<SubBuffer>().checked_mul(id as usize)?;
        let word = |offset: usize| word(self.descriptors, at.checked_add(offset)?);
        let sealed = Position(word(offset_of!(SubBuffer, sealed))?);
        let sequence = Sequence(word(offset_of!(SubBuffer, sequence))?);
        let slot = word(offset_of!(SubBuffer, slot))?;
        // Content 1 is in slot 0, and so on. A sub-buffer that was never written has number 0 and
        // slot 0 or the last slot.
        let slots = u64::from(self.nr_slots);
        let right = match sequence.0 {
            0 => slot == 0 || slot == slots.wrapping_sub(1),
            s => s < Sequence::MODULUS && s.wrapping_sub(1).checked_rem(slots) == Some(slot),
        };
        let first_event = word(offset_of!(SubBuffer, first_event))?;
        (sealed.id() == u64::from(id) && right).then_some(SavedDescriptor {
            sealed,
            sequence,
            first_event,
        })
    }

    /// Sub-buffer `id` written up to `end`, if its records match the number of events and bytes.
    fn find(&self, id: u32, end: Position) -> Option<ValidSubBuffer> {
        let start = place_of(id, self.nr_slots).checked_mul(self.sub_buffer_size as usize)?;
        let memory = self
            .memory
            .get(start..start.checked_add(self.sub_buffer_size as usize)?)?;
        let records = memory.get(HEADER_SIZE..HEADER_SIZE.checked_add(end.used() as usize)?)?;
        let first = word(memory, 0)?;
        let mut cursor = Cursor::start(first);
        let (mut events, mut last) = (0u64, first);
        loop {
            match cursor.next_event(records) {
                Ok(Some(found)) => (events, last) = (events + 1, found.time),
                Ok(None) => break,
                Err(_) => return None,
            }
        }
        let sound = events == end.events() && events != 0 && end.used() % 4 == 0 && last >= first;
        let (events, used) = (events as u32, end.used() as u32);
        sound.then_some(ValidSubBuffer {
            id,
            events,
            used,
            first,
            last,
            ..ValidSubBuffer::default()
        })
    }
}

/// How many contents `sequence` is older than `newest`. `None` if it is newer.
fn age_of(sequence: Sequence, newest: Sequence) -> Option<u64> {
    let age = newest.minus(sequence.0).0;
    (age < Sequence::MODULUS / 2).then_some(age)
}

/// An in-place heap sort. The stack is small at boot, and the sorts of `core` need kilobytes of it.
fn sort(saved: &mut [ValidSubBuffer], less: impl Fn(&ValidSubBuffer, &ValidSubBuffer) -> bool) {
    let sift = |saved: &mut [ValidSubBuffer], mut root: usize| loop {
        let mut top = root;
        for child in [2 * root + 1, 2 * root + 2] {
            if let (Some(new), Some(old)) = (saved.get(child), saved.get(top)) {
                if less(old, new) {
                    top = child;
                }
            }
        }
        if top == root {
            break;
        }
        saved.swap(root, top);
        root = top;
    };
    (0..saved.len() / 2)
        .rev()
        .for_each(|root| sift(saved, root));
    for end in (1..saved.len()).rev() {
        saved.swap(0, end);
        sift(saved.get_mut(..end).unwrap_or_default(), 0);
    }
}

impl ValidSubBuffer {
    /// The number of events missing between this one and `next`, if that number is plausible.
    fn missing(&self, next: &ValidSubBuffer) -> u64 {
        let most = self
            .age
            .wrapping_sub(next.age)
            .wrapping_sub(1)
            .saturating_mul(Position::MAX_USED / 8);
        let missing = next
            .number
            .wrapping_sub(self.number.wrapping_add(self.events.into()));
        if missing <= most {
            missing
        } else {
            0
        }
    }
}

/// Moves the longest consistent part of `saved` to the front and returns its length. `saved` is
/// sorted by number, the oldest first. In a consistent part each sub-buffer begins when the previous
/// one has ended, or later. At most one of several with the same number is in it.
fn choose(saved: &mut [ValidSubBuffer]) -> usize {
    // `saved[n - 1].end` is the end of the best chain of n members, as index plus one: the chain
    // that ends first. These ends are sorted by time, so a binary search works.
    let mut longest = 0usize;
    for at in 0..saved.len() {
        let Some(new) = saved.get(at).copied() else {
            break;
        };
        let end_of = |length: usize, saved: &[ValidSubBuffer]| {
            let index = saved.get(length.wrapping_sub(1))?.end;
            saved.get((index as usize).wrapping_sub(1)).copied()
        };
        let (mut low, mut high) = (0, longest);
        while low < high {
            let middle = (low + high).div_ceil(2);
            let fits =
                end_of(middle, saved).is_some_and(|end| end.last <= new.first && end.age > new.age);
            if fits {
                low = middle
            } else {
                high = middle - 1
            }
        }
        let before = saved.get(low.wrapping_sub(1)).map_or(0, |entry| entry.end);
        if let Some(entry) = saved.get_mut(at) {
            entry.before = before;
        }
        let better =
            low == longest || end_of(low + 1, saved).is_some_and(|end| new.last < end.last);
        if better {
            if let Some(entry) = saved.get_mut(low) {
                entry.end = at as u32 + 1;
            }
            longest = longest.max(low + 1);
        }
    }
    // Walks the chain backwards and marks the members. Then they move to the front in order.
    let mut next = saved
        .get(longest.wrapping_sub(1))
        .map_or(0, |entry| entry.end);
    for length in (0..longest).rev() {
        let member = (next as usize).wrapping_sub(1);
        next = saved.get(member).map_or(0, |entry| entry.before);
        if let Some(entry) = saved.get_mut(length) {
            entry.end = member as u32;
        }
    }
    for length in 0..longest {
        let member = saved.get(length).map_or(0, |entry| entry.end);
        if let Some(chosen) = saved.get(member as usize).copied() {
            if let Some(place) = saved.get_mut(length) {
                *place = ValidSubBuffer {
                    end: place.end,
                    ..chosen
                };
            }
        }
    }
    longest
}

impl CpuBuffer {
    /// Sets up the empty buffer so that it holds `saved`: at most `nr_slots + 1` results of a
    /// validation of its memory, the oldest first. New events come after them.
    ///
    /// # Safety
    ///
    /// Nobody else uses the buffer yet. The memory of sub-buffer `id` is at [`place_of`] in the
    /// validated [`SavedBuffer`] and has not changed since. Slots and sizes are the same, and `saved`
    /// comes from that validation.
    pub unsafe fn restore(&self, saved: &[ValidSubBuffer]) {
        let slots = u64::from(self.setup.nr_slots);
        let Some((oldest, rest)) = saved.split_first() else {
            return;
        };
        let (mut events, mut bytes, mut missing) = (0u64, 0u64, 0u64);
        let mut put =
            |id: u64, sequence: Sequence, slot: u64, from: Option<(&ValidSubBuffer, u64)>| {
                let (number, used, lost) =
                    from.map_or((0, 0, 0), |(from, lost)| (from.events, from.used, lost));
                missing = missing.wrapping_add(lost);
                let sub_buffer = self.sub_buffer(id);
                let end = Position::new(id, number.into(), used.into());
                sub_buffer.sealed.set(end.0);
                sub_buffer.sequence.set(sequence.0);
                sub_buffer.slot.set(slot);
                sub_buffer.first_event.set(events.wrapping_add(missing));
                sub_buffer.first_byte.set(bytes);
                events = events.wrapping_add(number.into());
                bytes = bytes.wrapping_add(self.bytes_of(end));
                self.commit.overrun.set(missing);
                end
            };
        // The reader gets the oldest sub-buffer, as the content before the first.
        put(
            oldest.id.into(),
            Sequence(0),
            slots.wrapping_sub(1),
            Some((oldest, 0)),
        );
        let mut commit = Position::NONE;
        let mut free = 0u64;
        for (before, next) in saved.iter().zip(rest) {
            let sequence = Sequence(free.wrapping_add(1));
            commit = put(
                next.id.into(),
                sequence,
                free,
                Some((next, before.missing(next))),
            );
            self.slot(free)
                .0
                .store_relaxed(Tag::used(commit.id(), sequence).0);
            free = free.wrapping_add(1);
        }
        self.commit
            .sub_buffers_touched
            .set(free.min(slots.wrapping_sub(1)));
        // Empty sub-buffers fill the other slots. Writers continue on the first of them.
        let mut first = true;
        for id in (0..=slots).filter(|id| self.sub_buffer(*id).sealed().used() == 0) {
            if free >= slots {
                break;
            }
            let sequence = Sequence(free.wrapping_add(1));
            let tag = if first {
                Tag::used(id, sequence)
            } else {
                Tag::empty(id)
            };
            if first {
                commit = put(id, sequence, free, None);
            }
            self.slot(free).0.store_relaxed(tag.0);
            free = free.wrapping_add(1);
            first = false;
        }
        self.write.position.set(commit.0);
        // The time of the last event by this kernel's clock is unknown.
        self.write.stamp_position.set(Position::NONE.0);
        // SAFETY: nobody else uses the buffer yet.
        unsafe { *self.read.state.get() = ReaderState::new(oldest.id.into()) };
        self.commit.commit.store_release(commit.0);
    }
}

/// The 64-bit word at `offset`.
fn word(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes
        .get(offset..offset.checked_add(8)?)?
        .try_into()
        .ok()
        .map(u64::from_ne_bytes)
}
