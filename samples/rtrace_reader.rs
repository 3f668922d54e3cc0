// SPDX-License-Identifier: GPL-2.0

//! Records an event and a number of its own in an instance, and prints them at the end.

use kernel::prelude::*;
use rtrace::instance::{Instance, Reader};

module! {
    type: Sample,
    name: "rtrace_reader",
    authors: ["The rtrace authors"],
    description: "Reads an instance",
    license: "GPL",
}

/// The number that our own entries have.
const OURS: u32 = 42;
/// So many entries are printed at most.
const MOST: usize = 10_000;

struct Sample {
    instance: Instance,
    reader: Reader,
}

impl Sample {
    fn switch(&self, on: bool) -> Result {
        self.instance.write(OURS, &u32::from(on).to_ne_bytes())?;
        let (system, event) = (c"sched", c"sched_process_exit");
        self.instance.set_event(system, Some(event), on)
    }
}

impl kernel::Module for Sample {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let instance = Instance::open(c"rtrace_reader")?;
        let reader = instance.reader()?;
        let sample = Self { instance, reader };
        sample.switch(true)?;
        Ok(sample)
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        if let Err(error) = self.switch(false) {
            pr_warn!("the event stays on: {error:?}\n");
        }
        // What is printed may be recorded here, too: by the event `printk:console`.
        for _ in 0..MOST {
            let Ok(Some(entry)) = self.reader.consume() else {
                break;
            };
            match entry.written() {
                Some((OURS, on)) => pr_info!("cpu {} wrote {on:?}\n", entry.cpu),
                _ => pr_info!("{}\n", entry.text),
            }
        }
    }
}
