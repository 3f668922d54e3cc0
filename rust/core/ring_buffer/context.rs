// SPDX-License-Identifier: GPL-2.0

//! The contexts of writers, and the context word, which says in which of them someone writes.

/// The context of a writer. A deeper context interrupts a higher one, never the other way round.
///
/// A context has two bits of the buffer's context word. The lower bit is for an event in a context
/// that is already writing. This happens when an interrupt is taken before `preempt_count` shows
/// it. Such an event is inside the other one. So the lowest set bit is always that of the innermost
/// writer.
///
/// # Invariants
///
/// The number is that of the bit, and is at most 7.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context(u64);

impl Context {
    /// Task context.
    pub const NORMAL: Self = Self(7);
    /// Softirq.
    #[cfg(not(CONFIG_RTRACE))]
    pub const SOFTIRQ: Self = Self(5);
    /// Hardirq.
    #[cfg(not(CONFIG_RTRACE))]
    pub const IRQ: Self = Self(3);
    /// NMI.
    #[cfg(not(CONFIG_RTRACE))]
    pub const NMI: Self = Self(1);
    /// The number of contexts, without the second ones of a kind.
    pub(super) const KINDS: usize = 4;
    /// The bits of the context word for one nesting level.
    pub(super) const BITS: u32 = 8;
    /// The number of nesting levels in the context word, the lowest included.
    pub(super) const LEVELS: usize = 7;
    /// The bit of the context word for writers that have moved to another sub-buffer than that of
    /// the commit position. The publishing writer then walks several sub-buffers. The bit stays set
    /// after its writer has left.
    pub(super) const CROSSED: u64 = 1 << 63;
    /// A mask for the context word, sign-extended: it keeps [`Self::CROSSED`] and clears the bits
    /// of a writer that is in no other writer.
    pub(super) const LEFT: i32 = i32::MIN;

    /// The context for `interrupt_context_level()`: 0 task, 1 softirq, 2 hardirq, 3 NMI. Only the
    /// lowest two bits of `level` are used.
    #[inline(always)]
    pub const fn from_interrupt_level(level: u32) -> Self {
        // INVARIANT: at most 3, times 2 plus 1. (This is 3 minus the level, in fewer instructions.)
        Self((!level & 3) as u64 * 2 + 1)
    }

    /// The context for an event inside another one of this context.
    pub(super) const fn second(self) -> Self {
        // INVARIANT: not larger than it was.
        Self(self.0 & !1)
    }

    /// Whether this is the second context of its kind.
    #[inline(always)]
    pub(super) const fn is_second(self) -> bool {
        self.0 & 1 == 0
    }

    /// Its index among the [`KINDS`](Self::KINDS).
    #[inline(always)]
    pub(super) const fn kind(self) -> usize {
        self.0 as usize >> 1
    }

    /// The innermost context of a context word.
    pub(super) const fn innermost(word: u64) -> Self {
        // INVARIANT: a remainder of a division by 8.
        Self((word.trailing_zeros() % Self::BITS) as u64)
    }

    /// The number of levels below that of the outermost context of a context word.
    pub(super) const fn level(word: u64) -> usize {
        ((word & !Self::CROSSED | 1).ilog2() / Self::BITS) as usize
    }

    /// The context word without the innermost context. If there is no other one, it is
    /// [`Self::CROSSED`] or 0.
    pub(super) const fn without_innermost(word: u64) -> u64 {
        let writers = word & !Self::CROSSED;
        word & Self::CROSSED | writers & writers.wrapping_sub(1)
    }

    /// Whether the context word has at most one context.
    pub(super) const fn is_outermost(word: u64) -> bool {
        Self::without_innermost(word) & !Self::CROSSED == 0
    }

    #[inline(always)]
    pub(super) const fn bit(self) -> u64 {
        1 << (self.0 & 7)
    }
}
