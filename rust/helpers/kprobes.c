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
