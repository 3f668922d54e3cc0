// SPDX-License-Identifier: GPL-2.0

//! An event of its own, `synthetic/task_end`: a task ends.

use kernel::prelude::*;
use rtrace::function::{FunctionCallback, FunctionProbe};
use rtrace::synthetic::{SyntheticEvent, Text};
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
        how: Text<16>,
    }
}

struct Recorder(SyntheticEvent<TaskEnd>);

impl FunctionCallback for Recorder {
    fn entry(&self, call: &Call<'_>) {
        // void do_exit(long code)
        let code = call.argument(0).unwrap_or(0);
        let signal = (code & 0x7f) as u8;
        let how: &[u8] = if signal == 0 { b"exit" } else { b"killed" };
        self.0.record(&TaskEnd {
            code: (code >> 8) as u8,
            signal,
            number: -kernel::current!().pid(),
            how: Text::new(how),
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
