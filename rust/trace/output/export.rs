// SPDX-License-Identifier: GPL-2.0

//! Those who take entries beside the buffers (`register_ftrace_export()`), such as a System Trace
//! Module.
//!
//! Who makes entries asks [`wanted`] when it chooses how to, not at each entry; so who changes the
//! list has it choose anew.

use crate::kernel::rcu_slot::RcuSlot;
use crate::kernel::trace_export::Export;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex, SetOnce};

/// The newest first.
static LIST: RcuSlot<KVec<Export>> = RcuSlot::new();
/// What any of them takes.
static WANTED: Atomic<u32> = Atomic::new(0);
/// Held while the list is changed.
static CHANGE: SetOnce<Pin<KBox<Mutex<()>>>> = SetOnce::new();

/// Once, at boot. `ENOMEM`.
pub(crate) fn init() -> Result {
    CHANGE.populate(KBox::pin_init(new_mutex!(()), GFP_KERNEL)?);
    Ok(())
}

/// Does anybody take entries of that kind, [`Export::FUNCTION`] or another? Any context.
pub(crate) fn wanted(kind: u32) -> bool {
    WANTED.load(Relaxed) & kind != 0
}

/// Adds one. Task context, sleeps. `ENOMEM`, `ENODEV` before there are instances.
pub(crate) fn add(export: Export) -> Result {
    change(|list| {
        let mut new = KVec::with_capacity(list.len().saturating_add(1), GFP_KERNEL)?;
        new.push(export, GFP_KERNEL)?;
        new.extend_from_slice(list, GFP_KERNEL)?;
        Ok(new)
    })
}

/// Takes the one away that `is` picks; its function does not run any more then. Task context,
/// sleeps.
///
/// # Errors
///
/// `ENOENT` when there is none, `ENOMEM`.
pub(crate) fn remove(is: impl Fn(Export) -> bool) -> Result {
    change(|list| {
        let mut new = KVec::with_capacity(list.len(), GFP_KERNEL)?;
        for &export in list.iter().filter(|&&export| !is(export)) {
            new.push(export, GFP_KERNEL)?;
        }
        if new.len() == list.len() {
            return Err(ENOENT);
        }
        Ok(new)
    })
}

fn change(make: impl FnOnce(&[Export]) -> Result<KVec<Export>>) -> Result {
    let _alone = CHANGE.as_ref().ok_or(ENODEV)?.lock();
    let old = LIST.share();
    let new = make(old.as_ref().map_or(&[][..], |list| list.as_slice()))?;
    let all = new.iter().fold(0, |all, export| all | export.wants());
    drop(LIST.replace(Some(Arc::new(new, GFP_KERNEL)?)));
    WANTED.store(all, Relaxed);
    Ok(())
}

/// Gives an entry of that kind, common fields included, to those who take such. Any context.
pub(crate) fn write(kind: u32, entry: &[u8]) {
    LIST.with(|list| {
        let list = list.map_or(&[][..], |list| list.as_slice());
        for export in list.iter().filter(|export| export.wants() & kind != 0) {
            export.write(entry);
        }
    });
}
