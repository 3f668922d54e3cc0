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

/* What its format makes printing follow is only there while the string is. */
TRACE_EVENT(kunit_pointing,
	TP_PROTO(int number, const char *text),
	TP_ARGS(number, text),
	TP_STRUCT__entry(
		__field(int, number)
		__field(const char *, text)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->text = text;
	),
	TP_printk("%d %s", __entry->number, __entry->text)
);

/* What is behind the address is not in the entry. */
TRACE_EVENT(kunit_unsafe,
	TP_PROTO(const void *address),
	TP_ARGS(address),
	TP_STRUCT__entry(
		__field(const void *, address)
	),
	TP_fast_assign(
		__entry->address = address;
	),
	TP_printk("%d %pI4", 1, __entry->address)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE events_kunit_trace
#include <trace/define_trace.h>
