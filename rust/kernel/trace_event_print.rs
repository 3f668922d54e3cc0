// SPDX-License-Identifier: GPL-2.0

//! Printing entries by C functions: what `struct trace_event_functions` get to work with.
//!
//! A [`Printing`] is a `struct trace_iterator`, of which C code uses `tr`, `ent`, `ent_size`, `seq`
//! and `tmp_seq`. In `iter_flags` the printing functions say how they have shown names.
//!
//! C header: `include/linux/trace_events.h`.

use super::trace_event_types::Event;
use super::trace_iterator::{HAS_PATHS, LACKS_PATHS, WANTS_PATHS};
use core::ptr::null_mut;
use kernel::bindings;
use kernel::prelude::*;
use kernel::types::Opaque;

/// The forms there are of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A line of text.
    Text,
    /// Numbers only.
    Raw,
    /// Hexadecimal.
    Hex,
    /// As it is.
    Binary,
}

/// What an entry is printed with.
#[repr(transparent)]
pub(crate) struct Printing(Opaque<bindings::trace_iterator>);

// SAFETY: zeroes are valid: null pointers, and numbers.
unsafe impl pin_init::Zeroable for Printing {}

// SAFETY: the pointers in it are set for each entry.
unsafe impl Send for Printing {}

/// The entry that is to be printed.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// With its common fields.
    pub(crate) data: &'a [u8],
    /// The CPU it was made on.
    pub(crate) cpu: u32,
    /// Its time.
    pub(crate) ts: u64,
    /// Where the instance that it is from is, or 0.
    pub(crate) instance: usize,
    /// `TRACE_ITER_SYM_MASK`'s bits.
    pub(crate) symbol_flags: c_int,
    /// Whether names of Rust functions are to be shown as paths.
    pub(crate) paths: bool,
}

impl Printing {
    /// One that has printed nothing yet, for a static.
    pub(crate) const fn zeroed() -> Self {
        // SAFETY: zeroes are a valid `struct trace_iterator`.
        unsafe { core::mem::zeroed() }
    }

    /// One in memory of its own. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new() -> Result<KVBox<Self>> {
        Ok(KVBox::zeroed(GFP_KERNEL)?)
    }

    /// Has `event` print `entry`, and gives the text, and whether names of Rust functions are left in it
    /// that were wanted as paths; None if there was not enough room for it. Any context.
    pub(crate) fn print(
        &mut self,
        event: Event<'_>,
        entry: Entry<'_>,
        form: Form,
    ) -> Option<(&[u8], bool)> {
        let iter = self.0.get();
        let raw: *const bindings::trace_event = event.raw;
        // SAFETY: this is the only user of the iterator; the event's functions stay while it is
        // held, and get an iterator with all that they may use.
        unsafe {
            let seq = &raw mut (*iter).seq;
            bindings::trace_seq_init(seq);
            bindings::trace_seq_init(&raw mut (*iter).tmp_seq);
            (*iter).tr = entry.instance as *mut bindings::trace_array;
            (*iter).ent = entry.data.as_ptr().cast_mut().cast();
            (*iter).ent_size = entry.data.len() as c_int;
            (*iter).cpu = entry.cpu as c_int;
            (*iter).ts = entry.ts;
            (*iter).iter_flags = if entry.paths { WANTS_PATHS } else { 0 };
            let funcs = (*raw).funcs;
            let print = match form {
                Form::Text => (*funcs).trace,
                Form::Raw => (*funcs).raw,
                Form::Hex => (*funcs).hex,
                Form::Binary => (*funcs).binary,
            };
            match print {
                Some(_) => {
                    bindings::rtrace_print_event(print, iter, entry.symbol_flags, raw.cast_mut())
                }
                None => bindings::trace_seq_printf(seq, c"type: %d\n".as_char_ptr(), (*raw).type_),
            }
            (*iter).ent = null_mut();
            if bindings::trace_seq_has_overflowed(seq) {
                return None;
            }
            let length = bindings::trace_seq_used(seq) as usize;
            let start = (&raw const (*iter).seq.buffer).cast::<u8>();
            let has_paths = (*iter).iter_flags & (HAS_PATHS | LACKS_PATHS) == HAS_PATHS;
            let text = core::slice::from_raw_parts(start, length);
            Some((text, entry.paths && !has_paths))
        }
    }
}
