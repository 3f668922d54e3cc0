// SPDX-License-Identifier: GPL-2.0
/*
 * Commands by which kernel code defines events, of <linux/trace_events.h>: what does not fit the caller's memory, and what the
 * caller finds there.
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

static struct kunit_case cases[] = {
	KUNIT_CASE(ends),
	KUNIT_CASE(room),
	KUNIT_CASE(kinds),
	{}
};

static struct kunit_suite suite = {
	.name = "event_commands",
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("Tests of the commands by which kernel code defines events");
MODULE_LICENSE("GPL");
