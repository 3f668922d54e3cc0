// SPDX-License-Identifier: GPL-2.0

//! Exports (`register_ftrace_export()`): other consumers of entries, such as a System Trace Module.
//!
//! A writer calls [`wanted`] when it chooses how to record, not for each entry. So a change of the
//! list makes the writers choose again.

use crate::kernel::rcu_slot::{wait_for_readers, RcuSlot};
use crate::kernel::trace_export::Export;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex, SetOnce};

/// The exports, the newest first.
static LIST: RcuSlot<KVec<Export>> = RcuSlot::new();
/// The kinds of entries that any export takes.
static WANTED: Atomic<u32> = Atomic::new(0);
/// Held during a change of the list.
static CHANGE: SetOnce<Pin<KBox<Mutex<()>>>> = SetOnce::new();

/// Prepares the list. Once, at boot. `ENOMEM`.
pub(crate) fn init() -> Result {
    CHANGE.populate(KBox::pin_init(new_mutex!(()), GFP_KERNEL)?);
    Ok(())
}

/// Whether any export takes entries of `kind`, which is [`Export::FUNCTION`] or another constant of
/// that type. Any context.
pub(crate) fn wanted(kind: u32) -> bool {
    WANTED.load(Relaxed) & kind != 0
}

/// Adds an export. Task context, sleeps. `ENOMEM`; `ENODEV` before there are instances.
pub(crate) fn add(export: Export) -> Result {
    let _alone = CHANGE.as_ref().ok_or(ENODEV)?.lock();
    let old = LIST.share();
    let old = old.as_ref().map_or(&[][..], |list| list.as_slice());
    let mut new = KVec::with_capacity(old.len().saturating_add(1), GFP_KERNEL)?;
    new.push(export, GFP_KERNEL)?;
    for export in old.iter().filter(|export| export.is_there()) {
        #[allow(unsafe_code, reason = "a second owner for the time of the change")]
        // SAFETY: the new list takes the place of the old one, at which nobody looks when this returns.
        let again = unsafe { export.again() };
        new.push(again, GFP_KERNEL)?;
    }
    let new = Arc::new(new, GFP_KERNEL)?;
    count(&new);
    drop(LIST.replace(Some(new)));
    Ok(())
}

/// Ends the export that `is` accepts, which needs no memory: its place in the list goes when the
/// next one comes. Its function does not run any more after the return. Task context, sleeps.
///
/// # Errors
///
/// `ENOENT` if there is no such export.
pub(crate) fn remove(is: impl Fn(&Export) -> bool) -> Result {
    let _alone = CHANGE.as_ref().ok_or(ENOENT)?.lock();
    let list = LIST.share().ok_or(ENOENT)?;
    list.iter().find(|export| is(export)).ok_or(ENOENT)?.end();
    count(&list);
    wait_for_readers();
    Ok(())
}

/// Says what is wanted now.
fn count(list: &[Export]) {
    let all = list.iter().fold(0, |all, export| all | export.wants());
    WANTED.store(all, Relaxed);
}

/// Passes an entry of `kind`, common fields included, to the exports that take this kind. Any
/// context.
pub(crate) fn write(kind: u32, entry: &[u8]) {
    LIST.with(|list| {
        let list = list.map_or(&[][..], |list| list.as_slice());
        list.iter().for_each(|export| export.write(kind, entry));
    });
}
