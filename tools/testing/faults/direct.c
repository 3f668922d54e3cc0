// SPDX-License-Identifier: GPL-2.0
/*
 * Has a direct caller go elsewhere when ftrace is disarmed, or is by that: of its two functions, one has another ops besides, and
 * one does not begin any more with what was left there. Neither may go to the new code, which a caller frees on an error.
 *
 * Loading the module does it and says in the log what came of it; it must not be unloaded.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include "../kunit/address_of.h"
#include "../kunit/direct.h"
#include "spoil.h"

static char *how = "killed";
module_param(how, charp, 0);
MODULE_PARM_DESC(how, "killed: disarmed before; modify, each: disarmed by modify_ftrace_direct(), update_ftrace_direct_mod()");

noinline int direct_alone(int a);
noinline int direct_beside(int a);

noinline int direct_alone(int a)
{
	barrier();
	return a + 1;
}

noinline int direct_beside(int a)
{
	barrier();
	return a + 2;
}

static unsigned int calls[2] __used;
DIRECT(direct_old, "calls");
DIRECT(direct_new, "calls+4");

static struct ftrace_ops direct, beside;

static notrace void callback(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op, struct ftrace_regs *fregs)
{
}

static void (*kill)(void);
static struct ftrace_hash *(*make_hash)(int size_bits);
static struct ftrace_func_entry *(*put_into_hash)(struct ftrace_hash *hash, unsigned long ip, unsigned long direct);
static int (*direct_mod)(struct ftrace_ops *ops, struct ftrace_hash *hash, bool lock);

static const struct internal internal[] = {
	{ &kill, "ftrace_kill" },
	{ &make_hash, "alloc_ftrace_hash" },
	{ &put_into_hash, "add_ftrace_hash_entry_direct" },
	{ &direct_mod, "update_ftrace_direct_mod" },
};

static noinline __nocfi int change_each(unsigned long to)
{
	struct ftrace_hash *hash = make_hash(1);

	if (!hash || !put_into_hash(hash, site_of((unsigned long)direct_alone), to) ||
	    !put_into_hash(hash, site_of((unsigned long)direct_beside), to))
		return -ENOMEM;
	return direct_mod(&direct, hash, true);
}

ANNOTATE_NOCFI_SYM(change_each);

static noinline __nocfi void disarm(void)
{
	kill();
}

ANNOTATE_NOCFI_SYM(disarm);

static int __init direct_init(void)
{
	unsigned long old = (unsigned long)direct_old, new = (unsigned long)direct_new;
	int ret, each = 0;

	ret = find_internal(internal, ARRAY_SIZE(internal));
	if (ret)
		return ret;
	beside.func = callback;
	ret = ftrace_set_filter_ip(&direct, (unsigned long)direct_alone, 0, 0) ?:
	      ftrace_set_filter_ip(&direct, (unsigned long)direct_beside, 0, 0) ?:
	      register_ftrace_direct(&direct, old) ?:
	      ftrace_set_filter_ip(&beside, (unsigned long)direct_beside, 0, 0) ?:
	      register_ftrace_function(&beside);
	if (ret)
		return ret;
	direct_beside(1);
	if (!strcmp(how, "killed")) {
		disarm();
		ret = modify_ftrace_direct(&direct, new);
		each = change_each(new);
	} else {
		ret = spoil(site_of((unsigned long)direct_alone));
		if (ret)
			return ret;
		ret = strcmp(how, "each") ? modify_ftrace_direct(&direct, new) : change_each(new);
	}
	direct_beside(1);
	pr_info("direct: changing gave %d, each %d, %u old calls, %u new ones\n", ret, each, READ_ONCE(calls[0]), READ_ONCE(calls[1]));
	return 0;
}
module_init(direct_init);

MODULE_DESCRIPTION("Changes a direct caller when ftrace is disarmed");
MODULE_LICENSE("GPL");
