/* SPDX-License-Identifier: GPL-2.0 */
/* Probes that know where they were called from, which only C can tell. */
#ifndef RTRACE_HELPERS_TRACEPOINT_H
#define RTRACE_HELPERS_TRACEPOINT_H

#include <linux/types.h>

struct task_struct;

/* Who called a probe: the address it returns to, and the registers that the unwinder needs as they are there. */
struct rtrace_caller {
	unsigned long ip;
	unsigned long sp;
	unsigned long bp;
};

/* Functions of a probe in the scheduler; `from` is in the tracepoint's code. */
struct rtrace_sched_probe {
	void (*switched)(struct rtrace_sched_probe *probe, struct task_struct *prev,
			 struct task_struct *next, const struct rtrace_caller *from);
	void (*woken)(struct rtrace_sched_probe *probe, struct task_struct *task, const struct rtrace_caller *from);
};

/* What such a probe registers for sched_switch, and for sched_wakeup and sched_wakeup_new, with itself as the data. */
void rtrace_probe_switch(void *probe, bool preempt, struct task_struct *prev, struct task_struct *next,
			 unsigned int prev_state);
void rtrace_probe_wakeup(void *probe, struct task_struct *task);

/* Writes the return addresses from the caller on to `into`, innermost first, as far as there is room; how many. */
unsigned int rtrace_save_stack_of(const struct rtrace_caller *caller, unsigned long *into, unsigned int room);

#endif
