// SPDX-License-Identifier: GPL-2.0

//! `stacktrace`: records the stack of the hit after the event.

use super::{Command, HitTime, HotFile, Key, Kind, Limits, Place, Sort, Trigger};
use crate::core::format::Out;
use crate::trace::buffer::entry::Context;
use crate::trace::events::recording;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The kind.
pub(super) struct StackTrace;

impl Kind for StackTrace {
    fn name(&self) -> &'static str {
        "stacktrace"
    }

    fn key(&self, _: &Place<'_>, _: &Command<'_>) -> Result<Key> {
        Ok(Key::of(Sort::StackTrace))
    }

    fn make(&self, place: &Place<'_>, command: &Command<'_>) -> Result<Arc<dyn Trigger>> {
        let limits = place.limits(&command.optional())?;
        Ok(Arc::new(Made { limits }, GFP_KERNEL)?)
    }
}

struct Made {
    limits: Limits,
}

impl Trigger for Made {
    fn key(&self) -> Key {
        Key::of(Sort::StackTrace)
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn hit(&self, file: &HotFile, _: Option<&[u8]>, _: &HitTime) {
        if self.limits.spend() {
            let context = Context::capture_in_probe().rest();
            recording::record_stack(file, context);
        }
    }

    fn is_after(&self) -> bool {
        true
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        out.write_str("stacktrace")
    }
}
