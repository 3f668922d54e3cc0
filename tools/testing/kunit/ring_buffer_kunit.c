// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of <linux/ring_buffer.h>, as their C users see them.
 *
 * Loading the module runs the tests; nothing in it is particular to rtrace, so the same file says whether a kernel with
 * the C core behaves alike. All tests write on CPU 0, where they are held, and by a clock that they set.
 */
#include <kunit/test.h>
#include <linux/anon_inodes.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/ring_buffer.h>
#include <linux/sched.h>
#include <linux/trace_mmap.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <asm/local.h>

#define CPU	0
/* Room for events on a sub-buffer of one page. */
#define ROOM	(PAGE_SIZE - 16)
/* A record with a payload of 8 bytes; for 4 bytes and for 12 of payload there is none of 12. */
#define SMALL	16
#define PER_PAGE (ROOM / SMALL)
/* No CPU at all, for which the C core has no answer. */
#define NO_CPU	(NR_CPUS + 1)
#define RUST	IS_ENABLED(CONFIG_RTRACE)

/* What the header declares for the kernel itself; the address is that of a probe. */
static void *address_of(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	void *addr = NULL;

	if (!register_kprobe(&probe)) {
		addr = probe.addr;
		unregister_kprobe(&probe);
	}
	return addr;
}

static void (*set_clock)(struct trace_buffer *buffer, u64 (*clock)(void));
static void (*set_time_stamp_abs)(struct trace_buffer *buffer, bool abs);
static bool (*time_stamp_abs)(struct trace_buffer *buffer);
static void (*nest_start)(struct trace_buffer *buffer);
static void (*nest_end)(struct trace_buffer *buffer);
static u64 (*event_time_stamp)(struct trace_buffer *buffer, struct ring_buffer_event *event);
static bool (*record_is_on)(struct trace_buffer *buffer);
static bool (*record_is_set_on)(struct trace_buffer *buffer);
static bool (*record_is_on_cpu)(struct trace_buffer *buffer, int cpu);
static int (*wait_for_events)(struct trace_buffer *buffer, int cpu, int full, ring_buffer_cond_fn cond, void *data);
static void (*wake_waiters)(struct trace_buffer *buffer, int cpu);
static size_t (*nr_dirty_pages)(struct trace_buffer *buffer, int cpu);
static int (*map)(struct trace_buffer *buffer, int cpu, struct vm_area_struct *vma);
static void (*map_dup)(struct trace_buffer *buffer, int cpu);
static int (*unmap)(struct trace_buffer *buffer, int cpu);
static int (*map_get_reader)(struct trace_buffer *buffer, int cpu);
static struct trace_buffer *(*alloc_range)(unsigned long size, unsigned int flags, int order, unsigned long start,
					   unsigned long range_size, unsigned long scratch_size,
					   struct lock_class_key *key);
static void *(*meta_scratch)(struct trace_buffer *buffer, unsigned int *size);

static const struct { void *place; const char *name; } internal[] = {
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

static u64 now;

static u64 test_clock(void)
{
	return READ_ONCE(now);
}

static struct trace_buffer *buffer;

static int suite_init(struct kunit_suite *suite)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(internal); i++) {
		void *addr = address_of(internal[i].name);

		if (!addr) {
			pr_err("no %s\n", internal[i].name);
			return -ENOENT;
		}
		*(void **)internal[i].place = addr;
	}
	return 0;
}

static int test_init(struct kunit *test)
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

static void test_exit(struct kunit *test)
{
	if (buffer)
		ring_buffer_free(buffer);
	buffer = NULL;
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static bool put(u64 value)
{
	return !ring_buffer_write(buffer, sizeof(value), &value);
}

/* Records values from..to, not included, a unit of time apart. */
static unsigned int put_range(u64 from, u64 to)
{
	unsigned int done = 0;

	for (; from < to; from++, now++)
		done += put(from);
	return done;
}

static u64 value_of(struct ring_buffer_event *event)
{
	u64 value;

	memcpy(&value, ring_buffer_event_data(event), sizeof(value));
	return value;
}

/* Consumes one event; NOTHING at the end. */
#define NOTHING U64_MAX
static u64 take(u64 *ts, unsigned long *lost)
{
	struct ring_buffer_event *event = ring_buffer_consume(buffer, CPU, ts, lost);

	return event ? value_of(event) : NOTHING;
}

static void lengths(struct kunit *test)
{
	static const unsigned int lengths[] = { 1, 4, 5, 8, 12, 13, 16, 100, 111, 112, 113, 116, 500, 4000 };
	unsigned int i, j;
	u8 *data;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct ring_buffer_event *event = ring_buffer_lock_reserve(buffer, lengths[i]);

		KUNIT_ASSERT_NOT_NULL(test, event);
		data = ring_buffer_event_data(event);
		for (j = 0; j < lengths[i]; j++)
			data[j] = i + j;
		KUNIT_EXPECT_EQ(test, event_time_stamp(buffer, event), now);
		KUNIT_EXPECT_EQ(test, ring_buffer_unlock_commit(buffer), 0);
		now += 7;
	}
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), ARRAY_SIZE(lengths));
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		unsigned long lost = 99;
		u64 ts;
		struct ring_buffer_event *event = ring_buffer_consume(buffer, CPU, &ts, &lost);
		unsigned int length, words = ALIGN(lengths[i], 4);

		KUNIT_ASSERT_NOT_NULL(test, event);
		/* No record has 12 bytes. */
		if (words == 8)
			words = 12;
		length = ring_buffer_event_length(event);
		KUNIT_EXPECT_EQ(test, length, words);
		KUNIT_EXPECT_EQ(test, ts, 1000 + 7 * i);
		KUNIT_EXPECT_EQ(test, lost, 0);
		data = ring_buffer_event_data(event);
		for (j = 0; j < lengths[i]; j++)
			KUNIT_ASSERT_EQ(test, data[j], (u8)(i + j));
	}
	KUNIT_EXPECT_NULL(test, ring_buffer_consume(buffer, CPU, NULL, NULL));
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_events_cpu(buffer, CPU), ARRAY_SIZE(lengths));
}

static void limits(struct kunit *test)
{
	unsigned long max = ring_buffer_max_event_size(buffer);
	struct ring_buffer_event *event;

	KUNIT_EXPECT_EQ(test, max, ROOM - 8);
	KUNIT_EXPECT_EQ(test, ring_buffer_size(buffer, CPU), 8 * ROOM);
	if (RUST)
		KUNIT_EXPECT_EQ(test, ring_buffer_size(buffer, NO_CPU), 0);
	KUNIT_EXPECT_NULL(test, ring_buffer_lock_reserve(buffer, max + 1));
	KUNIT_EXPECT_FALSE(test, preempt_count());
	event = ring_buffer_lock_reserve(buffer, max);
	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_EXPECT_TRUE(test, preempt_count());
	memset(ring_buffer_event_data(event), 0x5a, max);
	ring_buffer_unlock_commit(buffer);
	KUNIT_EXPECT_FALSE(test, preempt_count());
	event = ring_buffer_peek(buffer, CPU, NULL, NULL);
	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, ring_buffer_event_length(event), max);
	set_time_stamp_abs(buffer, true);
	KUNIT_EXPECT_EQ(test, ring_buffer_max_event_size(buffer), max - 8);
}

static void peek(struct kunit *test)
{
	u64 ts;

	ts = 5;
	KUNIT_EXPECT_NULL(test, ring_buffer_peek(buffer, CPU, &ts, NULL));
	KUNIT_EXPECT_EQ(test, ts, 0);
	put_range(0, 3);
	KUNIT_EXPECT_EQ(test, value_of(ring_buffer_peek(buffer, CPU, &ts, NULL)), 0);
	KUNIT_EXPECT_EQ(test, value_of(ring_buffer_peek(buffer, CPU, &ts, NULL)), 0);
	KUNIT_EXPECT_EQ(test, ts, 1000);
	KUNIT_EXPECT_EQ(test, ring_buffer_entries_cpu(buffer, CPU), 3);
	KUNIT_EXPECT_EQ(test, take(&ts, NULL), 0);
	KUNIT_EXPECT_EQ(test, value_of(ring_buffer_peek(buffer, CPU, &ts, NULL)), 1);
	KUNIT_EXPECT_EQ(test, ts, 1001);
	KUNIT_EXPECT_EQ(test, ring_buffer_oldest_event_ts(buffer, CPU) <= 1001, true);
	if (RUST)
		KUNIT_EXPECT_NULL(test, ring_buffer_peek(buffer, -5, &ts, NULL));
}

static void overwrite(struct kunit *test)
{
	/* Twelve sub-buffers' worth, for eight and the reader's. */
	unsigned int count = 12 * PER_PAGE, i;
	unsigned long lost = 0, overrun;
	u64 value, first;

	KUNIT_EXPECT_EQ(test, put_range(0, count), count);
	overrun = ring_buffer_overrun_cpu(buffer, CPU);
	KUNIT_EXPECT_GT(test, overrun, 0);
	KUNIT_EXPECT_EQ(test, overrun % PER_PAGE, 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_overruns(buffer), overrun);
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer) + overrun, count);
	KUNIT_EXPECT_EQ(test, ring_buffer_bytes_cpu(buffer, CPU), SMALL * (count - overrun));
	KUNIT_EXPECT_EQ(test, ring_buffer_dropped_events_cpu(buffer, CPU), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_commit_overrun_cpu(buffer, CPU), 0);
	first = take(NULL, &lost);
	KUNIT_EXPECT_EQ(test, first, overrun);
	KUNIT_EXPECT_EQ(test, lost, overrun);
	for (i = first + 1; (value = take(NULL, &lost)) != NOTHING; i++) {
		KUNIT_ASSERT_EQ(test, value, i);
		KUNIT_ASSERT_EQ(test, lost, 0);
	}
	KUNIT_EXPECT_EQ(test, i, count);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_events_cpu(buffer, CPU) + overrun, count);
	KUNIT_EXPECT_EQ(test, ring_buffer_bytes_cpu(buffer, CPU), 0);
	KUNIT_EXPECT_TRUE(test, ring_buffer_empty(buffer));
	KUNIT_EXPECT_TRUE(test, ring_buffer_empty_cpu(buffer, CPU));
}

static void no_overwrite(struct kunit *test)
{
	unsigned int count = 12 * PER_PAGE, done, i;
	u64 value;

	ring_buffer_change_overwrite(buffer, 0);
	done = put_range(0, count);
	KUNIT_EXPECT_LT(test, done, count);
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), done);
	KUNIT_EXPECT_EQ(test, ring_buffer_dropped_events_cpu(buffer, CPU), count - done);
	KUNIT_EXPECT_EQ(test, ring_buffer_overrun_cpu(buffer, CPU), 0);
	for (i = 0; (value = take(NULL, NULL)) != NOTHING; i++)
		KUNIT_ASSERT_EQ(test, value, i);
	KUNIT_EXPECT_EQ(test, i, done);
	KUNIT_EXPECT_TRUE(test, put(7));
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 7);
}

static struct ring_buffer_event *reserve(u64 value)
{
	struct ring_buffer_event *event = ring_buffer_lock_reserve(buffer, sizeof(value));

	if (event)
		memcpy(ring_buffer_event_data(event), &value, sizeof(value));
	return event;
}

static void discard(struct kunit *test)
{
	/* The C core's readers leave out the time that has passed before a discarded event. */
	u64 left_out = RUST ? 0 : 1;
	struct ring_buffer_event *event;
	u64 ts;

	put_range(0, 2);
	event = reserve(99);
	KUNIT_ASSERT_NOT_NULL(test, event);
	ring_buffer_discard_commit(buffer, event);
	KUNIT_EXPECT_FALSE(test, preempt_count());
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), 2);
	now++;
	put_range(2, 4);
	/* One that another has followed. */
	event = reserve(98);
	KUNIT_ASSERT_NOT_NULL(test, event);
	nest_start(buffer);
	now++;
	put_range(4, 5);
	nest_end(buffer);
	ring_buffer_discard_commit(buffer, event);
	put_range(5, 6);
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), 6);
	KUNIT_EXPECT_EQ(test, take(&ts, NULL), 0);
	KUNIT_EXPECT_EQ(test, ts, 1000);
	KUNIT_EXPECT_EQ(test, take(&ts, NULL), 1);
	KUNIT_EXPECT_EQ(test, ts, 1001);
	KUNIT_EXPECT_EQ(test, take(&ts, NULL), 2);
	KUNIT_EXPECT_EQ(test, ts, 1003);
	KUNIT_EXPECT_EQ(test, take(&ts, NULL), 3);
	KUNIT_EXPECT_EQ(test, ts, 1004);
	KUNIT_EXPECT_EQ(test, take(&ts, NULL), 4);
	KUNIT_EXPECT_EQ(test, ts, 1006 - left_out);
	KUNIT_EXPECT_EQ(test, take(&ts, NULL), 5);
	KUNIT_EXPECT_EQ(test, ts, 1007 - left_out);
	KUNIT_EXPECT_EQ(test, take(&ts, NULL), NOTHING);
}

static void nested(struct kunit *test)
{
	struct ring_buffer_event *outer, *inner, *inmost;

	/* Inside of an event of its own a context may record once, since it may be an interrupt's that does not show. */
	outer = reserve(0);
	KUNIT_ASSERT_NOT_NULL(test, outer);
	inner = reserve(1);
	KUNIT_EXPECT_NOT_NULL(test, inner);
	KUNIT_EXPECT_NULL(test, reserve(99));
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), NOTHING);
	if (inner)
		ring_buffer_unlock_commit(buffer);
	ring_buffer_unlock_commit(buffer);
	/* It may say that it wants to, several times. */
	outer = reserve(2);
	KUNIT_ASSERT_NOT_NULL(test, outer);
	now = 1100;
	nest_start(buffer);
	inner = reserve(3);
	now = 1200;
	nest_start(buffer);
	inmost = reserve(4);
	KUNIT_EXPECT_NOT_NULL(test, inner);
	KUNIT_EXPECT_NOT_NULL(test, inmost);
	KUNIT_EXPECT_EQ(test, event_time_stamp(buffer, inmost), 1200);
	if (inmost)
		ring_buffer_unlock_commit(buffer);
	nest_end(buffer);
	KUNIT_EXPECT_EQ(test, event_time_stamp(buffer, inner), 1100);
	if (inner)
		ring_buffer_unlock_commit(buffer);
	nest_end(buffer);
	KUNIT_EXPECT_EQ(test, event_time_stamp(buffer, outer), 1000);
	ring_buffer_unlock_commit(buffer);
	KUNIT_EXPECT_FALSE(test, preempt_count());
	for (u64 i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, take(NULL, NULL), i);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), NOTHING);
}

static void times(struct kunit *test)
{
	/* Around the limits of what deltas, extended deltas and absolute times can say. */
	static const u64 gaps[] = { 0, 1, (1 << 27) - 1, 1 << 27, (1ULL << 40) + 5, 3, (1ULL << 58), 0, 12 };
	u64 expected, ts;
	unsigned int i, pass;

	for (pass = 0; pass < 2; pass++) {
		set_time_stamp_abs(buffer, pass);
		KUNIT_EXPECT_EQ(test, time_stamp_abs(buffer), pass);
		now = 1000;
		ring_buffer_reset(buffer);
		for (i = 0; i < ARRAY_SIZE(gaps); i++) {
			now += gaps[i];
			KUNIT_ASSERT_TRUE(test, put(i));
		}
		KUNIT_EXPECT_EQ(test, ring_buffer_time_stamp(buffer), now);
		for (expected = 1000, i = 0; i < ARRAY_SIZE(gaps); i++) {
			expected += gaps[i];
			KUNIT_EXPECT_EQ(test, take(&ts, NULL), i);
			KUNIT_EXPECT_EQ_MSG(test, ts, expected, "event %u, absolute %u", i, pass);
		}
	}
	ts = 123;
	ring_buffer_normalize_time_stamp(buffer, CPU, &ts);
	KUNIT_EXPECT_EQ(test, ts, 123);
}

static void reset(struct kunit *test)
{
	put_range(0, 12 * PER_PAGE);
	take(NULL, NULL);
	ring_buffer_reset_cpu(buffer, CPU);
	KUNIT_EXPECT_TRUE(test, ring_buffer_empty(buffer));
	KUNIT_EXPECT_EQ(test, ring_buffer_overruns(buffer), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_events_cpu(buffer, CPU), 0);
	put_range(5, 6);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 5);
	put_range(0, 3);
	ring_buffer_reset(buffer);
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), 0);
	put_range(6, 7);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 6);
}

static void switches(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, record_is_on(buffer) && record_is_set_on(buffer) && record_is_on_cpu(buffer, CPU));
	ring_buffer_record_disable(buffer);
	ring_buffer_record_disable(buffer);
	KUNIT_EXPECT_FALSE(test, record_is_on(buffer));
	KUNIT_EXPECT_TRUE(test, record_is_set_on(buffer));
	KUNIT_EXPECT_NULL(test, ring_buffer_lock_reserve(buffer, 8));
	KUNIT_EXPECT_FALSE(test, put(0));
	ring_buffer_record_enable(buffer);
	KUNIT_EXPECT_FALSE(test, put(0));
	ring_buffer_record_enable(buffer);
	KUNIT_EXPECT_TRUE(test, put(0));

	ring_buffer_record_off(buffer);
	ring_buffer_record_off(buffer);
	KUNIT_EXPECT_FALSE(test, record_is_set_on(buffer) || record_is_on(buffer) || record_is_on_cpu(buffer, CPU));
	KUNIT_EXPECT_FALSE(test, put(1));
	ring_buffer_record_on(buffer);
	KUNIT_EXPECT_TRUE(test, put(1));

	ring_buffer_record_disable_cpu(buffer, CPU);
	ring_buffer_record_disable_cpu(buffer, CPU);
	if (RUST)
		ring_buffer_record_disable_cpu(buffer, -7);
	KUNIT_EXPECT_TRUE(test, record_is_on(buffer));
	KUNIT_EXPECT_FALSE(test, record_is_on_cpu(buffer, CPU));
	KUNIT_EXPECT_FALSE(test, put(2));
	/* A reset does not forget who has disabled it. */
	ring_buffer_reset(buffer);
	ring_buffer_record_enable_cpu(buffer, CPU);
	KUNIT_EXPECT_FALSE(test, put(2));
	ring_buffer_record_enable_cpu(buffer, CPU);
	KUNIT_EXPECT_TRUE(test, put(2));
	KUNIT_EXPECT_EQ(test, ring_buffer_write(buffer, PAGE_SIZE, page_address(ZERO_PAGE(0))), -EBUSY);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 2);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), NOTHING);
}

static void resize(struct kunit *test)
{
	struct ring_buffer_iter *iter;
	unsigned int count = 6 * PER_PAGE, i;
	u64 value, ts;

	KUNIT_EXPECT_EQ(test, put_range(0, count), count);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 20 * ROOM, CPU), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_size(buffer, CPU), 20 * ROOM);
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), count);
	KUNIT_EXPECT_EQ(test, put_range(count, 2 * count), count);
	KUNIT_EXPECT_EQ(test, ring_buffer_overruns(buffer), 0);
	for (i = 0; i < count; i++) {
		KUNIT_ASSERT_EQ(test, take(&ts, NULL), i);
		KUNIT_ASSERT_EQ(test, ts, 1000 + i);
	}
	/* What does not fit any more is gone, the oldest first. */
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 3 * ROOM, RING_BUFFER_ALL_CPUS), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_size(buffer, CPU), 3 * ROOM);
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer) + ring_buffer_overruns(buffer), count);
	value = take(&ts, NULL);
	KUNIT_EXPECT_EQ(test, value, count + ring_buffer_overruns(buffer));
	KUNIT_EXPECT_EQ(test, ts, 1000 + value);
	for (i = value + 1; (value = take(NULL, NULL)) != NOTHING; i++)
		KUNIT_ASSERT_EQ(test, value, i);
	KUNIT_EXPECT_EQ(test, i, 2 * count);
	/* There is a least size. */
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 1, CPU), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_size(buffer, CPU), 2 * ROOM);

	iter = ring_buffer_read_start(buffer, CPU, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iter);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 4 * ROOM, CPU), -EBUSY);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 4 * ROOM, RING_BUFFER_ALL_CPUS), -EBUSY);
	ring_buffer_read_finish(iter);
	KUNIT_EXPECT_EQ(test, ring_buffer_size(buffer, CPU), 2 * ROOM);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 4 * ROOM, CPU), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(NULL, 4 * ROOM, CPU), 0);
	if (RUST)
		KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 4 * ROOM, NO_CPU), 0);
}

static u64 iter_take(struct ring_buffer_iter *iter, u64 *ts)
{
	struct ring_buffer_event *event = ring_buffer_iter_peek(iter, ts);
	u64 value = event ? value_of(event) : NOTHING;

	if (event)
		ring_buffer_iter_advance(iter);
	return value;
}

static void iterate(struct kunit *test)
{
	unsigned int count = 3 * PER_PAGE + 5, i, pass;
	struct ring_buffer_iter *iter, *empty;
	u64 ts;

	empty = ring_buffer_read_start(buffer, CPU, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, empty);
	KUNIT_EXPECT_TRUE(test, ring_buffer_iter_empty(empty));
	KUNIT_EXPECT_NULL(test, ring_buffer_iter_peek(empty, &ts));
	put_range(0, count);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 0);
	iter = ring_buffer_read_start(buffer, CPU, GFP_ATOMIC);
	KUNIT_ASSERT_NOT_NULL(test, iter);
	for (pass = 0; pass < 2; pass++) {
		KUNIT_EXPECT_FALSE(test, ring_buffer_iter_empty(iter));
		for (i = 1; i < count; i++) {
			KUNIT_ASSERT_EQ(test, iter_take(iter, &ts), i);
			KUNIT_ASSERT_EQ(test, ts, 1000 + i);
			KUNIT_ASSERT_FALSE(test, ring_buffer_iter_dropped(iter));
		}
		KUNIT_EXPECT_TRUE(test, ring_buffer_iter_empty(iter));
		KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), NOTHING);
		ring_buffer_iter_reset(iter);
	}
	/* Nothing is consumed, and there may be more than one. */
	KUNIT_EXPECT_EQ(test, iter_take(empty, NULL), 1);
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), count - 1);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 1);
	ring_buffer_iter_reset(NULL);
	ring_buffer_read_finish(empty);
	ring_buffer_read_finish(iter);
	if (RUST)
		KUNIT_EXPECT_NULL(test, ring_buffer_read_start(buffer, NO_CPU, GFP_KERNEL));
}

static void overtaken(struct kunit *test)
{
	struct ring_buffer_iter *iter;
	u64 value, last;

	put_range(0, 4 * PER_PAGE);
	iter = ring_buffer_read_start(buffer, CPU, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iter);
	KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), 0);
	put_range(4 * PER_PAGE, 30 * PER_PAGE);
	/* On the sub-buffer that it is on the iterator may go on, then it has missed something. */
	for (last = 0; !ring_buffer_iter_dropped(iter); last = value) {
		value = iter_take(iter, NULL);
		KUNIT_ASSERT_NE(test, value, NOTHING);
		if (value != last + 1)
			break;
		if (ring_buffer_iter_peek(iter, NULL) && ring_buffer_iter_dropped(iter))
			break;
	}
	value = iter_take(iter, NULL);
	KUNIT_EXPECT_GT(test, value, 4 * PER_PAGE);
	for (last = value; (value = iter_take(iter, NULL)) != NOTHING; last = value)
		KUNIT_ASSERT_EQ(test, value, last + 1);
	KUNIT_EXPECT_EQ(test, last, 30 * PER_PAGE - 1);
	ring_buffer_read_finish(iter);
}

struct page_header {
	u64	time;
	local_t	commit;
	u8	data[];
};

#define COMMIT_SIZE	((1 << 30) - 1)
#define LOST_EVENTS	(1UL << 31)
#define LOST_STORED	(1UL << 30)

/* Checks a page of small events; gives how many there are. */
static unsigned int check_page(struct kunit *test, struct page_header *page, u64 first, u64 time)
{
	unsigned long size = local_read(&page->commit) & COMMIT_SIZE, at;
	unsigned int count = 0;

	KUNIT_EXPECT_EQ(test, page->time, time);
	for (at = 0; at < size; at += SMALL, count++) {
		struct ring_buffer_event *event = (void *)&page->data[at];

		KUNIT_EXPECT_EQ(test, event->type_len + 0, 3);
		KUNIT_EXPECT_EQ(test, event->time_delta + 0, at ? 1 : 0);
		KUNIT_EXPECT_EQ(test, value_of(event), first + count);
	}
	return count;
}

static void read_pages(struct kunit *test)
{
	struct buffer_data_read_page *rpage = NULL;
	struct page_header *page;
	unsigned long lost, commit;
	u64 next = 0;
	int full = PAGE_SIZE;

	if (RUST)
		KUNIT_EXPECT_EQ(test, ring_buffer_alloc_read_page(buffer, NO_CPU, &rpage), -ENODEV);
	KUNIT_EXPECT_EQ(test, ring_buffer_alloc_read_page(buffer, CPU, NULL), -EINVAL);
	KUNIT_ASSERT_EQ(test, ring_buffer_alloc_read_page(buffer, CPU, &rpage), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_page_size(rpage), PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_page_size(NULL), 0);
	KUNIT_EXPECT_LT(test, ring_buffer_read_page(buffer, rpage, full, CPU, 0), 0);

	/* A whole sub-buffer, then two parts of one, then what is still being written. */
	put_range(0, 2 * PER_PAGE + 3);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_page(buffer, rpage, full, CPU, 1), 0);
	page = ring_buffer_read_page_data(rpage);
	next += check_page(test, page, next, 1000);
	KUNIT_EXPECT_EQ(test, next, PER_PAGE);
	KUNIT_EXPECT_EQ(test, local_read(&page->commit), SMALL * PER_PAGE);
	KUNIT_EXPECT_LT(test, ring_buffer_read_page(buffer, rpage, 16, CPU, 1), 0);
	KUNIT_EXPECT_LT(test, ring_buffer_read_page(buffer, rpage, 16 + SMALL - 1, CPU, 1), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_page(buffer, rpage, 16 + 10 * SMALL + 4, CPU, 1), 0);
	page = ring_buffer_read_page_data(rpage);
	KUNIT_EXPECT_EQ(test, check_page(test, page, next, 1000 + next), 10);
	next += 10;
	KUNIT_EXPECT_EQ(test, ring_buffer_read_page(buffer, rpage, full, CPU, 1), 0);
	page = ring_buffer_read_page_data(rpage);
	KUNIT_EXPECT_EQ(test, local_read(&page->commit), SMALL * (PER_PAGE - 10));
	KUNIT_EXPECT_EQ(test, value_of((void *)page->data), next);
	next += PER_PAGE - 10;
	KUNIT_EXPECT_LT(test, ring_buffer_read_page(buffer, rpage, full, CPU, 1), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_page(buffer, rpage, full, CPU, 0), 0);
	page = ring_buffer_read_page_data(rpage);
	KUNIT_EXPECT_EQ(test, check_page(test, page, next, 1000 + next), 3);
	KUNIT_EXPECT_LT(test, ring_buffer_read_page(buffer, rpage, full, CPU, 0), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_events_cpu(buffer, CPU), next + 3);

	/* What was lost before it is said at the end, if there is room. */
	ring_buffer_reset(buffer);
	now = 1000;
	put_range(0, 12 * PER_PAGE);
	lost = ring_buffer_overruns(buffer);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_page(buffer, rpage, full, CPU, 1), 0);
	page = ring_buffer_read_page_data(rpage);
	commit = local_read(&page->commit);
	KUNIT_EXPECT_EQ(test, check_page(test, page, lost, 1000 + lost), PER_PAGE);
	KUNIT_EXPECT_TRUE(test, commit & LOST_EVENTS);
	KUNIT_EXPECT_EQ(test, !!(commit & LOST_STORED), ROOM % SMALL >= sizeof(long));
	ring_buffer_free_read_page(buffer, CPU, rpage);
	ring_buffer_free_read_page(buffer, CPU, NULL);
	/* The one that was freed serves again, or another. */
	rpage = NULL;
	KUNIT_ASSERT_EQ(test, ring_buffer_alloc_read_page(buffer, CPU, &rpage), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_page(buffer, rpage, full, CPU, 1), 0);
	KUNIT_EXPECT_EQ(test, value_of((void *)((struct page_header *)ring_buffer_read_page_data(rpage))->data),
			lost + PER_PAGE);
	ring_buffer_free_read_page(buffer, CPU, rpage);
}

static void orders(struct kunit *test)
{
	struct buffer_data_read_page *rpage = NULL;
	struct page_header *page;
	struct ring_buffer_event *event;

	KUNIT_ASSERT_EQ(test, ring_buffer_alloc_read_page(buffer, CPU, &rpage), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_order_get(buffer), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_size_get(buffer), PAGE_SIZE);
	put_range(0, 5);
	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_order_set(buffer, 2), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_order_get(buffer), 2);
	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_size_get(buffer), 4 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, ring_buffer_max_event_size(buffer), 4 * PAGE_SIZE - 24);
	/* The events have gone; that their number has, too, is left to this in the C core. */
	ring_buffer_reset(buffer);
	event = ring_buffer_lock_reserve(buffer, 3 * PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, event);
	memset(ring_buffer_event_data(event), 7, 3 * PAGE_SIZE);
	ring_buffer_unlock_commit(buffer);
	/* It does not fit the page of the old size. */
	KUNIT_EXPECT_LT(test, ring_buffer_read_page(buffer, rpage, 4 * PAGE_SIZE, CPU, 0), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_alloc_read_page(buffer, CPU, &rpage), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_page_size(rpage), 4 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, ring_buffer_read_page(buffer, rpage, 4 * PAGE_SIZE, CPU, 0), 0);
	page = ring_buffer_read_page_data(rpage);
	KUNIT_EXPECT_EQ(test, local_read(&page->commit), 3 * PAGE_SIZE + 8);
	event = (void *)page->data;
	KUNIT_EXPECT_EQ(test, ring_buffer_event_length(event), 3 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, *(u8 *)ring_buffer_event_data(event), 7);
	ring_buffer_free_read_page(buffer, CPU, rpage);

	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_order_set(buffer, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_order_set(buffer, 20), -EINVAL);
	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_order_set(NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_order_get(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_order_set(buffer, 0), 0);
	ring_buffer_reset(buffer);
	KUNIT_EXPECT_EQ(test, put_range(0, 3 * PER_PAGE), 3 * PER_PAGE);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 0);
}

static void dirty_pages(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, nr_dirty_pages(buffer, CPU), 0);
	put_range(0, 3 * PER_PAGE + 1);
	KUNIT_EXPECT_EQ(test, nr_dirty_pages(buffer, CPU), 3);
	put_range(0, 30 * PER_PAGE);
	KUNIT_EXPECT_GE(test, nr_dirty_pages(buffer, CPU), 6);
	KUNIT_EXPECT_LE(test, nr_dirty_pages(buffer, CPU), 8);
}

struct waiting {
	struct trace_buffer *buffer;
	int cpu, full, asked;
	bool enough;
	struct completion begun, done;
	int result;
};

static bool has_enough(void *data)
{
	struct waiting *waiting = data;

	WRITE_ONCE(waiting->asked, waiting->asked + 1);
	complete(&waiting->begun);
	return READ_ONCE(waiting->enough);
}

static int waiter(void *data)
{
	struct waiting *waiting = data;

	waiting->result = wait_for_events(waiting->buffer, waiting->cpu, waiting->full, has_enough, waiting);
	complete(&waiting->done);
	return 0;
}

static bool starts_waiting(struct kunit *test, struct waiting *waiting)
{
	struct task_struct *task;

	waiting->buffer = buffer;
	waiting->result = 1;
	init_completion(&waiting->begun);
	init_completion(&waiting->done);
	task = kthread_run(waiter, waiting, "rb_waiter");
	KUNIT_EXPECT_FALSE(test, IS_ERR(task));
	return !IS_ERR(task) && wait_for_completion_timeout(&waiting->begun, 10 * HZ);
}

static void waiting(struct kunit *test)
{
	struct waiting event = { .cpu = CPU }, any = { .cpu = RING_BUFFER_ALL_CPUS }, half = { .cpu = CPU, .full = 50 };
	struct waiting woken = { .cpu = CPU };

	/* An event wakes. */
	KUNIT_ASSERT_TRUE(test, starts_waiting(test, &event));
	KUNIT_ASSERT_TRUE(test, starts_waiting(test, &any));
	KUNIT_EXPECT_FALSE(test, completion_done(&event.done));
	put_range(0, 1);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&event.done, 10 * HZ));
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&any.done, 10 * HZ));
	KUNIT_EXPECT_EQ(test, event.result, 0);
	KUNIT_EXPECT_EQ(test, any.result, 0);
	/* One that wants the buffer half full sleeps on. */
	KUNIT_ASSERT_TRUE(test, starts_waiting(test, &half));
	put_range(0, 2 * PER_PAGE);
	msleep(300);
	KUNIT_EXPECT_FALSE(test, completion_done(&half.done));
	put_range(0, 4 * PER_PAGE);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&half.done, 10 * HZ));
	KUNIT_EXPECT_EQ(test, half.result, 0);
	/* Without events the caller's condition decides. */
	ring_buffer_reset(buffer);
	KUNIT_ASSERT_TRUE(test, starts_waiting(test, &woken));
	WRITE_ONCE(woken.enough, true);
	wake_waiters(buffer, CPU);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&woken.done, 10 * HZ));
	KUNIT_EXPECT_EQ(test, woken.result, 0);
	if (RUST)
		KUNIT_EXPECT_EQ(test, wait_for_events(buffer, NO_CPU, 0, NULL, NULL), -ENODEV);
	wake_waiters(NULL, CPU);
}

/* Writers on all CPUs at once, each into its own part. */
static int writer(void *data)
{
	unsigned int i;
	u64 value;

	for (i = 0; i < 1000; i++) {
		value = (u64)raw_smp_processor_id() << 32 | i;
		ring_buffer_write(buffer, sizeof(value), &value);
	}
	complete(data);
	return 0;
}

static void cpus(struct kunit *test)
{
	struct completion done;
	int cpu;

	init_completion(&done);
	for_each_online_cpu(cpu) {
		struct task_struct *task = kthread_create(writer, &done, "rb_writer/%d", cpu);

		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		kthread_bind(task, cpu);
		wake_up_process(task);
	}
	for_each_online_cpu(cpu)
		KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&done, 20 * HZ));
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), 1000 * num_online_cpus());
	for_each_online_cpu(cpu) {
		struct ring_buffer_event *event;
		unsigned int i;

		for (i = 0; (event = ring_buffer_consume(buffer, cpu, NULL, NULL)); i++)
			KUNIT_ASSERT_EQ(test, value_of(event), (u64)cpu << 32 | i);
		KUNIT_EXPECT_EQ(test, i, 1000);
	}
}

/* What a swap says while `stop` has been done to one of the two buffers, until `undo`. */
#define EXPECT_NO_SWAP(test, error, stop, undo)						\
do {											\
	stop;										\
	KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(buffer, other, CPU), error);		\
	KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(other, buffer, CPU), error);		\
	undo;										\
} while (0)

static void swapping(struct kunit *test)
{
	struct trace_buffer *other = ring_buffer_alloc(8 * ROOM, RB_FL_OVERWRITE);
	struct ring_buffer_event *event;
	u64 value = 3;

	KUNIT_ASSERT_NOT_NULL(test, other);
	if (!IS_ENABLED(CONFIG_RING_BUFFER_ALLOW_SWAP)) {
		KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(buffer, other, CPU), -ENODEV);
		ring_buffer_free(other);
		kunit_skip(test, "the kernel swaps no buffers");
	}
	set_clock(other, test_clock);
	KUNIT_EXPECT_TRUE(test, put(1));
	KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(buffer, other, CPU), 0);
	KUNIT_EXPECT_TRUE(test, ring_buffer_empty(buffer));
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(other), 1);
	KUNIT_EXPECT_TRUE(test, put(2));
	KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(other, buffer, CPU), 0);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 1);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), NOTHING);
	event = ring_buffer_consume(other, CPU, NULL, NULL);
	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, value_of(event), 2);

	/* An event that is being written ends where it began. */
	event = ring_buffer_lock_reserve(buffer, sizeof(value));
	KUNIT_ASSERT_NOT_NULL(test, event);
	EXPECT_NO_SWAP(test, -EBUSY, , );
	memcpy(ring_buffer_event_data(event), &value, sizeof(value));
	ring_buffer_unlock_commit(buffer);
	KUNIT_EXPECT_TRUE(test, ring_buffer_empty(other));
	KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(buffer, other, CPU), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(buffer, other, CPU), 0);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 3);
	KUNIT_EXPECT_TRUE(test, put(4));
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 4);

	EXPECT_NO_SWAP(test, -EAGAIN, ring_buffer_record_disable(other), ring_buffer_record_enable(other));
	EXPECT_NO_SWAP(test, -EAGAIN, ring_buffer_record_off(other), ring_buffer_record_on(other));
	EXPECT_NO_SWAP(test, -EAGAIN, ring_buffer_record_disable_cpu(other, CPU),
		       ring_buffer_record_enable_cpu(other, CPU));
	EXPECT_NO_SWAP(test, -EINVAL, ring_buffer_resize(other, 9 * ROOM, CPU),
		       ring_buffer_resize(other, 8 * ROOM, CPU));
	EXPECT_NO_SWAP(test, -EINVAL, ring_buffer_subbuf_order_set(other, 1), ring_buffer_subbuf_order_set(other, 0));
	if (RUST)
		KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(buffer, other, NO_CPU), -EINVAL);
	ring_buffer_free(other);
}

static int map_buffer(struct file *file, struct vm_area_struct *vma)
{
	return map(buffer, CPU, vma);
}

static const struct file_operations map_fops = {
	.owner	= THIS_MODULE,
	.mmap	= map_buffer,
};

/* The first word behind the header of the sub-buffer that user space sees as number `id`. */
static u64 first_mapped(unsigned long at, unsigned int id)
{
	struct { u64 time, commit; u32 header; u64 value; } __packed page;

	if (copy_from_user(&page, (void __user *)(at + (1 + id) * PAGE_SIZE), sizeof(page)))
		return NOTHING;
	return page.value;
}

static void mapping(struct kunit *test)
{
	struct file *file = anon_inode_getfile("ring_buffer", &map_fops, NULL, O_RDONLY);
	unsigned long at, len = 10 * PAGE_SIZE;
	struct trace_buffer_meta meta = {};

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_EQ(test, kunit_attach_mm(), 0);
	KUNIT_EXPECT_EQ(test, unmap(buffer, CPU), -ENODEV);
	KUNIT_EXPECT_EQ(test, map_get_reader(buffer, CPU), -ENODEV);
	if (RUST) {
		KUNIT_EXPECT_EQ(test, unmap(buffer, NO_CPU), -EINVAL);
		KUNIT_EXPECT_EQ(test, map_get_reader(buffer, NO_CPU), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, put_range(0, 2 * PER_PAGE), 2 * PER_PAGE);
	KUNIT_EXPECT_EQ(test, (long)kunit_vm_mmap(test, file, 0, len, PROT_READ, MAP_PRIVATE, 0), -EPERM);
	KUNIT_EXPECT_EQ(test, (long)kunit_vm_mmap(test, file, 0, len + PAGE_SIZE, PROT_READ, MAP_SHARED, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, unmap(buffer, CPU), -ENODEV);

	at = kunit_vm_mmap(test, file, 0, len, PROT_READ, MAP_SHARED, 0);
	fput(file);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(at));
	KUNIT_EXPECT_EQ(test, copy_from_user(&meta, (void __user *)at, sizeof(meta)), 0);
	KUNIT_EXPECT_EQ(test, meta.meta_page_size, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, meta.subbuf_size, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, meta.nr_subbufs, 9);
	KUNIT_EXPECT_EQ(test, meta.entries, 2 * PER_PAGE);

	/* User space reads a sub-buffer at a time: what it got last counts as read when it asks for more. */
	KUNIT_EXPECT_EQ(test, map_get_reader(buffer, CPU), 0);
	KUNIT_EXPECT_EQ(test, copy_from_user(&meta, (void __user *)at, sizeof(meta)), 0);
	KUNIT_EXPECT_EQ(test, first_mapped(at, meta.reader.id), 0);
	KUNIT_EXPECT_EQ(test, map_get_reader(buffer, CPU), 0);
	KUNIT_EXPECT_EQ(test, copy_from_user(&meta, (void __user *)at, sizeof(meta)), 0);
	KUNIT_EXPECT_EQ(test, first_mapped(at, meta.reader.id), PER_PAGE);
	KUNIT_EXPECT_EQ(test, meta.read, 2 * PER_PAGE);

	/* As long as anybody maps it, it stays as it is. */
	map_dup(buffer, CPU);
	KUNIT_EXPECT_EQ(test, unmap(buffer, CPU), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 20 * ROOM, CPU), -EBUSY);
	KUNIT_EXPECT_EQ(test, ring_buffer_subbuf_order_set(buffer, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, unmap(buffer, CPU), 0);
	KUNIT_EXPECT_EQ(test, unmap(buffer, CPU), -ENODEV);
	KUNIT_EXPECT_EQ(test, map_get_reader(buffer, CPU), -ENODEV);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 20 * ROOM, CPU), 0);
}

#define RANGE		(32 * PAGE_SIZE * nr_cpu_ids)
#define SCRATCH		100
/* No other memory of the test has such numbers. */
#define FIRST		0x7e57ab1e00000000

/* A buffer of what lies in the range. */
static struct trace_buffer *buffer_in(void *memory)
{
	static struct lock_class_key key;

	return alloc_range(0, RB_FL_OVERWRITE, 0, (unsigned long)memory, RANGE, SCRATCH, &key);
}

/* What a kernel finds in memory that an earlier one has used. */
static void found_in_range(struct kunit *test, void *memory, unsigned int missing)
{
	struct trace_buffer *found = buffer_in(memory);
	u64 ts, next = FIRST, last_ts = 0;
	unsigned int count = 0, size = 0;
	struct ring_buffer_event *event;
	char *scratch;

	KUNIT_ASSERT_NOT_NULL(test, found);
	scratch = meta_scratch(found, &size);
	KUNIT_ASSERT_NOT_NULL(test, scratch);
	KUNIT_EXPECT_GE(test, size, SCRATCH);
	KUNIT_EXPECT_STREQ(test, scratch, "kept");
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(found), 3 * PER_PAGE - missing);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(found, 5 * ROOM, CPU), -EBUSY);
	while ((event = ring_buffer_consume(found, CPU, &ts, NULL))) {
		u64 value = value_of(event);

		KUNIT_EXPECT_TRUE(test, value == next || (missing && value == next + missing));
		KUNIT_EXPECT_EQ(test, ts, 1000 + value - FIRST);
		KUNIT_EXPECT_GE(test, ts, last_ts);
		last_ts = ts;
		next = value + 1;
		count++;
	}
	KUNIT_EXPECT_EQ(test, count, 3 * PER_PAGE - missing);
	ring_buffer_free(found);
}

static void range(struct kunit *test)
{
	u64 *memory = vzalloc(RANGE), *copy = vzalloc(RANGE);
	struct trace_buffer *mine = buffer;
	unsigned int size = 0, i;
	char *scratch;

	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_NOT_NULL(test, copy);
	KUNIT_EXPECT_NULL(test, alloc_range(0, 0, 0, (unsigned long)memory, 2 * PAGE_SIZE, 0, NULL));
	KUNIT_EXPECT_NULL(test, meta_scratch(buffer, &size));
	buffer = buffer_in(memory);
	KUNIT_ASSERT_NOT_NULL(test, buffer);
	scratch = meta_scratch(buffer, &size);
	KUNIT_ASSERT_NOT_NULL(test, scratch);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(scratch, 0, size), NULL);
	strscpy(scratch, "kept", size);
	set_clock(buffer, test_clock);
	KUNIT_EXPECT_EQ(test, put_range(FIRST, FIRST + 3 * PER_PAGE), 3 * PER_PAGE);
	/* Consumed, but not gone. */
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, take(NULL, NULL), FIRST + i);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 5 * ROOM, CPU), -EBUSY);

	memcpy(copy, memory, RANGE);
	found_in_range(test, copy, 0);
	memcpy(copy, memory, RANGE);
	for (i = 0; i < RANGE / sizeof(*copy); i++) {
		u64 value;

		/* Payloads are aligned to 4 bytes. */
		memcpy(&value, (char *)copy + 8 * i + 4, sizeof(value));
		if (value == FIRST + PER_PAGE + 7 || copy[i] == FIRST + PER_PAGE + 7) {
			/* A record that is far too long. */
			memset(copy + i, 0x1d, PAGE_SIZE - i * sizeof(*copy) % PAGE_SIZE);
			break;
		}
	}
	found_in_range(test, copy, PER_PAGE);
	/* Of something else nothing is taken. */
	memset(copy, 0xa5, RANGE);
	ring_buffer_free(buffer);
	buffer = buffer_in(copy);
	KUNIT_ASSERT_NOT_NULL(test, buffer);
	KUNIT_EXPECT_TRUE(test, ring_buffer_empty(buffer));
	KUNIT_EXPECT_TRUE(test, put(1));
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 1);
	ring_buffer_free(buffer);
	buffer = mine;
	vfree(copy);
	vfree(memory);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(lengths),
	KUNIT_CASE(limits),
	KUNIT_CASE(peek),
	KUNIT_CASE(overwrite),
	KUNIT_CASE(no_overwrite),
	KUNIT_CASE(discard),
	KUNIT_CASE(nested),
	KUNIT_CASE(times),
	KUNIT_CASE(reset),
	KUNIT_CASE(switches),
	KUNIT_CASE(resize),
	KUNIT_CASE(iterate),
	KUNIT_CASE(overtaken),
	KUNIT_CASE(read_pages),
	KUNIT_CASE(orders),
	KUNIT_CASE(dirty_pages),
	KUNIT_CASE(waiting),
	KUNIT_CASE(cpus),
	KUNIT_CASE(swapping),
	KUNIT_CASE(mapping),
	KUNIT_CASE(range),
	{}
};

static struct kunit_suite suite = {
	.name		= "ring_buffer",
	.suite_init	= suite_init,
	.init		= test_init,
	.exit		= test_exit,
	.test_cases	= cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit tests of <linux/ring_buffer.h>");
MODULE_LICENSE("GPL");
