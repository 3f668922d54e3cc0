// SPDX-License-Identifier: GPL-2.0

//! What C has of function tracing: the structures that hits are passed in, by their C names, and
//! what may be asked of them.
//!
//! C headers: `include/linux/ftrace.h`, `include/linux/ftrace_regs.h`, `include/linux/fprobe.h`.

use core::mem::offset_of;
use core::ptr::NonNull;
use kernel::bindings;
pub(crate) use kernel::bindings::{
    callback_head, fgraph_ops, ftrace_graph_ent, ftrace_graph_ret, ftrace_ops, ftrace_ops_hash,
    ftrace_regs, list_head, task_struct,
};
#[cfg(CONFIG_FPROBE)]
pub(crate) use kernel::bindings::{fprobe, fprobe_hlist};
use kernel::cpu::CpuId;
use kernel::types::NotThreadSafe;

/// Flags of a `struct ftrace_ops`: `FTRACE_OPS_FL_*`.
pub(crate) mod flag {
    use kernel::bindings;

    pub(crate) const ENABLED: usize = bindings::FTRACE_OPS_FL_ENABLED as usize;
    pub(crate) const DYNAMIC: usize = bindings::FTRACE_OPS_FL_DYNAMIC as usize;
    pub(crate) const SAVE_REGS: usize = bindings::FTRACE_OPS_FL_SAVE_REGS as usize;
    pub(crate) const RECURSION: usize = bindings::FTRACE_OPS_FL_RECURSION as usize;
    pub(crate) const STUB: usize = bindings::FTRACE_OPS_FL_STUB as usize;
    pub(crate) const INITIALIZED: usize = bindings::FTRACE_OPS_FL_INITIALIZED as usize;
    pub(crate) const DELETED: usize = bindings::FTRACE_OPS_FL_DELETED as usize;
    pub(crate) const ALLOC_TRAMP: usize = bindings::FTRACE_OPS_FL_ALLOC_TRAMP as usize;
    pub(crate) const IPMODIFY: usize = bindings::FTRACE_OPS_FL_IPMODIFY as usize;
    pub(crate) const RCU: usize = bindings::FTRACE_OPS_FL_RCU as usize;
    pub(crate) const DIRECT: usize = bindings::FTRACE_OPS_FL_DIRECT as usize;
}

/// What the owner of a direct caller is asked or told: `enum ftrace_ops_cmd`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Command(pub(crate) bindings::ftrace_ops_cmd);

impl Command {
    /// May it share a site with an ops that changes where the function goes, when it comes itself?
    pub(crate) const SHARE_SELF: Self =
        Self(bindings::ftrace_ops_cmd_FTRACE_OPS_CMD_ENABLE_SHARE_IPMODIFY_SELF);
    /// The same when the other comes.
    pub(crate) const SHARE_PEER: Self =
        Self(bindings::ftrace_ops_cmd_FTRACE_OPS_CMD_ENABLE_SHARE_IPMODIFY_PEER);
    /// The other is gone.
    pub(crate) const PEER_GONE: Self =
        Self(bindings::ftrace_ops_cmd_FTRACE_OPS_CMD_DISABLE_SHARE_IPMODIFY_PEER);
}

/// How many bits count the words of a fprobe's data.
#[cfg(CONFIG_FPROBE)]
pub(crate) const FPROBE_DATA_BITS: u32 = bindings::FPROBE_DATA_SIZE_BITS;
/// Flag of a fprobe: its owner does not want calls at the moment.
#[cfg(CONFIG_FPROBE)]
pub(crate) const FPROBE_DISABLED: u32 = bindings::FPROBE_FL_DISABLED;
/// Flag of a fprobe: its functions are not to run beside a kprobe's.
#[cfg(CONFIG_FPROBE)]
pub(crate) const FPROBE_KPROBE_SHARED: u32 = bindings::FPROBE_FL_KPROBE_SHARED;

/// How many arguments of a function come in registers.
pub(crate) const ARGUMENTS: usize = bindings::FTRACE_REGS_MAX_ARGS as usize;

/// The registers of a function's first arguments. Any context.
///
/// # Safety
///
/// `regs` is what a trampoline saved that saves them.
#[inline(always)]
pub(crate) unsafe fn arguments(regs: *mut ftrace_regs) -> [usize; ARGUMENTS] {
    let mut arguments = [0; ARGUMENTS];
    // SAFETY: the registers are saved, and the array has room for as many words.
    unsafe { bindings::rtrace_arguments(regs, arguments.as_mut_ptr()) };
    arguments
}

/// The stack pointer. Any context.
///
/// # Safety
///
/// `regs` is what a trampoline saved that saves it.
#[inline(always)]
#[cfg(CONFIG_STACK_TRACER)]
pub(crate) unsafe fn stack_pointer(regs: *mut ftrace_regs) -> usize {
    // SAFETY: the register is saved.
    unsafe { bindings::rtrace_stack_pointer(regs) }
}

/// The instruction pointer. Any context.
///
/// # Safety
///
/// `regs` is what a trampoline or the return hook saved, and was completed by it.
#[inline(always)]
#[cfg(CONFIG_FPROBE)]
pub(crate) unsafe fn instruction_pointer(regs: *mut ftrace_regs) -> usize {
    // SAFETY: the register is saved.
    unsafe { bindings::rtrace_instruction_pointer(regs) }
}

/// Makes the trampoline jump to `addr` at its end. Any context.
///
/// # Safety
///
/// `regs` is what `ftrace_regs_caller` saved, and `addr` is a direct caller.
pub(crate) unsafe fn set_direct_caller(regs: *mut ftrace_regs, addr: usize) {
    // SAFETY: all registers are saved, so the field is there.
    unsafe { bindings::rtrace_set_direct_caller(regs, addr) };
}

/// Sets up the lock of an ops's sets, which C code may take.
///
/// # Safety
///
/// `hash` is memory that nobody else uses yet.
pub(crate) unsafe fn init_hash(hash: *mut ftrace_ops_hash) {
    // SAFETY: nobody else uses the memory yet.
    unsafe { bindings::rtrace_init_ops_hash(hash) };
}

/// Holds the lock of an ops's sets.
///
/// # Invariants
///
/// The mutex is alive, and held by this task.
pub(crate) struct HashGuard(*mut bindings::mutex, NotThreadSafe);

impl HashGuard {
    /// Task context, sleeps.
    ///
    /// # Safety
    ///
    /// [`init_hash`] was called for `hash`, which lives until the guard is dropped.
    pub(crate) unsafe fn lock(hash: *mut ftrace_ops_hash) -> Self {
        // SAFETY: the structure lives until the guard is dropped.
        let lock = unsafe { &raw mut (*hash).regex_lock };
        // SAFETY: the mutex was made; undone by the drop.
        unsafe { bindings::mutex_lock(lock) };
        // INVARIANT: it was just taken.
        Self(lock, NotThreadSafe)
    }
}

impl Drop for HashGuard {
    fn drop(&mut self) {
        // SAFETY: by the type invariant the mutex is alive, and this task holds it.
        unsafe { bindings::mutex_unlock(self.0) };
    }
}

/// The address of `ftrace_stub()`, which C's trampolines call when there is no callback.
pub(crate) fn stub() -> usize {
    bindings::ftrace_stub as *const () as usize
}

/// Tells kprobes that ftrace-based kprobes can no longer be removed. Any context.
pub(crate) fn keep_kprobes() {
    // SAFETY: it sets a flag.
    unsafe { bindings::rtrace_kprobes_stay() };
}

/// Whether there are tasks besides the boot task. Only then grace periods pass.
pub(crate) fn scheduler_runs() -> bool {
    // SAFETY: it reads a variable.
    unsafe { bindings::rtrace_scheduler_runs() }
}

/// Waits until no task is where it was: those that run with preemption off or where RCU does not
/// watch, and those that were preempted. Task context without locks, sleeps long; not at all while
/// there is one task only, which runs this.
pub(crate) fn wait_for_tasks() {
    if !scheduler_runs() {
        return;
    }
    // SAFETY: task context, where sleeping is allowed.
    unsafe {
        bindings::synchronize_rcu_tasks_rude();
        bindings::synchronize_rcu_tasks();
    }
}

/// Has `f` called with `head` once all that runs now with preemption off has ended.
///
/// # Safety
///
/// `head` stays until then, and nobody else uses it; `f` may be called with it.
pub(crate) unsafe fn call_after_readers(
    head: *mut callback_head,
    f: unsafe extern "C" fn(*mut callback_head),
) {
    // SAFETY: the head is the callback's from here on.
    unsafe { bindings::call_rcu(head, Some(f)) };
}

/// Calls the `ops_func` of `ops`. In C: kCFI tells its last argument, an enum, from an integer.
/// Task context. Errors as its owner says.
///
/// # Safety
///
/// `ops` is alive and has an `ops_func`, which may be called with it.
pub(crate) unsafe fn ask_owner(
    ops: *mut ftrace_ops,
    ip: usize,
    cmd: Command,
) -> kernel::error::Result {
    // SAFETY: `ops` is alive and has an `ops_func`, which may be called with it.
    kernel::error::to_result(unsafe { bindings::rtrace_ask_owner(ops, ip, cmd.0) })
}

/// The task that runs this. Any context.
#[inline(always)]
pub(crate) fn running_task() -> NonNull<task_struct> {
    // SAFETY: there is a task whenever code runs.
    unsafe { NonNull::new_unchecked(bindings::get_current()) }
}

/// The idle task of `cpu`; none if that never could come up. Task context.
pub(crate) fn idle_task(cpu: CpuId) -> Option<NonNull<task_struct>> {
    // SAFETY: it is a CPU's number, as its type says.
    NonNull::new(unsafe { bindings::idle_task(cpu.as_u32() as i32) })
}

/// Panics with `why`.
#[cold]
pub(crate) fn panic(why: &'static core::ffi::CStr) -> ! {
    // SAFETY: a string; as format it is given one without conversions.
    unsafe { bindings::panic(c"%s".as_ptr().cast(), why.as_ptr()) }
}

/// The address of a word of the `struct ftrace_ops` at `ops` where trampolines find the rings in which
/// they record, if they do that. It is a half of a list head that C has no use for here.
pub(crate) fn rings_of(ops: usize) -> usize {
    ops.wrapping_add(offset_of!(ftrace_ops, subop_list) + offset_of!(list_head, next))
}

/// The same of where those are while it is not to record.
pub(crate) fn kept_rings_of(ops: usize) -> usize {
    ops.wrapping_add(offset_of!(ftrace_ops, subop_list) + offset_of!(list_head, prev))
}

/// The address of a word of the `struct ftrace_ops` at `ops` that is its gate: where trampolines have
/// one, they call its function only while that is not 0. It is a half of C's list head, for which
/// there is no other use.
pub(crate) fn gate_of(ops: usize) -> usize {
    const { assert!(size_of::<list_head>() == 2 * size_of::<usize>()) };
    ops.wrapping_add(offset_of!(ftrace_ops, list) + offset_of!(list_head, prev))
}
