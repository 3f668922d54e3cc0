// SPDX-License-Identifier: GPL-2.0

//! x86's cycle counter, as the scheduler's clock in line and as it is.
//!
//! C header: `arch/x86/include/asm/timer.h`.

use crate::kapi::percpu;
use core::mem::{offset_of, size_of};
use kernel::bindings;
use kernel::sync::atomic::{Atomic, Relaxed};

/// Is [`sched`](super::sched) the processor's cycle counter, scaled? Then [`sched_native`] reads the same. Any context;
/// the answer may turn into yes once, during boot, and stays.
pub(crate) fn sched_is_native() -> bool {
    // SAFETY: no preconditions.
    let native = unsafe { bindings::using_native_sched_clock() };
    // The scale is set by what makes the counter the clock.
    native && this_scale().data[0].mul.load(Relaxed) != 0
}

/// [`sched`](super::sched), in line. Where the counter is not the clock, the reading means nothing.
///
/// # Safety
///
/// Preemption is off.
#[inline(always)]
pub(crate) unsafe fn sched_native() -> u64 {
    let now: u64;
    // The time is cycles * mul >> shift, plus offset; shifts are below 32. The scale is a latch: who changes it makes the
    // sequence odd, changes half 0, makes it even, changes half 1. So half 0 stands still at an even sequence. One that has been
    // seen by this CPU before the beginning (`rtrace_scale_seen`, even) and is there in the end has been there all the time. If
    // it is another, the half that the sequence points to is read until that is the same before and after.
    // SAFETY: reads the cycle counter and this CPU's `cyc2ns`, whose layout is asserted below, and writes nothing but this
    // CPU's `rtrace_scale_seen`. What it pushes it takes back.
    unsafe {
        core::arch::asm!(
            "rdtsc",
            "shl rdx, 32",
            "or rdx, rax",
            "mov {before:e}, gs:[rip + {seen}]",
            "mov eax, gs:[rip + {scale} + {mul}]",
            "mov ecx, gs:[rip + {scale} + {shift}]",
            "mul rdx",
            "shrd rax, rdx, cl",
            "add rax, gs:[rip + {scale} + {offset}]",
            "cmp {before:e}, gs:[rip + {scale} + {at}]",
            "je 3f",
            "push r8",
            "push r9",
            "2:",
            "mov r8d, gs:[rip + {scale} + {at}]",
            "mov r9d, r8d",
            "and r9d, 1",
            "shl r9d, 4",
            "rdtsc",
            "shl rdx, 32",
            "or rdx, rax",
            "mov eax, gs:[r9 + {scale} + {mul}]",
            "mov ecx, gs:[r9 + {scale} + {shift}]",
            "mov r9, gs:[r9 + {scale} + {offset}]",
            "cmp r8d, gs:[rip + {scale} + {at}]",
            "jne 2b",
            "mul rdx",
            "shrd rax, rdx, cl",
            "add rax, r9",
            "test r8b, 1",
            "cmovnz r8d, gs:[rip + {seen}]",
            "mov gs:[rip + {seen}], r8d",
            "pop r9",
            "pop r8",
            "3:",
            scale = sym bindings::cyc2ns,
            seen = sym rtrace_scale_seen,
            at = const offset_of!(Scale, sequence),
            mul = const offset_of!(ScaleData, mul),
            shift = const offset_of!(ScaleData, shift),
            offset = const offset_of!(ScaleData, offset),
            before = out(reg) _,
            out("rax") now,
            out("rcx") _,
            out("rdx") _,
        );
    }
    now
}

extern "C" {
    /// `rust/abi/trace.h`, per CPU.
    static rtrace_scale_seen: u32;
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

/// This CPU's scale.
fn this_scale() -> &'static Scale {
    let base = &raw const bindings::cyc2ns;
    // SAFETY: per-CPU data of this layout (asserted above), of a possible CPU; its words are changed by C code one at
    // a time, without tearing.
    unsafe { &*base.wrapping_byte_add(percpu::this_offset()).cast() }
}

/// The CPU's cycle counter, read in program order.
pub(crate) fn cycles() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::trace_clock_x86_tsc() }
}
