// SPDX-License-Identifier: GPL-2.0
/*
 * Events of a module, by the C interface of <linux/trace_events.h>.
 *
 * Loading the module runs the tests; what they have recorded stays in instance `kunit_events`, for whoever wants to look.
 */
#include <kunit/test.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/trace.h>
#include <linux/trace_events.h>
#include <linux/umh.h>
#include "address_of.h"

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

static int shell(const char *command)
{
	char *arguments[] = { "/bin/sh", "-c", (char *)command, NULL };
	char *environment[] = { "PATH=/usr/bin:/bin", NULL };

	return call_usermodehelper(arguments[0], arguments, environment, UMH_WAIT_PROC);
}

#define PIDS "/sys/kernel/tracing/instances/kunit_events/set_event_pid"

static bool ignored(struct trace_event_file *file)
{
	bool result;

	preempt_disable();
	result = trace_event_ignore_this_pid(file);
	preempt_enable();
	return result;
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
	KUNIT_EXPECT_FALSE(test, ignored(file));
	KUNIT_EXPECT_EQ(test, shell("echo 1 > " PIDS), 0);
	KUNIT_EXPECT_TRUE(test, ignored(file));
	KUNIT_EXPECT_EQ(test, shell(": > " PIDS), 0);
	KUNIT_EXPECT_FALSE(test, ignored(file));
	trace_array_put(tr);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(tr), -EBUSY);
	trace_put_event_file(file);
}

/* An event that is made while the kernel runs, whose hits are recorded step by step. */
struct added_entry {
	struct trace_entry ent;
	int number;
};

static enum print_line_t added_print(struct trace_iterator *iter, int flags, struct trace_event *event)
{
	trace_seq_printf(&iter->seq, "kunit_added: %d\n", ((struct added_entry *)iter->ent)->number);
	return trace_handle_return(&iter->seq);
}

static struct trace_event_functions added_functions = {
	.trace = added_print,
};

static struct trace_event_fields added_fields[] = {
	{ .type = "int", .name = "number", .size = sizeof(int), .align = 4, .is_signed = 1, .filter_type = FILTER_OTHER },
	{}
};

static struct trace_event_file *added_file;

static int added_reg(struct trace_event_call *call, enum trace_reg what, void *data)
{
	if (what == TRACE_REG_REGISTER)
		added_file = data;
	else if (what == TRACE_REG_UNREGISTER)
		added_file = NULL;
	return 0;
}

static struct trace_event_class added_class = {
	.system		= "rtrace_kunit",
	.fields_array	= added_fields,
	.fields		= LIST_HEAD_INIT(added_class.fields),
	.raw_init	= trace_event_raw_init,
	.reg		= added_reg,
};

static struct trace_event_call added_call = {
	.name		= "kunit_added",
	.class		= &added_class,
	.event.funcs	= &added_functions,
	.print_fmt	= "\"%d\", REC->number",
};

#define ADDED "/sys/kernel/tracing/instances/kunit_added/events/rtrace_kunit/kunit_added"

static int matches(struct trace_event_file *file, struct added_entry *entry, int number)
{
	int result;

	entry->number = number;
	preempt_disable();
	result = filter_match_preds(READ_ONCE(file->filter), entry);
	preempt_enable();
	return result;
}

static void added(struct kunit *test)
{
	struct trace_array *tr = trace_array_get_by_name("kunit_added", NULL);
	struct added_entry copy = {}, *entry;
	struct ring_buffer_event *event;
	struct trace_event_file *file;
	struct trace_buffer *buffer;
	enum event_trigger_type after;

	KUNIT_ASSERT_NOT_NULL(test, tr);
	KUNIT_EXPECT_EQ(test, trace_remove_event_call(&added_call), -ENOENT);
	KUNIT_ASSERT_EQ(test, trace_add_event_call(&added_call), 0);
	KUNIT_EXPECT_GT(test, added_call.event.type, 20);

	/* It is there as others are, and does not go while it is used. */
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_added", true), 0);
	KUNIT_EXPECT_NOT_NULL(test, added_file);
	KUNIT_EXPECT_EQ(test, trace_remove_event_call(&added_call), -EBUSY);
	file = trace_get_event_file("kunit_added", "rtrace_kunit", "kunit_added");
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_PTR_EQ(test, file, added_file);

	event = trace_event_buffer_lock_reserve(&buffer, file, added_call.event.type, sizeof(*entry), 0x110023);
	if (event) {
		entry = ring_buffer_event_data(event);
		entry->number = 5;
		copy = *entry;
		ring_buffer_unlock_commit(buffer);
	}
	KUNIT_EXPECT_NOT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, copy.ent.type, added_call.event.type);
	KUNIT_EXPECT_EQ(test, copy.ent.flags, 0x11);
	KUNIT_EXPECT_EQ(test, copy.ent.preempt_count, 0x23);
	KUNIT_EXPECT_EQ(test, copy.ent.pid, current->pid);
	event = trace_event_buffer_lock_reserve(&buffer, file, added_call.event.type, 1000, 0);
	if (event)
		ring_buffer_discard_commit(buffer, event);
	KUNIT_EXPECT_NOT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, ring_buffer_entries(buffer), 1);
	KUNIT_EXPECT_EQ(test, shell("grep -q 'kunit_added: 5$' /sys/kernel/tracing/instances/kunit_added/trace"), 0);

	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(file->filter), NULL);
	KUNIT_EXPECT_EQ(test, matches(file, &copy, 5), 1);
	KUNIT_EXPECT_EQ(test, shell("echo 'number > 5' > " ADDED "/filter"), 0);
	KUNIT_ASSERT_NOT_NULL(test, READ_ONCE(file->filter));
	KUNIT_EXPECT_EQ(test, matches(file, &copy, 5), 0);
	KUNIT_EXPECT_EQ(test, matches(file, &copy, 6), 1);
	KUNIT_EXPECT_EQ(test, matches(file, &copy, -6), 0);
	KUNIT_EXPECT_EQ(test, shell("echo 0 > " ADDED "/filter"), 0);
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(file->filter), NULL);

	KUNIT_EXPECT_EQ(test, shell("echo 'traceoff if number == 7' > " ADDED "/trigger"), 0);
	copy.number = 6;
	KUNIT_EXPECT_EQ(test, event_triggers_call(file, buffer, &copy, NULL), ETT_NONE);
	copy.number = 7;
	after = event_triggers_call(file, buffer, &copy, NULL);
	KUNIT_EXPECT_EQ(test, after, ETT_TRACE_ONOFF);
	event = trace_event_buffer_lock_reserve(&buffer, file, added_call.event.type, sizeof(*entry), 0);
	if (event)
		ring_buffer_discard_commit(buffer, event);
	KUNIT_EXPECT_NOT_NULL(test, event);
	event_triggers_post_call(file, after);
	event = trace_event_buffer_lock_reserve(&buffer, file, added_call.event.type, sizeof(*entry), 0);
	if (event)
		ring_buffer_discard_commit(buffer, event);
	KUNIT_EXPECT_NULL(test, event);
	KUNIT_EXPECT_EQ(test, shell("echo '!traceoff' > " ADDED "/trigger"), 0);

	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_added", false), 0);
	KUNIT_EXPECT_NULL(test, added_file);
	KUNIT_EXPECT_EQ(test, trace_remove_event_call(&added_call), -EBUSY);
	trace_put_event_file(file);
	KUNIT_EXPECT_EQ(test, trace_remove_event_call(&added_call), 0);
	KUNIT_EXPECT_EQ(test, trace_remove_event_call(&added_call), -ENOENT);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_added", true), -EINVAL);
	trace_array_put(tr);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(tr), 0);
}

/* Not in a public header. */
void tracing_snapshot_cond(struct trace_array *tr, void *cond_data);
int tracing_snapshot_cond_enable(struct trace_array *tr, void *cond_data,
				 bool (*update)(struct trace_array *tr, void *cond_data));
int tracing_snapshot_cond_disable(struct trace_array *tr);

static struct {
	struct irq_work work;
	struct trace_array *tr;
	struct trace_event_file *file;
	int hits;
} beneath;

static bool always(struct trace_array *tr, void *cond_data)
{
	return true;
}

static bool record_number(int number)
{
	struct trace_event_buffer fbuffer;
	struct added_entry *entry = trace_event_buffer_reserve(&fbuffer, beneath.file, sizeof(*entry));

	if (entry) {
		entry->number = number;
		trace_event_buffer_commit(&fbuffer);
	}
	return entry;
}

/* In an interrupt of a task that has an entry reserved: the second snapshot brings its ring back. */
static void two_snapshots(struct irq_work *work)
{
	tracing_snapshot_cond(beneath.tr, &beneath);
	beneath.hits += record_number(8);
	tracing_snapshot_cond(beneath.tr, &beneath);
	beneath.hits += record_number(9);
}

#define SHOWN "grep -v '^#' /sys/kernel/tracing/instances/kunit_beneath/"

static void snapshots_above_an_entry(struct kunit *test)
{
	struct trace_array *tr = trace_array_get_by_name("kunit_beneath", NULL);
	struct trace_event_buffer fbuffer;
	struct added_entry *entry;

	KUNIT_ASSERT_NOT_NULL(test, tr);
	/* Where another test has added it before. */
	added_call.event.type = 0;
	KUNIT_ASSERT_EQ(test, trace_add_event_call(&added_call), 0);
	KUNIT_ASSERT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_added", true), 0);
	KUNIT_ASSERT_EQ(test, tracing_snapshot_cond_enable(tr, &beneath, always), 0);
	beneath.tr = tr;
	beneath.hits = 0;
	beneath.file = trace_get_event_file("kunit_beneath", "rtrace_kunit", "kunit_added");
	KUNIT_ASSERT_FALSE(test, IS_ERR(beneath.file));
	/* Not in a thread, with PREEMPT_RT either. */
	beneath.work = IRQ_WORK_INIT_HARD(two_snapshots);

	entry = trace_event_buffer_reserve(&fbuffer, beneath.file, sizeof(*entry));
	if (entry) {
		entry->number = -1;
		irq_work_queue(&beneath.work);
		/* Preemption is off. */
		while (irq_work_is_busy(&beneath.work))
			cpu_relax();
		entry->number = 7;
		trace_event_buffer_commit(&fbuffer);
	}
	KUNIT_EXPECT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, beneath.hits, 2);
	KUNIT_EXPECT_EQ(test, shell(SHOWN "trace | sed 's/.*: //' | tr '\\n' ' ' | grep -qx '7 9 '"), 0);
	KUNIT_EXPECT_EQ(test, shell(SHOWN "snapshot | sed 's/.*: //' | tr '\\n' ' ' | grep -qx '8 '"), 0);
	/* Neither ring is left with something that has not ended. */
	KUNIT_EXPECT_TRUE(test, record_number(10));
	KUNIT_EXPECT_EQ(test, shell(SHOWN "trace | sed 's/.*: //' | tr '\\n' ' ' | grep -qx '7 9 10 '"), 0);

	KUNIT_EXPECT_EQ(test, tracing_snapshot_cond_disable(tr), 0);
	trace_put_event_file(beneath.file);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_added", false), 0);
	KUNIT_EXPECT_EQ(test, trace_remove_event_call(&added_call), 0);
	trace_array_put(tr);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(tr), 0);
}

#define GUARDED "/sys/kernel/tracing/instances/kunit_guarded/"

/* A probe that leaves it to the reservation to turn preemption off, as those of TRACE_CUSTOM_EVENT() do. */
static void with_preemption_on(struct kunit *test)
{
	/* What is looked at before it is recorded: by nobody, by a filter that passes it and one that does not, and what is followed. */
	static const char * const looks[] = {
		"true",
		"echo 'number == 5' > " GUARDED "events/rtrace_kunit/kunit_added/filter",
		"echo 'number == 6' > " GUARDED "events/rtrace_kunit/kunit_added/filter",
		"echo 0 > " GUARDED "events/rtrace_kunit/kunit_added/filter; echo 1 > " GUARDED "options/stacktrace",
	};
	struct trace_array *tr = trace_array_get_by_name("kunit_guarded", NULL);
	struct trace_event_file *file;
	struct trace_event_buffer fbuffer;
	struct added_entry *entry;
	int at, before, between, after;

	KUNIT_ASSERT_NOT_NULL(test, tr);
	added_call.event.type = 0;
	KUNIT_ASSERT_EQ(test, trace_add_event_call(&added_call), 0);
	KUNIT_ASSERT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_added", true), 0);
	file = trace_get_event_file("kunit_guarded", "rtrace_kunit", "kunit_added");
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	for (at = 0; at < ARRAY_SIZE(looks); at++) {
		KUNIT_EXPECT_EQ(test, shell(looks[at]), 0);
		before = preempt_count();
		entry = trace_event_buffer_reserve(&fbuffer, file, sizeof(*entry));
		between = preempt_count();
		if (entry) {
			entry->number = 5;
			trace_event_buffer_commit(&fbuffer);
		}
		after = preempt_count();
		KUNIT_EXPECT_NOT_NULL(test, entry);
		KUNIT_EXPECT_EQ(test, between - before, IS_ENABLED(CONFIG_PREEMPTION));
		KUNIT_EXPECT_EQ(test, after, before);
	}
	/* The last round's is followed by a stack. */
	KUNIT_EXPECT_EQ(test, shell("grep -A 1 'kunit_added: 5$' " GUARDED "trace | tail -n 1 | grep -q '<stack trace>'"), 0);
	/* Where it is off already, nothing is turned off. */
	preempt_disable();
	before = preempt_count();
	entry = trace_event_buffer_reserve(&fbuffer, file, sizeof(*entry));
	between = preempt_count();
	if (entry) {
		entry->number = 4;
		trace_event_buffer_commit(&fbuffer);
	}
	after = preempt_count();
	preempt_enable();
	KUNIT_EXPECT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, between, before);
	KUNIT_EXPECT_EQ(test, after, before);
	/* And one that is refused. */
	KUNIT_EXPECT_EQ(test, shell("echo 0 > " GUARDED "tracing_on"), 0);
	before = preempt_count();
	KUNIT_EXPECT_NULL(test, trace_event_buffer_reserve(&fbuffer, file, sizeof(*entry)));
	KUNIT_EXPECT_EQ(test, preempt_count(), before);
	KUNIT_EXPECT_EQ(test, shell("grep -c 'kunit_added: 5$' " GUARDED "trace | grep -qx 3"), 0);

	trace_put_event_file(file);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_added", false), 0);
	KUNIT_EXPECT_EQ(test, trace_remove_event_call(&added_call), 0);
	trace_array_put(tr);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(tr), 0);
}

#define OTHERS "/sys/kernel/tracing/instances/kunit_others/"

/* One that its class gives a type without trace_event_raw_init(). */
static int others_raw_init(struct trace_event_call *call)
{
	return register_trace_event(&call->event) ? 0 : -ENODEV;
}

static int others_begun, others_ended;

/* As in C it may sleep where a file is read. */
static enum print_line_t others_print(struct trace_iterator *iter, int flags, struct trace_event *event)
{
	WRITE_ONCE(others_begun, others_begun + 1);
	schedule_timeout_uninterruptible(HZ);
	trace_seq_printf(&iter->seq, "kunit_others: %d\n", ((struct added_entry *)iter->ent)->number);
	WRITE_ONCE(others_ended, others_ended + 1);
	return trace_handle_return(&iter->seq);
}

static struct trace_event_functions others_functions = {
	.trace = others_print,
};

static struct trace_event_class others_class = {
	.system		= "rtrace_kunit",
	.fields_array	= added_fields,
	.fields		= LIST_HEAD_INIT(others_class.fields),
	.raw_init	= others_raw_init,
	.reg		= added_reg,
};

static struct trace_event_call others_call = {
	.name		= "kunit_others",
	.class		= &others_class,
	.event.funcs	= &others_functions,
	.print_fmt	= "\"%d\", REC->number",
};

/* Its entries are printed by fields as those of other events, and it does not go while one is printed. */
static void others_type(struct kunit *test)
{
	struct trace_array *tr = trace_array_get_by_name("kunit_others", NULL);
	struct trace_event_buffer fbuffer;
	struct trace_event_file *file;
	struct added_entry *entry;
	unsigned long end;
	int begun, result;

	KUNIT_ASSERT_NOT_NULL(test, tr);
	KUNIT_ASSERT_EQ(test, trace_add_event_call(&others_call), 0);
	KUNIT_ASSERT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_others", true), 0);
	file = trace_get_event_file("kunit_others", "rtrace_kunit", "kunit_others");
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	entry = trace_event_buffer_reserve(&fbuffer, file, sizeof(*entry));
	if (entry) {
		entry->number = 5;
		trace_event_buffer_commit(&fbuffer);
	}
	KUNIT_EXPECT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, shell("grep -q 'kunit_others: 5$' " OTHERS "trace"), 0);
	KUNIT_EXPECT_EQ(test, shell("echo 1 > " OTHERS "options/fields"), 0);
	KUNIT_EXPECT_EQ(test, shell("grep -q 'kunit_others: number=0x5 (5)$' " OTHERS "trace"), 0);
	KUNIT_EXPECT_EQ(test, shell("echo 0 > " OTHERS "options/fields"), 0);

	trace_put_event_file(file);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(tr, "rtrace_kunit", "kunit_others", false), 0);
	begun = READ_ONCE(others_begun);
	end = jiffies + 60 * HZ;
	KUNIT_EXPECT_EQ(test, shell("cat " OTHERS "trace > /dev/null &"), 0);
	while (READ_ONCE(others_begun) == begun && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_GT(test, READ_ONCE(others_begun), begun);
	KUNIT_EXPECT_EQ(test, trace_remove_event_call(&others_call), 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(others_ended), READ_ONCE(others_begun));
	trace_array_put(tr);
	/* Until cat ends. */
	while ((result = trace_array_destroy(tr)) == -EBUSY && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, result, 0);
}

static void probe_of_none(void)
{
}

static struct trace_event_class custom_class = {
	.system		= "custom",
	.fields_array	= added_fields,
	.fields		= LIST_HEAD_INIT(custom_class.fields),
	.raw_init	= trace_event_raw_init,
	.probe		= probe_of_none,
#ifdef CONFIG_PERF_EVENTS
	.perf_probe	= probe_of_none,
#endif
	.reg		= trace_event_reg,
};

/* As TRACE_CUSTOM_EVENT() makes it, before it is attached to a tracepoint. */
static struct trace_event_call custom_call = {
	.name		= "kunit_custom",
	.class		= &custom_class,
	.event.funcs	= &added_functions,
	.print_fmt	= "\"%d\", REC->number",
	.flags		= TRACE_EVENT_FL_CUSTOM,
};

/* C takes the name for a tracepoint. */
static void unattached(struct kunit *test)
{
	struct trace_array *tr;

	if (!IS_ENABLED(CONFIG_RTRACE))
		kunit_skip(test, "C goes astray");
	tr = trace_array_get_by_name("kunit_custom", NULL);
	KUNIT_ASSERT_NOT_NULL(test, tr);
	KUNIT_ASSERT_EQ(test, trace_add_event_call(&custom_call), 0);
	KUNIT_EXPECT_EQ(test, trace_event_reg(&custom_call, TRACE_REG_REGISTER, NULL), -ENODEV);
#ifdef CONFIG_PERF_EVENTS
	KUNIT_EXPECT_EQ(test, trace_event_reg(&custom_call, TRACE_REG_PERF_REGISTER, NULL), -ENODEV);
#endif
	KUNIT_EXPECT_NE(test, shell("echo 1 > /sys/kernel/tracing/instances/kunit_custom/events/custom/kunit_custom/enable"), 0);
	KUNIT_EXPECT_EQ(test, shell("grep -qx 0 /sys/kernel/tracing/instances/kunit_custom/events/custom/kunit_custom/enable"), 0);
	KUNIT_EXPECT_EQ(test, trace_remove_event_call(&custom_call), 0);
	trace_array_put(tr);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(tr), 0);
}

static unsigned int (*gen_ctx)(unsigned int irqs_status);
static void (*record_cmdline)(struct task_struct *task);
static int (*set_clr_event)(struct trace_array *tr, char *buf, int set);
static DECLARE_COMPLETION(name_saved);

/* Nobody saves names meanwhile. */
static int save_own_name(void *file)
{
	struct trace_event_buffer fbuffer;
	struct added_entry *entry;

	preempt_disable();
	entry = trace_event_buffer_reserve(&fbuffer, file, sizeof(*entry));
	if (entry) {
		entry->number = 1;
		trace_event_buffer_commit(&fbuffer);
	}
	record_cmdline(current);
	preempt_enable();
	complete(&name_saved);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return entry ? 0 : -ENOBUFS;
}

#ifdef CONFIG_X86_KERNEL_IBT
/* The build takes the landing pads away from functions whose address the kernel does not take. */
static bool is_sealed(void)
{
	return cpu_feature_enabled(X86_FEATURE_IBT);
}
#else
static bool is_sealed(void)
{
	return false;
}
#endif

/* What the header declares for the kernel itself. */
static void internals(struct kunit *test)
{
	static const struct internal functions[] = {
		{ &gen_ctx, "tracing_gen_ctx_irq_test" },
		{ &record_cmdline, "tracing_record_cmdline" },
		{ &set_clr_event, "ftrace_set_clr_event" },
	};
#ifdef CONFIG_DYNAMIC_EVENTS
	static bool (*hold)(struct trace_event_call *call), (*busy)(struct trace_event_call *call);
	static void (*put)(struct trace_event_call *call);
	static const struct internal counting[] = {
		{ &hold, "trace_event_dyn_try_get_ref" },
		{ &put, "trace_event_dyn_put_ref" },
		{ &busy, "trace_event_dyn_busy" },
	};
#endif
	char name[] = "rtrace_kunit:kunit_named", none[] = "rtrace_kunit:kunit_none";
	const unsigned int flags = TRACE_FLAG_IRQS_OFF | TRACE_FLAG_HARDIRQ | TRACE_FLAG_NMI;
	unsigned int told, off, depth;
	struct trace_event_file *file;
	struct task_struct *task;
	struct trace_array *tr;

	if (IS_ENABLED(CONFIG_CFI) || is_sealed())
		kunit_skip(test, "a function whose address the kernel itself does not take may not be called by it");
	KUNIT_ASSERT_EQ(test, find_internal(functions, ARRAY_SIZE(functions)), 0);

	preempt_disable();
	preempt_disable();
	/* What is told of interrupts counts. */
	told = gen_ctx(TRACE_FLAG_IRQS_OFF);
	depth = preempt_count() & 0xff;
	local_irq_disable();
	off = gen_ctx(0);
	local_irq_enable();
	preempt_enable();
	preempt_enable();
	KUNIT_EXPECT_EQ(test, told & 0xf, depth);
	KUNIT_EXPECT_EQ(test, told >> 16 & flags, (unsigned int)TRACE_FLAG_IRQS_OFF);
	KUNIT_EXPECT_EQ(test, off >> 16 & flags, 0u);

	tr = trace_array_get_by_name("kunit_internals", NULL);
	KUNIT_ASSERT_NOT_NULL(test, tr);
	KUNIT_EXPECT_EQ(test, set_clr_event(NULL, name, 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, set_clr_event(tr, none, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, set_clr_event(tr, name, 1), 0);
	KUNIT_EXPECT_TRUE(test, trace_kunit_named_enabled());
	KUNIT_EXPECT_EQ(test, set_clr_event(tr, name, 0), 0);
	KUNIT_EXPECT_FALSE(test, trace_kunit_named_enabled());
	KUNIT_EXPECT_STREQ(test, name, "rtrace_kunit:kunit_named");

	added_call.event.type = 0;
	KUNIT_ASSERT_EQ(test, trace_add_event_call(&added_call), 0);
	file = trace_get_event_file("kunit_internals", "rtrace_kunit", "kunit_added");
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	task = kthread_run(save_own_name, file, "kunit_saved");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	/* A thread that is stopped before it runs never does. */
	wait_for_completion(&name_saved);
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_EQ(test, shell("grep -q ' kunit_saved$' /sys/kernel/tracing/saved_cmdlines"), 0);
	trace_put_event_file(file);

#ifdef CONFIG_DYNAMIC_EVENTS
	KUNIT_ASSERT_EQ(test, find_internal(counting, ARRAY_SIZE(counting)), 0);
	KUNIT_EXPECT_FALSE(test, busy(&added_call));
	KUNIT_EXPECT_TRUE(test, hold(&added_call));
	KUNIT_EXPECT_TRUE(test, busy(&added_call));
	put(&added_call);
	KUNIT_EXPECT_FALSE(test, busy(&added_call));
#endif
	KUNIT_EXPECT_EQ(test, trace_remove_event_call(&added_call), 0);
#ifdef CONFIG_DYNAMIC_EVENTS
	KUNIT_EXPECT_FALSE(test, hold(&added_call));
#endif
	trace_array_put(tr);
	KUNIT_EXPECT_EQ(test, trace_array_destroy(tr), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(known),
	KUNIT_CASE(switching),
	KUNIT_CASE(lengths),
	KUNIT_CASE(strings),
	KUNIT_CASE(files),
	KUNIT_CASE(added),
	KUNIT_CASE(snapshots_above_an_entry),
	KUNIT_CASE(with_preemption_on),
	KUNIT_CASE(others_type),
	KUNIT_CASE(unattached),
	KUNIT_CASE(internals),
	{}
};

static struct kunit_suite suite = {
	.name = "trace_events",
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit tests of a module's events");
MODULE_LICENSE("GPL");
