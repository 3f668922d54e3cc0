// SPDX-License-Identifier: GPL-2.0
/* What of ftrace only C macros can make: exports, a sysctl's table, boot parameters. */
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <asm/setup.h>

EXPORT_SYMBOL_GPL(ftrace_free_filter);
EXPORT_SYMBOL_GPL(ftrace_ops_set_global_filter);
EXPORT_SYMBOL_GPL(ftrace_set_filter);
EXPORT_SYMBOL_GPL(ftrace_set_filter_ip);
EXPORT_SYMBOL_GPL(ftrace_set_filter_ips);
EXPORT_SYMBOL_GPL(ftrace_set_global_filter);
EXPORT_SYMBOL_GPL(ftrace_set_global_notrace);
EXPORT_SYMBOL_GPL(ftrace_set_notrace);
EXPORT_SYMBOL_GPL(modify_ftrace_direct);
EXPORT_SYMBOL_GPL(modify_ftrace_direct_nolock);
EXPORT_SYMBOL_GPL(register_ftrace_direct);
EXPORT_SYMBOL_GPL(register_ftrace_function);
EXPORT_SYMBOL_GPL(unregister_ftrace_direct);
EXPORT_SYMBOL_GPL(unregister_ftrace_function);

/* In ftrace.rs. */
void rtrace_early_filter(const char *text, bool filter);
void rtrace_early_graph(const char *text, bool avoid);
void rtrace_early_graph_depth(unsigned int depth);
int rtrace_ftrace_enabled_sysctl(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
				 loff_t *ppos);
/* Called there. */
void rtrace_set_early_filters(void);

static char early_filter[COMMAND_LINE_SIZE] __initdata;
static char early_notrace[COMMAND_LINE_SIZE] __initdata;

static int __init set_early_filter(char *text)
{
	strscpy(early_filter, text);
	return 1;
}
__setup("ftrace_filter=", set_early_filter);

static int __init set_early_notrace(char *text)
{
	strscpy(early_notrace, text);
	return 1;
}
__setup("ftrace_notrace=", set_early_notrace);

static char early_graph[COMMAND_LINE_SIZE] __initdata;
static char early_graph_notrace[COMMAND_LINE_SIZE] __initdata;

static int __init set_early_graph(char *text)
{
	strscpy(early_graph, text);
	return 1;
}
__setup("ftrace_graph_filter=", set_early_graph);

static int __init set_early_graph_notrace(char *text)
{
	strscpy(early_graph_notrace, text);
	return 1;
}
__setup("ftrace_graph_notrace=", set_early_graph_notrace);

static int __init set_early_graph_depth(char *text)
{
	unsigned int depth;

	if (!kstrtouint(text, 0, &depth))
		rtrace_early_graph_depth(depth);
	return 1;
}
__setup("ftrace_graph_max_depth=", set_early_graph_depth);

void __ref rtrace_set_early_filters(void)
{
	if (early_graph[0])
		rtrace_early_graph(early_graph, false);
	if (early_graph_notrace[0])
		rtrace_early_graph(early_graph_notrace, true);
	if (early_filter[0])
		rtrace_early_filter(early_filter, true);
	if (early_notrace[0])
		rtrace_early_filter(early_notrace, false);
}

#ifdef CONFIG_SYSCTL
static const struct ctl_table ftrace_sysctls[] = {
	{
		.procname	= "ftrace_enabled",
		.data		= &ftrace_enabled,
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= rtrace_ftrace_enabled_sysctl,
	},
};

static int __init ftrace_sysctl_init(void)
{
	register_sysctl_init("kernel", ftrace_sysctls);
	return 0;
}
late_initcall(ftrace_sysctl_init);
#endif
