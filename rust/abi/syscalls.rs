// SPDX-License-Identifier: GPL-2.0

//! What the events of system calls are reached by: their classes, in `syscalls.c`, and the probes of
//! `include/trace/events/syscalls.h`.
//!
//! A `struct trace_event_call *` is an event that `SYSCALL_METADATA()` has made.

use super::trace_array::instance;
use crate::core::format::syscall::{
    number_of, write_enter, write_enter_format, write_exit, UserArgs, WORDS,
};
use crate::core::format::{LineBuf, Out};
use crate::core::parse::options::Flag;
use crate::kernel::syscall::{self, Current, Metadata, OPEN_FLAGS};
use crate::kernel::trace_iterator::TraceIterator;
use crate::trace::events::file::HotFile;
use crate::trace::events::syscalls::{self, Numbered, Syscalls};
use core::fmt;
use kernel::bindings;
use kernel::error::from_result;
use kernel::ffi::{c_int, c_void};
use kernel::prelude::*;

/// Room for the longest `print_fmt`.
const LONGEST: usize = 2048;

/// Where `struct syscall_trace_enter` has its arguments.
const ARGUMENTS: u32 = WORDS as u32;

/// Before an event is known (`raw_init`): the call's number is found, and how its entries are
/// printed.
///
/// # Errors
///
/// `ENOSYS` for a call without a number here, `ENOMEM`, `ENODEV` when there is no type left.
///
/// # Safety
///
/// As the module's head says.
#[export]
pub(crate) unsafe extern "C" fn rtrace_syscall_init(
    call: *mut bindings::trace_event_call,
) -> c_int {
    from_result(|| {
        // SAFETY: the first of these events is made known at boot, with init memory there; later ones
        // find that it was done.
        syscalls::init(|| unsafe { Metadata::all() })?;
        // SAFETY: `call` is an event that `SYSCALL_METADATA()` has made.
        let metadata = unsafe { Metadata::of(call) };
        syscalls::number_of(metadata).ok_or(ENOSYS)?;
        let format = match metadata.is_entered_by(call) {
            true => enter_format(metadata)?,
            false => c"\"0x%lx\", REC->ret".as_char_ptr().cast_mut(),
        };
        let probe = probe(metadata.is_entered_by(call));
        // SAFETY: nobody knows the event yet, and all events of its class say the same.
        unsafe {
            (*call).print_fmt = format.cast();
            // Where stacks begin.
            (*(*call).class).probe = probe as *mut c_void;
            Ok(super::events::trace_event_raw_init(call))
        }
    })
}

/// The `print_fmt` of the event of a call's entry. It stays.
fn enter_format(metadata: &Metadata) -> Result<*mut c_char> {
    let user = UserArgs::of(metadata.function());
    kept(|line| write_enter_format(line, metadata, user, &OPEN_FLAGS))
}

/// What `write` writes, as a string that stays. Task context, may sleep. `ENOMEM`.
fn kept(write: impl FnOnce(&mut LineBuf<'_>) -> fmt::Result) -> Result<*mut c_char> {
    let mut memory = KVec::from_elem(0_u8, LONGEST, GFP_KERNEL)?;
    let mut line = LineBuf::new(&mut memory);
    write(&mut line).map_err(|_| ENOMEM)?;
    let mut text = KVec::new();
    text.extend_from_slice(line.as_bytes(), GFP_KERNEL)?;
    text.push(0, GFP_KERNEL)?;
    let (start, _, _) = text.into_raw_parts();
    Ok(start.cast())
}

/// Tells the arguments of a call as fields, and those that are read from user memory. While the
/// event is made known. `ENOMEM`.
///
/// # Safety
///
/// As the module's head says.
#[export]
pub(crate) unsafe extern "C" fn rtrace_syscall_define_fields(
    call: *mut bindings::trace_event_call,
) -> c_int {
    from_result(|| {
        // SAFETY: `call` is an event that `SYSCALL_METADATA()` has made.
        let metadata = unsafe { Metadata::of(call) };
        let define = |ty, name, offset: u32, size: usize| {
            // SAFETY: `call` is being made known, so nobody looks at its fields; the texts are
            // constants, or stay.
            let result = unsafe {
                super::events::trace_define_field(
                    call,
                    ty,
                    name,
                    offset as c_int,
                    size as c_int,
                    0,
                    bindings::FILTER_OTHER as c_int,
                )
            };
            kernel::error::to_result(result)
        };
        let mut offset = ARGUMENTS;
        for at in 0..metadata.arguments() {
            let (ty, name) = (metadata.type_name(at), metadata.argument_name(at));
            define(ty, name, offset, size_of::<usize>())?;
            offset += size_of::<usize>() as u32;
        }
        for at in UserArgs::of(metadata.function()).places() {
            let name = kept(|line| {
                line.bytes(b"__")?;
                line.bytes(metadata.argument(at))?;
                line.bytes(b"_val")
            })?;
            define(c"__data_loc char[]".as_char_ptr(), name, offset, 4)?;
            offset += 4;
        }
        Ok(0)
    })
}

/// Where the fields of a call's entry are listed. Any context.
///
/// # Safety
///
/// As the module's head says; the event is that of an entry.
#[export]
pub(crate) unsafe extern "C" fn rtrace_syscall_fields(
    call: *mut bindings::trace_event_call,
) -> *mut bindings::list_head {
    // SAFETY: `call` is an event that `SYSCALL_METADATA()` has made.
    unsafe { Metadata::of(call) }.enter_fields()
}

/// What the classes do when asked to (`reg`). Task context, sleeps; the caller holds the events
/// lock.
///
/// # Errors
///
/// `ENOSYS` for a call without a number, `ENOMEM`, and as those of tracepoints.
///
/// # Safety
///
/// As the module's head says; `data` is what `what` asks for.
#[export]
pub(crate) unsafe extern "C" fn rtrace_syscall_reg(
    call: *mut bindings::trace_event_call,
    what: bindings::trace_reg,
    data: *mut c_void,
) -> c_int {
    from_result(|| {
        // SAFETY: `call` is an event that `SYSCALL_METADATA()` has made.
        let metadata = unsafe { Metadata::of(call) };
        let number = syscalls::number_of(metadata).ok_or(ENOSYS)?;
        let enter = metadata.is_entered_by(call);
        match what {
            // SAFETY: to be registered the class gets a `HotFile`, which stays until it was taken
            // out and probes were waited for.
            bindings::trace_reg_TRACE_REG_REGISTER => unsafe {
                begin(HotFile::from_raw(data.cast()), enter, number)
            },
            bindings::trace_reg_TRACE_REG_UNREGISTER => {
                // SAFETY: what is taken away is the `HotFile` that was registered, which is there still.
                end(unsafe { HotFile::from_raw(data.cast()) }, enter, number)
            }
            #[cfg(CONFIG_PERF_EVENTS)]
            bindings::trace_reg_TRACE_REG_PERF_REGISTER => perf::begin(enter, number),
            #[cfg(CONFIG_PERF_EVENTS)]
            bindings::trace_reg_TRACE_REG_PERF_UNREGISTER => {
                perf::end(enter, number);
                Ok(())
            }
            _ => Ok(()),
        }?;
        Ok(0)
    })
}

/// # Safety
///
/// The file stays until [`end`] and a wait for probes.
unsafe fn begin(file: &HotFile, enter: bool, number: usize) -> Result {
    let of = syscalls::of(file.instance())?;
    let table = if enter { &of.enter } else { &of.exit };
    // SAFETY: the file stays until it was taken out and probes were waited for; only they look files
    // up.
    if unsafe { table.put(number, file) }? {
        // SAFETY: what the instance has stays as long as the file does, and the probe is taken away
        // with the last file.
        let result = unsafe { syscall::register(enter, probe(enter), data_of(of)) };
        return result.inspect_err(|_| {
            table.take_out(number);
        });
    }
    Ok(())
}

fn end(file: &HotFile, enter: bool, number: usize) -> Result {
    let of = syscalls::of(file.instance())?;
    let table = if enter { &of.enter } else { &of.exit };
    if table.take_out(number) {
        syscall::unregister(enter, probe(enter), data_of(of));
    }
    Ok(())
}

fn probe(enter: bool) -> syscall::Probe {
    if enter {
        entered
    } else {
        returned
    }
}

fn data_of(of: &Syscalls) -> *mut c_void {
    core::ptr::from_ref(of).cast_mut().cast()
}

/// A task enters a system call. Task context, preemptible.
///
/// # Safety
///
/// `data` is a [`Syscalls`] that stays meanwhile, `regs` are the current task's.
unsafe extern "C" fn entered(data: *mut c_void, regs: *mut bindings::pt_regs, _number: c_long) {
    // SAFETY: the probe was registered with a `Syscalls`, which stays until it was waited for; `regs`
    // are the current task's.
    let (of, current) = unsafe { (&*data.cast::<Syscalls>(), Current::new(regs)) };
    if let Some(call) = Numbered::of(current) {
        // SAFETY: a probe: after a file is taken out it is waited for.
        unsafe {
            of.enter
                .with(call.number, |file| of.entered(file, call, current))
        };
    }
}

/// A task returns from one. As [`entered`].
///
/// # Safety
///
/// As [`entered`].
unsafe extern "C" fn returned(data: *mut c_void, regs: *mut bindings::pt_regs, _result: c_long) {
    // SAFETY: the probe was registered with a `Syscalls`, which stays until it was waited for; `regs`
    // are the current task's.
    let (of, current) = unsafe { (&*data.cast::<Syscalls>(), Current::new(regs)) };
    if let Some(call) = Numbered::of(current) {
        // SAFETY: a probe: after a file is taken out it is waited for.
        unsafe {
            of.exit
                .with(call.number, |file| of.returned(file, call, current))
        };
    }
}

/// Replaces the probe of `call` by one of those below, if `call` is an event of `raw_syscalls`.
///
/// # Safety
///
/// `call` is complete, and nobody knows it or its class yet.
pub(super) unsafe fn take_over(call: *const bindings::trace_event_call) {
    // SAFETY: nobody knows `call` or its class yet; the functions record what the fields of
    // `TRACE_EVENT(sys_enter)` and of `sys_exit` say.
    unsafe { syscall::set_probes_of_all(call, any_entered, any_returned) }
}

/// The probe of `raw_syscalls:sys_enter`. Task context, preemptible.
///
/// # Safety
///
/// `data` is a [`HotFile`] that stays meanwhile, `regs` are the current task's.
unsafe extern "C" fn any_entered(data: *mut c_void, regs: *mut bindings::pt_regs, number: c_long) {
    // SAFETY: the probe was registered with a `HotFile`, which stays until probes were waited for;
    // `regs` are the current task's.
    let (file, current) = unsafe { (HotFile::from_raw(data.cast()), Current::new(regs)) };
    syscalls::any_entered(file, current, number as u64);
}

/// The probe of `raw_syscalls:sys_exit`. As [`any_entered`].
///
/// # Safety
///
/// As [`any_entered`].
unsafe extern "C" fn any_returned(data: *mut c_void, regs: *mut bindings::pt_regs, result: c_long) {
    // SAFETY: the probe was registered with a `HotFile`, which stays until probes were waited for;
    // `regs` are the current task's.
    let (file, current) = unsafe { (HotFile::from_raw(data.cast()), Current::new(regs)) };
    syscalls::any_returned(file, current, result as u64);
}

/// Prints an entry of `sys_enter_*`.
///
/// # Safety
///
/// `iter` is the one that the caller was given to print with.
#[export]
pub(crate) unsafe extern "C" fn rtrace_syscall_print_enter(
    iter: *mut bindings::trace_iterator,
    _flags: c_int,
    event: *mut bindings::trace_event,
) -> bindings::print_line_t {
    // SAFETY: `iter` is what the caller was given to print with, and `event` the event's part.
    let (iter, kind) = unsafe { (TraceIterator::from_raw(iter), (*event).type_ as u16) };
    // SAFETY: null, or the instance of the entry, which is there while its entries are printed.
    let verbose = unsafe { instance(iter.trace_array()) }
        .is_some_and(|instance| instance.options().has(Flag::Verbose));
    let (seq, entry) = iter.line();
    let _full = match of_entry(entry).filter(|call| call.metadata.types().0 == kind) {
        Some(call) => write_enter(seq, call.metadata, call.user, &OPEN_FLAGS, entry, verbose),
        None => seq.bytes(b"\n"),
    };
    handled(seq.is_full())
}

/// Prints an entry of `sys_exit_*`.
///
/// # Safety
///
/// As [`rtrace_syscall_print_enter`].
#[export]
pub(crate) unsafe extern "C" fn rtrace_syscall_print_exit(
    iter: *mut bindings::trace_iterator,
    _flags: c_int,
    event: *mut bindings::trace_event,
) -> bindings::print_line_t {
    // SAFETY: `iter` is what the caller was given to print with, and `event` the event's part.
    let (iter, kind) = unsafe { (TraceIterator::from_raw(iter), (*event).type_ as u16) };
    let (seq, entry) = iter.line();
    let _full = match of_entry(entry).filter(|call| call.metadata.types().1 == kind) {
        Some(call) => write_exit(seq, call.metadata, entry),
        None => seq.bytes(b"\n"),
    };
    handled(seq.is_full())
}

#[inline]
fn of_entry(entry: &[u8]) -> Option<&'static syscalls::Call> {
    syscalls::call(usize::try_from(number_of(entry)?).ok()?)
}

fn handled(full: bool) -> bindings::print_line_t {
    if full {
        bindings::print_line_t_TRACE_TYPE_PARTIAL_LINE
    } else {
        bindings::print_line_t_TRACE_TYPE_HANDLED
    }
}

#[cfg(CONFIG_PERF_EVENTS)]
mod perf {
    //! The same for perf: one probe for each kind, while perf uses any of its events.

    use super::*;
    use crate::core::format::syscall::ARGS;
    #[cfg(CONFIG_BPF_EVENTS)]
    use crate::kernel::bpf;
    use crate::kernel::context::PreemptOff;
    use crate::kernel::perf_trace;
    use crate::trace::events::syscalls::{put_call, UserMemory, DEFAULT_USER_BYTES};
    use core::ptr::null_mut;
    use kernel::sync::atomic::{Atomic, Relaxed};

    /// The calls whose events perf uses. Changed with the events lock held.
    struct InUse {
        calls: [Atomic<bool>; syscall::CALLS],
        count: Atomic<u32>,
    }

    static ENTER: InUse = InUse::new();
    static EXIT: InUse = InUse::new();

    impl InUse {
        const fn new() -> Self {
            Self {
                calls: [const { Atomic::new(false) }; syscall::CALLS],
                count: Atomic::new(0),
            }
        }

        fn has(&self, number: usize) -> bool {
            self.calls
                .get(number)
                .is_some_and(|call| call.load(Relaxed))
        }

        fn of(enter: bool) -> &'static Self {
            if enter {
                &ENTER
            } else {
                &EXIT
            }
        }
    }

    fn probe(enter: bool) -> syscall::Probe {
        if enter {
            entered
        } else {
            returned
        }
    }

    pub(super) fn begin(enter: bool, number: usize) -> Result {
        let in_use = InUse::of(enter);
        let count = in_use.count.load(Relaxed);
        if count == 0 {
            // SAFETY: the probes ask for no data.
            unsafe { syscall::register(enter, probe(enter), null_mut()) }?;
        }
        in_use.count.store(count + 1, Relaxed);
        if let Some(call) = in_use.calls.get(number) {
            call.store(true, Relaxed);
        }
        Ok(())
    }

    pub(super) fn end(enter: bool, number: usize) {
        let in_use = InUse::of(enter);
        if let Some(call) = in_use.calls.get(number) {
            call.store(false, Relaxed);
        }
        let count = in_use.count.load(Relaxed).saturating_sub(1);
        in_use.count.store(count, Relaxed);
        if count == 0 {
            syscall::unregister(enter, probe(enter), null_mut());
        }
    }

    /// # Safety
    ///
    /// `regs` are the current task's.
    unsafe extern "C" fn entered(_: *mut c_void, regs: *mut bindings::pt_regs, _: c_long) {
        // SAFETY: `regs` are the current task's, as the tracepoint gives them.
        let current = unsafe { Current::new(regs) };
        let Some(number) = current.number().filter(|&number| ENTER.has(number)) else {
            return;
        };
        let Some(call) = syscalls::call(number) else {
            return;
        };
        let arguments: [usize; ARGS] = current.arguments();
        #[cfg(CONFIG_BPF_EVENTS)]
        if !bpf::pass_syscall(call.metadata.events().0, number, call.words(&arguments)) {
            return;
        }
        let event = call.metadata.events().0;
        let is_listened_to = {
            let _stay = PreemptOff::new();
            // SAFETY: this is the probe, with preemption off.
            unsafe { perf_trace::is_listened_to(event) }
        };
        // Pages of a task that nobody listens to must not come for this.
        if !is_listened_to {
            return;
        }
        let user = (call.user.mask != 0)
            .then(|| UserMemory::read(call.user, &arguments, DEFAULT_USER_BYTES as usize));
        let words = call.words(&arguments);
        // SAFETY: this is the probe, and these are its registers.
        unsafe { submit(event, regs, number, words, user.as_ref()) };
    }

    /// # Safety
    ///
    /// `regs` are the current task's.
    unsafe extern "C" fn returned(_: *mut c_void, regs: *mut bindings::pt_regs, _: c_long) {
        // SAFETY: `regs` are the current task's, as the tracepoint gives them.
        let current = unsafe { Current::new(regs) };
        let Some(number) = current.number().filter(|&number| EXIT.has(number)) else {
            return;
        };
        if let Some(call) = syscalls::call(number) {
            let words = [current.result() as usize];
            #[cfg(CONFIG_BPF_EVENTS)]
            if !bpf::pass_syscall(call.metadata.events().1, number, &words) {
                return;
            }
            // SAFETY: this is the probe, and these are its registers.
            unsafe { submit(call.metadata.events().1, regs, number, &words, None) };
        }
    }

    /// Gives an entry to perf, if anybody listens on this CPU: it may be another by now.
    ///
    /// # Safety
    ///
    /// In one of the probes above; `regs` are what it got.
    unsafe fn submit(
        event: &crate::kernel::trace_event::Call,
        regs: *mut bindings::pt_regs,
        number: usize,
        words: &[usize],
        user: Option<&UserMemory>,
    ) {
        let fixed = WORDS + 8 * words.len();
        let length = fixed + user.map_or(0, UserMemory::size);
        let _stay = PreemptOff::new();
        // SAFETY: the caller is a probe that is waited for before the event is no longer in use, and
        // `regs` are what it got; `_stay` has preemption off.
        unsafe {
            perf_trace::submit(
                event,
                perf_trace::Seen::All(regs),
                || length,
                |fields| {
                    let rest = put_call(fields, number, words);
                    if let Some(user) = user {
                        user.put(rest, fixed);
                    }
                },
            )
        };
    }
}
