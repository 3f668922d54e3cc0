// SPDX-License-Identifier: GPL-2.0

//! Instances whose buffer outlives the kernel: what was recorded before the last reboot, and where
//! things were then.
//!
//! Such an instance has its buffer in a [`Region`]. In the region's scratch area stands, for the
//! next kernel, by which clock was recorded and where the kernel's and its modules' text lay. At
//! boot a copy is made of that ([`PreviousBoot`]), which tells output where recorded addresses are now.
//! As soon as anything is to be recorded on purpose (a tracer, a clock), or all was read, the
//! instance *begins anew*: it is emptied, and the scratch area says where things are in this
//! kernel. Texts written to `trace_marker` do not do that.
//!
//! Locks: [`Persistent::modules`] (a mutex) inside of the instance's state mutex.

use crate::core::parse::boot_instance::{module_name, module_words, MODULES, MODULE_WORDS};
use crate::kernel::reserved::{self, Reserved};
use crate::trace::buffer::clock::CLOCKS;
use crate::trace::buffer::region::Region;
use core::fmt;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::Mutex;

/// Words of the scratch area: the clock's row, where text begins, how many modules, the modules.
const CLOCK: usize = 0;
const TEXT: usize = 1;
const COUNT: usize = 2;
const LIST: usize = 3;
/// Bytes of it.
const SCRATCH: usize = 8 * (LIST + MODULES * MODULE_WORDS);

/// A module of the last boot.
struct Module {
    words: [u64; MODULE_WORDS],
    /// What must be added to an address in it, to get that of now; 0 while it is not loaded.
    delta: Atomic<usize>,
}

/// What is known of the kernel that recorded what an instance holds. One that is made at boot stays
/// for good: files that are open refer to it.
pub(crate) struct PreviousBoot {
    /// Does the instance still hold what was recorded then?
    holds: Atomic<bool>,
    text: usize,
    delta: usize,
    /// By address.
    modules: KVec<Module>,
}

impl PreviousBoot {
    /// Takes over what `scratch` says; what cannot be right is cleared there. `ENOMEM`.
    fn new(scratch: &[Atomic<u64>]) -> Result<&'static Self> {
        let word = |at: usize| scratch.get(at).map_or(0, |word| word.load(Relaxed));
        let text = word(TEXT) as usize;
        let mut modules = KVec::new();
        let mut sound = word(COUNT) <= MODULES as u64 && word(CLOCK) < CLOCKS.len() as u64;
        for index in 0..if sound { word(COUNT) as usize } else { 0 } {
            let words = core::array::from_fn(|at| word(LIST + index * MODULE_WORDS + at));
            sound &= module_name(&words).is_some();
            modules.push(
                Module {
                    words,
                    delta: Atomic::new(0),
                },
                GFP_KERNEL,
            )?;
        }
        if !sound {
            pr_warn!("what the last boot has left about its modules and clock is invalid\n");
            modules.clear();
            scratch.iter().for_each(|word| word.store(0, Relaxed));
        }
        // Few, at boot, with little stack: each sinks to its place.
        for end in 1..modules.len() {
            let mut at = end;
            while at > 0
                && matches!(modules.get(at - 1..=at), Some([a, b]) if a.words[0] > b.words[0])
            {
                modules.swap(at - 1, at);
                at -= 1;
            }
        }
        let delta = if text == 0 {
            0
        } else {
            reserved::text_start().wrapping_sub(text)
        };
        let text = if sound { text } else { 0 };
        let this = KBox::new(
            Self {
                holds: Atomic::new(true),
                text,
                delta,
                modules,
            },
            GFP_KERNEL,
        )?;
        Ok(KBox::leak(this))
    }

    /// Does the instance hold what was recorded then? Any context.
    pub(crate) fn holds(&self) -> bool {
        self.holds.load(Relaxed)
    }

    /// Where what was at `addr` then is now; where it is not to be found, `addr`. Any context.
    pub(crate) fn moved(&self, addr: usize) -> usize {
        if !self.holds() {
            return addr;
        }
        let before = self
            .modules
            .partition_point(|module| module.words[0] <= addr as u64);
        match before
            .checked_sub(1)
            .and_then(|last| self.modules.get(last))
        {
            Some(module) => addr.wrapping_add(module.delta.load(Relaxed)),
            None => Some(addr.wrapping_add(self.delta))
                .filter(|moved| reserved::is_kernel_image(*moved))
                .unwrap_or(addr),
        }
    }

    /// A module of this kernel has its text at `text`, or goes (`None`).
    fn module(&self, name: &[u8], text: Option<usize>) {
        for module in &self.modules {
            let [then, ..] = module.words;
            if module.words == module_words(name, then) {
                module.delta.store(
                    text.map_or(0, |text| text.wrapping_sub(then as usize)),
                    Relaxed,
                );
            }
        }
    }

    /// Writes row `at` of `last_boot_info`; false behind the last.
    pub(crate) fn write_row(&self, at: u64, out: &mut dyn fmt::Write) -> Result<bool, fmt::Error> {
        match at.checked_sub(1) {
            None if self.holds() => writeln!(out, "{:x}\t[kernel]", self.text)?,
            None => writeln!(out, "# Current")?,
            Some(index) => {
                let Some(module) = self.modules.get(index as usize).filter(|_| self.holds()) else {
                    return Ok(false);
                };
                let (name, length) = module_name(&module.words).unwrap_or(([0; 56], 0));
                let name = name
                    .get(..length)
                    .and_then(|name| core::str::from_utf8(name).ok())
                    .unwrap_or("");
                writeln!(out, "{:x}\t{name}", module.words[0])?;
            }
        }
        Ok(true)
    }

    /// Is there such a row?
    pub(crate) fn has_row(&self, at: u64) -> bool {
        at == 0 || self.holds() && at <= self.modules.len() as u64
    }
}

/// What an instance has whose buffer lies in a region.
#[pin_data]
pub(crate) struct Persistent {
    last: &'static PreviousBoot,
    /// Held while the scratch area's list of modules changes.
    #[pin]
    modules: Mutex<()>,
    /// Last, so that it goes behind all else.
    region: Region,
}

impl Persistent {
    /// Prepares `memory`, finding out what is there. Boot. `EINVAL` if it is too small, `ENOMEM`.
    pub(crate) fn new(memory: Reserved) -> Result<Pin<KBox<Self>>> {
        let region = Region::new(memory, SCRATCH, 0)?;
        let last = PreviousBoot::new(region.scratch())?;
        reserved::for_each_module(|name, text| last.module(name, Some(text)));
        KBox::pin_init(
            pin_init!(Self { last, modules <- new_mutex!(()), region }),
            GFP_KERNEL,
        )
    }

    /// Where the buffer lies.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// What is known of the last boot.
    pub(crate) fn previous_boot(&self) -> &'static PreviousBoot {
        self.last
    }

    /// The clock of the last boot, as a row of [`CLOCKS`].
    pub(crate) fn clock(&self) -> usize {
        self.word(CLOCK)
    }

    fn word(&self, at: usize) -> usize {
        self.region
            .scratch()
            .get(at)
            .map_or(0, |word| word.load(Relaxed) as usize)
    }

    fn set(&self, at: usize, value: u64) {
        if let Some(word) = self.region.scratch().get(at) {
            word.store(value, Relaxed);
        }
    }

    /// Says for the next kernel by which clock is recorded; while what is there is of the last
    /// boot, that stays.
    pub(crate) fn note_clock(&self, row: usize) {
        if !self.last.holds() {
            self.set(CLOCK, row as u64);
        }
    }

    /// What is recorded from now on is of this kernel: says so. True if that is new; then the
    /// caller empties the buffer, and calls [`Persistent::note_text`]. Task context, sleeps.
    pub(crate) fn begin(&self, clock: usize) -> bool {
        if !self.last.holds.xchg(false, ordering::Full) {
            return false;
        }
        let _list = self.modules.lock();
        self.set(CLOCK, clock as u64);
        self.set(COUNT, 0);
        self.region
            .scratch()
            .iter()
            .skip(LIST)
            .for_each(|word| word.store(0, Relaxed));
        reserved::for_each_module(|name, text| self.add(name, text));
        true
    }

    /// Says for the next kernel where text begins in this one.
    pub(crate) fn note_text(&self) {
        self.set(TEXT, reserved::text_start() as u64);
    }

    fn add(&self, name: &[u8], text: usize) {
        let count = self.word(COUNT);
        if count < MODULES {
            for (at, word) in module_words(name, text as u64).into_iter().enumerate() {
                self.set(LIST + count * MODULE_WORDS + at, word);
            }
            self.set(COUNT, count as u64 + 1);
        }
    }

    /// A module comes, with its text at `text`, or goes (`None`). Task context, sleeps.
    pub(crate) fn module(&self, name: &[u8], text: Option<usize>) {
        if self.last.holds() {
            self.last.module(name, text);
        } else if let Some(text) = text {
            let _list = self.modules.lock();
            self.add(name, text);
        }
    }
}
