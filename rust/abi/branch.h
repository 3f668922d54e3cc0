/* SPDX-License-Identifier: GPL-2.0 */
/* The ends of the sections that the linker script gathers branches in. */
#ifndef RTRACE_ABI_BRANCH_H
#define RTRACE_ABI_BRANCH_H

#include <linux/compiler.h>

#ifdef CONFIG_TRACE_BRANCH_PROFILING
extern struct ftrace_likely_data __start_annotated_branch_profile[];
extern struct ftrace_likely_data __stop_annotated_branch_profile[];
#endif
#ifdef CONFIG_PROFILE_ALL_BRANCHES
extern struct ftrace_branch_data __start_branch_profile[];
extern struct ftrace_branch_data __stop_branch_profile[];
#endif

#endif
