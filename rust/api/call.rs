// SPDX-License-Identifier: GPL-2.0

//! What a callback gets to know of the call that it is called for, and the callbacks of both ends of
//! a call.

use core::marker::PhantomData;
use core::ops::Deref;
use kernel::bindings;

/// What is called at the entry and at the return of traced functions, by an
/// [`Fprobe`](crate::fprobe::Fprobe) or a [`GraphProbe`](crate::graph::GraphProbe).
///
/// Both run on any CPU and in any context, NMIs among them, with preemption off. They must not sleep,
/// and must not take a lock that code which they interrupt may hold. A traced function that one of
/// them calls may call it once more, and then no more. Where RCU is not watching, they are not called;
/// so there may be an entry without its return.
pub trait EntryExitCallback: Send + Sync + 'static {
    /// What the entry of a call hands to its return. It lies on the task's shadow stack. A call need
    /// not return (a task may end in it), so this is plain data: nothing is dropped.
    type Data: Copy + Send + 'static;

    /// A function is entered. `None` leaves the return of this call alone.
    fn entry(&self, call: &Call<'_>) -> Option<Self::Data>;

    /// The same call returns. The task may be on another CPU now.
    fn exit(&self, data: Self::Data, ret: &Return<'_>);
}

/// What the entry and the return of a traced function have in common. It exists while the callback
/// runs.
pub struct Hit<'a> {
    ip: usize,
    parent: usize,
    regs: *mut bindings::ftrace_regs,
    _callback: PhantomData<&'a ()>,
}

impl Hit<'_> {
    /// # Safety
    ///
    /// `regs` is null or has the registers of a hit, which stay for the lifetime that the caller
    /// picks.
    #[inline]
    pub(crate) unsafe fn new(ip: usize, parent: usize, regs: *mut bindings::ftrace_regs) -> Self {
        Self {
            ip,
            parent,
            regs,
            _callback: PhantomData,
        }
    }

    /// The address of the traced function; `%pS` of `printk()` writes its name.
    #[inline]
    pub fn function(&self) -> usize {
        self.ip
    }

    /// The address that the function returns to. If it was called by the last jump of another function
    /// whose return is followed, that is the address by which the kernel follows returns.
    #[inline]
    pub fn caller(&self) -> usize {
        self.parent
    }
}

/// The entry of a traced function. It exists while the callback runs.
pub struct Call<'a>(pub(crate) Hit<'a>);

impl Call<'_> {
    /// Argument `index` of the function, as the register has it: an argument of less than 64 bits is
    /// in the low bits, the others are not defined. `None` beyond the arguments in registers.
    #[inline]
    pub fn argument(&self, index: usize) -> Option<usize> {
        let mut arguments = [0usize; bindings::FTRACE_REGS_MAX_ARGS as usize];
        if self.regs.is_null() {
            return None;
        }
        // SAFETY: the registers stay while the callback runs; the array has room for all arguments.
        unsafe { bindings::rtrace_arguments(self.regs, arguments.as_mut_ptr()) };
        arguments.get(index).copied()
    }
}

impl<'a> Deref for Call<'a> {
    type Target = Hit<'a>;

    #[inline]
    fn deref(&self) -> &Hit<'a> {
        &self.0
    }
}

/// The return of a traced function. It exists while the callback runs.
pub struct Return<'a>(pub(crate) Hit<'a>);

impl Return<'_> {
    /// What the function returns, as the register has it: a value of less than 64 bits is in the low
    /// bits. It means nothing if the function returns nothing, or a structure in memory.
    #[inline]
    pub fn value(&self) -> usize {
        if self.regs.is_null() {
            return 0;
        }
        // SAFETY: the registers stay while the callback runs, and on x86 the structure begins with
        // `pt_regs`.
        unsafe {
            let regs = self.regs.cast::<bindings::__arch_ftrace_regs>();
            bindings::regs_return_value(&raw mut (*regs).regs)
        }
    }
}

impl<'a> Deref for Return<'a> {
    type Target = Hit<'a>;

    #[inline]
    fn deref(&self) -> &Hit<'a> {
        &self.0
    }
}
