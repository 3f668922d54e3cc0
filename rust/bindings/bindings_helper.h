/* SPDX-License-Identifier: GPL-2.0 */
/* The C headers that rtrace answers to; included by the kernel's rust/bindings/bindings_helper.h. */
#include <linux/ftrace.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/ring_buffer.h>
#include <linux/sched/clock.h>
#include <linux/stacktrace.h>
#include <linux/trace.h>
#include <linux/trace_clock.h>
#include <linux/trace_events.h>
#include <linux/trace_seq.h>
#include <linux/tracefs.h>
#include <trace/events/sched.h>
