// SPDX-License-Identifier: GPL-2.0
#include <linux/init.h>
#include "percpu.h"

DEFINE_PER_CPU(bool, rtrace_entry_made);

DEFINE_PER_CPU(struct rtrace_scale, rtrace_scale) = { .seen = RTRACE_SCALE_NEVER_SEEN };

DEFINE_PER_CPU(struct rtrace_profile, rtrace_profile);

/* tsc_init() has the boot CPU's sequences begin anew, and so one that was seen before may come again. */
static int __init forget_scale(void)
{
	this_cpu_write(rtrace_scale.seen, RTRACE_SCALE_NEVER_SEEN);
	return 0;
}
early_initcall(forget_scale);
