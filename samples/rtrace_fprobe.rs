// SPDX-License-Identifier: GPL-2.0

//! Counts the reads that return less than they were asked for.

use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::prelude::*;
use rtrace::fprobe::Fprobe;
use rtrace::{Call, EntryExitCallback, Return};

module! {
    type: Sample,
    name: "rtrace_fprobe",
    authors: ["The rtrace authors"],
    description: "Counts short reads",
    license: "GPL",
}

struct Reads {
    full: AtomicUsize,
    short: AtomicUsize,
}

impl EntryExitCallback for Reads {
    // How many bytes were asked for.
    type Data = usize;

    fn entry(&self, call: &Call<'_>) -> Option<usize> {
        // ssize_t vfs_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
        call.argument(2)
    }

    fn exit(&self, asked: usize, ret: &Return<'_>) {
        let counter = match ret.value() == asked {
            true => &self.full,
            false => &self.short,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

struct Sample(Pin<KBox<Fprobe<Reads>>>);

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let reads = Reads {
            full: AtomicUsize::new(0),
            short: AtomicUsize::new(0),
        };
        let probe = Fprobe::new(c"vfs_read", reads);
        Ok(Self(KBox::pin_init(probe, GFP_KERNEL)?))
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let reads = self.0.callback();
        let full = reads.full.load(Ordering::Relaxed);
        let short = reads.short.load(Ordering::Relaxed);
        pr_info!("{full} full reads, {short} others\n");
    }
}
