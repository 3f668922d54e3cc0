// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that only C can make for dump.rs: boot parameters, sysctls, notifiers, exports.
 */
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/sysctl.h>
#include <linux/trace_printk.h>
#include "dump.h"

char rtrace_dump_on_oops[RTRACE_DUMP_SETTING_MAX] = "0";
int rtrace_traceoff_on_warning;

__setup("ftrace_dump_on_oops", rtrace_set_dump_on_oops);
__setup("traceoff_on_warning", rtrace_set_traceoff_on_warning);

static const struct ctl_table sysctls[] = {
	{
		.procname	= "ftrace_dump_on_oops",
		.data		= rtrace_dump_on_oops,
		.maxlen		= sizeof(rtrace_dump_on_oops),
		.mode		= 0644,
		.proc_handler	= proc_dostring,
	},
	{
		.procname	= "traceoff_on_warning",
		.data		= &rtrace_traceoff_on_warning,
		.maxlen		= sizeof(rtrace_traceoff_on_warning),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
};

/* Early among the notifiers: what others print or do is not to end up in the trace. */
static struct notifier_block died = {
	.notifier_call	= rtrace_died,
	.priority	= INT_MAX - 1,
};

static struct notifier_block panicked = {
	.notifier_call	= rtrace_panicked,
	.priority	= INT_MAX - 1,
};

static int __init register_dump_notifiers(void)
{
	atomic_notifier_chain_register(&panic_notifier_list, &panicked);
	return register_die_notifier(&died);
}
early_initcall(register_dump_notifiers);

static int __init register_dump_sysctls(void)
{
	register_sysctl_init("kernel", sysctls);
	return 0;
}
subsys_initcall(register_dump_sysctls);

EXPORT_SYMBOL_GPL(ftrace_dump);
