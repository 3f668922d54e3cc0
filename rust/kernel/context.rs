// SPDX-License-Identifier: GPL-2.0

//! The context that code runs in: the CPU's and the task's words about it, each read by one
//! instruction.
//!
//! C headers: `include/linux/preempt.h`, `include/linux/irqflags.h`, `include/linux/thread_info.h`.

#[cfg(any(
    CONFIG_EVENT_TRACING,
    CONFIG_IRQSOFF_TRACER,
    CONFIG_PREEMPT_TRACER,
    CONFIG_BRANCH_TRACER
))]
use core::marker::PhantomData;
#[cfg(any(CONFIG_SYNTH_EVENTS, CONFIG_EPROBE_EVENTS, CONFIG_USER_EVENTS))]
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
#[cfg(not(CONFIG_PREEMPT_COUNT))]
use core::sync::atomic::{compiler_fence, Ordering};
use kernel::bindings;
use kernel::types::NotThreadSafe;

/// How many levels of contexts there are on a CPU; see [`PreemptCount::level`].
pub(crate) const LEVELS: u32 = 4;

/// The CPU's preemption count; on x86 with an inverted "need to reschedule" bit. It stays in the context
/// that has read it: neither a static nor what interrupts that can have it.
#[derive(Clone, Copy)]
pub(crate) struct PreemptCount(u64, NotThreadSafe);

impl PreemptCount {
    const DEPTH: u64 = (1 << bindings::PREEMPT_BITS) - 1;
    const SERVING_SOFTIRQ: u64 = bindings::SOFTIRQ_OFFSET as u64;
    const BH_OFF: u64 =
        (((1 << bindings::SOFTIRQ_BITS) - 1) << bindings::SOFTIRQ_SHIFT) & !Self::SERVING_SOFTIRQ;
    const HARDIRQ: u64 = ((1 << bindings::HARDIRQ_BITS) - 1) << bindings::HARDIRQ_SHIFT;
    /// The rest of the 32 bits.
    const NMI: u64 = (u32::MAX >> bindings::NMI_SHIFT << bindings::NMI_SHIFT) as u64;
    /// Set while nobody asks for a reschedule; no bit where the count does not say that.
    const NO_RESCHED: u64 = if cfg!(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS) {
        1 << 63
    } else {
        0
    };

    /// Reads it. Any context.
    #[inline(always)]
    pub(crate) fn read() -> Self {
        Self(raw_preempt_count(), NotThreadSafe)
    }

    /// The count as it was before the generated code of an event's probe turned preemption off,
    /// which it has where that can be on.
    #[cfg(CONFIG_EVENT_TRACING)]
    #[inline(always)]
    pub(crate) fn before_probe(self) -> Self {
        self.minus(cfg!(CONFIG_PREEMPTION))
    }

    /// The count as it was, if [`Self::before_probe`] has subtracted 1 from a depth of 0: behind an
    /// `int3` nobody has turned preemption off. Preemption is never off as often as the count says then.
    pub(crate) fn without_borrow(self) -> Self {
        match self.depth() {
            Self::DEPTH => Self(self.0.wrapping_add(1), NotThreadSafe),
            _ => self,
        }
    }

    /// The count as it was before a guard turned preemption off, which nothing else has done since.
    #[inline(always)]
    pub(crate) fn before(self, _stay: &PreemptOff) -> Self {
        self.minus(cfg!(CONFIG_PREEMPT_COUNT))
    }

    /// The count as it was before the recursion guard turned preemption off, which nothing else has
    /// done since.
    #[cfg(CONFIG_FUNCTION_TRACER)]
    #[inline(always)]
    pub(crate) fn before_recursion_guard(self) -> Self {
        self.minus(cfg!(CONFIG_PREEMPT_COUNT))
    }

    /// Turned off once less, if `once`.
    #[inline(always)]
    fn minus(self, once: bool) -> Self {
        Self(self.0.wrapping_sub(once.into()), NotThreadSafe)
    }

    /// How deep preemption may be off in [a plain task](Self::is_plain_task).
    pub(crate) const PLAIN_DEPTH: u32 = 0xf;

    /// A task that holds preemption off at most 15 deep, with nothing else to report?
    ///
    /// Where "need to reschedule" has a word of its own above the count, it is not looked at: it is set
    /// after the flag of the task ([`resched_flags`]) and cleared right after it.
    #[inline(always)]
    pub(crate) fn is_plain_task(self) -> bool {
        self.0 as u32 <= Self::PLAIN_DEPTH
    }

    /// Whether this is an interrupt or NMI handler, or preemption or softirqs are held off.
    pub(crate) fn is_atomic(self) -> bool {
        self.0 & !Self::NO_RESCHED != 0
    }

    /// How often preemption was disabled.
    #[inline(always)]
    pub(crate) fn depth(self) -> u64 {
        self.0 & Self::DEPTH
    }

    /// Is preemption held off, or is this an interrupt?
    #[cfg(any(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
    #[inline(always)]
    pub(crate) fn is_held(self) -> bool {
        self.0 & !Self::NO_RESCHED != 0
    }

    /// Whether this is a softirq handler. In the context that the count was read in.
    pub(crate) fn in_softirq(self) -> bool {
        (self.0 | task_softirqs()) & Self::SERVING_SOFTIRQ != 0
    }

    /// Are softirqs held off (beyond one that runs)? In the context that the count was read in.
    pub(crate) fn bh_off(self) -> bool {
        (self.0 | task_softirqs()) & Self::BH_OFF != 0
    }

    /// Whether this is a hard interrupt handler.
    pub(crate) fn in_hardirq(self) -> bool {
        self.0 & Self::HARDIRQ != 0
    }

    /// Whether this is an NMI handler.
    pub(crate) fn in_nmi(self) -> bool {
        self.0 & Self::NMI != 0
    }

    /// Is a reschedule due as soon as the count falls to 0?
    pub(crate) fn need_resched(self) -> bool {
        self.0 & Self::NO_RESCHED != Self::NO_RESCHED
    }

    /// How contexts nest on a CPU: 0 task, 1 softirq, 2 hard interrupt, 3 NMI; below [`LEVELS`].
    /// With `PREEMPT_RT` softirqs run in tasks, at level 0.
    pub(crate) fn level(self) -> u32 {
        if self.in_nmi() {
            3
        } else if self.in_hardirq() {
            2
        } else {
            (self.0 & Self::SERVING_SOFTIRQ != 0).into()
        }
    }
}

/// The current task's count of softirqs, laid out as the softirq bits of [`PreemptCount`]. Any
/// context.
#[cfg(CONFIG_PREEMPT_RT)]
#[inline(always)]
pub(crate) fn task_softirqs() -> u64 {
    // SAFETY: `current` is a live task whenever code runs; only the task itself changes its count.
    unsafe { (*bindings::get_current()).softirq_disable_cnt as u64 }
}

/// 0: without `PREEMPT_RT` softirqs are counted in the preemption count alone.
#[cfg(not(CONFIG_PREEMPT_RT))]
#[inline(always)]
pub(crate) fn task_softirqs() -> u64 {
    0
}

/// The bits of the flags that say that interrupts are on.
#[cfg(CONFIG_X86)]
const IRQS_ON: usize = 1 << bindings::X86_EFLAGS_IF_BIT;
#[cfg(not(CONFIG_X86))]
const IRQS_ON: usize = !0;

#[cfg(not(CONFIG_UML))]
#[inline(always)]
fn raw_preempt_count() -> u64 {
    // SAFETY: no preconditions.
    unsafe { bindings::raw_preempt_count() as u64 }
}

/// User Mode Linux has no inline helpers, but one CPU.
#[cfg(CONFIG_UML)]
#[inline(always)]
fn raw_preempt_count() -> u64 {
    // SAFETY: the table's one entry is the current task, which lives; only this CPU changes its
    // count.
    unsafe {
        (&raw const (*bindings::cpu_tasks[0]).thread_info.preempt_count).read_volatile() as u64
    }
}

/// Are interrupts off on this CPU? Any context.
#[inline(always)]
pub(crate) fn irqs_off() -> bool {
    // SAFETY: no preconditions.
    unsafe { bindings::arch_local_save_flags() & IRQS_ON == 0 }
}

/// 1 if interrupts are off on this CPU, else 0: as a bit that is to be shifted, and not a decision.
/// Any context.
#[inline(always)]
pub(crate) fn irqs_off_bit() -> u64 {
    #[cfg(CONFIG_X86)]
    {
        // SAFETY: no preconditions.
        let flags = unsafe { bindings::arch_local_save_flags() } as u64;
        flags >> bindings::X86_EFLAGS_IF_BIT & 1 ^ 1
    }
    #[cfg(not(CONFIG_X86))]
    irqs_off().into()
}

/// Which kinds of reschedule the current task is asked for: `TIF_NEED_RESCHED`,
/// `TIF_NEED_RESCHED_LAZY`.
#[inline(always)]
pub(crate) fn resched_flags() -> Resched {
    // SAFETY: no preconditions.
    Resched(unsafe { bindings::read_thread_flags() } as u64)
}

/// The answer of [`resched_flags`].
#[derive(Clone, Copy)]
pub(crate) struct Resched(u64);

impl Resched {
    const NOW: u64 = 1 << bindings::TIF_NEED_RESCHED;
    const LAZY: u64 = if cfg!(CONFIG_ARCH_HAS_PREEMPT_LAZY) {
        1 << bindings::TIF_NEED_RESCHED_LAZY
    } else {
        0
    };

    /// Neither.
    #[inline(always)]
    pub(crate) fn none(self) -> bool {
        self.0 & (Self::NOW | Self::LAZY) == 0
    }

    /// `TIF_NEED_RESCHED`.
    pub(crate) fn now(self) -> bool {
        self.0 & Self::NOW != 0
    }

    /// `TIF_NEED_RESCHED_LAZY`.
    pub(crate) fn lazy(self) -> bool {
        self.0 & Self::LAZY != 0
    }
}

/// The current task's pid, in the first pid namespace. Any context.
#[inline(always)]
pub(crate) fn current_pid() -> i32 {
    // SAFETY: `current` is a live task whenever code runs, and its pid does not change while it
    // runs.
    unsafe { (*bindings::get_current()).pid }
}

/// The current task, for code that has no register in which it could stay since it was read before.
/// Any context.
#[inline(always)]
pub(crate) fn current_anew() -> NonNull<bindings::task_struct> {
    #[cfg(all(CONFIG_X86, CONFIG_SMP))]
    {
        let task;
        // SAFETY: the word has the CPU's current task, and is only read. The compiler takes it for a
        // constant, and would keep it.
        unsafe {
            core::arch::asm!(
                "mov {task}, gs:[rip + {current}]",
                task = out(reg) task,
                current = sym bindings::current_task,
                options(nostack, preserves_flags, readonly),
            );
        }
        // SAFETY: there is a task whenever code runs.
        unsafe { NonNull::new_unchecked(task) }
    }
    #[cfg(not(all(CONFIG_X86, CONFIG_SMP)))]
    // SAFETY: there is a task whenever code runs.
    unsafe {
        NonNull::new_unchecked(bindings::get_current())
    }
}

/// [`current_pid`] of [`current_anew`].
#[inline(always)]
pub(crate) fn current_pid_anew() -> i32 {
    // SAFETY: `current` is a live task whenever code runs, and its pid does not change while it
    // runs.
    unsafe { (*current_anew().as_ptr()).pid }
}

/// The addresses of the current task and of its name. Any context.
#[cfg(CONFIG_PROBE_EVENTS)]
#[inline(always)]
pub(crate) fn current_and_name() -> (usize, usize) {
    // SAFETY: no preconditions; only an address is taken.
    unsafe {
        let current = bindings::get_current();
        (current as usize, (&raw const (*current).comm) as usize)
    }
}

/// How often the current task disabled migration. Any context.
#[inline(always)]
pub(crate) fn migrate_disabled() -> u16 {
    // SAFETY: `current` is a live task whenever code runs; only the task itself, and what interrupts
    // it, changes the count.
    unsafe { (*bindings::get_current()).migration_disabled }
}

/// Does RCU wait for what runs on this CPU now? Any context, by a few instructions.
#[cfg(CONFIG_BRANCH_TRACER)]
#[inline(always)]
pub(crate) fn rcu_watches() -> bool {
    // SAFETY: no preconditions.
    unsafe { bindings::rtrace_rcu_watches() }
}

/// Interrupts are off on this CPU while it lives, and so is preemption; nothing that is traced is
/// called, and nobody is scheduled at its end.
pub(crate) struct IrqsOff {
    flags: usize,
    _not_send: NotThreadSafe,
}

impl IrqsOff {
    /// Runs `f` with interrupts off. Any context. Regions nest: each restores what it has found.
    #[inline(always)]
    pub(crate) fn with<R>(f: impl FnOnce(&Self) -> R) -> R {
        let off = Self {
            // SAFETY: undone by `drop`, on this CPU, which nobody can leave with interrupts off.
            flags: unsafe { bindings::raw_local_irq_save() },
            _not_send: NotThreadSafe,
        };
        f(&off)
    }

    /// A proof that preemption is off, for callees.
    #[cfg(CONFIG_BRANCH_TRACER)]
    #[inline(always)]
    pub(crate) fn lend(&self) -> LentOff<'_> {
        LentOff(PhantomData, NotThreadSafe)
    }
}

impl Drop for IrqsOff {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the flags that `with` saved on this CPU.
        unsafe { bindings::raw_local_irq_restore(self.flags) };
    }
}

/// Calls `f` with interrupts off. Unlike [`IrqsOff`] this is for long work, such as printing: lockdep
/// and the tracers of latencies are told. Any context.
pub(crate) fn with_interrupts_off<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: no preconditions; restored below.
    let flags = unsafe { bindings::local_irq_save() };
    let result = f();
    // SAFETY: the flags that were saved above on this CPU, which nobody can leave with interrupts off.
    unsafe { bindings::local_irq_restore(flags) };
    result
}

/// The kernel may not touch user memory while it lives, even if it is made within
/// `user_access_begin()`.
#[cfg(CONFIG_BRANCH_TRACER)]
pub(crate) struct UserClosed {
    flags: usize,
    _not_send: NotThreadSafe,
}

#[cfg(CONFIG_BRANCH_TRACER)]
impl UserClosed {
    /// Closes it. Any context.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            // SAFETY: undone by `drop`.
            flags: unsafe { bindings::user_access_save() },
            _not_send: NotThreadSafe,
        }
    }
}

#[cfg(CONFIG_BRANCH_TRACER)]
impl Drop for UserClosed {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the flags that `new` saved on this CPU, with nothing else open or closed since.
        unsafe { bindings::user_access_restore(self.flags) };
    }
}

/// Preemption is off on this CPU while it lives; turning it off and on calls nothing that is
/// traced, but dropping the guard may schedule.
pub(crate) struct PreemptOff(NotThreadSafe);

impl PreemptOff {
    /// Turns preemption off. Any context.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        // SAFETY: undone by `drop`.
        #[cfg(CONFIG_PREEMPT_COUNT)]
        unsafe {
            bindings::preempt_disable_notrace();
        }
        // Otherwise it is off throughout the kernel.
        #[cfg(not(CONFIG_PREEMPT_COUNT))]
        compiler_fence(Ordering::SeqCst);
        Self(NotThreadSafe)
    }

    /// A proof that it is off, for callees: by value, so that it takes no register.
    #[cfg(any(CONFIG_EVENT_TRACING, CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
    #[inline(always)]
    pub(crate) fn lend(&self) -> LentOff<'_> {
        LentOff(PhantomData, NotThreadSafe)
    }

    /// Takes over a guard that was forgotten, on this CPU. Or lends somebody else's: that one is not
    /// dropped.
    ///
    /// # Safety
    ///
    /// There is one, in this context, and nobody else takes it over. Or preemption is off as long as the
    /// result is used, and it is not dropped.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Self {
        Self(NotThreadSafe)
    }
}

/// Calls `f` with preemption off: as it is where it is off already, so that the count tells nothing of
/// this. Any context.
#[cfg(any(CONFIG_SYNTH_EVENTS, CONFIG_EPROBE_EVENTS, CONFIG_USER_EVENTS))]
#[inline(always)]
pub(crate) fn with_preemption_off<R>(f: impl FnOnce(&PreemptOff) -> R) -> R {
    match PreemptCount::read().depth() {
        0 => f(&PreemptOff::new()),
        // SAFETY: somebody in this context has turned it off, and does not turn it on before this
        // returns; the guard is not dropped.
        _ => f(&ManuallyDrop::new(unsafe { PreemptOff::assume() })),
    }
}

/// Preemption is off on this CPU as long as it or what it is lent from lives.
///
/// # Safety
///
/// That holds.
pub(crate) unsafe trait Pinned {}

// SAFETY: `new` turns preemption off, `assume` takes over a guard that did, and `drop` alone turns it
// on again.
unsafe impl Pinned for PreemptOff {}

/// Preemption is off because somebody else's guard lives.
#[cfg(any(
    CONFIG_EVENT_TRACING,
    CONFIG_IRQSOFF_TRACER,
    CONFIG_PREEMPT_TRACER,
    CONFIG_BRANCH_TRACER
))]
#[derive(Clone, Copy)]
pub(crate) struct LentOff<'a>(PhantomData<&'a ()>, NotThreadSafe);

#[cfg(any(
    CONFIG_EVENT_TRACING,
    CONFIG_IRQSOFF_TRACER,
    CONFIG_PREEMPT_TRACER,
    CONFIG_BRANCH_TRACER
))]
// SAFETY: it is lent by a guard, which lives longer.
unsafe impl Pinned for LentOff<'_> {}

impl Drop for PreemptOff {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: undoes `new`.
        #[cfg(CONFIG_PREEMPT_COUNT)]
        unsafe {
            bindings::preempt_enable_notrace();
        }
        #[cfg(not(CONFIG_PREEMPT_COUNT))]
        compiler_fence(Ordering::SeqCst);
    }
}
