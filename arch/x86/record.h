/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What entry.S knows of the ring buffer and of the clock, to write the entries of the function tracer. rust/abi/record.rs holds
 * it to what they are. What entry.S knows of tasks is in record-offsets.c.
 */
#ifndef RTRACE_ARCH_X86_RECORD_H
#define RTRACE_ARCH_X86_RECORD_H

/* Where the path is that way: one that the code in Rust takes, too. */
#if defined(CONFIG_SMP) && defined(CONFIG_PREEMPT_COUNT) && defined(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS) && \
	!defined(CONFIG_PREEMPT_RT) && !defined(CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS)
#define RTRACE_RECORDS_IN_ENTRY 1
#else
#define RTRACE_RECORDS_IN_ENTRY 0
#endif

/* How deep preemption may be off in a plain task. */
#define RTRACE_PLAIN_DEPTH		0xf

/* Words of a ring. */
#define RTRACE_RING_POSITION		0x00
#define RTRACE_RING_STAMP		0x08
#define RTRACE_RING_STAMP_POSITION	0x10
#define RTRACE_RING_CONTEXT		0x40
#define RTRACE_RING_RECORDS		0x48
#define RTRACE_RING_LIMIT		0x60
#define RTRACE_RING_WAITERS		0x68
#define RTRACE_RING_COMMIT		0x80

/*
 * The upper half of the limit is the negation of reasons: flags with which there is recording all the same, above a count; and
 * above these the flag of recording that is off.
 */
#define RTRACE_LIMIT_COUNT		0x0fffffff
#define RTRACE_LIMIT_RECORDS		0x30000000
#define RTRACE_LIMIT_OFF		0x40000000

/* A position: its bits for the bytes used, and one event of 28 bytes more. */
#define RTRACE_POSITION_USED		0xfffff
#define RTRACE_POSITION_STEP		0x10001c

/* The event: its size, that but for the header, the header's type, the bits for its time; the type of its entry. */
#define RTRACE_EVENT_SIZE		28
#define RTRACE_EVENT_PAYLOAD		24
#define RTRACE_EVENT_TYPE		6
#define RTRACE_EVENT_TYPE_BITS		5
#define RTRACE_EVENT_LAST_DELTA		0x7ffffff
#define RTRACE_ENTRY_TYPE		1

/* Where the parts of the entry are in the event, and the bit of the first word of its header for interrupts that are off. */
#define RTRACE_EVENT_HEADER		4
#define RTRACE_ENTRY_PREEMPT		7
#define RTRACE_ENTRY_PID		8
#define RTRACE_ENTRY_IP			12
#define RTRACE_ENTRY_PARENT		20
#define RTRACE_ENTRY_IRQS_BIT		16

/* The context word while a task writes, and what it keeps then. */
#define RTRACE_CONTEXT_TASK		0x80
#define RTRACE_CONTEXT_LEFT		-0x80000000

/* How an attempt ended. */
#define RTRACE_ATTEMPT_WANTED		1
#define RTRACE_ATTEMPT_UNPUBLISHED	2
#define RTRACE_ATTEMPT_ABANDONED	4
/* The same where there is no ring: nothing is left to do. */
#define RTRACE_ATTEMPT_NOTHING		1

/* The clock: how many of the counter's upper bits are left out; words of what it looks at. */
#define RTRACE_CLOCK_MORE		2
#define RTRACE_SCALE_FACTOR		0
#define RTRACE_SCALE_SEEN		8
#define RTRACE_CYC2NS_OFFSET		8
#define RTRACE_CYC2NS_SEQUENCE		32

#ifndef __ASSEMBLER__
#include <linux/percpu.h>

/* The address of a ring that takes nothing, for trampolines that are to record nothing. */
DECLARE_PER_CPU(const void *, rtrace_no_ring);
#endif

#endif
