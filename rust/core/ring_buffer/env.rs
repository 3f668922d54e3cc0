// SPDX-License-Identifier: GPL-2.0

//! What a writer needs from outside: the clock, and a place for tests to interrupt it.

/// A point at which a writer can be interrupted and other contexts then see a state of its words that they see at
/// no other point. Tests write from [`Env::step`] at each of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Step {
    ContextEntered,
    PositionRead,
    StampRead,
    ClockRead,
    PositionMoved,
    StampStored,
    StampPublished,
    SlotRead,
    SlotClaimed,
    OverrunCounted,
    SubBufferNumbered,
    SubBufferEntered,
    SubBufferSealed,
    SubBufferStamped,
    HeaderWritten,
    CommitStarted,
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

/// The surroundings of a writer. Everything inlines; the kernel's implementation reads the buffer's clock.
pub trait Env {
    /// The time, in the clock's units. Called with the buffer's context bit set, in any context including NMI.
    fn now(&self) -> u64;

    /// Called at each point where an interrupt makes a difference. Only tests implement it.
    #[inline(always)]
    fn step(&self, _at: Step) {}
}
