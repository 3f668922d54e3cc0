// SPDX-License-Identifier: GPL-2.0
/*
 * Commands by which kernel code defines events, of <linux/trace_events.h>: what does not fit the caller's memory, and what the
 * caller finds there; and events that it fires.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/seq_buf.h>
#include <linux/string.h>
#include <linux/trace_events.h>

/* The memory is not cleared, and its text has an end all the same. */
static void ends(struct kunit *test)
{
	struct dynevent_cmd cmd;
	char text[64];

	memset(text, 'Z', sizeof(text));
	synth_event_cmd_init(&cmd, text, sizeof(text));
	KUNIT_EXPECT_EQ(test, synth_event_gen_cmd_start(&cmd, "kunit_synth", NULL), 0);
	KUNIT_EXPECT_EQ(test, strnlen(text, sizeof(text)), cmd.seq.len);
	KUNIT_EXPECT_EQ(test, synth_event_add_field_str(&cmd, "u64 lat"), 0);
	KUNIT_EXPECT_EQ(test, strnlen(text, sizeof(text)), cmd.seq.len);
	KUNIT_EXPECT_EQ(test, synth_event_add_field(&cmd, "u33", "b"), -EINVAL);
	KUNIT_EXPECT_EQ(test, synth_event_add_field(&cmd, "u32", "b"), 0);
	KUNIT_EXPECT_EQ(test, strnlen(text, sizeof(text)), cmd.seq.len);
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "u64 lat; u32 b;"));
	KUNIT_EXPECT_EQ(test, synth_event_gen_cmd_end(&cmd), 0);
	KUNIT_EXPECT_EQ(test, synth_event_delete("kunit_synth"), 0);

	memset(text, 'Z', sizeof(text));
	kprobe_event_cmd_init(&cmd, text, sizeof(text));
	KUNIT_EXPECT_EQ(test, kprobe_event_gen_cmd_start(&cmd, "kunit_probe", "vfs_read"), 0);
	KUNIT_EXPECT_EQ(test, strnlen(text, sizeof(text)), cmd.seq.len);
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "p:kprobes/kunit_probe vfs_read"));
	KUNIT_EXPECT_EQ(test, kprobe_event_gen_cmd_end(&cmd), 0);
	KUNIT_EXPECT_EQ(test, kprobe_event_delete("kunit_probe"), 0);
}

/* Behind what does not fit nothing is added, and nothing is made of the rest. */
static void room(struct kunit *test)
{
	struct dynevent_cmd cmd;
	char text[32];

	/* The C core runs what of it fits, which here is no definition. */
	memset(text, 'Z', sizeof(text));
	synth_event_cmd_init(&cmd, text, 26);
	KUNIT_EXPECT_EQ(test, synth_event_gen_cmd_start(&cmd, "kunit_synth", NULL), 0);
	KUNIT_EXPECT_EQ(test, synth_event_add_field(&cmd, "unsigned long", "too_long"), -E2BIG);
	KUNIT_EXPECT_TRUE(test, seq_buf_has_overflowed(&cmd.seq));
	KUNIT_EXPECT_LT(test, strnlen(text, sizeof(text)), 26);
	KUNIT_EXPECT_EQ(test, synth_event_add_field(&cmd, "u8", "a"), -E2BIG);
	KUNIT_EXPECT_NE(test, synth_event_gen_cmd_end(&cmd), 0);
	KUNIT_EXPECT_EQ(test, synth_event_delete("kunit_synth"), -ENOENT);

	memset(text, 'Z', sizeof(text));
	kprobe_event_cmd_init(&cmd, text, sizeof(text));
	KUNIT_EXPECT_EQ(test, kprobe_event_gen_cmd_start(&cmd, "kunit_probe", "kernel_clone"), -E2BIG);
	KUNIT_EXPECT_LT(test, strnlen(text, sizeof(text)), sizeof(text));
	/* Were it added, it would be the place. */
	KUNIT_EXPECT_EQ(test, kprobe_event_add_field(&cmd, "tty_read"), -E2BIG);
	KUNIT_EXPECT_NE(test, kprobe_event_gen_cmd_end(&cmd), 0);
	KUNIT_EXPECT_NE(test, kprobe_event_delete("kunit_probe"), 0);
}

/* Commands of one kind are none of the other. */
static void kinds(struct kunit *test)
{
	struct dynevent_cmd cmd;
	char text[64];

	synth_event_cmd_init(&cmd, text, sizeof(text));
	KUNIT_EXPECT_EQ(test, kprobe_event_gen_cmd_start(&cmd, "kunit_probe", "vfs_read"), -EINVAL);
	KUNIT_EXPECT_EQ(test, kprobe_event_add_field(&cmd, "a=$comm"), -EINVAL);
	kprobe_event_cmd_init(&cmd, text, sizeof(text));
	KUNIT_EXPECT_EQ(test, synth_event_gen_cmd_start(&cmd, "kunit_synth", NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, synth_event_add_field(&cmd, "u8", "a"), -EINVAL);
	KUNIT_EXPECT_EQ(test, synth_event_add_field_str(&cmd, "u8 a"), -EINVAL);
	KUNIT_EXPECT_EQ(test, kprobe_event_gen_cmd_start(&cmd, "kunit_probe", NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, kprobe_event_delete("kunit_probe"), -ENOENT);
}

#define DEEP 4

/*
 * Synthetic events that are put together at once, each inside of the one before, and a whole one inside of them. Whoever has loaded
 * the module finds them in the buffer, and removes the event.
 */
static void inside(struct kunit *test)
{
	static struct synth_event_trace_state states[DEEP];
	int begun[DEEP], ended[DEEP], whole, i;
	struct trace_event_file *file;
	struct dynevent_cmd cmd;
	char text[64];

	synth_event_cmd_init(&cmd, text, sizeof(text));
	KUNIT_ASSERT_EQ(test, synth_event_gen_cmd_start(&cmd, "kunit_inside", NULL), 0);
	KUNIT_ASSERT_EQ(test, synth_event_add_field_str(&cmd, "u64 number"), 0);
	KUNIT_ASSERT_EQ(test, synth_event_gen_cmd_end(&cmd), 0);
	file = trace_get_event_file(NULL, "synthetic", "kunit_inside");
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(file->tr, "synthetic", "kunit_inside", true), 0);
	/* From the first to the last preemption is off. */
	for (i = 0; i < DEEP; i++) {
		begun[i] = synth_event_trace_start(file, &states[i]);
		synth_event_add_next_val(i, &states[i]);
	}
	whole = synth_event_trace(file, 1, (u64)DEEP);
	for (i = DEEP - 1; i >= 0; i--)
		ended[i] = begun[i] ? 0 : synth_event_trace_end(&states[i]);
	for (i = 0; i < DEEP; i++) {
		KUNIT_EXPECT_EQ(test, begun[i], 0);
		KUNIT_EXPECT_EQ(test, ended[i], 0);
	}
	KUNIT_EXPECT_EQ(test, whole, 0);
	KUNIT_EXPECT_EQ(test, preempt_count() & PREEMPT_MASK, 0);
	/* What is nested no more leaves nothing behind. */
	KUNIT_EXPECT_EQ(test, synth_event_trace(file, 1, (u64)DEEP + 1), 0);
	KUNIT_EXPECT_EQ(test, trace_array_set_clr_event(file->tr, "synthetic", "kunit_inside", false), 0);
	trace_put_event_file(file);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(ends),
	KUNIT_CASE(room),
	KUNIT_CASE(kinds),
	KUNIT_CASE(inside),
	{}
};

static struct kunit_suite suite = {
	.name = "event_commands",
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("Tests of the commands by which kernel code defines events");
MODULE_LICENSE("GPL");
