// SPDX-License-Identifier: GPL-2.0

//! A file: one event in one instance.
//!
//! The probe reads only the [`HotFile`]: the flags word, the instance, the filter, the triggers.
//! The event mutex protects the rest.

use super::filter::Filter;
use super::pids::EventPids;
use super::registry::{Event, EventId, InstanceEvents, Registry};
use super::scratch;
use super::trigger::TriggerList;
use crate::core::parse::options::Flag;
use crate::kernel::rcu_slot::{RcuSlot, Retired};
use crate::kernel::trace_event::{flag, File, FileBox, FlagsHandle};
use crate::trace::instance::Instance;
use core::ptr::null;
use kernel::prelude::*;
use kernel::sync::{Arc, Refcount, SetOnce};

/// The data that a hit reads after the flags word.
pub(crate) struct Hot {
    /// The type of its entries.
    pub(super) kind: u16,
    pub(super) instance: Arc<Instance>,
    pub(super) pids: Arc<EventPids>,
    pub(super) filter: RcuSlot<Filter>,
    pub(super) triggers: RcuSlot<TriggerList>,
}

impl Hot {
    /// The instance.
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }
}

/// The part of a file that the probe gets.
pub(crate) type HotFile = File<Hot>;

#[cfg(CONFIG_64BIT)]
const _: () = assert!(
    size_of::<HotFile>() + size_of::<Refcount>() <= 128,
    "an `Arc` of one takes 128 bytes"
);

/// Called when a file gets triggers, or has none any more, with the event mutex held. Task context,
/// may sleep. Set at boot by the event that is hit without a probe.
pub(super) static TRIGGERS_CHANGED: SetOnce<fn(&FileBox<Hot>, bool)> = SetOnce::new();

/// An event in an instance.
pub(crate) struct EventFile {
    event: EventId,
    /// The number of soft users, which need the probe but no recording.
    soft: u32,
    /// The error text of the last filter, if it was refused; boxed, as few files have one.
    refused: Option<KBox<KVec<u8>>>,
    hot: FileBox<Hot>,
}

/// Who enables an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// Who wants it recorded.
    Recorder,
    /// The same; [`EventFile::record`] follows when all events of the write are enabled.
    Later,
    /// Who wants its probe to run.
    Soft,
}

impl EventFile {
    pub(super) fn new(
        event: &Event,
        instance: &Arc<Instance>,
        pids: &Arc<EventPids>,
    ) -> Result<Self> {
        let hot = Hot {
            kind: event.registered().id(),
            instance: instance.clone(),
            pids: pids.clone(),
            filter: RcuSlot::new(),
            triggers: RcuSlot::new(),
        };
        let tr = Arc::as_ptr(&hot.instance).cast_mut().cast();
        #[allow(unsafe_code, reason = "the order in which things go")]
        // SAFETY: `hot` has the instance. The registry takes an event's files out before the event, and
        // waits for their probes.
        let hot = unsafe { FileBox::new(event.registered(), tr, hot) }?;
        hot.set(flag::PID_FILTER, pids.is_active());
        let new = Self {
            event: event.id(),
            soft: 0,
            refused: None,
            hot,
        };
        new.follow_options();
        Ok(new)
    }

    /// The event.
    pub(crate) fn event(&self) -> EventId {
        self.event
    }

    /// The part that the probe gets.
    pub(crate) fn hot(&self) -> &HotFile {
        &self.hot
    }

    /// A handle to its flags, for code that may outlive the file.
    pub(crate) fn flags_handle(&self) -> FlagsHandle<Hot> {
        self.hot.flags_handle()
    }

    /// Sets the flag for stack recording from the options of the instance.
    fn follow_options(&self) {
        let options = self.hot.instance().options();
        let follows = options.has(Flag::StackTrace) || options.has(Flag::UserStackTrace);
        self.hot.set(flag::FOLLOWED, follows);
    }

    pub(super) fn into_hot(self) -> FileBox<Hot> {
        self.hot
    }

    /// Whether the event is enabled.
    pub(crate) fn is_enabled(&self) -> bool {
        self.hot.flags() & flag::ENABLED != 0
    }

    /// Whether the event was enabled at any time.
    pub(crate) fn was_enabled(&self) -> bool {
        self.hot.flags() & flag::WAS_ENABLED != 0
    }

    /// Whether the probe runs without recording.
    pub(crate) fn is_soft_disabled(&self) -> bool {
        self.hot.flags() & flag::SOFT_DISABLED != 0
    }

    /// Whether there is a soft user.
    pub(crate) fn is_soft(&self) -> bool {
        self.soft != 0
    }

    /// The text of the file `enable`.
    pub(crate) fn enable_text(&self) -> &'static str {
        match (self.is_enabled(), self.is_soft_disabled(), self.is_soft()) {
            (true, false, false) => "1\n",
            (true, false, true) => "1*\n",
            (false, _, _) | (true, true, false) => "0\n",
            (true, true, true) => "0*\n",
        }
    }

    /// Enables or disables the event. With [`User::Soft`], adds or removes a soft user; the caller
    /// removes it as often as it adds it. Task context, sleeps. Errors as the event's class.
    pub(super) fn switch(&mut self, on: bool, user: User) -> Result {
        let soft = user == User::Soft;
        if on {
            if soft {
                self.soft += 1;
                if self.soft > 1 {
                    return Ok(());
                }
                if let Err(error) = scratch::prepare() {
                    self.soft -= 1;
                    return Err(error);
                }
                if !self.is_enabled() {
                    self.hot.set(flag::SOFT_DISABLED, true);
                }
            } else if user == User::Later {
                // An event that is recorded is recorded meanwhile, too.
                if !self.is_enabled() {
                    self.hot.set(flag::SOFT_DISABLED, true);
                }
            } else {
                self.hot.set(flag::SOFT_DISABLED, false);
            }
            return self.hot.enable(true).inspect_err(|_| {
                self.soft -= u32::from(soft);
                self.hot.set(flag::SOFT_DISABLED, false);
            });
        }
        let off = if soft {
            self.soft = self.soft.saturating_sub(1);
            if self.soft > 0 {
                return Ok(());
            }
            // Only the other users of the event can change this state.
            self.is_soft_disabled()
        } else {
            self.soft == 0
        };
        let result = if off { self.hot.enable(false) } else { Ok(()) };
        self.hot.set(flag::SOFT_DISABLED, self.soft > 0);
        result
    }

    /// Lets an event that is enabled be recorded from now on, or no more. Any context.
    pub(super) fn record(&self, on: bool) {
        if self.is_enabled() {
            self.hot.set(flag::SOFT_DISABLED, !on);
        }
    }

    /// The current filter.
    pub(crate) fn filter(&self) -> Option<Arc<Filter>> {
        self.hot.filter.share()
    }

    /// The text of the file `filter` if the last filter was refused.
    pub(crate) fn refused(&self) -> Option<&[u8]> {
        self.refused.as_ref().map(|said| said.as_slice())
    }

    /// Sets the text of the file `filter` for a refused filter. The next accepted filter replaces
    /// it.
    pub(super) fn set_refused(&mut self, said: KBox<KVec<u8>>) {
        self.refused = Some(said);
    }

    /// Replaces the filter and returns the old one. A hit uses either the old or the new filter.
    /// Task context. `ENOMEM`.
    pub(super) fn set_filter(&mut self, filter: Option<Arc<Filter>>) -> Result<Retired<Filter>> {
        let filtered = filter.is_some();
        if filtered {
            scratch::prepare()?;
        } else {
            self.hot.set(flag::FILTERED, false);
        }
        self.refused = None;
        let in_c = filter
            .as_ref()
            .map_or(null(), |filter| Arc::as_ptr(filter).cast());
        self.hot.set_filter_in_c(in_c);
        let old = self.hot.filter.exchange(filter);
        if filtered {
            self.hot.set(flag::FILTERED, true);
        }
        Ok(old)
    }

    /// The current triggers.
    pub(crate) fn triggers(&self) -> Option<Arc<TriggerList>> {
        self.hot.triggers.share()
    }

    /// Replaces the triggers. The caller also adds or removes the soft user. Task context, sleeps.
    /// `ENOMEM`.
    pub(crate) fn set_triggers(&mut self, triggers: Option<Arc<TriggerList>>) -> Result {
        let looks = triggers
            .as_ref()
            .is_some_and(|list| list.looks_at_entries());
        if looks {
            scratch::prepare()?;
        }
        // A hit looks at the list again, so it may see the bit before the list.
        let direct = triggers
            .as_ref()
            .is_some_and(|list| list.is_direct_always());
        let any = triggers.is_some();
        if !any {
            self.hot.set(flag::TRIGGER_MODE, false);
        }
        if !looks {
            self.hot.set(flag::TRIGGER_COND, false);
        }
        self.hot.set(flag::DIRECT, direct);
        drop(self.hot.triggers.replace(triggers));
        if looks {
            self.hot.set(flag::TRIGGER_COND, true);
        }
        if any {
            self.hot.set(flag::TRIGGER_MODE, true);
        }
        if let Some(changed) = TRIGGERS_CHANGED.as_ref() {
            changed(&self.hot, any);
        }
        Ok(())
    }
}

impl Registry {
    /// Makes the files of `instance` read its options again. Task context.
    pub(super) fn follow_options(&self, instance: &Instance) {
        let files = self.of(instance).map_or(&[][..], InstanceEvents::files);
        files.iter().for_each(EventFile::follow_options);
    }
}
