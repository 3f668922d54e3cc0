// SPDX-License-Identifier: GPL-2.0
/*
 * What of trace_printk() only C can make: variadic functions, which hand their arguments on.
 */
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mmiotrace.h>
#include <linux/string.h>
#include <linux/trace.h>
#include <linux/trace_printk.h>
#include "printk.h"

bool rtrace_printk_running(void)
{
	return system_state == SYSTEM_RUNNING;
}

int trace_vprintk(unsigned long ip, const char *fmt, va_list args)
{
	va_list copy;
	int ret;

	va_copy(copy, args);
	/* What formats the text is no part of a graph. */
	pause_graph_tracing();
	ret = rtrace_print(ip, fmt, &copy);
	unpause_graph_tracing();
	va_end(copy);
	return ret;
}
EXPORT_SYMBOL_GPL(trace_vprintk);

int trace_vbprintk(unsigned long ip, const char *fmt, va_list args)
{
	va_list copy;
	int ret;

	va_copy(copy, args);
	pause_graph_tracing();
	ret = rtrace_print_packed(ip, fmt, &copy);
	unpause_graph_tracing();
	va_end(copy);
	return ret;
}
EXPORT_SYMBOL_GPL(trace_vbprintk);

int __ftrace_vprintk(unsigned long ip, const char *fmt, va_list args)
{
	return rtrace_printk_enabled() ? trace_vprintk(ip, fmt, args) : 0;
}
EXPORT_SYMBOL_GPL(__ftrace_vprintk);

int __ftrace_vbprintk(unsigned long ip, const char *fmt, va_list args)
{
	return rtrace_printk_enabled() ? trace_vbprintk(ip, fmt, args) : 0;
}
EXPORT_SYMBOL_GPL(__ftrace_vbprintk);

int __trace_printk(unsigned long ip, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = __ftrace_vprintk(ip, fmt, args);
	va_end(args);
	return ret;
}
EXPORT_SYMBOL_GPL(__trace_printk);

int __trace_bprintk(unsigned long ip, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = __ftrace_vbprintk(ip, fmt, args);
	va_end(args);
	return ret;
}
EXPORT_SYMBOL_GPL(__trace_bprintk);

int trace_array_printk(struct trace_array *tr, unsigned long ip, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	pause_graph_tracing();
	ret = rtrace_array_print(tr, ip, fmt, &args);
	unpause_graph_tracing();
	va_end(args);
	return ret;
}
EXPORT_SYMBOL_GPL(trace_array_printk);

#ifdef CONFIG_MMIOTRACE
int mmio_trace_printk(const char *fmt, va_list args)
{
	return trace_vprintk(0, fmt, args);
}
#endif
