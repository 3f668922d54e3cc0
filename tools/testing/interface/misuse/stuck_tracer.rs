// SPDX-License-Identifier: GPL-2.0

//! A tracer is stopped by another task than the one that has started it: what cannot be sent is
//! refused.

use kernel::prelude::*;
use kernel::types::NotThreadSafe;
use rtrace::instance::Recorder;
use rtrace::tracer::Tracer;

struct Stuck;

impl Tracer for Stuck {
    const NAME: &'static CStr = c"stuck";
    type Running = NotThreadSafe;

    fn start(&self, _to: Recorder) -> Result<NotThreadSafe> {
        Ok(NotThreadSafe)
    }
}
