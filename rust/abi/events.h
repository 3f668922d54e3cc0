/* SPDX-License-Identifier: GPL-2.0 */
/* What events.c and the Rust code share. */
#ifndef RTRACE_ABI_EVENTS_H
#define RTRACE_ABI_EVENTS_H

#include <linux/trace_events.h>
#include <linux/types.h>

struct module;
struct ctl_table;

/* The texts of trace_event= and trace_trigger=, until init memory goes. */
const char *rtrace_boot_events(void);
const char *rtrace_boot_triggers(void);
/* Parameter tp_printk, likewise. */
bool rtrace_printk_at_boot(void);

#if defined(CONFIG_PERF_EVENTS) && defined(CONFIG_FUNCTION_TRACER)
/* What the `reg` of the class points to: C, which has the type that kCFI compares. */
int rtrace_perf_function_class_reg(struct trace_event_call *call, enum trace_reg what, void *data);

/* In perf_function.rs. */
int rtrace_perf_function_reg(struct trace_event_call *call, enum trace_reg what, void *data);
#endif

/* In events.rs. */
int rtrace_tracepoint_reg(struct trace_event_call *call, enum trace_reg what, void *data);
void rtrace_events_again(void);
void rtrace_events_evals(void);
void rtrace_events_module(struct module *module, bool comes);
void rtrace_tracepoint_printk(bool on);
int rtrace_tracepoint_printk_sysctl(const struct ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos);

#endif
