// SPDX-License-Identifier: GPL-2.0
/* Registers at a hit. All of it runs in the handlers of probes, and must not be traced where it is not inlined. */
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

__rust_helper notrace unsigned long rust_helper_instruction_pointer(struct pt_regs *regs)
{
	return instruction_pointer(regs);
}

__rust_helper notrace unsigned long rust_helper_user_stack_pointer(struct pt_regs *regs)
{
	return user_stack_pointer(regs);
}
