// SPDX-License-Identifier: GPL-2.0

//! x86's cycle counter, as the scheduler's clock in line and as it is.
//!
//! C header: `arch/x86/include/asm/timer.h`.

use crate::kernel::percpu;
use core::mem::{offset_of, size_of};
use kernel::bindings;
use kernel::sync::atomic::{Atomic, Relaxed};

/// Is [`sched`](super::sched) the processor's cycle counter, scaled? Then [`sched_native`] reads
/// the same. Any context; the answer may turn into yes once, during boot, and stays.
pub(crate) fn sched_is_native() -> bool {
    // SAFETY: no preconditions.
    let native = unsafe { bindings::using_native_sched_clock() };
    let half = &this_scale().data[0];
    let (mul, shift) = (half.mul.load(Relaxed), half.shift.load(Relaxed));
    // The scale is set by what makes the counter the clock. What `sched_native` needs: a cycle
    // takes less than 4 ns, and the counter will not come to its upper bits.
    native
        && mul != 0
        && mul.checked_shr(shift).is_some_and(|ns| ns < 1 << MORE)
        && cycles() >> (63 - MORE) == 0
}

/// How many of the counter's upper bits the product leaves out.
pub(crate) const MORE: u32 = 2;

/// [`sched`](super::sched), in line. Where the counter is not the clock, the reading means nothing.
///
/// # Safety
///
/// Preemption is off.
#[inline(always)]
pub(crate) unsafe fn sched_native() -> u64 {
    let now: u64;
    // The time is cycles * mul >> shift, plus offset. With the factor shifted to the left as far as
    // that leaves no bit behind, and the cycles by what is missing to 64, it is the upper half of
    // the product: no shift by a variable. Cycles do not need their upper two bits in 36 years at 4
    // GHz.
    //
    // The scale is a latch: who changes it makes the sequence odd, changes half 0, makes it even,
    // changes half 1. So half 0 stands still at an even sequence. The CPU keeps the factor in that
    // form, with the even sequence that it was made at: if that is there after the factor and half
    // 0's offset were used, they belonged together. Otherwise the half that the sequence points to
    // is used, as often as it takes for that to be the same before and after, and the factor made
    // anew; not by who has interrupted one that is at it, so that no sequence comes to stand beside
    // another's factor. (The offset is not kept: when the system resumes it changes, and the
    // sequence does not.) SAFETY: reads the cycle counter and this CPU's `cyc2ns`, whose layout is
    // asserted below, and writes nothing but this CPU's `rtrace_scale`. What it pushes it takes
    // back.
    unsafe {
        core::arch::asm!(
            "rdtsc",
            "shl rdx, 32 + {more}",
            "lea rax, [rdx + rax * {times}]",
            "mov {before:e}, gs:[rip + {copy} + {seen}]",
            "mul qword ptr gs:[rip + {copy} + {factor}]",
            "add rdx, gs:[rip + {scale} + {offset}]",
            "cmp {before:e}, gs:[rip + {scale} + {at}]",
            "je 4f",
            "push rcx",
            "push r8",
            "push r9",
            "push r10",
            "2:",
            "mov r8d, gs:[rip + {scale} + {at}]",
            "mov r9d, r8d",
            "and r9d, 1",
            "shl r9d, 4",
            "rdtsc",
            "shl rdx, 32 + {more}",
            "lea r10, [rdx + rax * {times}]",
            "mov eax, gs:[r9 + {scale} + {mul}]",
            "mov ecx, 64 - {more}",
            "sub ecx, gs:[r9 + {scale} + {shift}]",
            "mov r9, gs:[r9 + {scale} + {offset}]",
            "cmp r8d, gs:[rip + {scale} + {at}]",
            "jne 2b",
            "shl rax, cl",
            "test r8b, 1",
            "jnz 3f",
            "cmp dword ptr gs:[rip + {copy} + {seen}], {busy}",
            "je 3f",
            "mov dword ptr gs:[rip + {copy} + {seen}], {busy}",
            "mov gs:[rip + {copy} + {factor}], rax",
            "mov gs:[rip + {copy} + {seen}], r8d",
            "3:",
            "mul r10",
            "add rdx, r9",
            "pop r10",
            "pop r9",
            "pop r8",
            "pop rcx",
            "4:",
            scale = sym bindings::cyc2ns,
            copy = sym bindings::rtrace_scale,
            at = const offset_of!(Scale, sequence),
            mul = const offset_of!(ScaleData, mul),
            shift = const offset_of!(ScaleData, shift),
            offset = const offset_of!(ScaleData, offset),
            factor = const offset_of!(bindings::rtrace_scale, factor),
            seen = const offset_of!(bindings::rtrace_scale, seen),
            busy = const bindings::RTRACE_SCALE_BUSY,
            more = const MORE,
            times = const 1 << MORE,
            before = out(reg) _,
            out("rax") _,
            lateout("rdx") now,
        );
    }
    now
}

/// One half of `struct cyc2ns`.
#[repr(C)]
struct ScaleData {
    mul: Atomic<u32>,
    shift: Atomic<u32>,
    offset: Atomic<u64>,
}

/// `struct cyc2ns` of `arch/x86/include/asm/timer.h`.
#[repr(C)]
struct Scale {
    data: [ScaleData; 2],
    sequence: Atomic<u32>,
}

const _: () = {
    assert!(size_of::<ScaleData>() == 1 << 4);
    assert!(size_of::<ScaleData>() == size_of::<bindings::cyc2ns_data>());
    assert!(offset_of!(ScaleData, shift) == offset_of!(bindings::cyc2ns_data, cyc2ns_shift));
    assert!(offset_of!(ScaleData, offset) == offset_of!(bindings::cyc2ns_data, cyc2ns_offset));
    assert!(offset_of!(Scale, sequence) == offset_of!(bindings::cyc2ns, seq));
};

/// What code in assembly must know to read the clock as [`sched_native`] does.
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod scale {
    use super::{bindings, offset_of, Scale, ScaleData};

    pub(crate) use super::MORE;
    /// Offset of the factor in `rtrace_scale`.
    pub(crate) const FACTOR: usize = offset_of!(bindings::rtrace_scale, factor);
    /// Of the sequence that it was made at.
    pub(crate) const SEEN: usize = offset_of!(bindings::rtrace_scale, seen);
    /// Of the time's offset in `cyc2ns`.
    pub(crate) const OFFSET: usize = offset_of!(ScaleData, offset);
    /// Of its sequence.
    pub(crate) const SEQUENCE: usize = offset_of!(Scale, sequence);
}

/// This CPU's scale.
fn this_scale() -> &'static Scale {
    let base = &raw const bindings::cyc2ns;
    // SAFETY: per-CPU data of this layout (asserted above), of a possible CPU; its words are
    // changed by C code one at a time, without tearing.
    unsafe { &*base.wrapping_byte_add(percpu::this_offset()).cast() }
}

/// The CPU's cycle counter, read in program order.
pub(crate) fn cycles() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::trace_clock_x86_tsc() }
}
