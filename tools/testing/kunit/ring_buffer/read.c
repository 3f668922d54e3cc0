// SPDX-License-Identifier: GPL-2.0
/* Reading: iterators, pages, waiting. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <asm/local.h>
#ifdef CONFIG_X86_LOCAL_APIC
#include <asm/apic.h>
#include <asm/nmi.h>
#endif
#include "ring_buffer.h"

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

/* What is emptied while an iterator stands in it is gone, and what has come since is what it finds. */
static void emptied(struct kunit *test)
{
	struct ring_buffer_iter *iter;

	put_range(0, 2 * PER_PAGE);
	iter = ring_buffer_read_start(buffer, CPU, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iter);
	KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), 0);
	KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), 1);
	ring_buffer_reset_cpu(buffer, CPU);
	put_range(100, 103);
	KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), 100);
	KUNIT_EXPECT_FALSE(test, ring_buffer_iter_dropped(iter));
	KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), 101);
	KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), 102);
	KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), NOTHING);
	ring_buffer_read_finish(iter);
}

/* Buffers are swapped while an iterator stands in one of them. */
static void swapped(struct kunit *test)
{
	struct trace_buffer *first = buffer, *other = ring_buffer_alloc(8 * ROOM, RB_FL_OVERWRITE);
	struct ring_buffer_iter *iter;
	u64 next;

	KUNIT_ASSERT_NOT_NULL(test, other);
	if (!IS_ENABLED(CONFIG_RING_BUFFER_ALLOW_SWAP)) {
		ring_buffer_free(other);
		kunit_skip(test, "the kernel swaps no buffers");
	}
	set_clock(other, test_clock);
	put_range(0, 2 * PER_PAGE);
	buffer = other;
	put_range(200, 203);
	buffer = first;
	iter = ring_buffer_read_start(buffer, CPU, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, iter);
	KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), 0);
	KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), 1);
	KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(buffer, other, CPU), 0);
	if (RUST) {
		/* It stays with the buffer, which has other events now. */
		for (next = 200; next < 203; next++)
			KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), next);
		KUNIT_EXPECT_FALSE(test, ring_buffer_iter_dropped(iter));
		KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), NOTHING);
		KUNIT_EXPECT_TRUE(test, ring_buffer_iter_empty(iter));
		/* And those that it had come back from the first on. */
		KUNIT_EXPECT_EQ(test, ring_buffer_swap_cpu(other, buffer, CPU), 0);
		next = 0;
	} else {
		/* It goes with the events. */
		next = 2;
	}
	for (; next < 2 * PER_PAGE; next++)
		KUNIT_ASSERT_EQ(test, iter_take(iter, NULL), next);
	KUNIT_EXPECT_EQ(test, iter_take(iter, NULL), NOTHING);
	ring_buffer_read_finish(iter);
	ring_buffer_free(other);
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

#ifdef CONFIG_X86_LOCAL_APIC
static unsigned long counted_in_nmi, nmis;
static bool nmi_is_sent;

static int count_all(unsigned int command, struct pt_regs *regs)
{
	if (raw_smp_processor_id() != CPU || !READ_ONCE(nmi_is_sent))
		return NMI_DONE;
	counted_in_nmi += ring_buffer_entries(buffer) + ring_buffer_entries_cpu(buffer, CPU) + ring_buffer_overruns(buffer) +
			  ring_buffer_overrun_cpu(buffer, CPU) + ring_buffer_commit_overrun_cpu(buffer, CPU) +
			  ring_buffer_dropped_events_cpu(buffer, CPU) + ring_buffer_read_events_cpu(buffer, CPU) +
			  ring_buffer_bytes_cpu(buffer, CPU) + nr_dirty_pages(buffer, CPU) +
			  ring_buffer_empty(buffer) + ring_buffer_empty_cpu(buffer, CPU);
	WRITE_ONCE(nmis, nmis + 1);
	WRITE_ONCE(nmi_is_sent, false);
	return NMI_HANDLED;
}

static int send_nmis(void *data)
{
	while (!kthread_should_stop()) {
		if (!READ_ONCE(nmi_is_sent)) {
			WRITE_ONCE(nmi_is_sent, true);
			__apic_send_IPI_mask(cpumask_of(CPU), NMI_VECTOR);
		}
		usleep_range(20, 50);
	}
	return 0;
}

/* An NMI asks for the counts while the reader that it interrupts has the lock. */
static void counts_in_nmi(struct kunit *test)
{
	unsigned int other = cpumask_any_but(cpu_online_mask, CPU), i;
	unsigned long end = jiffies + 30 * HZ;
	struct task_struct *task;
	u64 ts;

	if (other >= nr_cpu_ids)
		return;
	task = kthread_create(send_nmis, NULL, "rb_nmi");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, other);
	counted_in_nmi = nmis = 0;
	nmi_is_sent = false;
	if (register_nmi_handler(NMI_LOCAL, count_all, 0, "ring_buffer_kunit")) {
		kthread_stop(task);
		KUNIT_FAIL(test, "no handler");
		return;
	}
	put_range(0, 2 * PER_PAGE);
	wake_up_process(task);
	while (READ_ONCE(nmis) < 2000 && time_before(jiffies, end)) {
		for (i = 0; i < 1000; i++)
			ring_buffer_peek(buffer, CPU, &ts, NULL);
		cond_resched();
	}
	kthread_stop(task);
	/* The last one may be under way. */
	for (i = 0; i < 1000 && READ_ONCE(nmi_is_sent); i++)
		msleep(1);
	unregister_nmi_handler(NMI_LOCAL, "ring_buffer_kunit");
	KUNIT_EXPECT_GT(test, nmis, 0);
	KUNIT_EXPECT_NE(test, counted_in_nmi, 0);
}
#endif

static struct kunit_case cases[] = {
	KUNIT_CASE(iterate),
	KUNIT_CASE(emptied),
	KUNIT_CASE(swapped),
	KUNIT_CASE(overtaken),
	KUNIT_CASE(read_pages),
	KUNIT_CASE(orders),
	KUNIT_CASE(dirty_pages),
	KUNIT_CASE(waiting),
#ifdef CONFIG_X86_LOCAL_APIC
	KUNIT_CASE(counts_in_nmi),
#endif
	{}
};

RING_BUFFER_SUITE(read);

#pragma clang attribute pop
