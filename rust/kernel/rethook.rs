// SPDX-License-Identifier: GPL-2.0

//! Return hooks of single calls: what kretprobes are built on.
//!
//! A function's return address is replaced at its entry by that of a trampoline, and kept in a
//! [`Node`], which is in the list of the task until the function returns. A user has a [`Rethook`]: a
//! handler, and as many nodes as there may be calls under way.
//!
//! C headers: `include/linux/rethook.h`, `include/linux/objpool.h`.

use super::context::PreemptOff;
use super::kprobes::no_kprobe;
use super::percpu::PerCpu;
use super::relaxed;
use core::mem::{offset_of, size_of};
use core::ptr::null_mut;
use core::sync::atomic::{compiler_fence, Ordering};
use kernel::bindings;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Full, Relaxed};
use kernel::types::Opaque;

/// What C calls a node. The user's own data is behind it.
pub(crate) type Node = bindings::rethook_node;
type Handler = bindings::rethook_handler_t;

/// A user of return hooks.
///
/// # Invariants
///
/// The pool is initialized, and its nodes have the address of this. A node is in the pool, in `at_hand`,
/// or with one who has taken it. It stays until its last node is dropped.
#[repr(C)]
pub(crate) struct Rethook {
    /// What C looks at and changes: the user's data, the pool, and the handler, which is null once the user
    /// has stopped.
    raw: Opaque<bindings::rethook>,
    /// One unused node for each CPU, or null. Most calls return on the CPU that they began on, so that two
    /// instructions with a lock are all that a node costs. Nodes beyond that are in the pool.
    at_hand: PerCpu<Atomic<*mut Node>>,
}

impl Rethook {
    /// One of `count` nodes of `size` bytes each, the node itself included. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` without a handler, or for sizes that make no sense; `ENOMEM`.
    pub(crate) fn new(
        data: *mut c_void,
        handler: Handler,
        size: c_int,
        count: c_int,
    ) -> Result<*mut bindings::rethook> {
        let fits = usize::try_from(size).is_ok_and(|size| size >= size_of::<Node>());
        if handler.is_none() || count <= 0 || !fits {
            return Err(EINVAL);
        }
        let raw = bindings::rethook {
            data,
            handler,
            ..Default::default()
        };
        let at_hand = PerCpu::new(|_| Atomic::new(null_mut()))?;
        let raw = Opaque::new(raw);
        let hook = KBox::into_raw(KBox::new(Self { raw, at_hand }, GFP_KERNEL)?);
        // SAFETY: the pool is new; both functions take what they are given here, and `gone` is called
        // once, when no node is left.
        let result = unsafe {
            bindings::objpool_init(
                pool_of(hook.cast()),
                count,
                size,
                bindings::GFP_KERNEL,
                hook.cast(),
                Some(begin_node),
                Some(gone),
            )
        };
        if result != 0 {
            // SAFETY: made above, and nobody else has it.
            drop(unsafe { KBox::from_raw(hook) });
            return Err(ENOMEM);
        }
        Ok(hook.cast())
    }

    /// # Safety
    ///
    /// `hook` is one that [`Rethook::new`] gave, and stays for the lifetime that the caller picks.
    #[inline(always)]
    unsafe fn of<'a>(hook: *mut bindings::rethook) -> &'a Self {
        // SAFETY: `hook` is the first field of a `Rethook`, which stays.
        unsafe { &*hook.cast() }
    }

    /// Read anew by each call. The one that is read may be called as long as preemption stays off.
    #[inline(always)]
    fn handler(&self) -> Handler {
        // SAFETY: a word, which `stop` may change meanwhile.
        unsafe { (&raw const (*self.raw.get()).handler).read_volatile() }
    }

    /// No handler is called, and no node given, by what begins from now on.
    ///
    /// # Safety
    ///
    /// As [`Rethook::of`].
    pub(crate) unsafe fn stop(hook: *mut bindings::rethook) {
        // SAFETY: `hook` stays; who reads the word meanwhile finds it before or after.
        unsafe { (&raw mut (*hook).handler).write_volatile(None) };
    }

    /// [`Rethook::stop`], and an end once all calls under way have returned and given their nodes back.
    /// Any context that may call RCU.
    ///
    /// # Safety
    ///
    /// `hook` is one that [`Rethook::new`] gave. Its user leaves it alone from here on.
    pub(crate) unsafe fn free(hook: *mut bindings::rethook) {
        // SAFETY: the user gives it away; until the callback runs all of it stays.
        unsafe {
            Self::stop(hook);
            bindings::call_rcu(&raw mut (*hook).rcu, Some(end));
        }
    }

    /// An unused node; null if there is none, or if the user has stopped. Any context, preemption off.
    #[inline(always)]
    fn take(&self) -> *mut Node {
        if self.handler().is_none() || !rcu_watches() {
            return null_mut();
        }
        match self.at_hand.this().xchg(null_mut(), Full) {
            node if node.is_null() => self.take_slow(),
            node => node,
        }
    }

    /// [`Rethook::take`] where this CPU has none at hand: from the pool, or what another CPU has.
    #[cold]
    #[inline(never)]
    fn take_slow(&self) -> *mut Node {
        // SAFETY: by the invariant the pool is initialized; it allows for any context.
        let node = unsafe { bindings::objpool_pop(pool_of(self.raw.get())) };
        if !node.is_null() {
            return node.cast();
        }
        let mut others = self.at_hand.iter().map(|(_, place)| take_from(place));
        others.find(|node| !node.is_null()).unwrap_or(null_mut())
    }

    /// Gives a node back.
    ///
    /// # Safety
    ///
    /// The caller took `node` from this, and uses it no more. Preemption is off, and the handler was seen
    /// since it went off: so `free` waits for the caller before it looks for nodes.
    #[inline(always)]
    unsafe fn give(&self, node: *mut Node) {
        let place = self.at_hand.this();
        if place.cmpxchg(null_mut(), node, Full).is_err() {
            // SAFETY: it is a node of this pool, which nobody else has.
            unsafe { give_slow(pool_of(self.raw.get()), node) };
        }
    }
}

/// Where its pool is.
#[inline(always)]
fn pool_of(hook: *mut bindings::rethook) -> *mut bindings::objpool_head {
    hook.wrapping_byte_add(offset_of!(bindings::rethook, pool))
        .cast()
}

#[inline(always)]
fn take_from(place: &Atomic<*mut Node>) -> *mut Node {
    match relaxed::load(place) {
        node if node.is_null() => node,
        _ => place.xchg(null_mut(), Full),
    }
}

/// # Safety
///
/// `node` is of this pool, and nobody else has it.
#[cold]
#[inline(never)]
unsafe fn give_slow(pool: *mut bindings::objpool_head, node: *mut Node) {
    // SAFETY: as the caller says. There is room: the pool has as many places as nodes.
    unsafe { bindings::objpool_push(node.cast(), pool) };
}

/// Does RCU watch, so that who waits for readers waits for this? Where it is not asked, functions that
/// run where RCU does not watch have neither sites nor probes.
#[inline(always)]
fn rcu_watches() -> bool {
    #[cfg(any(
        CONFIG_FTRACE_VALIDATE_RCU_IS_WATCHING,
        CONFIG_KPROBE_EVENTS_ON_NOTRACE
    ))]
    // SAFETY: no preconditions.
    return unsafe { bindings::rcu_is_watching() };
    #[cfg(not(any(
        CONFIG_FTRACE_VALIDATE_RCU_IS_WATCHING,
        CONFIG_KPROBE_EVENTS_ON_NOTRACE
    )))]
    true
}

/// # Safety
///
/// For the pool: `node` is a new one of the rethook `hook`.
unsafe extern "C" fn begin_node(node: *mut c_void, hook: *mut c_void) -> c_int {
    // SAFETY: the pool has made the node, of the size that `Rethook::new` has looked at.
    unsafe { (*node.cast::<Node>()).rethook = hook.cast() };
    0
}

/// # Safety
///
/// For the pool: no node of the rethook `hook` is left.
unsafe extern "C" fn gone(_pool: *mut bindings::objpool_head, hook: *mut c_void) -> c_int {
    // SAFETY: it was made by `KBox::into_raw`, and its last user is gone.
    drop(unsafe { KBox::from_raw(hook.cast::<Rethook>()) });
    0
}

/// # Safety
///
/// For RCU: `head` is that of a rethook that was stopped, and who has not seen that is over.
unsafe extern "C" fn end(head: *mut bindings::callback_head) {
    // SAFETY: `head` is in a rethook, of which nobody takes or gives nodes any more: those that are out are
    // dropped by `drop_node`. It stays until the pool has dropped its own share.
    unsafe {
        let hook = kernel::container_of!(head, bindings::rethook, rcu);
        let this = Rethook::of(hook);
        for (_, place) in this.at_hand.iter() {
            let node = take_from(place);
            if !node.is_null() {
                give_slow(pool_of(hook), node);
            }
        }
        bindings::objpool_fini(pool_of(hook));
    }
}

/// # Safety
///
/// For RCU: `head` is that of a node whose rethook was stopped, and which nobody has any more.
unsafe extern "C" fn drop_node(head: *mut bindings::callback_head) {
    // SAFETY: `head` is in a node, and the node keeps its rethook.
    unsafe {
        let node = kernel::container_of!(head, Node, rcu);
        bindings::objpool_drop(node.cast(), pool_of((*node).rethook));
    }
}

/// An unused node of `hook`; null if there is none. Any context, preemption off.
///
/// # Safety
///
/// As [`Rethook::of`], during the call.
#[inline(always)]
pub(crate) unsafe fn take(hook: *mut bindings::rethook) -> *mut Node {
    // SAFETY: `hook` stays during the call.
    unsafe { Rethook::of(hook) }.take()
}

/// Gives a node back to its rethook, or, if that was stopped, drops it. Any context, preemption off.
///
/// # Safety
///
/// The caller has `node` for itself, and uses it no more.
#[inline(always)]
pub(crate) unsafe fn give(node: *mut Node) {
    // SAFETY: the node keeps its rethook until it is given or dropped. Who gives it with preemption off has
    // begun before the grace period that `free` waits for, or finds the rethook stopped.
    unsafe {
        let hook = Rethook::of((*node).rethook);
        match hook.handler() {
            Some(_) => hook.give(node),
            None => bindings::call_rcu(&raw mut (*node).rcu, Some(drop_node)),
        }
    }
}

/// The list of a task: its hooked calls, the innermost first. Only the task itself changes it, and what
/// interrupts it, which leaves it as it was.
#[inline(always)]
fn first_of(task: *mut bindings::task_struct) -> *mut *mut bindings::llist_node {
    // SAFETY: only an address is taken.
    unsafe { &raw mut (*task).rethooks.first }
}

/// # Safety
///
/// `link` is in a node.
#[inline(always)]
unsafe fn node_of(link: *mut bindings::llist_node) -> *mut Node {
    // SAFETY: `link` is the field of a node.
    unsafe { kernel::container_of!(link, Node, llist) }
}

fn trampoline() -> usize {
    bindings::arch_rethook_trampoline as *const () as usize
}

/// Hooks the return of the function that is being entered by the current task. Any context.
///
/// # Safety
///
/// `node` was taken for this, and `regs` are those at the function's entry.
#[inline(always)]
pub(crate) unsafe fn hook(node: *mut Node, regs: *mut bindings::pt_regs, by_ftrace: bool) {
    // SAFETY: the list is that of the running task, so nobody else changes it now, but for interrupts,
    // which put it back as it was.
    unsafe {
        bindings::rtrace_rethook_prepare(node, regs, by_ftrace);
        let first = first_of(bindings::get_current());
        (*node).llist.next = *first;
        // An interrupt may unwind: what is in the list is complete.
        compiler_fence(Ordering::SeqCst);
        *first = &raw mut (*node).llist;
    }
}

/// The first of `link` and what is behind it that has the address of a caller: a call that was hooked
/// several times has it in the node that was made first.
///
/// # Safety
///
/// `link` is null or in the list of a task, which does not change now.
#[inline(always)]
unsafe fn with_caller(mut link: *mut bindings::llist_node) -> *mut bindings::llist_node {
    // SAFETY: all of the list are links of nodes.
    unsafe {
        while !link.is_null() && (*node_of(link)).ret_addr == trampoline() {
            link = (*link).next;
        }
    }
    link
}

/// Where the call whose frame is at `frame` returns to, for unwinders; 0 if it is not found. `cursor` is
/// null at first, and says how far the task's list was looked through. Any context.
///
/// # Safety
///
/// `task` lives; `cursor` is what this has left there for the same task.
pub(crate) unsafe fn find_caller(
    task: *mut bindings::task_struct,
    frame: usize,
    cursor: &mut *mut bindings::llist_node,
) -> usize {
    // SAFETY: a list is looked at that is the running task's, or of a task that does not run.
    unsafe {
        let state = (&raw const (*task).__state).read_volatile();
        if task != bindings::get_current() && state == bindings::TASK_RUNNING {
            return 0;
        }
        loop {
            let link = with_caller(match *cursor {
                link if link.is_null() => *first_of(task),
                link => (*link).next,
            });
            if link.is_null() {
                return 0;
            }
            *cursor = link;
            let node = node_of(link);
            if (*node).frame == frame {
                return (*node).ret_addr;
            }
        }
    }
}

/// Runs the handlers of the call that has returned to the trampoline, the last hook first, and puts the
/// address of its caller back, which is the result.
///
/// # Safety
///
/// For the trampoline: `regs` are those at the return, and `frame` says which call it was.
#[inline(always)]
pub(crate) unsafe fn returned(regs: *mut bindings::pt_regs, frame: usize) -> usize {
    // SAFETY: the list is the running task's. A node in it keeps its rethook. Preemption is off while the
    // handler is called.
    unsafe {
        let first = first_of(bindings::get_current());
        let link = *first;
        if link.is_null() {
            return returned_slow(first, regs, frame);
        }
        let node = node_of(link);
        let caller = (*node).ret_addr;
        if caller == trampoline() || (*node).frame != frame {
            return returned_slow(first, regs, frame);
        }
        let hook = Rethook::of((*node).rethook);
        let _stay = PreemptOff::new();
        let Some(handler) = hook.handler() else {
            return returned_slow(first, regs, frame);
        };
        bindings::instruction_pointer_set(regs, caller);
        // The handler finds the node in the list: stack traces look there.
        handler(node, (*hook.raw.get()).data, caller, regs);
        let caller = (*node).ret_addr;
        let next = (*node).llist.next;
        bindings::rtrace_rethook_fixup_return(regs, caller);
        // An interrupt may unwind: the trampoline's address goes before the node, and its link behind it.
        compiler_fence(Ordering::SeqCst);
        *first_of(bindings::get_current()) = next;
        compiler_fence(Ordering::SeqCst);
        // Who reads the stack of this task from another one ends here.
        (*node).llist.next = null_mut();
        // Preemption was off already when the handler was there, so `free` still waits for this.
        hook.give(node);
        caller
    }
}

/// Calls the handler of a node of the call that has returned, if it is still there.
///
/// # Safety
///
/// `node` is in the running task's list, `caller` and `regs` are of its return, and preemption is off.
#[inline(always)]
unsafe fn run(node: *mut Node, caller: usize, regs: *mut bindings::pt_regs) {
    // SAFETY: the node keeps its rethook; the handler may be called as long as preemption is off.
    unsafe {
        let hook = Rethook::of((*node).rethook);
        if let Some(handler) = hook.handler() {
            handler(node, (*hook.raw.get()).data, caller, regs);
        }
    }
}

/// As `WARN_ON_ONCE()`.
#[cold]
pub(crate) fn warn_once() {
    static WARNED: Atomic<bool> = Atomic::new(false);
    if !WARNED.xchg(true, Relaxed) {
        kernel::warn_on!(true);
    }
}

/// [`returned`] from a call that was hooked several times, whose user has stopped, or whose hook is not there.
///
/// # Safety
///
/// As [`returned`]; `first` is the list of the running task.
#[cold]
#[inline(never)]
unsafe fn returned_slow(
    first: *mut *mut bindings::llist_node,
    regs: *mut bindings::pt_regs,
    frame: usize,
) -> usize {
    // SAFETY: the list is the running task's. Preemption is off while handlers are called.
    unsafe {
        let last = with_caller(*first);
        if last.is_null() {
            pr_err!("rethook: Return address not found! Maybe there is a bug in the kernel\n");
            bindings::BUG();
        }
        let caller = (*node_of(last)).ret_addr;
        bindings::instruction_pointer_set(regs, caller);
        let _stay = PreemptOff::new();
        let mut link = *first;
        loop {
            let node = node_of(link);
            if (*node).frame != frame {
                warn_once();
                break;
            }
            run(node, caller, regs);
            if link == last {
                break;
            }
            link = (*link).next;
        }
        bindings::rtrace_rethook_fixup_return(regs, caller);
        link = *first;
        // As in `returned`: an interrupt may unwind.
        compiler_fence(Ordering::SeqCst);
        *first = (*last).next;
        compiler_fence(Ordering::SeqCst);
        (*last).next = null_mut();
        while !link.is_null() {
            let next = (*link).next;
            give(node_of(link));
            link = next;
        }
        caller
    }
}

/// Gives back the nodes of a task that is dead. Its hooked calls never return.
///
/// # Safety
///
/// `task` is there, and runs no more.
pub(crate) unsafe fn flush(task: *mut bindings::task_struct) {
    // SAFETY: nobody else looks at the list of a dead task.
    unsafe {
        let first = first_of(task);
        let mut link = *first;
        *first = null_mut();
        while !link.is_null() {
            let next = (*link).next;
            let _stay = PreemptOff::new();
            give(node_of(link));
            link = next;
        }
    }
}

// The slow halves of what C's macro names in whole.
no_kprobe!(
    Rethook::take_slow,
    give_slow,
    find_caller,
    returned_slow,
    warn_once,
);
