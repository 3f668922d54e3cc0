// SPDX-License-Identifier: GPL-2.0
/* What kprobes find at a hit. All of it runs in their handlers, and must not be traced where it is not inlined. */
#include <linux/kprobes.h>

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

#ifdef CONFIG_RETHOOK
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
#endif
