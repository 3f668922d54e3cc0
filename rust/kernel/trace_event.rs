// SPDX-License-Identifier: GPL-2.0

//! Events as C code describes them: what `TRACE_EVENT()` and its kin generate, and the structures
//! that the generated code shares with who records it.
//!
//! C header: `include/linux/trace_events.h`.

use super::format::is_tracepoint_string;
use super::rcu_slot::wait_for_readers;
use super::{relaxed, trace_event_types as types};
use crate::core::event::field::Kind;
use core::ops::Deref;
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic};
use kernel::sync::Arc;
use kernel::types::Opaque;

/// Bytes of the fields that all entries begin with.
pub(crate) const COMMON: usize = size_of::<bindings::trace_entry>();

/// What an event is, and how its code is reached (`struct trace_event_call`).
#[repr(transparent)]
pub(crate) struct Call(Opaque<bindings::trace_event_call>);

// SAFETY: what is read here does not change once the event is known, but for the fields that are
// said to, which are read at once.
unsafe impl Send for Call {}
// SAFETY: as above.
unsafe impl Sync for Call {}

/// `TRACE_EVENT_FL_*`, as far as they are asked for.
impl Call {
    /// The core's own entries: nobody enables them.
    pub(crate) const IGNORE_ENABLE: u32 = bindings::TRACE_EVENT_FL_IGNORE_ENABLE as u32;
    /// It was made while the kernel ran, and has no module.
    pub(crate) const DYNAMIC: u32 = bindings::TRACE_EVENT_FL_DYNAMIC as u32;
    /// It belongs to a tracepoint.
    pub(crate) const TRACEPOINT: u32 = bindings::TRACE_EVENT_FL_TRACEPOINT as u32;
    /// It has a name of its own, though it may belong to a tracepoint.
    pub(crate) const CUSTOM: u32 = bindings::TRACE_EVENT_FL_CUSTOM as u32;

    /// Its entries may have addresses of strings elsewhere, that are printed.
    pub(crate) const TEST_STR: u32 = bindings::TRACE_EVENT_FL_TEST_STR as u32;

    /// The description at `call`.
    ///
    /// # Safety
    ///
    /// It is a complete one, and stays for the lifetime that the caller picks.
    pub(crate) unsafe fn from_raw<'a>(call: *const bindings::trace_event_call) -> &'a Self {
        // SAFETY: `call` is complete and stays for `'a`; the type is transparent.
        unsafe { &*call.cast() }
    }

    /// The C structure.
    pub(crate) fn as_ptr(&self) -> *mut bindings::trace_event_call {
        self.0.get()
    }

    fn class(&self) -> *mut bindings::trace_event_class {
        // SAFETY: the structure is complete; the class of an event does not change.
        unsafe { (*self.0.get()).class }
    }

    /// `TRACE_EVENT_FL_*`.
    pub(crate) fn flags(&self) -> u32 {
        // SAFETY: the structure is complete, and the word is read at once.
        unsafe { (&raw const (*self.0.get()).flags).read_volatile() as u32 }
    }

    /// Has it any of these flags?
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.flags() & flags != 0
    }

    fn raw_name(&self) -> *const c_char {
        let call = self.0.get();
        // SAFETY: the flags say which field of the union it is, and a tracepoint lives as long as
        // its event.
        unsafe {
            let either = &raw const (*call).__bindgen_anon_1;
            if !self.has(Self::CUSTOM) && self.has(Self::TRACEPOINT) {
                let tracepoint = (*either).tp;
                return match tracepoint.is_null() {
                    true => core::ptr::null(),
                    false => (*tracepoint).name,
                };
            }
            (*either).name
        }
    }

    /// Its name; empty where it has none yet.
    pub(crate) fn name(&self) -> &CStr {
        let name = self.raw_name();
        if name.is_null() {
            return c"";
        }
        // SAFETY: names are NUL-terminated and live as long as the event.
        unsafe { CStr::from_char_ptr(name) }
    }

    /// The system it belongs to.
    pub(crate) fn system(&self) -> &CStr {
        // SAFETY: the class lives as long as the event, and its name is NUL-terminated.
        unsafe { CStr::from_char_ptr((*self.class()).system) }
    }

    /// Where its system's name is: events of one system in one object share it, and so do the names
    /// in their formats.
    pub(crate) fn system_key(&self) -> usize {
        // SAFETY: as in `system`.
        unsafe { (*self.class()).system as usize }
    }

    /// The type of its entries, which is in its `id` file; 0 before it has one.
    pub(crate) fn id(&self) -> u16 {
        // SAFETY: the structure is complete; types fit.
        unsafe { (&raw const (*self.0.get()).event.type_).read_volatile() as u16 }
    }

    /// How user space is to print its entries; see [`Registered::rewrite_print_fmt`]. Task context.
    pub(crate) fn print_fmt(&self) -> &CStr {
        // SAFETY: NUL-terminated, and changed only while nobody else can know the event or by who
        // has all of them to itself.
        unsafe {
            let text = (*self.0.get()).print_fmt;
            match text.is_null() {
                true => c"",
                false => CStr::from_char_ptr(text),
            }
        }
    }

    /// Can it be enabled? Those of the core's own entries cannot.
    pub(crate) fn can_record(&self) -> bool {
        // SAFETY: the class lives as long as the event.
        unsafe { (*self.class()).reg.is_some() }
    }

    /// Where its function that records is, if it says so.
    pub(crate) fn probe(&self) -> usize {
        // SAFETY: the class lives as long as the event.
        unsafe { (*self.class()).probe as usize }
    }

    /// The module it belongs to, as an address; 0 for the kernel's own, and for dynamic ones.
    pub(crate) fn module(&self) -> usize {
        if self.has(Self::DYNAMIC) {
            return 0;
        }
        // SAFETY: the flags say which field of the union it is.
        unsafe { (*self.0.get()).__bindgen_anon_2.module as usize }
    }

    /// The name of its module.
    pub(crate) fn module_name(&self) -> Option<&CStr> {
        let module = self.module() as *const bindings::module;
        if module.is_null() {
            return None;
        }
        // SAFETY: a module with events stays until they are removed; its name is NUL-terminated.
        Some(unsafe { CStr::from_char_ptr((&raw const (*module).name).cast()) })
    }

    /// Does what is at `address` stay as long as the event is known? Constants of the kernel do, and
    /// what is in the event's module. Any context.
    pub(crate) fn keeps(&self, address: usize) -> bool {
        let module = self.module() as *const bindings::module;
        // SAFETY: as in `module_name`.
        let of_module =
            || !module.is_null() && unsafe { bindings::within_module_core(address, module) };
        // SAFETY: compares addresses.
        let constant = unsafe { bindings::is_kernel_rodata(address) };
        constant || is_tracepoint_string(address) || of_module()
    }

    /// Begins its life: its class gives it a type. Task context.
    ///
    /// # Errors
    ///
    /// What the class says, `EINVAL` without a name.
    ///
    /// # Safety
    ///
    /// Nobody knows the event yet; `module` is where its code is, or null.
    pub(super) unsafe fn init(&self, module: *mut bindings::module) -> Result {
        if self.name().is_empty() {
            return Err(EINVAL);
        }
        let call = self.0.get();
        // SAFETY: nobody knows the event yet, so nobody else uses the structure.
        unsafe {
            if !self.has(Self::DYNAMIC) {
                (*call).__bindgen_anon_2.module = module.cast();
            }
            match (*self.class()).raw_init {
                Some(raw_init) => to_result(raw_init(call)),
                None => Ok(()),
            }
        }
    }

    /// Its fields, without the common ones. Task context.
    pub(crate) fn fields(&self) -> Fields<'_> {
        // SAFETY: the class lives as long as the event.
        let row = unsafe { (*self.class()).fields_array };
        let list = self.field_list();
        Fields {
            row,
            // SAFETY: the list's head is initialised.
            node: unsafe { (*list).prev },
            list,
            offset: COMMON,
            _call: self,
        }
    }

    /// Where fields that are told one by one are listed, the last one first.
    fn field_list(&self) -> *mut bindings::list_head {
        let class = self.class();
        // SAFETY: the class lives as long as the event; the function gives a list that does, too.
        unsafe {
            match (*class).get_fields {
                Some(get) => get(self.0.get()),
                None => &raw mut (*class).fields,
            }
        }
    }

    /// Has its class tell its fields, if it does so by a function. Once, while nobody knows the
    /// event. Task context, may sleep.
    pub(super) fn define_fields(&self) -> Result {
        let mut row = self.fields().row;
        let list = self.field_list();
        // SAFETY: the array ends with a row without a type; a row with this type has a function.
        unsafe {
            if (*list).next != list {
                return Ok(());
            }
            while !row.is_null() && !(*row).type_.is_null() {
                if (*row).type_ as usize == usize::MAX {
                    return match (*row).__bindgen_anon_1.define_fields {
                        Some(define) => to_result(define(self.0.get())),
                        None => Ok(()),
                    };
                }
                row = row.add(1);
            }
        }
        Ok(())
    }

    /// Tells one more field. Task context, may sleep. `ENOMEM`.
    ///
    /// # Safety
    ///
    /// Nobody looks at the fields of this event's class; the texts live as long as that.
    pub(crate) unsafe fn define_field(&self, field: RawField) -> Result {
        let list = self.field_list();
        let node = KBox::new(
            Node {
                link: bindings::list_head {
                    next: null_mut(),
                    prev: null_mut(),
                },
                field,
            },
            GFP_KERNEL,
        )?;
        let node = KBox::into_raw(node);
        // SAFETY: the head is initialised, and nobody looks at the fields of this event's class.
        unsafe {
            let (link, next) = (&raw mut (*node).link, (*list).next);
            (*link).next = next;
            (*link).prev = list;
            (*next).prev = link;
            (*list).next = link;
        }
        Ok(())
    }

    /// Forgets the fields that were told one by one. Task context.
    ///
    /// # Safety
    ///
    /// Nobody looks at the fields of this event's class, now or later.
    pub(super) unsafe fn forget_fields(&self) {
        let list = self.field_list();
        // SAFETY: all but the head are in boxes that `define_field` made.
        unsafe {
            let mut link = (*list).next;
            (*list).next = list;
            (*list).prev = list;
            while link != list {
                let node = link.cast::<Node>();
                link = (*link).next;
                drop(KBox::from_raw(node));
            }
        }
    }

    /// Has the event's class do `what`. Task context, sleeps. Errors as the class says.
    ///
    /// # Safety
    ///
    /// `data` is what that asks for: a `struct trace_event_file` that stays until it is undone and
    /// the readers of tracepoints were waited for, or a `struct perf_event`.
    pub(crate) unsafe fn reg(
        &self,
        what: bindings::trace_reg,
        data: *mut core::ffi::c_void,
    ) -> Result<c_int> {
        // SAFETY: the class lives as long as the event.
        let reg = unsafe { (*self.class()).reg }.ok_or(EINVAL)?;
        // SAFETY: `data` is what the class asks for with `what`: the file or the perf event that
        // stays until it is undone.
        let result = unsafe { reg(self.0.get(), what, data) };
        kernel::error::to_result(result.min(0))?;
        Ok(result)
    }
}

/// A field that is told by `trace_define_field()`.
#[derive(Clone, Copy)]
pub(crate) struct RawField {
    /// Its C type; lives as long as the event.
    pub(crate) ty: *const c_char,
    /// Its name; lives as long as the event.
    pub(crate) name: *const c_char,
    /// Where it is in an entry.
    pub(crate) offset: u32,
    /// Bytes.
    pub(crate) size: u32,
    /// Has it a sign?
    pub(crate) signed: bool,
    /// `FILTER_*`.
    pub(crate) filter: i32,
    /// How many elements, if it is an array of a fixed length.
    pub(crate) len: u32,
}

#[repr(C)]
struct Node {
    link: bindings::list_head,
    field: RawField,
}

/// How a field is read that says `filter`, or does not say and is of type `ty`.
fn kind_of(filter: i32, ty: &[u8]) -> Kind {
    match filter as u32 {
        bindings::FILTER_STATIC_STRING => Kind::Array,
        bindings::FILTER_DYN_STRING => Kind::DataLoc,
        bindings::FILTER_RDYN_STRING => Kind::RelLoc,
        bindings::FILTER_PTR_STRING => Kind::Pointer,
        bindings::FILTER_TRACE_FN => Kind::Function,
        bindings::FILTER_CPUMASK => Kind::CpuMask,
        bindings::FILTER_COMM => Kind::Comm,
        bindings::FILTER_CPU => Kind::Cpu,
        bindings::FILTER_STACKTRACE => Kind::Stacktrace,
        _ => Kind::of_type(ty),
    }
}

/// A field of an event's entries.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    /// Its C type as it was written, `__attribute__` and names of lengths included.
    pub(crate) ty: &'a CStr,
    /// Its name.
    pub(crate) name: &'a CStr,
    /// Where it is in an entry, from the common fields on.
    pub(crate) offset: usize,
    /// Bytes.
    pub(crate) size: usize,
    /// Has it a sign?
    pub(crate) signed: bool,
    /// How many elements, if it is an array of a fixed length; else 0.
    pub(crate) len: usize,
    /// How a filter is to see it.
    pub(crate) kind: Kind,
}

/// The fields of an event in the order of an entry.
pub(crate) struct Fields<'a> {
    row: *const bindings::trace_event_fields,
    node: *const bindings::list_head,
    list: *const bindings::list_head,
    offset: usize,
    _call: &'a Call,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        // SAFETY: the array ends with a row without a type or with one that has a function; the
        // texts live as long as the event.
        unsafe {
            if !self.row.is_null()
                && !(*self.row).type_.is_null()
                && (*self.row).type_ as usize != usize::MAX
            {
                let row = &(*self.row).__bindgen_anon_1.__bindgen_anon_1;
                let ty = CStr::from_char_ptr((*self.row).type_);
                let offset = self.offset.next_multiple_of(row.align.max(1) as usize);
                self.offset = offset.wrapping_add(row.size as usize);
                self.row = self.row.add(1);
                return Some(Field {
                    ty,
                    name: CStr::from_char_ptr(row.name),
                    offset,
                    size: row.size as usize,
                    signed: row.is_signed() != 0,
                    len: row.len as usize,
                    kind: kind_of(row.filter_type, ty.to_bytes()),
                });
            }
        }
        if self.node == self.list {
            return None;
        }
        // SAFETY: all nodes but the head are `Node`s, which stay as long as the event.
        unsafe {
            let field = &(*self.node.cast::<Node>()).field;
            self.node = (*self.node).prev;
            let ty = CStr::from_char_ptr(field.ty);
            Some(Field {
                ty,
                name: CStr::from_char_ptr(field.name),
                offset: field.offset as usize,
                size: field.size as usize,
                signed: field.signed,
                len: field.len as usize,
                kind: kind_of(field.filter, ty.to_bytes()),
            })
        }
    }
}

/// An event that was given to the registry; it ends the event's life when it is dropped.
///
/// # Invariants
///
/// The call is complete, and stays until this is dropped: who removes a module's code drops it
/// first.
pub(crate) struct Registered {
    call: NonNull<Call>,
    /// Nobody prints its entries any more.
    is_retracted: bool,
}

// SAFETY: it gives out `&Call` alone.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

impl Registered {
    /// Begins the life of an event, and has its fields told. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and as the event's class says.
    ///
    /// # Safety
    ///
    /// `call` is complete, and stays until the result is dropped; it is new, and of `module` or,
    /// where that is null, of the kernel.
    pub(crate) unsafe fn new(
        call: NonNull<bindings::trace_event_call>,
        module: *mut bindings::module,
    ) -> Result<Self> {
        let call = call.cast::<Call>();
        // SAFETY: `call` is complete and new, and stays until the result is dropped.
        unsafe { call.as_ref().init(module) }?;
        // INVARIANT: `call` stays until the result is dropped, and has just begun its life.
        let event = Self {
            call,
            is_retracted: false,
        };
        event.define_fields()?;
        Ok(event)
    }

    /// Takes away the types of entries of many at the cost of one. Task context, sleeps.
    pub(crate) fn retract_all<'a>(events: impl Iterator<Item = &'a mut Self>) {
        let mut any = false;
        for event in events.filter(|event| !event.is_retracted) {
            event.is_retracted = true;
            let id = event.id();
            if id >= types::FIRST {
                types::unregister(id);
                any = true;
            }
        }
        if any {
            wait_for_readers();
        }
    }

    /// Has the strings of its entries looked at before they are printed.
    pub(crate) fn mark_strings(&mut self) {
        let flags = self.flags() | Call::TEST_STR;
        // SAFETY: nobody else changes the flags of an event that is borrowed mutably.
        unsafe { (&raw mut (*self.as_ptr()).flags).write_volatile(flags as c_int) };
    }

    /// Has `f` change the text of [`Call::print_fmt`] in place, without its NUL; it gives the
    /// length that is left. Who calls has all events of the class to itself, as they have the text
    /// in common.
    pub(crate) fn rewrite_print_fmt(&mut self, f: impl FnOnce(&mut [u8]) -> usize) {
        let text = self.print_fmt();
        let length = text.to_bytes().len();
        let start = text.as_char_ptr().cast_mut().cast::<u8>();
        if length == 0 {
            return;
        }
        // SAFETY: `TRACE_EVENT()` puts the text into an array that may be written. It is given out
        // by events that are borrowed, and those of the class are all borrowed for this.
        let left = f(unsafe { core::slice::from_raw_parts_mut(start, length) });
        // SAFETY: not beyond the NUL that is there.
        unsafe { start.wrapping_add(left.min(length)).write(0) };
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        Self::retract_all(core::iter::once(&mut *self));
        // SAFETY: nobody else has the event, but others of its class may be there as long as its
        // module is, which goes as a whole.
        unsafe { self.forget_fields() };
    }
}

impl Deref for Registered {
    type Target = Call;

    fn deref(&self) -> &Call {
        // SAFETY: by the type invariant.
        unsafe { self.call.as_ref() }
    }
}

/// An event in an instance: what the generated code gets for data. `repr(C)`, as C code takes it
/// for its first field.
#[repr(C)]
pub(crate) struct File<T> {
    raw: Opaque<bindings::trace_event_file>,
    data: T,
}

// SAFETY: the flags are an atomic word, and of the rest only `data` is given out.
unsafe impl<T: Send + Sync> Send for File<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for File<T> {}

/// Bits of [`File::flags`], `EVENT_FILE_FL_*`.
pub(crate) mod flag {
    use kernel::bindings;

    /// The event is recorded, or would be if it were not [`SOFT_DISABLED`].
    pub(crate) const ENABLED: usize = bindings::EVENT_FILE_FL_ENABLED as usize;
    /// It has a filter.
    pub(crate) const FILTERED: usize = bindings::EVENT_FILE_FL_FILTERED as usize;
    /// It is hit and not recorded.
    pub(crate) const SOFT_DISABLED: usize = bindings::EVENT_FILE_FL_SOFT_DISABLED as usize;
    /// It has triggers.
    pub(crate) const TRIGGER_MODE: usize = bindings::EVENT_FILE_FL_TRIGGER_MODE as usize;
    /// Some of them look at the entry.
    pub(crate) const TRIGGER_COND: usize = bindings::EVENT_FILE_FL_TRIGGER_COND as usize;
    /// The instance traces some tasks only.
    pub(crate) const PID_FILTER: usize = bindings::EVENT_FILE_FL_PID_FILTER as usize;
    /// Somebody sees its entries beside the buffer. C has no such bit.
    pub(crate) const OBSERVED: usize = 1 << 31;
    /// Something is recorded behind each entry. C has no such bit.
    pub(crate) const FOLLOWED: usize = 1 << 30;
    /// It was enabled once.
    pub(crate) const WAS_ENABLED: usize = bindings::EVENT_FILE_FL_WAS_ENABLED as usize;
}

impl<T> File<T> {
    /// The file at `file`.
    ///
    /// # Safety
    ///
    /// It is the address of a `File<T>` that stays for the lifetime that the caller picks.
    #[inline(always)]
    pub(crate) unsafe fn from_raw<'a>(file: *const bindings::trace_event_file) -> &'a Self {
        // SAFETY: `file` is the address of a `File<T>` that stays for `'a`; the type is
        // transparent.
        unsafe { &*file.cast() }
    }

    /// As C code knows it.
    pub(crate) fn as_ptr(&self) -> *mut bindings::trace_event_file {
        self.raw.get()
    }

    fn word(&self) -> &Atomic<usize> {
        // SAFETY: an aligned word that lives as long as `self` and is used as an atomic one; C code
        // reads it at once.
        unsafe { Atomic::from_ptr((&raw mut (*self.raw.get()).flags).cast()) }
    }

    /// Its bits, by one load. Any context.
    #[inline(always)]
    pub(crate) fn flags(&self) -> usize {
        relaxed::load(self.word())
    }

    /// Sets or clears `bits`; tells whether that changed any of them. Any context.
    pub(crate) fn set(&self, bits: usize, on: bool) -> bool {
        let word = self.word();
        let mut old = word.load(ordering::Relaxed);
        loop {
            let new = if on { old | bits } else { old & !bits };
            match word.cmpxchg(old, new, ordering::Full) {
                Ok(_) => return new != old,
                Err(now) => old = now,
            }
        }
    }

    /// The event. Any context.
    #[inline(always)]
    pub(crate) fn call(&self) -> &Call {
        // SAFETY: `FileBox` ends before the event.
        unsafe { Call::from_raw((*self.raw.get()).event_call) }
    }
}

impl<T> Deref for File<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.data
    }
}

/// Owns a [`File`]. When it is dropped, nothing records by it any more: the event is taken away
/// from its tracepoint, and who was on the way is waited for (task context, sleeps).
pub(crate) struct FileBox<T> {
    file: Arc<File<T>>,
    has_ended: bool,
}

impl<T> FileBox<T> {
    /// The event `call` in the instance that C code knows as `tr`, not enabled. It has to go before
    /// the event does. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new(call: &Registered, tr: *mut bindings::trace_array, data: T) -> Result<Self> {
        let raw: Opaque<bindings::trace_event_file> = Opaque::zeroed();
        let file = Arc::new(File { raw, data }, GFP_KERNEL)?;
        // SAFETY: the file is new.
        unsafe {
            let raw = file.raw.get();
            (*raw).event_call = call.as_ptr();
            (*raw).tr = tr;
        }
        Ok(Self {
            file,
            has_ended: false,
        })
    }

    /// Its flags, for who may be there longer than it.
    pub(crate) fn flags_handle(&self) -> FlagsHandle<T> {
        FlagsHandle(self.file.clone())
    }

    /// Has the event's class call the file from now on, or no longer. A hit may still be under way
    /// then. Task context, sleeps; who calls has all events to itself.
    ///
    /// # Errors
    ///
    /// As the class says.
    pub(crate) fn enable(&mut self, on: bool) -> Result {
        if on == (self.flags() & flag::ENABLED != 0) {
            return Ok(());
        }
        let what = match on {
            true => bindings::trace_reg_TRACE_REG_REGISTER,
            false => {
                self.set(flag::ENABLED, false);
                bindings::trace_reg_TRACE_REG_UNREGISTER
            }
        };
        // SAFETY: the file stays until `drop` has taken it away again and has waited.
        unsafe { self.call().reg(what, self.as_ptr().cast()) }?;
        if on {
            self.set(flag::ENABLED | flag::WAS_ENABLED, true);
        }
        Ok(())
    }

    /// Ends many at the cost of one. Task context, sleeps.
    pub(crate) fn end_all(mut files: impl Iterator<Item = Self>) {
        let mut ended = KVec::new();
        for mut file in files.by_ref() {
            let _ = file.enable(false);
            if let Err(_no_room) = ended.push(file, GFP_KERNEL) {
                // It was dropped.
            }
        }
        if ended.is_empty() {
            return;
        }
        wait_for_probes();
        ended.iter_mut().for_each(|file| file.has_ended = true);
    }
}

impl<T> Deref for FileBox<T> {
    type Target = File<T>;

    fn deref(&self) -> &File<T> {
        &self.file
    }
}

impl<T> Drop for FileBox<T> {
    fn drop(&mut self) {
        if !self.has_ended {
            let _ = self.enable(false);
            wait_for_probes();
        }
    }
}

/// The flags of a [`File`]. They mean nothing any more once its [`FileBox`] has gone.
pub(crate) struct FlagsHandle<T>(Arc<File<T>>);

impl<T> FlagsHandle<T> {
    /// [`File::flags`].
    pub(crate) fn get(&self) -> usize {
        self.0.flags()
    }

    /// [`File::set`].
    pub(crate) fn set(&self, bits: usize, on: bool) -> bool {
        self.0.set(bits, on)
    }
}

/// An event that cannot go, as its module is held. The kernel's own events have no module, and stay
/// anyway.
///
/// # Invariants
///
/// One reference on the event's module is the value's own.
pub(crate) struct HeldCall(NonNull<Call>);

// SAFETY: it gives out `&Call` alone, and a module's references are counted on any CPU.
unsafe impl Send for HeldCall {}
// SAFETY: it gives out `&Call` alone, which any CPU may use.
unsafe impl Sync for HeldCall {}

impl HeldCall {
    /// Holds `call`'s module; none if that is going, or if the event can go without one. Task
    /// context.
    pub(crate) fn new(call: &Call) -> Option<Self> {
        let module = call.module() as *mut bindings::module;
        // SAFETY: null, or the module of an event that is known, which stays until its events were
        // removed.
        let is_held =
            !call.has(Call::DYNAMIC) && unsafe { bindings::try_module_get(module) };
        // INVARIANT: the reference was taken just now.
        is_held.then(|| Self(NonNull::from(call)))
    }

    /// Keeps the module held until [`HeldCall::from_kept`].
    pub(crate) fn keep(self) {
        core::mem::forget(self);
    }

    /// Takes over what [`HeldCall::keep`] has left.
    ///
    /// # Safety
    ///
    /// There was one for `call` that nobody else takes over; or `call` has no module.
    pub(crate) unsafe fn from_kept(call: &Call) -> Self {
        // INVARIANT: the reference that was kept is this value's from now on.
        Self(NonNull::from(call))
    }
}

impl Deref for HeldCall {
    type Target = Call;

    fn deref(&self) -> &Call {
        // SAFETY: by the invariant the event's module stays, and with it the event.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for HeldCall {
    fn drop(&mut self) {
        let module = self.module() as *mut bindings::module;
        // SAFETY: by the invariant the reference is the value's own, and it is given back here once.
        unsafe { bindings::module_put(module) };
    }
}

/// What the generated code of a probe keeps between the reservation of an entry and its end
/// (`struct trace_event_buffer`). On its stack.
#[repr(transparent)]
pub(crate) struct Reservation(Opaque<bindings::trace_event_buffer>);

impl Reservation {
    /// One that nothing is reserved by yet.
    #[cfg(any(CONFIG_FTRACE_SYSCALLS, CONFIG_TRACE_EVENT_INJECT))]
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self(Opaque::uninit())
    }

    /// The one at `buffer`.
    ///
    /// # Safety
    ///
    /// It is the caller's own for the lifetime that is picked.
    #[inline(always)]
    pub(crate) unsafe fn from_raw<'a>(buffer: *mut bindings::trace_event_buffer) -> &'a mut Self {
        // SAFETY: `buffer` is nobody else's for `'a`; the type is transparent.
        unsafe { &mut *buffer.cast() }
    }

    /// Notes for which file something was reserved, and how it is to end.
    #[inline(always)]
    pub(crate) fn set<T>(&mut self, file: &File<T>, mark: u32) {
        let raw = self.0.get();
        // SAFETY: it is borrowed mutably; the fields may hold anything.
        unsafe {
            (*raw).trace_file = file.as_ptr();
            (*raw).trace_ctx = mark;
        }
    }

    /// Notes where the entry is.
    pub(crate) fn set_entry(&mut self, entry: *mut u8) {
        // SAFETY: it is borrowed mutably; the field may hold anything.
        unsafe { (*self.0.get()).entry = entry.cast() };
    }

    /// The file's address.
    ///
    /// # Safety
    ///
    /// [`Reservation::set`] was called: before that the word is not initialised.
    #[inline(always)]
    pub(crate) unsafe fn file(&self) -> *const bindings::trace_event_file {
        // SAFETY: `set` has written the word.
        unsafe { (*self.0.get()).trace_file }
    }

    /// The mark.
    ///
    /// # Safety
    ///
    /// [`Reservation::set`] was called: before that the word is not initialised.
    #[inline(always)]
    pub(crate) unsafe fn mark(&self) -> u32 {
        // SAFETY: `set` has written the word.
        unsafe { (*self.0.get()).trace_ctx }
    }

    /// Where the entry is.
    ///
    /// # Safety
    ///
    /// [`Reservation::set_entry`] was called: before that the word is not initialised.
    pub(crate) unsafe fn entry(&self) -> *mut u8 {
        // SAFETY: `set_entry` has written the word.
        unsafe { (*self.0.get()).entry.cast() }
    }
}

/// Waits until no probe of a tracepoint that was removed runs any more. Task context, sleeps.
pub(crate) fn wait_for_probes() {
    // SAFETY: task context, where sleeping is allowed.
    unsafe { bindings::tracepoint_synchronize_unregister() };
}

/// The events of the kernel itself, in the order of the linker's. Boot.
///
/// # Safety
///
/// Init memory, where the list is, stays while the result is used.
pub(crate) unsafe fn built_in() -> impl Iterator<Item = NonNull<bindings::trace_event_call>> {
    let start =
        (&raw const bindings::__start_ftrace_events).cast::<*mut bindings::trace_event_call>();
    let end = (&raw const bindings::__stop_ftrace_events) as usize;
    let count = end.wrapping_sub(start as usize) / size_of::<usize>();
    // SAFETY: the linker script puts them around an array of pointers, which is there as long as
    // init memory is.
    (0..count).filter_map(move |at| NonNull::new(unsafe { *start.add(at) }))
}

/// The events of a module that comes.
///
/// # Safety
///
/// The module is there while the result is used.
pub(crate) unsafe fn of_module(
    module: *const bindings::module,
) -> impl Iterator<Item = NonNull<bindings::trace_event_call>> {
    // SAFETY: the module is there while the result is used, and its loader has found the array.
    let (start, count) = unsafe { ((*module).trace_events, (*module).num_trace_events) };
    // SAFETY: as above.
    (0..count as usize).filter_map(move |at| NonNull::new(unsafe { *start.add(at) }))
}

/// What a name in the formats of a system's events stands for.
#[derive(Clone, Copy)]
pub(crate) struct Eval<'a> {
    /// As [`Call::system_key`].
    pub(crate) system: usize,
    /// The name of an enumerator, or `sizeof(…)`.
    pub(crate) name: &'a CStr,
    /// The number.
    pub(crate) value: i64,
}

/// # Safety
///
/// `map` stays for the lifetime that the caller picks.
unsafe fn eval<'a>(map: *const bindings::trace_eval_map) -> Eval<'a> {
    // SAFETY: `map` stays for `'a`, and its name is NUL-terminated.
    unsafe {
        Eval {
            system: (*map).system as usize,
            name: CStr::from_char_ptr((*map).eval_string),
            value: (*map).eval_value as i64,
        }
    }
}

/// The names of the kernel's own events. Boot.
///
/// # Safety
///
/// Init memory, where they are, stays while the result and what it gives are used.
pub(crate) unsafe fn built_in_evals<'a>() -> impl Iterator<Item = Eval<'a>> {
    let start =
        (&raw const bindings::__start_ftrace_eval_maps).cast::<*mut bindings::trace_eval_map>();
    let end = (&raw const bindings::__stop_ftrace_eval_maps) as usize;
    let count = end.wrapping_sub(start as usize) / size_of::<usize>();
    // SAFETY: the linker script puts them around an array of pointers to maps, which are there as
    // long as init memory is.
    (0..count).map(move |at| unsafe { eval(*start.add(at)) })
}

/// The names of a module's events.
///
/// # Safety
///
/// The module comes, and is there while the result is used.
pub(crate) unsafe fn evals_of_module<'a>(
    module: *const bindings::module,
) -> impl Iterator<Item = Eval<'a>> {
    // SAFETY: the module comes and is there while the result is used, and its loader has found the
    // array.
    let (start, count) = unsafe { ((*module).trace_evals, (*module).num_trace_evals) };
    // SAFETY: as above.
    (0..count as usize).map(move |at| unsafe { eval(*start.add(at)) })
}
