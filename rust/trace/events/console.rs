// SPDX-License-Identifier: GPL-2.0

//! Prints entries to the kernel log when they are recorded: `tp_printk`,
//! `kernel.tracepoint_printk`.
//!
//! While this is on, every file has [`flag::OBSERVED`], so entries are made in memory where they
//! can be printed. An entry of any instance is printed if it is recorded. Events that are hit while
//! a CPU prints an entry are not printed, since the console has events of its own and printing
//! would never end.
//!
//! Lock order: the event mutex. A hit takes [`LINE`], a raw lock, and prints to the log under it.

use super::registry::{self, Registry};
use super::scratch;
use crate::kernel::context::PreemptCount;
use crate::kernel::percpu::PerCpu;
use crate::kernel::printk as log;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::trace_event::flag;
use crate::kernel::trace_event_print::{Entry, Form, Printing};
use crate::kernel::trace_event_types as types;
use crate::kernel::trace_export::Export;
use crate::trace::output::export;
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::SetOnce;

/// Whether entries are printed.
static ON: Atomic<bool> = Atomic::new(false);
/// Whether this CPU is printing an entry. Allocated at the first use and never freed.
static BUSY: SetOnce<PerCpu<Atomic<bool>>> = SetOnce::new();
/// Memory for printing one entry. Never freed.
static LINE: RawLock<Option<KVBox<Printing>>> = RawLock::new(None);

/// Whether entries are printed. Any context.
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Makes all files choose again how they make entries, after an export or the printing was turned
/// on or off. Task context, sleeps. `ENOMEM`.
pub(crate) fn refresh() -> Result {
    scratch::prepare()?;
    registry::lock()?.observe();
    Ok(())
}

/// Allocates the memory that [`set`] needs. Once, at boot, if the command line asks for printing.
/// Task context. `ENOMEM`.
pub(crate) fn prepare() -> Result {
    let _alone = registry::lock()?;
    if BUSY.as_ref().is_none() {
        scratch::prepare()?;
        let busy = PerCpu::new(|_| Atomic::new(false))?;
        let line = Printing::new()?;
        let old = LINE.lock().replace(line);
        drop(old);
        BUSY.populate(busy);
    }
    Ok(())
}

/// Turns printing on or off. It stays off without [`prepare`]. Task context, sleeps. `ENODEV`
/// before there are events.
pub(crate) fn set(on: bool) -> Result {
    let mut registry = registry::lock()?;
    ON.store(on && BUSY.as_ref().is_some(), Relaxed);
    registry.observe();
    Ok(())
}

impl Registry {
    /// Sets or clears [`flag::OBSERVED`] of all files. Task context.
    fn observe(&mut self) {
        let on = is_on() || export::wanted(Export::EVENT);
        self.observed = on;
        for file in self.instances.iter().flat_map(|at| at.files()) {
            file.hot().set(flag::OBSERVED, on);
        }
    }
}

/// Passes an entry that is about to be recorded to the exports and the kernel log. Called at the
/// hit, preemption off.
pub(super) fn show(kind: u16, entry: &[u8]) {
    print(kind, entry);
    export::write(Export::EVENT, entry);
}

/// Prints `entry`, of type `kind`, common fields included. Called at the hit, preemption off.
/// Prints nothing in an NMI.
fn print(kind: u16, entry: &[u8]) {
    let Some(busy) = BUSY.as_ref().filter(|_| is_on()).map(PerCpu::this) else {
        return;
    };
    if busy.load(Relaxed) {
        return;
    }
    let line = match PreemptCount::read().in_nmi() {
        true => LINE.try_lock(),
        false => Some(LINE.lock()),
    };
    let Some(line) = line else { return };
    busy.store(true, Relaxed);
    // Printing is traced; events that are hit meanwhile find `busy`.
    let mut line = line.around_traced();
    if let Some(printing) = &mut *line {
        write(printing, kind, entry);
    }
    busy.store(false, Relaxed);
}

fn write(printing: &mut Printing, kind: u16, data: &[u8]) {
    let entry = Entry {
        data,
        cpu: CpuId::current().as_u32(),
        ts: 0,
        instance: 0,
        symbol_flags: 0,
        paths: false,
    };
    types::with(kind, |event| {
        if let Some((text, _)) = printing.print(event, entry, Form::Text) {
            log::default(text);
        }
    });
}
