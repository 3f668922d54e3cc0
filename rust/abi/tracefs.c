// SPDX-License-Identifier: GPL-2.0

#include <linux/export.h>
#include <linux/init.h>
#include <linux/tracefs.h>

EXPORT_SYMBOL_GPL(tracefs_create_file);

int rtrace_tracefs_init(void);
int rtrace_files_init(void);

core_initcall(rtrace_tracefs_init);
fs_initcall(rtrace_files_init);
