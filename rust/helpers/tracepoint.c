// SPDX-License-Identifier: GPL-2.0
#include <linux/instruction_pointer.h>
#include <linux/ptrace.h>
#include <linux/stacktrace.h>
#include "tracepoint.h"

/* A function that asks for its frame has one: its caller's frame pointer and return address, and then its caller's stack. */
#define CALLER(frame) { .ip = _RET_IP_, .sp = (unsigned long)((frame) + 2), .bp = (frame)[0] }

void rtrace_probe_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
			 unsigned int prev_state)
{
	unsigned long *frame = __builtin_frame_address(0);
	struct rtrace_caller from = CALLER(frame);
	struct rtrace_sched_probe *probe = data;

	probe->switched(probe, prev, next, &from);
}

void rtrace_probe_wakeup(void *data, struct task_struct *task)
{
	unsigned long *frame = __builtin_frame_address(0);
	struct rtrace_caller from = CALLER(frame);
	struct rtrace_sched_probe *probe = data;

	probe->woken(probe, task, &from);
}

#ifdef CONFIG_SCHED_TRACER
unsigned int rtrace_save_stack_of(const struct rtrace_caller *caller, unsigned long *into, unsigned int room)
{
	struct pt_regs regs = { .ip = caller->ip, .sp = caller->sp, .bp = caller->bp, .cs = __KERNEL_CS };

	return stack_trace_save_regs(&regs, into, room, 0);
}
#endif
