// SPDX-License-Identifier: GPL-2.0
/* What return hooks are made of. All of it runs at hits, and must not be traced where it is not inlined. */
#include <linux/objpool.h>
#include <linux/ptrace.h>
#include <linux/rethook.h>

__rust_helper notrace void *rust_helper_objpool_pop(struct objpool_head *pool)
{
	return objpool_pop(pool);
}

__rust_helper notrace int rust_helper_objpool_push(void *obj, struct objpool_head *pool)
{
	return objpool_push(obj, pool);
}

__rust_helper notrace void rust_helper_instruction_pointer_set(struct pt_regs *regs, unsigned long ip)
{
	instruction_pointer_set(regs, ip);
}

/*
 * What the architecture does, in line where that is known: two calls less for each hooked call. For x86 it is what
 * arch/x86/kernel/rethook.c does: its trampoline has the place of the return address behind the registers.
 */

__rust_helper notrace void rust_helper_rtrace_rethook_prepare(struct rethook_node *node, struct pt_regs *regs, bool mcount)
{
#ifdef CONFIG_X86_64
	unsigned long *stack = (unsigned long *)regs->sp;

	node->ret_addr = *stack;
	node->frame = (unsigned long)stack;
	*stack = (unsigned long)arch_rethook_trampoline;
#else
	arch_rethook_prepare(node, regs, mcount);
#endif
}

__rust_helper notrace void rust_helper_rtrace_rethook_fixup_return(struct pt_regs *regs, unsigned long caller)
{
#ifdef CONFIG_X86_64
	*(unsigned long *)(regs + 1) = caller;
#else
	arch_rethook_fixup_return(regs, caller);
#endif
}
