// SPDX-License-Identifier: GPL-2.0

//! Writes the ends of tasks into an instance of its own.

use kernel::prelude::*;
use rtrace::function::{FunctionCallback, FunctionProbe};
use rtrace::instance::Instance;
use rtrace::Call;

module! {
    type: Sample,
    name: "rtrace_instance",
    authors: ["The rtrace authors"],
    description: "Writes the ends of tasks into an instance",
    license: "GPL",
}

struct Writer(Instance);

impl FunctionCallback for Writer {
    fn entry(&self, call: &Call<'_>) {
        // void do_exit(long code)
        let code = call.argument(0).unwrap_or(0) as i32;
        // The instance may be switched off; then nobody wants to know.
        let _ = self.0.print(format_args!("code {code:#x}"));
    }
}

struct Sample {
    _probe: Pin<KBox<FunctionProbe<Writer>>>,
}

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let instance = Instance::open(c"rtrace_sample")?;
        instance.print(format_args!("the sample is loaded"))?;
        let probe = FunctionProbe::new(&[c"do_exit"], Writer(instance));
        Ok(Self {
            _probe: KBox::pin_init(probe, GFP_KERNEL)?,
        })
    }
}
