// SPDX-License-Identifier: GPL-2.0
/* What of the stack tracer only C can make: per-CPU data, boot parameters, a sysctl. */
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <asm/setup.h>
#include "stack_tracer.h"

DEFINE_PER_CPU(int, disable_stack_tracer);

static int enabled;
static char filter[COMMAND_LINE_SIZE] __initdata;

/* Both `stacktrace` and `stacktrace_filter=`, which implies the former. */
static int __init set_stacktrace(char *text)
{
	size_t prefix = str_has_prefix(text, "_filter=");

	if (prefix)
		strscpy(filter, text + prefix);
	enabled = 1;
	return 1;
}
__setup("stacktrace", set_stacktrace);

static int __init stack_tracer_init(void)
{
	rtrace_stack_tracer_init(filter, enabled);
	return 0;
}
device_initcall(stack_tracer_init);

static int set_enabled(const struct ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos)
{
	static DEFINE_MUTEX(setting);
	int was, ret;

	guard(mutex)(&setting);
	was = enabled;
	ret = proc_dointvec(table, write, buffer, lenp, ppos);
	if (!ret && write) {
		ret = rtrace_stack_tracer_set(enabled);
		if (ret)
			enabled = was;
	}
	return ret;
}

static const struct ctl_table sysctls[] = {
	{
		.procname	= "stack_tracer_enabled",
		.data		= &enabled,
		.maxlen		= sizeof(enabled),
		.mode		= 0644,
		.proc_handler	= set_enabled,
	},
};

static int __init register_sysctls(void)
{
	register_sysctl_init("kernel", sysctls);
	return 0;
}
subsys_initcall(register_sysctls);
