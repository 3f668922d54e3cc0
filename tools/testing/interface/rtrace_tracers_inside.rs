// SPDX-License-Identifier: GPL-2.0

//! A tracer whose functions wait until many tasks are in one, and then try what they may not.

use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::prelude::*;
use kernel::time::{delay::fsleep, Delta};
use rtrace::instance::{Instance, Recorder};
use rtrace::tracer::{Tracer, TracerRegistration};

module! {
    type: Inside,
    name: "rtrace_tracers_inside",
    authors: ["The rtrace authors"],
    description: "Many tasks in the functions of a tracer",
    license: "GPL",
}

/// More than the places that there are from the first.
const MANY: usize = 40;

/// How many tasks have entered a function.
static ENTERED: AtomicUsize = AtomicUsize::new(0);

/// Waits until all are inside, or for twenty seconds; then says whether a refusal is as it must be.
fn meet(to: &Recorder) {
    ENTERED.fetch_add(1, Ordering::Relaxed);
    for _ in 0..2000 {
        if ENTERED.load(Ordering::Relaxed) % MANY == 0 {
            break;
        }
        fsleep(Delta::from_millis(10));
    }
    let all = ENTERED.load(Ordering::Relaxed) % MANY == 0;
    // There is none of this name, if that is looked for.
    let refused = Instance::find(c"rtrace_tracers_inside").err() == Some(EDEADLK);
    let _ = to.print(format_args!("all {all} refused {refused}"));
}

struct Many;

impl Tracer for Many {
    const NAME: &'static CStr = c"rtrace_many";

    type Running = Recorder;

    fn start(&self, to: Recorder) -> Result<Recorder> {
        meet(&to);
        Ok(to)
    }

    fn switched(&self, running: &mut Recorder, on: bool) {
        if on {
            meet(running);
        }
    }
}

struct Inside {
    _many: TracerRegistration<Many>,
}

impl kernel::Module for Inside {
    fn init(module: &'static ThisModule) -> Result<Self> {
        let outside = Instance::find(c"rtrace_tracers_inside").err();
        if outside != Some(ENOENT) {
            return Err(EINVAL);
        }
        Ok(Self {
            _many: TracerRegistration::new(module, Many)?,
        })
    }
}
