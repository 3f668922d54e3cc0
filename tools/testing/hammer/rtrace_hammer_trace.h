/* SPDX-License-Identifier: GPL-2.0 */
/* The event of rtrace_hammer.c. Nobody calls its tracepoint: the writers reserve and commit its entries themselves. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtrace_hammer

#if !defined(RTRACE_HAMMER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RTRACE_HAMMER_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(hammer,
	TP_PROTO(const char *text, int length, bool keep),
	TP_ARGS(text, length, keep),
	TP_STRUCT__entry(
		__field(u32, keep)
		__dynamic_array(char, text, length)
	),
	TP_fast_assign(
		__entry->keep = keep;
		memcpy(__get_dynamic_array(text), text, length);
	),
	TP_printk("%.*s", (int)__get_dynamic_array_len(text) - 1, (char *)__get_dynamic_array(text))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE rtrace_hammer_trace
#include <trace/define_trace.h>
