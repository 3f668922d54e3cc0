// SPDX-License-Identifier: GPL-2.0
/*
 * The function that the test of kprobe events at the end of boot probes. It has a site, as all that may be probed and
 * nothing else here.
 */
#include "selftest.h"

int kprobe_trace_selftest_target(int a1, int a2, int a3, int a4, int a5, int a6)
{
	return a1 + a2 + a3 + a4 + a5 + a6;
}
