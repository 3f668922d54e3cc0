// SPDX-License-Identifier: GPL-2.0

#include <linux/percpu.h>

/* Said in rust/kernel/entry_made.rs. */
DEFINE_PER_CPU(bool, rtrace_entry_made);
