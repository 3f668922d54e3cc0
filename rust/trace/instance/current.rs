// SPDX-License-Identifier: GPL-2.0

//! The current tracer of an instance: its start and its end, its options, and the state that
//! follows it.

use super::tracer::{self, Tracer, TracerRef};
use super::{latency, list, Instance, State};
use crate::core::parse::options::{self, Set, TracerOption};
use kernel::prelude::*;
use kernel::sync::Arc;

impl Instance {
    /// The current tracer. Task context.
    pub(crate) fn tracer(&self) -> TracerRef {
        self.state.lock().tracer.clone()
    }

    /// The current tracer's own options and their values. Task context.
    pub(crate) fn tracer_options(&self) -> (&'static [TracerOption], u32) {
        let state = self.state.lock();
        (state.tracer.options(), state.flags_of(state.tracer.row()))
    }

    /// The bits of the options that are on in the tracer of `row`, current or not. Task context.
    pub(crate) fn flags_of(&self, row: usize) -> u32 {
        self.state.lock().flags_of(row)
    }

    /// Sets an option of the current tracer. Task context, may sleep. Errors as
    /// [`Instance::set_flag_of`].
    pub(crate) fn set_tracer_option(&self, option: &TracerOption, on: bool) -> Result {
        let mut state = self.state.lock();
        let row = state.tracer.row();
        self.set_flag_locked(&mut state, row, option, on)
    }

    /// Sets an option of the tracer in `row`, current or not. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the tracer refuses or there is no such row; `ENOMEM`. The option then stays as
    /// before.
    pub(crate) fn set_flag_of(&self, row: usize, option: &TracerOption, on: bool) -> Result {
        self.set_flag_locked(&mut self.state.lock(), row, option, on)
    }

    /// Sets it and tells the features, so that they do as the last one has set it.
    fn set_flag_locked(
        &self,
        state: &mut State,
        row: usize,
        option: &TracerOption,
        on: bool,
    ) -> Result {
        let was_on = state.flags_of(row) & option.bit != 0;
        state.set_flag(row, option, on)?;
        let mut features = self.features.iter();
        let told = features.try_for_each(|feature| feature.tracer_option(self, option, on));
        told.inspect_err(|_| {
            let _ = state.set_flag(row, option, was_on);
        })
    }

    /// Makes the current tracer read its options, pids and graph filters again. Task context, may
    /// sleep. Errors as [`Running::changed`](tracer::Running::changed).
    pub(crate) fn refresh_tracer(&self) -> Result {
        self.state.lock().changed()
    }

    /// Stops the tracer of an instance that goes. Task context, sleeps.
    pub(super) fn retire_tracer(self: &Arc<Self>) {
        telling_of_threshold(|| self.stop_tracer(&mut self.state.lock()));
    }

    /// Makes the tracer called `name` the current one. White space around the name is ignored. Task
    /// context, may sleep.
    ///
    /// The buffer is expanded first. If the new tracer does not start, the old one is started
    /// again, and `error_log` gets the reason.
    ///
    /// # Errors
    ///
    /// `EACCES` in a read-only copy of another instance; `EINVAL` for an unknown name, and for a tracer
    /// that cannot run in this kind of instance; `EBUSY` while a consuming reader is open
    /// (unless the tracer is current already), and for a tracer that needs the snapshot while that has
    /// an owner; `ENOMEM`; and the errors of the tracer's start.
    pub(crate) fn set_tracer(self: &Arc<Self>, name: &[u8]) -> Result {
        let name = name.trim_ascii();
        let mut reason = None;
        let result = telling_of_threshold(|| self.change_tracer(name, &mut reason));
        if let Some(reason) = reason {
            self.errors.push(b"current_tracer", name, 0, reason);
        }
        result
    }

    /// Whether `tracer` can run in this kind of instance.
    pub(crate) fn takes(&self, tracer: &dyn Tracer) -> bool {
        (self.is_top() || tracer.in_instances())
            && (self.previous_boot().is_none() || !tracer.uses_snapshot())
    }

    fn change_tracer(self: &Arc<Self>, name: &[u8], reason: &mut Option<&'static str>) -> Result {
        self.may_record()?;
        let mut state = self.state.lock();
        self.begin_anew();
        self.expand_both()?;
        let next = tracer::find(name)?;
        if next.is(&state.tracer) {
            return Ok(());
        }
        if !self.takes(&*next) {
            return Err(EINVAL);
        }
        if next.uses_snapshot() && self.snapshot.has_owner() {
            return Err(EBUSY);
        }
        self.readers.while_idle(|| {
            let last = state.tracer.clone();
            self.stop_tracer(&mut state);
            let started = self.start_tracer(&mut state, next);
            if let Err(error) = started {
                *reason = Some(why(error));
                // If the old tracer does not start either, `nop` is current.
                let _ = self.start_tracer(&mut state, last);
            }
            started
        })
    }

    /// Stops the current tracer and restores the options that it had forced. `nop` is current
    /// afterwards.
    pub(super) fn stop_tracer(self: &Arc<Self>, state: &mut State) {
        let forced = state.tracer.forces();
        state.running = None;
        self.tell_tracer_ended();
        if let Ok(idle) = tracer::get(tracer::idle()) {
            state.tracer = idle;
        }
        self.set_each(forced, state.unforced);
    }

    /// Ends `tracer` if it is current: `nop` is then. What was recorded stays. Task context, may
    /// sleep.
    pub(super) fn end_tracer(self: &Arc<Self>, tracer: &TracerRef) {
        let mut state = self.state.lock();
        if state.tracer.is(tracer) {
            self.stop_tracer(&mut state);
        }
    }

    fn tell_tracer_ended(&self) {
        self.features
            .iter()
            .for_each(|feature| feature.tracer_ended(self));
    }

    /// Starts `next`. `nop` must be current.
    fn start_tracer(self: &Arc<Self>, state: &mut State, next: TracerRef) -> Result {
        self.try_start(state, next)
            .inspect_err(|_| self.tell_tracer_ended())
    }

    fn try_start(self: &Arc<Self>, state: &mut State, tracer: TracerRef) -> Result {
        self.features
            .iter()
            .try_for_each(|feature| feature.tracer_starts(self))?;
        let (allocated, lent) = (
            self.snapshot.is_allocated(),
            self.snapshot.is_owned_by_tracer(),
        );
        self.give_snapshot(tracer.uses_snapshot())?;
        self.buffer.reset();
        let forced = tracer.forces();
        state.unforced = self.options();
        self.set_each(forced, forced);
        let flags = state.flags_of(tracer.row());
        let running = tracer.start(self, flags).inspect_err(|_| {
            self.set_each(forced, state.unforced);
            self.take_snapshot_away();
            if !allocated {
                self.snapshot.free();
            }
        })?;
        // Not before the start: after a failed one the last tracer needs it again.
        if lent && !tracer.uses_snapshot() {
            self.snapshot.free();
        }
        state.running = Some(running);
        state.tracer = tracer;
        Ok(())
    }

    /// Sets each option of `which` to its value in `values`, without asking the tracer.
    fn set_each(self: &Arc<Self>, which: Set, values: Set) {
        for row in options::TABLE.iter().filter(|row| which.has(row.flag)) {
            let on = values.has(row.flag);
            // If the effect fails, the option's bit still shows what the tracer uses.
            let _ = self.apply_option(row.flag, on);
            self.set_option_bit(row.flag, on);
        }
    }

    /// Arms the snapshot for the next tracer if it is `wanted`, or disarms it. The state mutex is
    /// held, and no tracer runs.
    fn give_snapshot(&self, wanted: bool) -> Result {
        if !wanted {
            self.take_snapshot_away();
        } else if !self.snapshot.is_owned_by_tracer() {
            self.snapshot.arm(&self.buffer)?;
            self.snapshot.set_owned_by_tracer(true);
        }
        Ok(())
    }

    fn take_snapshot_away(&self) {
        if self.snapshot.is_owned_by_tracer() {
            self.snapshot.set_owned_by_tracer(false);
            self.snapshot.disarm();
        }
    }
}

impl State {
    fn flags_of(&self, row: usize) -> u32 {
        self.tracer_flags.get(row).copied().unwrap_or(0)
    }

    fn set_flag(&mut self, row: usize, option: &TracerOption, on: bool) -> Result {
        tracer::get(row)?.accept(option, on)?;
        let old = self.flags_of(row);
        let new = if on {
            old | option.bit
        } else {
            old & !option.bit
        };
        self.store_flags(row, new);
        if old != new && row == self.tracer.row() {
            let told = self.changed();
            told.inspect_err(|_| self.store_flags(row, old))?;
        }
        Ok(())
    }

    fn store_flags(&mut self, row: usize, flags: u32) {
        if let Some(place) = self.tracer_flags.get_mut(row) {
            *place = flags;
        }
    }

    /// Makes the current tracer read its options and pids again.
    fn changed(&mut self) -> Result {
        let flags = self.flags_of(self.tracer.row());
        self.running
            .as_mut()
            .map_or(Ok(()), |running| running.changed(flags))
    }
}

/// Runs `change`, which starts or ends a tracer. One may have a [`threshold`](latency::threshold) of its
/// own, which is that of the tracers of all instances then. Task context, without the state mutex of an
/// instance, may sleep.
fn telling_of_threshold<R>(change: impl FnOnce() -> R) -> R {
    let before = latency::threshold();
    let result = change();
    if latency::threshold() != before {
        // One that cannot turn to it goes on as before.
        list::all().for_each(|instance| {
            let _ = instance.refresh_tracer();
        });
    }
    result
}

/// The text for `error_log` that says why a tracer did not start.
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
