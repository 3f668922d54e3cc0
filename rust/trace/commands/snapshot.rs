// SPDX-License-Identifier: GPL-2.0

//! `snapshot`: takes a snapshot. Adding the command allocates the snapshot.

use super::command::{read_count, Action, Command, SiteCount};
use crate::core::format::Out;
use crate::core::parse::command::Count;
use crate::trace::instance::snapshot::{self, Armed};
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The command. A colon without a number means a count of 0, as in C.
pub(super) struct TakeSnapshot;

impl Command for TakeSnapshot {
    fn name(&self) -> &'static str {
        "snapshot"
    }

    fn arm(
        &self,
        instance: &Arc<Instance>,
        params: Option<&[u8]>,
    ) -> Result<(KBox<dyn Action>, Count)> {
        let count = read_count(params)?;
        Ok((KBox::new(Armed::new(instance)?, GFP_KERNEL)?, count))
    }
}

impl Action for Armed {
    fn hit(&self, instance: &Instance, site: &SiteCount) {
        if site.count.spend() {
            snapshot::take_or_report(instance);
        }
    }

    fn write(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(b"snapshot")
    }

    fn has_effects(&self) -> bool {
        true
    }

    fn end(&self) {
        self.disarm();
    }
}
