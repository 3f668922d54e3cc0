// SPDX-License-Identifier: GPL-2.0
/* Writing: lengths, limits, overwriting, discarding, nesting, time stamps, switches, sizes. */
#include <linux/trace_clock.h>
#ifdef CONFIG_X86
#include <asm/timer.h>
#endif
#include "ring_buffer.h"

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
	/* The size that it has. */
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 2 * ROOM, CPU), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 2 * ROOM, RING_BUFFER_ALL_CPUS), -EBUSY);
	ring_buffer_read_finish(iter);
	KUNIT_EXPECT_EQ(test, ring_buffer_size(buffer, CPU), 2 * ROOM);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 4 * ROOM, CPU), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_resize(NULL, 4 * ROOM, CPU), 0);
	if (RUST)
		KUNIT_EXPECT_EQ(test, ring_buffer_resize(buffer, 4 * ROOM, NO_CPU), 0);
}

#ifdef CONFIG_X86
/* Is an event stamped with a time between two readings of the clock that it has if it is given none? */
static bool is_stamped_by_local_clock(struct trace_buffer *local)
{
	u64 before = trace_clock_local(), stamp = 0;
	struct ring_buffer_event *event = ring_buffer_lock_reserve(local, 8);

	if (event) {
		stamp = event_time_stamp(local, event);
		ring_buffer_unlock_commit(local);
	}
	return before <= stamp && stamp <= trace_clock_local();
}

/*
 * The scale of the cycle counter changes while buffers use it: as the kernel does that, and as it does on resume, where the
 * sequence stays as it is. Each step has a buffer of its own, since the clock goes back at last.
 */
static void scales(struct kunit *test)
{
	unsigned long (*lookup)(const char *name) = address_of("kallsyms_lookup_name");
	struct scale { struct cyc2ns_data data[2]; u32 sequence; } __percpu *all;
	struct trace_buffer *buffers[6];
	bool good[ARRAY_SIZE(buffers)];
	struct scale *scale;
	struct cyc2ns_data old;
	unsigned long flags;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, lookup);
	all = (void __percpu *)lookup("cyc2ns");
	KUNIT_ASSERT_TRUE(test, all);
	for (i = 0; i < ARRAY_SIZE(buffers); i++) {
		buffers[i] = ring_buffer_alloc(2 * ROOM, RB_FL_OVERWRITE);
		KUNIT_ASSERT_NOT_NULL(test, buffers[i]);
	}

	local_irq_save(flags);
	scale = this_cpu_ptr(all);
	old = scale->data[0];
	good[0] = is_stamped_by_local_clock(buffers[0]);
	/* Resume. */
	scale->data[0].cyc2ns_offset += NSEC_PER_MSEC;
	scale->data[1].cyc2ns_offset += NSEC_PER_MSEC;
	good[1] = is_stamped_by_local_clock(buffers[1]);
	/* A change that has come halfway: half 1 counts. */
	WRITE_ONCE(scale->sequence, scale->sequence + 1);
	WRITE_ONCE(scale->data[0].cyc2ns_mul, 1);
	good[2] = is_stamped_by_local_clock(buffers[2]);
	/* Half 0 is there, and then all. */
	WRITE_ONCE(scale->data[0].cyc2ns_mul, old.cyc2ns_mul + old.cyc2ns_mul / 100);
	WRITE_ONCE(scale->sequence, scale->sequence + 1);
	good[3] = is_stamped_by_local_clock(buffers[3]);
	scale->data[1] = scale->data[0];
	good[4] = is_stamped_by_local_clock(buffers[4]);
	/* As it was. */
	WRITE_ONCE(scale->sequence, scale->sequence + 1);
	scale->data[0] = old;
	WRITE_ONCE(scale->sequence, scale->sequence + 1);
	scale->data[1] = old;
	good[5] = is_stamped_by_local_clock(buffers[5]);
	local_irq_restore(flags);

	for (i = 0; i < ARRAY_SIZE(buffers); i++) {
		KUNIT_EXPECT_TRUE_MSG(test, good[i], "step %u", i);
		ring_buffer_free(buffers[i]);
	}
}
#endif

#ifdef CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS
/* A time that is not what its writer has written: whoever writes next finds that, and is the last one. The log has a report. */
static void wrong_time(struct kunit *test)
{
	struct ring_buffer_event *event;
	u64 ts;

	put_range(0, 2);
	event = reserve(2);
	KUNIT_ASSERT_NOT_NULL(test, event);
	event->time_delta ^= 4;
	ring_buffer_unlock_commit(buffer);
	now++;
	KUNIT_EXPECT_TRUE(test, record_is_on_cpu(buffer, CPU));
	KUNIT_EXPECT_TRUE(test, put(3));
	KUNIT_EXPECT_FALSE(test, put(4));
	KUNIT_EXPECT_FALSE(test, record_is_on_cpu(buffer, CPU));
	KUNIT_EXPECT_TRUE(test, record_is_set_on(buffer) && record_is_on(buffer));
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), 4);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 1);
	KUNIT_EXPECT_EQ(test, take(&ts, NULL), 2);
	KUNIT_EXPECT_EQ(test, ts, 1006);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), 3);
	KUNIT_EXPECT_EQ(test, take(NULL, NULL), NOTHING);
}
#endif

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
#ifdef CONFIG_X86
	KUNIT_CASE(scales),
#endif
#ifdef CONFIG_RING_BUFFER_VALIDATE_TIME_DELTAS
	KUNIT_CASE(wrong_time),
#endif
	{}
};

RING_BUFFER_SUITE(write);

#pragma clang attribute pop
