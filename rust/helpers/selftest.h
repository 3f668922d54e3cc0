/* SPDX-License-Identifier: GPL-2.0 */
/* What selftest.c and the Rust code share. */
#ifndef RTRACE_HELPERS_SELFTEST_H
#define RTRACE_HELPERS_SELFTEST_H

/* Its name is known: it is C's, too. */
int kprobe_trace_selftest_target(int a1, int a2, int a3, int a4, int a5, int a6);

#endif
