// SPDX-License-Identifier: GPL-2.0

//! Events that are made while the kernel runs: an event and its class in one, and the files that it
//! is recorded in.
//!
//! C header: `include/linux/trace_events.h`.

#[cfg(CONFIG_BPF_EVENTS)]
use super::bpf::{self, Target};
#[cfg(all(CONFIG_PROBE_EVENTS, CONFIG_PERF_EVENTS))]
use super::cold::copied;
use super::context::PreemptOff;
use super::module::Owner;
use super::own_event::Reg;
#[cfg(CONFIG_PERF_EVENTS)]
use super::perf_trace::{self, Seen};
#[cfg(all(CONFIG_PROBE_EVENTS, CONFIG_PERF_EVENTS))]
use super::regs::Regs;
use super::text::NulText;
use super::trace_event::{Call, File, FileList, OtherFiles, Owned, RawField, Registered};
use super::trace_event_types as types;
use super::trace_seq::TraceSeq;
#[cfg(CONFIG_UPROBE_EVENTS)]
use super::uprobe::{Program, Targets};
use core::any::Any;
use core::fmt;
use core::ptr::NonNull;
use kernel::alloc::Flags;
use kernel::bindings;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, ArcBorrow};
use kernel::types::Opaque;

/// A bit of [`Ops::print`]'s flags beside C's: the instance prints verbosely.
pub(crate) const VERBOSE: c_int = 1 << 30;

/// The operations of an event.
pub(crate) trait Ops: Send + Sync {
    /// Enables or disables its probes. Task context, sleeps. The caller holds the events lock.
    fn enable(&self, on: bool) -> Result;

    /// Whether its probes are in programs. Perf may want the hits of some programs alone, so that files
    /// get none while perf does.
    fn are_of_programs(&self) -> bool {
        false
    }

    /// Perf wants the hits of more programs, or of fewer. Task context, sleeps. The caller holds the
    /// events lock.
    fn apply(&self, _more: bool) -> Result {
        Ok(())
    }

    /// Prints an entry as a line. Any context.
    fn print(&self, entry: &[u8], flags: c_int, out: &mut TraceSeq) -> fmt::Result;

    /// Calls `f` with what the event's first probe is at, if it has probes that BPF programs can be at.
    /// Task context, may sleep.
    #[cfg(CONFIG_BPF_EVENTS)]
    fn with_target(&self, _f: &mut dyn FnMut(&Target<'_>)) {}

    /// Their type, for a kind that is asked for its events.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// The functions by which C code reaches events whose files have this. They are C's, too: kCFI tells an
/// enum from an integer, and the bindings do not.
///
/// # Safety
///
/// They take each [`DynamicEvent`] whose files have this for what it is.
pub(crate) unsafe trait CFunctions: Send + Sync + 'static {
    /// The class's `reg`.
    const REG: Reg;

    /// What prints entries.
    fn funcs() -> &'static Opaque<bindings::trace_event_functions>;
}

/// A field of an event's entries.
pub(crate) struct FieldText {
    /// The field's C type.
    pub(crate) ty: NulText,
    /// Its name.
    pub(crate) name: NulText,
    /// Its offset in an entry.
    pub(crate) offset: usize,
    /// Bytes.
    pub(crate) size: usize,
    /// Whether it is signed.
    pub(crate) signed: bool,
    /// How many elements, if it is an array that `format` tells the length of; else 0.
    pub(crate) len: usize,
    /// Whether it is a stack trace.
    pub(crate) is_stack: bool,
}

/// The texts of an event.
pub(crate) struct Texts {
    /// The system that it belongs to.
    pub(crate) system: NulText,
    /// Its name.
    pub(crate) name: NulText,
    /// The text by which user space prints its entries.
    pub(crate) print_fmt: NulText,
    /// Its fields.
    pub(crate) fields: KVec<FieldText>,
}

/// An event that is made while the kernel runs.
///
/// # Invariants
///
/// Both structures are complete, and do not move.
#[repr(C)]
pub(crate) struct DynamicEvent<T> {
    head: Owned,
    class: Opaque<bindings::trace_event_class>,
    texts: Texts,
    files: FileList<T>,
    for_perf: Atomic<bool>,
    #[cfg(CONFIG_UPROBE_EVENTS)]
    targets: Option<Pin<KBox<Targets>>>,
    /// [`DynamicEvent::register`] was called.
    was_registered: Atomic<bool>,
    ops: KBox<dyn Ops>,
}

// SAFETY: the C structures change only under the events lock, and the rest may be sent.
unsafe impl<T: Send + Sync> Send for DynamicEvent<T> {}
// SAFETY: the C structures change only under the events lock, and the rest may be shared.
unsafe impl<T: Send + Sync> Sync for DynamicEvent<T> {}

/// The class's `raw_init`: registers the type of the event's entries. Task context, may sleep.
///
/// # Safety
///
/// `call` is complete, and stays while it is known.
unsafe extern "C" fn raw_init(call: *mut bindings::trace_event_call) -> c_int {
    // SAFETY: `event` is a field of `call`, which is complete and stays while it is known.
    match unsafe { types::register(NonNull::new_unchecked(&raw mut (*call).event), true) } {
        Ok(_) => 0,
        Err(_) => ENODEV.to_errno(),
    }
}

impl<T: CFunctions> DynamicEvent<T> {
    /// An event with these texts; `flags` are `TRACE_EVENT_FL_*`. Task context, may sleep. `ENOMEM`.
    pub(crate) fn new(texts: Texts, flags: u32, ops: KBox<dyn Ops>) -> Result<Arc<Self>> {
        Self::make(texts, flags, Owner::kernel(), ops, GFP_KERNEL)
    }

    /// As [`DynamicEvent::new`], in memory that is charged to the current task.
    #[cfg(CONFIG_USER_EVENTS)]
    pub(crate) fn charged(texts: Texts, flags: u32, ops: KBox<dyn Ops>) -> Result<Arc<Self>> {
        Self::make(texts, flags, Owner::kernel(), ops, GFP_KERNEL_ACCOUNT)
    }

    /// An event of `owner`: as long as somebody holds it, its module stays, and the event itself, even
    /// if it is not known any more. To BPF programs it is that of a tracepoint. Task context, may sleep.
    /// `ENOMEM`.
    pub(crate) fn owned(texts: Texts, owner: Owner, ops: KBox<dyn Ops>) -> Result<Arc<Self>> {
        let flags = Call::OWNED | Call::TRACEPOINT;
        Self::make(texts, flags, owner, ops, GFP_KERNEL)
    }

    /// Takes a reference to an event, or gives one back.
    ///
    /// # Safety
    ///
    /// `head` is that of an event of this type in an `Arc`; what is given back was taken before, and is
    /// not used any more.
    unsafe fn count(head: NonNull<Owned>, more: bool) {
        // SAFETY: `head` is the first field of an event in an `Arc`, which has the count that is given
        // back.
        unsafe {
            let event = head.as_ptr().cast::<Self>();
            match more {
                true => {
                    let _kept = Arc::into_raw(Arc::from(ArcBorrow::from_raw(event)));
                }
                false => drop(Arc::from_raw(event)),
            }
        }
    }

    fn make(
        texts: Texts,
        flags: u32,
        module: Owner,
        ops: KBox<dyn Ops>,
        memory: Flags,
    ) -> Result<Arc<Self>> {
        #[cfg(CONFIG_UPROBE_EVENTS)]
        let targets = match ops.are_of_programs() {
            true => Some(KBox::pin_init(Targets::new(), GFP_KERNEL)?),
            false => None,
        };
        // INVARIANT: completed below; what an `Arc` has does not move.
        let event = Arc::new(
            Self {
                // SAFETY: what it counts is this, which an `Arc` has.
                head: unsafe { Owned::new(module, Self::count) },
                class: Opaque::zeroed(),
                texts,
                files: FileList::new(),
                for_perf: Atomic::new(false),
                #[cfg(CONFIG_UPROBE_EVENTS)]
                targets,
                was_registered: Atomic::new(false),
                ops,
            },
            memory,
        )?;
        let (call, class) = (event.head.call(), event.class.get());
        // SAFETY: the event is new; what is pointed to lives as long as it.
        unsafe {
            (*class).system = event.texts.system.as_char_ptr();
            (*class).reg = Some(T::REG);
            (*class).raw_init = Some(raw_init);
            let head = &raw mut (*class).fields;
            (*head).next = head;
            (*head).prev = head;

            (*call).class = class;
            let name = event.texts.name.as_char_ptr();
            match flags & Call::TRACEPOINT {
                0 => (*call).__bindgen_anon_1.name = name.cast_mut(),
                _ => {
                    let tracepoint = event.head.tracepoint();
                    (*tracepoint).name = name;
                    (*call).__bindgen_anon_1.tp = tracepoint;
                }
            }
            (*call).event.funcs = T::funcs().get();
            (*call).print_fmt = event.texts.print_fmt.as_char_ptr().cast_mut();
            (*call).flags = (Call::DYNAMIC | flags) as c_int;
        }
        for field in &event.texts.fields {
            let raw = RawField {
                ty: field.ty.as_char_ptr(),
                name: field.name.as_char_ptr(),
                offset: u32::try_from(field.offset)?,
                size: u32::try_from(field.size)?,
                signed: field.signed,
                filter: match field.is_stack {
                    true => bindings::FILTER_STACKTRACE as i32,
                    false => bindings::FILTER_OTHER as i32,
                },
                len: u32::try_from(field.len)?,
            };
            // SAFETY: the event is new, so nobody looks; the texts live as long as it.
            unsafe { event.call().define_field(raw, memory) }?;
        }
        Ok(event)
    }

    /// The event of the kernel's C interface.
    pub(crate) fn call(&self) -> &Call {
        // SAFETY: by the invariant the structure is complete, and it stays as long as `self`.
        unsafe { Call::from_raw(self.head.call()) }
    }

    /// The event that C code knows as `call`.
    ///
    /// # Safety
    ///
    /// It is one of these, whose files have `T`, and stays for the lifetime that the caller picks.
    pub(crate) unsafe fn from_raw<'a>(call: *mut bindings::trace_event_call) -> &'a Self {
        // SAFETY: `call` is the first field of a `DynamicEvent<T>`, which stays for `'a`.
        unsafe { &*call.cast() }
    }

    /// Registers the event; see [`Registered::new`]. The result owns a reference to the event.
    ///
    /// # Errors
    ///
    /// As [`Registered::new`]; `EEXIST` for an event for which this was called before, whatever it
    /// returned: its structure is not new any more.
    pub(crate) fn register(event: &Arc<Self>) -> Result<Registered> {
        let call = NonNull::from(event.call()).cast();
        if event.was_registered.xchg(true, Relaxed) {
            return Err(EEXIST);
        }
        // SAFETY: the event is complete, and new, as nobody else has come here; the result keeps it.
        let mut registered = unsafe { Registered::dynamic(call) }?;
        registered.keep(event.clone());
        Ok(registered)
    }

    /// Its operations. Any context.
    pub(crate) fn ops(&self) -> &dyn Ops {
        &*self.ops
    }

    /// Whether a file or perf gets its hits. The caller holds the events lock.
    pub(crate) fn is_in_use(&self) -> bool {
        self.is_for_perf() || !self.files.is_empty()
    }

    /// Whether files get its hits. Any context.
    #[cfg(CONFIG_USER_EVENTS)]
    #[inline(always)]
    pub(crate) fn is_for_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Whether perf gets its hits. Any context.
    #[inline(always)]
    pub(crate) fn is_for_perf(&self) -> bool {
        self.for_perf.load(Relaxed)
    }

    /// The files that get the hits. Any context.
    #[cfg(any(CONFIG_EPROBE_EVENTS, CONFIG_SYNTH_EVENTS, CONFIG_USER_EVENTS))]
    #[inline(always)]
    pub(crate) fn hit_files<'a>(
        &'a self,
        stay: &'a PreemptOff,
    ) -> impl Iterator<Item = &'a File<T>> {
        self.files.iter(stay)
    }

    /// The files that get the hits, if there are any: the first, and the others. Any context.
    #[inline(always)]
    pub(crate) fn hit_file<'a>(
        &'a self,
        stay: &'a PreemptOff,
    ) -> Option<(&'a File<T>, OtherFiles<'a, T>)> {
        self.files.get(stay)
    }

    /// Gives hits to `file`, too. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// As [`Ops::enable`]; `EINTR` while perf has the hits of programs.
    ///
    /// # Safety
    ///
    /// The caller holds the events lock. `file` stays until [`DynamicEvent::remove_file`], and until
    /// readers were waited for after that.
    pub(crate) unsafe fn add_file(&self, file: &File<T>) -> Result {
        if self.ops.are_of_programs() && self.is_for_perf() {
            return Err(EINTR);
        }
        let was = self.is_in_use();
        // SAFETY: changes are made under the events lock; `file` stays, and it gets no hits yet, as a
        // file is enabled once.
        unsafe { self.files.push(file) };
        if was {
            return Ok(());
        }
        self.ops.enable(true).inspect_err(|_| {
            // SAFETY: changes are made under the events lock.
            unsafe { self.files.remove(file) }
        })
    }

    /// Undoes [`DynamicEvent::add_file`]. A hit that runs meanwhile may still be given to `file`. It
    /// needs no memory. Task context, sleeps.
    ///
    /// # Safety
    ///
    /// The caller holds the events lock.
    pub(crate) unsafe fn remove_file(&self, file: &File<T>) {
        if self.files.is_only(file) && !self.is_for_perf() {
            // It gets no hits any more, even if the probes cannot be disabled.
            let _ = self.ops.enable(false);
        }
        // SAFETY: changes are made under the events lock.
        unsafe { self.files.remove(file) };
    }

    /// Gives hits to perf, or no longer. The caller holds the events lock. Task context, sleeps.
    /// Errors as [`Ops::enable`], only if `on`; `EINTR` while files have the hits of programs.
    pub(crate) fn set_for_perf(&self, on: bool) -> Result {
        if on && self.ops.are_of_programs() && !self.files.is_empty() {
            return Err(EINTR);
        }
        let changes = self.files.is_empty() && self.is_for_perf() != on;
        self.for_perf.store(on, Relaxed);
        if changes && on {
            self.ops
                .enable(true)
                .inspect_err(|_| self.for_perf.store(false, Relaxed))?;
        }
        if changes && !on {
            // Perf gets no hits any more, even if the probes cannot be disabled.
            let _ = self.ops.enable(false);
        }
        Ok(())
    }

    /// One of perf's events begins to get hits, perhaps of one task alone. The caller holds the events
    /// lock. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and as [`Ops::apply`].
    ///
    /// # Safety
    ///
    /// `event` stays until [`DynamicEvent::perf_ends`].
    #[cfg(CONFIG_UPROBE_EVENTS)]
    pub(crate) unsafe fn perf_begins(&self, event: NonNull<bindings::perf_event>) -> Result {
        let Some(targets) = &self.targets else {
            return Ok(());
        };
        // SAFETY: `event` stays until `perf_ends`.
        if unsafe { targets.add(event) }? {
            return self.ops.apply(true).inspect_err(|_| self.perf_ends(event));
        }
        Ok(())
    }

    /// Undoes [`DynamicEvent::perf_begins`]. Task context, sleeps.
    #[cfg(CONFIG_UPROBE_EVENTS)]
    pub(crate) fn perf_ends(&self, event: NonNull<bindings::perf_event>) {
        let Some(targets) = &self.targets else {
            return;
        };
        if targets.remove(event) {
            // Breakpoints that stay are removed when they are hit.
            let _ = self.ops.apply(false);
        }
    }

    /// Whether somebody wants hits of a program. Task context, may sleep.
    #[cfg(CONFIG_UPROBE_EVENTS)]
    pub(crate) fn wants(&self, program: &Program) -> bool {
        match &self.targets {
            Some(targets) if self.is_for_perf() => targets.has(program),
            _ => true,
        }
    }

    /// Whether perf is to get a hit of a kprobe: it wants hits, and the BPF programs at the event, which
    /// this runs, do not drop it. They may change the registers. Any context.
    #[cfg(all(CONFIG_KPROBE_EVENTS, CONFIG_PERF_EVENTS))]
    #[inline(always)]
    #[cfg_attr(not(CONFIG_BPF_EVENTS), expect(unused_variables))]
    pub(crate) fn perf_takes_kprobe(&self, regs: &Regs, stay: &PreemptOff) -> bool {
        #[cfg(CONFIG_BPF_EVENTS)]
        return self.is_for_perf() && bpf::pass_kprobe(self.call(), regs, stay);
        #[cfg(not(CONFIG_BPF_EVENTS))]
        self.is_for_perf()
    }

    /// Whether a hit of a uprobe is dropped by the BPF programs at the event, which this runs; `function` as
    /// in [`bpf::pass_uprobe`]. They may change the registers, and sleep. Task context, in a uprobe's
    /// handler.
    #[cfg(all(CONFIG_UPROBE_EVENTS, CONFIG_BPF_EVENTS))]
    pub(crate) fn programs_drop_uprobe(&self, regs: &Regs, function: usize) -> bool {
        self.is_for_perf() && !bpf::pass_uprobe(self.call(), regs, function)
    }

    /// Gives a hit to perf, if it wants hits here: an entry of `length()` bytes, of which `fill` writes
    /// those after the common fields. Neither is called otherwise. Any context.
    #[cfg(all(CONFIG_PROBE_EVENTS, CONFIG_PERF_EVENTS))]
    #[inline(always)]
    pub(crate) fn submit(
        &self,
        regs: &Regs,
        stay: &PreemptOff,
        length: impl FnOnce() -> usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        self.submit_with(Seen::All(regs.as_ptr()), stay, length, fill);
    }

    /// [`DynamicEvent::submit`] of a function's entry or return, with the registers that were saved
    /// there.
    #[cfg(all(CONFIG_FPROBE_EVENTS, CONFIG_PERF_EVENTS))]
    #[inline(always)]
    pub(crate) fn submit_partial(
        &self,
        regs: &Regs,
        stay: &PreemptOff,
        length: impl FnOnce() -> usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        self.submit_with(Seen::OfFunction(regs.as_ptr().cast()), stay, length, fill);
    }

    #[cfg(all(CONFIG_PROBE_EVENTS, CONFIG_PERF_EVENTS))]
    #[inline(always)]
    fn submit_with(
        &self,
        regs: Seen,
        _stay: &PreemptOff,
        length: impl FnOnce() -> usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        if self.is_for_perf() {
            self.submit_rest(regs, copied(length), copied(fill));
        }
    }

    /// The rest of [`DynamicEvent::submit_with`] while perf wants hits. Not inline: hits that perf
    /// does not want must not pay for what this saves.
    #[cfg(all(CONFIG_PROBE_EVENTS, CONFIG_PERF_EVENTS))]
    #[cold]
    #[inline(never)]
    fn submit_rest(
        &self,
        regs: Seen,
        length: impl FnOnce() -> usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        // SAFETY: perf has called `set_for_perf(true)` before, and calls `set_for_perf(false)` and
        // waits for code with preemption off before the event is no longer in use; preemption is
        // off since before the flag was read. `regs` are those of the hit.
        unsafe { perf_trace::submit(self.call(), regs, length, fill) };
    }

    /// [`DynamicEvent::submit`] with the registers of the caller. BPF programs at the event run first.
    #[cfg(CONFIG_PERF_EVENTS)]
    #[inline(always)]
    pub(crate) fn submit_here(
        &self,
        _stay: &PreemptOff,
        length: impl FnOnce() -> usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        if !self.is_for_perf() {
            return;
        }
        // SAFETY: as in `submit_with`, but for the registers.
        unsafe { perf_trace::submit(self.call(), Seen::OfCaller, length, fill) };
    }

    /// Whether [`DynamicEvent::submit_here`] would have an entry made. Any context.
    #[cfg(all(CONFIG_USER_EVENTS, CONFIG_PERF_EVENTS))]
    pub(crate) fn takes_here(&self, _stay: &PreemptOff) -> bool {
        // SAFETY: as in `submit_with`.
        self.is_for_perf() && unsafe { perf_trace::takes(self.call()) }
    }

    /// Prints an entry as a line. Any context.
    pub(crate) fn print(&self, entry: &[u8], flags: c_int, out: &mut TraceSeq) -> fmt::Result {
        self.ops.print(entry, flags, out)
    }
}

impl<T> Drop for DynamicEvent<T> {
    fn drop(&mut self) {
        // SAFETY: nobody else has the event, whose fields are in boxes or were forgotten before;
        // without a class it was not completed.
        unsafe {
            if !(*self.head.call()).class.is_null() {
                Call::from_raw(self.head.call()).forget_fields();
            }
        }
    }
}
