// SPDX-License-Identifier: GPL-2.0

//! What the arguments of a probe in the kernel are made of: registers and memory at a hit.

use super::arguments::Arguments;
use crate::core::event::probe::program::Source;
use crate::core::event::probe::types::TextOf;
use crate::kernel::context::current_and_name;
use crate::kernel::regs::Regs;
use crate::kernel::{kallsyms, nofault, percpu};
use kernel::sync::Arc;

/// The longest text that is recorded, its end included; but see [`nofault::text_length`].
const TEXT_MAX: usize = 4096;

/// The registers and the memory at a hit.
#[derive(Clone, Copy)]
pub(super) struct AtHit<'a, S> {
    /// The arguments, which know where symbols are.
    pub(super) arguments: &'a Arc<Arguments>,
    /// The registers.
    pub(super) regs: &'a Regs,
    /// Gives what was saved when the function was entered.
    pub(super) saved: S,
}

impl<'a, S: Fn() -> &'a [usize] + Copy> Source for AtHit<'a, S> {
    #[inline(always)]
    fn register(&self, at: u16) -> u64 {
        self.regs.register(at) as u64
    }

    #[inline(always)]
    fn stack(&self, at: u32) -> u64 {
        self.regs.stack(at) as u64
    }

    #[inline(always)]
    fn stack_pointer(&self) -> u64 {
        self.regs.stack_pointer() as u64
    }

    #[inline(always)]
    fn returned(&self) -> u64 {
        self.regs.returned() as u64
    }

    fn comm(&self) -> u64 {
        current_and_name().1 as u64
    }

    fn current(&self) -> u64 {
        current_and_name().0 as u64
    }

    #[inline(always)]
    fn argument(&self, at: u16) -> u64 {
        self.regs.argument(at) as u64
    }

    fn saved(&self, at: u16) -> u64 {
        let word = (self.saved)().get(usize::from(at));
        word.map_or(0, |word| *word as u64)
    }

    fn symbol(&self, argument: usize) -> u64 {
        self.arguments.symbol(argument) as u64
    }

    fn this_cpu(&self, address: u64) -> u64 {
        percpu::this_address(address as usize) as u64
    }

    fn read(&self, user: bool, address: u64, to: &mut [u8]) -> bool {
        read(user, address as usize, to)
    }

    fn text_length(&self, of: TextOf, address: u64) -> usize {
        text_length(of, address as usize)
    }

    fn text(&self, of: TextOf, address: u64, to: &mut [u8]) -> usize {
        text(of, address as usize, to)
    }
}

/// [`Source::read`] of the kernel's and the task's memory: an address of the task's is read as
/// that, also where the argument does not say so. Any context.
pub(super) fn read(user: bool, address: usize, to: &mut [u8]) -> bool {
    nofault::read(to, address, user || nofault::is_user(address))
}

/// [`Source::text_length`] of the kernel's and the task's memory. Any context.
pub(super) fn text_length(of: TextOf, address: usize) -> usize {
    match of {
        TextOf::Symbol => kallsyms::symbol_text(address, &mut []),
        TextOf::Kernel => nofault::text_length(address, nofault::is_user(address), TEXT_MAX),
        TextOf::User => nofault::text_length(address, true, TEXT_MAX),
    }
}

/// [`Source::text`] of the kernel's and the task's memory. Any context.
pub(super) fn text(of: TextOf, address: usize, to: &mut [u8]) -> usize {
    let user = match of {
        TextOf::Symbol => return kallsyms::symbol_text(address, to),
        TextOf::Kernel => nofault::is_user(address),
        TextOf::User => true,
    };
    let copied = nofault::text(to, address, user).map(<[u8]>::len);
    // Its end was copied, too.
    copied.map_or(0, |length| length.wrapping_add(1).min(to.len()))
}
