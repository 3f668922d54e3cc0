// SPDX-License-Identifier: GPL-2.0

//! Counts the calls of getppid().

use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::bindings::pt_regs;
use kernel::prelude::*;
use rtrace::tracepoint::{TracepointCallback, TracepointProbe};

module! {
    type: Sample,
    name: "rtrace_tracepoint",
    authors: ["The rtrace authors"],
    description: "Counts a system call",
    license: "GPL",
}

rtrace::tracepoint! {
    /// A system call begins.
    struct SysEnter = sys_enter(*mut pt_regs, c_long);
}

/// The number of getppid() on x86-64.
const GETPPID: c_long = 110;

struct Calls(AtomicUsize);

impl TracepointCallback<SysEnter> for Calls {
    fn hit(&self, (_regs, number): (*mut pt_regs, c_long)) {
        if number == GETPPID {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Sample(TracepointProbe<SysEnter, Calls>);

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let calls = Calls(AtomicUsize::new(0));
        Ok(Self(TracepointProbe::new(calls)?))
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let count = self.0.callback().0.load(Ordering::Relaxed);
        pr_info!("{count} calls of getppid()\n");
    }
}
