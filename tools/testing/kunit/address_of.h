/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KUNIT_ADDRESS_OF_H
#define KUNIT_ADDRESS_OF_H

#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/string.h>

/*
 * A function that headers declare for the kernel itself. A probe tells where it is; where a function begins with ENDBR, that is
 * what comes behind, and a call there has no type for CFI to compare.
 */
static inline void *address_of(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	char symbol[KSYM_SYMBOL_LEN], *behind;
	unsigned long offset = 0;
	void *addr;

	if (register_kprobe(&probe))
		return NULL;
	addr = probe.addr;
	unregister_kprobe(&probe);
	sprint_symbol(symbol, (unsigned long)addr);
	behind = strchr(symbol, '+');
	if (!behind || sscanf(behind, "+%lx", &offset) != 1)
		return NULL;
	return addr - offset;
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
