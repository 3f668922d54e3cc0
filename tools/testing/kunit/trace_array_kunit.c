// SPDX-License-Identifier: GPL-2.0
/*
 * Instances that the kernel makes for itself, and printing into them, by <linux/trace.h>.
 *
 * Loading the module runs the tests; what they have printed stays in instance `kunit`, for whoever wants to look.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/trace.h>
#include <linux/trace_events.h>
#include <linux/trace_printk.h>
#include <linux/workqueue.h>

static void life(struct kunit *test)
{
	struct trace_array *first, *second;

	first = trace_array_get_by_name("kunit_life", NULL);
	KUNIT_ASSERT_NOT_NULL(test, first);
	second = trace_array_get_by_name("kunit_life", NULL);
	KUNIT_EXPECT_PTR_EQ(test, first, second);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(first), -EBUSY);
	trace_array_put(second);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(first), -EBUSY);
	trace_array_put(first);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(first), 0);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(first), -ENODEV);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(NULL), -EINVAL);
	trace_array_put(NULL);
}

struct getter {
	struct work_struct work;
	struct trace_array *got;
};

static void get(struct work_struct *work)
{
	container_of(work, struct getter, work)->got = trace_array_get_by_name("kunit_race", NULL);
}

/* Who comes while another one makes the instance waits for that. */
static void race(struct kunit *test)
{
	struct getter getters[2];
	int round, i;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < ARRAY_SIZE(getters); i++) {
			INIT_WORK_ONSTACK(&getters[i].work, get);
			queue_work(system_dfl_wq, &getters[i].work);
		}
		for (i = 0; i < ARRAY_SIZE(getters); i++) {
			flush_work(&getters[i].work);
			destroy_work_on_stack(&getters[i].work);
		}
		KUNIT_EXPECT_NOT_NULL(test, getters[0].got);
		KUNIT_EXPECT_PTR_EQ(test, getters[0].got, getters[1].got);
		for (i = 0; i < ARRAY_SIZE(getters); i++)
			trace_array_put(getters[i].got);
		KUNIT_EXPECT_EQ(test, trace_array_destroy(getters[0].got ?: getters[1].got), 0);
	}
}

static void printing(struct kunit *test)
{
	static const char text[] = "puts without an end";
	struct trace_array *tr = trace_array_get_by_name("kunit", NULL);

	KUNIT_ASSERT_NOT_NULL(test, tr);
	KUNIT_EXPECT_EQ(test, trace_array_init_printk(NULL), -ENOENT);
	KUNIT_EXPECT_EQ(test, trace_array_init_printk(tr), 0);
	KUNIT_EXPECT_EQ(test, trace_array_printk(NULL, _THIS_IP_, "nowhere\n"), -ENOENT);
	KUNIT_EXPECT_EQ(test, trace_array_printk(tr, _THIS_IP_, "%s %d%c", "number", 7, '\n'), 9);
	KUNIT_EXPECT_EQ(test, trace_array_puts(tr, text), sizeof(text) - 1);
	KUNIT_EXPECT_EQ(test, trace_array_puts(tr, "puts with one\n"), 14);
	trace_array_put(tr);
}

/* An instance with some systems' events alone, which stays for whoever wants to look. */
static void systems(struct kunit *test)
{
	struct trace_array *tr = trace_array_get_by_name("kunit_systems", "sched,timer");
	struct trace_event_file *file;

	KUNIT_ASSERT_NOT_NULL(test, tr);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "sched", NULL, true), 0);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "sched", "sched_switch", false), 0);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "irq", NULL, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(NULL, "sched", NULL, true), -ENOENT);
	file = trace_get_event_file("kunit_systems", "timer", "timer_start");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
	trace_put_event_file(file);
	KUNIT_EXPECT_PTR_EQ(test, trace_get_event_file("kunit_systems", "irq", "irq_handler_entry"), ERR_PTR(-EINVAL));
	/* It is there already: what is asked for now changes nothing. */
	KUNIT_EXPECT_PTR_EQ(test, trace_array_get_by_name("kunit_systems", "irq"), tr);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "irq", NULL, true), -EINVAL);
	trace_array_put(tr);
	trace_array_put(tr);
}

/* Not in a public header. */
void tracing_snapshot_cond(struct trace_array *tr, void *cond_data);
int tracing_snapshot_cond_enable(struct trace_array *tr, void *cond_data,
				 bool (*update)(struct trace_array *tr, void *cond_data));
int tracing_snapshot_cond_disable(struct trace_array *tr);
void *tracing_cond_snapshot_data(struct trace_array *tr);

static long largest;

static bool is_larger(struct trace_array *tr, void *cond_data)
{
	long *number = cond_data;

	if (!irqs_disabled() || *number <= largest)
		return false;
	largest = *number;
	/* A hit that the decision causes is left out. */
	*number += 1;
	tracing_snapshot_cond(tr, number);
	return largest == *number - 1;
}

/*
 * A snapshot for each number that is larger than all before. The numbers stay in the buffer and in the snapshot of the
 * instance, for whoever wants to look.
 */
static void snapshots(struct kunit *test)
{
	static const long numbers[] = { 3, 1, 2, 7, 5 };
	struct trace_array *tr = trace_array_get_by_name("kunit_snapshots", NULL);
	long number;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, tr);
	KUNIT_ASSERT_EQ(test, trace_array_init_printk(tr), 0);
	KUNIT_EXPECT_NULL(test, tracing_cond_snapshot_data(tr));
	KUNIT_EXPECT_EQ(test, tracing_snapshot_cond_disable(tr), -EINVAL);
	KUNIT_ASSERT_EQ(test, tracing_snapshot_cond_enable(tr, &largest, is_larger), 0);
	KUNIT_EXPECT_EQ(test, tracing_snapshot_cond_enable(tr, test, is_larger), -EBUSY);
	KUNIT_EXPECT_PTR_EQ(test, tracing_cond_snapshot_data(tr), (void *)&largest);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		number = numbers[i];
		trace_array_printk(tr, _THIS_IP_, "number %ld\n", number);
		tracing_snapshot_cond(tr, &number);
	}
	KUNIT_EXPECT_EQ(test, largest, 7);
	/* The end of the suite takes the owner away: until then others are refused. */
	trace_array_put(tr);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(life),
	KUNIT_CASE(race),
	KUNIT_CASE(systems),
	KUNIT_CASE(printing),
	KUNIT_CASE(snapshots),
	{}
};

static struct kunit_suite suite = {
	.name = "trace_array",
	.test_cases = cases,
};
kunit_test_suite(suite);

static int __init begin(void)
{
	return 0;
}

static void __exit end(void)
{
	struct trace_array *tr = trace_array_get_by_name("kunit_snapshots", NULL);

	if (tr && tracing_snapshot_cond_disable(tr))
		pr_err("trace_array_kunit: the snapshot has no owner\n");
	if (tr) {
		/* Nobody decides: it is taken. */
		trace_array_printk(tr, _THIS_IP_, "without an owner\n");
		tracing_snapshot_cond(tr, NULL);
	}
	trace_array_put(tr);
}

module_init(begin);
module_exit(end);

MODULE_DESCRIPTION("KUnit tests of instances in the kernel");
MODULE_LICENSE("GPL");
