// SPDX-License-Identifier: GPL-2.0

#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/trace_events.h>
#include <linux/trace_seq.h>
#include <asm/sections.h>
#ifdef CONFIG_SYNTH_EVENTS
#include <trace/events/mmflags.h>
#endif

__rust_helper void rust_helper_trace_seq_init(struct trace_seq *s)
{
	trace_seq_init(s);
}

__rust_helper bool rust_helper_trace_seq_has_overflowed(struct trace_seq *s)
{
	return trace_seq_has_overflowed(s);
}

__rust_helper int rust_helper_trace_seq_used(struct trace_seq *s)
{
	return trace_seq_used(s);
}

__rust_helper bool rust_helper_is_kernel_rodata(unsigned long addr)
{
	return is_kernel_rodata(addr);
}

__rust_helper bool rust_helper_within_module_core(unsigned long addr, const struct module *mod)
{
	return within_module_core(addr, mod);
}

/* They return an enum, which kCFI tells from an integer; Rust's bindings do not. */
__rust_helper void rust_helper_rtrace_print_event(trace_print_func print, struct trace_iterator *iter, int flags,
						  struct trace_event *event)
{
	print(iter, flags, event);
}

/* The same of an argument. So all that a class's pointer leads to is C, too. */
__rust_helper int rust_helper_rtrace_event_reg(struct trace_event_call *call, enum trace_reg what, void *data)
{
	return call->class->reg(call, what, data);
}

#ifdef CONFIG_SYNTH_EVENTS
/* The names of the flags are a macro. */
__rust_helper notrace void rust_helper_rtrace_print_gfp(struct trace_seq *seq, unsigned long flags)
{
	static const struct trace_print_flags names[] = { __def_gfpflag_names };

	trace_print_flags_seq(seq, "|", flags, names, ARRAY_SIZE(names));
}
#endif

#ifdef CONFIG_PERF_EVENTS
__rust_helper void rust_helper_hlist_add_head_rcu(struct hlist_node *node, struct hlist_head *head)
{
	hlist_add_head_rcu(node, head);
}

__rust_helper void rust_helper_hlist_del_rcu(struct hlist_node *node)
{
	hlist_del_rcu(node);
}

__rust_helper bool rust_helper_is_sampling_event(struct perf_event *event)
{
	return is_sampling_event(event);
}

__rust_helper struct pt_regs *rust_helper_rtrace_perf_regs(int rctx)
{
	return this_cpu_ptr(&__perf_regs[rctx]);
}

__rust_helper void rust_helper_perf_fetch_caller_regs(struct pt_regs *regs)
{
	perf_fetch_caller_regs(regs);
}

__rust_helper void rust_helper_rtrace_perf_submit(struct trace_event_call *call, void *entry,
						  int size, int rctx, struct pt_regs *regs,
						  struct hlist_head *head)
{
	perf_trace_buf_submit(entry, size, rctx, call->event.type, 1, regs, head, NULL);
}
#endif
