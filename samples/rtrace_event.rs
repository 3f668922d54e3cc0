// SPDX-License-Identifier: GPL-2.0

//! Defines the event `rtrace_sample:task_end`, and records it when tasks end.
//!
//! `echo 1 > events/rtrace_sample/task_end/enable`, or `perf record -e rtrace_sample:task_end`.

use kernel::prelude::*;
use rtrace::event::Event;
use rtrace::function::{FunctionCallback, FunctionProbe};
use rtrace::Call;

module! {
    type: Sample,
    name: "rtrace_event",
    authors: ["The rtrace authors"],
    description: "An event of one's own, in Rust",
    license: "GPL",
}

rtrace::event! {
    /// A task has ended.
    struct TaskEnd<'a> = rtrace_sample:task_end {
        code: u8,
        is_killed: bool,
        number: i32,
        how: &'a str,
        halves: [u16; 2],
        flags: usize,
    }
    print("code={code} killed={is_killed} number={number} how={how} halves={halves} flags={flags:#x}")
}

struct Recorder(Event<TaskEnd<'static>>);

impl FunctionCallback for Recorder {
    /// `do_exit(long code)`: the number of the signal in the low byte, what the task returned above.
    fn entry(&self, call: &Call<'_>) {
        // What the closure does costs nothing while nobody wants the event.
        self.0.record(|| {
            let code = call.argument(0).unwrap_or(0);
            let is_killed = code & 0x7f != 0;
            TaskEnd {
                code: (code >> 8) as u8,
                is_killed,
                number: -kernel::current!().pid(),
                how: if is_killed { "killed" } else { "exit" },
                halves: [code as u16, (code >> 16) as u16],
                flags: code & 0xff,
            }
        });
    }
}

struct Sample {
    _probe: Pin<KBox<FunctionProbe<Recorder>>>,
}

impl kernel::Module for Sample {
    fn init(module: &'static ThisModule) -> Result<Self> {
        let recorder = Recorder(Event::new(module)?);
        let probe = FunctionProbe::new(&[c"do_exit"], recorder);
        Ok(Self {
            _probe: KBox::pin_init(probe, GFP_KERNEL)?,
        })
    }
}
