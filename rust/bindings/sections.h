/* SPDX-License-Identifier: GPL-2.0 */
/* The ends of sections that the linker script gathers. */
#ifndef RTRACE_BINDINGS_SECTIONS_H
#define RTRACE_BINDINGS_SECTIONS_H

#include <linux/compiler.h>

struct trace_eval_map;
struct trace_event_call;

/* Formats of trace_printk() in the kernel itself, strings of tracepoints. */
extern const char *__start___trace_bprintk_fmt[];
extern const char *__stop___trace_bprintk_fmt[];
extern const char *__start___tracepoint_str[];
extern const char *__stop___tracepoint_str[];

/* The events of the kernel itself, and what names in their formats stand for. */
extern struct trace_event_call *__start_ftrace_events[];
extern struct trace_event_call *__stop_ftrace_events[];
extern struct trace_eval_map *__start_ftrace_eval_maps[];
extern struct trace_eval_map *__stop_ftrace_eval_maps[];

#ifdef CONFIG_FTRACE_SYSCALLS
/* The metadata of all system calls. */
struct syscall_metadata;
extern struct syscall_metadata *__start_syscalls_metadata[];
extern struct syscall_metadata *__stop_syscalls_metadata[];
#endif

/* Branches. */
#ifdef CONFIG_TRACE_BRANCH_PROFILING
extern struct ftrace_likely_data __start_annotated_branch_profile[];
extern struct ftrace_likely_data __stop_annotated_branch_profile[];
#endif
#ifdef CONFIG_PROFILE_ALL_BRANCHES
extern struct ftrace_branch_data __start_branch_profile[];
extern struct ftrace_branch_data __stop_branch_profile[];
#endif

#endif
