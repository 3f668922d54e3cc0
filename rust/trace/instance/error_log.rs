// SPDX-License-Identifier: GPL-2.0

//! The `error_log` of an instance: why the last commands written to it were refused.
//!
//! Parsers of commands call [`ErrorLog::push`]. The file
//! [`error_log`](crate::trace::files::error_log) shows and clears the log. An errno says little
//! about a long command, so a record also keeps the command and a column.

use crate::core::format::error_log::{Newest, Record, RECORDS};
use crate::core::format::Out;
use crate::kernel::clock;
use core::fmt;
use kernel::sync::lock::{mutex::MutexBackend, Guard};
use kernel::{alloc::AllocError, new_mutex, prelude::*, sync::Mutex};

struct Refusal {
    /// The time, in nanoseconds of the kernel's local clock.
    ts: u64,
    location: KVec<u8>,
    message: &'static str,
    command: KVec<u8>,
    position: u16,
}

/// The last refused commands of one instance, the oldest first.
#[pin_data]
pub(crate) struct ErrorLog {
    #[pin]
    kept: Mutex<Newest<Refusal, RECORDS>>,
}

impl ErrorLog {
    /// An empty log.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self { kept <- new_mutex!(Newest::new()) })
    }

    /// Adds a record that says why `command` was refused. `location` names the parser
    /// (`hist:sched:sched_switch`). `position` is the byte of `command` that the caret points at.
    ///
    /// Task context, may sleep. Without memory the record is dropped; the writer still gets its
    /// errno.
    pub(crate) fn push(
        &self,
        location: &[u8],
        command: &[u8],
        position: u16,
        message: &'static str,
    ) {
        let copy = |text: &[u8]| {
            let mut copy = KVec::with_capacity(text.len(), GFP_KERNEL)?;
            copy.extend_from_slice(text, GFP_KERNEL)?;
            Ok::<_, AllocError>(copy)
        };
        let (Ok(location), Ok(command)) = (copy(location), copy(command)) else {
            return;
        };
        let ts = clock::perf();
        let oldest = self.kept.lock().push(Refusal {
            ts,
            location,
            message,
            command,
            position,
        });
        drop(oldest);
    }

    /// Removes every record. Task context, may sleep.
    pub(crate) fn clear(&self) {
        let gone = self.kept.lock().clear();
        drop(gone);
    }

    /// The records, which do not change as long as the result is there. Task context, may sleep.
    pub(crate) fn records(&self) -> Records<'_> {
        Records(self.kept.lock())
    }
}

/// The records of a log, the oldest first.
pub(crate) struct Records<'a>(Guard<'a, Newest<Refusal, RECORDS>, MutexBackend>);

impl Records<'_> {
    /// Whether there is a record `index`.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.0.iter().nth(index).is_some()
    }

    /// Prints record `index`, if there is one. Errors only when `out` is full.
    pub(crate) fn show(&self, index: usize, out: &mut dyn Out) -> fmt::Result {
        let Some(Refusal {
            ts,
            location,
            message,
            command,
            position,
        }) = self.0.iter().nth(index)
        else {
            return Ok(());
        };
        let record = Record {
            ts: *ts,
            location,
            message,
            command,
            position: *position,
        };
        record.write(out)
    }
}
