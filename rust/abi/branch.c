// SPDX-License-Identifier: GPL-2.0
/* What of branch profiling only C macros can make. */
#include <linux/compiler.h>
#include <linux/export.h>

EXPORT_SYMBOL(ftrace_likely_update);
