/* SPDX-License-Identifier: GPL-2.0 */
/* What stack_tracer.c and stack_tracer.rs share. */
#ifndef RTRACE_ABI_STACK_TRACER_H
#define RTRACE_ABI_STACK_TRACER_H

void rtrace_stack_tracer_init(const char *filter, bool on);
int rtrace_stack_tracer_set(bool on);

#endif
