// SPDX-License-Identifier: GPL-2.0

//! Entries in the kernel log as they are made: `tp_printk`, `kernel.tracepoint_printk`.
//!
//! While it is on, every file has [`flag::OBSERVED`], so that entries are made where they can be
//! looked at. An entry is printed if it is recorded, whatever the instance. What is hit while a CPU
//! prints one is not printed: the console's own events would have no end.
//!
//! Lock order: the event mutex; at a hit [`LINE`], a raw lock, under which the log is written.

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

/// Are they printed?
static ON: Atomic<bool> = Atomic::new(false);
/// Does this CPU print one? Made with the first use, and kept, as what follows.
static BUSY: SetOnce<PerCpu<Atomic<bool>>> = SetOnce::new();
/// What a line is made with.
static LINE: RawLock<Option<KVBox<Printing>>> = RawLock::new(None);

/// Is it on? Any context.
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Has all files choose anew how entries are made: whoever sees them beside the buffers has come or
/// gone. Task context, sleeps. `ENOMEM`.
pub(crate) fn refresh() -> Result {
    scratch::prepare()?;
    registry::lock()?.observe();
    Ok(())
}

/// Makes what [`set`] needs: once, at boot, if that was asked for. Task context. `ENOMEM`.
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

/// Prints entries from now on, or no longer; not without [`prepare`]. Task context, sleeps.
/// `ENODEV` before there are events.
pub(crate) fn set(on: bool) -> Result {
    let mut registry = registry::lock()?;
    ON.store(on && BUSY.as_ref().is_some(), Relaxed);
    registry.observe();
    Ok(())
}

impl Registry {
    /// Has all entries looked at before they are recorded while anybody sees them. Task context.
    fn observe(&mut self) {
        let on = is_on() || export::wanted(Export::EVENT);
        self.observed = on;
        for file in self.instances.iter().flat_map(|at| at.files()) {
            file.hot().set(flag::OBSERVED, on);
        }
    }
}

/// Shows an entry that is about to be recorded to those who see it beside the buffers. At its hit,
/// preemption off.
pub(super) fn show(kind: u16, entry: &[u8]) {
    print(kind, entry);
    export::write(Export::EVENT, entry);
}

/// Prints `entry`, of type `kind`, common fields included. At its hit, preemption off; an NMI may
/// not get to.
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
    let Some(mut line) = line else { return };
    busy.store(true, Relaxed);
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
    };
    types::with(kind, |event| {
        if let Some(text) = printing.print(event, entry, Form::Text) {
            log::default(text);
        }
    });
}
