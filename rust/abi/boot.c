// SPDX-License-Identifier: GPL-2.0
/* What only C's macros and linker sections can make: boot parameters, steps of boot, sysctls, notifiers. */
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/kdb.h>
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/trace_printk.h>
#include <linux/tracepoint.h>
#include <asm/setup.h>
#include "boot.h"

#ifdef CONFIG_FUNCTION_TRACER
/* The number of its type, which entry.S puts before it, is made where C takes its address; Rust does not make it. */
KCFI_REFERENCE(ftrace_stub);
#endif

static char given[RTRACE_PARAMS][COMMAND_LINE_SIZE] __initdata;

const char *__ref rtrace_given(enum rtrace_param param)
{
	return given[param];
}

void __init rtrace_add_given(char *list, char separator, const char *text)
{
	size_t len = strlen(list);

	if (!*text || len + 1 + strlen(text) >= COMMAND_LINE_SIZE)
		return;
	if (len)
		list[len++] = separator;
	strscpy(list + len, text, COMMAND_LINE_SIZE - len);
}

/* As in C, a text with room but for its tab is the last one. */
static void __init add_one(char *list, const char *text)
{
	if (strlen(list) + strlen(text) >= COMMAND_LINE_SIZE)
		return;
	strlcat(list, text, COMMAND_LINE_SIZE);
	strlcat(list, "\t", COMMAND_LINE_SIZE);
}

#define PARAM(param, name)								\
	static int __init give_##param(char *text)					\
	{										\
		add_one(given[RTRACE_PARAM_##param], text);				\
		return 1;								\
	}										\
	__setup(name, give_##param)

/* One whose words come together, however often it is given. */
#define LIST_PARAM(param, name)								\
	static int __init give_##param(char *text)					\
	{										\
		rtrace_add_given(given[RTRACE_PARAM_##param], ',', text);		\
		return 1;								\
	}										\
	__setup(name, give_##param)

PARAM(TRACER, "ftrace=");
PARAM(CLOCK, "trace_clock=");
LIST_PARAM(OPTIONS, "trace_options=");
PARAM(BUFFER_SIZE, "trace_buf_size=");
PARAM(THRESHOLD, "tracing_thresh=");
PARAM(OFF_AT_END, "traceoff_after_boot");
PARAM(INSTANCE, "trace_instance=");
PARAM(SNAPSHOT, "alloc_snapshot");
PARAM(BOOT_SNAPSHOT, "ftrace_boot_snapshot");
#ifdef CONFIG_FUNCTION_TRACER
LIST_PARAM(FILTER, "ftrace_filter=");
LIST_PARAM(NOTRACE, "ftrace_notrace=");
LIST_PARAM(GRAPH_FILTER, "ftrace_graph_filter=");
LIST_PARAM(GRAPH_NOTRACE, "ftrace_graph_notrace=");
PARAM(GRAPH_DEPTH, "ftrace_graph_max_depth=");
#endif
#ifdef CONFIG_STACK_TRACER
/* In this order, as the first one whose name the word begins with is asked. */
PARAM(STACK_FILTER, "stacktrace_filter=");
PARAM(STACK_TRACE, "stacktrace");

DEFINE_PER_CPU(int, disable_stack_tracer);
device_initcall(rtrace_stack_tracer_init);
#endif

__setup("ftrace_dump_on_oops", rtrace_set_dump_on_oops);
__setup("traceoff_on_warning", rtrace_set_traceoff_on_warning);

core_initcall(rtrace_tracefs_init);
core_initcall(rtrace_all_cpus_are_up);
#ifdef CONFIG_BOOTTIME_TRACING
core_initcall_sync(rtrace_boot_config);
#endif
fs_initcall(rtrace_files_init);
fs_initcall(rtrace_printk_start);
#ifdef CONFIG_RV
/* Runtime verification, which is C, has a directory in tracefs. */
static int __init start_runtime_verification(void)
{
	if (rv_init_interface())
		pr_err("RV: its files could not be made\n");
	return 0;
}
fs_initcall(start_runtime_verification);
#endif
#ifdef CONFIG_KGDB_KDB
static kdbtab_t ftdump = {
	.name = "ftdump",
	.func = rtrace_kdb_ftdump,
	.usage = "[skip_#entries] [cpu]",
	.help = "Dump ftrace log; -skip dumps last #entries",
	.flags = KDB_ENABLE_ALWAYS_SAFE,
};

static int __init register_debugger_command(void)
{
	return kdb_register(&ftdump);
}
late_initcall(register_debugger_command);
#endif
#ifdef CONFIG_RING_BUFFER_STARTUP_TEST
late_initcall(rtrace_ring_buffer_test);
#endif
#ifdef CONFIG_FTRACE_STARTUP_TEST
late_initcall(rtrace_startup_tests);
#endif
late_initcall(rtrace_tasks_are_there);
late_initcall_sync(rtrace_end_of_boot);

char rtrace_dump_on_oops[RTRACE_DUMP_SETTING_MAX] = "0";
int rtrace_traceoff_on_warning;

#define SYSCTL(name, setting, handler)	\
	{ .procname = name, .data = setting, .maxlen = sizeof(*(setting)), .mode = 0644, .proc_handler = handler }

static const struct ctl_table sysctls[] = {
	SYSCTL("ftrace_dump_on_oops", &rtrace_dump_on_oops, proc_dostring),
	SYSCTL("traceoff_on_warning", &rtrace_traceoff_on_warning, proc_dointvec),
#ifdef CONFIG_FUNCTION_TRACER
	SYSCTL("ftrace_enabled", &ftrace_enabled, rtrace_ftrace_enabled_sysctl),
#endif
#ifdef CONFIG_STACK_TRACER
	SYSCTL("stack_tracer_enabled", (int *)NULL, rtrace_stack_tracer_sysctl),
#endif
};

/* Early among the notifiers: what others print or do is not to end up in the trace. */
static struct notifier_block died = { .notifier_call = rtrace_died, .priority = INT_MAX - 1 };
static struct notifier_block panicked = { .notifier_call = rtrace_panicked, .priority = INT_MAX - 1 };
static struct notifier_block modules = { .notifier_call = rtrace_module_event };

/* For an oops of boot itself. There is no scheduler yet; both chains are atomic and need no memory. */
void rtrace_register_dump_notifiers(void)
{
	atomic_notifier_chain_register(&panic_notifier_list, &panicked);
	register_die_notifier(&died);
}

static int __init listen(void)
{
	/* The first request initialises the lock that srcu_expedite_current() takes (rtrace_expedite_probes()). */
	start_poll_synchronize_srcu(&tracepoint_srcu);
	return register_module_notifier(&modules);
}
early_initcall(listen);

static int __init register_sysctls(void)
{
	register_sysctl_init("kernel", sysctls);
	return 0;
}
subsys_initcall(register_sysctls);

void trace_dump_stack(int skip)
{
	rtrace_dump_stack(_RET_IP_, skip);
}
EXPORT_SYMBOL_GPL(trace_dump_stack);
