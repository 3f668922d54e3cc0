// SPDX-License-Identifier: GPL-2.0

//! Instances whose buffer outlives the kernel: the events of the last boot, and the text addresses
//! of that boot.
//!
//! Such an instance has its buffer in a [`Region`]. The scratch area of the region holds data for
//! the next kernel: the clock of the events, and the text addresses of the kernel and its modules.
//! At boot this data is copied to a [`PreviousBoot`], which translates recorded addresses to those
//! of this boot.
//!
//! The instance *begins anew* when a tracer or a clock is set, or when all events of the last boot
//! were read: the buffer is cleared, and the scratch area gets the addresses of this kernel. Writes
//! to `trace_marker` do not cause this.
//!
//! Lock order: the instance's state mutex, then [`Persistent::modules`] (a mutex).

use crate::core::parse::boot_instance::{module_name, module_words, MODULES, MODULE_WORDS};
use crate::kernel::reserved::{self, Reserved};
use crate::trace::buffer::clock::CLOCKS;
use crate::trace::buffer::region::Region;
use core::fmt;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::Mutex;

/// Words of the scratch area: the index of the clock, the start of text, the number of modules, the
/// modules.
const CLOCK: usize = 0;
const TEXT: usize = 1;
const COUNT: usize = 2;
const LIST: usize = 3;
/// Size of the scratch area in bytes.
const SCRATCH: usize = 8 * (LIST + MODULES * MODULE_WORDS);

/// A module of the last boot.
struct Module {
    words: [u64; MODULE_WORDS],
    /// The difference between an address in the module now and in the last boot. 0 while the module
    /// is not loaded.
    delta: Atomic<usize>,
}

/// Data of the kernel that recorded the events of an instance. It is made at boot and never freed:
/// open files refer to it.
pub(crate) struct PreviousBoot {
    /// Whether the instance still holds events of that boot.
    holds: Atomic<bool>,
    /// Whether the buffer was cleared after that.
    cleared: Atomic<bool>,
    text: usize,
    delta: usize,
    /// The modules, sorted by address.
    modules: KVec<Module>,
}

impl PreviousBoot {
    /// Copies the data of `scratch`. Clears invalid data there. `ENOMEM`.
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
        // There are few modules, and the stack is small at boot, so this is an insertion sort.
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
                cleared: Atomic::new(false),
                text,
                delta,
                modules,
            },
            GFP_KERNEL,
        )?;
        Ok(KBox::leak(this))
    }

    /// Whether the instance still holds events of the last boot. Any context.
    pub(crate) fn holds(&self) -> bool {
        self.holds.load(Relaxed)
    }

    /// Whether no reader that begins now finds events of the last boot. Any context.
    pub(crate) fn is_cleared(&self) -> bool {
        // Pairs with the release store in `note_text`.
        self.cleared.load(ordering::Acquire)
    }

    /// The address in this boot of the code that was at `addr` in the last boot. `addr` itself if
    /// that code is not loaded. Any context.
    pub(crate) fn current_addr(&self, addr: usize) -> usize {
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
                .filter(|current_addr| reserved::is_kernel_image(*current_addr))
                .unwrap_or(addr),
        }
    }

    /// A module of this kernel was loaded with its text at `text`, or is unloaded (`None`).
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

    /// Writes row `at` of `last_boot_info`. Returns false after the last row.
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

    /// Whether there is a row `at`.
    pub(crate) fn has_row(&self, at: u64) -> bool {
        at == 0 || self.holds() && at <= self.modules.len() as u64
    }
}

/// The part of an instance whose buffer lies in a region.
#[pin_data]
pub(crate) struct Persistent {
    last: &'static PreviousBoot,
    /// Held while the list of modules in the scratch area changes.
    #[pin]
    modules: Mutex<()>,
    /// The last field, so that it is dropped last.
    region: Region,
}

impl Persistent {
    /// Takes `memory` and reads the data found there. Boot. `EINVAL` if it is too small, `ENOMEM`.
    pub(crate) fn new(memory: Reserved) -> Result<Pin<KBox<Self>>> {
        let region = Region::new(memory, SCRATCH, 0)?;
        let last = PreviousBoot::new(region.scratch())?;
        reserved::for_each_module(|name, text| last.module(name, Some(text)));
        KBox::pin_init(
            pin_init!(Self { last, modules <- new_mutex!(()), region }),
            GFP_KERNEL,
        )
    }

    /// The region that holds the buffer.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// The data of the last boot.
    pub(crate) fn previous_boot(&self) -> &'static PreviousBoot {
        self.last
    }

    /// The clock of the last boot, as an index into [`CLOCKS`].
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

    /// Saves the clock for the next kernel. While the buffer holds events of the last boot, their
    /// clock stays saved.
    pub(crate) fn note_clock(&self, row: usize) {
        if !self.last.holds() {
            self.set(CLOCK, row as u64);
        }
    }

    /// Marks the events from now on as events of this kernel. Returns true for the first call. The
    /// caller then clears the buffer and calls [`Persistent::note_text`]. Task context, sleeps.
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

    /// The buffer was cleared: saves the start of this kernel's text for the next kernel.
    pub(crate) fn note_text(&self) {
        self.set(TEXT, reserved::text_start() as u64);
        // Pairs with the acquire load in `is_cleared`.
        self.last.cleared.store(true, ordering::Release);
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

    /// A module was loaded with its text at `text`, or is unloaded (`None`). Task context, sleeps.
    pub(crate) fn module(&self, name: &[u8], text: Option<usize>) {
        if self.last.holds() {
            self.last.module(name, text);
        } else if let Some(text) = text {
            let _list = self.modules.lock();
            self.add(name, text);
        }
    }
}
