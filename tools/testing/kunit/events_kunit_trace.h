/* SPDX-License-Identifier: GPL-2.0 */
/* The events of events_kunit.c. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtrace_kunit

#if !defined(EVENTS_KUNIT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define EVENTS_KUNIT_TRACE_H

#include <linux/tracepoint.h>

#ifndef EVENTS_KUNIT_ENUM
#define EVENTS_KUNIT_ENUM
enum { RTRACE_KUNIT_FIRST = 3, RTRACE_KUNIT_SECOND = -5 };
#endif

TRACE_DEFINE_ENUM(RTRACE_KUNIT_FIRST);
TRACE_DEFINE_ENUM(RTRACE_KUNIT_SECOND);

TRACE_EVENT(kunit_named,
	TP_PROTO(int number, const char *text),
	TP_ARGS(number, text),
	TP_STRUCT__entry(
		__field(int, number)
		__array(char, fixed, 8)
		__string(text, text)
		__field(u64, wide)
	),
	TP_fast_assign(
		__entry->number = number;
		strscpy_pad(__entry->fixed, "fixed", 8);
		__assign_str(text);
		__entry->wide = 1ULL << 40;
	),
	TP_printk("%s %s %s %llx", __print_symbolic(__entry->number,
			{ RTRACE_KUNIT_FIRST, "FIRST" }, { RTRACE_KUNIT_SECOND, "SECOND" }),
		__entry->fixed, __get_str(text), __entry->wide)
);

TRACE_EVENT(kunit_long,
	TP_PROTO(unsigned int count),
	TP_ARGS(count),
	TP_STRUCT__entry(
		__dynamic_array(u8, bytes, count)
	),
	TP_fast_assign(
		memset(__get_dynamic_array(bytes), 0x5a, count);
	),
	TP_printk("%u bytes, the last is %x", __get_dynamic_array_len(bytes),
		((u8 *)__get_dynamic_array(bytes))[__get_dynamic_array_len(bytes) - 1])
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE events_kunit_trace
#include <trace/define_trace.h>
