// SPDX-License-Identifier: GPL-2.0

//! One event in one instance.
//!
//! What its probe looks at is a [`HotFile`]: the word of flags, where entries go, what rejects
//! them. The rest is behind the event mutex.

use super::filter::Filter;
use super::pids::EventPids;
use super::registry::{Event, EventId, InstanceEvents, Registry};
use super::scratch;
use super::trigger::TriggerList;
use crate::core::parse::options::Flag;
use crate::kernel::rcu_slot::{RcuSlot, Retired};
use crate::kernel::trace_event::{flag, File, FileBox, FlagsHandle};
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

/// What a hit looks at, behind the word of flags.
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

/// An event in an instance, as its probe gets it.
pub(crate) type HotFile = File<Hot>;

/// An event in an instance.
pub(crate) struct EventFile {
    event: EventId,
    /// How many want it hit, though it need not be recorded.
    soft: u32,
    /// What is wrong with the filter that was written last.
    refused: Option<KVec<u8>>,
    hot: FileBox<Hot>,
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
        let hot = FileBox::new(event.registered(), tr, hot)?;
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

    /// Which event it is.
    pub(crate) fn event(&self) -> EventId {
        self.event
    }

    /// What its probe gets.
    pub(crate) fn hot(&self) -> &HotFile {
        &self.hot
    }

    /// Its flags, for who may be there longer than it.
    pub(crate) fn flags_handle(&self) -> FlagsHandle<Hot> {
        self.hot.flags_handle()
    }

    /// Goes by the options of the instance: is a stack recorded behind each entry?
    fn follow_options(&self) {
        let options = self.hot.instance().options();
        let follows = options.has(Flag::StackTrace) || options.has(Flag::UserStackTrace);
        self.hot.set(flag::FOLLOWED, follows);
    }

    pub(super) fn into_hot(self) -> FileBox<Hot> {
        self.hot
    }

    /// Is it hit?
    pub(crate) fn is_enabled(&self) -> bool {
        self.hot.flags() & flag::ENABLED != 0
    }

    /// Was it ever?
    pub(crate) fn was_enabled(&self) -> bool {
        self.hot.flags() & flag::WAS_ENABLED != 0
    }

    /// Is it hit and not recorded?
    pub(crate) fn is_soft_disabled(&self) -> bool {
        self.hot.flags() & flag::SOFT_DISABLED != 0
    }

    /// Does somebody want it hit, recorded or not?
    pub(crate) fn is_soft(&self) -> bool {
        self.soft != 0
    }

    /// The text of its `enable` file.
    pub(crate) fn enable_text(&self) -> &'static str {
        match (self.is_enabled(), self.is_soft_disabled(), self.is_soft()) {
            (true, false, false) => "1\n",
            (true, false, true) => "1*\n",
            (false, _, _) | (true, true, false) => "0\n",
            (true, true, true) => "0*\n",
        }
    }

    /// Switches it, or with `soft` has it hit though nobody may record it; the caller
    /// switches it off as often as on. Task context, sleeps. Errors as the event's class says.
    pub(super) fn switch(&mut self, on: bool, soft: bool) -> Result {
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
            // The other users of the event decide: it stays as it is.
            self.is_soft_disabled()
        } else {
            self.soft == 0
        };
        let result = if off { self.hot.enable(false) } else { Ok(()) };
        self.hot.set(flag::SOFT_DISABLED, self.soft > 0);
        result
    }

    /// The filter there is.
    pub(crate) fn filter(&self) -> Option<Arc<Filter>> {
        self.hot.filter.share()
    }

    /// What the `filter` file says about the filter that was written last, if that was refused.
    pub(crate) fn refused(&self) -> Option<&[u8]> {
        self.refused.as_deref()
    }

    /// Has the `filter` file say so, until a filter is set.
    pub(super) fn set_refused(&mut self, said: KVec<u8>) {
        self.refused = Some(said);
    }

    /// Puts a filter in the place of the one there is, which it gives: a hit goes by the old one or
    /// by the new one. Task context. `ENOMEM`.
    pub(super) fn set_filter(&mut self, filter: Option<Arc<Filter>>) -> Result<Retired<Filter>> {
        let filtered = filter.is_some();
        if filtered {
            scratch::prepare()?;
        } else {
            self.hot.set(flag::FILTERED, false);
        }
        self.refused = None;
        let old = self.hot.filter.exchange(filter);
        if filtered {
            self.hot.set(flag::FILTERED, true);
        }
        Ok(old)
    }

    /// The triggers there are.
    pub(crate) fn triggers(&self) -> Option<Arc<TriggerList>> {
        self.hot.triggers.share()
    }

    /// Puts triggers in the place of those there are. The event has to be switched softly by who
    /// calls. Task context, sleeps. `ENOMEM`.
    pub(crate) fn set_triggers(&mut self, triggers: Option<Arc<TriggerList>>) -> Result {
        let looks = triggers
            .as_ref()
            .is_some_and(|list| list.looks_at_entries());
        if looks {
            scratch::prepare()?;
        }
        let any = triggers.is_some();
        if !any {
            self.hot.set(flag::TRIGGER_MODE, false);
        }
        if !looks {
            self.hot.set(flag::TRIGGER_COND, false);
        }
        drop(self.hot.triggers.replace(triggers));
        if looks {
            self.hot.set(flag::TRIGGER_COND, true);
        }
        if any {
            self.hot.set(flag::TRIGGER_MODE, true);
        }
        Ok(())
    }
}

impl Registry {
    /// The files of `instance` go by its options as they are now. Task context.
    pub(super) fn follow_options(&self, instance: &Instance) {
        let files = self.of(instance).map_or(&[][..], InstanceEvents::files);
        files.iter().for_each(EventFile::follow_options);
    }
}
