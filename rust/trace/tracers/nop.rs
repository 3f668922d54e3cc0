// SPDX-License-Identifier: GPL-2.0

//! `nop`: records nothing of its own. Its two options exist to test what accepting and refusing looks like.

use super::{Tracer, TracerOption};
use crate::trace::instance::Instance;
use kernel::prelude::*;

const ACCEPT: u32 = 1 << 0;
const REFUSE: u32 = 1 << 1;

/// The tracer that every instance starts with.
pub(crate) struct Nop;

/// Its only value.
pub(crate) static NOP: Nop = Nop;

impl Tracer for Nop {
    fn name(&self) -> &'static str {
        "nop"
    }

    fn init(&self, _instance: &Instance, _flags: u32) -> Result {
        Ok(())
    }

    fn reset(&self, _instance: &Instance) {}

    fn options(&self) -> &'static [TracerOption] {
        &[
            TracerOption { name: "test_nop_accept", bit: ACCEPT },
            TracerOption { name: "test_nop_refuse", bit: REFUSE },
        ]
    }

    fn set_flag(&self, _instance: &Instance, old: u32, new: u32) -> Result {
        if (old ^ new) & REFUSE != 0 {
            return Err(EINVAL);
        }
        Ok(())
    }
}
