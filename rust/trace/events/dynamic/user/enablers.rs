// SPDX-License-Identifier: GPL-2.0

//! The bits in programs' memory that say whether an event is enabled.
//!
//! Tasks with common memory have one [`Enablers`], under whose lock bits are written: the event's
//! state is looked at under it, too, so the last to write is right. The list of them all is locked only
//! to go on to the next.
//!
//! A bit is written without a page fault. If the page is not there, the lock is given back, and a
//! kernel thread has the page come and writes the bit then. It looks the bit up again: its program may
//! have taken it away, or have died.
//!
//! A program may ask for as many bits as it likes: their memory counts as its own, and needs no pages
//! that are next to each other. It is allocated without locks: the program's group may have to have
//! memory freed first, and changes of events must not wait for that.
//!
//! Lock order: the event mutex, then [`Enablers::all`], then the program's memory map. The lock of
//! [`SPACES`] is held alone. No page fault happens under any of them.

use super::{Held, Shared};
use crate::core::event::user::request::Bit;
use crate::kernel::user_event_mm::{Data, UserEventMm};
use crate::kernel::user_memory::is_user_memory;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::str::BStr;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex, MutexGuard, SetOnce};

/// How many bits there is room for at first.
const FEWEST: usize = 4;
/// How often the page of a bit is made to come, before the next change of the event.
const ATTEMPTS: u8 = 10;

/// Tasks with common memory.
pub(crate) type Space = UserEventMm<Enablers>;

/// A bit of a program.
struct Enabler {
    event: Held,
    address: usize,
    number: u8,
    /// No other of these ever has it.
    id: u64,
    /// How often the page was asked for, if a kernel thread is to write the bit; else 0.
    attempts: u8,
}

impl Enabler {
    fn is_at(&self, address: usize, number: u8) -> bool {
        self.address == address && self.number == number
    }

    /// Writes the bit, or has that done later.
    fn write(&mut self, space: &Arc<Space>) {
        let on = self.event.is_enabled();
        match space.write_bit(self.address, self.number, on) {
            Err(error) if error == EFAULT && self.attempts < ATTEMPTS => {
                self.attempts = self.attempts.saturating_add(1);
                UserEventMm::queue(space);
            }
            _ => self.attempts = 0,
        }
    }
}

/// The bits of tasks with common memory.
#[pin_data]
pub(crate) struct Enablers {
    /// Its place in [`SPACES`].
    serial: Atomic<u64>,
    #[pin]
    all: Mutex<KVVec<Enabler>>,
}

/// All of them, by their number.
struct Spaces {
    all: KVVec<Arc<Space>>,
    last: u64,
}

static SPACES: SetOnce<Pin<KBox<Mutex<Spaces>>>> = SetOnce::new();
/// The next [`Enabler::id`].
static NEXT: Atomic<u64> = Atomic::new(1);

/// Makes an empty list. Once, at boot. `ENOMEM`.
pub(super) fn init() -> Result {
    let none = Spaces {
        all: KVVec::new(),
        last: 0,
    };
    SPACES.populate(KBox::pin_init(new_mutex!(none), GFP_KERNEL)?);
    Ok(())
}

/// Lists a new one. `ENOMEM`.
fn add(space: &Arc<Space>) -> Result {
    let mut spaces = SPACES.as_ref().ok_or(ENODEV)?.lock();
    spaces.all.reserve(1, GFP_KERNEL)?;
    spaces.last = spaces.last.saturating_add(1);
    space.data().serial.store(spaces.last, Relaxed);
    spaces
        .all
        .push_within_capacity(space.clone())
        .map_err(|_| ENOMEM)
}

impl Spaces {
    fn place(&self, serial: u64) -> Result<usize, usize> {
        let serial_of = |space: &Arc<Space>| space.data().serial.load(Relaxed);
        self.all.binary_search_by_key(&serial, serial_of)
    }
}

/// The first behind `serial`.
fn next_behind(serial: u64) -> Option<Arc<Space>> {
    let spaces = SPACES.as_ref()?.lock();
    let at = match spaces.place(serial) {
        Ok(at) => at.saturating_add(1),
        Err(at) => at,
    };
    spaces.all.get(at).cloned()
}

/// The event was enabled or disabled: writes its bits in all programs. The caller holds the events
/// lock. Task context, sleeps.
pub(super) fn update(event: &Arc<Shared>) {
    let mut serial = 0;
    while let Some(space) = next_behind(serial) {
        serial = space.data().serial.load(Relaxed);
        let mut all = space.data().all.lock();
        let of_event = |enabler: &&mut Enabler| enabler.event.is_of(event);
        for enabler in all.iter_mut().filter(of_event) {
            // A kernel thread that is to write it looks at the event's state then.
            if enabler.attempts == 0 {
                enabler.write(&space);
            }
        }
    }
}

impl Enablers {
    fn none() -> impl PinInit<Self> {
        Self::with(KVVec::new())
    }

    fn with(all: KVVec<Enabler>) -> impl PinInit<Self> {
        pin_init!(Self {
            serial: Atomic::new(0),
            all <- new_mutex!(all),
        })
    }

    /// Copies of the bits, for a copy of the memory. `ENOMEM`.
    fn copy(&self) -> Result<KVVec<Enabler>> {
        let mut copies = KVVec::new();
        loop {
            let all = self.all.lock();
            let count = all.len();
            if count <= copies.capacity() {
                for enabler in all.iter() {
                    let copy = Enabler {
                        event: enabler.event.clone(),
                        address: enabler.address,
                        number: enabler.number,
                        id: NEXT.fetch_add(1, Relaxed),
                        attempts: 0,
                    };
                    copies.push_within_capacity(copy).map_err(|_| ENOMEM)?;
                }
                return Ok(copies);
            }
            drop(all);
            copies.reserve(count, GFP_KERNEL_ACCOUNT)?;
        }
    }

    /// Locks the bits, with room for one more. `ENOMEM`.
    fn lock_with_room(&self) -> Result<MutexGuard<'_, KVVec<Enabler>>> {
        let mut larger = KVVec::new();
        loop {
            let mut all = self.all.lock();
            let count = all.len();
            if count < all.capacity() {
                return Ok(all);
            }
            if count < larger.capacity() {
                core::mem::swap(&mut *all, &mut larger);
                for enabler in larger.drain_all() {
                    all.push_within_capacity(enabler).map_err(|_| ENOMEM)?;
                }
                return Ok(all);
            }
            drop(all);
            larger.reserve(count.saturating_mul(2).max(FEWEST), GFP_KERNEL_ACCOUNT)?;
        }
    }
}

impl Data for Enablers {
    /// Has the pages come that are asked for, and writes their bits.
    fn run(space: &Arc<Space>) {
        let Self { all, .. } = space.data();
        let waits = |enabler: &&Enabler| enabler.attempts != 0;
        loop {
            let next = all
                .lock()
                .iter()
                .find(waits)
                .map(|enabler| (enabler.id, enabler.address));
            let Some((id, address)) = next else {
                return;
            };
            // It may wait for the program, and takes none of our locks.
            let came = space.fault_in(address);
            let mut all = all.lock();
            let Some(enabler) = all.iter_mut().find(|enabler| enabler.id == id) else {
                continue;
            };
            match came {
                Ok(()) => enabler.write(space),
                Err(error) => {
                    if error != ENOENT {
                        pr_warn!(
                            "user_events: Fault @ {:#x} event: {}\n",
                            address,
                            BStr::from_bytes(enabler.event.name())
                        );
                    }
                    enabler.attempts = 0;
                }
            }
        }
    }
}

/// Where a bit of the current task is. `EFAULT` for an address that the machine has not.
fn address_of(bit: Bit) -> Result<usize> {
    usize::try_from(bit.address).map_err(|_| EFAULT)
}

/// Whether the current task has such a bit already, in a word of `size` bytes, or can have none. Task
/// context, sleeps.
///
/// # Errors
///
/// `EADDRINUSE` if it has it, `EFAULT` for an address that no program has.
pub(crate) fn check_free(bit: Bit, size: u8) -> Result {
    let address = address_of(bit)?;
    if !is_user_memory(address, size.into()) {
        return Err(EFAULT);
    }
    let Some(space) = Space::known() else {
        return Ok(());
    };
    let all = space.data().all.lock();
    match all.iter().any(|enabler| enabler.is_at(address, bit.number)) {
        true => Err(EADDRINUSE),
        false => Ok(()),
    }
}

/// Has a bit of the current task say whether `event` is enabled. Task context, sleeps.
///
/// # Errors
///
/// `EADDRINUSE` if the bit is used so already, `EFAULT` if it cannot be written, `ENOMEM`.
pub(crate) fn add_current(event: &Held, bit: Bit) -> Result {
    let address = address_of(bit)?;
    let space = Space::of_current(Enablers::none(), add)?;
    let mut attempts = 0_u8;
    loop {
        {
            let mut all = space.data().lock_with_room()?;
            if all.iter().any(|enabler| enabler.is_at(address, bit.number)) {
                return Err(EADDRINUSE);
            }
            let written = space.write_bit(address, bit.number, event.is_enabled());
            if written.is_ok() {
                let new = Enabler {
                    event: event.clone(),
                    address,
                    number: bit.number,
                    id: NEXT.fetch_add(1, Relaxed),
                    attempts: 0,
                };
                return all.push_within_capacity(new).map_err(|_| ENOMEM);
            }
        }
        fault_in(&space, address, &mut attempts)?;
    }
}

/// Has the page at `address` come, unless it was asked for too often. `EFAULT`.
fn fault_in(space: &Space, address: usize, attempts: &mut u8) -> Result {
    if *attempts >= ATTEMPTS {
        return Err(EFAULT);
    }
    *attempts = attempts.saturating_add(1);
    space.fault_in(address).map_err(|_| EFAULT)
}

/// Takes a bit of the current task away, and clears it. Task context, sleeps.
///
/// # Errors
///
/// `ENOENT` if no event has it, `EFAULT` if it cannot be cleared; it is no event's then.
pub(crate) fn remove_current(bit: Bit) -> Result {
    let address = usize::try_from(bit.address).map_err(|_| ENOENT)?;
    let space = Space::known().ok_or(ENOENT)?;
    let mut is_known = false;
    let mut attempts = 0;
    loop {
        {
            let mut all = space.data().all.lock();
            all.retain(|enabler| {
                let is_it = enabler.is_at(address, bit.number);
                is_known |= is_it;
                !is_it
            });
            if !is_known {
                return Err(ENOENT);
            }
            if space.write_bit(address, bit.number, false).is_ok() {
                return Ok(());
            }
        }
        fault_in(&space, address, &mut attempts)?;
    }
}

/// Gives a copy of the memory of `of` the same bits. `ENOMEM`.
pub(crate) fn copied(of: &Space) -> Result<impl PinInit<Enablers>> {
    Ok(Enablers::with(of.data().copy()?))
}

/// Lists what was [`copied`], and writes those bits that are wrong: an event may have been enabled or
/// disabled since the memory was copied. Task context, sleeps. `ENOMEM`.
pub(crate) fn begin_copy(space: &Arc<Space>) -> Result {
    add(space)?;
    for enabler in space.data().all.lock().iter_mut() {
        let on = enabler.event.is_enabled();
        let is_right = match space.read_bit(enabler.address, enabler.number) {
            Ok(is_on) => is_on == on,
            // It may be in a page that was swapped out, or is empty in the copy.
            Err(error) => error != EFAULT,
        };
        if !is_right {
            enabler.write(space);
        }
    }
    Ok(())
}

/// The last of its tasks has left `space`: no bits are written any more. Task context, sleeps.
pub(crate) fn end(space: &Arc<Space>) {
    if let Some(spaces) = SPACES.as_ref() {
        let mut spaces = spaces.lock();
        if let Ok(at) = spaces.place(space.data().serial.load(Relaxed)) {
            let _ = spaces.all.remove(at);
        }
    }
    let gone = core::mem::take(&mut *space.data().all.lock());
    drop(gone);
}
