/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM own_module

#if !defined(OWN_MODULE_EVENT_H) || defined(TRACE_HEADER_MULTI_READ)
#define OWN_MODULE_EVENT_H

#include <linux/tracepoint.h>

TRACE_EVENT(own_module_asked,
	TP_PROTO(int question),
	TP_ARGS(question),
	TP_STRUCT__entry(
		__field(int, question)
	),
	TP_fast_assign(
		__entry->question = question;
	),
	TP_printk("question=%d", __entry->question)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE own_module_event
#include <trace/define_trace.h>
