// SPDX-License-Identifier: GPL-2.0

//! The functions in which a callback was entered again: each once, with a caller, until they are
//! cleared.
//!
//! C header: `include/linux/trace_recursion.h`.

use crate::kernel::recursion::RECORDED_FUNCTIONS;
use kernel::sync::atomic::{Atomic, Full, Relaxed};

/// A function's address and that of its caller; two zeroes while it is free.
struct Record {
    function: Atomic<usize>,
    parent: Atomic<usize>,
}

static RECORDS: [Record; RECORDED_FUNCTIONS] = [const {
    Record {
        function: Atomic::new(0),
        parent: Atomic::new(0),
    }
}; RECORDED_FUNCTIONS];

/// The record of the function that has recursed last.
static LAST: Atomic<usize> = Atomic::new(0);

/// Records that `function`, called from `parent`, was hit in a callback. One that is known, or for
/// which there is no room, changes nothing. Any context, also beside other calls and [`clear`].
pub(crate) fn record(function: usize, parent: usize) {
    let last = RECORDS.get(LAST.load(Relaxed));
    if last.is_some_and(|record| record.function.load(Relaxed) == function) {
        return;
    }
    for (at, record) in RECORDS.iter().enumerate() {
        // What is taken is only read: other CPUs read it, too.
        let mut known = record.function.load(Relaxed);
        if known == 0 {
            // Whoever is first at a free record has it. Another call with the same function finds
            // it there, as all look at the records in one order.
            known = match record.function.cmpxchg(0, function, Full) {
                Ok(_) => {
                    record.parent.store(parent, Relaxed);
                    function
                }
                Err(other) => other,
            };
        }
        if known == function {
            return LAST.store(at, Relaxed);
        }
    }
}

/// Forgets all functions. Any context. One that recurses meanwhile may be recorded.
pub(crate) fn clear() {
    for record in &RECORDS {
        record.parent.store(0, Relaxed);
        record.function.store(0, Relaxed);
    }
}

/// The function and the caller of record `at`: `None` behind the last record. Both are 0 if it is
/// free.
pub(crate) fn get(at: usize) -> Option<(usize, usize)> {
    let record = RECORDS.get(at)?;
    Some((record.function.load(Relaxed), record.parent.load(Relaxed)))
}
