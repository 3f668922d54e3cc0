// SPDX-License-Identifier: GPL-2.0

//! Recovers a ring buffer from memory that an earlier kernel has left.
//!
//! A buffer whose memory outlives the kernel is found as plain bytes ([`Relics`]).
//! [`Relics::survey`] trusts none of them. It compares ids, lengths and numbers with their limits
//! and with each other, and parses the records of each sub-buffer. If the times of sub-buffers
//! contradict each other, it keeps the largest consistent set. A sub-buffer that fails a check is
//! dropped and counted. [`CpuBuffer::adopt`] then sets up a new, empty buffer on the same memory,
//! so that its reader finds the kept sub-buffers, the oldest first. Events that had been read are
//! there again, too.
//!
//! Events after the commit position were not committed and are dropped.
//!
//! Words of `Documentation/persistent-buffers.md`: *relics* are the bytes, a *find* is a sub-buffer
//! that passed the checks.

use core::mem::{offset_of, size_of};

use super::cpu_buffer::{CommitLine, CpuBuffer};
use super::parse::Cursor;
use super::reader::ReaderState;
use super::sub_buffer::{SubBuffer, HEADER_SIZE};
use super::word::{Position, Sequence, Tag};

/// The memory of one CPU's buffer. Nobody writes it.
#[derive(Clone, Copy, Debug)]
pub struct Relics<'a> {
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
pub struct Find {
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

/// The result of a survey.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Survey {
    /// The number of finds at the front, the oldest first.
    pub kept: usize,
    /// The number of dropped sub-buffers that had events.
    pub discarded: usize,
}

/// The words of a descriptor.
#[derive(Clone, Copy)]
struct Relic {
    sealed: Position,
    sequence: Sequence,
    first_event: u64,
}

impl Relics<'_> {
    /// Checks everything. `finds` has room for `nr_slots + 1` finds; others are dropped.
    pub fn survey(&self, finds: &mut [Find]) -> Survey {
        let mut survey = Survey::default();
        let commit = self.commit();
        let newest = commit
            .and_then(|position| self.relic(position.id() as u32))
            .map(|relic| relic.sequence);
        let mut found = 0;
        for id in 0..=self.nr_slots {
            let Some(relic) = self.relic(id) else {
                survey.discarded += 1;
                continue;
            };
            let end = commit
                .filter(|position| position.id() == u64::from(id))
                .unwrap_or(relic.sealed);
            // If there is no newest one, ages count from the largest possible number.
            let age = age_of(
                relic.sequence,
                newest.unwrap_or(Sequence(Sequence::MODULUS / 2 - 1)),
            );
            // A sub-buffer after the commit position had no committed events, so dropping it is no
            // loss.
            let Some(age) = age.filter(|_| end.used() != 0) else {
                continue;
            };
            match (self.find(id, end), finds.get_mut(found)) {
                (Some(find), Some(place)) => {
                    *place = Find {
                        age,
                        number: relic.first_event,
                        ..find
                    };
                    found += 1;
                }
                _ => survey.discarded += 1,
            }
        }
        let finds = finds.get_mut(..found).unwrap_or_default();
        sort(finds, |a, b| (b.age, a.first) < (a.age, b.first));
        survey.kept = choose(finds);
        survey.discarded += found - survey.kept;
        // In this case the sub-buffer that was being written is simply the newest one.
        if commit.is_none() && survey.kept != 0 {
            survey.kept -= 1;
            survey.discarded += 1;
        }
        survey
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
            .relic(id)
            .is_none_or(|relic| self.find(id, relic.sealed).is_some());
        (!wrong).then_some(position)
    }

    /// The descriptor of `id`. `None` if it is invalid.
    fn relic(&self, id: u32) -> Option<Relic> {
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
        (sealed.id() == u64::from(id) && right).then_some(Relic {
            sealed,
            sequence,
            first_event,
        })
    }

    /// Sub-buffer `id` written up to `end`, if its records match the number of events and bytes.
    fn find(&self, id: u32, end: Position) -> Option<Find> {
        let start = place_of(id, self.nr_slots).checked_mul(self.sub_buffer_size as usize)?;
        let memory = self
            .memory
            .get(start..start.checked_add(self.sub_buffer_size as usize)?)?;
        let records = memory.get(HEADER_SIZE..HEADER_SIZE.checked_add(end.used() as usize)?)?;
        let first = word(memory, 0)?;
        let mut cursor = Cursor::start(first);
        let mut events = 0u64;
        loop {
            match cursor.next_event(records) {
                Ok(Some(_)) => events += 1,
                Ok(None) => break,
                Err(_) => return None,
            }
        }
        let sound =
            events == end.events() && events != 0 && end.used() % 4 == 0 && cursor.time >= first;
        let (events, used) = (events as u32, end.used() as u32);
        sound.then_some(Find {
            id,
            events,
            used,
            first,
            last: cursor.time,
            ..Find::default()
        })
    }
}

/// How many contents `sequence` is older than `newest`. `None` if it is newer.
fn age_of(sequence: Sequence, newest: Sequence) -> Option<u64> {
    let age = newest.minus(sequence.0).0;
    (age < Sequence::MODULUS / 2).then_some(age)
}

/// An in-place heap sort. The stack is small at boot, and the sorts of `core` need kilobytes of it.
fn sort(finds: &mut [Find], less: impl Fn(&Find, &Find) -> bool) {
    let sift = |finds: &mut [Find], mut root: usize| loop {
        let mut top = root;
        for child in [2 * root + 1, 2 * root + 2] {
            if let (Some(new), Some(old)) = (finds.get(child), finds.get(top)) {
                if less(old, new) {
                    top = child;
                }
            }
        }
        if top == root {
            break;
        }
        finds.swap(root, top);
        root = top;
    };
    (0..finds.len() / 2)
        .rev()
        .for_each(|root| sift(finds, root));
    for end in (1..finds.len()).rev() {
        finds.swap(0, end);
        sift(finds.get_mut(..end).unwrap_or_default(), 0);
    }
}

impl Find {
    /// The number of events missing between this one and `next`, if that number is plausible.
    fn missing(&self, next: &Find) -> u64 {
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

/// Moves the longest consistent part of `finds` to the front and returns its length. `finds` is
/// sorted by number, the oldest first. In a consistent part each find begins when the previous one
/// has ended, or later. At most one of several finds with the same number is in it.
fn choose(finds: &mut [Find]) -> usize {
    // `finds[n - 1].end` is the end of the best chain of n members, as index plus one: the chain
    // that ends first. These ends are sorted by time, so a binary search works.
    let mut longest = 0usize;
    for at in 0..finds.len() {
        let Some(new) = finds.get(at).copied() else {
            break;
        };
        let end_of = |length: usize, finds: &[Find]| {
            let index = finds.get(length.wrapping_sub(1))?.end;
            finds.get((index as usize).wrapping_sub(1)).copied()
        };
        let (mut low, mut high) = (0, longest);
        while low < high {
            let middle = (low + high).div_ceil(2);
            let fits =
                end_of(middle, finds).is_some_and(|end| end.last <= new.first && end.age > new.age);
            if fits {
                low = middle
            } else {
                high = middle - 1
            }
        }
        let before = finds.get(low.wrapping_sub(1)).map_or(0, |entry| entry.end);
        if let Some(entry) = finds.get_mut(at) {
            entry.before = before;
        }
        let better =
            low == longest || end_of(low + 1, finds).is_some_and(|end| new.last < end.last);
        if better {
            if let Some(entry) = finds.get_mut(low) {
                entry.end = at as u32 + 1;
            }
            longest = longest.max(low + 1);
        }
    }
    // Walks the chain backwards and marks the members. Then they move to the front in order.
    let mut next = finds
        .get(longest.wrapping_sub(1))
        .map_or(0, |entry| entry.end);
    for length in (0..longest).rev() {
        let member = (next as usize).wrapping_sub(1);
        next = finds.get(member).map_or(0, |entry| entry.before);
        if let Some(entry) = finds.get_mut(length) {
            entry.end = member as u32;
        }
    }
    for length in 0..longest {
        let member = finds.get(length).map_or(0, |entry| entry.end);
        if let Some(chosen) = finds.get(member as usize).copied() {
            if let Some(place) = finds.get_mut(length) {
                *place = Find {
                    end: place.end,
                    ..chosen
                };
            }
        }
    }
    longest
}

impl CpuBuffer {
    /// Sets up the empty buffer so that it holds `finds`: at most `nr_slots + 1` results of a
    /// survey of its memory, the oldest first. New events come after them.
    ///
    /// # Safety
    ///
    /// Nobody else uses the buffer yet. The memory of sub-buffer `id` is at [`place_of`] in the
    /// surveyed relics and has not changed since. Slots and sizes are the same, and the finds come
    /// from that survey.
    pub unsafe fn adopt(&self, finds: &[Find]) {
        let slots = u64::from(self.setup.nr_slots);
        let Some((oldest, rest)) = finds.split_first() else {
            return;
        };
        let (mut events, mut bytes, mut missing) = (0u64, 0u64, 0u64);
        let mut put = |id: u64, sequence: Sequence, slot: u64, find: Option<(&Find, u64)>| {
            let (number, used, lost) =
                find.map_or((0, 0, 0), |(find, lost)| (find.events, find.used, lost));
            missing = missing.wrapping_add(lost);
            let sub_buffer = self.sub_buffer(id);
            let end = Position::new(id, number.into(), used.into());
            sub_buffer.sealed.set(end.0);
            sub_buffer.sequence.set(sequence.0);
            sub_buffer.slot.set(slot);
            sub_buffer.first_event.set(events.wrapping_add(missing));
            sub_buffer.first_byte.set(bytes);
            events = events.wrapping_add(number.into());
            bytes = bytes.wrapping_add(used.into());
            self.commit.overrun.set(missing);
            end
        };
        // The reader gets the oldest find, as the content before the first.
        put(
            oldest.id.into(),
            Sequence(0),
            slots.wrapping_sub(1),
            Some((oldest, 0)),
        );
        let mut commit = Position::NONE;
        let mut free = 0u64;
        for (before, find) in finds.iter().zip(rest) {
            let sequence = Sequence(free.wrapping_add(1));
            commit = put(
                find.id.into(),
                sequence,
                free,
                Some((find, before.missing(find))),
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
