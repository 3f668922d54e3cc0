// SPDX-License-Identifier: GPL-2.0

//! Calls of functions as perf sees them (`ftrace:function`): each of perf's events has an ops of
//! its own, with its own filter, and its callback makes the entry for that event alone.

use super::ftrace::set_pattern;
use crate::core::format::entry::{Entry as _, Function, Words as _};
use crate::kernel::kprobes::no_kprobe;
use crate::kernel::own_event::Class;
use crate::kernel::perf_trace;
use crate::kernel::recursion::Guard;
use crate::kernel::stack::rcu_watches;
use crate::trace::events::filter::Filter;
use crate::trace::ftrace::ops::{self, flag, FilterKind, OpsRef};
use core::mem::offset_of;
use kernel::bindings::{self, ftrace_ops, ftrace_regs, perf_event, trace_event_call};
use kernel::cpu::{nr_cpu_ids, CpuId};
use kernel::error::{from_result, to_result};
use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;

/// Bytes of an entry, without the number that perf puts before it.
const SIZE: usize =
    (Function::SIZE + size_of::<u32>()).next_multiple_of(size_of::<u64>()) - size_of::<u32>();

/// How perf reaches the event.
pub(super) const CLASS: Class = Class {
    reg: Some(bindings::rtrace_perf_function_class_reg),
    may_see: Some(may_see),
};

/// The event whose ops is `op`.
fn event_of(op: *mut ftrace_ops) -> *mut perf_event {
    op.wrapping_byte_sub(offset_of!(perf_event, ftrace_ops))
        .cast()
}

/// What an ops has for a CPU while its event is on none.
fn no_cpu() -> *mut c_void {
    nr_cpu_ids() as usize as *mut c_void
}

/// Makes an entry of a call, if the event counts on this CPU now.
///
/// # Safety
///
/// For trampolines and the list: `op` is an ops of an event of perf's, which is registered.
#[no_mangle]
unsafe extern "C" fn perf_ftrace_function_call(
    ip: usize,
    parent_ip: usize,
    op: *mut ftrace_ops,
    _fregs: *mut ftrace_regs,
) {
    if !rcu_watches() {
        return;
    }
    let Some(_alone) = Guard::enter(ip, parent_ip) else {
        return;
    };
    // SAFETY: `op` is one of perf's events', which is registered. Perf's core changes the word on
    // the CPU that it names, with interrupts off, so that it is this one only while the event
    // counts here.
    if unsafe { (&raw const (*op).private).read_volatile() } as usize
        != CpuId::current().as_u32() as usize
    {
        return;
    }
    // SAFETY: the event of perf's is in use while its ops is registered, so that the memory is there.
    let Some((room, _, context)) = (unsafe { perf_trace::room(SIZE) }) else {
        return;
    };
    // The head is perf's to fill in.
    let entry = Function { ip, parent_ip }.words(0);
    // SAFETY: the memory is longer, and this context's own until perf's core ends it.
    entry.store(unsafe { core::slice::from_raw_parts_mut(room.as_ptr(), SIZE) });
    // SAFETY: the event stays while its ops is registered; preemption is off.
    unsafe { perf_trace::submit_to(event_of(op), Function::ID, room, SIZE, context) };
}

no_kprobe!(perf_ftrace_function_call);

/// The class's `reg`. All of it is done for each perf event.
///
/// # Safety
///
/// `data` is what `what` asks for, as perf's core does.
#[export]
pub(crate) unsafe extern "C" fn rtrace_perf_function_reg(
    _call: *mut trace_event_call,
    what: bindings::trace_reg,
    data: *mut c_void,
) -> c_int {
    // SAFETY: what asks for the ops has a perf event in `data`.
    let op = || unsafe { &raw mut (*data.cast::<perf_event>()).ftrace_ops };
    // SAFETY: the event is live, and perf's core does one thing with it at a time.
    from_result(|| unsafe {
        match what {
            bindings::trace_reg_TRACE_REG_PERF_REGISTER
            | bindings::trace_reg_TRACE_REG_PERF_UNREGISTER => Ok(0),
            bindings::trace_reg_TRACE_REG_PERF_OPEN => {
                (*op()).func = Some(perf_ftrace_function_call);
                (*op()).private = no_cpu();
                ops::register(OpsRef::from_raw(op()).ok_or(EINVAL)?)?;
                Ok(0)
            }
            bindings::trace_reg_TRACE_REG_PERF_CLOSE => {
                close(OpsRef::from_raw(op()).ok_or(EINVAL)?)
            }
            // It is on no CPU's list.
            bindings::trace_reg_TRACE_REG_PERF_ADD => {
                let cpu = CpuId::current().as_u32() as usize;
                (&raw mut (*op()).private).write_volatile(cpu as *mut c_void);
                Ok(1)
            }
            bindings::trace_reg_TRACE_REG_PERF_DEL => {
                (&raw mut (*op()).private).write_volatile(no_cpu());
                Ok(1)
            }
            _ => Err(EINVAL),
        }
    })
}

/// Has no function call `op` any more.
fn close(op: OpsRef) -> Result<c_int> {
    // ftrace may have been killed meanwhile.
    if op.has(flag::ENABLED) {
        ops::unregister(op)?;
    }
    ops::free_sets(op);
    Ok(0)
}

/// May the current task have one of perf's events see all functions' calls?
///
/// # Safety
///
/// `event` is live.
unsafe extern "C" fn may_see(_call: *mut trace_event_call, event: *mut perf_event) -> c_int {
    from_result(|| {
        // SAFETY: `event` is live.
        unsafe {
            // A child's parent was asked.
            if !(*event).parent.is_null() {
                return Ok(0);
            }
            to_result(bindings::perf_allow_tracepoint())?;
            if !bindings::is_sampling_event(event) {
                return Ok(0);
            }
            // What looks at the task's memory may fault, and what handles faults is traced.
            let of_user = u64::from(bindings::perf_event_sample_format_PERF_SAMPLE_STACK_USER);
            let attr = &(*event).attr;
            if attr.exclude_callchain_user() == 0 || attr.sample_type & of_user != 0 {
                return Err(EINVAL);
            }
        }
        Ok(0)
    })
}

/// Has an event see the calls of those functions alone that `filter` names. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` for a filter that says something else, or names no function that there is.
///
/// # Safety
///
/// `event` is live, was begun, and nobody else sets its filter: the event mutex is held.
pub(super) unsafe fn set_filter(event: *mut perf_event, filter: &Filter) -> Result {
    // SAFETY: `event` is live, and its ops was made when it was begun.
    let op = unsafe { OpsRef::from_raw(&raw mut (*event).ftrace_ops) }.ok_or(EINVAL)?;
    let mut is_first = [true; 2];
    for rule in filter.program().function_rules() {
        let rule = rule.ok_or(EINVAL)?;
        let kind = match rule.not {
            true => FilterKind::NoTrace,
            false => FilterKind::Filter,
        };
        let first = &mut is_first[usize::from(rule.not)];
        let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        let mut any = false;
        for pattern in rule.patterns.split(blank).filter(|at| !at.is_empty()) {
            let reset = core::mem::replace(first, false);
            set_pattern(op, Some(pattern), reset, kind).map_err(|_| EINVAL)?;
            any = true;
        }
        if !any {
            return Err(EINVAL);
        }
    }
    Ok(())
}
