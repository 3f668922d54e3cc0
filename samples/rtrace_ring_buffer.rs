// SPDX-License-Identifier: GPL-2.0

//! Records the ends of tasks in a ring buffer, and prints them at the end.

use kernel::prelude::*;
use rtrace::function::{FunctionCallback, FunctionProbe};
use rtrace::ring_buffer::{Full, RingBuffer};
use rtrace::Call;

module! {
    type: Sample,
    name: "rtrace_ring_buffer",
    authors: ["The rtrace authors"],
    description: "Records the ends of tasks",
    license: "GPL",
}

#[derive(Clone, Copy)]
struct Exit {
    pid: i32,
    code: i32,
}

struct Recorder(Pin<KBox<RingBuffer<Exit>>>);

impl FunctionCallback for Recorder {
    fn entry(&self, call: &Call<'_>) {
        // void do_exit(long code)
        let code = call.argument(0).unwrap_or(0) as i32;
        let pid = kernel::current!().pid();
        // Nothing is refused: the buffer overwrites.
        let _ = self.0.write(&Exit { pid, code });
    }
}

struct Sample(Pin<KBox<FunctionProbe<Recorder>>>);

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let key = kernel::static_lock_class!();
        let buffer = RingBuffer::new(16 << 10, Full::Overwrite, key);
        let recorder = Recorder(KBox::pin_init(buffer, GFP_KERNEL)?);
        let probe = FunctionProbe::new(&[c"do_exit"], recorder);
        Ok(Self(KBox::pin_init(probe, GFP_KERNEL)?))
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        self.0.callback().0.consume_all(|cpu, record| {
            let Exit { pid, code } = record.value;
            pr_info!("cpu {cpu} {} pid {pid} code {code:#x}\n", record.time);
        });
    }
}
