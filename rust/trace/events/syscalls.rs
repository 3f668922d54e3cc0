// SPDX-License-Identifier: GPL-2.0

//! The events of single system calls, `syscalls:sys_enter_*` and `syscalls:sys_exit_*`, and the two of
//! all, `raw_syscalls:sys_enter` and `raw_syscalls:sys_exit`.
//!
//! The `raw_syscalls` events are recorded by our own probes instead of the generated ones. A
//! generated probe reserves an entry before it has the entry's words.
//!
//! All enter events share one tracepoint, and so do all exit events. An instance has at most one
//! probe at each. The probe finds the file of the system call in a table of the instance, which has
//! one word per call. Without an enabled event there is no probe, and system calls take their fast
//! path.
//!
//! Reading user memory may sleep. So the memory that arguments point to is copied to the task's
//! stack before preemption is turned off.

use super::file::{Hot, HotFile};
use super::recording;
use crate::core::format::syscall::{
    finish_string, Names, UserArgs, ARGS, NUMBER, USER_ARGS, USER_MAX, USER_ROOM, WORDS,
};
use crate::kernel::context::PreemptOff;
use crate::kernel::kallsyms::Symbol;
use crate::kernel::sort::sort_by;
pub(crate) use crate::kernel::syscall::DEFAULT_USER_BYTES;
use crate::kernel::syscall::{self, Current, Metadata, CALLS};
use crate::kernel::trace_event::COMMON;
use crate::kernel::trace_event_table::FileTable;
use crate::trace::instance::feature::Feature;
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, SetOnce};

/// A system call that has a number.
pub(crate) struct Call {
    /// Its metadata in the kernel.
    pub(crate) metadata: &'static Metadata,
    /// The arguments that point to user memory.
    pub(crate) user: UserArgs,
}

impl Call {
    /// The arguments of this call, without the unused words.
    #[inline(always)]
    pub(crate) fn words<'a>(&self, arguments: &'a [usize; ARGS]) -> &'a [usize] {
        arguments.get(..self.metadata.arguments()).unwrap_or(&[])
    }
}

impl Names for Metadata {
    fn name(&self) -> &[u8] {
        self.function()
    }

    fn count(&self) -> usize {
        self.arguments()
    }

    fn argument(&self, at: usize) -> &[u8] {
        Metadata::argument(self, at)
    }

    fn argument_type(&self, at: usize) -> &[u8] {
        Metadata::argument_type(self, at)
    }
}

/// The table's function for unused numbers. It is a system call itself.
const NOT_THERE: &[u8] = b"sys_ni_syscall";

/// The system calls by number.
static BY_NUMBER: SetOnce<KVec<Option<Call>>> = SetOnce::new();

/// Finds the numbers of all calls of `all`, once. Boot, one CPU. `ENOMEM`.
pub(crate) fn init<I: Iterator<Item = &'static Metadata>>(all: impl FnOnce() -> I) -> Result {
    if BY_NUMBER.as_ref().is_some() {
        return Ok(());
    }
    let mut named = KVec::new();
    for metadata in all() {
        named.push(metadata, GFP_KERNEL)?;
    }
    sort_by(&mut named, |one: &&Metadata, other| {
        one.function().cmp(other.function())
    });
    let find = |number| {
        Symbol::with(syscall::address(number), |symbol| {
            let name = function_name(symbol.name());
            if name == NOT_THERE {
                return None;
            }
            let at = named.binary_search_by_key(&name, |metadata| metadata.function());
            named.get(at.ok()?).copied()
        })
        .flatten()
    };
    let mut calls = KVec::with_capacity(CALLS, GFP_KERNEL)?;
    for number in 0..CALLS {
        let call = find(number).map(|metadata| Call {
            metadata,
            user: UserArgs::of(metadata.function()),
        });
        if let Some(call) = &call {
            call.metadata.set_number(number as i32);
        }
        calls.push(call, GFP_KERNEL)?;
    }
    BY_NUMBER.populate(calls);
    Ok(())
}

/// The `sys_name` part of a symbol. The architecture may have a prefix.
fn function_name(symbol: &[u8]) -> &[u8] {
    const SYS: &[u8] = b"sys_";
    let at = symbol.windows(SYS.len()).position(|part| part == SYS);
    at.and_then(|at| symbol.get(at..)).unwrap_or(&[])
}

/// The call with this number, if its function has metadata.
pub(crate) fn call(number: usize) -> Option<&'static Call> {
    BY_NUMBER.as_ref()?.get(number)?.as_ref()
}

/// The number of the call with `metadata`. The last one if it has several.
pub(crate) fn number_of(metadata: &Metadata) -> Option<usize> {
    usize::try_from(metadata.number()).ok()
}

const _: () = assert!(ARGS == syscall::ARGS);

/// The state of an instance for events of system calls.
pub(crate) struct Syscalls {
    /// Files of `sys_enter_*`, by number.
    pub(crate) enter: FileTable<Hot>,
    /// Files of `sys_exit_*`, by number.
    pub(crate) exit: FileTable<Hot>,
    /// The most bytes of user memory per argument in an entry.
    user_bytes: Atomic<u32>,
}

impl Feature for Syscalls {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        // A new instance begins with what the top instance has. That has nothing while it is made.
        let top = Instance::top().and_then(|top| of(top));
        let user_bytes = top.map_or(DEFAULT_USER_BYTES, |top| top.user_bytes());
        let new = Self {
            enter: FileTable::new(CALLS),
            exit: FileTable::new(CALLS),
            user_bytes: Atomic::new(user_bytes),
        };
        Ok(Arc::new(new, GFP_KERNEL)?)
    }
}

impl Syscalls {
    /// The most bytes of user memory per argument in an entry. Any context.
    pub(crate) fn user_bytes(&self) -> u32 {
        self.user_bytes.load(Relaxed)
    }

    /// Sets [`Syscalls::user_bytes`], limited to the largest possible value. Any context.
    pub(crate) fn set_user_bytes(&self, bytes: u64) {
        let bytes = bytes.min(USER_MAX as u64) as u32;
        self.user_bytes.store(bytes, Relaxed);
    }

    /// Records that the current task enters `current`. `file` is the file of its event. Called in
    /// the probe: task context, preemptible, may sleep.
    #[inline(always)]
    pub(crate) fn entered(&self, file: &HotFile, call: Numbered, current: Current<'_>) {
        if recording::is_left_out(file) {
            return;
        }
        let Numbered { number, call } = call;
        let arguments = current.arguments();
        if call.user.mask != 0 {
            let user = UserMemory::read(call.user, &arguments, self.user_bytes() as usize);
            return record(file, number, call.words(&arguments), Some(&user));
        }
        record(file, number, call.words(&arguments), None);
    }

    /// Records that the current task returns from `current`. Context as [`Syscalls::entered`].
    #[inline(always)]
    pub(crate) fn returned(&self, file: &HotFile, call: Numbered, current: Current<'_>) {
        if !recording::is_left_out(file) {
            record(file, call.number, &[current.result() as usize], None);
        }
    }
}

/// Records `raw_syscalls:sys_enter`, whose file is `file`. Task context, preemptible.
#[inline(always)]
pub(crate) fn any_entered(file: &HotFile, current: Current<'_>, number: u64) {
    recording::record_made(file, move |entry: &mut [u8; COMMON + 8 + 8 * ARGS]| {
        // The order of the probe's arguments. So they stay in their registers.
        let (current, number) = (current, number);
        if let Some((place, arguments)) = own_word(entry) {
            *place = number.to_ne_bytes();
            current.put_arguments(arguments);
        }
    });
}

/// Records `raw_syscalls:sys_exit`, whose file is `file`. Task context, preemptible.
#[inline(always)]
pub(crate) fn any_returned(file: &HotFile, current: Current<'_>, result: u64) {
    recording::record_made(file, move |entry: &mut [u8; COMMON + 8 + 8]| {
        if let Some((place, rest)) = own_word(entry) {
            *place = current.number_as_is().to_ne_bytes();
            if let Some(place) = rest.first_chunk_mut() {
                *place = result.to_ne_bytes();
            }
        }
    });
}

/// The first word of an entry after the common fields, and the rest.
#[inline(always)]
fn own_word(entry: &mut [u8]) -> Option<(&mut [u8; 8], &mut [u8])> {
    entry.get_mut(COMMON..)?.split_first_chunk_mut()
}

/// A system call that has events, and its number.
#[derive(Clone, Copy)]
pub(crate) struct Numbered {
    pub(crate) number: usize,
    call: &'static Call,
}

impl Numbered {
    /// The call of `current`, if it has events.
    #[inline(always)]
    pub(crate) fn of(current: Current<'_>) -> Option<Self> {
        let number = current.number()?;
        let call = call(number)?;
        Some(Self { number, call })
    }
}

/// Records an entry.
#[inline(always)]
fn record(file: &HotFile, number: usize, words: &[usize], user: Option<&UserMemory>) {
    let fixed = WORDS + 8 * words.len();
    let length = fixed + user.map_or(0, UserMemory::size);
    let stay = PreemptOff::new();
    recording::record(&stay, file, length, |fields| {
        let rest = put_call(fields, number, words);
        if let Some(user) = user {
            user.put(rest, fixed);
        }
    });
}

/// Writes the number and the words of an entry to `fields`, the bytes after the common fields.
/// Returns the rest of `fields`.
#[inline(always)]
pub(crate) fn put_call<'a>(fields: &'a mut [u8], number: usize, words: &[usize]) -> &'a mut [u8] {
    const AT: usize = NUMBER - COMMON;
    let Some((head, mut rest)) = fields.split_at_mut_checked(WORDS - COMMON) else {
        return &mut [];
    };
    if let Some(place) = head.get_mut(AT..).and_then(<[u8]>::first_chunk_mut) {
        *place = (number as u32).to_ne_bytes();
    }
    if let Some(hole) = head.get_mut(AT + 4..) {
        hole.fill(0);
    }
    for word in words {
        let Some((place, behind)) = rest.split_first_chunk_mut() else {
            return &mut [];
        };
        *place = word.to_ne_bytes();
        rest = behind;
    }
    rest
}

/// A copy of the user memory that the arguments of a call point to.
pub(crate) struct UserMemory {
    bytes: [[u8; USER_ROOM]; USER_ARGS],
    /// The size of each copy in bytes. 0 also if the memory could not be read.
    lengths: [usize; USER_ARGS],
    count: usize,
}

impl UserMemory {
    /// Reads the memory, at most `limit` bytes per argument. Task context, may sleep.
    pub(crate) fn read(user: UserArgs, arguments: &[usize; ARGS], limit: usize) -> Self {
        let mut new = Self {
            bytes: [[0; USER_ROOM]; USER_ARGS],
            lengths: [0; USER_ARGS],
            count: 0,
        };
        let size = user
            .length
            .and_then(|at| arguments.get(usize::from(at)))
            .map(|&size| size.min(USER_ROOM - 1));
        let places = new.bytes.iter_mut().zip(&mut new.lengths);
        for (at, (bytes, length)) in user.places().zip(places) {
            new.count += 1;
            let Some(&from) = arguments.get(at).filter(|_| limit > 0) else {
                continue;
            };
            *length = match size {
                None => {
                    let room = bytes.get_mut(..USER_ROOM - 1).unwrap_or(&mut []);
                    match syscall::copy_string(from, room) {
                        Some(length) => finish_string(bytes, length, limit),
                        None => 0,
                    }
                }
                Some(size) => {
                    let room = bytes.get_mut(..size).unwrap_or(&mut []);
                    match syscall::copy_bytes(from, room) {
                        true => size.min(limit),
                        false => 0,
                    }
                }
            };
        }
        new
    }

    /// The bytes that it takes in an entry.
    pub(crate) fn size(&self) -> usize {
        self.pieces().map(|piece| 4 + piece.len()).sum()
    }

    fn pieces(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let all = self.bytes.iter().zip(&self.lengths);
        all.take(self.count)
            .map(|(bytes, &length)| bytes.get(..length).unwrap_or(&[]))
    }

    /// Writes it to `place`, which is `offset` bytes after the start of the entry.
    pub(crate) fn put(&self, place: &mut [u8], offset: usize) {
        let mut at = offset + 4 * self.count;
        let Some((words, mut rest)) = place.split_at_mut_checked(4 * self.count) else {
            return;
        };
        for (word, piece) in words.chunks_exact_mut(4).zip(self.pieces()) {
            word.copy_from_slice(&(at as u32 | (piece.len() as u32) << 16).to_ne_bytes());
            at += piece.len();
            let Some((here, behind)) = rest.split_at_mut_checked(piece.len()) else {
                return;
            };
            here.copy_from_slice(piece);
            rest = behind;
        }
    }
}

/// The state of `instance` for events of system calls. Errors as [`Instance::feature`].
pub(crate) fn of(instance: &Instance) -> Result<&Syscalls> {
    instance.feature()
}
