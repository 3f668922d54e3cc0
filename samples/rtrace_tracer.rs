// SPDX-License-Identifier: GPL-2.0

//! A tracer of its own: `echo new_tasks > current_tracer`.

use kernel::prelude::*;
use rtrace::function::{FunctionCallback, FunctionProbe};
use rtrace::instance::Recorder;
use rtrace::tracer::{Tracer, TracerRegistration};
use rtrace::Call;

module! {
    type: Sample,
    name: "rtrace_tracer",
    authors: ["The rtrace authors"],
    description: "A tracer of new tasks",
    license: "GPL",
}

struct NewTasks;

impl Tracer for NewTasks {
    const NAME: &'static CStr = c"new_tasks";

    type Running = Pin<KBox<FunctionProbe<Running>>>;

    fn start(&self, to: Recorder) -> Result<Self::Running> {
        let probe = FunctionProbe::new(&[c"wake_up_new_task"], Running(to));
        KBox::pin_init(probe, GFP_KERNEL)
    }

    fn switched(&self, running: &mut Self::Running, on: bool) {
        if on {
            let _ = running.callback().0.print(format_args!("on again"));
        }
    }
}

/// The tracer in one instance.
struct Running(Recorder);

impl FunctionCallback for Running {
    fn entry(&self, _call: &Call<'_>) {
        let parent = kernel::current!().pid();
        // The instance may be switched off; then nobody wants to know.
        let _ = self.0.print(format_args!("a task of {parent}"));
    }
}

struct Sample {
    _tracer: TracerRegistration<NewTasks>,
}

impl kernel::Module for Sample {
    fn init(module: &'static ThisModule) -> Result<Self> {
        Ok(Self {
            _tracer: TracerRegistration::new(module, NewTasks)?,
        })
    }
}
