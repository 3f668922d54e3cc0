/* SPDX-License-Identifier: GPL-2.0 */
/* What printk.c and the Rust code share. */
#ifndef RTRACE_ABI_PRINTK_H
#define RTRACE_ABI_PRINTK_H

#include <linux/stdarg.h>
#include <linux/types.h>

/* Exported, though no header outside of kernel/trace declares them. */
int trace_vprintk(unsigned long ip, const char *fmt, va_list args);
int trace_vbprintk(unsigned long ip, const char *fmt, va_list args);

/* In printk.rs. */
bool rtrace_printk_enabled(void);
bool rtrace_printk_running(void);
int rtrace_print(unsigned long ip, const char *fmt, va_list *args);
int rtrace_print_packed(unsigned long ip, const char *fmt, va_list *args);
struct trace_array;
int rtrace_array_print(struct trace_array *tr, unsigned long ip, const char *fmt, va_list *args);

#endif
