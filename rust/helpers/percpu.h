/* SPDX-License-Identifier: GPL-2.0 */
/* Static per-CPU data, which Rust cannot define. */
#ifndef RTRACE_HELPERS_PERCPU_H
#define RTRACE_HELPERS_PERCPU_H

#include <linux/percpu.h>
#include <linux/types.h>

/* Has this CPU made an entry since its tasks' names were last saved? See rust/trace/buffer/entry.rs. */
DECLARE_PER_CPU(bool, rtrace_entry_made);

/* What rust/kernel/clock/x86.rs keeps of a CPU's cyc2ns, in one cache line; `seen` is an even sequence of that, or odd. */
struct rtrace_scale {
	u64 factor;
	u32 seen;
} __aligned(16);
#define RTRACE_SCALE_BUSY 0xffffffff
#define RTRACE_SCALE_NEVER_SEEN 0xfffffffd
DECLARE_PER_CPU(struct rtrace_scale, rtrace_scale);

/*
 * Where hits of the function profiler look (rust/trace/profilers/function/): what the frames of this CPU end in, 0 while it is
 * off; where its table begins, and which bits of a hash are a place in it.
 */
struct rtrace_profile {
	u64 top;
	void *records;
	u64 mask;
} __aligned(32);
DECLARE_PER_CPU(struct rtrace_profile, rtrace_profile);

#endif
