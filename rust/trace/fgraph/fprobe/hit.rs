// SPDX-License-Identifier: GPL-2.0

//! Hits of probed functions. Any context, NMI included; where RCU does not watch, nothing is
//! reported.

use super::probe::{Call, NO_DATA};
use super::table::Table;
use super::{Kind, TABLES};
use crate::kernel::ftrace::{self, fgraph_ops, ftrace_graph_ent, ftrace_graph_ret, ftrace_regs};
use crate::kernel::recursion::{Guard, InHit};
use crate::kernel::stack::rcu_watches;
use crate::trace::fgraph::ret_stack::Current;
use crate::trace::fgraph::UserRef;
use crate::trace::ftrace::arch::{Arch, Machine};
use kernel::ffi::c_int;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// What lies on the shadow stack before a probe's data: whose, and how many words.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Header(u64);

impl Header {
    const BITS: u32 = ftrace::FPROBE_DATA_BITS;
    /// After the last one, where there is room left. Registrations are numbered from 1.
    const END: Self = Self(0);

    fn new(id: u64, words: usize) -> Self {
        Self(id << Self::BITS | words as u64 & !(!0 << Self::BITS))
    }

    fn id(self) -> u64 {
        self.0 >> Self::BITS
    }

    fn words(self) -> usize {
        (self.0 & !(!0 << Self::BITS)) as usize
    }
}

fn pointer(data: &[Atomic<u64>]) -> *mut c_void {
    if data.is_empty() {
        return NO_DATA;
    }
    data.as_ptr().cast_mut().cast()
}

/// The function of the ops: entries alone.
///
/// # Safety
///
/// For trampolines and the list: `fregs` is what the trampoline saved at the entry of the function
/// at `ip`.
#[inline(always)]
pub(crate) unsafe fn entry_alone(ip: usize, parent_ip: usize, fregs: *mut ftrace_regs) {
    let Some(guard) = Guard::enter(ip, parent_ip) else {
        return;
    };
    if !guard.rcu_watches() {
        return;
    }
    let call = Call {
        site: ip,
        ret: parent_ip,
        regs: fregs,
        data: NO_DATA,
    };
    // SAFETY: the guard has preemption off until the end, and RCU watches; the slot is a static.
    let Some(table) = (unsafe { TABLES.of(Kind::Entry).get() }) else {
        return;
    };
    for entry in table.at(ip) {
        if let Some(probe) = entry.active(guard.lend()) {
            // SAFETY: a trampoline saved `call.regs`; the data is none, or as many words as the
            // probe has.
            let _ = unsafe { probe.entered(call) };
        }
    }
}

/// The graph user's function for entries.
///
/// # Safety
///
/// For [`crate::trace::fgraph::shared`].
#[inline(always)]
pub(crate) unsafe fn entered(
    trace: *mut ftrace_graph_ent,
    user: *mut fgraph_ops,
    fregs: *mut ftrace_regs,
) -> c_int {
    if !rcu_watches() {
        return 0;
    }
    // SAFETY: `shared` passes an entry of its own, and the user.
    let (site, place) = unsafe {
        (
            (*trace).func,
            UserRef::from_raw(user).map_or(0, UserRef::place),
        )
    };
    // SAFETY: the trampoline saved `fregs` at the function's entry, where this word is on the
    // stack.
    let ret = unsafe { Machine::return_address(fregs).read() };
    let call = Call {
        site,
        ret,
        regs: fregs,
        data: NO_DATA,
    };
    // SAFETY: `shared` has preemption off until the end, and RCU watches; the slot is a static.
    let Some(table) = (unsafe { TABLES.of(Kind::Return).get() }) else {
        return 0;
    };
    // SAFETY: the trampoline saved `call.regs`; `shared` has preemption off until the end.
    c_int::from(unsafe { enter(InHit::assume(), table, place, call) })
}

/// Calls the probes' entry functions. Does one of them want the return?
///
/// # Safety
///
/// `call.regs` is what a trampoline saved.
unsafe fn enter(hit: InHit<'_>, table: &Table, place: usize, call: Call) -> bool {
    let (wanted, probes) = table.wanting_at(call.site);
    if wanted == 0 {
        return false;
    }
    let current = Current::get();
    let Some(words) = current.reserve(place, wanted.wrapping_mul(size_of::<u64>())) else {
        probes
            .filter_map(|entry| entry.active(hit))
            .for_each(|probe| probe.missed());
        return false;
    };
    let mut rest = words;
    for entry in probes {
        let Some(probe) = entry.active(hit) else {
            continue;
        };
        let Some((header, (data, after))) = rest
            .split_first()
            .and_then(|(header, rest)| Some((header, rest.split_at_checked(entry.words)?)))
        else {
            break;
        };
        // SAFETY: a trampoline saved `call.regs`; the data is none, or as many words as the probe
        // has.
        if unsafe {
            probe.entered(Call {
                data: pointer(data),
                ..call
            })
        } {
            header.store(Header::new(entry.id, entry.words).0, Relaxed);
            rest = after;
        }
    }
    if let Some(end) = rest.first() {
        end.store(Header::END.0, Relaxed);
    }
    rest.len() != words.len()
}

/// The graph user's function for returns.
///
/// # Safety
///
/// For [`crate::trace::fgraph::shared`].
#[inline(always)]
pub(crate) unsafe fn returned(
    trace: *mut ftrace_graph_ret,
    user: *mut fgraph_ops,
    fregs: *mut ftrace_regs,
) {
    if !rcu_watches() {
        return;
    }
    // SAFETY: `shared` passes a return of its own, the user, and what the hook saved, completed by
    // where the function returns to.
    let (site, place, ret) = unsafe {
        let place = UserRef::from_raw(user).map_or(0, UserRef::place);
        ((*trace).func, place, ftrace::instruction_pointer(fregs))
    };
    let current = Current::get();
    let Some(words) = current.reserved(place, 0) else {
        return;
    };
    // SAFETY: `shared` has preemption off until the end, and RCU watches; the slot is a static.
    let Some(table) = (unsafe { TABLES.of(Kind::Return).get() }) else {
        return;
    };
    // SAFETY: as above.
    let hit = unsafe { InHit::assume() };
    let mut rest = words;
    while let Some((header, after)) = rest.split_first() {
        let header = Header(header.load(Relaxed));
        if header == Header::END {
            break;
        }
        let Some((data, after)) = after.split_at_checked(header.words()) else {
            break;
        };
        rest = after;
        if let Some(probe) = table
            .registered(header.id())
            .and_then(|entry| entry.active(hit))
        {
            // SAFETY: the hook saved `fregs`; the data is what the probe's function for entries
            // got.
            unsafe {
                probe.returned(Call {
                    site,
                    ret,
                    regs: fregs,
                    data: pointer(data),
                })
            };
        }
    }
}
