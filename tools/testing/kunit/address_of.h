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

/* A pointer to such a function, and the function's name. */
struct internal {
	void *pointer;
	const char *name;
};

/* Sets all of a list; -ENOENT, with the name in the log, for one that is not there. */
static inline int find_internal(const struct internal *list, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		void *addr = address_of(list[i].name);

		if (!addr) {
			pr_err("no %s\n", list[i].name);
			return -ENOENT;
		}
		*(void **)list[i].pointer = addr;
	}
	return 0;
}

#endif
