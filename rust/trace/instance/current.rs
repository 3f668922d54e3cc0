// SPDX-License-Identifier: GPL-2.0

//! The current tracer of an instance: starting it, ending it, and what changes with it.

use super::{row, Instance, State};
use crate::core::parse::options::{self, Flag, Set};
#[cfg(CONFIG_BRANCH_TRACER)]
use crate::trace::tracers::branch::recording as branch;
use crate::trace::tracers::{self, Tracer, NOP_ROW, TRACERS};
use kernel::prelude::*;
use kernel::sync::Arc;

impl Instance {
    /// Makes the tracer called `name` (white space around it ignored) the current one. Task
    /// context, may sleep.
    ///
    /// The buffer is expanded first. When the tracer does not start, the one that was current is
    /// started again, and `error_log` says why.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an unknown name or one not meant for this kind of instance, `EBUSY` while
    /// somebody consumes the buffer (unless the tracer is current already), `ENOMEM`, or what the
    /// tracer's start says.
    pub(crate) fn set_tracer(self: &Arc<Self>, name: &[u8]) -> Result {
        let name = name.trim_ascii();
        let mut reason = None;
        let result = self.change_tracer(name, &mut reason);
        if let Some(reason) = reason {
            self.errors.push(b"current_tracer", name, 0, reason);
        }
        result
    }

    /// Can `tracer` work in an instance like this?
    pub(crate) fn takes(&self, tracer: &dyn Tracer) -> bool {
        (self.is_top() || tracer.in_instances())
            && (self.last_boot().is_none() || !tracer.uses_snapshot())
    }

    fn change_tracer(self: &Arc<Self>, name: &[u8], reason: &mut Option<&'static str>) -> Result {
        let mut state = self.state.lock();
        self.begin_anew();
        self.buffer.expand()?;
        let next = tracers::find(name).ok_or(EINVAL)?;
        if next == state.tracer {
            return Ok(());
        }
        if !self.takes(TRACERS[next]) {
            return Err(EINVAL);
        }
        self.readers.while_idle(|| {
            let last = state.tracer;
            self.stop_tracer(&mut state);
            let started = self.start_tracer(&mut state, next);
            if let Err(error) = started {
                *reason = Some(why(error));
                // Where it does not start again either, `nop` is left.
                let _ = self.start_tracer(&mut state, last);
            }
            started
        })
    }

    /// Ends the current tracer, and puts back what it had forced. `nop` is left.
    pub(super) fn stop_tracer(&self, state: &mut State) {
        let forced = row(state).forces();
        state.running = None;
        #[cfg(CONFIG_BRANCH_TRACER)]
        {
            state.branches = None;
        }
        state.tracer = NOP_ROW;
        self.set_each(forced, state.unforced);
    }

    /// Starts the tracer of row `next`, where none is.
    fn start_tracer(self: &Arc<Self>, state: &mut State, next: usize) -> Result {
        let tracer = *TRACERS.get(next).ok_or(EINVAL)?;
        #[cfg(CONFIG_BRANCH_TRACER)]
        let branches = self
            .options()
            .has(Flag::Branch)
            .then(|| branch::begin(self))
            .transpose()?;
        self.give_snapshot(tracer.uses_snapshot())?;
        self.buffer.reset();
        let forced = tracer.forces();
        state.unforced = self.options();
        self.set_each(forced, forced);
        let running = tracer
            .start(self, state.tracer_flags.get(next).copied().unwrap_or(0))
            .inspect_err(|_| {
                self.set_each(forced, state.unforced);
                self.take_snapshot_away();
            })?;
        state.running = Some(running);
        #[cfg(CONFIG_BRANCH_TRACER)]
        {
            state.branches = branches;
        }
        state.tracer = next;
        Ok(())
    }

    /// Gives each option of `which` the value that it has in `values`, without asking the tracer.
    fn set_each(&self, which: Set, values: Set) {
        for row in options::TABLE.iter().filter(|row| which.has(row.flag)) {
            let on = values.has(row.flag);
            if row.flag == Flag::Overwrite {
                self.buffer.set_overwrite(on);
            }
            self.show_option(row.flag, on);
        }
    }

    /// The next tracer wants the snapshot for itself, or does not: frees it behind one that did.
    /// The state mutex is held, and no tracer runs.
    fn give_snapshot(&self, wanted: bool) -> Result {
        let had = self.snapshot.is_tracers();
        if had && !wanted {
            self.take_snapshot_away();
            self.snapshot.free();
        } else if wanted && !had {
            self.snapshot.arm(&self.buffer)?;
            self.snapshot.set_tracers(true);
        }
        Ok(())
    }

    fn take_snapshot_away(&self) {
        if self.snapshot.is_tracers() {
            self.snapshot.set_tracers(false);
            self.snapshot.disarm();
        }
    }
}

/// Why a tracer did not start, for `error_log`.
fn why(error: Error) -> &'static str {
    const REASONS: [(Error, &str); 4] = [
        (EBUSY, "Another instance has such a tracer"),
        (ENOMEM, "Not enough memory"),
        (ENOSPC, "Too many tracers of functions' returns"),
        (ENODEV, "Function tracing is disarmed"),
    ];
    REASONS
        .iter()
        .find(|reason| reason.0 == error)
        .map_or("The tracer did not start", |reason| reason.1)
}
