/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RTRACE_HELPERS_OWN_EVENT_H
#define RTRACE_HELPERS_OWN_EVENT_H

#include <linux/trace_events.h>

/* The `reg` of the class of an event without a probe: C, which has the type that kCFI compares. */
int rtrace_own_event_reg(struct trace_event_call *call, enum trace_reg what, void *data);

#endif
