// SPDX-License-Identifier: GPL-2.0

//! What a writer needs from outside: the clock, and a place for tests to interrupt it.

/// A point at which a writer can be interrupted and other contexts then see a state of its words
/// that they see at no other point. Tests write from [`Env::step`] at each of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Step {
    ContextEntered,
    PositionRead,
    StampPositionRead,
    StampRead,
    ClockRead,
    PositionMoved,
    StampStored,
    StampPublished,
    SlotRead,
    SlotClaimed,
    OverrunCounted,
    SubBufferNumbered,
    StampForgotten,
    SubBufferSealed,
    SubBufferStamped,
    #[cfg(not(CONFIG_RTRACE))]
    HeaderWritten,
    CommitStarted,
    CommitPositionRead,
    CommitWalked,
    CommitStored,
    ContextLeft,
    ContextEnteredAgain,
    DiscardStarted,
    DiscardStampInvalid,
    DiscardTakenBack,
    DiscardStampRestored,
    DiscardUncounted,
}

/// The surroundings of a writer. Everything inlines; the kernel's implementation reads the buffer's
/// clock.
pub trait Env {
    /// Is this the clock that [`CpuBuffer::set_short_clock`](super::CpuBuffer::set_short_clock) is
    /// about?
    const IS_SHORT_CLOCK: bool = true;

    /// The time, in the clock's units. Called with the buffer's context bit set or about to be, in
    /// any context including NMI.
    fn now(&self) -> u64;

    /// Called when the clock was read as `to` after an event of time `from`, a later one. Context
    /// as [`now`](Self::now).
    fn went_backwards(&self, _from: u64, _to: u64) {}

    /// Called at each point where an interrupt makes a difference. Only tests implement it.
    #[inline(always)]
    fn step(&self, _at: Step) {}
}
