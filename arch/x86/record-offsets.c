// SPDX-License-Identifier: GPL-2.0
/* What entry.S knows of tasks: kbuild makes record-offsets.h of it. */
#define COMPILE_OFFSETS
#include <linux/kbuild.h>
#include <linux/sched.h>
#include <linux/thread_info.h>

static void __used common(void)
{
	DEFINE(RTRACE_TASK_FLAGS, offsetof(struct task_struct, thread_info.flags));
	DEFINE(RTRACE_TASK_MIGRATION, offsetof(struct task_struct, migration_disabled));
	DEFINE(RTRACE_TASK_PID, offsetof(struct task_struct, pid));
#ifdef CONFIG_ARCH_HAS_PREEMPT_LAZY
	DEFINE(RTRACE_TASK_RESCHED, _TIF_NEED_RESCHED | _TIF_NEED_RESCHED_LAZY);
#else
	DEFINE(RTRACE_TASK_RESCHED, _TIF_NEED_RESCHED);
#endif
}
