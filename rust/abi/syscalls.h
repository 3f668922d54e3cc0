/* SPDX-License-Identifier: GPL-2.0 */
/* What syscalls.c and the Rust code share. */
#ifndef RTRACE_ABI_SYSCALLS_H
#define RTRACE_ABI_SYSCALLS_H

#include <linux/trace_events.h>
#include <linux/unistd.h>

struct pt_regs;

/* Entries as they are recorded. BPF programs at syscalls/ find their arguments by these types, under these names. */
struct syscall_trace_enter {
	struct trace_entry	ent;
	int			nr;
	unsigned long		args[];
};

struct syscall_trace_exit {
	struct trace_entry	ent;
	int			nr;
	long			ret;
};

/* In syscalls.rs. */
int rtrace_syscall_init(struct trace_event_call *call);
int rtrace_syscall_define_fields(struct trace_event_call *call);
struct list_head *rtrace_syscall_fields(struct trace_event_call *call);
int rtrace_syscall_reg(struct trace_event_call *call, enum trace_reg what, void *data);
enum print_line_t rtrace_syscall_print_enter(struct trace_iterator *iter, int flags,
					     struct trace_event *event);
enum print_line_t rtrace_syscall_print_exit(struct trace_iterator *iter, int flags,
					    struct trace_event *event);

#endif
