// SPDX-License-Identifier: GPL-2.0
/*
 * Loading the module is an oops: the task that loads it stores to no address, and dies of it. The module stays.
 */
#include <linux/module.h>

static int __init oops_init(void)
{
	int *nowhere = NULL;

	OPTIMIZER_HIDE_VAR(nowhere);
	WRITE_ONCE(*nowhere, 1);
	return 0;
}
module_init(oops_init);

MODULE_DESCRIPTION("An oops");
MODULE_LICENSE("GPL");
