// SPDX-License-Identifier: GPL-2.0

//! `traceon` and `traceoff`: turn recording of the instance on or off.

use super::command::{read_count, Action, Command, SiteCount};
use crate::core::format::Out;
use crate::core::parse::command::Count;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// One of the two commands. Only a change of the state uses up the count.
#[derive(Clone, Copy)]
pub(super) struct OnOff {
    name: &'static str,
    on: bool,
}

/// The command `traceon`.
pub(super) static TRACE_ON: OnOff = OnOff {
    name: "traceon",
    on: true,
};

/// The command `traceoff`.
pub(super) static TRACE_OFF: OnOff = OnOff {
    name: "traceoff",
    on: false,
};

impl Command for OnOff {
    fn name(&self) -> &'static str {
        self.name
    }

    fn arm(&self, _: &Arc<Instance>, params: Option<&[u8]>) -> Result<(KBox<dyn Action>, Count)> {
        Ok((KBox::new(*self, GFP_KERNEL)?, read_count(params)?))
    }
}

impl Action for OnOff {
    fn hit(&self, instance: &Instance, site: &SiteCount) {
        let (buffer, count) = (instance.buffer(), &site.count);
        if count.any() && buffer.is_on() != self.on && buffer.set_on(self.on) != self.on {
            // Only the CPU that has changed the state gets here.
            count.spend();
        }
    }

    fn write(&self, out: &mut dyn Out) -> fmt::Result {
        out.write_str(self.name)
    }
}
