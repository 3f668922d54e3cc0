/* SPDX-License-Identifier: GPL-2.0 */
/* What latency.c and the Rust side share. */
#ifndef RTRACE_ABI_LATENCY_H
#define RTRACE_ABI_LATENCY_H

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

#endif
