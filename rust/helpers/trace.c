// SPDX-License-Identifier: GPL-2.0

#include <linux/cfi.h>
#include <linux/context_tracking.h>
#include <linux/cpu.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/page_ref.h>
#include <linux/oom.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/cred.h>
#include <linux/sched/clock.h>
#include <linux/sched/isolation.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/spinlock.h>
#include <linux/thread_info.h>
#include <linux/topology.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <asm/sections.h>

#include "percpu.h"

#ifdef CONFIG_X86
__rust_helper unsigned long rust_helper_raw_preempt_count(void)
{
	return raw_cpu_read(__preempt_count);
}
#endif

#ifndef CONFIG_HAVE_UNSTABLE_SCHED_CLOCK
__rust_helper u64 rust_helper_local_clock(void)
{
	return local_clock();
}
#endif

#ifdef CONFIG_TINY_RCU
__rust_helper bool rust_helper_rcu_is_watching(void)
{
	return rcu_is_watching();
}
#endif

/*
 * On this CPU; with `housekeeping` on another one, where this one is kept free of noise and another one may be interrupted. C
 * takes any housekeeping CPU then, also where this one is one; that would be an interrupt of another CPU, and a traced call at
 * each wake-up. Returns false, and does nothing, on a CPU that does not run irq_work now: see rust/kernel/irq_work.rs.
 */
__rust_helper bool rust_helper_rtrace_irq_work_queue(struct irq_work *work, bool housekeeping)
{
	int cpu, other;
	bool runs;

	preempt_disable_notrace();
	cpu = other = smp_processor_id();
	/* With PREEMPT_RT a thread of the CPU runs it, which stops earlier. */
	runs = IS_ENABLED(CONFIG_PREEMPT_RT) ? cpu_active(cpu) : cpu_online(cpu);
	if (housekeeping && !housekeeping_cpu(cpu, HK_TYPE_KERNEL_NOISE) && !in_nmi())
		other = housekeeping_any_cpu(HK_TYPE_KERNEL_NOISE);
	/* Its thread may have stopped. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !cpu_active(other))
		other = cpu;
	if (runs && other == cpu)
		irq_work_queue(work);
	else if (runs)
		irq_work_queue_on(work, other);
	preempt_enable_notrace();
	return runs;
}

__rust_helper bool rust_helper_rtrace_are_cpus_settled(void)
{
	return cpumask_equal(cpu_active_mask, cpu_online_mask);
}

__rust_helper bool rust_helper_rtrace_housekeeping_cpu(int cpu)
{
	return housekeeping_cpu(cpu, HK_TYPE_KERNEL_NOISE);
}

/* Whether anything can be recorded on a CPU until RCU begins to watch it. Where idle code can be traced, that is always so. */
__rust_helper bool rust_helper_rtrace_rcu_watches_cpu(int cpu)
{
#if defined(CONFIG_CONTEXT_TRACKING_IDLE) && defined(CONFIG_ARCH_WANTS_NO_INSTR)
	return ct_rcu_watching_cpu_acquire(cpu) & CT_RCU_WATCHING;
#else
	return true;
#endif
}

__rust_helper void rust_helper_preempt_disable_notrace(void)
{
	preempt_disable_notrace();
}

__rust_helper void rust_helper_preempt_enable_notrace(void)
{
	preempt_enable_notrace();
}

__rust_helper unsigned long rust_helper_arch_local_save_flags(void)
{
	return arch_local_save_flags();
}

__rust_helper unsigned long rust_helper_raw_local_irq_save(void)
{
	unsigned long flags;

	raw_local_irq_save(flags);
	return flags;
}

__rust_helper void rust_helper_raw_local_irq_restore(unsigned long flags)
{
	raw_local_irq_restore(flags);
}

/* Lockdep and the tracers of latencies are told of these two. */
__rust_helper unsigned long rust_helper_local_irq_save(void)
{
	unsigned long flags;

	local_irq_save(flags);
	return flags;
}

__rust_helper void rust_helper_local_irq_restore(unsigned long flags)
{
	local_irq_restore(flags);
}

/* With preemption off, and in line where the kernel has it so. */
__rust_helper bool rust_helper_rtrace_rcu_watches_here(void)
{
#ifdef CONFIG_CONTEXT_TRACKING_IDLE
	return rcu_is_watching_curr_cpu();
#else
	return rcu_is_watching();
#endif
}

#ifdef CONFIG_BRANCH_TRACER
/* A CPU that goes watches longer than RCU waits for it. */
__rust_helper bool rust_helper_rtrace_rcu_watches(void)
{
	return cpu_online(raw_smp_processor_id()) && rust_helper_rtrace_rcu_watches_here();
}

__rust_helper unsigned long rust_helper_user_access_save(void)
{
	return user_access_save();
}

__rust_helper void rust_helper_user_access_restore(unsigned long flags)
{
	user_access_restore(flags);
}
#endif

__rust_helper unsigned long rust_helper_read_thread_flags(void)
{
	return READ_ONCE(current_thread_info()->flags);
}

#ifdef CONFIG_SMP
__rust_helper void *rust_helper_this_cpu_base(void)
{
	return (void *)raw_cpu_read(this_cpu_off);
}

__rust_helper unsigned long rust_helper_per_cpu_offset(unsigned int cpu)
{
	return per_cpu_offset(cpu);
}
#endif

__rust_helper void rust_helper_arch_spin_lock(arch_spinlock_t *lock)
{
	arch_spin_lock(lock);
}

__rust_helper int rust_helper_arch_spin_trylock(arch_spinlock_t *lock)
{
	return arch_spin_trylock(lock);
}

__rust_helper void rust_helper_arch_spin_unlock(arch_spinlock_t *lock)
{
	arch_spin_unlock(lock);
}

__rust_helper struct page *rust_helper_alloc_pages_node(int node, gfp_t gfp,
							unsigned int order)
{
	return alloc_pages_node(node, gfp, order);
}

__rust_helper void *rust_helper_page_address(struct page *page)
{
	return page_address(page);
}

/*
 * Takes out who polls, and says whether there was anybody: such a one looks at the queue once more, under RCU. A queue that
 * is empty with its lock held is nobody's any more.
 */
__rust_helper bool rust_helper_rtrace_wake_up_pollfree(struct wait_queue_head *queue)
{
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&queue->lock, flags);
	any = waitqueue_active(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	if (!any)
		return false;
	wake_up_pollfree(queue);
	return true;
}

/* Has the OOM killer take this task first, if it is one of a user; says whether that is new. */
__rust_helper bool rust_helper_rtrace_begin_oom_origin(void)
{
	if (!current->mm || oom_task_origin(current))
		return false;
	set_current_oom_origin();
	return true;
}

__rust_helper void rust_helper_rtrace_end_oom_origin(void)
{
	clear_current_oom_origin();
}

__rust_helper bool rust_helper_rtrace_is_killed(void)
{
	return current->mm && fatal_signal_pending(current);
}

__rust_helper bool rust_helper_rtrace_page_is_shared(const void *address)
{
	return page_ref_count(virt_to_page(address)) > 1;
}

/* What kCFI compares before a call. */
__rust_helper u32 rust_helper_rtrace_type_hash(void *function)
{
	return cfi_get_func_hash(function);
}

__rust_helper void rust_helper_tracepoint_synchronize_unregister(void)
{
	tracepoint_synchronize_unregister();
}

__rust_helper void rust_helper_rtrace_synchronize_rcu_expedited(void)
{
	synchronize_rcu_expedited();
}

__rust_helper void rust_helper_rtrace_expedite_probes(void)
{
	/* rust/abi/boot.c has it initialised once the scheduler runs. */
	if (rcu_scheduler_active)
		srcu_expedite_current(&tracepoint_srcu);
}

__rust_helper void rust_helper_rtrace_cpus_read_lock(void)
{
	cpus_read_lock();
}

__rust_helper void rust_helper_rtrace_cpus_read_unlock(void)
{
	cpus_read_unlock();
}

__rust_helper struct page *rust_helper_rtrace_page_at(const void *address)
{
	return virt_to_page(address);
}

__rust_helper int rust_helper_cpu_to_node(int cpu)
{
	return cpu_to_node(cpu);
}

__rust_helper void rust_helper_init_irq_work(struct irq_work *work,
					     void (*func)(struct irq_work *))
{
	init_irq_work(work, func);
}

__rust_helper void rust_helper_set_entry_made(bool made)
{
	raw_cpu_write(rtrace_entry_made, made);
}

__rust_helper bool rust_helper_get_entry_made(void)
{
	return raw_cpu_read(rtrace_entry_made);
}

__rust_helper unsigned int rust_helper_rtrace_current_user(void)
{
	return __kuid_val(current_uid());
}

__rust_helper unsigned int rust_helper_rtrace_task_user(struct task_struct *task)
{
	return __kuid_val(task_uid(task));
}

__rust_helper unsigned int rust_helper_rtrace_user_here(unsigned int uid)
{
	return from_kuid_munged(current_user_ns(), KUIDT_INIT(uid));
}

__rust_helper unsigned int rust_helper_rtrace_task_cpu(struct task_struct *task)
{
	return task_cpu(task);
}

__rust_helper unsigned int rust_helper_rtrace_task_state(struct task_struct *task)
{
	return task_state_index(task);
}

__rust_helper void *rust_helper_rtrace_task_stack(void)
{
	return task_stack_page(current);
}

/* A word of a stack, which may be one between variables that KASAN has poisoned. */
__rust_helper unsigned long rust_helper_rtrace_stack_word(const unsigned long *word)
{
	return READ_ONCE_NOCHECK(*word);
}

__rust_helper bool rust_helper_rtrace_stack_overrun(void)
{
	return task_stack_end_corrupted(current);
}

/* Physical memory that was reserved at boot under a name; null if there is none. */
__rust_helper void *rust_helper_rtrace_reserved_memory(const char *name, phys_addr_t *start, phys_addr_t *size)
{
	return reserve_mem_find_by_name(name, start, size) ? phys_to_virt(*start) : NULL;
}

/* Physical memory that the kernel does not use, mapped for good. */
__rust_helper void *rust_helper_rtrace_map_memory(phys_addr_t start, size_t size)
{
	return memremap(start, size, MEMREMAP_WB);
}

__rust_helper unsigned long rust_helper_rtrace_text_start(void)
{
	return (unsigned long)_text;
}

/* Is it in the kernel's image? */
__rust_helper bool rust_helper_rtrace_is_kernel_image(unsigned long addr)
{
	return __is_kernel(addr) || is_kernel_core_data(addr) || is_kernel_rodata(addr);
}

/* Where a module's text is, and its name. */
__rust_helper unsigned long rust_helper_rtrace_module_text(struct module *module, const char **name)
{
#ifdef CONFIG_MODULES
	*name = module->name;
	return (unsigned long)module->mem[MOD_TEXT].base;
#else
	return 0;
#endif
}

#ifndef CONFIG_MODULE_UNLOAD
__rust_helper bool rust_helper_try_module_get(struct module *module)
{
	return try_module_get(module);
}

__rust_helper void rust_helper_module_put(struct module *module)
{
	module_put(module);
}
#endif

/* Calls back for each module there is. */
__rust_helper void rust_helper_rtrace_for_each_module(int (*call)(struct module *module, void *data), void *data)
{
#ifdef CONFIG_MODULES
	module_for_each_mod(call, data);
#endif
}

__rust_helper bool rust_helper_rtrace_module_exists(const char *name)
{
	guard(rcu)();
	return find_module(name);
}
