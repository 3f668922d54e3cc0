// SPDX-License-Identifier: GPL-2.0
/*
 * What of the events that users define only C can make: a boot parameter, steps of boot, how they are printed.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <asm/setup.h>

#include "dynamic.h"

/* What prints returns an enum, which kCFI tells from an integer, and Rust does not: what a pointer leads to is C. */
static enum print_line_t print(struct trace_iterator *iter, int flags, struct trace_event *event)
{
	return rtrace_dynamic_print(iter, flags, event);
}

struct trace_event_functions rtrace_dynamic_funcs = {
	.trace	= print,
};

#ifdef CONFIG_KPROBE_EVENTS
static char boot_kprobes[COMMAND_LINE_SIZE] __initdata;

static int __init set_boot_kprobes(char *text)
{
	strscpy(boot_kprobes, text, sizeof(boot_kprobes));
	return 1;
}
__setup("kprobe_event=", set_boot_kprobes);

static int __init make_boot_kprobes(void)
{
	rtrace_dynamic_boot(boot_kprobes);
	return 0;
}
fs_initcall(make_boot_kprobes);
#endif

#ifdef CONFIG_MODULES
static int module_event(struct notifier_block *block, unsigned long event, void *module)
{
	if (event == MODULE_STATE_COMING)
		rtrace_dynamic_module(module);
	return NOTIFY_OK;
}

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
