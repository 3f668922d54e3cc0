/* SPDX-License-Identifier: GPL-2.0 */
/* What trace_seq.c and the Rust code share. */
#ifndef RTRACE_ABI_TRACE_SEQ_H
#define RTRACE_ABI_TRACE_SEQ_H

#include <linux/stdarg.h>

struct trace_iterator;
struct trace_seq;

/* In trace_seq.rs. */
void rtrace_seq_vprintf(struct trace_seq *seq, const char *fmt, va_list *args);
void rtrace_event_vprintf(struct trace_iterator *iter, const char *fmt, va_list *args);
int rtrace_output_call(struct trace_iterator *iter, const char *name, const char *fmt, va_list *args);

#endif
