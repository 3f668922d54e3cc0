// SPDX-License-Identifier: GPL-2.0

//! An event of its own, `synthetic/task_end`: a task ends.

use kernel::prelude::*;
use rtrace::function::{FunctionCallback, FunctionProbe};
use rtrace::synthetic::SyntheticEvent;
use rtrace::Call;

module! {
    type: Sample,
    name: "rtrace_synthetic",
    authors: ["The rtrace authors"],
    description: "Defines an event for the ends of tasks",
    license: "GPL",
}

rtrace::synthetic_event! {
    /// A task ends.
    struct TaskEnd = "task_end" {
        code: u8,
        signal: u8,
        number: i32,
    }
}

struct Recorder(SyntheticEvent<TaskEnd>);

impl FunctionCallback for Recorder {
    fn entry(&self, call: &Call<'_>) {
        // void do_exit(long code)
        let code = call.argument(0).unwrap_or(0);
        self.0.record(&TaskEnd {
            code: (code >> 8) as u8,
            signal: (code & 0x7f) as u8,
            number: -kernel::current!().pid(),
        });
    }
}

struct Sample {
    _probe: Pin<KBox<FunctionProbe<Recorder>>>,
}

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let recorder = Recorder(SyntheticEvent::new()?);
        let probe = FunctionProbe::new(&[c"do_exit"], recorder);
        Ok(Self {
            _probe: KBox::pin_init(probe, GFP_KERNEL)?,
        })
    }
}
