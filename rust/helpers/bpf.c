// SPDX-License-Identifier: GPL-2.0
/* BPF programs at events. */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/rcupdate_trace.h>
#include <linux/trace_events.h>

#ifdef CONFIG_UPROBE_EVENTS
#include <linux/sched.h>
#include <linux/uprobes.h>

/* What bpf_get_func_ip() in kernel/trace/bpf_trace.c looks at, by the layout of kernel/trace/trace_probe.h. */
struct trace_uprobe;
struct uprobe_dispatch_data {
	struct trace_uprobe	*tu;
	unsigned long		bp_addr;
};

__rust_helper u32 rust_helper_rtrace_run_uprobe_programs(struct trace_event_call *call, struct pt_regs *regs,
							 unsigned long function)
{
	struct uprobe_dispatch_data data = { .bp_addr = function };
	u32 ret;

	current->utask->vaddr = (unsigned long)&data;
	rcu_read_lock_trace();
	ret = bpf_prog_run_array_uprobe(rcu_dereference_check(call->prog_array, rcu_read_lock_trace_held()), regs,
					bpf_prog_run);
	rcu_read_unlock_trace();
	return ret;
}
#endif

#ifdef CONFIG_KPROBE_EVENTS
#include <linux/error-injection.h>

__rust_helper bool rust_helper_within_error_injection_list(unsigned long addr)
{
	return within_error_injection_list(addr);
}
#endif

__rust_helper bool rust_helper_rtrace_may_see_addresses(void)
{
	return kallsyms_show_value(current_cred());
}
