// SPDX-License-Identifier: GPL-2.0

//! User events: `user_events_data` and `user_events_status`.
//!
//! A program registers events by `ioctl(2)` of `user_events_data`, which numbers them for the open
//! file. A write is the number of an event and an entry without its common fields.

use super::control::whole;
use super::{Node, Place};
use crate::core::event::user::command::DEFINITION_MAX;
use crate::core::event::user::request::{
    Bit, Register, REGISTER_INDEX, REGISTER_SIZE, UNREGISTER_SIZE,
};
use crate::kernel::fs::pseudo_fs::{OpenFile, OpenFlags, Opening, VectorCall, WriteCall};
use crate::kernel::fs::seq_file::{Cursor, Rows};
use crate::kernel::user_memory;
use crate::trace::events::dynamic::user::{self, enablers, Held, Sort};
use kernel::ioctl::{_IOW, _IOWR};
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Mutex, SetOnce};

const MAGIC: u32 = b'*' as u32;
/// `DIAG_IOCSREG`, `DIAG_IOCSDEL` and `DIAG_IOCSUNREG`: their sizes are those of pointers.
const REGISTER: u32 = _IOWR::<usize>(MAGIC, 0);
const DELETE: u32 = _IOW::<usize>(MAGIC, 1);
const UNREGISTER: u32 = _IOW::<usize>(MAGIC, 2);

/// Entries up to these sizes use the stack. Most fit into the smaller array, which is cheaper to
/// clear.
const TINY: usize = 48;
const SHORT: usize = 256;
/// No buffer and no room of perf's has an entry of more bytes.
const MOST: usize = 1 << 20;

/// `user_events_data`.
pub(super) struct Data;

impl Node for Data {
    fn open(&'static self, _at: &Place, _how: &OpenFlags) -> Result<Opening> {
        Opening::pin_init(pin_init!(OpenData {
            events: Table::new(),
            count <- new_mutex!(0),
        }? Error))
    }
}

/// The pieces of a [`Table`]; each has twice as many places as the one before.
const PIECES: usize = 24;
/// The places of the first piece.
const FIRST: usize = 8;

/// What is numbered from 0 on. Readers need no lock.
struct Table<T>([SetOnce<KVVec<SetOnce<T>>>; PIECES]);

impl<T> Table<T> {
    const fn new() -> Self {
        Self([const { SetOnce::new() }; PIECES])
    }

    /// Its piece, and its place there.
    #[inline(always)]
    fn place(number: usize) -> (usize, usize) {
        let from = number.wrapping_add(FIRST);
        let bits = from.checked_ilog2().unwrap_or(0);
        let piece = bits.wrapping_sub(FIRST.trailing_zeros()) as usize;
        (piece, from ^ 1_usize.wrapping_shl(bits))
    }

    #[inline(always)]
    fn get(&self, number: usize) -> Option<&T> {
        let (piece, at) = Self::place(number);
        self.0.get(piece)?.as_ref()?.get(at)?.as_ref()
    }

    /// Sets what has no value yet. The caller sees to it that it is alone. `ENOMEM`, `EMFILE`.
    fn set(&self, number: usize, value: T) -> Result {
        let (piece, at) = Self::place(number);
        let slot = self.0.get(piece).ok_or(EMFILE)?;
        if slot.as_ref().is_none() {
            let places = FIRST.checked_shl(piece as u32).ok_or(EMFILE)?;
            // A program may open many files: their memory counts as its own.
            let mut new = KVVec::with_capacity(places, GFP_KERNEL_ACCOUNT)?;
            for _ in 0..places {
                new.push(SetOnce::new(), GFP_KERNEL_ACCOUNT)?;
            }
            slot.populate(new);
        }
        let place = slot
            .as_ref()
            .and_then(|piece| piece.get(at))
            .ok_or(EMFILE)?;
        place.populate(value);
        Ok(())
    }
}

/// An open `user_events_data`.
#[pin_data]
struct OpenData {
    events: Table<Held>,
    /// How many events it has.
    #[pin]
    count: Mutex<usize>,
}

impl OpenData {
    /// The number of `event` for writes. `ENOMEM`, `EMFILE`.
    fn number(&self, event: Held) -> Result<usize> {
        let mut count = self.count.lock();
        let is_it = |known: &Held| known.is_same(&event);
        let known = (0..*count).find(|&number| self.events.get(number).is_some_and(is_it));
        if let Some(known) = known {
            return Ok(known);
        }
        let number = *count;
        self.events.set(number, event)?;
        *count = number.saturating_add(1);
        Ok(number)
    }

    fn register(&self, address: usize) -> Result<isize> {
        let raw = user_memory::sized::<REGISTER_SIZE>(address, REGISTER_SIZE)?;
        let wanted = Register::parse(&raw).ok_or(EINVAL)?;
        enablers::check_free(wanted.bit, wanted.size)?;
        let text = user_memory::whole_text::<DEFINITION_MAX>(wanted.definition as usize)?;
        let sort = Sort {
            persists: wanted.persists,
            is_multi: wanted.is_multi,
        };
        let event = user::find_or_make(&text, sort)?;
        let number = self.number(event.clone())?;
        enablers::add_current(&event, wanted.bit)?;
        // As in C, the caller learns of no fault here: the event is registered.
        let place = address.wrapping_add(REGISTER_INDEX);
        let _ = user_memory::write(place, &(number as u32).to_ne_bytes());
        Ok(0)
    }

    /// Takes one write of `length` bytes, which `read` reads in order.
    #[inline(always)]
    fn take(&self, length: usize, mut read: impl FnMut(&mut [u8]) -> Result) -> Result<usize> {
        let mut number = [0; 4];
        read(&mut number)?;
        let number = usize::try_from(i32::from_ne_bytes(number)).map_err(|_| EINVAL)?;
        let event = self.events.get(number).ok_or(ENOENT)?;
        let rest = length.wrapping_sub(size_of::<u32>());
        if rest < event.least() {
            return Err(EINVAL);
        }
        if !event.is_wanted() {
            return Err(EBADF);
        }
        match rest {
            ..=TINY => record(event, [0; TINY].get_mut(..rest).ok_or(EINVAL)?, read)?,
            ..=SHORT => record_short(event, rest, read)?,
            ..=MOST => record_long(event, rest, read)?,
            // Nobody has room for it.
            _ => read_through(rest, read)?,
        }
        Ok(length)
    }
}

#[inline(always)]
fn record(event: &Held, room: &mut [u8], mut read: impl FnMut(&mut [u8]) -> Result) -> Result {
    if !room.is_empty() {
        read(room)?;
    }
    event.record(room)
}

/// Reads `length` bytes and forgets them. `EFAULT`.
#[inline(never)]
fn read_through(length: usize, mut read: impl FnMut(&mut [u8]) -> Result) -> Result {
    let mut room = [0; SHORT];
    let mut left = length;
    while left != 0 {
        let part = room.get_mut(..left.min(SHORT)).ok_or(EINVAL)?;
        read(part)?;
        left -= part.len();
    }
    Ok(())
}

#[inline(never)]
fn record_short(event: &Held, length: usize, read: impl FnMut(&mut [u8]) -> Result) -> Result {
    record(event, [0; SHORT].get_mut(..length).ok_or(EINVAL)?, read)
}

#[inline(never)]
fn record_long(event: &Held, length: usize, read: impl FnMut(&mut [u8]) -> Result) -> Result {
    record(event, &mut KVVec::from_elem(0, length, GFP_KERNEL)?, read)
}

impl OpenFile for OpenData {
    fn write(&self, call: &mut WriteCall<'_>) -> Result<usize> {
        if *call.pos != 0 {
            return Err(EFAULT);
        }
        self.take(call.len(), |to| call.reader().read_slice(to))
    }

    fn write_vector(&self, call: &mut VectorCall<'_>) -> Result<usize> {
        self.take(call.len(), |to| call.read_slice(to))
    }

    fn takes_vectors(&self) -> bool {
        true
    }

    fn ioctl(&self, cmd: u32, arg: usize, _nonblock: bool) -> Result<isize> {
        match cmd {
            REGISTER => self.register(arg),
            DELETE => {
                user::remove(&user_memory::whole_text::<DEFINITION_MAX>(arg)?)?;
                Ok(0)
            }
            UNREGISTER => {
                let bit = Bit::parse(&user_memory::sized(arg, UNREGISTER_SIZE)?);
                enablers::remove_current(bit.ok_or(EINVAL)?)?;
                Ok(0)
            }
            _ => Err(ENOTTY),
        }
    }
}

/// `user_events_status`.
pub(super) struct Status;

impl Node for Status {
    fn open(&'static self, _at: &Place, _how: &OpenFlags) -> Result<Opening> {
        Opening::new(OpenStatus)
    }
}

struct OpenStatus;

impl OpenFile for OpenStatus {
    fn rows(&self) -> Option<&dyn Rows> {
        Some(self)
    }
}

impl Rows for OpenStatus {
    fn start(&self, at: u64) -> Result<Option<KBox<dyn Cursor + '_>>> {
        whole(at, |text| user::write_status(text))
    }
}
