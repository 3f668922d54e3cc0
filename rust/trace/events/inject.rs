// SPDX-License-Identifier: GPL-2.0

//! `inject`: records an entry of an event with values from user space, even if the event is
//! disabled. Filters and triggers apply to it. The common fields are those of the writing task.

use super::filter::seen;
use super::recording;
use super::registry::{EventId, Registry};
use crate::core::event::field::Field;
use crate::core::event::inject::{write, Addresses, Error as Refused, Layout};
use crate::kernel::context::PreemptOff;
use crate::kernel::trace_event::{flag, Call, Field as FieldOf, COMMON};
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

/// The largest entry in bytes: the fixed fields, and all strings that a write can have.
const ROOM: usize = 8192;

/// The text that an entry gets in a field that holds a pointer to a string.
const REFUSED: &CStr = c"STATIC STRING CAN NOT BE INJECTED";

struct Shape<'a>(&'a Call);

impl Shape<'_> {
    /// The last one, if several have the name.
    fn named(&self, name: &[u8]) -> Option<FieldOf<'_>> {
        let named = |field: &FieldOf<'_>| field.name.to_bytes() == name;
        self.0.fields().filter(named).last()
    }
}

impl Layout for Shape<'_> {
    fn each(&self, f: &mut dyn FnMut(Field)) {
        self.0.fields().for_each(|field| f(seen(field)));
    }

    fn find(&self, name: &[u8]) -> Option<Field> {
        self.named(name).map(seen)
    }

    fn is_location(&self, name: &[u8]) -> bool {
        self.named(name).is_some_and(|field| {
            let ty = field.ty.to_bytes();
            let has = |part: &[u8]| ty.windows(part.len()).any(|found| found == part);
            has(b"__data_loc") || has(b"__rel_loc")
        })
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
    /// Records the entry that `text` describes, of `event` in `instance`. An entry that does not
    /// fit into a sub-buffer is not recorded. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// The error in the text, `ENODEV` if the event was removed, `ENOMEM`.
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
        // The entry has to go when the event does: another event may get its type.
        file.hot().set(flag::WAS_ENABLED, true);
        let stay = PreemptOff::new();
        recording::record(&stay, file.hot(), length, |fields| {
            fields.copy_from_slice(made);
        });
        Ok(())
    }
}
