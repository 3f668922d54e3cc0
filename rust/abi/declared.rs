// SPDX-License-Identifier: GPL-2.0

//! Events that Rust code declares, for the interface for Rust code (`rust/api`); C has none of this
//! kind.
//!
//! A `struct rtrace_declared *` is the address of a [`Declared`] in a box.

use crate::core::event::declared::{Base, Field, Form, Kind, Piece};
use crate::kernel::interop::errno;
use crate::kernel::module::Owner;
use crate::kernel::trace_event::COMMON;
use crate::trace::events::declared::{Declaration, Declared};
use kernel::bindings;
use kernel::ffi::c_int;
use kernel::prelude::*;

/// `count` elements at `start`, which may be null if there is none.
///
/// # Safety
///
/// They are there for `'a`.
#[inline(always)]
unsafe fn slice<'a, T>(start: *const T, count: usize) -> &'a [T] {
    match count {
        0 => &[],
        // SAFETY: so many elements are there for `'a`.
        _ => unsafe { core::slice::from_raw_parts(start, count) },
    }
}

/// `EINVAL` for a kind that is none.
///
/// # Safety
///
/// Its texts are NUL-terminated and there for `'a`.
unsafe fn field<'a>(raw: &bindings::rtrace_event_field) -> Result<Field<'a>> {
    let kind = match u32::from(raw.kind) {
        bindings::RTRACE_EVENT_NUMBER => Kind::Number,
        bindings::RTRACE_EVENT_BOOL => Kind::Bool,
        bindings::RTRACE_EVENT_ARRAY => Kind::Array(raw.count),
        bindings::RTRACE_EVENT_NUMBERS => Kind::Numbers,
        bindings::RTRACE_EVENT_TEXT => Kind::Text,
        _ => return Err(EINVAL),
    };
    // SAFETY: the texts are NUL-terminated and there for `'a`.
    let (name, ty) = unsafe {
        (
            CStr::from_char_ptr(raw.name),
            CStr::from_char_ptr(raw.type_),
        )
    };
    Ok(Field {
        name: name.to_bytes(),
        ty: ty.to_bytes(),
        kind,
        offset: COMMON.saturating_add(raw.offset as usize),
        size: raw.size.into(),
        signed: raw.is_signed,
    })
}

/// `EINVAL` for a base that is none.
///
/// # Safety
///
/// Its text is there for `'a`.
unsafe fn piece<'a>(raw: &bindings::rtrace_event_piece) -> Result<Piece<'a>> {
    let base = match u32::from(raw.base) {
        bindings::RTRACE_EVENT_DECIMAL => Base::Decimal,
        bindings::RTRACE_EVENT_HEX => Base::Hex,
        bindings::RTRACE_EVENT_UPPER_HEX => Base::UpperHex,
        bindings::RTRACE_EVENT_OCTAL => Base::Octal,
        _ => return Err(EINVAL),
    };
    let form = Form {
        base,
        width: raw.width,
        zeros: raw.zeros,
    };
    let field = usize::try_from(raw.field).ok();
    Ok(Piece {
        // SAFETY: the text is there for `'a`.
        text: unsafe { slice(raw.text, raw.length) },
        value: field.map(|at| (at, form)),
    })
}

/// Registers an event of which nothing is kept that the caller has. Task context, sleeps. Errors as
/// [`Declared::register`].
///
/// # Safety
///
/// `description` is complete, with NUL-terminated texts; `owner` is null or the caller's module; `event`
/// can be written to.
#[export]
pub(crate) unsafe extern "C" fn rtrace_event_register(
    description: *const bindings::rtrace_event_description,
    owner: *mut bindings::module,
    event: *mut bindings::rtrace_event,
) -> c_int {
    // SAFETY: the description is complete; the events of a module end before it goes.
    let (raw, owner) = unsafe { (&*description, Owner::from_raw(owner)) };
    let register = || {
        let (mut fields, mut pieces) = (KVec::new(), KVec::new());
        // SAFETY: there are so many of them, and they and the texts are there during the call.
        let declaration = unsafe {
            for raw in slice(raw.fields, raw.field_count as usize) {
                fields.push(field(raw)?, GFP_KERNEL)?;
            }
            for raw in slice(raw.pieces, raw.piece_count as usize) {
                pieces.push(piece(raw)?, GFP_KERNEL)?;
            }
            Declaration {
                system: CStr::from_char_ptr(raw.system),
                name: CStr::from_char_ptr(raw.name),
                size: COMMON.saturating_add(raw.size as usize),
                fields,
                pieces,
            }
        };
        // There is memory for it before it is known.
        let room = KBox::<Declared>::new_uninit(GFP_KERNEL)?;
        Ok(KBox::write(room, Declared::register(&declaration, owner)?))
    };
    errno(register().map(|made: KBox<Declared>| {
        let wanted = made.wanted().as_ptr();
        let declared = KBox::into_raw(made).cast();
        // SAFETY: the caller's place for it.
        unsafe { event.write(bindings::rtrace_event { wanted, declared }) }
    }))
}

/// Ends an event. Files of instances lose it, and their buffers are cleared where it was enabled; who
/// holds it gets no entries any more. Task context, sleeps.
///
/// # Safety
///
/// `declared` came from [`rtrace_event_register`]; nobody uses it any more.
#[export]
pub(crate) unsafe extern "C" fn rtrace_event_unregister(declared: *mut bindings::rtrace_declared) {
    // SAFETY: it came from a box, and is the caller's own.
    drop(unsafe { KBox::from_raw(declared.cast::<Declared>()) });
}

/// Records an entry wherever the event is enabled. Any context.
///
/// # Safety
///
/// `declared` came from [`rtrace_event_register`] and was not ended; `fields` has as many bytes as its
/// description says; there is a value for each of its fields of variable length, in their order.
#[export]
pub(crate) unsafe extern "C" fn rtrace_event_record(
    declared: *const bindings::rtrace_declared,
    fields: *const c_void,
    values: *const bindings::rtrace_event_value,
) {
    // SAFETY: the event was not ended.
    let event = unsafe { &*declared.cast::<Declared>() };
    // SAFETY: there are so many bytes and values.
    let (fields, values) = unsafe {
        (
            slice(fields.cast::<u8>(), event.fixed_size()),
            slice(values, event.values()),
        )
    };
    // SAFETY: so many bytes are there.
    let bytes = |value: &bindings::rtrace_event_value| unsafe {
        slice(value.data.cast::<u8>(), value.size)
    };
    event.record(fields, values.iter().map(bytes));
}
