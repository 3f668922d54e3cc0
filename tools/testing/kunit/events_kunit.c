// SPDX-License-Identifier: GPL-2.0
/*
 * Events of a module, by the C interface of <linux/trace_events.h>.
 *
 * Loading the module runs the tests; what they have recorded stays in instance `kunit_events`, for whoever wants to look.
 */
#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/trace.h>
#include <linux/trace_events.h>

#define CREATE_TRACE_POINTS
#include "events_kunit_trace.h"

static void known(struct kunit *test)
{
	struct trace_event_call *named = &event_kunit_named, *wide = &event_kunit_long;

	KUNIT_EXPECT_GT(test, named->event.type, 20);
	KUNIT_EXPECT_GT(test, wide->event.type, 20);
	KUNIT_EXPECT_NE(test, named->event.type, wide->event.type);
	KUNIT_EXPECT_PTR_EQ(test, named->module, (void *)THIS_MODULE);
	/* Numbers stand for the names, but not in texts. */
	KUNIT_EXPECT_NOT_NULL(test, strstr(named->print_fmt, "{ 3, \"FIRST\" }, { -5, \"SECOND\" }"));
	KUNIT_EXPECT_NULL(test, strstr(named->print_fmt, "RTRACE_KUNIT"));
}

static void switching(struct kunit *test)
{
	struct trace_array *tr = trace_array_get_by_name("kunit_events", NULL);

	KUNIT_ASSERT_NOT_NULL(test, tr);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(NULL, "rtrace_kunit", NULL, true), -ENOENT);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "none", true), -EINVAL);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "none", NULL, true), -EINVAL);
	KUNIT_EXPECT_FALSE(test, trace_kunit_named_enabled());
	trace_kunit_named(1, "while it is off");
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_named", true), 0);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_named", true), 0);
	KUNIT_EXPECT_TRUE(test, trace_kunit_named_enabled());
	KUNIT_EXPECT_FALSE(test, trace_kunit_long_enabled());
	trace_kunit_named(RTRACE_KUNIT_FIRST, "in a task");
	trace_kunit_named(RTRACE_KUNIT_SECOND, NULL);
	local_irq_disable();
	trace_kunit_named(7, "with interrupts off");
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, NULL, "kunit_named", false), 0);
	KUNIT_EXPECT_FALSE(test, trace_kunit_named_enabled());
	trace_kunit_named(1, "when it is off again");
	trace_array_put(tr);
}

static void lengths(struct kunit *test)
{
	struct trace_array *tr = trace_array_get_by_name("kunit_events", NULL);

	KUNIT_ASSERT_NOT_NULL(test, tr);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_long", true), 0);
	/* With 12 bytes before the array: up to 112 a record needs no word for its length. */
	trace_kunit_long(1);
	trace_kunit_long(100);
	trace_kunit_long(101);
	trace_kunit_long(3000);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", NULL, false), 0);
	trace_array_put(tr);
}

static void strings(struct kunit *test)
{
	struct trace_array *tr = trace_array_get_by_name("kunit_events", NULL);
	char *text = kunit_kzalloc(test, 16, GFP_KERNEL);
	struct trace_event_file *file;

	KUNIT_ASSERT_NOT_NULL(test, tr);
	KUNIT_ASSERT_NOT_NULL(test, text);
	strscpy(text, "goes", 16);
	KUNIT_EXPECT_NE(test, event_kunit_pointing.flags & TRACE_EVENT_FL_TEST_STR, 0);
	KUNIT_EXPECT_EQ(test, event_kunit_named.flags & TRACE_EVENT_FL_TEST_STR, 0);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_pointing", true), 0);
	trace_kunit_pointing(1, "of the module");
	file = trace_get_event_file(NULL, "sched", "sched_switch");
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	trace_kunit_pointing(2, trace_event_name(file->event_call));
	trace_put_event_file(file);
	trace_kunit_pointing(3, text);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", NULL, false), 0);
	trace_array_put(tr);
}

static void files(struct kunit *test)
{
	struct trace_array *tr = trace_array_get_by_name("kunit_events", NULL);
	struct trace_event_file *file;

	KUNIT_ASSERT_NOT_NULL(test, tr);
	file = trace_get_event_file("kunit_events", "rtrace_kunit", "none");
	KUNIT_EXPECT_EQ(test, PTR_ERR(file), -EINVAL);
	file = trace_get_event_file("kunit_none", "rtrace_kunit", "kunit_named");
	KUNIT_EXPECT_EQ(test, PTR_ERR(file), -ENOENT);
	file = trace_get_event_file("kunit_events", "sched", "sched_switch");
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_PTR_EQ(test, file->tr, tr);
	KUNIT_EXPECT_STREQ(test, trace_event_name(file->event_call), "sched_switch");
	KUNIT_EXPECT_EQ(test, file->flags & EVENT_FILE_FL_ENABLED, 0);
	trace_array_put(tr);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(tr), -EBUSY);
	trace_put_event_file(file);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(known),
	KUNIT_CASE(switching),
	KUNIT_CASE(lengths),
	KUNIT_CASE(strings),
	KUNIT_CASE(files),
	{}
};

static struct kunit_suite suite = {
	.name = "trace_events",
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit tests of a module's events");
MODULE_LICENSE("GPL");
