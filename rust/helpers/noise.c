// SPDX-License-Identifier: GPL-2.0
/* What the threads of the tracers of noise do. */
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/smp.h>

__rust_helper void rust_helper_rtrace_migrate_disable(void)
{
	migrate_disable();
}

__rust_helper void rust_helper_rtrace_migrate_enable(void)
{
	migrate_enable();
}

/* cgroups refuse a thread that nobody may move, as one that was made for a CPU is. */
__rust_helper void rust_helper_rtrace_allow_affinity(void)
{
	guard(raw_spinlock_irqsave)(&current->pi_lock);
	current->flags &= ~PF_NO_SETAFFINITY;
}

/* Does somebody wait until this task, which may not migrate, does? */
__rust_helper bool rust_helper_rtrace_migration_pending(void)
{
#ifdef CONFIG_SMP
	return current->migration_pending;
#else
	return false;
#endif
}

__rust_helper void rust_helper_rtrace_prepare_to_sleep(void)
{
	set_current_state(TASK_INTERRUPTIBLE);
}

__rust_helper void rust_helper_rtrace_stay_awake(void)
{
	__set_current_state(TASK_RUNNING);
}

__rust_helper void rust_helper_rtrace_cond_resched(void)
{
	cond_resched();
}

__rust_helper void rust_helper_rtrace_tasks_rcu_qs(void)
{
	cond_resched_tasks_rcu_qs();
}

__rust_helper void rust_helper_rtrace_local_irq_disable(void)
{
	local_irq_disable();
}

__rust_helper void rust_helper_rtrace_local_irq_enable(void)
{
	local_irq_enable();
}

__rust_helper void rust_helper_rtrace_preempt_disable(void)
{
	preempt_disable();
}

__rust_helper void rust_helper_rtrace_preempt_enable(void)
{
	preempt_enable();
}

__rust_helper void rust_helper_rtrace_momentary_eqs(void)
{
	rcu_momentary_eqs();
}

__rust_helper const struct cpumask *rust_helper_rtrace_current_cpus(void)
{
	return current->cpus_ptr;
}

__rust_helper int rust_helper_rtrace_current_cpu_count(void)
{
	return current->nr_cpus_allowed;
}

/* Kills the process of a task. */
__rust_helper void rust_helper_rtrace_kill(struct task_struct *task)
{
	guard(rcu)();
	kill_pid(task_pid(task), SIGKILL, 1);
}
