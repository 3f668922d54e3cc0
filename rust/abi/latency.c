// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that need to know where they were called from, which only C can tell; and the tracepoints of preemptirq.h.
 */
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/instruction_pointer.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/rcupdate.h>
#include "latency.h"

#define CREATE_TRACE_POINTS
#include <trace/events/preemptirq.h>

/* A kprobe in any of these would come back by way of its own interrupt entry, for ever. */

#ifdef CONFIG_TRACE_IRQFLAGS
/*
 * Has what was told last on this CPU turned interrupts off? Only a change is an event. It is kept while none is enabled, too: the
 * first one that is enabled has to know it.
 */
static DEFINE_PER_CPU(bool, irqs_told_off);

static noinline notrace void irqs_off_with_event(unsigned long ip, unsigned long parent_ip)
{
	bool changes = !this_cpu_read(irqs_told_off);

	this_cpu_write(irqs_told_off, true);
	tracer_hardirqs_off(ip);
	if (changes && rcu_is_watching())
		trace_irq_disable(ip, parent_ip);
}
NOKPROBE_SYMBOL(irqs_off_with_event);

static noinline notrace void irqs_on_with_event(unsigned long ip, unsigned long parent_ip)
{
	if (this_cpu_read(irqs_told_off) && rcu_is_watching())
		trace_irq_enable(ip, parent_ip);
	this_cpu_write(irqs_told_off, false);
	tracer_hardirqs_on(ip);
}
NOKPROBE_SYMBOL(irqs_on_with_event);

static __always_inline bool has_event(void)
{
	return unlikely(trace_irq_disable_enabled() || trace_irq_enable_enabled());
}

static __always_inline void irqs_off(unsigned long ip, unsigned long parent_ip)
{
	if (has_event()) {
		irqs_off_with_event(ip, parent_ip);
	} else {
		this_cpu_write(irqs_told_off, true);
		tracer_hardirqs_off(ip);
	}
}

static __always_inline void irqs_on(unsigned long ip, unsigned long parent_ip)
{
	if (has_event()) {
		irqs_on_with_event(ip, parent_ip);
	} else {
		this_cpu_write(irqs_told_off, false);
		tracer_hardirqs_on(ip);
	}
}

void trace_hardirqs_off(void)
{
	lockdep_hardirqs_off(_RET_IP_);
	irqs_off(_RET_IP_, CALLER_ADDR1);
}
EXPORT_SYMBOL(trace_hardirqs_off);
NOKPROBE_SYMBOL(trace_hardirqs_off);

void trace_hardirqs_on(void)
{
	irqs_on(_RET_IP_, CALLER_ADDR1);
	lockdep_hardirqs_on_prepare();
	lockdep_hardirqs_on(_RET_IP_);
}
EXPORT_SYMBOL(trace_hardirqs_on);
NOKPROBE_SYMBOL(trace_hardirqs_on);

/* The same for entry code, which tells lockdep itself. */
void trace_hardirqs_off_finish(void)
{
	irqs_off(_RET_IP_, CALLER_ADDR1);
}
EXPORT_SYMBOL(trace_hardirqs_off_finish);
NOKPROBE_SYMBOL(trace_hardirqs_off_finish);

void trace_hardirqs_on_prepare(void)
{
	irqs_on(_RET_IP_, CALLER_ADDR1);
}
EXPORT_SYMBOL(trace_hardirqs_on_prepare);
NOKPROBE_SYMBOL(trace_hardirqs_on_prepare);
#endif

#ifdef CONFIG_TRACE_PREEMPT_TOGGLE
void trace_preempt_on(unsigned long ip, unsigned long parent_ip)
{
	trace_preempt_enable(ip, parent_ip);
	tracer_preempt_on(ip, parent_ip);
}

void trace_preempt_off(unsigned long ip, unsigned long parent_ip)
{
	trace_preempt_disable(ip, parent_ip);
	tracer_preempt_off(ip, parent_ip);
}
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
