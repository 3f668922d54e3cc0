// SPDX-License-Identifier: GPL-2.0

//! `snapshot`: takes a snapshot. Adding the trigger allocates the snapshot.

use super::{Command, HitTime, HotFile, Key, Kind, Limits, Needs, Place, Sort, Trigger};
use crate::core::format::Out;
use crate::trace::instance::snapshot::{self, Armed};
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The kind.
pub(super) struct Snapshot;

impl Kind for Snapshot {
    fn name(&self) -> &'static str {
        "snapshot"
    }

    fn key(&self, _: &Place<'_>, _: &Command<'_>) -> Result<Key> {
        Ok(Key::of(Sort::Snapshot))
    }

    fn make(&self, place: &Place<'_>, command: &Command<'_>) -> Result<Arc<dyn Trigger>> {
        let limits = place.limits(&command.optional())?;
        Ok(Arc::new(
            Made {
                _armed: Armed::new(place.instance)?,
                limits,
            },
            GFP_KERNEL,
        )?)
    }
}

struct Made {
    _armed: Armed,
    limits: Limits,
}

impl Trigger for Made {
    fn key(&self) -> Key {
        Key::of(Sort::Snapshot)
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn hit(&self, file: &HotFile, _: Option<&[u8]>, _: &HitTime) {
        if self.limits.spend() {
            snapshot::take_or_report(file.instance());
        }
    }

    fn needs(&self) -> Needs {
        Needs::GENERAL | Needs::ORDER
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        out.write_str("snapshot")
    }
}
