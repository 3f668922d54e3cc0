// SPDX-License-Identifier: GPL-2.0

//! A tracer whose functions wait until many tasks are in one, and then try what they may not.

use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::prelude::*;
use kernel::time::{delay::fsleep, Delta};
use rtrace::instance::{Instance, Reader, Recorder};
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

kernel::sync::global_lock! {
    // SAFETY: the module's `init` initializes it before it registers the tracer.
    /// A reader of an instance that nobody records in.
    unsafe(uninit) static READER: Mutex<Option<Reader>> = None;
}

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
    let refused = Instance::find(c"rtrace_tracers_inside").err() == Some(EDEADLK)
        && READER
            .lock()
            .as_mut()
            .and_then(|reader| reader.consume().err())
            == Some(EDEADLK);
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
    many: Option<TracerRegistration<Many>>,
    unread: Option<Instance>,
}

impl kernel::Module for Inside {
    fn init(module: &'static ThisModule) -> Result<Self> {
        let outside = Instance::find(c"rtrace_tracers_inside").err();
        if outside != Some(ENOENT) {
            return Err(EINVAL);
        }
        // SAFETY: nobody uses it yet.
        unsafe { READER.init() };
        let unread = Instance::open(c"rtrace_tracers_unread")?;
        let inside = Self {
            many: Some(TracerRegistration::new(module, Many)?),
            unread: Some(unread),
        };
        let reader = inside.unread.as_ref().ok_or(EINVAL)?.reader()?;
        *READER.lock() = Some(reader);
        Ok(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        drop(self.many.take());
        drop(READER.lock().take());
        if let Some(Err(error)) = self.unread.take().map(Instance::remove) {
            pr_warn!("rtrace_tracers_unread stays: {error:?}\n");
        }
    }
}
