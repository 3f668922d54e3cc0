// SPDX-License-Identifier: GPL-2.0

//! What `ftrace_record_caller` in `arch/x86/entry.S` knows, held to what it is.

use crate::core::format::entry::{Common, Entry, Function};
use crate::core::format::line::flag;
use crate::core::ring_buffer::assembly as ring;
use crate::kernel::clock::scale;
use crate::kernel::context::{PreemptCount, PreemptOff};
use crate::trace::buffer::Unfinished;
use core::mem::offset_of;
use kernel::bindings;

const _: () = {
    assert!(ring::POSITION == bindings::RTRACE_RING_POSITION as usize);
    assert!(ring::STAMP == bindings::RTRACE_RING_STAMP as usize);
    assert!(ring::STAMP_POSITION == bindings::RTRACE_RING_STAMP_POSITION as usize);
    assert!(ring::CONTEXT == bindings::RTRACE_RING_CONTEXT as usize);
    assert!(ring::RECORDS == bindings::RTRACE_RING_RECORDS as usize);
    assert!(ring::LIMIT == bindings::RTRACE_RING_LIMIT as usize);
    assert!(ring::WAITERS == bindings::RTRACE_RING_WAITERS as usize);
    assert!(ring::COMMIT == bindings::RTRACE_RING_COMMIT as usize);
    assert!(ring::COUNT == bindings::RTRACE_LIMIT_COUNT);
    assert!(ring::RECORDS_WITH == bindings::RTRACE_LIMIT_RECORDS);
    assert!(ring::OFF == bindings::RTRACE_LIMIT_OFF);
    assert!(ring::OFF > ring::RECORDS_WITH + ring::COUNT);
    assert!(ring::USED == bindings::RTRACE_POSITION_USED as u64);
    assert!(ring::WRITING == bindings::RTRACE_CONTEXT_TASK as u64);
    assert!(ring::LEFT as i64 == bindings::RTRACE_CONTEXT_LEFT as i64);

    let event = ring::Small::of(Function::SIZE);
    assert!(event.size == bindings::RTRACE_EVENT_SIZE as u64);
    assert!(event.step == bindings::RTRACE_POSITION_STEP as u64);
    assert!(event.header == bindings::RTRACE_EVENT_TYPE);
    assert!(event.delta_shift == bindings::RTRACE_EVENT_TYPE_BITS);
    assert!(event.last_delta == bindings::RTRACE_EVENT_LAST_DELTA as u64);
    assert!(Function::SIZE == bindings::RTRACE_EVENT_PAYLOAD as usize);
    assert!(Function::ID as u32 == bindings::RTRACE_ENTRY_TYPE);

    // The parts of an entry as `Common` has them; its type and flags are written at once.
    let entry = ring::HEADER;
    assert!(entry == bindings::RTRACE_EVENT_HEADER as usize);
    assert!(entry + 3 == bindings::RTRACE_ENTRY_PREEMPT as usize);
    assert!(entry + 4 == bindings::RTRACE_ENTRY_PID as usize);
    let fields = entry + Common::SIZE;
    assert!(fields + offset_of!(Function, ip) == bindings::RTRACE_ENTRY_IP as usize);
    assert!(fields + offset_of!(Function, parent_ip) == bindings::RTRACE_ENTRY_PARENT as usize);
    assert!(u16::BITS + flag::IRQS_OFF.trailing_zeros() == bindings::RTRACE_ENTRY_IRQS_BIT);
    assert!(PreemptCount::PLAIN_DEPTH == bindings::RTRACE_PLAIN_DEPTH);

    assert!(ring::Plain::Wanted as u32 == bindings::RTRACE_ATTEMPT_WANTED);
    assert!(ring::Plain::Unpublished as u32 == bindings::RTRACE_ATTEMPT_UNPUBLISHED);
    assert!(ring::Plain::Abandoned as u32 == bindings::RTRACE_ATTEMPT_ABANDONED);
    assert!(Unfinished::<PreemptOff>::NOTHING == bindings::RTRACE_ATTEMPT_NOTHING as usize);

    assert!(scale::MORE == bindings::RTRACE_CLOCK_MORE);
    assert!(scale::FACTOR == bindings::RTRACE_SCALE_FACTOR as usize);
    assert!(scale::SEEN == bindings::RTRACE_SCALE_SEEN as usize);
    assert!(scale::OFFSET == bindings::RTRACE_CYC2NS_OFFSET as usize);
    assert!(scale::SEQUENCE == bindings::RTRACE_CYC2NS_SEQUENCE as usize);
};
