// SPDX-License-Identifier: GPL-2.0

//! What a callback gets to know of the call that it is called for.

use core::marker::PhantomData;
use kernel::bindings;

/// The entry of a traced function. It exists while the callback runs.
pub struct Call<'a> {
    ip: usize,
    parent: usize,
    regs: *mut bindings::ftrace_regs,
    _callback: PhantomData<&'a ()>,
}

impl Call<'_> {
    /// # Safety
    ///
    /// `regs` is null or has the registers of a hit, which stay for the lifetime that the caller
    /// picks.
    #[inline]
    pub(crate) unsafe fn new<'a>(
        ip: usize,
        parent: usize,
        regs: *mut bindings::ftrace_regs,
    ) -> Call<'a> {
        Call {
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

    /// The address that the function returns to.
    #[inline]
    pub fn caller(&self) -> usize {
        self.parent
    }

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

/// The return of a traced function. It exists while the callback runs.
pub struct Return<'a> {
    ip: usize,
    parent: usize,
    regs: *mut bindings::ftrace_regs,
    _callback: PhantomData<&'a ()>,
}

impl Return<'_> {
    /// # Safety
    ///
    /// As for [`Call::new`].
    #[inline]
    pub(crate) unsafe fn new<'a>(
        ip: usize,
        parent: usize,
        regs: *mut bindings::ftrace_regs,
    ) -> Return<'a> {
        Return {
            ip,
            parent,
            regs,
            _callback: PhantomData,
        }
    }

    /// The address of the traced function.
    #[inline]
    pub fn function(&self) -> usize {
        self.ip
    }

    /// The address that the function returns to.
    #[inline]
    pub fn caller(&self) -> usize {
        self.parent
    }

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
