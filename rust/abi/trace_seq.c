// SPDX-License-Identifier: GPL-2.0
/*
 * What of <linux/trace_seq.h> and of the printing functions of <linux/trace_events.h> only C can make: variadic functions,
 * which hand their arguments on, and exports.
 */
#include <linux/export.h>
#include <linux/trace_events.h>
#include <linux/trace_seq.h>
#include "trace_seq.h"

void trace_seq_vprintf(struct trace_seq *s, const char *fmt, va_list args)
{
	va_list copy;

	va_copy(copy, args);
	rtrace_seq_vprintf(s, fmt, &copy);
	va_end(copy);
}
EXPORT_SYMBOL_GPL(trace_seq_vprintf);

void trace_seq_printf(struct trace_seq *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	rtrace_seq_vprintf(s, fmt, &args);
	va_end(args);
}
EXPORT_SYMBOL_GPL(trace_seq_printf);

void trace_event_printf(struct trace_iterator *iter, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	rtrace_event_vprintf(iter, fmt, &args);
	va_end(args);
}
EXPORT_SYMBOL(trace_event_printf);

int trace_output_call(struct trace_iterator *iter, char *name, char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = rtrace_output_call(iter, name, fmt, &args);
	va_end(args);
	return ret;
}
EXPORT_SYMBOL_GPL(trace_output_call);

EXPORT_SYMBOL(trace_seq_acquire);
EXPORT_SYMBOL_GPL(trace_seq_bitmask);
EXPORT_SYMBOL_GPL(trace_seq_bitmask_list);
EXPORT_SYMBOL_GPL(trace_seq_bprintf);
EXPORT_SYMBOL(trace_seq_hex_dump);
EXPORT_SYMBOL_GPL(trace_seq_path);
EXPORT_SYMBOL_GPL(trace_seq_putc);
EXPORT_SYMBOL_GPL(trace_seq_putmem);
EXPORT_SYMBOL_GPL(trace_seq_putmem_hex);
EXPORT_SYMBOL_GPL(trace_seq_puts);
EXPORT_SYMBOL_GPL(trace_seq_to_user);
EXPORT_SYMBOL_GPL(trace_handle_return);
EXPORT_SYMBOL(trace_print_array_seq);
EXPORT_SYMBOL_GPL(trace_print_bitmask_seq);
EXPORT_SYMBOL(trace_print_flags_seq);
EXPORT_SYMBOL(trace_print_hex_dump_seq);
EXPORT_SYMBOL(trace_print_hex_seq);
EXPORT_SYMBOL(trace_print_symbols_seq);
EXPORT_SYMBOL(trace_raw_output_prep);
