/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KUNIT_ADDRESS_OF_H
#define KUNIT_ADDRESS_OF_H

#include <linux/kprobes.h>

/* A function that headers declare for the kernel itself; the address is that of a probe. */
static inline void *address_of(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	void *addr = NULL;

	if (!register_kprobe(&probe)) {
		addr = probe.addr;
		unregister_kprobe(&probe);
	}
	return addr;
}

#endif
