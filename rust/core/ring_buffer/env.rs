// SPDX-License-Identifier: GPL-2.0

//! The environment of a writer: the clock, and hooks for tests that interrupt it.

#[cfg(any(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS, not(CONFIG_RTRACE)))]
use super::validate::Mismatch;

/// A point where an interrupting context sees a state of the writer's words that it sees at no
/// other point. Tests write from [`Env::step`] at each of them.
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
    SubBufferClosed,
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

/// The environment of a writer. Everything is inlined. In the kernel it reads the buffer's clock.
pub trait Env {
    /// Whether this is the fast path's clock, see
    /// [`CpuBuffer::set_short_clock`](super::CpuBuffer::set_short_clock).
    const IS_SHORT_CLOCK: bool = true;

    /// The time in units of the clock. Called when the buffer's context bit is set or about to be
    /// set. Any context, NMI included.
    fn now(&self) -> u64;

    /// Called when the clock returned `to` after an event with the later time `from`. Any context,
    /// as [`now`](Self::now).
    fn went_backwards(&self, _from: u64, _to: u64) {}

    /// Called when the times of a sub-buffer do not match the time of its last event. Any context,
    /// as [`now`](Self::now).
    #[cfg(any(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS, not(CONFIG_RTRACE)))]
    fn mismatch(&self, found: &Mismatch<'_>) {
        debug_assert!(false, "{found:?}");
    }

    /// Called at each point where an interrupt makes a difference. Only tests implement it.
    #[inline(always)]
    fn step(&self, _at: Step) {}
}
