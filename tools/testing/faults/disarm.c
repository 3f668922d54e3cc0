// SPDX-License-Identifier: GPL-2.0
/*
 * Disarms ftrace for good, in the middle of an unregistration: of two functions that an ops is called at, one does not begin
 * any more with what was left there. Then the ops goes, and the other function is called.
 *
 * Loading the module does it and says in the log what came of it; it must not be unloaded.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "spoil.h"

noinline int disarm_spoilt(int a);
noinline int disarm_other(int a);

noinline int disarm_spoilt(int a)
{
	barrier();
	return a + 1;
}

noinline int disarm_other(int a)
{
	barrier();
	return a + 2;
}

static unsigned int hits;

static notrace void callback(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	WRITE_ONCE(hits, hits + 1);
}

static int __init disarm_init(void)
{
	struct ftrace_ops *ops = kzalloc_obj(*ops);
	unsigned long site = site_of((unsigned long)disarm_spoilt);
	int ret;

	if (!ops)
		return -ENOMEM;
	ops->func = callback;
	ret = ftrace_set_filter_ip(ops, site, 0, 0) ?:
	      ftrace_set_filter_ip(ops, (unsigned long)disarm_other, 0, 0) ?:
	      register_ftrace_function(ops);
	if (ret)
		return ret;
	disarm_spoilt(1);
	disarm_other(1);
	ret = spoil(site);
	if (ret)
		return ret;
	ret = unregister_ftrace_function(ops);
	memset(ops, 0xff, sizeof(*ops));
	kfree(ops);
	disarm_other(1);
	pr_info("disarm: unregistering gave %d, %u hits\n", ret, READ_ONCE(hits));
	return 0;
}
module_init(disarm_init);

MODULE_DESCRIPTION("Disarms ftrace");
MODULE_LICENSE("GPL");
