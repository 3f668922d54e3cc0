// SPDX-License-Identifier: GPL-2.0
/*
 * What of the events that users define only C can make: a boot parameter, steps of boot, sysctls, how they are
 * printed, functions with any number of arguments.
 */
#include <linux/export.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <asm/setup.h>

#include "boot.h"
#include "dynamic.h"

/* What prints returns an enum, which kCFI tells from an integer, and Rust does not: what a pointer leads to is C. */
static enum print_line_t print(struct trace_iterator *iter, int flags, struct trace_event *event)
{
	return rtrace_dynamic_print(iter, flags, event);
}

int rtrace_dynamic_class_reg(struct trace_event_call *call, enum trace_reg what, void *data)
{
	return rtrace_dynamic_reg(call, what, data);
}

struct trace_event_functions rtrace_dynamic_funcs = {
	.trace	= print,
};

#ifdef CONFIG_KPROBE_EVENTS
static char boot_kprobes[COMMAND_LINE_SIZE] __initdata;

/* It may be given several times. */
static int __init add_boot_kprobes(char *text)
{
	rtrace_add_given(boot_kprobes, ';', text);
	return 1;
}
__setup("kprobe_event=", add_boot_kprobes);

static int __init make_boot_kprobes(void)
{
	rtrace_dynamic_boot(boot_kprobes);
	return 0;
}
fs_initcall(make_boot_kprobes);
#endif

#ifdef CONFIG_KPROBE_EVENTS
/* Arguments up to a null pointer are fields. */
static int add_fields(struct dynevent_cmd *cmd, va_list fields)
{
	const char *field;
	int ret = 0;

	while (!ret && (field = va_arg(fields, const char *)))
		ret = rtrace_kprobe_add(cmd, field);
	return ret;
}

int __kprobe_event_gen_cmd_start(struct dynevent_cmd *cmd, bool kretprobe, const char *name, const char *loc, ...)
{
	va_list fields;
	int ret;

	va_start(fields, loc);
	ret = rtrace_kprobe_start(cmd, kretprobe, name, loc) ?: add_fields(cmd, fields);
	va_end(fields);
	return ret;
}
EXPORT_SYMBOL_GPL(__kprobe_event_gen_cmd_start);

int __kprobe_event_add_fields(struct dynevent_cmd *cmd, ...)
{
	va_list fields;
	int ret;

	va_start(fields, cmd);
	ret = add_fields(cmd, fields);
	va_end(fields);
	return ret;
}
EXPORT_SYMBOL_GPL(__kprobe_event_add_fields);
EXPORT_SYMBOL_GPL(kprobe_event_cmd_init);
EXPORT_SYMBOL_GPL(kprobe_event_delete);
#endif

#ifdef CONFIG_SYNTH_EVENTS
/* Arguments up to a null pointer are pairs of a type and a name. */
int __synth_event_gen_cmd_start(struct dynevent_cmd *cmd, const char *name, struct module *mod, ...)
{
	int ret = rtrace_synth_start(cmd, name, mod);
	va_list fields;

	va_start(fields, mod);
	while (!ret) {
		const char *type = va_arg(fields, const char *);
		const char *field = type ? va_arg(fields, const char *) : NULL;

		if (!field)
			break;
		ret = synth_event_add_field(cmd, type, field);
	}
	va_end(fields);
	return ret;
}
EXPORT_SYMBOL_GPL(__synth_event_gen_cmd_start);

int synth_event_trace(struct trace_event_file *file, unsigned int n_vals, ...)
{
	u64 values[64];	/* as many as an event has fields */
	unsigned int at;
	va_list args;

	if (n_vals > ARRAY_SIZE(values))
		return -EINVAL;
	va_start(args, n_vals);
	for (at = 0; at < n_vals; at++)
		values[at] = va_arg(args, u64);
	va_end(args);
	return synth_event_trace_array(file, values, n_vals);
}
EXPORT_SYMBOL_GPL(synth_event_trace);
EXPORT_SYMBOL_GPL(synth_event_add_field);
EXPORT_SYMBOL_GPL(synth_event_add_field_str);
EXPORT_SYMBOL_GPL(synth_event_add_fields);
EXPORT_SYMBOL_GPL(synth_event_add_next_val);
EXPORT_SYMBOL_GPL(synth_event_add_val);
EXPORT_SYMBOL_GPL(synth_event_cmd_init);
EXPORT_SYMBOL_GPL(synth_event_create);
EXPORT_SYMBOL_GPL(synth_event_delete);
EXPORT_SYMBOL_GPL(synth_event_gen_cmd_array_start);
EXPORT_SYMBOL_GPL(synth_event_trace_array);
EXPORT_SYMBOL_GPL(synth_event_trace_end);
EXPORT_SYMBOL_GPL(synth_event_trace_start);
#endif
EXPORT_SYMBOL_GPL(dynevent_create);

#ifdef CONFIG_USER_EVENTS
/* In rust/kernel/user_event_mm.rs. */
extern unsigned int rtrace_user_events_max;

static const struct ctl_table user_events_sysctls[] = {
	{
		.procname	= "user_events_max",
		.data		= &rtrace_user_events_max,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	},
};

static int __init register_user_events_sysctls(void)
{
	register_sysctl_init("kernel", user_events_sysctls);
	return 0;
}
fs_initcall(register_user_events_sysctls);
#endif

/* Without the function tracer no event waits for a module. */
#if defined(CONFIG_MODULES) && defined(CONFIG_FUNCTION_TRACER)
static int module_event(struct notifier_block *block, unsigned long event, void *module)
{
	if (event == MODULE_STATE_COMING)
		rtrace_dynamic_module(module);
#ifdef CONFIG_FPROBE_EVENTS
	if (event == MODULE_STATE_GOING)
		rtrace_dynamic_module_goes(module);
#endif
	return NOTIFY_OK;
}

#ifdef CONFIG_FPROBE_EVENTS
static int tracepoint_event(struct notifier_block *block, unsigned long event, void *module)
{
	if (event == MODULE_STATE_COMING)
		rtrace_dynamic_tracepoints();
	return NOTIFY_OK;
}

static struct notifier_block tracepoints = {
	.notifier_call	= tracepoint_event,
	.priority	= -10,	/* behind that of tracepoints */
};

static int __init register_tracepoints(void)
{
	return register_module_notifier(&tracepoints);
}
core_initcall(register_tracepoints);
#endif

static struct notifier_block modules = {
	.notifier_call	= module_event,
	.priority	= 2,	/* behind that of kprobes */
};

static int __init register_modules(void)
{
	return register_module_notifier(&modules);
}
core_initcall(register_modules);
#endif
