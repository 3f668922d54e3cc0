// SPDX-License-Identifier: GPL-2.0

//! System calls: what the kernel's metadata says of them, and the one that the current task makes.
//!
//! C headers: `include/trace/syscall.h`, `include/linux/syscalls.h`, `include/asm-generic/syscall.h`.

#[cfg(CONFIG_PERF_EVENTS)]
use super::trace_event::Call;
use core::ffi::c_void;
use core::marker::PhantomData;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::types::Opaque;

/// Arguments of a call.
pub(crate) const ARGS: usize = 6;

/// How many system calls there are: their numbers are below.
pub(crate) const CALLS: usize = bindings::RTRACE_SYSCALLS;

/// `CONFIG_TRACE_SYSCALL_BUF_SIZE_DEFAULT`: bytes of user memory that an argument may have in an
/// entry, unless it is said otherwise.
pub(crate) const DEFAULT_USER_BYTES: u32 = bindings::RTRACE_SYSCALL_USER_BYTES;

/// The architecture's `O_*`.
pub(crate) const OPEN_FLAGS: [(u64, &str); 16] = [
    (bindings::RTRACE_O_TMPFILE, "O_TMPFILE"),
    (bindings::O_WRONLY as u64, "O_WRONLY"),
    (bindings::O_RDWR as u64, "O_RDWR"),
    (bindings::O_CREAT as u64, "O_CREAT"),
    (bindings::O_EXCL as u64, "O_EXCL"),
    (bindings::O_NOCTTY as u64, "O_NOCTTY"),
    (bindings::O_TRUNC as u64, "O_TRUNC"),
    (bindings::O_APPEND as u64, "O_APPEND"),
    (bindings::O_NONBLOCK as u64, "O_NONBLOCK"),
    (bindings::O_DSYNC as u64, "O_DSYNC"),
    (bindings::O_DIRECT as u64, "O_DIRECT"),
    (bindings::O_LARGEFILE as u64, "O_LARGEFILE"),
    (bindings::O_DIRECTORY as u64, "O_DIRECTORY"),
    (bindings::O_NOFOLLOW as u64, "O_NOFOLLOW"),
    (bindings::O_NOATIME as u64, "O_NOATIME"),
    (bindings::O_CLOEXEC as u64, "O_CLOEXEC"),
];

/// What `SYSCALL_DEFINEx()` says of a call (`struct syscall_metadata`).
#[repr(transparent)]
pub(crate) struct Metadata(Opaque<bindings::syscall_metadata>);

// SAFETY: what is read here is constant, but for the number, which is read and written as a whole.
unsafe impl Sync for Metadata {}

impl Metadata {
    /// All there are. Boot.
    ///
    /// # Safety
    ///
    /// Init memory, where the list is, stays while the result is used. (What it gives stays.)
    pub(crate) unsafe fn all() -> impl Iterator<Item = &'static Self> {
        let start = (&raw const bindings::__start_syscalls_metadata).cast::<*const Self>();
        let end = (&raw const bindings::__stop_syscalls_metadata) as usize;
        let count = end.wrapping_sub(start as usize) / size_of::<usize>();
        // SAFETY: the linker script puts them around an array of pointers to statics, which is there
        // as long as init memory is.
        (0..count).filter_map(move |at| unsafe { (*start.add(at)).as_ref() })
    }

    /// The metadata that an event of the class `syscalls` has for its data.
    ///
    /// # Safety
    ///
    /// `call` is one of those events.
    pub(crate) unsafe fn of(call: *const bindings::trace_event_call) -> &'static Self {
        // SAFETY: `call` is one of those events, whose data `SYSCALL_METADATA()` sets to a static.
        unsafe { &*(*call).data.cast() }
    }

    /// Is `call` the event of the call's entry, rather than that of its return?
    pub(crate) fn is_entered_by(&self, call: *const bindings::trace_event_call) -> bool {
        core::ptr::eq(self.raw().enter_event, call)
    }

    fn raw(&self) -> &bindings::syscall_metadata {
        // SAFETY: a static; of it only the list of fields changes, which is not looked at here.
        unsafe { &*self.0.get() }
    }

    /// The number of the call; below 0 before it was [set](Metadata::set_number), or without one.
    pub(crate) fn number(&self) -> c_int {
        // SAFETY: an aligned word of a static, which others read meanwhile at most.
        unsafe { (&raw const (*self.0.get()).syscall_nr).read_volatile() }
    }

    /// Sets the number. Boot, one CPU.
    pub(crate) fn set_number(&self, number: c_int) {
        // SAFETY: an aligned word of a static, which is read by `number` alone and as a whole.
        unsafe { (&raw mut (*self.0.get()).syscall_nr).write_volatile(number) };
    }

    /// Where the fields of the event of its entry are listed.
    pub(crate) fn enter_fields(&self) -> *mut bindings::list_head {
        // SAFETY: a static.
        unsafe { &raw mut (*self.0.get()).enter_fields }
    }

    /// Both events, that of its entry first.
    #[cfg(CONFIG_PERF_EVENTS)]
    pub(crate) fn events(&self) -> (&'static Call, &'static Call) {
        let raw = self.raw();
        // SAFETY: statics that `SYSCALL_METADATA()` has made.
        unsafe {
            (
                Call::from_raw(raw.enter_event),
                Call::from_raw(raw.exit_event),
            )
        }
    }

    /// The types of entries of both events, that of its entry first.
    pub(crate) fn types(&self) -> (u16, u16) {
        let raw = self.raw();
        // SAFETY: both events are statics; types fit, and are read at once.
        unsafe {
            (
                (&raw const (*raw.enter_event).event.type_).read_volatile() as u16,
                (&raw const (*raw.exit_event).event.type_).read_volatile() as u16,
            )
        }
    }

    /// The name of argument `at`, as C wants it; null if there is none.
    pub(crate) fn argument_name(&self, at: usize) -> *const c_char {
        self.text(self.raw().args, at)
    }

    /// The type of argument `at`, as C wants it; null if there is none.
    pub(crate) fn type_name(&self, at: usize) -> *const c_char {
        self.text(self.raw().types, at)
    }

    /// The function's name, with `sys_`.
    pub(crate) fn function(&self) -> &'static [u8] {
        bytes(self.raw().name)
    }

    /// How many arguments it has.
    pub(crate) fn arguments(&self) -> usize {
        usize::from(self.raw().nb_args()).min(ARGS)
    }

    /// The name of argument `at`; empty if there is none.
    #[inline]
    pub(crate) fn argument(&self, at: usize) -> &'static [u8] {
        bytes(self.argument_name(at))
    }

    /// The type of argument `at`; empty if there is none.
    pub(crate) fn argument_type(&self, at: usize) -> &'static [u8] {
        bytes(self.type_name(at))
    }

    fn text(&self, texts: *mut *const c_char, at: usize) -> *const c_char {
        if at >= self.arguments() || texts.is_null() {
            return core::ptr::null();
        }
        // SAFETY: the array has as many texts as the call has arguments.
        unsafe { *texts.add(at) }
    }
}

/// The bytes of a text of the metadata's.
fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: the texts are constants of C's, NUL-terminated.
    unsafe { CStr::from_char_ptr(text) }.to_bytes()
}

/// Where the function of call `number` is; 0 if there is no such number.
pub(crate) fn address(number: usize) -> usize {
    if number >= CALLS {
        return 0;
    }
    // SAFETY: the table has that many entries.
    unsafe { bindings::rtrace_syscall_address(number as i32) as usize }
}

/// The system call that the current task makes. In a probe of its entry or return.
///
/// # Invariants
///
/// The registers are the current task's, as a probe of a system call gets them, for `'a`. (By the
/// pointer the value stays in the task.)
#[derive(Clone, Copy)]
pub(crate) struct Current<'a>(*mut bindings::pt_regs, PhantomData<&'a bindings::pt_regs>);

impl Current<'_> {
    /// # Safety
    ///
    /// `regs` are the current task's, as a probe of a system call gets them, for the lifetime that the
    /// caller picks.
    pub(crate) unsafe fn new(regs: *mut bindings::pt_regs) -> Self {
        // INVARIANT: `regs` are what a probe got, for that lifetime.
        Self(regs, PhantomData)
    }

    /// Its number, if it is one of the kernel's own kind of calls and not of another one (such as
    /// those of 32 bits).
    #[inline(always)]
    pub(crate) fn number(self) -> Option<usize> {
        // SAFETY: by the type invariant the registers of the current task, which is in the call.
        let number = unsafe { bindings::rtrace_syscall_number(self.0) };
        usize::try_from(number)
            .ok()
            .filter(|&number| number < CALLS)
    }

    /// The number of the call, of whatever kind it is.
    #[inline(always)]
    pub(crate) fn number_as_is(self) -> isize {
        // SAFETY: by the type invariant the registers of the current task, which is in a call.
        unsafe { bindings::rtrace_syscall_number_as_is(self.0) as isize }
    }

    /// Its arguments.
    #[inline(always)]
    pub(crate) fn arguments(self) -> [usize; ARGS] {
        let mut words = [0; ARGS];
        // SAFETY: by the type invariant the registers of the current task, which is in the call; six
        // words are written.
        unsafe { bindings::rtrace_syscall_arguments(self.0, words.as_mut_ptr()) };
        words
    }

    /// Writes the arguments to `place`, if that has room for all.
    #[inline(always)]
    pub(crate) fn put_arguments(self, place: &mut [u8]) {
        if place.len() >= size_of::<[usize; ARGS]>() {
            // SAFETY: by the type invariant the registers of the current task, which is in a call;
            // there is room for six words. As in an entry of `TRACE_EVENT()` they may be unaligned.
            unsafe { bindings::rtrace_syscall_arguments(self.0, place.as_mut_ptr().cast()) };
        }
    }

    /// Its result.
    #[inline(always)]
    pub(crate) fn result(self) -> isize {
        // SAFETY: by the type invariant the registers of the current task, which returns from the call.
        unsafe { bindings::rtrace_syscall_result(self.0) }
    }
}

/// Copies a string of the current task's memory at `from`; gives its length, which is that of
/// `into` if it goes on. None if the memory cannot be read. Task context, may sleep.
pub(crate) fn copy_string(from: usize, into: &mut [u8]) -> Option<usize> {
    let room = into.len() as isize;
    // SAFETY: `into` may be written; user memory may be anywhere, and may be missing.
    let length = unsafe {
        bindings::strncpy_from_user(into.as_mut_ptr().cast(), from as *const c_char, room)
    };
    usize::try_from(length).ok()
}

/// Fills `into` from the current task's memory at `from`; false if it cannot be read. Task context,
/// may sleep.
pub(crate) fn copy_bytes(from: usize, into: &mut [u8]) -> bool {
    // SAFETY: `into` may be written, as many bytes as are said; user memory may be anywhere, and may
    // be missing.
    let left = unsafe {
        bindings::copy_from_user(
            into.as_mut_ptr().cast(),
            from as *const c_void,
            into.len() as c_ulong,
        )
    };
    left == 0
}

/// A function on the way into every system call, or out of it: it gets what it was registered with,
/// the task's registers, and the number or the result.
pub(crate) type Probe = unsafe extern "C" fn(*mut c_void, *mut bindings::pt_regs, c_long);

/// Has `probe` called with `data` on the way into every system call, or out of it (`enter` false).
/// Task context, sleeps. Errors as those of tracepoints.
///
/// # Safety
///
/// `data` is what the probe asks for, until [`unregister`] and a wait for probes.
pub(crate) unsafe fn register(enter: bool, probe: Probe, data: *mut c_void) -> Result {
    // SAFETY: the tracepoints have this type of probe; `data` is what it asks for, until it was taken
    // away and waited for.
    to_result(unsafe { bindings::tracepoint_probe_register(point(enter), probe as _, data) })
}

/// Undoes [`register`]. The probe may still be running. Task context, sleeps.
pub(crate) fn unregister(enter: bool, probe: Probe, data: *mut c_void) {
    // SAFETY: who was never registered is not found.
    unsafe { bindings::tracepoint_probe_unregister(point(enter), probe as _, data) };
}

/// Whether `call` is `raw_syscalls:sys_enter`, or (false) `raw_syscalls:sys_exit`. `None` for any
/// other event.
///
/// # Safety
///
/// `call` is complete.
unsafe fn is_of_all(call: *const bindings::trace_event_call) -> Option<bool> {
    const KINDS: c_int =
        (bindings::TRACE_EVENT_FL_TRACEPOINT | bindings::TRACE_EVENT_FL_CUSTOM) as c_int;
    // SAFETY: `call` is complete; its flags say which field of the union it is.
    let point_of_it = unsafe {
        if (*call).flags & KINDS != bindings::TRACE_EVENT_FL_TRACEPOINT as c_int {
            return None;
        }
        (*call).__bindgen_anon_1.tp
    };
    [true, false]
        .into_iter()
        .find(|&enter| core::ptr::eq(point(enter), point_of_it))
}

/// Replaces the generated probe of `call` by one of these, if `call` is `raw_syscalls:sys_enter` or
/// `raw_syscalls:sys_exit`. The probes get the `struct trace_event_file` as data.
///
/// # Safety
///
/// `call` is complete, and nobody knows it or its class yet; the functions record what its fields
/// say.
pub(crate) unsafe fn set_probes_of_all(
    call: *const bindings::trace_event_call,
    entered: Probe,
    returned: Probe,
) {
    // SAFETY: nobody knows `call` or its class yet, which is not constant.
    unsafe {
        if let Some(enter) = is_of_all(call) {
            let probe = if enter { entered } else { returned };
            (*(*call).class).probe = probe as *mut c_void;
        }
    }
}

fn point(enter: bool) -> *mut bindings::tracepoint {
    match enter {
        true => &raw mut bindings::__tracepoint_sys_enter,
        false => &raw mut bindings::__tracepoint_sys_exit,
    }
}
