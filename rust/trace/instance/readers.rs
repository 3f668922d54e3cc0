// SPDX-License-Identifier: GPL-2.0

//! The consuming readers of an instance.
//!
//! `trace_pipe` has one reader of the whole buffer, or one per CPU. In addition, any number of
//! `trace_pipe_raw` readers may be open. The tracer cannot change while any consuming reader is
//! open.

use kernel::{
    cpu,
    cpu::CpuId,
    new_mutex,
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        Mutex,
    },
};

struct State {
    /// Whether `trace_pipe` of the whole buffer is open.
    whole: bool,
    /// Which CPUs' `trace_pipe` is open, by CPU number.
    cpus: KVec<bool>,
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
    /// The number of open consuming files of every kind. It changes with the mutex held.
    files: Atomic<usize>,
}

impl Readers {
    /// No readers. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            state <- {
                let cpus = KVec::from_elem(false, cpu::nr_cpu_ids() as usize, GFP_KERNEL)?;
                // INVARIANT: `whole` is not set.
                new_mutex!(State { whole: false, cpus })
            },
            files: Atomic::new(0),
        })
    }

    /// Claims the pipe of `cpu`, or of all CPUs. `EBUSY` if that overlaps an open one.
    ///
    /// Task context, may sleep. Undone by [`close_pipe`](Self::close_pipe).
    pub(crate) fn open_pipe(&self, cpu: Option<CpuId>) -> Result {
        let mut state = self.state.lock();
        let State { whole, cpus } = &mut *state;
        // INVARIANT: `whole` is set only where no CPU is, and the other way round.
        let claim = match cpu {
            None if !cpus.contains(&true) => whole,
            Some(cpu) if !*whole => cpus.get_mut(cpu.as_u32() as usize).ok_or(EINVAL)?,
            _ => return Err(EBUSY),
        };
        if core::mem::replace(claim, true) {
            return Err(EBUSY);
        }
        self.files.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Releases the claim of [`open_pipe`](Self::open_pipe).
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
        self.files.fetch_sub(1, Relaxed);
    }

    /// Counts a raw reader or a mapping. There may be any number of them. Task context, may sleep.
    pub(crate) fn open_raw(&self) {
        let _state = self.state.lock();
        self.files.fetch_add(1, Relaxed);
    }

    /// Undoes [`open_raw`](Self::open_raw).
    pub(crate) fn close_raw(&self) {
        let _state = self.state.lock();
        self.files.fetch_sub(1, Relaxed);
    }

    /// Whether there is a consuming reader. Any context. The answer may be out of date.
    pub(crate) fn any(&self) -> bool {
        self.files.load(Relaxed) != 0
    }

    /// Runs `change` while there is no consuming reader and none can be opened. `EBUSY` if there is
    /// one.
    ///
    /// A change of the instance's tracer uses this. Task context, may sleep.
    pub(crate) fn while_idle<R>(&self, change: impl FnOnce() -> Result<R>) -> Result<R> {
        let _state = self.state.lock();
        if self.any() {
            return Err(EBUSY);
        }
        change()
    }
}
