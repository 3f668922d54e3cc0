/* SPDX-License-Identifier: GPL-2.0 */
/* What dynamic.c and the Rust code share: events that users define. */
#ifndef RTRACE_ABI_DYNAMIC_H
#define RTRACE_ABI_DYNAMIC_H

#include <linux/trace_events.h>

/* How their entries are printed. */
extern struct trace_event_functions rtrace_dynamic_funcs;

/* The `reg` of their classes: C, which has the type that kCFI compares. */
int rtrace_dynamic_class_reg(struct trace_event_call *call, enum trace_reg what, void *data);

/* In dynamic.rs. */
int rtrace_dynamic_reg(struct trace_event_call *call, enum trace_reg what, void *data);
enum print_line_t rtrace_dynamic_print(struct trace_iterator *iter, int flags, struct trace_event *event);
void rtrace_dynamic_module(struct module *module);
void rtrace_dynamic_module_goes(struct module *module);
void rtrace_dynamic_tracepoints(void);
#ifdef CONFIG_KPROBE_EVENTS
void rtrace_dynamic_boot(const char *kprobes);
int rtrace_kprobe_start(struct dynevent_cmd *cmd, bool is_return, const char *name, const char *place);
int rtrace_kprobe_add(struct dynevent_cmd *cmd, const char *field);
#endif
#if defined(CONFIG_BPF_EVENTS) && defined(CONFIG_KPROBE_EVENTS)
/* In bpf.rs; as in C no public header has these. */
bool trace_kprobe_on_func_entry(struct trace_event_call *call);
bool trace_kprobe_error_injectable(struct trace_event_call *call);
#endif
#ifdef CONFIG_SYNTH_EVENTS
int rtrace_synth_start(struct dynevent_cmd *cmd, const char *name, struct module *module);
#endif

#endif
