// SPDX-License-Identifier: GPL-2.0

//! Events as perf uses them: each has, while it is used so, a list of perf's events on every CPU,
//! and all of them have memory in which entries are made.
//!
//! C headers: `include/linux/perf_event.h`, `include/linux/trace_events.h`.

#[cfg(CONFIG_BPF_EVENTS)]
use super::bpf;
use super::percpu::this_of;
#[cfg(any(CONFIG_FTRACE_SYSCALLS, CONFIG_DYNAMIC_EVENTS))]
use super::trace_event::COMMON;
use super::trace_event::{wait_for_probes, Call};
use core::mem::offset_of;
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
#[cfg(CONFIG_PROBE_EVENTS)]
use kernel::error::from_err_ptr;
use kernel::error::to_result;
use kernel::prelude::*;
#[cfg(CONFIG_PROBE_EVENTS)]
use kernel::str::CString;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::types::Opaque;

/// The longest entry.
const ROOM: usize = bindings::PERF_MAX_TRACE_SIZE as usize;

/// Memory for an entry in each context that perf tells apart, on every CPU; there while an event is
/// in use.
static ROOMS: [Atomic<*mut u8>; 4] = [const { Atomic::new(null_mut()) }; 4];

/// The number of events in use. The events lock protects it.
pub(crate) struct InUse(usize);

/// Allocates zeroed memory on every CPU. Task context, may sleep.
fn per_cpu(size: usize, align: usize) -> Result<NonNull<u8>> {
    // SAFETY: the size is not 0 and the alignment is a power of two.
    let base = unsafe { bindings::pcpu_alloc_noprof(size, align, false, bindings::GFP_KERNEL) };
    NonNull::new(base.cast()).ok_or(ENOMEM)
}

/// # Safety
///
/// `base` is null or from [`per_cpu`], and not used any more.
unsafe fn free_per_cpu<T>(base: *mut T) {
    // SAFETY: `base` is null or from `per_cpu`, and not used any more.
    unsafe { bindings::free_percpu(base.cast()) };
}

impl InUse {
    /// None.
    pub(crate) const fn new() -> Self {
        Self(0)
    }

    /// Has `event` see hits of `call`. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EACCES` and `EPERM` without the right to it, `ENODEV` for an event without a function for
    /// perf, `ENOMEM`, and what the event's class says.
    ///
    /// # Safety
    ///
    /// `event` is live and in no list, and stays until [`InUse::end`].
    pub(crate) unsafe fn begin(&mut self, call: &Call, event: *mut bindings::perf_event) -> Result {
        // SAFETY: `event` is live and in no list, and stays until it is ended.
        unsafe {
            may_see(call, event)?;
            (*event).tp_event = call.as_ptr();
            self.hold(call)?;
            call.reg(bindings::trace_reg_TRACE_REG_PERF_OPEN, event.cast())
                .map(drop)
                .inspect_err(|_| self.release(call))
        }
    }

    /// Undoes [`InUse::begin`]. Task context, sleeps.
    ///
    /// # Safety
    ///
    /// It was done for both, and is undone once.
    pub(crate) unsafe fn end(&mut self, call: &Call, event: *mut bindings::perf_event) {
        // SAFETY: `begin` was done for `event` and `call`, and is undone once.
        unsafe {
            let _ = call.reg(bindings::trace_reg_TRACE_REG_PERF_CLOSE, event.cast());
            self.release(call);
        }
    }

    /// # Safety
    ///
    /// The caller holds the events lock.
    unsafe fn hold(&mut self, call: &Call) -> Result {
        let raw = call.as_ptr();
        let users = call.perf_users();
        if users.load(Relaxed) > 0 {
            users.add(1, Relaxed);
            return Ok(());
        }
        // SAFETY: the event mutex is held, and nobody sees the lists before the event is
        // registered.
        unsafe {
            let size = size_of::<bindings::hlist_head>();
            // Empty lists are zeroes.
            (*raw).perf_events = per_cpu(size, align_of::<bindings::hlist_head>())?
                .as_ptr()
                .cast();
            users.store(1, Relaxed);
            self.0 += 1;
            let made = if self.0 == 1 { make_rooms() } else { Ok(()) };
            made.and_then(|()| call.reg(bindings::trace_reg_TRACE_REG_PERF_REGISTER, null_mut()))
                .map(drop)
                .inspect_err(|_| {
                    // Some of the event's probes may have been enabled for a while.
                    wait_for_probes();
                    self.forget(call);
                })
        }
    }

    /// # Safety
    ///
    /// Undoes one [`InUse::hold`].
    unsafe fn release(&mut self, call: &Call) {
        let users = call.perf_users();
        users.add(-1, Relaxed);
        // SAFETY: the event mutex is held, and `hold` was done for `call`.
        unsafe {
            if users.load(Relaxed) == 0 {
                let _ = call.reg(bindings::trace_reg_TRACE_REG_PERF_UNREGISTER, null_mut());
                wait_for_probes();
                self.forget(call);
            }
        }
    }

    /// # Safety
    ///
    /// The event's probe does not run.
    unsafe fn forget(&mut self, call: &Call) {
        // SAFETY: the event's probe does not run, so nobody sees its lists, or with the last event
        // the rooms.
        unsafe {
            let raw = call.as_ptr();
            free_per_cpu((*raw).perf_events);
            (*raw).perf_events = null_mut();
            call.perf_users().store(0, Relaxed);
            self.0 -= 1;
            if self.0 == 0 {
                for room in &ROOMS {
                    free_per_cpu(room.xchg(null_mut(), Relaxed));
                }
            }
        }
    }
}

fn make_rooms() -> Result {
    for room in &ROOMS {
        room.store(per_cpu(ROOM, 8)?.as_ptr(), Relaxed);
    }
    Ok(())
}

/// May the current task have what `event` asks of `call`?
///
/// # Safety
///
/// `event` is live.
unsafe fn may_see(call: &Call, event: *mut bindings::perf_event) -> Result {
    // SAFETY: `event` is live.
    unsafe {
        if let Some(may) = (*call.as_ptr()).perf_perm {
            to_result(may(call.as_ptr(), event))?;
        }
        // The parent of an inherited event was checked, and a counting event sees no data.
        let sees = (*event).attr.sample_type
            & u64::from(bindings::perf_event_sample_format_PERF_SAMPLE_RAW)
            != 0;
        if !(*event).parent.is_null() || !sees {
            return Ok(());
        }
        let of_task = (*event).attach_state == bindings::PERF_ATTACH_TASK;
        if of_task && call.has(bindings::TRACE_EVENT_FL_CAP_ANY as u32) {
            return Ok(());
        }
        to_result(bindings::perf_allow_tracepoint())
    }
}

/// A text that an attribute of perf's leads to, in the current task's memory, of `most` bytes with its
/// end. Task context, sleeps.
///
/// # Errors
///
/// `E2BIG` for one that is too long, `EFAULT`, `ENOMEM`.
#[cfg(CONFIG_PROBE_EVENTS)]
pub(crate) fn user_text(address: u64, most: usize) -> Result<CString> {
    // SAFETY: takes any address; gives a string, or an errno as a pointer.
    let text = unsafe { bindings::strndup_user(address as *const c_char, most as isize) };
    let text = from_err_ptr(text).map_err(|error| if error == EINVAL { E2BIG } else { error })?;
    // SAFETY: a new string, which is given back.
    unsafe {
        let copy = CString::try_from(CStr::from_char_ptr(text));
        bindings::kfree(text.cast());
        Ok(copy?)
    }
}

/// Puts `event` on this CPU's list, unless its class does something else. Interrupts are off.
/// `EINVAL` for one that is not in use.
///
/// # Safety
///
/// As perf's core calls the `add` of a PMU.
pub(crate) unsafe fn add(event: *mut bindings::perf_event, flags: c_int) -> Result {
    // SAFETY: perf's core has `event` initialised, and calls this on its CPU with interrupts off.
    unsafe {
        let call = Call::from_raw((*event).tp_event);
        let hw = &raw mut (*event).hw;
        if flags & bindings::PERF_EF_START as c_int == 0 {
            (*hw).state = bindings::PERF_HES_STOPPED as c_int;
        }
        if bindings::is_sampling_event(event) {
            (*hw).__bindgen_anon_2.__bindgen_anon_1.last_period = (*hw).sample_period;
            bindings::perf_swevent_set_period(event);
        }
        if call.reg(bindings::trace_reg_TRACE_REG_PERF_ADD, event.cast())? == 0 {
            let lists = NonNull::new((*call.as_ptr()).perf_events).ok_or(EINVAL)?;
            let list: *const bindings::hlist_head = this_of(lists.as_ptr());
            let node = &raw mut (*event).hlist_entry;
            bindings::hlist_add_head_rcu(node, list.cast_mut());
        }
        Ok(())
    }
}

/// Undoes [`add`].
///
/// # Safety
///
/// As perf's core calls the `del` of a PMU.
pub(crate) unsafe fn del(event: *mut bindings::perf_event) {
    // SAFETY: perf's core has added `event`, and calls this on its CPU with interrupts off.
    unsafe {
        let call = Call::from_raw((*event).tp_event);
        if call.reg(bindings::trace_reg_TRACE_REG_PERF_DEL, event.cast()) == Ok(0) {
            bindings::hlist_del_rcu(&raw mut (*event).hlist_entry);
        }
    }
}

/// Memory on this CPU for an entry of `size` bytes, with the number of the context, and registers
/// that go with it. None for one that is too long, or where perf records already. Any context,
/// preemption off; perf's core ends it.
///
/// # Safety
///
/// An event is in use ([`InUse::begin`]), and stays so until the memory is not used any more: in a
/// probe of it, such as is waited for before its end.
#[inline]
pub(crate) unsafe fn room(size: usize) -> Option<(NonNull<u8>, *mut bindings::pt_regs, c_int)> {
    let last = size.checked_sub(8)?;
    if size > ROOM {
        kernel::pr_warn_once!(
            "perf buffer not large enough, wanted {}, have {}\n",
            size,
            ROOM
        );
        return None;
    }
    // SAFETY: no preconditions; it gives a number below that of the rooms.
    let context = unsafe { bindings::perf_swevent_get_recursion_context() };
    let base = ROOMS.get(usize::try_from(context).ok()?)?.load(Relaxed);
    // SAFETY: an event is in use, so that the rooms are there; this context has the one of its number
    // on this CPU to itself. What is behind the fields would go to user space as it is.
    unsafe {
        let room: *const u8 = this_of(base);
        let room = room.cast_mut();
        room.add(last).cast::<u64>().write_unaligned(0);
        Some((
            NonNull::new(room)?,
            bindings::rtrace_perf_regs(context),
            context,
        ))
    }
}

/// Hands an entry of type `kind`, made in what [`room`] gave, to `event` alone. Any context,
/// preemption off.
///
/// # Safety
///
/// `event` is live and in no list; `entry`, of `size` bytes, and `context` are from [`room`], in
/// this context, and are not used any more.
pub(crate) unsafe fn submit_to(
    event: *mut bindings::perf_event,
    kind: u16,
    entry: NonNull<u8>,
    size: usize,
    context: c_int,
) {
    let regs = Opaque::<bindings::pt_regs>::zeroed();
    // SAFETY: the entry is this context's. The event's node leads to no other, so that a head on
    // the stack makes a list of it; perf's core only goes through it.
    unsafe {
        let mut head = bindings::hlist_head {
            first: &raw mut (*event).hlist_entry,
        };
        bindings::perf_fetch_caller_regs(regs.get());
        bindings::perf_tp_event(
            kind,
            1,
            entry.as_ptr().cast(),
            size as c_int,
            regs.get(),
            &raw mut head,
            context,
            null_mut(),
        );
    }
}

/// The registers of a hit.
#[cfg(any(CONFIG_FTRACE_SYSCALLS, CONFIG_DYNAMIC_EVENTS))]
#[derive(Clone, Copy)]
pub(crate) enum Seen {
    /// All of them.
    All(*mut bindings::pt_regs),
    /// Those of the caller, who hits the event as a tracepoint does: BPF programs at the event see the
    /// entry first, and may drop it.
    OfCaller,
    /// Those that are saved where functions are entered and left.
    #[cfg(CONFIG_FPROBE_EVENTS)]
    OfFunction(*mut bindings::ftrace_regs),
}

/// Whether BPF programs see an entry with these registers, also where perf's events do not listen.
#[cfg(any(CONFIG_FTRACE_SYSCALLS, CONFIG_DYNAMIC_EVENTS))]
#[inline(always)]
#[cfg_attr(not(CONFIG_BPF_EVENTS), expect(unused_variables))]
fn is_for_programs(call: &Call, regs: Seen) -> bool {
    #[cfg(CONFIG_BPF_EVENTS)]
    return matches!(regs, Seen::OfCaller) && bpf::has_programs(call);
    #[cfg(not(CONFIG_BPF_EVENTS))]
    false
}

/// This CPU's list of perf's events of `call`, and whether there is one in it.
///
/// # Safety
///
/// As [`submit`].
#[cfg(any(CONFIG_FTRACE_SYSCALLS, CONFIG_DYNAMIC_EVENTS))]
#[inline(always)]
unsafe fn listeners(call: &Call) -> Option<(*const bindings::hlist_head, bool)> {
    let raw = call.as_ptr();
    // SAFETY: null, or the lists, which stay while the event is in use: this probe is waited for
    // before they go. The first word of this CPU's list is read at once.
    unsafe {
        if (*raw).perf_events.is_null() {
            return None;
        }
        let list: *const bindings::hlist_head = this_of((*raw).perf_events);
        let is_empty = (&raw const (*list).first).read_volatile().is_null();
        Some((list, !is_empty))
    }
}

/// Whether one of perf's events of `call` listens on this CPU.
///
/// # Safety
///
/// As [`submit`].
#[cfg(CONFIG_FTRACE_SYSCALLS)]
pub(crate) unsafe fn is_listened_to(call: &Call) -> bool {
    // SAFETY: the caller is in a probe of `call`, with preemption off.
    unsafe { listeners(call) }.is_some_and(|(_, is_listened_to)| is_listened_to)
}

/// Whether [`submit`] would have an entry made.
///
/// # Safety
///
/// As [`submit`].
#[cfg(CONFIG_USER_EVENTS)]
pub(crate) unsafe fn takes(call: &Call) -> bool {
    // SAFETY: the caller is in a probe of `call`, with preemption off.
    unsafe { listeners(call) }
        .is_some_and(|(_, is_listened_to)| is_listened_to || is_for_programs(call, Seen::OfCaller))
}

/// Gives an entry of `length()` bytes to those of perf's events of `call` that listen on this CPU:
/// `fill` writes what is behind the common fields. Nothing is done where nobody listens, and neither
/// of them is called; or for an entry that is shorter than the common fields.
///
/// # Safety
///
/// In a probe that is waited for before `call` is no longer in use, with preemption off; `regs` are of
/// what was hit.
#[cfg(any(CONFIG_FTRACE_SYSCALLS, CONFIG_DYNAMIC_EVENTS))]
pub(crate) unsafe fn submit(
    call: &Call,
    regs: Seen,
    length: impl FnOnce() -> usize,
    fill: impl FnOnce(&mut [u8]),
) {
    let raw = call.as_ptr();
    // SAFETY: this probe is waited for before the event is no longer in use.
    let Some((list, is_listened_to)) = (unsafe { listeners(call) }) else {
        return;
    };
    if !is_listened_to && !is_for_programs(call, regs) {
        return;
    }
    let length = length();
    // Behind it perf puts 4 bytes, and the sum is to be whole words.
    let Some(behind) = length.checked_sub(COMMON) else {
        return;
    };
    let size = length.saturating_add(4).next_multiple_of(8) - 4;
    // SAFETY: the event has lists, so it is in use, and this probe is waited for before it is not.
    let Some((entry, own, context)) = (unsafe { room(size) }) else {
        return;
    };
    // SAFETY: the room has `size` bytes, no fewer than `length`, which this context has to itself
    // until perf's core ends it; `regs` are of what was hit.
    unsafe {
        let start = entry.as_ptr();
        fill(core::slice::from_raw_parts_mut(start.add(COMMON), behind));
        let regs = match regs {
            Seen::All(regs) => regs,
            Seen::OfCaller => {
                bindings::perf_fetch_caller_regs(own);
                return bindings::perf_trace_run_bpf_submit(
                    start.cast(),
                    size as c_int,
                    context,
                    raw,
                    1,
                    own,
                    list.cast_mut(),
                    null_mut(),
                );
            }
            #[cfg(CONFIG_FPROBE_EVENTS)]
            Seen::OfFunction(saved) => {
                bindings::rtrace_fill_perf_regs(saved, own);
                own
            }
        };
        bindings::rtrace_perf_submit(
            raw,
            start.cast(),
            size as c_int,
            context,
            regs,
            list.cast_mut(),
        );
    }
}

const _: () = assert!(offset_of!(bindings::trace_entry, pid) == 4);
