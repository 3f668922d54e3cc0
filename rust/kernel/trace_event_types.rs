// SPDX-License-Identifier: GPL-2.0

//! Types of entries that are given out while the kernel runs, and the functions that print them
//! (`struct trace_event`).
//!
//! Printing looks a type up in any context. Unregistering a type waits for that ([`wait_for_printing`]).
//! What prints may sleep where the reader of a buffer has a [`Held`]; elsewhere RCU keeps it.
//!
//! A record that was copied out of a buffer may outlast its event, and the type be another event's by
//! the time the copy is printed. So each event has the number of its registration, and a record the
//! [`Moment`] in which it was looked for.
//!
//! C header: `include/linux/trace_events.h`.

use super::rcu_slot::wait_for_readers;
use super::registrations::{self, Held, Moment};
use super::trace_event::Call;
use core::mem::offset_of;
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::rcu;

/// The first type that is given out; those below are the core's own.
pub(crate) const FIRST: u16 = 21;

const CHUNK: usize = 256;
type Chunk = [Slot; CHUNK];

/// What a type has.
struct Slot {
    /// The `struct trace_event`, with [`IS_CALL`] if it is part of a `struct trace_event_call`.
    event: Atomic<usize>,
    /// The number of its registration, or a later one. Set before the event is.
    registration: Atomic<u64>,
}

// SAFETY: zeroes are valid: no event, and a number.
unsafe impl pin_init::Zeroable for Slot {}

/// By type. Chunks come when they are first needed, and stay.
static CHUNKS: [Atomic<*mut Chunk>; CHUNK] = [const { Atomic::new(null_mut()) }; CHUNK];

const IS_CALL: usize = 1;
/// What a slot has while its type is no event's, and no event can get it.
#[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
const RETIRED: usize = IS_CALL;

/// No type below is free; a type that was freed lowers it.
static FREE_FROM: Atomic<u32> = Atomic::new(FIRST as u32);

/// Where a type's slot is; with `make`, its chunk comes if it is not there. `ENOMEM`.
fn slot(id: u16, make: bool) -> Result<Option<&'static Slot>> {
    let place = &CHUNKS[usize::from(id) / CHUNK];
    let mut chunk = place.load(ordering::Acquire);
    if chunk.is_null() && make {
        let new = KBox::<Chunk>::zeroed(GFP_KERNEL)?;
        let new = KBox::into_raw(new);
        chunk = match place.cmpxchg(null_mut(), new, ordering::Full) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: it came from a box just now, and nobody has seen it.
                drop(unsafe { KBox::from_raw(new) });
                other
            }
        };
    }
    // SAFETY: null, or a chunk that stays.
    Ok(unsafe { chunk.as_ref() }.and_then(|chunk| chunk.get(usize::from(id) % CHUNK)))
}

impl Slot {
    /// Puts an event there, unless one is.
    fn put(&self, word: usize, registration: u64) -> Option<()> {
        // The number is never too low. If it is that of another, who does not get the slot, the event is
        // hidden from records that were looked for before it was registered.
        let mut known = self.registration.load(Relaxed);
        while known < registration {
            match self.registration.cmpxchg(known, registration, Relaxed) {
                Ok(_) => break,
                Err(now) => known = now,
            }
        }
        // Pairs with the acquire load in `with`.
        self.event.cmpxchg(0, word, ordering::Full).ok().map(drop)
    }
}

/// Gives `event` a type, the lowest that is free, if it has none. Task context, may sleep.
///
/// # Errors
///
/// `ENOSPC` when there is none left, `EBUSY` for a type that somebody has, `EINVAL` for one that
/// cannot be had, `ENOMEM`.
///
/// # Safety
///
/// `event` stays until [`unregister`]; `is_call` says that it is part of a `struct
/// trace_event_call`.
pub(crate) unsafe fn register(event: NonNull<bindings::trace_event>, is_call: bool) -> Result<u16> {
    let event = event.as_ptr();
    let tag = if is_call { IS_CALL } else { 0 };
    let word = event as usize | tag;
    let registration = registrations::next();
    // SAFETY: `event` stays until it is unregistered.
    let wanted = unsafe { (*event).type_ };
    if wanted != 0 {
        let id = u16::try_from(wanted).map_err(|_| EINVAL)?;
        if id > FIRST {
            return Err(EINVAL);
        }
        let slot = slot(id, true)?.ok_or(EINVAL)?;
        slot.put(word, registration).ok_or(EBUSY)?;
        return Ok(id);
    }
    let seen = FREE_FROM.load(Relaxed);
    for id in seen.max(FIRST.into()) as u16..u16::MAX {
        let Some(slot) = slot(id, true)? else { break };
        if slot.event.load(Relaxed) == 0 {
            // SAFETY: `event` stays until it is unregistered, and cannot be found before the next
            // line.
            unsafe { (*event).type_ = id.into() };
            if slot.put(word, registration).is_some() {
                // Where it fails, others have come or gone meanwhile. A free type may be passed over then,
                // until a lower one is given back.
                let _ = FREE_FROM.cmpxchg(seen, u32::from(id) + 1, Relaxed);
                return Ok(id);
            }
        }
    }
    // SAFETY: `event` is there, and nobody has found it.
    unsafe { (*event).type_ = 0 };
    Err(ENOSPC)
}

/// Notes that `event`, if it has a type, is part of a `struct trace_event_call`: who has registered it
/// may not have known that. Task context.
///
/// # Safety
///
/// It is part of one, which is complete, and stays until [`unregister`] and [`wait_for_printing`].
pub(crate) unsafe fn mark_call(event: NonNull<bindings::trace_event>) {
    // SAFETY: `event` is there.
    let id = unsafe { (*event.as_ptr()).type_ };
    let slot = u16::try_from(id).map(|id| slot(id, false));
    if let Ok(Ok(Some(slot))) = slot {
        let word = event.as_ptr() as usize;
        // Where it fails, the mark is there, or the type is another event's. Pairs with the acquire load
        // in `with_known_at`.
        let _ = slot.event.cmpxchg(word, word | IS_CALL, ordering::Full);
    }
}

/// Takes an event's type away. Somebody may still print by it, until [`wait_for_printing`]. Task
/// context.
pub(crate) fn unregister(id: u16) {
    if let Ok(Some(slot)) = slot(id, false) {
        slot.event.store(0, Relaxed);
        let mut seen = FREE_FROM.load(Relaxed);
        while id >= FIRST && u32::from(id) < seen {
            match FREE_FROM.cmpxchg(seen, id.into(), Relaxed) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
    }
}

/// Waits until nobody prints by a type that was [taken away](unregister) before. Task context, sleeps.
pub(crate) fn wait_for_printing() {
    wait_for_readers();
    registrations::wait_for_held();
}

/// A type without an event, which no other event gets as long as this is there: buffers have entries of
/// it.
#[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
pub(crate) struct Retired(u16);

#[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
impl Drop for Retired {
    fn drop(&mut self) {
        unregister(self.0);
    }
}

/// As [`unregister`], but the type is not free before the result is dropped. Task context.
#[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
pub(super) fn retire(id: u16) -> Retired {
    if let Ok(Some(slot)) = slot(id, false) {
        slot.event.store(RETIRED, Relaxed);
    }
    Retired(id)
}

/// How an event's entries are printed, while RCU or a [`Held`] keeps it.
#[derive(Clone, Copy)]
pub(crate) struct Event<'a> {
    pub(super) raw: &'a bindings::trace_event,
    call: Option<&'a Call>,
}

impl<'a> Event<'a> {
    /// The event that has this type, if it is one of `TRACE_EVENT()`.
    pub(crate) fn call(self) -> Option<&'a Call> {
        self.call
    }
}

/// Runs `f` on the event that prints entries of type `id`, if there is one. Any context; `f` does not
/// sleep.
pub(crate) fn with<R>(id: u16, f: impl FnOnce(Event<'_>) -> R) -> Option<R> {
    with_known_at(id, Moment::END, None, f)
}

/// [`with`] for a record that was looked for at `moment`: an event that has got the type since then
/// has not made it. Where the caller is `held`, `f` may sleep.
pub(crate) fn with_known_at<R>(
    id: u16,
    moment: Moment,
    held: Option<&Held>,
    f: impl FnOnce(Event<'_>) -> R,
) -> Option<R> {
    let _read = match held {
        Some(_) => None,
        None => Some(rcu::read_lock()),
    };
    let slot = slot(id, false).ok()??;
    let word = slot.event.load(ordering::Acquire);
    if !moment.is_behind(slot.registration.load(Relaxed)) {
        return None;
    }
    let event = (word & !IS_CALL) as *const bindings::trace_event;
    // SAFETY: null, or an event that stays while RCU is held here, or as long as `held`: who unregisters
    // it waits for both.
    let raw = unsafe { event.as_ref() }?;
    let call = (word & IS_CALL != 0).then(|| {
        let start = event
            .cast::<u8>()
            .wrapping_sub(offset_of!(bindings::trace_event_call, event));
        // SAFETY: by the mark it is part of one, which stays as long.
        unsafe { Call::from_raw(start.cast()) }
    });
    Some(f(Event { raw, call }))
}
