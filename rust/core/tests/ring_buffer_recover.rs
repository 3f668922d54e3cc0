// SPDX-License-Identifier: GPL-2.0

//! A buffer's memory as another kernel finds it: whole, cut off at any moment, with words changed,
//! as mere noise.

#![cfg(not(loom))]

use proptest::prelude::*;
use rtrace_core::ring_buffer::{
    place_of, Context, CpuBuffer, Env, Iter, Parts, SavedBuffer, SubBuffer, ValidSubBuffer,
    Validation,
};
use std::mem::{size_of, size_of_val};
use std::ptr::NonNull;

const SIZE: u32 = 256;
const SLOTS: u32 = 6;

/// Memory in one piece each, as it is in a region that outlives kernels.
struct Region {
    buffer: Box<CpuBuffer>,
    descriptors: Box<[SubBuffer]>,
    memory: Box<[u64]>,
}

/// Its bytes.
#[derive(Clone)]
struct Image {
    buffer: Vec<u8>,
    descriptors: Vec<u8>,
    memory: Vec<u8>,
}

struct At(u64);

impl Env for At {
    fn now(&self) -> u64 {
        self.0
    }
}

fn bytes_of<T: ?Sized>(value: &T) -> Vec<u8> {
    // SAFETY: the bytes of a live value, of types without padding that matters; nobody writes them
    // meanwhile.
    unsafe {
        std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of_val(value))
    }
    .to_vec()
}

impl Region {
    fn on(mut memory: Box<[u64]>) -> Self {
        let base = memory.as_mut_ptr().cast::<u8>();
        let at = |id| NonNull::new(base.wrapping_add(place_of(id, SLOTS) * SIZE as usize)).unwrap();
        let mut descriptors: Box<[_]> = (0..=SLOTS).map(|id| SubBuffer::new(at(id))).collect();
        let parts = Parts {
            sub_buffers: NonNull::new(descriptors.as_mut_ptr()).unwrap(),
            nr_slots: SLOTS,
            sub_buffer_size: SIZE,
        };
        // SAFETY: as many as they say, aligned, initialised, and kept as long as the buffer.
        let buffer = Box::new(unsafe { CpuBuffer::new(parts) }.unwrap());
        Self {
            buffer,
            descriptors,
            memory,
        }
    }

    fn new() -> Self {
        Self::on(vec![0; (SLOTS + 1) as usize * SIZE as usize / 8].into_boxed_slice())
    }

    /// Writes a number, and its complement, `length` words of it.
    fn write(&self, time: u64, number: u64, length: usize) {
        // SAFETY: one thread writes.
        let writer = unsafe { self.buffer.writer(Context::NORMAL) };
        let clock = At(time);
        let mut event = writer.reserve(&clock, 16 * length).unwrap();
        for chunk in event.payload().chunks_exact_mut(16) {
            chunk[..8].copy_from_slice(&number.to_ne_bytes());
            chunk[8..].copy_from_slice(&(!number).to_ne_bytes());
        }
        let _ = event.commit();
    }

    fn consume(&self, count: usize) {
        // SAFETY: one thread reads.
        let mut reader = unsafe { self.buffer.reader() };
        (0..count).for_each(|_| _ = reader.consume());
    }

    fn image(&self) -> Image {
        Image {
            buffer: bytes_of(&*self.buffer),
            descriptors: bytes_of(&*self.descriptors),
            memory: bytes_of(&*self.memory),
        }
    }

    /// What is there, as time and number; those with a wrong complement left out. And how many are
    /// said to be lost.
    fn read(&self) -> (Vec<(u64, u64)>, u64) {
        // SAFETY: one thread reads.
        let reader = unsafe { self.buffer.reader() };
        let mut iter = Iter::new(vec![0; SIZE as usize]);
        let (mut found, mut lost) = (Vec::new(), 0);
        while let Some(event) = iter.next(&reader) {
            lost += event.lost;
            let word = |at: usize| {
                event
                    .payload
                    .get(at..at + 8)
                    .map(|b| u64::from_ne_bytes(b.try_into().unwrap()))
            };
            if let Some((number, other)) = word(0).zip(word(8)) {
                if number == !other {
                    found.push((event.time, number));
                }
            }
        }
        (found, lost)
    }
}

impl Image {
    fn validate(&self, valid: &mut [ValidSubBuffer]) -> Validation {
        SavedBuffer {
            buffer: &self.buffer,
            descriptors: &self.descriptors,
            memory: &self.memory,
            nr_slots: SLOTS,
            sub_buffer_size: SIZE,
        }
        .validate(valid)
    }

    fn recover(&self) -> (Region, Validation) {
        let mut valid = [ValidSubBuffer::default(); SLOTS as usize + 1];
        let validation = self.validate(&mut valid);
        let words = self
            .memory
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
            .collect();
        let region = Region::on(words);
        // SAFETY: the buffer is new, on the validated memory.
        unsafe { region.buffer.restore(&valid[..validation.kept]) };
        (region, validation)
    }

    /// Each of its words in turn.
    fn words(&mut self) -> impl Iterator<Item = (usize, usize)> {
        let lengths = [self.buffer.len(), self.descriptors.len(), self.memory.len()];
        (0..3).flat_map(move |part| (0..lengths[part] / 8).map(move |word| (part, word)))
    }

    fn change(&mut self, (part, word): (usize, usize), change: impl Fn(u64) -> u64) {
        let bytes =
            [&mut self.buffer, &mut self.descriptors, &mut self.memory][part].as_mut_slice();
        let bytes = &mut bytes[8 * word..8 * word + 8];
        let old = u64::from_ne_bytes(bytes[..].try_into().unwrap());
        bytes.copy_from_slice(&change(old).to_ne_bytes());
    }
}

/// Events of different lengths and distances; gives their times.
fn fill(region: &Region, count: u64) -> Vec<(u64, u64)> {
    let mut time = 1 << 30;
    (0..count)
        .map(|number| {
            time += if number % 17 == 3 {
                1 << 28
            } else {
                number % 5
            };
            region.write(time, number, 1 + (number % 3) as usize);
            (time, number)
        })
        .collect()
}

fn in_order(events: &[(u64, u64)]) -> bool {
    events
        .windows(2)
        .all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 < pair[1].1)
}

#[test]
fn all_is_there_at_any_length() {
    for count in 0..120 {
        for consumed in [0, 1, 7, 200] {
            let region = Region::new();
            let written = fill(&region, count);
            let unread = region.read().0.len();
            region.consume(consumed);
            let (again, validation) = region.image().recover();
            let (found, lost) = again.read();
            assert_eq!((validation.discarded, lost), (0, 0), "{count} {consumed}");
            assert!(
                found.len() >= unread,
                "{count} {consumed}: {} of {unread}",
                found.len()
            );
            assert_eq!(
                found,
                written[written.len() - found.len()..],
                "{count} {consumed}"
            );
            assert_eq!(again.buffer.entries(), found.len() as u64);

            // Nothing is done with it until it is lost again.
            let (third, _) = again.image().recover();
            assert_eq!(third.read().0, found);

            // Or it goes on: what is new comes behind what is old, until that is overwritten.
            let new: Vec<_> = (0..150)
                .map(|number| {
                    (
                        written.last().map_or(0, |last| last.0) + number,
                        1000 + number,
                    )
                })
                .collect();
            for (index, (time, number)) in new.iter().enumerate() {
                again.write(*time, *number, 1);
                let (now, lost) = again.read();
                let all: Vec<_> = found.iter().chain(&new[..=index]).copied().collect();
                // The reader has the oldest sub-buffer; what is lost is lost behind that.
                let split = now.len()
                    - now
                        .iter()
                        .rev()
                        .zip(all.iter().rev())
                        .take_while(|(a, b)| a == b)
                        .count();
                assert_eq!(now[..split], all[..split], "{count} {consumed} {index}");
                assert_eq!(
                    now.len() as u64 + lost,
                    all.len() as u64,
                    "{count} {consumed} {index}"
                );
                let stats = again.buffer.stats();
                assert_eq!(stats.entries + stats.overrun, all.len() as u64);
            }
            // By the consuming reader as well.
            let now = again.read().0;
            again.consume(now.len());
            assert_eq!(again.buffer.entries(), 0);
        }
    }
}

#[test]
fn what_was_not_committed_is_not_there() {
    let region = Region::new();
    let written = fill(&region, 10);
    // SAFETY: one thread writes.
    let writer = unsafe { region.buffer.writer(Context::NORMAL) };
    let outer = writer.reserve(&At(1 << 40), 16).unwrap();
    // Interrupts that fill what comes behind.
    for number in 0..30 {
        // SAFETY: as above, one context inside the other.
        let inner = unsafe { region.buffer.writer(Context::from_interrupt_level(1)) };
        let clock = At((1 << 40) + number);
        let mut event = inner.reserve(&clock, 16).unwrap();
        event.payload().fill(0xff);
        let _ = event.commit();
    }
    let image = region.image();
    let _ = outer.commit();
    let (again, validation) = image.recover();
    let found = again.read().0;
    assert_eq!((found.last(), validation.discarded), (written.last(), 0));
    assert_eq!(found, written[written.len() - found.len()..]);
}

/// Whatever word is changed in whatever way: of what is found, all is in order, and at most the
/// sub-buffer is gone that was hit, and with the commit position the newest; unless the commit
/// position has become another one that can be.
#[test]
fn each_word_changed() {
    for (count, consumed) in [(20, 0), (90, 0), (90, 20)] {
        let region = Region::new();
        fill(&region, count);
        region.consume(consumed);
        let mut image = region.image();
        let whole = image.recover().0.read().0;
        let commit_word = (0, 128 / 8);
        let patterns = (0..64).map(|bit| 1u64 << bit).chain([
            u64::MAX,
            0xffff,
            0xffff << 32,
            0x0101_0101_0101_0101,
        ]);
        let patterns: Vec<_> = patterns.collect();
        for word in image.clone().words() {
            for pattern in &patterns {
                image.change(word, |old| old ^ pattern);
                let (again, validation) = image.recover();
                let (found, lost) = again.read();
                // A changed length may shift a payload, which nothing but the payload could tell.
                let found: Vec<_> = found
                    .into_iter()
                    .filter(|(_, number)| *number < count)
                    .collect();
                assert!(in_order(&found), "{word:?} {pattern:x}: {found:?}");
                if word != commit_word {
                    assert!(
                        validation.discarded <= 2,
                        "{word:?} {pattern:x}: {validation:?}"
                    );
                    assert!(
                        found.len() + 2 * SIZE as usize / 20 >= whole.len(),
                        "{word:?} {pattern:x}: {}",
                        found.len()
                    );
                    assert!(
                        lost <= 2 * u64::from(SIZE) / 20,
                        "{word:?} {pattern:x}: {lost}"
                    );
                }
                image.change(word, |old| old ^ pattern);
            }
            let saved = image.clone();
            image.change(word, |_| 0);
            assert!(in_order(&image.recover().0.read().0), "{word:?} zeroed");
            image = saved;
        }
    }
}

#[test]
fn a_bad_sub_buffer_is_left_out_and_counted() {
    let region = Region::new();
    fill(&region, 90);
    let mut image = region.image();
    let (whole, all) = image.recover();
    let whole = whole.read().0;
    // Nothing was consumed, so the reader's is empty.
    assert_eq!(
        all,
        Validation {
            kept: SLOTS as usize,
            discarded: 0
        }
    );
    for place in 1..=SLOTS as usize {
        let saved = image.clone();
        image.memory[place * SIZE as usize + 16..(place + 1) * SIZE as usize].fill(0);
        let (again, validation) = image.recover();
        let (found, lost) = again.read();
        assert_eq!(
            validation,
            Validation {
                kept: SLOTS as usize - 1,
                discarded: 1
            },
            "{place}"
        );
        // A gap in the middle is told to the reader, with its size.
        let gap = found
            .windows(2)
            .find(|pair| pair[0].1 + 1 != pair[1].1)
            .map_or(0, |pair| pair[1].1 - pair[0].1 - 1);
        assert_eq!(lost, gap, "{place}");
        assert!(in_order(&found) && found.len() < whole.len());
        let stats = again.buffer.stats();
        assert_eq!((stats.entries, stats.overrun), (found.len() as u64, gap));
        image = saved;
    }
}

proptest! {
    #[test]
    fn noise_is_safe(
        count in 0..200u64,
        noise in proptest::collection::vec((any::<usize>(), any::<u64>()), 0..60),
        all in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let region = Region::new();
        fill(&region, count);
        let mut image = region.image();
        if all {
            let mut state = seed | 1;
            for part in [&mut image.buffer, &mut image.descriptors, &mut image.memory] {
                for byte in part.iter_mut() {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    *byte = if state % 3 == 0 { 0 } else { state as u8 };
                }
            }
        }
        let words: Vec<_> = image.words().collect();
        for (at, value) in noise {
            image.change(words[at % words.len()], |_| value);
        }
        let (again, validation) = image.recover();
        prop_assert!(validation.kept <= SLOTS as usize + 1);
        let (found, _) = again.read();
        prop_assert!(found.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        again.write(u64::MAX >> 8, 7, 1);
        again.consume(10_000);
        prop_assert_eq!(again.buffer.entries(), 0);
    }
}

/// A word short, and sizes of nothing.
#[test]
fn too_little_memory() {
    let region = Region::new();
    fill(&region, 90);
    let image = region.image();
    for (buffer, descriptors, memory) in [
        (0, 0, 0),
        (128, 64, 255),
        (size_of::<CpuBuffer>(), 7 * 64, 256),
        (200, 447, 1792),
    ] {
        let cut = Image {
            buffer: image.buffer[..buffer].to_vec(),
            descriptors: image.descriptors[..descriptors].to_vec(),
            memory: image.memory[..memory].to_vec(),
        };
        let mut valid = [ValidSubBuffer::default(); SLOTS as usize + 1];
        let validation = cut.validate(&mut valid);
        assert!(validation.kept < 7);
        assert_eq!(image.validate(&mut []).kept, 0);
    }
}
