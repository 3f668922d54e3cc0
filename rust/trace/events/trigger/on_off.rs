// SPDX-License-Identifier: GPL-2.0

//! `traceon` and `traceoff`. Only a change of the state uses up the count.

use super::{Command, HitTime, HotFile, Key, Kind, Limits, Needs, Place, Sort, Trigger};
use crate::core::format::Out;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// One of the two kinds.
#[derive(Clone, Copy)]
pub(super) struct OnOff {
    /// Whether recording is turned on or off.
    pub(super) on: bool,
}

impl Kind for OnOff {
    fn name(&self) -> &'static str {
        if self.on {
            "traceon"
        } else {
            "traceoff"
        }
    }

    fn key(&self, _: &Place<'_>, _: &Command<'_>) -> Result<Key> {
        Ok(Key::of(Sort::OnOff))
    }

    fn make(&self, place: &Place<'_>, command: &Command<'_>) -> Result<Arc<dyn Trigger>> {
        let limits = place.limits(&command.optional())?;
        Ok(Arc::new(
            Made {
                kind: *self,
                limits,
            },
            GFP_KERNEL,
        )?)
    }
}

struct Made {
    kind: OnOff,
    limits: Limits,
}

impl Trigger for Made {
    fn key(&self) -> Key {
        Key::of(Sort::OnOff)
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn hit(&self, file: &HotFile, _: Option<&[u8]>, _: &HitTime) {
        let (buffer, on) = (file.instance().buffer(), self.kind.on);
        if self.limits.any() && buffer.is_on() != on && buffer.set_on(on) != on {
            // Only the CPU that has changed the state gets here.
            self.limits.spend();
        }
    }

    /// As in C, the event that turns recording on by a condition is not itself recorded.
    fn needs(&self) -> Needs {
        match self.kind.on {
            true => Needs::GENERAL | Needs::ORDER,
            false => Needs::GENERAL,
        }
    }

    /// The event that turns recording off is itself recorded.
    fn is_after(&self) -> bool {
        !self.kind.on
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        out.write_str(self.kind.name())
    }
}
