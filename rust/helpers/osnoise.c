// SPDX-License-Identifier: GPL-2.0
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/panic.h>
#include <linux/sched.h>
#include <linux/trace.h>
#include <trace/events/irq.h>
#include "osnoise.h"

#define CREATE_TRACE_POINTS
#include <trace/events/osnoise.h>

/* Architectures whose interrupts have tracepoints of their own define them. */
int __weak osnoise_arch_register(void)
{
	return 0;
}

void __weak osnoise_arch_unregister(void)
{
}

void rtrace_osnoise_sample(const struct rtrace_osnoise_sample *sample)
{
	struct osnoise_sample s = {
		.runtime = sample->runtime,
		.noise = sample->noise,
		.max_sample = sample->max_sample,
		.hw_count = sample->hw_count,
		.nmi_count = sample->nmi_count,
		.irq_count = sample->irq_count,
		.softirq_count = sample->softirq_count,
		.thread_count = sample->thread_count,
	};

	trace_osnoise_sample(&s);
}

#ifdef CONFIG_TIMERLAT_TRACER
void rtrace_timerlat_sample(u32 seqnum, int context, u64 latency)
{
	struct timerlat_sample s = { .timer_latency = latency, .seqnum = seqnum, .context = context };

	trace_timerlat_sample(&s);
}
#endif

void rtrace_thread_noise(struct task_struct *task, u64 start, u64 duration)
{
	trace_thread_noise(task, start, duration);
}

void rtrace_softirq_noise(int vector, u64 start, u64 duration)
{
	trace_softirq_noise(vector, start, duration);
}

void rtrace_irq_noise(int vector, const char *description, u64 start, u64 duration)
{
	trace_irq_noise(vector, description, start, duration);
}

void rtrace_nmi_noise(u64 start, u64 duration)
{
	trace_nmi_noise(start, duration);
}

void rtrace_sample_threshold(u64 start, u64 duration, u64 interference)
{
	trace_sample_threshold(start, duration, interference);
}

void __noreturn rtrace_osnoise_panic(unsigned int cpu, const char *exception)
{
	if (exception)
		panic("tracer hit on cpu %d due to exception: %s\n", cpu, exception);
	panic("tracer hit stop condition on CPU %d\n", cpu);
}
