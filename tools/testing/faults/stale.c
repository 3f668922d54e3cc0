// SPDX-License-Identifier: GPL-2.0
/* A direct caller, or an ops that may change where functions go, that stays when the module of its function goes. */
#include <linux/ftrace.h>
#include <linux/module.h>
#include "../kunit/direct.h"

static char *function;
module_param(function, charp, 0);
MODULE_PARM_DESC(function, "The function");

static bool ipmodify;
module_param(ipmodify, bool, 0);
MODULE_PARM_DESC(ipmodify, "An ops that may change where functions go, instead of a direct caller");

static unsigned int stale_calls __used;
DIRECT(stale_direct, "stale_calls");

static notrace void callback(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op, struct ftrace_regs *fregs)
{
}

static struct ftrace_ops ops;

static int __init stale_init(void)
{
	int ret = function ? ftrace_set_filter(&ops, function, strlen(function), 1) : -EINVAL;

	if (ret)
		return ret;
	if (!ipmodify)
		return register_ftrace_direct(&ops, (unsigned long)stale_direct);
	ops.func = callback;
	ops.flags |= FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY;
	return register_ftrace_function(&ops);
}
module_init(stale_init);

static void __exit stale_exit(void)
{
	if (ipmodify)
		unregister_ftrace_function(&ops);
	else
		unregister_ftrace_direct(&ops, (unsigned long)stale_direct, true);
}
module_exit(stale_exit);

MODULE_DESCRIPTION("An ops that outlives its function");
MODULE_LICENSE("GPL");
