// SPDX-License-Identifier: GPL-2.0

//! A compiled filter, and its evaluation.

use crate::core::parse::glob::{Kind, Pattern};
use crate::core::parse::parser::until_nul;

/// A value of [`Step::on_true`] and [`Step::on_false`]: the entry passes.
pub const ACCEPT: u16 = u16::MAX;

/// A value of [`Step::on_true`] and [`Step::on_false`]: the entry is rejected.
pub const REJECT: u16 = u16::MAX - 1;

/// One predicate.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The test.
    pub test: Test,
    /// The next step if the test is true: a later step, [`ACCEPT`] or [`REJECT`].
    pub on_true: u16,
    /// The next step if the test is false.
    pub on_false: u16,
    /// The join after the predicate.
    pub(super) join: Join,
    /// Whether the two jumps are swapped.
    pub(super) negated: bool,
}

impl Step {
    /// This step as one of a [plain](plain()) program, if it compares a number beyond the first
    /// `bytes` bytes of an entry.
    fn plain(&self, bytes: usize) -> Option<PlainStep> {
        let (load, mask, low, span) = match self.test {
            Test::Range { load, low, span } => (load, u64::MAX, low, span),
            // Any value but 0.
            Test::Bits { load, bits } => (load, bits, 1, u64::MAX - 1),
            _ => return None,
        };
        (usize::from(load.offset()) >= bytes).then_some(PlainStep {
            mask,
            low,
            span,
            load,
            on_true: self.on_true,
            on_false: self.on_false,
        })
    }
}

/// The operator after a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// How tightly it binds: first by the parentheses around it, then `&&` before `||`.
    pub level: u16,
    /// The result that decides it. The negations around it are included.
    pub decided_by: bool,
    /// The next join that does not bind tighter. [`ACCEPT`] if there is none.
    pub(super) after: u16,
}

impl Join {
    /// The end of the filter.
    pub const END: Self = Self {
        level: 0,
        decided_by: false,
        after: ACCEPT,
    };

    /// A join inside `depth` parentheses.
    pub const fn new(depth: u16, and: bool, inverted: bool) -> Self {
        Self {
            level: depth.saturating_mul(2).saturating_add(and as u16),
            decided_by: and == inverted,
            after: ACCEPT,
        }
    }
}

/// A predicate that compares a number: a word and `mask`, from `low` to `low + span`.
#[derive(Clone, Copy, Debug)]
pub struct PlainStep {
    mask: u64,
    low: u64,
    span: u64,
    load: Load,
    on_true: u16,
    on_false: u16,
}

/// The steps of a plain program, which only compares numbers beyond the first `bytes` bytes of an
/// entry. `None` in place of each step that no plain program has.
pub fn plain(steps: &[Step], bytes: usize) -> impl Iterator<Item = Option<PlainStep>> + '_ {
    steps.iter().map(move |step| step.plain(bytes))
}

impl PlainStep {
    /// The step in a program where its own program begins at step `start`, and `rejected` is next
    /// for what its own program rejects.
    fn moved(self, start: u16, rejected: u16) -> Self {
        let target = |next: u16| match next {
            ACCEPT => ACCEPT,
            REJECT => rejected,
            next => next.saturating_add(start),
        };
        Self {
            on_true: target(self.on_true),
            on_false: target(self.on_false),
            ..self
        }
    }
}

/// The steps of a plain program as a part of a longer one that accepts what any of its parts does.
/// The part begins at step `start`. `None` if the longer program has too many steps.
pub fn part_of_any(
    steps: &[PlainStep],
    start: usize,
    is_last: bool,
) -> Option<impl Iterator<Item = PlainStep> + '_> {
    let end = u16::try_from(start.checked_add(steps.len())?).ok()?;
    let start = u16::try_from(start).ok()?;
    let rejected = if is_last { REJECT } else { end };
    (end < REJECT).then(|| steps.iter().map(move |step| step.moved(start, rejected)))
}

/// [`Program::matches`] of the plain program of these steps.
#[inline(always)]
pub fn matches_plain(steps: &[PlainStep], entry: &[u8]) -> bool {
    let mut next = 0;
    while let Some(step) = steps.get(usize::from(next)) {
        let word = step.load.word(entry);
        let holds = word.is_some_and(|word| (word & step.mask).wrapping_sub(step.low) <= step.span);
        next = if holds { step.on_true } else { step.on_false };
    }
    next == ACCEPT
}

/// The test of a predicate.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// A number from `low` to `low + span`. The values are shifted as by [`Load`].
    Range { load: Load, low: u64, span: u64 },
    /// A number that has at least one of `bits`.
    Bits { load: Load, bits: u64 },
    /// Always false.
    Never,
    /// A text.
    Text { place: Place, text: Text },
    /// The number of the current CPU, in the upper half of a word, from `low` to `low + span`.
    Cpu { low: u64, span: u64 },
    /// The current CPU against a mask.
    CpuMask { test: CpuTest, mask: u16 },
    /// A number that names a CPU, against a mask. False for a number above the largest CPU.
    Number {
        load: Load,
        test: CpuTest,
        mask: u16,
    },
    /// A mask in the entry, found by the offset of its `__data_loc`, against a mask.
    Mask {
        location: u16,
        test: MaskTest,
        mask: u16,
    },
    /// A mask in the entry against one CPU.
    MaskCpu {
        location: u16,
        test: MaskTest,
        cpu: u16,
    },
    /// Functions of `ftrace:function`. Never evaluated, see [`Program::function_rules`].
    Functions { not: bool, start: u16, len: u16 },
}

/// Compares one CPU with a mask of zero or several CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuTest {
    /// `&`: whether the mask has the CPU.
    Member,
    /// `!=`: always true.
    Always,
    /// `==`: always false.
    Never,
}

/// Compares two masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskTest {
    /// `==`.
    Equal,
    /// `!=`.
    Unequal,
    /// `&`: whether they have a CPU in common.
    Shared,
}

/// How a number is read from an entry: eight bytes, shifted until the highest bit of the number is
/// the highest bit of the word.
///
/// The bits below the number can belong to other fields. A range of the shifted values allows any
/// of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    at: u16,
    left: u8,
    /// The number of bits.
    pub bits: u8,
}

impl Load {
    /// A number of `size` bytes at `offset`. `None` for any other size than 1, 2, 4 or 8.
    pub fn new(offset: u16, size: u16) -> Option<Self> {
        if !matches!(size, 1 | 2 | 4 | 8) {
            return None;
        }
        // An entry has at least eight bytes, so all eight are inside the entry if the number is.
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

    /// The offset of the number in the entry.
    const fn offset(self) -> u16 {
        let before = if cfg!(target_endian = "little") {
            self.shift().saturating_sub(self.left as u32)
        } else {
            self.left as u32
        };
        self.at.saturating_add(before as u16 / 8)
    }

    /// The distance of the number's lowest bit from the word's lowest bit.
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
    /// An array in the entry.
    Array {
        /// The offset.
        offset: u16,
        /// The size.
        size: u16,
    },
    /// In the entry, from this offset to the end.
    Tail(u16),
    /// In the entry, behind a location word at this offset.
    DataLoc(u16),
    /// In the entry, behind a location word at this offset; the location counts from the end of the
    /// word.
    RelLoc(u16),
    /// In memory, behind a pointer at this offset.
    Memory {
        /// The offset of the pointer.
        offset: u16,
        /// Whether it points to the task's memory.
        user: bool,
        /// Whether the text must not match. An unreadable text fails both ways.
        negated: bool,
    },
    /// The name of the current task.
    Comm,
}

/// A part of the filter's text that a text is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// The kind of the pattern.
    pub kind: Kind,
    /// The start of the pattern.
    pub start: u16,
    /// The length of the pattern.
    pub len: u16,
}

/// Data that evaluation needs besides the entry. Any context.
pub trait Outside {
    /// The current CPU.
    fn cpu(&self) -> u32;

    /// The name of the current task, up to a NUL if there is one.
    fn comm(&self) -> [u8; 16];

    /// Calls `matches` with the text at `address` in kernel or task memory and returns its result.
    /// `None` if the text cannot be read. A long text may be cut.
    fn text(&self, address: u64, user: bool, matches: &dyn Fn(&[u8]) -> bool) -> Option<bool>;
}

/// A rule of the filter of `ftrace:function`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionRule<'a> {
    /// Whether the functions are excluded (`!=`).
    pub not: bool,
    /// Patterns, separated by blanks or commas.
    pub patterns: &'a [u8],
}

/// A compiled filter.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The text of the filter.
    pub text: &'a [u8],
    /// The steps. Evaluation starts with the first.
    pub steps: &'a [Step],
    /// The words of its masks.
    pub masks: &'a [u64],
    /// The number of CPUs of a mask.
    pub cpus: usize,
}

impl<'a> Program<'a> {
    /// Whether an event with `entry` passes. Any context. Takes at most as many steps as the filter
    /// has predicates.
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

    /// Takes the program by value. So the caller needs no copy in memory unless it calls this.
    #[inline(never)]
    fn holds(self, test: &Test, entry: &[u8], outside: &impl Outside) -> bool {
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
                // C uses the lower half of a longer number.
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
            // `matches` handles the first two.
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
            Place::Tail(offset) => {
                let found = entry.get(usize::from(offset)..)?;
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
                outside.text(address, user, &|found| {
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

    /// Compares the mask in the entry with the mask whose words `other` returns.
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

    /// The rules of the filter of `ftrace:function`, in the order of the text. `None` for a step
    /// that such a filter cannot have. Each rule is independent: no rule may decide whether another
    /// one applies.
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

/// The bytes that the location word at `offset` points to. The location counts from `base`.
fn located(entry: &[u8], offset: u16, base: usize) -> Option<&[u8]> {
    let word = entry.get(usize::from(offset)..)?.first_chunk()?;
    let word = u32::from_ne_bytes(*word);
    let (start, len) = (word as u16, (word >> 16) as u16);
    part(entry, base.wrapping_add(start.into()), len.into())
}
