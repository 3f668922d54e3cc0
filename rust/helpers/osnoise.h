/* SPDX-License-Identifier: GPL-2.0 */
/* The tracepoints of <trace/events/osnoise.h>, and a panic, which is variadic. */
#ifndef RTRACE_HELPERS_OSNOISE_H
#define RTRACE_HELPERS_OSNOISE_H

#include <linux/types.h>

struct task_struct;

/* An event osnoise_sample. */
struct rtrace_osnoise_sample {
	u64 runtime;
	u64 noise;
	u64 max_sample;
	u32 hw_count;
	u32 nmi_count;
	u32 irq_count;
	u32 softirq_count;
	u32 thread_count;
};

void rtrace_osnoise_sample(const struct rtrace_osnoise_sample *sample);
void rtrace_timerlat_sample(u32 seqnum, int context, u64 latency);
void rtrace_thread_noise(struct task_struct *task, u64 start, u64 duration);
void rtrace_softirq_noise(int vector, u64 start, u64 duration);
void rtrace_irq_noise(int vector, const char *description, u64 start, u64 duration);
void rtrace_nmi_noise(u64 start, u64 duration);
void rtrace_sample_threshold(u64 start, u64 duration, u64 interference);

/* Panics with the message that @cpu has met a condition to stop; with one about an exception if there is one. */
void __noreturn rtrace_osnoise_panic(unsigned int cpu, const char *exception);

#endif
