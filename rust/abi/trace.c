// SPDX-License-Identifier: GPL-2.0
/*
 * What of the tracing core only C can make: boot parameters, exports.
 */

#include <linux/export.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/trace_clock.h>
#include <linux/trace_printk.h>
#include <asm/setup.h>

#include "trace.h"

/* Said in rust/kernel/entry_made.rs. */
DEFINE_PER_CPU(bool, rtrace_entry_made);

DEFINE_PER_CPU(struct rtrace_scale, rtrace_scale) = { .seen = RTRACE_SCALE_NEVER_SEEN };

/* tsc_init() has the boot CPU's sequences begin anew, and so one that was seen before may come again. */
static int __init forget_scale(void)
{
	this_cpu_write(rtrace_scale.seen, RTRACE_SCALE_NEVER_SEEN);
	return 0;
}
early_initcall(forget_scale);

/* A parameter (the last one counts), and the function that hands its text out; that is for boot alone. */
#define BOOT_TEXT(name, param, size)				\
	static char boot_##name[size] __initdata;		\
	static int __init set_boot_##name(char *text)		\
	{							\
		strscpy(boot_##name, text);			\
		return 1;					\
	}							\
	__setup(param, set_boot_##name);			\
	const char *__ref rtrace_boot_##name(void)		\
	{							\
		return boot_##name;				\
	}

BOOT_TEXT(tracer, "ftrace=", 100)
BOOT_TEXT(clock, "trace_clock=", 100)
BOOT_TEXT(options, "trace_options=", COMMAND_LINE_SIZE)
BOOT_TEXT(size, "trace_buf_size=", 32)

/* A parameter that may be given several times: the texts, each with a tab behind it. */
#define BOOT_LIST(name)						\
	static char boot_##name[COMMAND_LINE_SIZE] __initdata;	\
	static int __init add_boot_##name(char *text)		\
	{							\
		strlcat(boot_##name, text, sizeof(boot_##name));	\
		strlcat(boot_##name, "\t", sizeof(boot_##name));	\
		return 1;					\
	}							\
	const char *__ref rtrace_boot_##name(void)		\
	{							\
		return boot_##name;				\
	}

BOOT_LIST(instances)
BOOT_LIST(snapshots)
__setup("trace_instance=", add_boot_instances);

static bool boot_snapshot __initdata;
static bool boot_snapshot_at_end __initdata;

/* With `=name` it is for an instance of that name. */
static int __init set_boot_snapshot(char *text)
{
	if (*text == '=')
		return add_boot_snapshots(text + 1);
	boot_snapshot = true;
	return 1;
}
__setup("alloc_snapshot", set_boot_snapshot);

static int __init set_boot_snapshot_at_end(char *text)
{
	boot_snapshot_at_end = true;
	return set_boot_snapshot(text);
}
__setup("ftrace_boot_snapshot", set_boot_snapshot_at_end);

bool __ref rtrace_boot_snapshot(void)
{
	return boot_snapshot;
}

bool __ref rtrace_boot_snapshot_at_end(void)
{
	return boot_snapshot_at_end;
}

#ifdef CONFIG_MODULES
static int module_event(struct notifier_block *block, unsigned long event, void *module)
{
	if (event == MODULE_STATE_COMING || event == MODULE_STATE_GOING)
		rtrace_module_changed(module, event == MODULE_STATE_COMING);
	return NOTIFY_OK;
}

static struct notifier_block modules = {
	.notifier_call	= module_event,
};

static int __init register_modules(void)
{
	return register_module_notifier(&modules);
}
early_initcall(register_modules);
#endif

void trace_dump_stack(int skip)
{
	rtrace_dump_stack(_RET_IP_, skip);
}
EXPORT_SYMBOL_GPL(trace_dump_stack);

EXPORT_SYMBOL_GPL(tracing_is_on);
EXPORT_SYMBOL_GPL(tracing_off);
EXPORT_SYMBOL_GPL(tracing_on);
EXPORT_SYMBOL_GPL(tracing_snapshot);
EXPORT_SYMBOL_GPL(tracing_snapshot_alloc);

EXPORT_SYMBOL_GPL(trace_clock);
EXPORT_SYMBOL_GPL(trace_clock_global);
EXPORT_SYMBOL_GPL(trace_clock_jiffies);
EXPORT_SYMBOL_GPL(trace_clock_local);
