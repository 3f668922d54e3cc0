// SPDX-License-Identifier: GPL-2.0

//! A compiled filter, and its evaluation.

use super::link::Join;
use crate::core::parse::glob::{Kind, Pattern};
use crate::core::parse::parser::until_nul;

/// In [`Step::on_true`] and [`Step::on_false`]: the filter passes the event.
pub const ACCEPT: u16 = u16::MAX;

/// In [`Step::on_true`] and [`Step::on_false`]: the filter rejects the event.
pub const REJECT: u16 = u16::MAX - 1;

/// One predicate.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What is compared.
    pub test: Test,
    /// The step to go on with when it holds; always a later one, [`ACCEPT`] or [`REJECT`].
    pub on_true: u16,
    /// The step to go on with when it does not hold.
    pub on_false: u16,
    /// What stands behind it.
    pub(super) join: Join,
    /// Whether the jumps are exchanged.
    pub(super) negated: bool,
}

/// What a predicate compares.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// A number from `low` on, by up to `span`; all of them are as [`Load`] leaves them.
    Range { load: Load, low: u64, span: u64 },
    /// A number that has a bit of `bits`.
    Bits { load: Load, bits: u64 },
    /// Nothing: it never holds.
    Never,
    /// A text.
    Text { place: Place, text: Text },
    /// This CPU's number, in the upper half of a word, from `low` on by up to `span`.
    Cpu { low: u64, span: u64 },
    /// This CPU and a mask.
    CpuMask { test: CpuTest, mask: u16 },
    /// A number that is a CPU, and a mask. A number beyond all CPUs never holds.
    Number {
        load: Load,
        test: CpuTest,
        mask: u16,
    },
    /// A mask of the entry, by the offset of its `__data_loc`, and a mask.
    Mask {
        location: u16,
        test: MaskTest,
        mask: u16,
    },
    /// A mask of the entry and one CPU.
    MaskCpu {
        location: u16,
        test: MaskTest,
        cpu: u16,
    },
    /// Functions of the function event: never evaluated, see [`Program::function_rules`].
    Functions { not: bool, start: u16, len: u16 },
}

/// One CPU against a mask that has not exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuTest {
    /// `&`: the mask has it.
    Member,
    /// `!=`: always.
    Always,
    /// `==`: never.
    Never,
}

/// A mask against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskTest {
    /// `==`.
    Equal,
    /// `!=`.
    Unequal,
    /// `&`: they share a CPU.
    Shared,
}

/// How a number is taken from an entry: eight bytes, shifted until its highest bit is the word's.
///
/// Below the number there may be others' bits, which a range of the shifted values takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    at: u16,
    left: u8,
    /// How many bits the number has.
    pub bits: u8,
}

impl Load {
    /// The number of `size` bytes at `offset`; `None` for sizes that no number has.
    pub fn new(offset: u16, size: u16) -> Option<Self> {
        if !matches!(size, 1 | 2 | 4 | 8) {
            return None;
        }
        // An entry has eight bytes at least, so all of these are in it if the number is.
        let at = offset.checked_add(size)?.saturating_sub(8);
        let before = offset.checked_sub(at)?;
        let left = if cfg!(target_endian = "little") {
            8u16.checked_sub(before)?.checked_sub(size)?
        } else {
            before
        };
        Some(Self {
            at,
            left: u8::try_from(left.checked_mul(8)?).ok()?,
            bits: u8::try_from(size.checked_mul(8)?).ok()?,
        })
    }

    /// How far the number's lowest bit is from the word's.
    pub(super) const fn shift(self) -> u32 {
        64u32.saturating_sub(self.bits as u32)
    }

    #[inline(always)]
    fn word(self, entry: &[u8]) -> Option<u64> {
        let bytes = entry.get(usize::from(self.at)..)?.first_chunk()?;
        Some(u64::from_ne_bytes(*bytes).wrapping_shl(u32::from(self.left)))
    }

    fn number(self, entry: &[u8]) -> Option<u64> {
        Some(self.word(entry)?.wrapping_shr(self.shift()))
    }
}

/// Where a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the entry.
    Array {
        /// Its offset.
        offset: u16,
        /// Its size.
        size: u16,
    },
    /// In the entry, by a word at this offset.
    DataLoc(u16),
    /// In the entry, by a word at this offset, counted from the word's end.
    RelLoc(u16),
    /// In memory, by an address at this offset.
    Memory {
        /// The address's offset.
        offset: u16,
        /// Whether it is the task's memory.
        user: bool,
        /// Whether the text is not to match; what cannot be read passes neither way.
        negated: bool,
    },
    /// The current task's name.
    Comm,
}

/// What a text is compared with: a part of the filter's own text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// How.
    pub kind: Kind,
    /// Where it starts.
    pub start: u16,
    /// How long it is.
    pub len: u16,
}

/// What evaluation needs beside the entry. Any context.
pub trait Outside {
    /// This CPU.
    fn cpu(&self) -> u32;

    /// The current task's name, up to a NUL if there is one.
    fn comm(&self) -> [u8; 16];

    /// What `matches` says about the text at `address` in the kernel's or the task's memory; `None`
    /// if it cannot be read. A long text may be cut off.
    fn text(
        &self,
        address: u64,
        user: bool,
        matches: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool>;
}

/// What the function event's filter says about some functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionRule<'a> {
    /// Whether they are left out (`!=`).
    pub not: bool,
    /// Patterns, separated by blanks or commas.
    pub patterns: &'a [u8],
}

/// A compiled filter.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The text that it was compiled from.
    pub text: &'a [u8],
    /// The steps; the first one comes first.
    pub steps: &'a [Step],
    /// The words of its masks.
    pub masks: &'a [u64],
    /// How many CPUs a mask is about.
    pub cpus: usize,
}

impl<'a> Program<'a> {
    /// Whether the event passes whose entry is `entry`. Any context; takes as many steps as the
    /// filter has predicates at most.
    #[inline]
    pub fn matches(&self, entry: &[u8], outside: &impl Outside) -> bool {
        let mut next = 0;
        while let Some(step) = self.steps.get(usize::from(next)) {
            let holds = match &step.test {
                Test::Range { load, low, span } => load
                    .word(entry)
                    .is_some_and(|word| word.wrapping_sub(*low) <= *span),
                Test::Bits { load, bits } => load.word(entry).is_some_and(|word| word & *bits != 0),
                test => self.holds(test, entry, outside),
            };
            next = if holds { step.on_true } else { step.on_false };
        }
        next == ACCEPT
    }

    #[inline(never)]
    fn holds(&self, test: &Test, entry: &[u8], outside: &impl Outside) -> bool {
        match *test {
            Test::Text { place, text } => self
                .text_matches(place, text, entry, outside)
                .unwrap_or(false),
            Test::Cpu { low, span } => u64::from(outside.cpu())
                .wrapping_shl(32)
                .wrapping_sub(low)
                .le(&span),
            Test::CpuMask { test, mask } => self.cpu_holds(outside.cpu(), test, mask),
            Test::Number { load, test, mask } => {
                // C takes the lower half of a longer number.
                let cpu = load.number(entry).map(|number| number as u32);
                cpu.is_some_and(|cpu| {
                    usize::try_from(cpu).is_ok_and(|cpu| cpu < self.cpus)
                        && self.cpu_holds(cpu, test, mask)
                })
            }
            Test::Mask {
                location,
                test,
                mask,
            } => self.mask_holds(entry, location, test, |word| self.mask_word(mask, word)),
            Test::MaskCpu {
                location,
                test,
                cpu,
            } => self.mask_holds(entry, location, test, |word| {
                if usize::from(cpu / 64) == word {
                    1 << (cpu % 64)
                } else {
                    0
                }
            }),
            // The first two are `matches`'s own.
            Test::Range { .. } | Test::Bits { .. } | Test::Never | Test::Functions { .. } => false,
        }
    }

    fn text_matches(
        &self,
        place: Place,
        text: Text,
        entry: &[u8],
        outside: &impl Outside,
    ) -> Option<bool> {
        let pattern = Pattern {
            kind: text.kind,
            negated: false,
            text: part(self.text, text.start.into(), text.len.into())?,
        };
        match place {
            Place::Array { offset, size } => {
                let found = part(entry, offset.into(), size.into())?;
                Some(pattern.matches(until_nul(found)))
            }
            Place::DataLoc(offset) => {
                let found = located(entry, offset, 0)?;
                Some(pattern.matches(until_nul(found)))
            }
            Place::RelLoc(offset) => {
                let found = located(entry, offset, usize::from(offset).wrapping_add(4))?;
                Some(pattern.matches(until_nul(found)))
            }
            Place::Memory {
                offset,
                user,
                negated,
            } => {
                let address = entry.get(usize::from(offset)..)?.first_chunk()?;
                let address = u64::from_ne_bytes(*address);
                outside.text(address, user, &mut |found| {
                    pattern.matches(until_nul(found)) != negated
                })
            }
            Place::Comm => Some(pattern.matches(until_nul(&outside.comm()))),
        }
    }

    fn cpu_holds(&self, cpu: u32, test: CpuTest, mask: u16) -> bool {
        match test {
            CpuTest::Member => {
                let word = usize::try_from(cpu / 64).map(|word| self.mask_word(mask, word));
                word.is_ok_and(|word| word >> (cpu % 64) & 1 == 1)
            }
            CpuTest::Always => true,
            CpuTest::Never => false,
        }
    }

    /// Compares the entry's mask with the one whose words `other` gives.
    fn mask_holds(
        &self,
        entry: &[u8],
        location: u16,
        test: MaskTest,
        other: impl Fn(usize) -> u64,
    ) -> bool {
        let Some(found) = located(entry, location, 0) else {
            return false;
        };
        let words = self.cpus.div_ceil(64);
        let pairs = (0..words).map(|word| {
            let bytes = found.get(word.wrapping_mul(8)..).unwrap_or(&[]);
            let own = bytes
                .first_chunk()
                .map_or(0, |word| u64::from_ne_bytes(*word));
            let rest = self.cpus.wrapping_sub(word.wrapping_mul(64));
            let own = if rest < 64 {
                own & !(u64::MAX << rest)
            } else {
                own
            };
            (own, other(word))
        });
        let (mut equal, mut shared) = (true, false);
        for (own, other) in pairs {
            equal &= own == other;
            shared |= own & other != 0;
        }
        match test {
            MaskTest::Equal => equal,
            MaskTest::Unequal => !equal,
            MaskTest::Shared => shared,
        }
    }

    fn mask_word(&self, mask: u16, word: usize) -> u64 {
        let words = self.cpus.div_ceil(64);
        let index = usize::from(mask).wrapping_mul(words).wrapping_add(word);
        self.masks.get(index).copied().unwrap_or(0)
    }

    /// What the function event's filter says, in the order of the text; `None` in place of a rule
    /// that such a filter cannot have. Each rule stands for itself, so none may be what decides
    /// whether another one counts.
    pub fn function_rules(&self) -> impl Iterator<Item = Option<FunctionRule<'a>>> + '_ {
        let program = *self;
        self.steps.iter().map(move |step| match step.test {
            Test::Functions { not, start, len }
                if step.on_true == ACCEPT || step.on_false == REJECT =>
            {
                let patterns = part(program.text, start.into(), len.into())?;
                Some(FunctionRule { not, patterns })
            }
            _ => None,
        })
    }
}

fn part(bytes: &[u8], start: usize, len: usize) -> Option<&[u8]> {
    bytes.get(start..)?.get(..len)
}

/// What a location word at `offset` points to, counted from `base`.
fn located(entry: &[u8], offset: u16, base: usize) -> Option<&[u8]> {
    let word = entry.get(usize::from(offset)..)?.first_chunk()?;
    let word = u32::from_ne_bytes(*word);
    let (start, len) = (word as u16, (word >> 16) as u16);
    part(entry, base.wrapping_add(start.into()), len.into())
}
