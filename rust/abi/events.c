// SPDX-License-Identifier: GPL-2.0
/*
 * What of the events only C can make: boot parameters, steps of boot, exports.
 */
#ifdef CONFIG_BLOCK
#include <linux/blktrace_api.h>
#endif
#include <linux/export.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/trace.h>
#include <linux/trace_events.h>
#include <asm/setup.h>

#include "boot.h"
#include "events.h"

/* The place of the core's own entries among the events: these are in the order in which they are linked. */
static struct trace_event_call *own_events __used __section("_ftrace_events");

int trace_event_reg(struct trace_event_call *call, enum trace_reg what, void *data)
{
	return rtrace_tracepoint_reg(call, what, data);
}

#if defined(CONFIG_PERF_EVENTS) && defined(CONFIG_FUNCTION_TRACER)
int rtrace_perf_function_class_reg(struct trace_event_call *call, enum trace_reg what, void *data)
{
	return rtrace_perf_function_reg(call, what, data);
}
#endif

static char boot_events[COMMAND_LINE_SIZE] __initdata;

/* It may be given several times. */
static int __init add_boot_events(char *text)
{
	rtrace_add_given(boot_events, ',', text);
	return 1;
}
__setup("trace_event=", add_boot_events);

const char *__ref rtrace_boot_events(void)
{
	return boot_events;
}

static bool printk_at_boot __initdata, no_printk_behind_boot __initdata;

static int __init set_printk(char *text)
{
	/* tp_printk_stop_on_boot begins like this one. */
	if (*text == '_')
		return 0;
	printk_at_boot = strcmp(text, "=0") && strcmp(text, "=off");
	return 1;
}
__setup("tp_printk", set_printk);

static int __init set_no_printk(char *text)
{
	no_printk_behind_boot = true;
	return 1;
}
__setup("tp_printk_stop_on_boot", set_no_printk);

bool __ref rtrace_printk_at_boot(void)
{
	return printk_at_boot;
}

static int __init end_printk(void)
{
	if (printk_at_boot && no_printk_behind_boot)
		rtrace_tracepoint_printk(false);
	return 0;
}
late_initcall_sync(end_printk);

static const struct ctl_table sysctls[] = {
	{
		.procname	= "tracepoint_printk",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= rtrace_tracepoint_printk_sysctl,
	},
};

static int __init register_sysctls(void)
{
	register_sysctl_init("kernel", sysctls);
	return 0;
}
subsys_initcall(register_sysctls);

static char boot_triggers[COMMAND_LINE_SIZE] __initdata;

/* It may be given several times. */
static int __init add_boot_triggers(char *text)
{
	rtrace_add_given(boot_triggers, ',', text);
	return 1;
}
__setup("trace_trigger=", add_boot_triggers);

const char *__ref rtrace_boot_triggers(void)
{
	return boot_triggers;
}

/* Events of system calls need a task that makes some. */
static int __init enable_again(void)
{
	rtrace_events_again();
	return 0;
}
early_initcall(enable_again);

static int __init replace_evals(void)
{
	rtrace_events_evals();
	return 0;
}
fs_initcall(replace_evals);

#ifdef CONFIG_MODULES
static int module_event(struct notifier_block *block, unsigned long event, void *module)
{
	if (event == MODULE_STATE_COMING || event == MODULE_STATE_GOING)
		rtrace_events_module(module, event == MODULE_STATE_COMING);
	return NOTIFY_OK;
}

static struct notifier_block modules = {
	.notifier_call	= module_event,
	.priority	= 1,
};

/*
 * Later than the notifier of jump labels, which has this priority too: a key of a module that is switched on before jump labels know
 * of its sites is on, and no site is patched.
 */
static int __init register_modules(void)
{
	return register_module_notifier(&modules);
}
core_initcall(register_modules);
#endif

#ifdef CONFIG_BLOCK
EXPORT_SYMBOL_GPL(blk_fill_rwbs);
#endif
EXPORT_SYMBOL_GPL(event_triggers_call);
EXPORT_SYMBOL_GPL(event_triggers_post_call);
EXPORT_SYMBOL_GPL(filter_match_preds);
EXPORT_SYMBOL_GPL(register_ftrace_export);
EXPORT_SYMBOL_GPL(trace_add_event_call);
EXPORT_SYMBOL_GPL(register_trace_event);
EXPORT_SYMBOL_GPL(trace_array_set_clr_event);
EXPORT_SYMBOL_GPL(trace_define_field);
EXPORT_SYMBOL_GPL(trace_event_buffer_commit);
EXPORT_SYMBOL_GPL(trace_event_buffer_lock_reserve);
EXPORT_SYMBOL_GPL(trace_event_buffer_reserve);
EXPORT_SYMBOL_GPL(trace_event_ignore_this_pid);
EXPORT_SYMBOL_GPL(trace_event_raw_init);
EXPORT_SYMBOL_GPL(trace_event_reg);
EXPORT_SYMBOL_GPL(trace_get_event_file);
EXPORT_SYMBOL_GPL(trace_put_event_file);
EXPORT_SYMBOL_GPL(trace_remove_event_call);
EXPORT_SYMBOL_GPL(trace_set_clr_event);
EXPORT_SYMBOL_GPL(__trace_trigger_soft_disabled);
EXPORT_SYMBOL_GPL(unregister_ftrace_export);
EXPORT_SYMBOL_GPL(unregister_trace_event);
#ifdef CONFIG_PERF_EVENTS
EXPORT_SYMBOL_GPL(perf_trace_buf_alloc);
#endif
