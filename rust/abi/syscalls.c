// SPDX-License-Identifier: GPL-2.0
/*
 * The classes of the events of system calls, which the metadata of each call refers to.
 */
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/list.h>
#include <linux/syscalls.h>
#include <linux/trace_events.h>

#include "syscalls.h"

#define FIELD(c_type, c_name, has_sign)			\
	{						\
		.type		= #c_type,		\
		.name		= #c_name,		\
		.size		= sizeof(c_type),	\
		.align		= __alignof__(c_type),	\
		.is_signed	= has_sign,		\
		.filter_type	= FILTER_OTHER,		\
	}

static struct trace_event_fields enter_fields[] = {
	FIELD(int, __syscall_nr, 1),
	{ .type = TRACE_FUNCTION_TYPE, .define_fields = rtrace_syscall_define_fields },
	{}
};

static struct trace_event_fields exit_fields[] = {
	FIELD(int, __syscall_nr, 1),
	FIELD(long, ret, 1),
	{}
};

/* What prints returns an enum, which kCFI tells from an integer, and Rust does not: what a pointer leads to is C. */
static enum print_line_t print_enter(struct trace_iterator *iter, int flags, struct trace_event *event)
{
	BTF_TYPE_EMIT(struct syscall_trace_enter);
	return rtrace_syscall_print_enter(iter, flags, event);
}

static enum print_line_t print_exit(struct trace_iterator *iter, int flags, struct trace_event *event)
{
	BTF_TYPE_EMIT(struct syscall_trace_exit);
	return rtrace_syscall_print_exit(iter, flags, event);
}

static int reg(struct trace_event_call *call, enum trace_reg what, void *data)
{
	return rtrace_syscall_reg(call, what, data);
}

struct trace_event_functions enter_syscall_print_funcs = {
	.trace	= print_enter,
};

struct trace_event_functions exit_syscall_print_funcs = {
	.trace	= print_exit,
};

#if defined(CONFIG_BPF_EVENTS) && defined(CONFIG_DEBUG_INFO_BTF)
/* For btf_ids: BPF programs of all of these are at raw_syscalls. */
BTF_ID_LIST(enter_btf_ids)
BTF_ID(func,   __bpf_trace_sys_enter)
BTF_ID(struct, trace_event_raw_sys_enter)

BTF_ID_LIST(exit_btf_ids)
BTF_ID(func,   __bpf_trace_sys_exit)
BTF_ID(struct, trace_event_raw_sys_exit)

#define BTF_IDS(ids)	.btf_ids = ids,
#else
#define BTF_IDS(ids)
#endif

struct trace_event_class event_class_syscall_enter = {
	.system		= "syscalls",
	.reg		= reg,
	.fields_array	= enter_fields,
	.get_fields	= rtrace_syscall_fields,
	.raw_init	= rtrace_syscall_init,
	BTF_IDS(enter_btf_ids)
};

struct trace_event_class event_class_syscall_exit = {
	.system		= "syscalls",
	.reg		= reg,
	.fields_array	= exit_fields,
	.fields		= LIST_HEAD_INIT(event_class_syscall_exit.fields),
	.raw_init	= rtrace_syscall_init,
	BTF_IDS(exit_btf_ids)
};
