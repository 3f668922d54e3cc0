// SPDX-License-Identifier: GPL-2.0

//! What `ftrace_record_caller` in `arch/x86/entry.S` knows, held to what it is.

use crate::core::format::entry::{Entry, Function};
use crate::core::ring_buffer::assembly as ring;
use crate::kernel::clock::scale;
use crate::kernel::context::PreemptOff;
use crate::trace::buffer::Unfinished;
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
