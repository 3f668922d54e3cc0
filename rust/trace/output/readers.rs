// SPDX-License-Identifier: GPL-2.0

//! Who consumes an instance's buffer.
//!
//! `trace_pipe` has one reader at a time: one of the whole buffer, or one per CPU. Beside that, any number of
//! `trace_pipe_raw` readers may be open. While anybody consumes, the tracer stays as it is.

use kernel::{cpu, cpu::CpuId, new_mutex, prelude::*, sync::Mutex};

struct State {
    /// The whole-buffer pipe is open.
    whole: bool,
    /// Which CPUs' pipes are open, by CPU number.
    cpus: KVec<bool>,
    /// Open consuming files of every kind.
    files: usize,
}

/// The consuming readers of one instance.
///
/// # Invariants
///
/// `whole` is only set while none of `cpus` is.
#[pin_data]
pub(crate) struct Readers {
    #[pin]
    state: Mutex<State>,
}

impl Readers {
    /// Nobody reads yet. May sleep; `ENOMEM`.
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            state <- {
                let cpus = KVec::from_elem(false, cpu::nr_cpu_ids() as usize, GFP_KERNEL)?;
                // INVARIANT: `whole` is not set.
                new_mutex!(State { whole: false, cpus, files: 0 })
            },
        })
    }

    /// Claims the pipe of `cpu`, or the one of all CPUs; `EBUSY` when that overlaps an open one.
    ///
    /// Task context, may sleep. Undone by [`close_pipe`](Self::close_pipe).
    pub(crate) fn open_pipe(&self, cpu: Option<CpuId>) -> Result {
        let mut state = self.state.lock();
        let State { whole, cpus, files } = &mut *state;
        // INVARIANT: `whole` is set only where no CPU is, and the other way round.
        let claim = match cpu {
            None if !cpus.contains(&true) => whole,
            Some(cpu) if !*whole => cpus.get_mut(cpu.as_u32() as usize).ok_or(EINVAL)?,
            _ => return Err(EBUSY),
        };
        if core::mem::replace(claim, true) {
            return Err(EBUSY);
        }
        *files += 1;
        Ok(())
    }

    /// Gives back what [`open_pipe`](Self::open_pipe) claimed.
    pub(crate) fn close_pipe(&self, cpu: Option<CpuId>) {
        let mut state = self.state.lock();
        match cpu {
            None => state.whole = false,
            Some(cpu) => {
                if let Some(open) = state.cpus.get_mut(cpu.as_u32() as usize) {
                    *open = false;
                }
            }
        }
        state.files = state.files.saturating_sub(1);
    }

    /// Counts a raw reader or a mapping, of which there may be many. Task context, may sleep.
    pub(crate) fn open_raw(&self) {
        self.state.lock().files += 1;
    }

    /// Undoes [`open_raw`](Self::open_raw).
    pub(crate) fn close_raw(&self) {
        let mut state = self.state.lock();
        state.files = state.files.saturating_sub(1);
    }

    /// Runs `change` while nobody consumes and nobody can begin to; `EBUSY` when somebody does.
    ///
    /// This is how the tracer of the instance is changed. Task context, may sleep.
    pub(crate) fn while_idle<R>(&self, change: impl FnOnce() -> Result<R>) -> Result<R> {
        let state = self.state.lock();
        if state.files > 0 {
            return Err(EBUSY);
        }
        change()
    }
}
