// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that need the address they were called from, which only C can tell. Each hands it on by a jump.
 */
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/instruction_pointer.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include "latency.h"

/* A kprobe in any of these would come back by way of its own interrupt entry, for ever. */

#ifdef CONFIG_TRACE_IRQFLAGS
void trace_hardirqs_off(void)
{
	tracer_hardirqs_off(_RET_IP_);
}
EXPORT_SYMBOL(trace_hardirqs_off);
NOKPROBE_SYMBOL(trace_hardirqs_off);

void trace_hardirqs_on(void)
{
	tracer_hardirqs_on(_RET_IP_);
}
EXPORT_SYMBOL(trace_hardirqs_on);
NOKPROBE_SYMBOL(trace_hardirqs_on);

/* The same for entry code, which has its own order of things with lockdep. */
void trace_hardirqs_off_finish(void)
{
	tracer_hardirqs_off(_RET_IP_);
}
EXPORT_SYMBOL(trace_hardirqs_off_finish);
NOKPROBE_SYMBOL(trace_hardirqs_off_finish);

void trace_hardirqs_on_prepare(void)
{
	tracer_hardirqs_on(_RET_IP_);
}
EXPORT_SYMBOL(trace_hardirqs_on_prepare);
NOKPROBE_SYMBOL(trace_hardirqs_on_prepare);
#endif

#if defined(CONFIG_IRQSOFF_TRACER) || defined(CONFIG_PREEMPT_TRACER)
NOKPROBE_SYMBOL(tracer_hardirqs_off);
NOKPROBE_SYMBOL(tracer_hardirqs_on);
NOKPROBE_SYMBOL(rtrace_start_critical_timings);
NOKPROBE_SYMBOL(rtrace_stop_critical_timings);

void start_critical_timings(void)
{
	rtrace_start_critical_timings(_RET_IP_);
}
EXPORT_SYMBOL_GPL(start_critical_timings);
NOKPROBE_SYMBOL(start_critical_timings);

void stop_critical_timings(void)
{
	rtrace_stop_critical_timings(_RET_IP_);
}
EXPORT_SYMBOL_GPL(stop_critical_timings);
NOKPROBE_SYMBOL(stop_critical_timings);
#endif

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
