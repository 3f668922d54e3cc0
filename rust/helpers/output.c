// SPDX-License-Identifier: GPL-2.0

#include <linux/nmi.h>
#include <linux/seq_buf.h>
#include <linux/stdarg.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/utsname.h>
#include <asm/sections.h>

__rust_helper void rust_helper_touch_nmi_watchdog(void)
{
	touch_nmi_watchdog();
}

__rust_helper const char *rust_helper_init_utsname_release(void)
{
	return init_utsname()->release;
}

__rust_helper void rust_helper_rtrace_irq_entry_text(unsigned long *range)
{
	range[0] = (unsigned long)__irqentry_text_start;
	range[1] = (unsigned long)__irqentry_text_end;
}

__rust_helper const char *rust_helper_trace_event_name(struct trace_event_call *call)
{
	return trace_event_name(call);
}

/* With the arguments by reference. trace_printk() comes here: they must not be traced where they are not inlined. */
__rust_helper notrace int rust_helper_rtrace_vscnprintf(char *buf, size_t size, const char *fmt, va_list *args)
{
	return vscnprintf(buf, size, fmt, *args);
}

__rust_helper notrace int rust_helper_rtrace_vbin_printf(u32 *buf, size_t words, const char *fmt, va_list *args)
{
	return vbin_printf(buf, words, fmt, *args);
}

__rust_helper notrace int rust_helper_rtrace_seq_buf_vprintf(struct seq_buf *seq, const char *fmt, va_list *args)
{
	return seq_buf_vprintf(seq, fmt, *args);
}
