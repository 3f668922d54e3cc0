/* SPDX-License-Identifier: GPL-2.0 */
/* What dump.c and dump.rs share. */
#ifndef RTRACE_ABI_DUMP_H
#define RTRACE_ABI_DUMP_H

struct notifier_block;

#define RTRACE_DUMP_SETTING_MAX 100

extern char rtrace_dump_on_oops[RTRACE_DUMP_SETTING_MAX];
extern int rtrace_traceoff_on_warning;

int rtrace_set_dump_on_oops(char *param);
int rtrace_set_traceoff_on_warning(char *param);
int rtrace_died(struct notifier_block *self, unsigned long event, void *data);
int rtrace_panicked(struct notifier_block *self, unsigned long event, void *data);

#endif
