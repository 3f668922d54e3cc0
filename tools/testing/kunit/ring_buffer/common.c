// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of <linux/ring_buffer.h>, as their C users see them.
 *
 * Loading the module runs the tests; nothing in it is particular to rtrace, so the same files say whether a kernel with
 * the C core behaves alike.
 */
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/sched.h>
#include "ring_buffer.h"

void (*set_clock)(struct trace_buffer *buffer, u64 (*clock)(void));
void (*set_time_stamp_abs)(struct trace_buffer *buffer, bool abs);
bool (*time_stamp_abs)(struct trace_buffer *buffer);
void (*nest_start)(struct trace_buffer *buffer);
void (*nest_end)(struct trace_buffer *buffer);
u64 (*event_time_stamp)(struct trace_buffer *buffer, struct ring_buffer_event *event);
bool (*record_is_on)(struct trace_buffer *buffer);
bool (*record_is_set_on)(struct trace_buffer *buffer);
bool (*record_is_on_cpu)(struct trace_buffer *buffer, int cpu);
int (*wait_for_events)(struct trace_buffer *buffer, int cpu, int full, ring_buffer_cond_fn cond, void *data);
void (*wake_waiters)(struct trace_buffer *buffer, int cpu);
size_t (*nr_dirty_pages)(struct trace_buffer *buffer, int cpu);
int (*map)(struct trace_buffer *buffer, int cpu, struct vm_area_struct *vma);
void (*map_dup)(struct trace_buffer *buffer, int cpu);
int (*unmap)(struct trace_buffer *buffer, int cpu);
int (*map_get_reader)(struct trace_buffer *buffer, int cpu);
struct trace_buffer *(*alloc_range)(unsigned long size, unsigned int flags, int order, unsigned long start,
					   unsigned long range_size, unsigned long scratch_size,
					   struct lock_class_key *key);
void *(*meta_scratch)(struct trace_buffer *buffer, unsigned int *size);

static const struct internal internal[] = {
	{ &set_clock,		"ring_buffer_set_clock" },
	{ &set_time_stamp_abs,	"ring_buffer_set_time_stamp_abs" },
	{ &time_stamp_abs,	"ring_buffer_time_stamp_abs" },
	{ &nest_start,		"ring_buffer_nest_start" },
	{ &nest_end,		"ring_buffer_nest_end" },
	{ &event_time_stamp,	"ring_buffer_event_time_stamp" },
	{ &record_is_on,	"ring_buffer_record_is_on" },
	{ &record_is_set_on,	"ring_buffer_record_is_set_on" },
	{ &record_is_on_cpu,	"ring_buffer_record_is_on_cpu" },
	{ &wait_for_events,	"ring_buffer_wait" },
	{ &wake_waiters,	"ring_buffer_wake_waiters" },
	{ &nr_dirty_pages,	"ring_buffer_nr_dirty_pages" },
	{ &map,			"ring_buffer_map" },
	{ &map_dup,		"ring_buffer_map_dup" },
	{ &unmap,		"ring_buffer_unmap" },
	{ &map_get_reader,	"ring_buffer_map_get_reader" },
	{ &alloc_range,		"__ring_buffer_alloc_range" },
	{ &meta_scratch,	"ring_buffer_meta_scratch" },
};

u64 now;

u64 test_clock(void)
{
	return READ_ONCE(now);
}

struct trace_buffer *buffer;

int suite_init(struct kunit_suite *suite)
{
	return find_internal(internal, ARRAY_SIZE(internal));
}

int test_init(struct kunit *test)
{
	int ret = set_cpus_allowed_ptr(current, cpumask_of(CPU));

	if (ret)
		return ret;
	buffer = ring_buffer_alloc(8 * ROOM, RB_FL_OVERWRITE);
	if (!buffer)
		return -ENOMEM;
	now = 1000;
	set_clock(buffer, test_clock);
	return 0;
}

void test_exit(struct kunit *test)
{
	if (buffer)
		ring_buffer_free(buffer);
	buffer = NULL;
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

kunit_test_suites(&write_suite, &read_suite, &memory_suite);

MODULE_DESCRIPTION("KUnit tests of <linux/ring_buffer.h>");
MODULE_LICENSE("GPL");

#pragma clang attribute pop
