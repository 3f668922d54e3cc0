// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of <linux/fprobe.h>, beyond what lib/tests/test_fprobe.c tests.
 *
 * Loading the module runs the tests; nothing in it is particular to rtrace, so the same file says whether a kernel with
 * the C core behaves alike. The functions probed are its own.
 */
#include <kunit/test.h>
#include <linux/fprobe.h>
#include <linux/kprobes.h>
#include <linux/module.h>

/* Compiled with patch sites. */
noinline long kunit_probed(long a, long b);
noinline long kunit_probed_too(long a, long b);
noinline void kunit_probed_outer(void (*inner)(void));

noinline long kunit_probed(long a, long b)
{
	barrier();
	return a * 3 + b;
}

noinline long kunit_probed_too(long a, long b)
{
	barrier();
	return a - b;
}

noinline void kunit_probed_outer(void (*inner)(void))
{
	barrier();
	inner();
	barrier();
}

/* A probe, what it saw last, and how often. */
struct seen {
	struct fprobe fp;
	unsigned int entries, returns;
	unsigned long site, ret, args[2], value;
	int answer, turn;
	bool data, same, preemptible;
	void (*also)(void);
};

/* Counts the calls of all. */
static int turns;

static notrace int entered(struct fprobe *fp, unsigned long ip, unsigned long ret_ip, struct ftrace_regs *regs, void *data)
{
	struct seen *seen = container_of(fp, struct seen, fp);

	seen->entries++;
	seen->turn = ++turns;
	seen->site = ip;
	seen->ret = ret_ip;
	seen->args[0] = ftrace_regs_get_argument(regs, 0);
	seen->args[1] = ftrace_regs_get_argument(regs, 1);
	seen->preemptible |= preemptible();
	seen->data = data;
	if (data)
		memset(data, seen->turn, fp->entry_data_size);
	if (seen->also)
		seen->also();
	return seen->answer;
}

static notrace void returned(struct fprobe *fp, unsigned long ip, unsigned long ret_ip, struct ftrace_regs *regs, void *data)
{
	struct seen *seen = container_of(fp, struct seen, fp);

	seen->returns++;
	seen->value = ftrace_regs_get_return_value(regs);
	seen->preemptible |= preemptible();
	seen->same = ip == seen->site && ret_ip == seen->ret &&
		     (!fp->entry_data_size ? !data : data && !memchr_inv(data, seen->turn, fp->entry_data_size));
}

static void clear(struct seen *seen, bool returns, size_t size)
{
	memset(seen, 0, sizeof(*seen));
	seen->fp.entry_handler = entered;
	seen->fp.exit_handler = returns ? returned : NULL;
	seen->fp.entry_data_size = size;
}

static void plant(struct kunit *test, struct seen *seen, bool returns, size_t size, const char *filter)
{
	clear(seen, returns, size);
	KUNIT_ASSERT_EQ(test, register_fprobe(&seen->fp, filter, NULL), 0);
}

static void pull(struct kunit *test, struct seen *seen)
{
	KUNIT_EXPECT_EQ(test, unregister_fprobe(&seen->fp), 0);
}

/* Nothing while it is disabled, all the same afterwards, and nothing once it is gone. */
static void switch_and_pull(struct kunit *test, struct seen *seen)
{
	unsigned int before = seen->entries;

	disable_fprobe(&seen->fp);
	kunit_probed(5, 7);
	KUNIT_EXPECT_EQ(test, seen->entries, before);
	enable_fprobe(&seen->fp);
	kunit_probed(5, 7);
	KUNIT_EXPECT_EQ(test, seen->entries, before + 1);
	KUNIT_EXPECT_EQ(test, seen->fp.nmissed, 0ul);
	pull(test, seen);
	kunit_probed(5, 7);
	KUNIT_EXPECT_EQ(test, seen->entries, before + 1);
}

static void entries_only(struct kunit *test)
{
	static struct seen seen;

	plant(test, &seen, false, 0, "kunit_probed");
	KUNIT_EXPECT_EQ(test, kunit_probed(5, 7), 22l);
	kunit_probed_too(1, 2);
	KUNIT_EXPECT_EQ(test, seen.entries, 1u);
	KUNIT_EXPECT_LT(test, seen.site - (unsigned long)kunit_probed, 5ul);
	KUNIT_EXPECT_LT(test, seen.ret - (unsigned long)entries_only, 0x400ul);
	KUNIT_EXPECT_EQ(test, seen.args[0], 5ul);
	KUNIT_EXPECT_EQ(test, seen.args[1], 7ul);
	KUNIT_EXPECT_FALSE(test, seen.preemptible);
	switch_and_pull(test, &seen);
}

static void with_returns(struct kunit *test)
{
	static struct seen seen;

	plant(test, &seen, true, 13, "kunit_probed");
	KUNIT_EXPECT_EQ(test, seen.fp.entry_data_size, 16ul);
	KUNIT_EXPECT_EQ(test, kunit_probed(5, 7), 22l);
	KUNIT_EXPECT_EQ(test, seen.entries, 1u);
	KUNIT_EXPECT_EQ(test, seen.returns, 1u);
	KUNIT_EXPECT_EQ(test, seen.value, 22ul);
	KUNIT_EXPECT_LT(test, seen.ret - (unsigned long)with_returns, 0x400ul);
	KUNIT_EXPECT_TRUE(test, seen.data);
	KUNIT_EXPECT_TRUE(test, seen.same);
	KUNIT_EXPECT_FALSE(test, seen.preemptible);
	seen.answer = 1;
	kunit_probed(5, 7);
	KUNIT_EXPECT_EQ(test, seen.entries, 2u);
	KUNIT_EXPECT_EQ(test, seen.returns, 1u);
	switch_and_pull(test, &seen);

	/* Without a function for entries. */
	clear(&seen, true, 0);
	seen.fp.entry_handler = NULL;
	KUNIT_ASSERT_EQ(test, register_fprobe(&seen.fp, "kunit_probed*", "*_o?ter"), 0);
	KUNIT_EXPECT_EQ(test, kunit_probed_too(9, 4), 5l);
	KUNIT_EXPECT_EQ(test, seen.returns, 1u);
	KUNIT_EXPECT_EQ(test, seen.value, 5ul);
	pull(test, &seen);
}

static void several(struct kunit *test)
{
	static struct seen first, second, third;
	static const char *names[] = { "kunit_probed_too", "kunit_probed" };
	unsigned long addrs[] = { (unsigned long)kunit_probed };

	plant(test, &first, true, 8, "kunit_probed");
	clear(&second, true, 0);
	KUNIT_ASSERT_EQ(test, register_fprobe_syms(&second.fp, names, 2), 0);
	clear(&third, true, 120);
	KUNIT_ASSERT_EQ(test, register_fprobe_ips(&third.fp, addrs, 1), 0);
	turns = 0;
	KUNIT_EXPECT_EQ(test, kunit_probed(1, 1), 4l);
	/* The newest comes first. */
	KUNIT_EXPECT_EQ(test, third.turn, 1);
	KUNIT_EXPECT_EQ(test, second.turn, 2);
	KUNIT_EXPECT_EQ(test, first.turn, 3);
	KUNIT_EXPECT_TRUE(test, first.same && second.same && third.same);
	KUNIT_EXPECT_EQ(test, third.value, 4ul);
	kunit_probed_too(1, 1);
	KUNIT_EXPECT_EQ(test, first.entries, 1u);
	KUNIT_EXPECT_EQ(test, second.returns, 2u);
	KUNIT_EXPECT_EQ(test, third.entries, 1u);
	/* One that wants no return leaves the data of the others in place. */
	second.answer = 1;
	first.same = third.same = false;
	kunit_probed(1, 1);
	KUNIT_EXPECT_TRUE(test, first.same && third.same);
	KUNIT_EXPECT_EQ(test, second.returns, 2u);
	pull(test, &third);
	kunit_probed(1, 1);
	KUNIT_EXPECT_EQ(test, third.entries, 2u);
	KUNIT_EXPECT_EQ(test, first.returns, 3u);
	pull(test, &first);
	pull(test, &second);
}

/* One name alone may have its module's before it. */
static void named_with_module(struct kunit *test)
{
	static struct seen seen;
	static const char *one[] = { "fprobe_kunit:kunit_probed" };
	static const char *elsewhere[] = { "ftrace_kunit:kunit_probed" };

	clear(&seen, true, 0);
	KUNIT_EXPECT_EQ(test, register_fprobe_syms(&seen.fp, elsewhere, 1), -ENOENT);
	KUNIT_ASSERT_EQ(test, register_fprobe_syms(&seen.fp, one, 1), 0);
	kunit_probed(1, 1);
	KUNIT_EXPECT_EQ(test, seen.entries, 1u);
	pull(test, &seen);
}

/* A function that is named twice is reported twice. */
static void named_twice(struct kunit *test)
{
	static struct seen seen;
	unsigned long addrs[] = { (unsigned long)kunit_probed, (unsigned long)kunit_probed };

	for (int returns = 0; returns < 2; returns++) {
		clear(&seen, returns, 0);
		KUNIT_ASSERT_EQ(test, register_fprobe_ips(&seen.fp, addrs, 2), 0);
		kunit_probed(5, 7);
		KUNIT_EXPECT_EQ(test, seen.entries, 2u);
		KUNIT_EXPECT_EQ(test, seen.returns, returns ? 2u : 0u);
		pull(test, &seen);
	}
}

/* 32 words are all that fits with one call: what does not is counted, with all probes of the function. */
static void too_many(struct kunit *test)
{
	static struct seen first, second, third;

	plant(test, &first, true, 120, "kunit_probed");
	plant(test, &second, true, 120, "kunit_probed");
	kunit_probed(5, 7);
	KUNIT_EXPECT_EQ(test, first.returns, 1u);
	KUNIT_EXPECT_EQ(test, second.returns, 1u);
	KUNIT_EXPECT_TRUE(test, first.same && second.same);
	plant(test, &third, true, 0, "kunit_probed");
	disable_fprobe(&second.fp);
	KUNIT_EXPECT_EQ(test, kunit_probed(5, 7), 22l);
	KUNIT_EXPECT_EQ(test, first.entries + second.entries + third.entries, 2u);
	KUNIT_EXPECT_EQ(test, first.fp.nmissed, 1ul);
	KUNIT_EXPECT_EQ(test, second.fp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, third.fp.nmissed, 1ul);
	pull(test, &third);
	pull(test, &second);
	kunit_probed(5, 7);
	KUNIT_EXPECT_EQ(test, first.returns, 2u);
	KUNIT_EXPECT_EQ(test, first.fp.nmissed, 1ul);
	pull(test, &first);
}

static struct seen inner_seen;

static void go_inside(void)
{
	unregister_fprobe(&inner_seen.fp);
}

static void come_inside(void)
{
	register_fprobe(&inner_seen.fp, "kunit_probed_outer", NULL);
}

/* Probes that go and come while their function runs. */
static void in_the_middle(struct kunit *test)
{
	static struct seen stays;

	plant(test, &stays, true, 8, "kunit_probed_outer");
	plant(test, &inner_seen, true, 8, "kunit_probed_outer");
	kunit_probed_outer(go_inside);
	KUNIT_EXPECT_EQ(test, inner_seen.entries, 1u);
	KUNIT_EXPECT_EQ(test, inner_seen.returns, 0u);
	KUNIT_EXPECT_TRUE(test, stays.same);
	clear(&inner_seen, true, 8);
	kunit_probed_outer(come_inside);
	KUNIT_EXPECT_EQ(test, inner_seen.entries, 0u);
	KUNIT_EXPECT_EQ(test, inner_seen.returns, 0u);
	KUNIT_EXPECT_EQ(test, stays.returns, 2u);
	pull(test, &stays);
	/* The last one. */
	kunit_probed_outer(go_inside);
	KUNIT_EXPECT_EQ(test, inner_seen.entries, 1u);
	KUNIT_EXPECT_EQ(test, inner_seen.returns, 0u);
}

static void call_probed(void)
{
	kunit_probed(1, 2);
}

/* A probe's function may call what is probed: once more it is reported, as the guard lets one level through, then not. */
static void recursion(struct kunit *test)
{
	static struct seen seen;

	for (int returns = 0; returns < 2; returns++) {
		plant(test, &seen, returns, 0, "kunit_probed");
		seen.also = call_probed;
		KUNIT_EXPECT_EQ(test, kunit_probed(5, 7), 22l);
		KUNIT_EXPECT_EQ(test, seen.entries, 2u);
		KUNIT_EXPECT_EQ(test, seen.returns, returns ? 2u : 0u);
		pull(test, &seen);
	}
}

static notrace int in_kprobe(struct kprobe *kp, struct pt_regs *regs)
{
	kunit_probed(5, 7);
	return 0;
}

/* A probe that shares its functions with kprobes is not called where one is at work. */
static void beside_kprobes(struct kunit *test)
{
	struct kprobe kp = { .pre_handler = in_kprobe };
	static struct seen shared, other;

	/* Behind the patch site, so that ftrace has no part in it. */
	plant(test, &other, false, 0, "kunit_probed_too");
	kunit_probed_too(1, 2);
	kp.addr = (kprobe_opcode_t *)other.site + MCOUNT_INSN_SIZE;
	pull(test, &other);
	plant(test, &other, false, 0, "kunit_probed");
	clear(&shared, false, 0);
	shared.fp.flags = FPROBE_FL_KPROBE_SHARED;
	KUNIT_ASSERT_EQ(test, register_fprobe(&shared.fp, "kunit_probed", NULL), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	kunit_probed_too(1, 2);
	KUNIT_EXPECT_EQ(test, other.entries, 1u);
	KUNIT_EXPECT_EQ(test, other.fp.nmissed, 0ul);
	KUNIT_EXPECT_EQ(test, shared.entries, 0u);
	KUNIT_EXPECT_EQ(test, shared.fp.nmissed, 1ul);
	kunit_probed(5, 7);
	KUNIT_EXPECT_EQ(test, shared.entries, 1u);
	unregister_kprobe(&kp);
	pull(test, &shared);
	pull(test, &other);
}

static void bad_input(struct kunit *test)
{
	static struct seen seen;
	static const char *names[] = { "kunit_probed", "kunit_probed_nowhere" };
	unsigned long addrs[] = { (unsigned long)kunit_probed, (unsigned long)&seen };

	for (int returns = 0; returns < 2; returns++) {
		clear(&seen, returns, 0);
		KUNIT_EXPECT_EQ(test, register_fprobe(NULL, "kunit_probed", NULL), -EINVAL);
		KUNIT_EXPECT_EQ(test, register_fprobe(&seen.fp, NULL, NULL), -EINVAL);
		KUNIT_EXPECT_EQ(test, register_fprobe(&seen.fp, "kunit_probed_nowhere", NULL), -ENOENT);
		KUNIT_EXPECT_EQ(test, register_fprobe(&seen.fp, "kunit_probed", "*"), -ENOENT);
		KUNIT_EXPECT_EQ(test, register_fprobe_syms(&seen.fp, NULL, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, register_fprobe_syms(&seen.fp, names, 0), -EINVAL);
		KUNIT_EXPECT_EQ(test, register_fprobe_syms(&seen.fp, names, 2), -ENOENT);
		KUNIT_EXPECT_EQ(test, register_fprobe_ips(&seen.fp, NULL, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, register_fprobe_ips(&seen.fp, addrs, -1), -EINVAL);
		KUNIT_EXPECT_EQ(test, register_fprobe_ips(&seen.fp, addrs, 2), -ENOENT);
		seen.fp.entry_data_size = 121;
		KUNIT_EXPECT_EQ(test, register_fprobe_ips(&seen.fp, addrs, 1), -E2BIG);
		seen.fp.entry_data_size = 0;
		KUNIT_EXPECT_EQ(test, unregister_fprobe(NULL), -EINVAL);
		KUNIT_EXPECT_EQ(test, unregister_fprobe(&seen.fp), -EINVAL);
		KUNIT_ASSERT_EQ(test, register_fprobe_ips(&seen.fp, addrs, 1), 0);
		KUNIT_EXPECT_EQ(test, register_fprobe_ips(&seen.fp, addrs, 1), -EEXIST);
		KUNIT_EXPECT_EQ(test, register_fprobe_ips(&seen.fp, NULL, 0), -EEXIST);
		kunit_probed(5, 7);
		KUNIT_EXPECT_EQ(test, seen.entries, 1u);
		pull(test, &seen);
		KUNIT_EXPECT_EQ(test, unregister_fprobe(&seen.fp), -EINVAL);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(entries_only),
	KUNIT_CASE(with_returns),
	KUNIT_CASE(several),
	KUNIT_CASE(named_with_module),
	KUNIT_CASE(named_twice),
	KUNIT_CASE(too_many),
	KUNIT_CASE(in_the_middle),
	KUNIT_CASE(recursion),
	KUNIT_CASE(beside_kprobes),
	KUNIT_CASE(bad_input),
	{}
};

static struct kunit_suite suite = {
	.name = "fprobe",
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit tests of fprobe");
MODULE_LICENSE("GPL");
