// SPDX-License-Identifier: GPL-2.0

//! Descriptions of the core's own entries, which have no `TRACE_EVENT()`, for C code.
//!
//! C header: `include/linux/trace_events.h`.

use super::trace_event::{Call, RawField};
use core::ops::Deref;
use kernel::bindings;
use kernel::fmt;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::types::Opaque;

/// The class's `reg` function.
pub(crate) type Reg = unsafe extern "C" fn(
    *mut bindings::trace_event_call,
    bindings::trace_reg,
    *mut c_void,
) -> c_int;

/// Checks whether a perf event may see hits: 0 or an errno.
#[cfg(CONFIG_PERF_EVENTS)]
pub(crate) type MaySee =
    unsafe extern "C" fn(*mut bindings::trace_event_call, *mut bindings::perf_event) -> c_int;

/// How C code reaches such an event.
#[derive(Clone, Copy)]
pub(crate) struct Class {
    /// See [`Reg`].
    /// `None`: the event only describes the entries.
    pub(crate) reg: Option<Reg>,
    /// What is asked before perf sees hits, beside what is asked for all events.
    #[cfg(CONFIG_PERF_EVENTS)]
    pub(crate) may_see: Option<MaySee>,
}

impl Class {
    /// Has no probe: whoever records the entries hits the event.
    pub(crate) const WITHOUT_PROBE: Self = Self {
        reg: Some(bindings::rtrace_own_event_reg),
        #[cfg(CONFIG_PERF_EVENTS)]
        may_see: None,
    };

    /// Is not hit as an event.
    pub(crate) const DESCRIBED: Self = Self {
        reg: None,
        #[cfg(CONFIG_PERF_EVENTS)]
        may_see: None,
    };
}

/// A field to be defined.
pub(crate) struct OwnField<'a> {
    /// Its C type.
    pub(crate) ty: fmt::Arguments<'a>,
    /// Its name.
    pub(crate) name: &'a str,
    /// Where it is in an entry, from the common fields on.
    pub(crate) offset: usize,
    /// Bytes.
    pub(crate) size: usize,
    /// Whether it is signed.
    pub(crate) signed: bool,
    /// Whether it is the address of a traced function.
    pub(crate) is_function: bool,
}

/// One of these events. Nobody can enable it in an instance.
///
/// # Invariants
///
/// Both structures are complete, and the event names the class.
pub(crate) struct OwnEvent(KBox<Parts>);

/// One block, so that who finds the event finds all that belongs to it, as kmemleak does.
struct Parts {
    call: Opaque<bindings::trace_event_call>,
    class: Opaque<bindings::trace_event_class>,
    /// What they point to.
    name: CString,
    texts: KVec<CString>,
}

// SAFETY: it gives out `&Call` alone.
unsafe impl Send for OwnEvent {}
// SAFETY: by a shared reference it gives out `&Call` alone, which any CPU may use.
unsafe impl Sync for OwnEvent {}

impl OwnEvent {
    /// The event `name` of `system` whose entries are of type `kind`, without fields. Task context,
    /// may sleep. `ENOMEM`.
    pub(crate) fn new(system: &'static CStr, name: &str, kind: u16, class: Class) -> Result<Self> {
        let name = CString::try_from_fmt(fmt!("{name}"))?;
        // Not `KBox::new()`, which would drop incomplete parts without memory.
        let parts = KBox::new_uninit(GFP_KERNEL)?.write(Parts {
            call: Opaque::zeroed(),
            class: Opaque::zeroed(),
            name,
            texts: KVec::new(),
        });
        // SAFETY: both are new. The list is empty, and is not moved with the box.
        unsafe {
            let raw = parts.class.get();
            (*raw).system = system.as_char_ptr();
            (*raw).reg = class.reg;
            let head = &raw mut (*raw).fields;
            (*head).next = head;
            (*head).prev = head;

            let event = parts.call.get();
            (*event).class = raw;
            (*event).__bindgen_anon_1.name = parts.name.as_char_ptr().cast_mut();
            (*event).event.type_ = kind.into();
            (*event).flags = Call::IGNORE_ENABLE as c_int;
            #[cfg(CONFIG_PERF_EVENTS)]
            {
                (*event).perf_perm = class.may_see;
            }
        }
        // INVARIANT: all that is asked of such an event was set.
        Ok(Self(parts))
    }

    /// Defines one more field. Task context, may sleep. `ENOMEM`.
    pub(crate) fn define(&mut self, field: OwnField<'_>) -> Result {
        let ty = CString::try_from_fmt(field.ty)?;
        let name = CString::try_from_fmt(fmt!("{}", field.name))?;
        let raw = RawField {
            ty: ty.as_char_ptr(),
            name: name.as_char_ptr(),
            offset: u32::try_from(field.offset)?,
            size: u32::try_from(field.size)?,
            signed: field.signed,
            filter: match field.is_function {
                true => bindings::FILTER_TRACE_FN as i32,
                false => bindings::FILTER_OTHER as i32,
            },
            len: 0,
        };
        self.0.texts.push(ty, GFP_KERNEL)?;
        self.0.texts.push(name, GFP_KERNEL)?;
        // SAFETY: it is borrowed mutably, so nobody looks; the texts go when the event does.
        unsafe { (**self).define_field(raw, GFP_KERNEL) }
    }

    /// Its call, which is then never freed.
    pub(super) fn leak(self) -> &'static Call {
        let parts: &'static Parts = KBox::leak(self.0);
        parts.call()
    }
}

impl Parts {
    fn call(&self) -> &Call {
        // SAFETY: by the invariant of `OwnEvent` the description is complete; it stays as long as
        // `self`.
        unsafe { Call::from_raw(self.call.get()) }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        // SAFETY: the event is being dropped, so that nobody looks at the fields of its class any
        // more.
        unsafe { self.call().forget_fields() };
    }
}

impl Deref for OwnEvent {
    type Target = Call;

    fn deref(&self) -> &Call {
        self.0.call()
    }
}
