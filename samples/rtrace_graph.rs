// SPDX-License-Identifier: GPL-2.0

//! Measures how long tasks sleep: a histogram of the calls of a function.

use core::sync::atomic::{AtomicU64, Ordering};
use kernel::prelude::*;
use rtrace::graph::GraphProbe;
use rtrace::{Call, EntryExitCallback, Return};

module! {
    type: Sample,
    name: "rtrace_graph",
    authors: ["The rtrace authors"],
    description: "Measures sleeps",
    license: "GPL",
}

struct Sleeps {
    longest: AtomicU64,
    // How many calls took 2^i nanoseconds or more, but less than the double of it.
    calls: [AtomicU64; 64],
}

impl EntryExitCallback for Sleeps {
    type Data = u64;

    fn entry(&self, _call: &Call<'_>) -> Option<u64> {
        Some(rtrace::now())
    }

    fn exit(&self, begin: u64, _ret: &Return<'_>) {
        let time = rtrace::now().saturating_sub(begin).max(1);
        self.longest.fetch_max(time, Ordering::Relaxed);
        self.calls[time.ilog2() as usize].fetch_add(1, Ordering::Relaxed);
    }
}

struct Sample(Pin<KBox<GraphProbe<Sleeps>>>);

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let sleeps = Sleeps {
            longest: AtomicU64::new(0),
            calls: [const { AtomicU64::new(0) }; 64],
        };
        let probe = GraphProbe::new(&[c"hrtimer_nanosleep"], sleeps);
        Ok(Self(KBox::pin_init(probe, GFP_KERNEL)?))
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let Sleeps { longest, calls } = self.0.callback();
        let counts = calls.iter().map(|calls| calls.load(Ordering::Relaxed));
        for (power, count) in counts.enumerate().filter(|(_, count)| *count != 0) {
            pr_info!("2^{power} ns: {count} calls\n");
        }
        pr_info!("longest {} ns\n", longest.load(Ordering::Relaxed));
    }
}
