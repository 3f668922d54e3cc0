// SPDX-License-Identifier: GPL-2.0

//! The environment of a writer: the clock.

#[cfg(any(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS, not(CONFIG_RTRACE)))]
use super::validate::Mismatch;

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
}
