// SPDX-License-Identifier: GPL-2.0
/* Whose memory a buffer has: other CPUs, other buffers, mappings, a range that was there before. */
#include <linux/anon_inodes.h>
#include <linux/cpumask.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/trace_mmap.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "ring_buffer.h"

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

/* Two buffers that an interrupt swaps all the time, and a third. */
struct swapped {
	struct trace_buffer *one, *two, *three;
	struct hrtimer timer;
	unsigned long times, thirds;
};

static enum hrtimer_restart swap_now(struct hrtimer *timer)
{
	struct swapped *swapped = container_of(timer, struct swapped, timer);

	if (!ring_buffer_swap_cpu(swapped->one, swapped->two, CPU)) {
		swapped->times++;
		swapped->thirds += !ring_buffer_swap_cpu(swapped->one, swapped->three, CPU);
	}
	/* Not always in the same place. */
	hrtimer_forward_now(timer, ns_to_ktime(5000 + swapped->times % 97 * 61));
	return HRTIMER_RESTART;
}

/* An interrupt swaps the buffers wherever the writer is in reserving an event: it must be committed where it was reserved. */
static void swapping_interrupted(struct kunit *test)
{
	struct swapped swapped = {
		.one = ring_buffer_alloc(8 * ROOM, RB_FL_OVERWRITE),
		.two = ring_buffer_alloc(8 * ROOM, RB_FL_OVERWRITE),
		.three = ring_buffer_alloc(8 * ROOM, RB_FL_OVERWRITE),
	};
	unsigned long written = 0, begun;

	if (!IS_ENABLED(CONFIG_RING_BUFFER_ALLOW_SWAP)) {
		ring_buffer_free(swapped.one);
		ring_buffer_free(swapped.two);
		ring_buffer_free(swapped.three);
		kunit_skip(test, "the kernel swaps no buffers");
	}
	hrtimer_setup_on_stack(&swapped.timer, swap_now, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&swapped.timer, ns_to_ktime(5000), HRTIMER_MODE_REL_PINNED_HARD);
	/* Half a second; a slow kernel (KCSAN) needs more for as many. */
	for (begun = jiffies; time_before(jiffies, begun + HZ / 2) ||
	     (READ_ONCE(swapped.times) <= 100 && time_before(jiffies, begun + 20 * HZ)); cond_resched()) {
		struct ring_buffer_event *event = ring_buffer_lock_reserve(swapped.one, sizeof(written));

		if (!event)
			break;
		memcpy(ring_buffer_event_data(event), &written, sizeof(written));
		ring_buffer_unlock_commit(swapped.one);
		written++;
	}
	hrtimer_cancel(&swapped.timer);
	destroy_hrtimer_on_stack(&swapped.timer);
	kunit_info(test, "%lu events, %lu swaps\n", written, swapped.times);
	KUNIT_EXPECT_GT(test, written, 1000);
	KUNIT_EXPECT_GT(test, swapped.times, 100);
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(swapped.one) + ring_buffer_overruns(swapped.one) +
			ring_buffer_entries(swapped.two) + ring_buffer_overruns(swapped.two) +
			ring_buffer_entries(swapped.three) + ring_buffer_overruns(swapped.three), written);
	/* The writer may have looked before the first of the two. In a task there is none. */
	if (RUST)
		KUNIT_EXPECT_EQ(test, swapped.thirds, 0);
	/* Nobody is thought to be writing. */
	KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(swapped.one, swapped.three, CPU), 0);
	KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(swapped.one, swapped.two, CPU), 0);
	ring_buffer_free(swapped.one);
	ring_buffer_free(swapped.two);
	ring_buffer_free(swapped.three);
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
	KUNIT_CASE(cpus),
	KUNIT_CASE(swapping),
	KUNIT_CASE(swapping_interrupted),
	KUNIT_CASE(mapping),
	KUNIT_CASE(range),
	{}
};

RING_BUFFER_SUITE(memory);

#pragma clang attribute pop
