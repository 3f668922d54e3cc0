// SPDX-License-Identifier: GPL-2.0
#include "own_event.h"

int rtrace_own_event_reg(struct trace_event_call *call, enum trace_reg what, void *data)
{
	return 0;
}
