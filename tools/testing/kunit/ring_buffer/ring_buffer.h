/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of <linux/ring_buffer.h> share: a buffer with a clock that they set, and functions that the header declares for
 * the kernel itself. All tests write on CPU 0, where they are held.
 */
#ifndef RING_BUFFER_KUNIT_H
#define RING_BUFFER_KUNIT_H

#include <kunit/test.h>
#include <linux/ring_buffer.h>
#include "../address_of.h"

#define CPU	0
/* Room for events on a sub-buffer of one page. */
#define ROOM	(PAGE_SIZE - 16)
/* A record with a payload of 8 bytes; for 4 bytes and for 12 of payload there is none of 12. */
#define SMALL	16
#define PER_PAGE (ROOM / SMALL)
/* No CPU at all, for which the C core has no answer. */
#define NO_CPU	(NR_CPUS + 1)
#define RUST	IS_ENABLED(CONFIG_RTRACE)

extern void (*set_clock)(struct trace_buffer *buffer, u64 (*clock)(void));
extern void (*set_time_stamp_abs)(struct trace_buffer *buffer, bool abs);
extern bool (*time_stamp_abs)(struct trace_buffer *buffer);
extern void (*nest_start)(struct trace_buffer *buffer);
extern void (*nest_end)(struct trace_buffer *buffer);
extern u64 (*event_time_stamp)(struct trace_buffer *buffer, struct ring_buffer_event *event);
extern bool (*record_is_on)(struct trace_buffer *buffer);
extern bool (*record_is_set_on)(struct trace_buffer *buffer);
extern bool (*record_is_on_cpu)(struct trace_buffer *buffer, int cpu);
extern int (*wait_for_events)(struct trace_buffer *buffer, int cpu, int full, ring_buffer_cond_fn cond, void *data);
extern void (*wake_waiters)(struct trace_buffer *buffer, int cpu);
extern size_t (*nr_dirty_pages)(struct trace_buffer *buffer, int cpu);
extern int (*map)(struct trace_buffer *buffer, int cpu, struct vm_area_struct *vma);
extern void (*map_dup)(struct trace_buffer *buffer, int cpu);
extern int (*unmap)(struct trace_buffer *buffer, int cpu);
extern int (*map_get_reader)(struct trace_buffer *buffer, int cpu);
extern struct trace_buffer *(*alloc_range)(unsigned long size, unsigned int flags, int order, unsigned long start,
					   unsigned long range_size, unsigned long scratch_size,
					   struct lock_class_key *key);
extern void *(*meta_scratch)(struct trace_buffer *buffer, unsigned int *size);

/* The time, and the buffer of the test that runs. */
extern u64 now;
extern struct trace_buffer *buffer;

u64 test_clock(void);
int suite_init(struct kunit_suite *suite);
int test_init(struct kunit *test);
void test_exit(struct kunit *test);

#define RING_BUFFER_SUITE(group)				\
	struct kunit_suite group##_suite = {			\
		.name		= "ring_buffer_" #group,	\
		.suite_init	= suite_init,			\
		.init		= test_init,			\
		.exit		= test_exit,			\
		.test_cases	= cases,			\
	}

extern struct kunit_suite write_suite, read_suite, memory_suite;

static inline bool put(u64 value)
{
	return !ring_buffer_write(buffer, sizeof(value), &value);
}

/* Records values from..to, not included, a unit of time apart. */
static inline unsigned int put_range(u64 from, u64 to)
{
	unsigned int done = 0;

	for (; from < to; from++, now++)
		done += put(from);
	return done;
}

static inline u64 value_of(struct ring_buffer_event *event)
{
	u64 value;

	memcpy(&value, ring_buffer_event_data(event), sizeof(value));
	return value;
}

/* Consumes one event; NOTHING at the end. */
#define NOTHING U64_MAX
static inline u64 take(u64 *ts, unsigned long *lost)
{
	struct ring_buffer_event *event = ring_buffer_consume(buffer, CPU, ts, lost);

	return event ? value_of(event) : NOTHING;
}

static inline struct ring_buffer_event *reserve(u64 value)
{
	struct ring_buffer_event *event = ring_buffer_lock_reserve(buffer, sizeof(value));

	if (event)
		memcpy(ring_buffer_event_data(event), &value, sizeof(value));
	return event;
}

/*
 * The functions of the table `internal` are called by their addresses. kCFI knows a function in Rust by the names of Rust's types, so
 * it is off in these files, each of which ends with a pop.
 */
#pragma clang attribute push(__attribute__((no_sanitize("kcfi"))), apply_to = function)

#endif
