// SPDX-License-Identifier: GPL-2.0

//! `nop`: records nothing of its own. Its two options exist to test what accepting and refusing
//! looks like.

use crate::core::parse::options::{TracerOption, NOP_REFUSE, NOP_TRACER};
use crate::trace::instance::tracer::{Running, Tracer};
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The tracer that every instance starts with.
pub(super) struct Nop;

impl Tracer for Nop {
    fn name(&self) -> &'static str {
        "nop"
    }

    fn start(&self, _instance: &Arc<Instance>, _flags: u32) -> Result<KBox<dyn Running>> {
        Ok(KBox::new(Idle, GFP_KERNEL)?)
    }

    fn options(&self) -> &'static [TracerOption] {
        NOP_TRACER
    }

    fn accept(&self, option: &TracerOption, _on: bool) -> Result {
        if *option == NOP_REFUSE {
            return Err(EINVAL);
        }
        Ok(())
    }
}

/// Nothing goes on.
struct Idle;

impl Running for Idle {}
