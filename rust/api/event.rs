// SPDX-License-Identifier: GPL-2.0

//! Events: what C's `TRACE_EVENT()` makes, from a structure.
//!
//! [`crate::event!`] declares one. It has a directory in `events/`, with format, filter, trigger and
//! histogram, in all instances, and perf counts and records it.

use crate::lock_order::outside;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::str::BStr;

/// What a field can have: a number, a `bool`, an array of numbers; or, with any length, a slice of
/// numbers or a text, which is a `&str`, a `&CStr` or a `&BStr`.
///
/// # Safety
///
/// `SHAPE` describes `Stored`, which has no padding, or, for a kind of any length, the bytes that
/// `value` gives; `Stored` is `u32` then.
pub unsafe trait Field: Copy {
    /// What it is.
    const SHAPE: Shape;

    /// What an entry has at the field's place.
    type Stored: Copy;

    /// That of this value.
    fn stored(&self) -> Self::Stored;

    /// The bytes that an entry has behind its fields.
    #[inline(always)]
    fn value(&self) -> &[u8] {
        &[]
    }
}

/// What a [`Field`] is.
#[derive(Clone, Copy)]
pub struct Shape {
    kind: u32,
    ty: &'static CStr,
    size: usize,
    signed: bool,
    count: usize,
}

impl Shape {
    const fn of(kind: u32, ty: &'static CStr, size: usize, signed: bool, count: usize) -> Self {
        Self {
            kind,
            ty,
            size,
            signed,
            count,
        }
    }

    /// Whether it has any length.
    const fn is_dynamic(&self) -> bool {
        matches!(
            self.kind,
            bindings::RTRACE_EVENT_NUMBERS | bindings::RTRACE_EVENT_TEXT
        )
    }

    /// As C knows a field called `name` of this shape, which begins at `offset` behind the common
    /// fields.
    pub const fn field(&self, name: &'static CStr, offset: usize) -> Described {
        let name = without_raw(name);
        if !is_name(name.to_bytes()) {
            panic!("a field of an event has a name of ASCII letters, digits and `_`");
        }
        if self.kind == bindings::RTRACE_EVENT_ARRAY && (self.count == 0 || self.count > 1024) {
            panic!("an array in an event has 1 to 1024 numbers");
        }
        Described(bindings::rtrace_event_field {
            name: name.as_ptr().cast(),
            type_: self.ty.as_ptr().cast(),
            offset: offset as u32,
            count: self.count as u16,
            size: self.size as u8,
            kind: self.kind as u8,
            is_signed: self.signed,
        })
    }
}

/// A field of an event as the core gets it. Only [`Shape::field`] makes one, so its texts are strings.
#[repr(transparent)]
pub struct Described(bindings::rtrace_event_field);

macro_rules! numbers {
    ($($Type:ty: $name:literal, $signed:literal;)+) => {$(
        // SAFETY: it is this number.
        unsafe impl Field for $Type {
            const SHAPE: Shape =
                Shape::of(bindings::RTRACE_EVENT_NUMBER, $name, size_of::<$Type>(), $signed, 0);
            type Stored = Self;

            #[inline(always)]
            fn stored(&self) -> Self {
                *self
            }
        }

        // SAFETY: it is so many of this number.
        unsafe impl<const N: usize> Field for [$Type; N] {
            const SHAPE: Shape =
                Shape::of(bindings::RTRACE_EVENT_ARRAY, $name, size_of::<$Type>(), $signed, N);
            type Stored = Self;

            #[inline(always)]
            fn stored(&self) -> Self {
                *self
            }
        }

        // SAFETY: its bytes are those of such numbers.
        unsafe impl Field for &[$Type] {
            const SHAPE: Shape =
                Shape::of(bindings::RTRACE_EVENT_NUMBERS, $name, size_of::<$Type>(), $signed, 0);
            type Stored = u32;

            #[inline(always)]
            fn stored(&self) -> u32 {
                0
            }

            #[inline(always)]
            fn value(&self) -> &[u8] {
                // SAFETY: numbers are so many bytes, which are borrowed as long.
                unsafe { core::slice::from_raw_parts(self.as_ptr().cast(), size_of_val(*self)) }
            }
        }
    )+};
}

numbers! {
    u8: c"u8", false;
    u16: c"u16", false;
    u32: c"u32", false;
    u64: c"u64", false;
    usize: c"unsigned long", false;
    i8: c"s8", true;
    i16: c"s16", true;
    i32: c"s32", true;
    i64: c"s64", true;
    isize: c"long", true;
}

// SAFETY: a `bool` is a byte.
unsafe impl Field for bool {
    const SHAPE: Shape = Shape::of(bindings::RTRACE_EVENT_BOOL, c"bool", 1, false, 0);
    type Stored = Self;

    #[inline(always)]
    fn stored(&self) -> Self {
        *self
    }
}

macro_rules! texts {
    ($($Type:ty: $bytes:expr;)+) => {$(
        // SAFETY: it gives bytes.
        unsafe impl Field for &$Type {
            const SHAPE: Shape = Shape::of(bindings::RTRACE_EVENT_TEXT, c"char", 1, false, 0);
            type Stored = u32;

            #[inline(always)]
            fn stored(&self) -> u32 {
                0
            }

            #[inline(always)]
            fn value(&self) -> &[u8] {
                $bytes(self)
            }
        }
    )+};
}

texts! {
    str: str::as_bytes;
    CStr: CStr::to_bytes;
    BStr: |text| -> &[u8] { text };
}

/// The values of the fields of any length, of which there are at most `N`.
pub struct Values<const N: usize> {
    values: [MaybeUninit<bindings::rtrace_event_value>; N],
    count: usize,
}

impl<const N: usize> Values<N> {
    /// None.
    #[inline(always)]
    #[expect(clippy::new_without_default, reason = "for the macro alone")]
    pub const fn new() -> Self {
        Self {
            values: [const { MaybeUninit::uninit() }; N],
            count: 0,
        }
    }

    /// Adds that of `field`, if it has any length.
    #[inline(always)]
    pub fn add<T: Field>(&mut self, field: &T) {
        if !T::SHAPE.is_dynamic() {
            return;
        }
        let bytes = field.value();
        if let Some(place) = self.values.get_mut(self.count) {
            place.write(bindings::rtrace_event_value {
                data: bytes.as_ptr().cast(),
                size: bytes.len(),
            });
        }
        self.count = self.count.wrapping_add(1);
    }

    /// The first of them.
    #[inline(always)]
    pub const fn as_ptr(&self) -> *const bindings::rtrace_event_value {
        self.values.as_ptr().cast()
    }
}

/// An event as the core gets it.
pub struct Description(bindings::rtrace_event_description);

impl Description {
    /// An event of these names, with `size` bytes of fields.
    pub const fn new(
        system: &'static CStr,
        name: &'static CStr,
        size: usize,
        fields: &'static [Described],
        pieces: &'static [bindings::rtrace_event_piece],
    ) -> Self {
        let (system, name) = (without_raw(system), without_raw(name));
        if !is_name(system.to_bytes()) || !is_name(name.to_bytes()) {
            panic!("an event and its system have names of ASCII letters, digits and `_`");
        }
        if size > 2040 {
            panic!("the fields of an event have at most 2040 bytes, without values of any length");
        }
        Self(bindings::rtrace_event_description {
            system: system.as_ptr().cast(),
            name: name.as_ptr().cast(),
            fields: fields.as_ptr().cast(),
            pieces: pieces.as_ptr(),
            field_count: fields.len() as u32,
            piece_count: pieces.len() as u32,
            size: size as u32,
        })
    }
}

/// The fields of an event. [`crate::event!`] implements it for a structure.
///
/// # Safety
///
/// `give` gives bytes and values that `DESCRIPTION` describes, and the `DESCRIPTION` of `Registered` is
/// the same.
pub unsafe trait Fields {
    /// The same, without a lifetime.
    type Registered: Fields + 'static;

    /// What the event is.
    const DESCRIPTION: Description;

    /// Calls `to` with the bytes of the fields, and with the values of any length.
    fn give(&self, to: impl FnOnce(*const c_void, *const bindings::rtrace_event_value));
}

/// A registered event, `events/SYSTEM/NAME` in tracefs, with the fields of `F`.
///
/// It is an event as those of C: users and perf enable it, filters and triggers look at its fields, and
/// its module cannot be unloaded while perf, a trigger or an event probe uses it. That it is enabled in
/// an instance does not hold the module: what was recorded there is cleared when it goes.
///
/// Dropping it ends the event: task context, may sleep. Whoever uses it then gets no more of it. The
/// core keeps nothing of the module, so one in a `static`, or one that is leaked, ends with its module.
///
/// # Examples
///
/// ```
/// use kernel::prelude::*;
/// use rtrace::event::Event;
/// use rtrace::instance::Instance;
///
/// rtrace::event! {
///     /// Somebody bought fruit.
///     struct Sale<'a> = market:sale {
///         sort: &'a str,
///         pieces: u32,
///         cents: i64,
///         weights: [u16; 2],
///     }
///     print("{pieces} of {sort} for {cents}, weights {weights}")
/// }
///
/// # let module: &'static ThisModule = &<crate::LocalModule as kernel::ModuleMetadata>::THIS_MODULE;
/// let sales = Event::<Sale<'_>>::new(module)?;
/// let sort = "Boskoop";
/// // While nobody wants the event, the closure is not called.
/// sales.record(|| Sale { sort, pieces: 1, cents: 50, weights: [190, 0] });
///
/// let instance = Instance::open(c"rtrace_event_example")?;
/// instance.set_event(c"market", Some(c"sale"), true)?;
/// sales.record(|| Sale { sort, pieces: 3, cents: 120, weights: [180, 210] });
/// let mut reader = instance.reader()?;
/// let text = b"3 of Boskoop for 120, weights {0xb4,0xd2}";
/// assert!(reader.consume()?.is_some_and(|entry| entry.text.ends_with(text)));
/// drop(reader);
/// instance.remove()?;
/// # Ok::<(), Error>(())
/// ```
pub struct Event<F: Fields> {
    raw: bindings::rtrace_event,
    _fields: PhantomData<fn(F)>,
}

// SAFETY: the event may end in any thread.
unsafe impl<F: Fields> Send for Event<F> {}
// SAFETY: the functions that take `&self` may run in any context, on several CPUs at once.
unsafe impl<F: Fields> Sync for Event<F> {}

impl<F: Fields + 'static> Event<F> {
    /// Registers the event for `module`, the caller's. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is an event of this name, `EINVAL` for names that files of tracefs have
    /// (`enable`, `filter`) and for a field that begins with `common_`, `EDEADLK` in a tracer's functions,
    /// `ENOMEM`.
    pub fn new(module: &'static ThisModule) -> Result<Self> {
        outside()?;
        let mut raw = bindings::rtrace_event {
            wanted: ptr::null(),
            declared: ptr::null_mut(),
        };
        let description = F::DESCRIPTION;
        // SAFETY: the description is complete, and its texts are constants.
        to_result(unsafe {
            bindings::rtrace_event_register(&description.0, module.as_ptr(), &mut raw)
        })?;
        Ok(Self {
            raw,
            _fields: PhantomData,
        })
    }

    /// Whether somebody wants entries: an instance, perf, a trigger. Any context, by one load.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        // SAFETY: the word is there until the event ends. It changes at any time, and is read at once.
        unsafe { self.raw.wanted.read_volatile() != 0 }
    }

    /// Records the entry that `fields` makes, wherever the event is enabled. While nobody wants it, this
    /// is a load and a branch. Any context, NMIs too.
    ///
    /// A text ends at its first NUL. Values of any length are cut where the entry would have more than
    /// some 3,800 bytes.
    #[inline(always)]
    pub fn record<V: Fields<Registered = F>>(&self, fields: impl FnOnce() -> V) {
        if self.is_wanted() {
            self.record_now(&fields());
        }
    }

    /// The rest of [`Event::record`] when somebody wants the entry.
    #[cold]
    #[inline(never)]
    fn record_now<V: Fields<Registered = F>>(&self, fields: &V) {
        fields.give(|bytes, values| {
            // SAFETY: the event has not ended; bytes and values are as the description of `V` says,
            // which is that of `F`.
            unsafe { bindings::rtrace_event_record(self.raw.declared, bytes, values) }
        });
    }
}

impl<F: Fields> Drop for Event<F> {
    fn drop(&mut self) {
        // SAFETY: it was registered, and nobody else has it.
        unsafe { bindings::rtrace_event_unregister(self.raw.declared) };
    }
}

/// `name` without the `r#` of a word that Rust has for itself.
const fn without_raw(name: &'static CStr) -> &'static CStr {
    match name.to_bytes_with_nul() {
        // SAFETY: the same end of the same string.
        [b'r', b'#', plain @ ..] => unsafe { CStr::from_bytes_with_nul_unchecked(plain) },
        _ => name,
    }
}

const fn is_name(name: &[u8]) -> bool {
    let mut at = 0;
    while at < name.len() {
        if !name[at].is_ascii_alphanumeric() && name[at] != b'_' {
            return false;
        }
        at += 1;
    }
    !name.is_empty() && name.len() < 64 && !name[0].is_ascii_digit()
}

/// A part of an entry's text: words, and what is between braces behind them.
struct Cut<'a> {
    text: &'a [u8],
    name: &'a [u8],
    form: &'a [u8],
    has_value: bool,
    /// Where the next part begins.
    next: usize,
}

/// `text[from..to]`.
const fn part(text: &[u8], from: usize, to: usize) -> &[u8] {
    text.split_at(to).0.split_at(from).1
}

/// The part of `text` that begins at `from`.
const fn cut(text: &[u8], from: usize) -> Cut<'_> {
    let mut at = from;
    while at < text.len() && text[at] != b'{' && text[at] != b'}' {
        if text[at].is_ascii_control() {
            panic!("the text of an event is one line");
        }
        at += 1;
    }
    let mut cut = Cut {
        text: part(text, from, at),
        name: &[],
        form: &[],
        has_value: false,
        next: at,
    };
    if at == text.len() {
        return cut;
    }
    if at + 1 < text.len() && text[at + 1] == text[at] {
        cut.text = part(text, from, at + 1);
        cut.next = at + 2;
        return cut;
    }
    if text[at] == b'}' {
        panic!("a brace in the text of an event is closed but not opened; `}}` stands for one");
    }
    let (start, mut colon) = (at + 1, 0);
    while at < text.len() && text[at] != b'}' {
        if text[at] == b':' {
            colon = at;
        }
        at += 1;
    }
    if at == text.len() {
        panic!("a brace in the text of an event is opened but not closed; `{{` stands for one");
    }
    let end = if colon == 0 { at } else { colon };
    cut.name = part(text, start, end);
    cut.form = if colon == 0 {
        &[]
    } else {
        part(text, colon + 1, at)
    };
    cut.has_value = true;
    cut.next = at + 1;
    cut
}

/// How many parts the text of an event has.
pub const fn pieces_of(text: &str) -> usize {
    let (text, mut at, mut count) = (text.as_bytes(), 0, 0);
    while at < text.len() {
        let cut = cut(text, at);
        at = cut.next;
        count += 1 + cut.has_prefix() as usize;
    }
    count
}

impl Cut<'_> {
    /// Whether `#` asks for a prefix, which is a part of its own.
    const fn has_prefix(&self) -> bool {
        !self.form.is_empty() && self.form[0] == b'#'
    }
}

/// The number of the field called `name`.
const fn field_called(name: &[u8], fields: &[Described]) -> usize {
    let mut number = 0;
    while number < fields.len() {
        // SAFETY: `Shape::field` has put the address of a constant there.
        let known = unsafe { CStr::from_ptr(fields[number].0.name.cast()) }.to_bytes();
        let mut at = 0;
        while at < name.len() && at < known.len() && name[at] == known[at] {
            at += 1;
        }
        if at == name.len() && at == known.len() {
            return number;
        }
        number += 1;
    }
    panic!("the text of an event names something that is none of its fields");
}

/// The parts of the text of an event: `N` is [`pieces_of`] it.
///
/// Between braces is the name of a field, and perhaps a colon and how it is shown: a number by `x`, `X`
/// or `o`, with `#` and `0` and a width before that, as in `format_args!()`; a text with a width.
pub const fn pieces<const N: usize>(
    text: &'static str,
    fields: &[Described],
) -> [bindings::rtrace_event_piece; N] {
    const NONE: bindings::rtrace_event_piece = bindings::rtrace_event_piece {
        text: ptr::null(),
        length: 0,
        field: -1,
        base: bindings::RTRACE_EVENT_DECIMAL as u8,
        width: 0,
        zeros: false,
    };
    let mut pieces = [NONE; N];
    let (text, mut from, mut number) = (text.as_bytes(), 0, 0);
    while from < text.len() {
        let cut = cut(text, from);
        from = cut.next;
        let mut piece = NONE;
        piece.text = cut.text.as_ptr();
        piece.length = cut.text.len();
        if !cut.has_value {
            pieces[number] = piece;
            number += 1;
            continue;
        }
        let field = field_called(cut.name, fields);
        let (form, mut at) = (cut.form, 0);
        if cut.has_prefix() {
            pieces[number] = piece;
            number += 1;
            at += 1;
        }
        if at < form.len() && form[at] == b'0' {
            piece.zeros = true;
            at += 1;
        }
        let mut width = 0;
        while at < form.len() && form[at].is_ascii_digit() {
            width = width * 10 + (form[at] - b'0') as usize;
            at += 1;
        }
        let mut prefix: &'static [u8] = b"";
        if at < form.len() {
            (piece.base, prefix) = match form[at] {
                b'x' => (bindings::RTRACE_EVENT_HEX as u8, b"0x"),
                b'X' => (bindings::RTRACE_EVENT_UPPER_HEX as u8, b"0x"),
                b'o' => (bindings::RTRACE_EVENT_OCTAL as u8, b"0o"),
                _ => panic!("a field in the text of an event is shown by `x`, `X` or `o`"),
            };
            at += 1;
        }
        if at != form.len() || width > 100 {
            panic!(
                "how a field is shown in the text of an event: `#`, `0`, width, `x`, `X` or `o`"
            );
        }
        if cut.has_prefix() {
            if prefix.is_empty() || width != 0 && !piece.zeros {
                panic!("`#` is for `x`, `X` and `o`, where a width is one with zeros");
            }
            piece.text = prefix.as_ptr();
            piece.length = prefix.len();
            // As in `format_args!()`, the prefix counts.
            width = width.saturating_sub(prefix.len());
        }
        let is_plain = piece.base == bindings::RTRACE_EVENT_DECIMAL as u8 && !piece.zeros;
        match fields[field].0.kind as u32 {
            bindings::RTRACE_EVENT_NUMBER if !prefix.is_empty() && fields[field].0.is_signed => {
                panic!("`x`, `X` and `o` are for unsigned numbers")
            }
            bindings::RTRACE_EVENT_NUMBER => {}
            bindings::RTRACE_EVENT_TEXT if is_plain => {}
            _ if is_plain && width == 0 => {}
            _ => panic!("a field that is no number is shown as it is"),
        }
        piece.field = field as i32;
        piece.width = width as u8;
        pieces[number] = piece;
        number += 1;
    }
    pieces
}

/// Declares a structure whose fields are those of an event: [`Fields`](crate::event::Fields). They are
/// [`Field`](crate::event::Field)s: numbers, `bool`s, arrays of numbers, slices of numbers, and texts.
///
/// The structure is followed by the text of an entry, from which both the event's `print fmt` and its
/// line in `trace` are made. It names fields between braces. `{number:x}`, `{number:#010x}`,
/// `{number:5}` and `{text:16}` are as in `format_args!()`.
///
/// [`Event`](crate::event::Event) has an example.
#[macro_export]
macro_rules! event {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $Name:ident $(<$life:lifetime>)? = $system:ident:$event:ident {
            $($(#[$on_field:meta])* $field:ident: $Type:ty),+ $(,)?
        }
        print($print:literal)
    ) => {
        $(#[$attribute])*
        $visible struct $Name $(<$life>)? {
            $($(#[$on_field])* $visible $field: $Type),+
        }

        $crate::__event!($Name [$($life)?] $system:$event { $($field: $Type),+ } $print);
    };
}

/// The rest of [`event!`], for a structure with and without a lifetime.
#[doc(hidden)]
#[macro_export]
macro_rules! __event {
    ($Name:ident [] $($rest:tt)+) => {
        $crate::__event!(@ $Name {} {} $($rest)+);
    };
    ($Name:ident [$life:lifetime] $($rest:tt)+) => {
        $crate::__event!(@ $Name {<$life>} {<'static>} $($rest)+);
    };
    (
        @ $Name:ident {$($generic:tt)*} {$($fixed:tt)*}
        $system:ident:$event:ident { $($field:ident: $Type:ty),+ } $print:literal
    ) => {
        const _: () = {
            /// The fields as an entry has them.
            #[repr(C)]
            #[allow(dead_code, reason = "its bytes are read")]
            struct __RtraceImage $($generic)* {
                $($field: <$Type as $crate::event::Field>::Stored),+
            }

            impl $($generic)* __RtraceImage $($generic)* {
                const FIELDS: &'static [$crate::event::Described] = &[$(
                    <$Type as $crate::event::Field>::SHAPE.field(
                        ::kernel::c_str!(::core::stringify!($field)),
                        ::core::mem::offset_of!(Self, $field),
                    )
                ),+];

                const PIECES: [
                    ::kernel::bindings::rtrace_event_piece;
                    $crate::event::pieces_of($print)
                ] = $crate::event::pieces($print, Self::FIELDS);
            }

            // SAFETY: the image has all fields, at the places that the description gives, and there
            // is a value for each of any length.
            unsafe impl $($generic)* $crate::event::Fields for $Name $($generic)* {
                type Registered = $Name $($fixed)*;

                const DESCRIPTION: $crate::event::Description = $crate::event::Description::new(
                    ::kernel::c_str!(::core::stringify!($system)),
                    ::kernel::c_str!(::core::stringify!($event)),
                    ::core::mem::size_of::<__RtraceImage $($generic)*>(),
                    <__RtraceImage $($generic)*>::FIELDS,
                    &<__RtraceImage $($generic)*>::PIECES,
                );

                #[inline(always)]
                fn give(
                    &self,
                    to: impl ::core::ops::FnOnce(
                        *const ::core::ffi::c_void,
                        *const ::kernel::bindings::rtrace_event_value,
                    ),
                ) {
                    const FIELDS: usize = [$(::core::stringify!($field)),+].len();
                    // No byte between the fields is left as it was.
                    let mut image = ::core::mem::MaybeUninit::<__RtraceImage $($generic)*>::zeroed();
                    let mut values = $crate::event::Values::<FIELDS>::new();
                    let at = image.as_mut_ptr();
                    $(
                        // It is what the description says, whoever has declared the structure.
                        let field: &$Type = &self.$field;
                        // SAFETY: the place is that of a field of `image`.
                        unsafe {
                            (&raw mut (*at).$field).write($crate::event::Field::stored(field));
                        }
                        values.add(field);
                    )+
                    to(at.cast_const().cast(), values.as_ptr());
                }
            }

            // What is wrong is said here, not only where the event is registered.
            const _: &$crate::event::Description =
                &<$Name $($fixed)* as $crate::event::Fields>::DESCRIPTION;
        };
    };
}
