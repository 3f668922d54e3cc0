/* SPDX-License-Identifier: GPL-2.0 */
/* What latency.c and the Rust side share. */
#ifndef RTRACE_ABI_LATENCY_H
#define RTRACE_ABI_LATENCY_H

#include <linux/types.h>

struct task_struct;

/* In latency.rs; the names are in output, as those of the functions where a measurement ended. */
#if defined(CONFIG_IRQSOFF_TRACER) || defined(CONFIG_PREEMPT_TRACER)
void tracer_hardirqs_off(unsigned long ip);
void tracer_hardirqs_on(unsigned long ip);
void rtrace_start_critical_timings(unsigned long ip);
void rtrace_stop_critical_timings(unsigned long ip);
#else
static inline void tracer_hardirqs_off(unsigned long ip) { }
static inline void tracer_hardirqs_on(unsigned long ip) { }
#endif

#ifdef CONFIG_TRACE_PREEMPT_TOGGLE
void tracer_preempt_on(unsigned long ip, unsigned long parent_ip);
void tracer_preempt_off(unsigned long ip, unsigned long parent_ip);
#endif

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
