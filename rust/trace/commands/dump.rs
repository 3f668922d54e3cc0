// SPDX-License-Identifier: GPL-2.0

//! `dump` and `cpudump`: print the ring buffer to the console.

use super::command::{Action, Command, SiteCount};
use crate::core::format::Out;
use crate::core::parse::command::Count;
use crate::trace::instance::Instance;
use crate::trace::output::dump;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// One of the two commands. `dump` prints the buffers of all CPUs, once. `cpudump` prints the
/// buffer of the current CPU at each hit. Parameters are ignored.
#[derive(Clone, Copy)]
pub(super) struct Dump {
    name: &'static str,
    all: bool,
}

/// The command `dump`.
pub(super) static DUMP: Dump = Dump {
    name: "dump",
    all: true,
};

/// The command `cpudump`.
pub(super) static CPU_DUMP: Dump = Dump {
    name: "cpudump",
    all: false,
};

impl Command for Dump {
    fn name(&self) -> &'static str {
        self.name
    }

    fn counted(&self, _: Option<&[u8]>) -> bool {
        self.all
    }

    fn arm(&self, _: &Arc<Instance>, _: Option<&[u8]>) -> Result<(KBox<dyn Action>, Count)> {
        let count = if self.all {
            Count::Times(1)
        } else {
            Count::Unlimited
        };
        Ok((KBox::new(*self, GFP_KERNEL)?, count))
    }
}

impl Action for Dump {
    fn hit(&self, _: &Instance, site: &SiteCount) {
        if site.count.spend() {
            dump::top(if self.all {
                dump::Cpus::All
            } else {
                dump::Cpus::This
            });
        }
    }

    fn write(&self, out: &mut dyn Out) -> fmt::Result {
        out.write_str(self.name)
    }
}
