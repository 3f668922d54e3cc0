// SPDX-License-Identifier: GPL-2.0

//! `stacktrace`: records the stack at the function.

use super::command::{read_count, Action, Command, SiteCount};
use crate::core::format::Out;
use crate::core::parse::command::Count;
use crate::trace::buffer::entry::Context;
use crate::trace::instance::Instance;
use crate::trace::tasks::stack;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The command. A colon without a number means no limit, as in C, and is counted from -1 downwards.
#[derive(Clone, Copy)]
pub(super) struct StackTrace;

impl Command for StackTrace {
    fn name(&self) -> &'static str {
        "stacktrace"
    }

    fn arm(&self, _: &Arc<Instance>, params: Option<&[u8]>) -> Result<(KBox<dyn Action>, Count)> {
        Ok((KBox::new(*self, GFP_KERNEL)?, read_count(params)?))
    }
}

impl Action for StackTrace {
    fn hit(&self, instance: &Instance, site: &SiteCount) {
        if instance.tracing_on() && site.count.spend_signed() {
            let context = Context::capture_in_callback();
            stack::record_in(instance.buffer(), context, site.addr);
        }
    }

    fn write(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(b"stacktrace")
    }
}
