/* SPDX-License-Identifier: GPL-2.0 */
/* What trace.c and trace.rs share. */
#ifndef RTRACE_ABI_TRACE_H
#define RTRACE_ABI_TRACE_H

#include <linux/percpu.h>

DECLARE_PER_CPU(bool, rtrace_entry_made);

/* What rust/kernel/clock/x86.rs keeps of a CPU's cyc2ns, in one cache line; `seen` is an even sequence of that, or odd. */
struct rtrace_scale {
	u64 factor;
	u32 seen;
} __aligned(16);
#define RTRACE_SCALE_BUSY 0xffffffff
#define RTRACE_SCALE_NEVER_SEEN 0xfffffffd
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
