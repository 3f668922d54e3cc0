/* SPDX-License-Identifier: GPL-2.0 */
/* What trace.c and trace.rs share. */
#ifndef RTRACE_ABI_TRACE_H
#define RTRACE_ABI_TRACE_H

#include <linux/percpu.h>

DECLARE_PER_CPU(bool, rtrace_entry_made);

/* A CPU's scale of its cycle counter as rust/kernel/clock/x86.rs uses it, in one cache line. Sequences are counted from 0. */
struct rtrace_scale {
	u64 factor;
	u64 start;
	u32 seen;
} __aligned(32);
#define RTRACE_SCALE_BUSY 0xffffffff
#define RTRACE_SCALE_NEVER_SEEN 0xfffffffe
DECLARE_PER_CPU(struct rtrace_scale, rtrace_scale);

/* Texts of boot parameters, empty where they were not given. */
const char *rtrace_boot_tracer(void);
const char *rtrace_boot_clock(void);
const char *rtrace_boot_options(void);
const char *rtrace_boot_size(void);

/* `alloc_snapshot` and `ftrace_boot_snapshot` for the top instance; the latter takes one when boot has ended. */
bool rtrace_boot_snapshot(void);
bool rtrace_boot_snapshot_at_end(void);

/* Parameters that may be given several times: `trace_instance=`, and the instances of `alloc_snapshot=`, a tab behind each. */
const char *rtrace_boot_instances(void);
const char *rtrace_boot_snapshots(void);

struct module;
void rtrace_module_changed(struct module *module, bool comes);

void rtrace_dump_stack(unsigned long from, int skip);

#endif
