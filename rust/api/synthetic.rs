// SPDX-License-Identifier: GPL-2.0

//! Synthetic events: events that are defined at run time and fired by code.
//!
//! C header: `include/linux/trace_events.h`. `Documentation/trace/histogram.rst` describes such
//! events.

use crate::lock_order::outside;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use kernel::bindings;
use kernel::error::{from_err_ptr, to_result};
use kernel::prelude::*;

/// What a field can have: a number or a [`Text`].
///
/// # Safety
///
/// `TYPE` is the name of a number's type, with as many bytes as `Self` has, at most 8, and `bits`
/// gives the number; or it is that of a text, and `bits` gives the address of one, which ends with a
/// NUL and is there as long as `self`.
pub unsafe trait Field: Copy {
    /// What the event's format calls it.
    const TYPE: &'static CStr;

    /// Its bits in the low ones, or its address.
    fn bits(&self) -> u64;
}

macro_rules! number {
    ($($Type:ty: $name:literal),+) => {$(
        // SAFETY: both are numbers of the same size.
        unsafe impl Field for $Type {
            const TYPE: &'static CStr = $name;

            #[inline]
            fn bits(&self) -> u64 {
                *self as u64
            }
        }
    )+};
}

number!(u8: c"u8", u16: c"u16", u32: c"u32", u64: c"u64", usize: c"unsigned long");
number!(i8: c"s8", i16: c"s16", i32: c"s32", i64: c"s64", isize: c"long", bool: c"bool");

/// A text of less than `N` bytes, `N` being 16, 32 or 64. What is longer is cut.
#[derive(Clone, Copy)]
pub struct Text<const N: usize>([u8; N]);

impl<const N: usize> Text<N> {
    /// The text up to its first NUL, or up to its end. Any context.
    #[inline]
    pub fn new(text: &[u8]) -> Self {
        let mut bytes = [0; N];
        let room = N.saturating_sub(1);
        let kept = text.iter().take(room).take_while(|byte| **byte != 0);
        bytes
            .iter_mut()
            .zip(kept)
            .for_each(|(to, from)| *to = *from);
        Self(bytes)
    }
}

macro_rules! text {
    ($($size:literal: $name:literal),+) => {$(
        // SAFETY: the last byte is NUL, as `Text::new` leaves it so.
        unsafe impl Field for Text<$size> {
            const TYPE: &'static CStr = $name;

            #[inline]
            fn bits(&self) -> u64 {
                self.0.as_ptr() as u64
            }
        }
    )+};
}

text!(16: c"char[16]", 32: c"char[32]", 64: c"char[64]");

/// The fields of an event. [`crate::synthetic_event!`] implements it for a structure.
///
/// # Safety
///
/// The types of `FIELDS` are those of [`Field`]s, and `values` gives the bits of one for each, which is
/// a part of `self`.
pub unsafe trait Fields: Send + Sync + 'static {
    /// The event's name.
    const NAME: &'static CStr;

    /// Type and name of each field.
    const FIELDS: &'static [(&'static CStr, &'static CStr)];

    /// The bits of each field.
    type Values: AsMut<[u64]>;

    /// What an entry has in its fields, as long as `self` is there.
    fn values(&self) -> Self::Values;
}

/// A synthetic event with the fields of `F`, `events/synthetic/NAME` in tracefs, with format, filter,
/// triggers and histograms.
///
/// It is recorded in the top instance, while it is enabled there. Dropping it disables and removes it:
/// task context, may sleep. If something else uses it then, a histogram for instance, it stays, and
/// can be removed by `synthetic_events`.
///
/// # Examples
///
/// ```
/// use kernel::prelude::*;
/// use rtrace::synthetic::{SyntheticEvent, Text};
///
/// rtrace::synthetic_event! {
///     /// Somebody bought apples.
///     struct Sale = "apple_sale" {
///         apples: u32,
///         cents: i64,
///         sort: Text<16>,
///     }
/// }
///
/// let sales = SyntheticEvent::<Sale>::new()?;
/// sales.record(&Sale { apples: 3, cents: 120, sort: Text::new(b"Boskoop") });
/// assert!(SyntheticEvent::<Sale>::new().is_err_and(|error| error == EEXIST));
/// # Ok::<(), Error>(())
/// ```
///
/// # Invariants
///
/// `file` is held, and its event has the fields `F::FIELDS`.
pub struct SyntheticEvent<F: Fields> {
    file: NonNull<bindings::trace_event_file>,
    _fields: PhantomData<fn(F)>,
}

// SAFETY: the file is counted, and its functions may be called by any thread.
unsafe impl<F: Fields> Send for SyntheticEvent<F> {}
// SAFETY: as above; recording takes no exclusive access.
unsafe impl<F: Fields> Sync for SyntheticEvent<F> {}

impl<F: Fields> SyntheticEvent<F> {
    /// Makes the event. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EEXIST` or `EINVAL` if there is an event of this name already, or if somebody has put another in
    /// its place meanwhile; `EINVAL` for a name that is none or too many fields; `EDEADLK` in a tracer's
    /// functions; `ENOMEM`.
    pub fn new() -> Result<Self> {
        outside()?;
        let mut fields = KVec::with_capacity(F::FIELDS.len(), GFP_KERNEL)?;
        for (kind, name) in F::FIELDS {
            let field = bindings::synth_field_desc {
                type_: kind.as_char_ptr(),
                name: name.as_char_ptr(),
            };
            fields.push(field, GFP_KERNEL)?;
        }
        let name = F::NAME.as_char_ptr();
        let count = c_uint::try_from(fields.len())?;
        // SAFETY: there are so many fields, and their texts are static. The event has no module: it
        // keeps nothing of the caller's, which may go before it.
        to_result(unsafe {
            bindings::synth_event_create(name, fields.as_mut_ptr(), count, ptr::null_mut())
        })?;
        // SAFETY: the names are strings; null stands for the top instance.
        let file = from_err_ptr(unsafe {
            bindings::trace_get_event_file(ptr::null(), c"synthetic".as_char_ptr(), name)
        });
        let made = file.and_then(|file| {
            let made = NonNull::new(file).ok_or(ENOENT)?;
            // SAFETY: the file is held, and there are so many fields.
            match unsafe { bindings::rtrace_synth_event_has(file, fields.as_ptr(), count) } {
                true => Ok(made),
                false => {
                    // SAFETY: the reference is this one's own.
                    unsafe { bindings::trace_put_event_file(file) };
                    Err(EEXIST)
                }
            }
        });
        match made {
            // INVARIANT: the file was held before its fields were compared, so they stay.
            Ok(file) => Ok(Self {
                file,
                _fields: PhantomData,
            }),
            Err(error) => {
                // An event of the name that somebody else has defined meanwhile stays.
                if error != EEXIST {
                    // SAFETY: the name is a string.
                    unsafe { bindings::synth_event_delete(name) };
                }
                Err(error)
            }
        }
    }

    /// Records an entry, if the event is enabled. Any context, NMIs too.
    #[inline]
    pub fn record(&self, fields: &F) {
        let mut values = fields.values();
        let values = values.as_mut();
        // SAFETY: by the type's invariant this has a reference to the file, and its event has the fields
        // of `F`. There are so many values, and those of texts are the addresses of parts of `fields`.
        unsafe {
            bindings::synth_event_trace_array(
                self.file.as_ptr(),
                values.as_mut_ptr(),
                values.len() as c_uint,
            )
        };
    }
}

impl<F: Fields> Drop for SyntheticEvent<F> {
    fn drop(&mut self) {
        let name = F::NAME.as_char_ptr();
        // SAFETY: this has a reference to the file, whose instance is the top one and stays; the
        // names are strings. If the event is used otherwise, it is not removed.
        unsafe {
            let instance = (*self.file.as_ptr()).tr;
            bindings::trace_array_set_clr_event(instance, c"synthetic".as_char_ptr(), name, false);
            bindings::trace_put_event_file(self.file.as_ptr());
            bindings::synth_event_delete(name);
        }
    }
}

/// Declares a structure whose fields are those of a synthetic event:
/// [`Fields`](crate::synthetic::Fields). They are numbers and [`Text`](crate::synthetic::Text)s.
#[macro_export]
macro_rules! synthetic_event {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $Name:ident = $name:literal {
            $($(#[$on_field:meta])* $field:ident: $Type:ty),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        $visible struct $Name {
            $($(#[$on_field])* $visible $field: $Type),+
        }

        // SAFETY: all types are those of fields, and there is a value for each.
        unsafe impl $crate::synthetic::Fields for $Name {
            const NAME: &'static ::kernel::str::CStr = ::kernel::c_str!($name);

            const FIELDS: &'static [(
                &'static ::kernel::str::CStr,
                &'static ::kernel::str::CStr,
            )] = &[
                $((
                    <$Type as $crate::synthetic::Field>::TYPE,
                    ::kernel::c_str!(::core::stringify!($field)),
                )),+
            ];

            type Values = [u64; [$(::core::stringify!($field)),+].len()];

            fn values(&self) -> Self::Values {
                [$($crate::synthetic::Field::bits(&self.$field)),+]
            }
        }
    };
}
