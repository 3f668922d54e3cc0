// SPDX-License-Identifier: GPL-2.0
/* What return hooks are made of. All of it runs at hits, and must not be traced where it is not inlined. */
#include <linux/objpool.h>
#include <linux/ptrace.h>

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
