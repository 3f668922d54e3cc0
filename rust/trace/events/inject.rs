// SPDX-License-Identifier: GPL-2.0

//! `inject`: an entry of an event is recorded as its user says it, whether the event is enabled or
//! not. Filters and triggers look at it as at any other; the common fields are those of the write.

use super::filter::seen;
use super::recording;
use super::registry::{EventId, Registry};
use crate::core::event::field::Field;
use crate::core::event::inject::{write, Addresses, Error as Refused, Layout};
use crate::kernel::context::PreemptOff;
use crate::kernel::trace_event::{Call, COMMON};
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

/// Bytes of the longest entry: the fields, and all that a write can say.
const ROOM: usize = 8192;

/// What an entry whose field has the address of a text says there.
const REFUSED: &CStr = c"STATIC STRING CAN NOT BE INJECTED";

struct Shape<'a>(&'a Call);

impl Layout for Shape<'_> {
    fn each(&self, f: &mut dyn FnMut(Field)) {
        self.0.fields().for_each(|field| f(seen(field)));
    }

    fn find(&self, name: &[u8]) -> Option<Field> {
        let named = |field: &crate::kernel::trace_event::Field<'_>| field.name.to_bytes() == name;
        self.0.fields().filter(named).last().map(seen)
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Invalid => EINVAL,
            Refused::Range => ERANGE,
            Refused::NoField => ENOENT,
            Refused::TooLong => E2BIG,
        }
    }
}

impl Registry {
    /// Records what `text` says as an entry of `event` in `instance`. An entry that does not fit a
    /// sub-buffer is left out. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, `ENODEV` if the event has gone, `ENOMEM`.
    pub(crate) fn inject(
        &mut self,
        instance: &Arc<Instance>,
        event: EventId,
        text: &[u8],
    ) -> Result {
        let addresses = Addresses {
            empty: c"".as_char_ptr() as u64,
            refused: REFUSED.as_char_ptr() as u64,
        };
        let mut entry = KVec::from_elem(0_u8, ROOM, GFP_KERNEL)?;
        let call = self.event(event).ok_or(ENODEV)?;
        let length = write(text, &Shape(call), addresses, &mut entry)?;
        let made = entry.get(COMMON..length).ok_or(EINVAL)?;

        let file = self.file_made(instance, event)?;
        let stay = PreemptOff::new();
        recording::record(&stay, file.hot(), length, |fields| {
            fields.copy_from_slice(made);
        });
        Ok(())
    }
}
