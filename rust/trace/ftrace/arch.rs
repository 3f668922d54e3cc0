// SPDX-License-Identifier: GPL-2.0

//! What patch sites ask of an architecture.
//!
//! The architecture's folder implements [`Arch`] for [`Machine`]. Sites, ops and hashes speak of
//! addresses and [`Target`]s only, never of instructions.

use crate::kernel::ftrace::ftrace_regs;
use crate::kernel::sort::sort_by;
use core::marker::PhantomData;
use core::ops::RangeInclusive;
use kernel::prelude::*;

/// The architecture of this build.
pub(crate) struct Machine;

/// What a patch site does: nothing, call something, or (direct callers only) jump to something.
///
/// The value is the address, 0 for nothing; bit 0 marks a jump, as `ftrace_is_jmp()` of
/// `linux/ftrace.h` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target(pub(crate) usize);

impl Target {
    /// The site is a NOP.
    pub(crate) const OFF: Target = Target(0);

    /// Does the site do nothing?
    pub(crate) fn is_off(self) -> bool {
        self.0 == 0
    }

    /// Whether it is jumped to rather than called.
    pub(crate) fn is_jump(self) -> bool {
        self.0 & 1 != 0
    }

    /// The address without the mark.
    pub(crate) fn addr(self) -> usize {
        self.0 & !1
    }
}

/// What is found in the text at a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A NOP: off.
    Nop,
    /// The call that the compiler made, which boot or module load turns into a NOP.
    Compiled,
    /// Something else: no site, or one that somebody changed.
    Other([u8; 5]),
    /// The address cannot be read.
    Fault,
}

/// The addresses that the build lists as sites, in text that nothing executes: at boot before there
/// are other CPUs, or in a module that is being loaded.
pub(crate) struct IdleSites<'a>(&'a mut [usize]);

impl<'a> IdleSites<'a> {
    /// # Safety
    ///
    /// For `'a` no CPU executes the instructions at `list`, which may be changed if they are what
    /// the compiler left at a site.
    pub(crate) unsafe fn new(list: &'a mut [usize]) -> Self {
        Self(list)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Puts them into ascending order.
    pub(crate) fn sort(&mut self) {
        if !self.0.is_sorted() {
            sort_by(self.0, usize::cmp);
        }
    }

    /// One of them.
    pub(crate) fn get(&self, i: usize) -> Option<IdleSite<'a>> {
        Some(IdleSite(*self.0.get(i)?, PhantomData))
    }

    /// Puts one of them in the place of number `i`.
    pub(crate) fn put(&mut self, i: usize, site: &IdleSite<'a>) {
        if let Some(place) = self.0.get_mut(i) {
            *place = site.0;
        }
    }

    /// The first `count`.
    pub(crate) fn first(&self, count: usize) -> Option<&[usize]> {
        self.0.get(..count)
    }
}

/// One of [`IdleSites`].
pub(crate) struct IdleSite<'a>(usize, PhantomData<&'a ()>);

impl IdleSite<'_> {
    /// Its address.
    pub(crate) fn addr(&self) -> usize {
        self.0
    }
}

/// Code made for one ops: calls its function with the arguments of `ftrace_func_t`.
#[derive(Clone, Copy)]
pub(crate) struct Trampoline {
    /// Where it starts; what a site calls, if not its [`Arch::plain_entry`],
    /// [`Arch::gated_entry`] or [`Arch::hook_entry`].
    pub(crate) addr: usize,
    /// Its bytes.
    pub(crate) size: usize,
}

/// What a trampoline calls.
#[derive(Clone, Copy)]
pub(crate) struct Callees {
    /// The function with the arguments of `ftrace_func_t`.
    pub(crate) func: usize,
    /// A function that does the same of less, a [`Hooking`]: for sites that enter the trampoline by
    /// [`Arch::hook_entry`].
    pub(crate) hooking: Option<usize>,
}

/// A function that hooks returns: of the site, and of where the traced function's return address is
/// on the stack.
pub(crate) type Hooking = unsafe extern "C" fn(usize, *mut usize);

/// The architecture. All of it is for task context; patching and trampolines may sleep.
pub(crate) trait Arch {
    /// Holds the right to change text; what was queued through it is in effect when it is dropped.
    type Patcher: Patcher;

    /// Bytes of a site.
    const SITE_SIZE: usize;

    /// The upper half that the addresses of all kernel and module text share.
    const TEXT_UPPER_HALF: usize;

    /// What is at a site before it was ever patched; the compiler's call is a NOP afterwards.
    fn prepare(site: &IdleSite<'_>) -> Found;

    /// Starts a batch of patches. Takes `text_mutex`.
    fn patcher() -> Self::Patcher;

    /// The trampoline that serves every ops by walking their list; `regs` for one that saves all
    /// registers.
    fn list_caller(regs: bool) -> usize;

    /// Makes a trampoline that calls a function with `ops` as its third argument. `ENOMEM`; `ERANGE`
    /// out of reach.
    fn make_trampoline(ops: usize, to: Callees, regs: bool) -> Result<Trampoline>;

    /// Writes the trampoline at `addr` anew, after the kernel's text was adapted to the CPU. Errors
    /// as of [`Arch::make_trampoline`].
    ///
    /// # Safety
    ///
    /// `addr` is a trampoline made by [`Arch::make_trampoline`] with the same arguments, and no task
    /// or CPU is in it.
    unsafe fn renew_trampoline(addr: usize, ops: usize, to: Callees, regs: bool) -> Result;

    /// Makes [`Arch::list_caller`]s what they have to be after the kernel's text was adapted to the
    /// CPU, even while they run. `ERANGE`.
    fn renew_list_callers() -> Result;

    /// Where a site enters the trampoline at `addr`, one that does not save all registers, if the
    /// callback looks at none.
    fn plain_entry(addr: usize) -> usize;

    /// Where a site enters it if the callback is to be called only while the
    /// [gate](crate::kernel::ftrace::gate_of) of its ops is open.
    fn gated_entry(addr: usize) -> usize;

    /// Where a site enters it if its ops may have a function that hooks returns ([`Callees`]).
    fn hook_entry(addr: usize) -> usize;

    /// Where a site enters it if all that its ops wants is entries of the function tracer, in the rings
    /// whose place [is kept](crate::kernel::ftrace::rings_of) in the ops. None if there is no such entry.
    fn record_entry(addr: usize) -> Option<usize>;

    /// The place of rings in which nothing is recorded, for an ops that is not to record.
    fn no_rings() -> usize;

    /// What the trampoline at `addr` calls; `None` when its call cannot be read.
    fn trampoline_calls(addr: usize, regs: bool) -> Option<usize>;

    /// Makes the trampoline at `addr` call this from now on, even while it runs; who is in it may
    /// still call what was there before. `ENOMEM`, `ERANGE`.
    ///
    /// # Safety
    ///
    /// `addr` is a trampoline made by [`Arch::make_trampoline`] with the same `regs` and not freed.
    unsafe fn retarget_trampoline(addr: usize, to: Callees, regs: bool) -> Result;

    /// The first and the last of the tracing core's own functions in the kernel's text, but for those
    /// that seldom run. The order of objects in the build says so.
    fn own_text() -> RangeInclusive<usize>;

    /// Where hooked functions return to.
    fn return_hook() -> usize;

    /// Has the trampoline saved all registers?
    ///
    /// # Safety
    ///
    /// `regs` is what a trampoline saved.
    unsafe fn has_all_registers(regs: *mut ftrace_regs) -> bool;

    /// At a function's entry, the word on the stack that it returns by.
    ///
    /// # Safety
    ///
    /// `regs` is what a trampoline saved.
    unsafe fn return_address(regs: *mut ftrace_regs) -> *mut usize;

    /// In the return hook: where the word was on the stack that the function returned by.
    ///
    /// # Safety
    ///
    /// `regs` is what the hook saved.
    unsafe fn hooked_address(regs: *mut ftrace_regs) -> usize;

    /// In the return hook: completes what it saved by the stack pointer, and `ret` as the
    /// instruction pointer.
    ///
    /// # Safety
    ///
    /// `regs` is what the hook saved.
    unsafe fn set_return(regs: *mut ftrace_regs, ret: usize);

    /// Gives a trampoline's memory back.
    ///
    /// # Safety
    ///
    /// `addr` came from [`Arch::make_trampoline`], no site calls it, and no task is or will be in
    /// it.
    unsafe fn free_trampoline(addr: usize);
}

/// A batch of patches, see [`Arch::Patcher`].
pub(crate) trait Patcher {
    /// Does the site at `addr` hold what takes it to `old`? What it holds instead, if not.
    fn verify(&self, addr: usize, old: Target) -> Result<(), Found>;

    /// Can a site at `addr` be taken to `new`?
    fn reaches(&self, addr: usize, new: Target) -> bool;

    /// Queues taking the site at `addr` to `new`. Sites in ascending order make the fewest rounds.
    ///
    /// # Safety
    ///
    /// `addr` is a patch site of text that stays loaded until the batch is dropped,
    /// [`Patcher::verify`] said that it holds what it should, [`Patcher::reaches`] said yes, and
    /// `new` stays callable while any site leads there.
    unsafe fn write(&mut self, addr: usize, new: Target);
}
