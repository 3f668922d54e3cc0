// SPDX-License-Identifier: GPL-2.0
/*
 * What any kernel code may ask of the top instance: recording on and off, snapshots, the function filters; by <linux/kernel.h> and
 * <linux/ftrace.h>.
 *
 * Loading the module runs the tests; what they have recorded and set stays for whoever wants to look, the filters until the
 * module goes. There is to be no snapshot before.
 */
#include <kunit/test.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/trace_printk.h>

#ifdef CONFIG_KPROBE_EVENTS
#include "address_of.h"
#endif

static void snapshots(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, tracing_is_on());
	/* Without room for it that is the end of recording. */
	tracing_snapshot();
	KUNIT_EXPECT_FALSE(test, tracing_is_on());
	tracing_on();
	trace_printk("kunit one\n");
	tracing_snapshot_alloc();
	KUNIT_EXPECT_TRUE(test, tracing_is_on());
	trace_printk("kunit two\n");
	/* The two sides change places. */
	tracing_snapshot();
	trace_printk("kunit three\n");
	tracing_snapshot();
	trace_printk("kunit four\n");
	tracing_snapshot_alloc();
	KUNIT_EXPECT_TRUE(test, tracing_is_on());
	trace_printk("kunit five\n");
}

#ifdef CONFIG_KPROBE_EVENTS
/* Those who stop recording stop it each for themselves; what tracing_on says is another switch. */
static void stops(struct kunit *test)
{
	static void (*stop)(void), (*start)(void);
	static const struct internal functions[] = { { &stop, "tracing_stop" }, { &start, "tracing_start" } };

	if (IS_ENABLED(CONFIG_CFI))
		kunit_skip(test, "a function whose address the kernel itself does not take may not be called by it");
	KUNIT_ASSERT_EQ(test, find_internal(functions, ARRAY_SIZE(functions)), 0);
	stop();
	stop();
	KUNIT_EXPECT_TRUE(test, tracing_is_on());
	start();
	trace_printk("kunit stopped\n");
	start();
	trace_printk("kunit started\n");
}
#endif

static void switches(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, tracing_is_on());
	tracing_off();
	KUNIT_EXPECT_FALSE(test, tracing_is_on());
	trace_printk("kunit nowhere\n");
	tracing_off();
	KUNIT_EXPECT_FALSE(test, tracing_is_on());
	tracing_on();
	KUNIT_EXPECT_TRUE(test, tracing_is_on());
	trace_printk("kunit six\n");
	/* For tracing_on to say so. */
	tracing_off();
}

#ifdef CONFIG_DYNAMIC_FTRACE
/* The C core writes into the text it is given. */
#define WRITABLE(text)	((char []){ text }), sizeof(text) - 1

static void filters(struct kunit *test)
{
	ftrace_set_global_filter(WRITABLE("vfs_write"), 1);
	/* Instead, and in addition; one that is unknown changes nothing. */
	ftrace_set_global_filter(WRITABLE("vfs_read"), 1);
	ftrace_set_global_filter(WRITABLE("vfs_open"), 0);
	ftrace_set_global_filter(WRITABLE("kunit_no_such_function"), 0);
	ftrace_set_global_notrace(WRITABLE("vfs_fsync"), 1);
	ftrace_set_global_notrace(WRITABLE("ksys_read"), 1);
	ftrace_set_global_notrace(WRITABLE("ksys_wr*"), 0);
}
#endif

static struct kunit_case cases[] = {
	KUNIT_CASE(snapshots),
#ifdef CONFIG_KPROBE_EVENTS
	KUNIT_CASE(stops),
#endif
	KUNIT_CASE(switches),
#ifdef CONFIG_DYNAMIC_FTRACE
	KUNIT_CASE(filters),
#endif
	{}
};

static struct kunit_suite suite = {
	.name = "trace_calls",
	.test_cases = cases,
};
kunit_test_suite(suite);

static int __init begin(void)
{
	return 0;
}

static void __exit end(void)
{
#ifdef CONFIG_DYNAMIC_FTRACE
	ftrace_set_global_filter(NULL, 0, 1);
	ftrace_set_global_notrace(NULL, 0, 1);
#endif
}

module_init(begin);
module_exit(end);

MODULE_DESCRIPTION("KUnit tests of what kernel code asks of the top instance");
MODULE_LICENSE("GPL");
