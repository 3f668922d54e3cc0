// SPDX-License-Identifier: GPL-2.0

//! The header that every entry starts with, and where it was made.
//!
//! Eight bytes, common to all types: `u16` type, `u8` flags, `u8` preempt_count, `s32` pid. In the buffer they are
//! one 64-bit word, built and stored as such.

use crate::kapi::context::{self, PreemptCount};

/// Types of built-in entries; the numbers are ABI.
pub(crate) mod kind {
    /// A function was entered: ip, parent_ip.
    pub(crate) const FUNCTION: u16 = 1;
    /// A kernel stack: count, then return addresses.
    pub(crate) const KERNEL_STACK: u16 = 4;
    /// A text: ip, characters up to a NUL.
    pub(crate) const PRINT: u16 = 5;
    /// A text of the kernel's that need not be copied: ip, address.
    pub(crate) const BPUTS: u16 = 15;
    /// A number and bytes that only their writer understands.
    pub(crate) const RAW_DATA: u16 = 19;
    /// The function entry before was repeated: ip, parent_ip, count, times.
    pub(crate) const FUNC_REPEATS: u16 = 20;
}

const _: () = assert!(cfg!(target_endian = "little"), "the header is stored as one little-endian word");

/// Where and by whom an entry is made: its header but for the type.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    word: u64,
    level: u32,
}

impl Context {
    const IRQS_OFF: u64 = 0x01 << 16;
    const NEED_RESCHED_LAZY: u64 = 0x02 << 16;
    const NEED_RESCHED: u64 = 0x04 << 16;
    const HARDIRQ: u64 = 0x08 << 16;
    const SOFTIRQ: u64 = 0x10 << 16;
    const PREEMPT_RESCHED: u64 = 0x20 << 16;
    const NMI: u64 = 0x40 << 16;
    const BH_OFF: u64 = 0x80 << 16;
    const PREEMPT_SHIFT: u32 = 24;
    const MIGRATE_SHIFT: u32 = 28;
    const PID_SHIFT: u32 = 32;

    /// Takes it down. Any context; call it before the recorder itself disables preemption.
    #[inline(always)]
    pub(crate) fn capture() -> Self {
        let count = PreemptCount::read();
        let pid = u64::from(context::current_pid() as u32) << Self::PID_SHIFT;
        let irqs = if context::irqs_off() { Self::IRQS_OFF } else { 0 };
        let word = pid | irqs;
        if count.is_plain_task() && context::resched_flags().none() && context::migrate_disabled() == 0 {
            return Self { word: word | count.depth() << Self::PREEMPT_SHIFT, level: 0 };
        }
        Self::capture_rest(count, word)
    }

    /// The part of [`Context::capture`] for all but a task in peace.
    #[cold]
    #[inline(never)]
    fn capture_rest(count: PreemptCount, word: u64) -> Self {
        let resched = context::resched_flags();
        let flag = |on: bool, bit: u64| if on { bit } else { 0 };
        let word = word
            | flag(resched.lazy(), Self::NEED_RESCHED_LAZY)
            | flag(resched.now(), Self::NEED_RESCHED)
            | flag(count.in_hardirq(), Self::HARDIRQ)
            | flag(count.in_softirq(), Self::SOFTIRQ)
            | flag(count.need_resched(), Self::PREEMPT_RESCHED)
            | flag(count.in_nmi(), Self::NMI)
            | flag(count.bh_off(), Self::BH_OFF)
            | count.depth().min(0xf) << Self::PREEMPT_SHIFT
            | u64::from(context::migrate_disabled()).min(0xf) << Self::MIGRATE_SHIFT;
        Self { word, level: count.level() }
    }

    /// The header of an entry of type `kind`.
    #[inline(always)]
    pub(crate) fn header(self, kind: u16) -> u64 {
        self.word | u64::from(kind)
    }

    /// How contexts nest; see [`PreemptCount::level`].
    #[inline(always)]
    pub(crate) fn level(self) -> u32 {
        self.level
    }

    /// Were interrupts off?
    pub(crate) fn irqs_off(self) -> bool {
        self.word & Self::IRQS_OFF != 0
    }
}
