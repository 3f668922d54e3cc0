/* SPDX-License-Identifier: GPL-2.0 */
/* What boot.c and the Rust side share. */
#ifndef RTRACE_ABI_BOOT_H
#define RTRACE_ABI_BOOT_H

#include <linux/types.h>

/* Boot parameters. */
enum rtrace_param {
	RTRACE_PARAM_TRACER,
	RTRACE_PARAM_CLOCK,
	RTRACE_PARAM_OPTIONS,
	RTRACE_PARAM_BUFFER_SIZE,
	RTRACE_PARAM_THRESHOLD,
	RTRACE_PARAM_OFF_AT_END,
	RTRACE_PARAM_INSTANCE,
	RTRACE_PARAM_SNAPSHOT,
	RTRACE_PARAM_BOOT_SNAPSHOT,
	RTRACE_PARAM_FILTER,
	RTRACE_PARAM_NOTRACE,
	RTRACE_PARAM_GRAPH_FILTER,
	RTRACE_PARAM_GRAPH_NOTRACE,
	RTRACE_PARAM_GRAPH_DEPTH,
	RTRACE_PARAM_STACK_FILTER,
	RTRACE_PARAM_STACK_TRACE,
	RTRACE_PARAMS
};

/*
 * What it was given each time, with a tab behind; a list with commas between. What has no room is left out whole. As long as
 * there is init memory.
 */
const char *rtrace_given(enum rtrace_param param);

/* Adds to what a parameter was given before, in COMMAND_LINE_SIZE bytes of init memory; what has no room is left out whole. */
void rtrace_add_given(char *list, char separator, const char *text);

/* Settings of sysctls, and their handlers in Rust. */
#define RTRACE_DUMP_SETTING_MAX 100
extern char rtrace_dump_on_oops[RTRACE_DUMP_SETTING_MAX];
extern int rtrace_traceoff_on_warning;

struct ctl_table;
int rtrace_ftrace_enabled_sysctl(const struct ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos);
int rtrace_stack_tracer_sysctl(const struct ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos);

/* Steps of boot, and what is heard of modules and of the kernel's end, in Rust. */
struct notifier_block;
/* From then on an oops or a panic is heard of. Early boot, once. */
void rtrace_register_dump_notifiers(void);
int rtrace_set_dump_on_oops(char *param);
int rtrace_set_traceoff_on_warning(char *param);
int rtrace_tracefs_init(void);
/* Of kernel/trace/rv/rv.c: makes its files; not 0 if it can't. */
int rv_init_interface(void);
int rtrace_files_init(void);
#ifdef CONFIG_RING_BUFFER_STARTUP_TEST
int rtrace_ring_buffer_test(void);
#endif
#ifdef CONFIG_FTRACE_STARTUP_TEST
int rtrace_startup_tests(void);
#endif
int rtrace_boot_config(void);
int rtrace_kdb_ftdump(int argc, const char **argv);
int rtrace_printk_start(void);
int rtrace_all_cpus_are_up(void);
int rtrace_tasks_are_there(void);
int rtrace_end_of_boot(void);
int rtrace_stack_tracer_init(void);
int rtrace_module_event(struct notifier_block *self, unsigned long event, void *module);
int rtrace_died(struct notifier_block *self, unsigned long event, void *data);
int rtrace_panicked(struct notifier_block *self, unsigned long event, void *data);

void rtrace_dump_stack(unsigned long from, int skip);

#endif
