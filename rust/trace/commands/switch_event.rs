// SPDX-License-Identifier: GPL-2.0

//! `enable_event` and `disable_event`: start or stop the recording of an event of the instance.
//! Only a change of the state uses up the count, which all functions of the command share.

use super::command::{refused, Action, Command, HitCount, SiteCount};
use crate::core::format::Out;
use crate::core::parse::command::{Count, EventParams};
use crate::kernel::trace_event::HeldCall;
use crate::trace::events::registry;
use crate::trace::events::trigger::switch::Switched;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};

/// One of the two commands.
pub(super) struct SwitchEvent {
    /// Its name.
    pub(super) name: &'static str,
    /// Whether the event is recorded after the hit.
    pub(super) on: bool,
}

impl Command for SwitchEvent {
    fn name(&self) -> &'static str {
        self.name
    }

    fn counted(&self, params: Option<&[u8]>) -> bool {
        EventParams::parse(params).is_ok_and(|params| params.count.is_some())
    }

    fn check_removal(&self, instance: &Instance, params: Option<&[u8]>) -> Result {
        let params = EventParams::parse(params).map_err(|_| EINVAL)?;
        let registry = registry::lock()?;
        let event = registry.find_in(instance, params.system, params.event);
        event.map(drop).ok_or(EINVAL)
    }

    fn arm(
        &self,
        instance: &Arc<Instance>,
        params: Option<&[u8]>,
    ) -> Result<(KBox<dyn Action>, Count)> {
        let params = EventParams::parse(params).map_err(|_| EINVAL)?;
        let mut registry = registry::lock()?;
        let name = (params.system, params.event);
        let (event, call) = Switched::new(&registry, instance, name, self.on)?;
        let count = params.count().map_err(refused)?;
        let armed = KBox::new(
            Armed {
                event,
                count: HitCount::new(match count {
                    // This one is no limit, as in C.
                    Count::Times(-1) => Count::Unlimited,
                    other => other,
                }),
                instance: instance.clone(),
                attached: KBox::pin_init(new_mutex!(None), GFP_KERNEL)?,
            },
            GFP_KERNEL,
        )?;
        let result = armed.event.attach(&mut registry, instance);
        // The drop of the event takes this lock.
        drop(registry);
        result?;
        *armed.attached.lock() = Some(call);
        Ok((armed as KBox<dyn Action>, Count::Unlimited))
    }
}

struct Armed {
    event: Switched,
    count: HitCount,
    /// A reference cycle, like that of the probe.
    instance: Arc<Instance>,
    /// Holds the event while this is a soft user of it.
    attached: Pin<KBox<Mutex<Option<HeldCall>>>>,
}

impl Action for Armed {
    fn shared(&self) -> Option<&HitCount> {
        Some(&self.count)
    }

    fn hit(&self, _: &Instance, _: &SiteCount) {
        // Only the CPU that has changed the state uses up a count. One below 0 never ends.
        if self.count.left() != Some(0) && !self.event.is_done() && self.event.switch() {
            self.count.spend_signed();
        }
    }

    fn write(&self, out: &mut dyn Out) -> fmt::Result {
        match &*self.attached.lock() {
            Some(call) => self.event.show(call, out),
            None => Ok(()),
        }
    }

    fn has_effects(&self) -> bool {
        true
    }

    fn end(&self) {
        let Some(_call) = self.attached.lock().take() else {
            return;
        };
        if let Ok(mut registry) = registry::lock() {
            self.event.detach(&mut registry, &self.instance);
        }
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.end();
    }
}
