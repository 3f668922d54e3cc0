// SPDX-License-Identifier: GPL-2.0

#ifdef CONFIG_FTRACE_SYSCALLS
#include <linux/syscalls.h>
#include <linux/trace_events.h>
#include <asm/syscall.h>

__rust_helper int rust_helper_rtrace_syscall_number(struct pt_regs *regs)
{
#ifdef ARCH_TRACE_IGNORE_COMPAT_SYSCALLS
	if (arch_trace_is_compat_syscall(regs))
		return -1;
#endif
	return syscall_get_nr(current, regs);
}

__rust_helper long rust_helper_rtrace_syscall_number_as_is(struct pt_regs *regs)
{
	return syscall_get_nr(current, regs);
}

__rust_helper void rust_helper_rtrace_syscall_arguments(struct pt_regs *regs, unsigned long *args)
{
	syscall_get_arguments(current, regs, args);
}

__rust_helper long rust_helper_rtrace_syscall_result(struct pt_regs *regs)
{
	return syscall_get_return_value(current, regs);
}

__rust_helper unsigned long rust_helper_rtrace_syscall_address(int number)
{
	return (unsigned long)sys_call_table[number];
}
#endif
