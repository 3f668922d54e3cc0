// SPDX-License-Identifier: GPL-2.0

//! The `error_log` of an instance: why the last few commands written to it were refused.
//!
//! Parsers of commands call [`ErrorLog::push`]; the file [`error_log`](super::files::error_log) shows and
//! clears. An errno alone says little about a long command, so a record keeps the command and a column.

use crate::{kapi::sched_clock::local_clock, rcore::text::Out};
use core::fmt;
use kernel::{alloc::AllocError, new_mutex, prelude::*, sync::Mutex};

/// Records that are kept; the oldest goes first.
const KEPT: usize = 8;
const NSEC_PER_SEC: u64 = 1_000_000_000;
const NSEC_PER_USEC: u64 = 1_000;

struct Refusal {
    /// Nanoseconds of the kernel's local clock.
    ts: u64,
    location: KVec<u8>,
    message: &'static str,
    command: KVec<u8>,
    column: usize,
}

impl Refusal {
    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        let (sec, nsec) = (self.ts / NSEC_PER_SEC, self.ts % NSEC_PER_SEC);
        write!(out, "[{:>5}.{:06}] ", sec, nsec / NSEC_PER_USEC)?;
        out.bytes(&self.location)?;
        write!(out, ": error: {}\n  Command: ", self.message)?;
        out.bytes(&self.command)?;
        let caret = "  Command: ".len() + self.column;
        write!(out, "\n{:caret$}^\n", "")
    }
}

/// The last refused commands of one instance, oldest first.
#[pin_data]
pub struct ErrorLog {
    #[pin]
    kept: Mutex<KVec<Refusal>>,
}

impl ErrorLog {
    /// An empty log.
    pub fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self { kept <- new_mutex!(KVec::new()) })
    }

    /// Adds why `command` was refused: `location` names the parser (`hist:sched:sched_switch`), `column` is
    /// the byte of `command` to point at.
    ///
    /// Task context, may sleep. Without memory the record is dropped: the errno still tells that it failed.
    pub fn push(&self, location: &[u8], command: &[u8], column: usize, message: &'static str) {
        let copy = |text: &[u8]| {
            let mut copy = KVec::with_capacity(text.len(), GFP_KERNEL)?;
            copy.extend_from_slice(text, GFP_KERNEL)?;
            Ok::<_, AllocError>(copy)
        };
        let (Ok(location), Ok(command)) = (copy(location), copy(command)) else {
            return;
        };
        let ts = local_clock();
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT {
            let _ = kept.remove(0);
        }
        let _ = kept.push(Refusal { ts, location, message, command, column }, GFP_KERNEL);
    }

    /// Forgets every record. Task context, may sleep.
    pub fn clear(&self) {
        self.kept.lock().clear();
    }

    /// Prints record `index`, oldest first; `Ok(false)` when there are not that many.
    ///
    /// Task context, may sleep. Errors when `out` is full.
    pub fn show(&self, index: usize, out: &mut dyn Out) -> Result<bool, fmt::Error> {
        match self.kept.lock().get(index) {
            Some(refusal) => refusal.show(out).map(|()| true),
            None => Ok(false),
        }
    }
}
