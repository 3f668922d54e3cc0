// SPDX-License-Identifier: GPL-2.0

//! Counts the calls of a function.

use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::prelude::*;
use rtrace::function::{FunctionCallback, FunctionProbe};
use rtrace::Call;

module! {
    type: Sample,
    name: "rtrace_function",
    authors: ["The rtrace authors"],
    description: "Counts new tasks",
    license: "GPL",
}

struct NewTasks(AtomicUsize);

impl FunctionCallback for NewTasks {
    fn entry(&self, _call: &Call<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Sample(Pin<KBox<FunctionProbe<NewTasks>>>);

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let tasks = NewTasks(AtomicUsize::new(0));
        let probe = FunctionProbe::new(&[c"wake_up_new_task"], tasks);
        Ok(Self(KBox::pin_init(probe, GFP_KERNEL)?))
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let count = self.0.callback().0.load(Ordering::Relaxed);
        pr_info!("{count} new tasks\n");
    }
}
