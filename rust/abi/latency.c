// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that need the address they were called from, which only C can tell. Each hands it on by a jump.
 */
#include <linux/instruction_pointer.h>
#include "latency.h"

void rtrace_probe_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
			 unsigned int prev_state)
{
	struct rtrace_sched_probe *probe = data;

	probe->switched(probe, prev, next, _RET_IP_);
}

void rtrace_probe_wakeup(void *data, struct task_struct *task)
{
	struct rtrace_sched_probe *probe = data;

	probe->woken(probe, task, _RET_IP_);
}
