// SPDX-License-Identifier: GPL-2.0

#include <linux/nmi.h>
#include <linux/seq_buf.h>
#include <linux/stdarg.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/utsname.h>
#include <asm/rwonce.h>
#include <asm/sections.h>
#include <asm/word-at-a-time.h>

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

/* On this architecture a copy has nothing to be ended. */
__rust_helper void rust_helper_rtrace_copy_arguments(va_list *to, va_list *from)
{
	va_copy(*to, *from);
}

__rust_helper int rust_helper_rtrace_next_int(va_list *args)
{
	return va_arg(*args, int);
}

__rust_helper long rust_helper_rtrace_next_long(va_list *args)
{
	return va_arg(*args, long);
}

/* As strlen(), word by word: as many instructions as that takes for each byte. */
__rust_helper size_t rust_helper_rtrace_text_length(const char *text)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	const unsigned long *word = (const unsigned long *)ALIGN_DOWN((unsigned long)text, sizeof(*word));
	unsigned long before = ((unsigned long)text - (unsigned long)word) * 8;
	unsigned long now = read_word_at_a_time(word), bits;

	/* What lies before the text is no end of it. */
	now |= ~(~0UL << before);
	while (!has_zero(now, &bits, &constants))
		now = read_word_at_a_time(++word);
	bits = create_zero_mask(prep_zero_mask(now, bits, &constants));
	return (const char *)word + find_zero(bits) - text;
}

__rust_helper int rust_helper_rtrace_print_pointer(char *to, size_t size, const char *conversion, const void *pointer)
{
	return snprintf(to, size, conversion, pointer);
}

__rust_helper notrace int rust_helper_rtrace_seq_buf_vprintf(struct seq_buf *seq, const char *fmt, va_list *args)
{
	return seq_buf_vprintf(seq, fmt, *args);
}
