// SPDX-License-Identifier: GPL-2.0
/* What kprobes find at a hit. All of it runs in their handlers, and must not be traced where it is not inlined. */
#include <linux/kprobes.h>
#include <linux/ptrace.h>

__rust_helper notrace unsigned long rust_helper_regs_get_register(struct pt_regs *regs, unsigned int offset)
{
	return regs_get_register(regs, offset);
}

__rust_helper notrace unsigned long rust_helper_regs_get_kernel_stack_nth(struct pt_regs *regs, unsigned int n)
{
	return regs_get_kernel_stack_nth(regs, n);
}

__rust_helper notrace unsigned long rust_helper_kernel_stack_pointer(struct pt_regs *regs)
{
	return kernel_stack_pointer(regs);
}

__rust_helper notrace unsigned long rust_helper_regs_return_value(struct pt_regs *regs)
{
	return regs_return_value(regs);
}

__rust_helper notrace unsigned long rust_helper_regs_get_kernel_argument(struct pt_regs *regs, unsigned int n)
{
	return regs_get_kernel_argument(regs, n);
}

__rust_helper notrace struct kretprobe *rust_helper_get_kretprobe(struct kretprobe_instance *ri)
{
	return get_kretprobe(ri);
}

__rust_helper notrace unsigned long rust_helper_get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	return get_kretprobe_retaddr(ri);
}

__rust_helper bool rust_helper_kprobe_gone(struct kprobe *kprobe)
{
	return kprobe_gone(kprobe);
}
