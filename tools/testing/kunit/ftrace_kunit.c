// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of <linux/ftrace.h> for ops, filters and direct callers, as their C users see them.
 *
 * Loading the module runs the tests; nothing in it is particular to rtrace, so the same file says whether a kernel with
 * the C core behaves alike. The functions traced are its own.
 */
#include <kunit/test.h>
#include <linux/ftrace.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/stacktrace.h>
#include "address_of.h"
#include "direct.h"

/* Compiled with patch sites, unlike the callbacks. */
noinline long kunit_tracee(long a, long b);
noinline long kunit_other(long a, long b);

#define TRACEE	((unsigned long)kunit_tracee)
#define OTHER	((unsigned long)kunit_other)

noinline long kunit_tracee(long a, long b)
{
	barrier();
	return a * 3 + b;
}

noinline long kunit_other(long a, long b)
{
	barrier();
	return a - b;
}

static noinline long call_tracee(long a, long b)
{
	long ret = kunit_tracee(a, b);

	barrier();
	return ret;
}

/* What a callback saw, last and in all. */
struct seen {
	struct ftrace_ops ops;
	unsigned int hits;
	unsigned long ip, parent_ip, args[2], sp, fregs_ip, stack[16];
	unsigned int depth;
	bool full_regs, wrong_ops, again;
	unsigned long go_to;
};

static notrace void callback(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			     struct ftrace_regs *fregs)
{
	struct seen *seen = container_of(op, struct seen, ops);

	seen->hits++;
	seen->ip = ip;
	seen->parent_ip = parent_ip;
	seen->args[0] = ftrace_regs_get_argument(fregs, 0);
	seen->args[1] = ftrace_regs_get_argument(fregs, 1);
	seen->sp = ftrace_regs_get_stack_pointer(fregs);
	seen->fregs_ip = ftrace_regs_get_instruction_pointer(fregs);
	seen->full_regs = ftrace_get_regs(fregs);
	seen->depth = stack_trace_save(seen->stack, ARRAY_SIZE(seen->stack), 0);
	/* Where nothing ends it, the test is to. */
	if (seen->again && seen->hits < 50)
		kunit_tracee(1, 2);
	if (seen->go_to)
		ftrace_regs_set_instruction_pointer(fregs, seen->go_to);
}

static void start(struct kunit *test, struct seen *seen, unsigned long flags, unsigned long ip)
{
	memset(seen, 0, sizeof(*seen));
	seen->ops.func = callback;
	seen->ops.flags = flags;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&seen->ops, ip, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&seen->ops), 0);
}

static void finish(struct kunit *test, struct seen *seen)
{
	KUNIT_EXPECT_EQ(test, unregister_ftrace_function(&seen->ops), 0);
	ftrace_free_filter(&seen->ops);
}


static int position(struct seen *seen, unsigned long function)
{
	static char name[KSYM_SYMBOL_LEN], wanted[KSYM_SYMBOL_LEN];

	for (int i = 0; i < seen->depth; i++) {
		sprint_symbol_no_offset(name, seen->stack[i]);
		sprint_symbol_no_offset(wanted, function);
		if (!strcmp(name, wanted))
			return i;
	}
	return -1;
}

/* The unwinder gets from the callback through the trampoline to the function and its caller. */
static void expect_stack(struct kunit *test, struct seen *seen)
{
	int inner = position(seen, TRACEE), outer = position(seen, (unsigned long)call_tracee);

	KUNIT_EXPECT_GT(test, inner, 0);
	KUNIT_EXPECT_EQ(test, outer, inner + 1);
}

static void expect_hit(struct kunit *test, struct seen *seen, unsigned int hits, bool regs)
{
	KUNIT_EXPECT_EQ(test, seen->hits, hits);
	KUNIT_EXPECT_LT(test, seen->ip - TRACEE, 5ul);
	KUNIT_EXPECT_EQ(test, seen->fregs_ip, seen->ip + MCOUNT_INSN_SIZE);
	KUNIT_EXPECT_EQ(test, seen->args[0], 5ul);
	KUNIT_EXPECT_EQ(test, seen->args[1], 7ul);
	KUNIT_EXPECT_EQ(test, seen->full_regs, regs);
	expect_stack(test, seen);
}

static void one_ops(struct kunit *test)
{
	static struct seen seen;

	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	start(test, &seen, 0, TRACEE);
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	expect_hit(test, &seen, 1, false);
	kunit_other(1, 2);
	KUNIT_EXPECT_EQ(test, seen.hits, 1u);
	finish(test, &seen);
	call_tracee(5, 7);
	KUNIT_EXPECT_EQ(test, seen.hits, 1u);
}

static void one_ops_protected(struct kunit *test)
{
	static struct seen seen;

	start(test, &seen, FTRACE_OPS_FL_RECURSION | FTRACE_OPS_FL_RCU, TRACEE);
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	expect_hit(test, &seen, 1, false);
	finish(test, &seen);
}

/*
 * A callback that calls its function. The guard lets one more hit in, for an interrupt that is not counted yet; the
 * third is recursion. Where that is recorded, recursed_functions has it then.
 */
static void recursion(struct kunit *test)
{
	static struct seen seen;

	start(test, &seen, FTRACE_OPS_FL_RECURSION, TRACEE);
	seen.again = true;
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	KUNIT_EXPECT_EQ(test, seen.hits, 4u);
	finish(test, &seen);
}

/* The same where the list calls the callbacks: it lets one more hit in, for all of them, also if none asks for protection. */
static void recursion_in_the_list(struct kunit *test)
{
	static struct seen a, b, regs;

	start(test, &a, 0, TRACEE);
	start(test, &b, 0, TRACEE);
	a.again = true;
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	KUNIT_EXPECT_EQ(test, a.hits, 2u);
	KUNIT_EXPECT_EQ(test, b.hits, 2u);
	start(test, &regs, FTRACE_OPS_FL_SAVE_REGS, TRACEE);
	b.again = true;
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	/* Two of them call it, so two more hits of each are inside. */
	KUNIT_EXPECT_EQ(test, a.hits, 5u);
	KUNIT_EXPECT_EQ(test, b.hits, 5u);
	KUNIT_EXPECT_EQ(test, regs.hits, 3u);
	finish(test, &regs);
	finish(test, &a);
	b.again = false;
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	KUNIT_EXPECT_EQ(test, b.hits, 6u);
	finish(test, &b);
}

static void one_ops_with_regs(struct kunit *test)
{
	static struct seen seen;

	start(test, &seen, FTRACE_OPS_FL_SAVE_REGS, TRACEE);
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	expect_hit(test, &seen, 1, true);
	finish(test, &seen);
}

/* It takes what there is where registers cannot be saved; where they can, that is not asking for them. */
static void one_ops_with_regs_if_supported(struct kunit *test)
{
	static struct seen seen;

	start(test, &seen, FTRACE_OPS_FL_SAVE_REGS_IF_SUPPORTED, TRACEE);
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	expect_hit(test, &seen, 1, !IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_REGS));
	finish(test, &seen);
}

static void several_ops(struct kunit *test)
{
	static struct seen a, b, regs;

	start(test, &a, 0, TRACEE);
	start(test, &b, 0, TRACEE);
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	expect_hit(test, &a, 1, false);
	expect_hit(test, &b, 1, false);
	start(test, &regs, FTRACE_OPS_FL_SAVE_REGS, TRACEE);
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	expect_hit(test, &a, 2, true);
	expect_hit(test, &regs, 1, true);
	finish(test, &b);
	finish(test, &regs);
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	expect_hit(test, &a, 3, false);
	finish(test, &a);
}

/* The C core writes into the text it is given. */
#define WRITABLE(text)	((char []){ text }), sizeof(text) - 1

static void moved_filter(struct kunit *test)
{
	static struct seen seen;

	start(test, &seen, 0, TRACEE);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&seen.ops, OTHER, 0, 1), 0);
	call_tracee(5, 7);
	KUNIT_EXPECT_EQ(test, seen.hits, 0u);
	kunit_other(1, 2);
	KUNIT_EXPECT_EQ(test, seen.hits, 1u);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&seen.ops, TRACEE, 0, 0), 0);
	call_tracee(5, 7);
	kunit_other(1, 2);
	KUNIT_EXPECT_EQ(test, seen.hits, 3u);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&seen.ops, OTHER, 1, 0), 0);
	kunit_other(1, 2);
	KUNIT_EXPECT_EQ(test, seen.hits, 3u);
	KUNIT_EXPECT_EQ(test, ftrace_set_notrace(&seen.ops, WRITABLE("kunit_tracee"), 0), 0);
	call_tracee(5, 7);
	KUNIT_EXPECT_EQ(test, seen.hits, 3u);
	finish(test, &seen);
}

static void filter_errors(struct kunit *test)
{
	static struct seen seen;
	unsigned long both[] = { TRACEE, OTHER };
	unsigned long inside = TRACEE;

	OPTIMIZER_HIDE_VAR(inside);
	inside += 9;
	start(test, &seen, 0, TRACEE);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&seen.ops, OTHER, 1, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&seen.ops, inside, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&seen.ops, (unsigned long)&seen, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter(&seen.ops, WRITABLE("kunit_no_such_function"), 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter(&seen.ops, WRITABLE("kunit_o*"), 0), 0);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ips(&seen.ops, both, 2, 0, 1), 0);
	call_tracee(5, 7);
	kunit_other(1, 2);
	KUNIT_EXPECT_EQ(test, seen.hits, 2u);
	finish(test, &seen);
}

static void lookup(struct kunit *test)
{
	int (*lookup)(const char **names, size_t count, unsigned long *addrs) = address_of("ftrace_lookup_symbols");
	const char *both[] = { "kunit_other", "kunit_tracee" };
	const char *one_alone[] = { "kunit_no_such_function", "kunit_tracee" };
	unsigned long addrs[2];

	if (IS_ENABLED(CONFIG_CFI))
		kunit_skip(test, "a function whose address the kernel itself does not take may not be called by it");
	KUNIT_ASSERT_TRUE(test, lookup);
	KUNIT_EXPECT_EQ(test, lookup(both, 2, addrs), 0);
	KUNIT_EXPECT_EQ(test, addrs[0], OTHER);
	KUNIT_EXPECT_EQ(test, addrs[1], TRACEE);
	KUNIT_EXPECT_EQ(test, lookup(both + 1, 1, addrs), 0);
	KUNIT_EXPECT_EQ(test, addrs[0], TRACEE);
	KUNIT_EXPECT_EQ(test, lookup(one_alone, 2, addrs), -ESRCH);
	KUNIT_EXPECT_EQ(test, lookup(one_alone, 1, addrs), -ESRCH);
	KUNIT_EXPECT_EQ(test, lookup(both, 0, addrs), -ESRCH);
}

static void redirected(struct kunit *test)
{
	static struct seen seen, rival;

	start(test, &seen, FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY, TRACEE);
	seen.go_to = OTHER;
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), -2l);
	seen.go_to = 0;
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);

	memset(&rival, 0, sizeof(rival));
	rival.ops.func = callback;
	rival.ops.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY;
	/* All functions, by empty sets. */
	ftrace_free_filter(&rival.ops);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(&rival.ops), -EINVAL);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&rival.ops, TRACEE, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(&rival.ops), -EBUSY);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&rival.ops, OTHER, 0, 1), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_function(&rival.ops), 0);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&rival.ops, TRACEE, 0, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, ftrace_set_notrace(&rival.ops, WRITABLE("kunit_other"), 0), -EINVAL);
	finish(test, &rival);

	/* Without its last site it would be at all functions. */
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&seen.ops, TRACEE, 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter(&seen.ops, NULL, 0, 1), -EINVAL);
	seen.go_to = OTHER;
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), -2l);
	kunit_other(1, 2);
	KUNIT_EXPECT_EQ(test, seen.hits, 3u);
	finish(test, &seen);
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
}

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
static unsigned int direct_hits[2] __used;

DIRECT(kunit_direct_0, "direct_hits");
DIRECT(kunit_direct_1, "direct_hits+4");

static void expect_direct(struct kunit *test, unsigned int first, unsigned int second)
{
	KUNIT_EXPECT_EQ(test, call_tracee(5, 7), 22l);
	KUNIT_EXPECT_EQ(test, direct_hits[0], first);
	KUNIT_EXPECT_EQ(test, direct_hits[1], second);
}

static void direct(struct kunit *test)
{
	static struct ftrace_ops ops, rival;
	static struct seen seen;
	unsigned long addr = (unsigned long)kunit_direct_0;

	memset(&ops, 0, sizeof(ops));
	memset(&rival, 0, sizeof(rival));
	memset(direct_hits, 0, sizeof(direct_hits));
	/* Never initialised, then without sites. */
	KUNIT_EXPECT_EQ(test, register_ftrace_direct(&ops, addr), -EINVAL);
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&ops, TRACEE, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, modify_ftrace_direct(&ops, addr), -EINVAL);
	KUNIT_ASSERT_EQ(test, register_ftrace_direct(&ops, addr), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_direct(&ops, addr), -EINVAL);
	expect_direct(test, 1, 0);

	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&rival, TRACEE, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, register_ftrace_direct(&rival, addr), -EBUSY);
	ftrace_free_filter(&rival);

	/* With another ops at the site, by way of the list. */
	start(test, &seen, 0, TRACEE);
	expect_direct(test, 2, 0);
	expect_hit(test, &seen, 1, true);
	KUNIT_EXPECT_EQ(test, modify_ftrace_direct(&ops, (unsigned long)kunit_direct_1), 0);
	expect_direct(test, 2, 1);
	finish(test, &seen);
	expect_direct(test, 2, 2);
	KUNIT_EXPECT_EQ(test, modify_ftrace_direct(&ops, addr), 0);
	expect_direct(test, 3, 2);
	/* It keeps its last site. */
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&ops, TRACEE, 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter(&ops, NULL, 0, 1), -EINVAL);
	expect_direct(test, 4, 2);
	KUNIT_EXPECT_EQ(test, unregister_ftrace_direct(&ops, addr, true), 0);
	expect_direct(test, 4, 2);
	KUNIT_EXPECT_EQ(test, unregister_ftrace_direct(&ops, addr, true), -EINVAL);
}

/* A direct caller for each function: what BPF uses. */
static unsigned long (*site_at)(unsigned long ip);
static struct ftrace_hash *(*make_hash)(int size_bits);
static void (*free_hash)(struct ftrace_hash *hash);
static struct ftrace_func_entry *(*put_into_hash)(struct ftrace_hash *hash, unsigned long ip, unsigned long direct);
static int (*direct_add)(struct ftrace_ops *ops, struct ftrace_hash *hash);
static int (*direct_del)(struct ftrace_ops *ops, struct ftrace_hash *hash);
static int (*direct_mod)(struct ftrace_ops *ops, struct ftrace_hash *hash, bool lock);

static const struct internal direct_functions[] = {
	{ &site_at, "ftrace_location" },
	{ &make_hash, "alloc_ftrace_hash" },
	{ &free_hash, "free_ftrace_hash" },
	{ &put_into_hash, "add_ftrace_hash_entry_direct" },
	{ &direct_add, "update_ftrace_direct_add" },
	{ &direct_del, "update_ftrace_direct_del" },
	{ &direct_mod, "update_ftrace_direct_mod" },
};

static struct ftrace_hash *one_call(struct kunit *test, void (*direct)(void *))
{
	struct ftrace_hash *hash = make_hash(1);

	KUNIT_ASSERT_NOT_NULL(test, hash);
	KUNIT_ASSERT_NOT_NULL(test, put_into_hash(hash, site_at(TRACEE), (unsigned long)direct));
	return hash;
}

static void direct_of_each(struct kunit *test)
{
	static struct ftrace_ops ops;
	static struct seen seen;
	unsigned long addr = (unsigned long)kunit_direct_0;
	struct ftrace_hash *first, *second;

	if (IS_ENABLED(CONFIG_CFI))
		kunit_skip(test, "a function whose address the kernel itself does not take may not be called by it");
	KUNIT_ASSERT_EQ(test, find_internal(direct_functions, ARRAY_SIZE(direct_functions)), 0);
	memset(&ops, 0, sizeof(ops));
	memset(direct_hits, 0, sizeof(direct_hits));
	first = one_call(test, kunit_direct_0);
	second = one_call(test, kunit_direct_1);

	KUNIT_ASSERT_EQ(test, direct_add(&ops, first), 0);
	expect_direct(test, 1, 0);
	/* It has that function already. */
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&ops, TRACEE, 0, 0), 0);
	expect_direct(test, 2, 0);
	KUNIT_EXPECT_EQ(test, direct_mod(&ops, second, true), 0);
	expect_direct(test, 2, 1);
	KUNIT_EXPECT_EQ(test, modify_ftrace_direct(&ops, addr), 0);
	expect_direct(test, 3, 1);
	start(test, &seen, 0, TRACEE);
	KUNIT_EXPECT_EQ(test, direct_mod(&ops, second, true), 0);
	expect_direct(test, 3, 2);
	KUNIT_EXPECT_EQ(test, modify_ftrace_direct(&ops, addr), 0);
	expect_direct(test, 4, 2);
	finish(test, &seen);
	expect_direct(test, 5, 2);
	KUNIT_EXPECT_EQ(test, direct_del(&ops, second), -EINVAL);
	KUNIT_EXPECT_EQ(test, direct_del(&ops, first), 0);
	expect_direct(test, 5, 2);
	free_hash(first);
	free_hash(second);
}
#endif

static unsigned int probe_hits;

static int probe_handler(struct kprobe *probe, struct pt_regs *regs)
{
	probe_hits += regs->di == 5 && regs->si == 7;
	return 0;
}

/* kprobes at a function's entry are ops. */
static void kprobe_and_ops(struct kunit *test)
{
	static struct kprobe probe;
	static struct seen seen;

	memset(&probe, 0, sizeof(probe));
	probe.symbol_name = "kunit_tracee";
	probe.pre_handler = probe_handler;
	probe_hits = 0;
	KUNIT_ASSERT_EQ(test, register_kprobe(&probe), 0);
	call_tracee(5, 7);
	KUNIT_EXPECT_EQ(test, probe_hits, 1u);
	start(test, &seen, 0, TRACEE);
	call_tracee(5, 7);
	KUNIT_EXPECT_EQ(test, probe_hits, 2u);
	expect_hit(test, &seen, 1, true);
	unregister_kprobe(&probe);
	call_tracee(5, 7);
	KUNIT_EXPECT_EQ(test, probe_hits, 2u);
	expect_hit(test, &seen, 2, false);
	finish(test, &seen);
}

/* An ops that wants all registers, and how often it was called at a function without. */
static struct {
	struct ftrace_ops ops;
	unsigned int hits, bare;
} needy;

static notrace void needy_callback(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
				   struct ftrace_regs *fregs)
{
	if (ftrace_get_regs(fregs))
		WRITE_ONCE(needy.hits, needy.hits + 1);
	else
		WRITE_ONCE(needy.bare, needy.bare + 1);
}

static enum hrtimer_restart call_from_timer(struct hrtimer *timer)
{
	kunit_tracee(5, 7);
	hrtimer_forward_now(timer, us_to_ktime(50));
	return HRTIMER_RESTART;
}

/*
 * The function is hit while its site still leads to the trampoline of ops that want no registers, and the one that does is
 * among the registered: its filter names enough functions for that to take a while.
 */
static void hits_while_registering(struct kunit *test)
{
	static struct seen a, b;
	struct hrtimer timer;

	memset(&needy, 0, sizeof(needy));
	needy.ops.func = needy_callback;
	needy.ops.flags = FTRACE_OPS_FL_SAVE_REGS;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter(&needy.ops, WRITABLE("acpi_*"), 1), 0);
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&needy.ops, TRACEE, 0, 0), 0);
	start(test, &a, 0, TRACEE);
	start(test, &b, 0, TRACEE);
	hrtimer_setup_on_stack(&timer, call_from_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer_start(&timer, us_to_ktime(50), HRTIMER_MODE_REL_HARD);
	for (int i = 0; i < 20; i++) {
		KUNIT_EXPECT_EQ(test, register_ftrace_function(&needy.ops), 0);
		KUNIT_EXPECT_EQ(test, unregister_ftrace_function(&needy.ops), 0);
	}
	hrtimer_cancel(&timer);
	destroy_hrtimer_on_stack(&timer);
	finish(test, &a);
	finish(test, &b);
	ftrace_free_filter(&needy.ops);
	KUNIT_EXPECT_EQ(test, READ_ONCE(needy.bare), 0u);
	KUNIT_EXPECT_GT(test, a.hits, 0u);
}

static struct seen shared;
static DECLARE_COMPLETION(runs);

/* Puts a function into the filter that another does so with, too, and takes it out. */
static int add_and_remove(void *function)
{
	unsigned long ip = (unsigned long)function;
	int lost = 0;

	complete(&runs);
	for (int i = 0; i < 1000; i++) {
		lost += ftrace_set_filter_ip(&shared.ops, ip, 0, 0) != 0;
		/* -ENOENT, where it is not there any more. */
		lost += ftrace_set_filter_ip(&shared.ops, ip, 1, 0) != 0;
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return lost;
}

static void two_change_a_filter(struct kunit *test)
{
	struct task_struct *first, *second;

	/* One that stays, or an empty filter would mean all functions. */
	start(test, &shared, 0, (unsigned long)call_tracee);
	first = kthread_run(add_and_remove, (void *)TRACEE, "kunit_first");
	second = kthread_run(add_and_remove, (void *)OTHER, "kunit_second");
	/* A thread that is stopped before it runs never does. */
	wait_for_completion(&runs);
	wait_for_completion(&runs);
	KUNIT_EXPECT_EQ(test, kthread_stop(first), 0);
	KUNIT_EXPECT_EQ(test, kthread_stop(second), 0);
	finish(test, &shared);
}

#define FIRST_USES	1000

/* Each is used for the first time by two tasks at once. */
static struct ftrace_ops *fresh;
static atomic_t first_users;

/* Puts a function into the filter of each of the ops, as soon as another task is about to do so, too. */
static int use_first(void *function)
{
	int lost = 0;

	complete(&runs);
	for (int i = 0; i < FIRST_USES; i++) {
		atomic_inc(&first_users);
		while (atomic_read(&first_users) < 2 * (i + 1)) {
			cpu_relax();
			cond_resched();
		}
		lost += ftrace_set_filter_ip(&fresh[i], (unsigned long)function, 0, 0) != 0;
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return lost;
}

/*
 * The second of two first users must not make the lock anew that the first one holds: both would change a copy of the
 * same filter, or wait forever.
 */
static void first_use_by_two(struct kunit *test)
{
	struct task_struct *first, *second;
	int lost = 0;

	fresh = kvcalloc(FIRST_USES, sizeof(*fresh), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fresh);
	atomic_set(&first_users, 0);
	first = kthread_run(use_first, (void *)TRACEE, "kunit_first");
	second = kthread_run(use_first, (void *)OTHER, "kunit_second");
	wait_for_completion(&runs);
	wait_for_completion(&runs);
	KUNIT_EXPECT_EQ(test, kthread_stop(first), 0);
	KUNIT_EXPECT_EQ(test, kthread_stop(second), 0);
	for (int i = 0; i < FIRST_USES; i++) {
		/* -ENOENT, where it is not there. */
		lost += ftrace_set_filter_ip(&fresh[i], TRACEE, 1, 0) != 0;
		lost += ftrace_set_filter_ip(&fresh[i], OTHER, 1, 0) != 0;
		ftrace_free_filter(&fresh[i]);
	}
	KUNIT_EXPECT_EQ(test, lost, 0);
	kvfree(fresh);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(one_ops),
	KUNIT_CASE(one_ops_protected),
	KUNIT_CASE(recursion),
	KUNIT_CASE(recursion_in_the_list),
	KUNIT_CASE(one_ops_with_regs),
	KUNIT_CASE(one_ops_with_regs_if_supported),
	KUNIT_CASE(several_ops),
	KUNIT_CASE(moved_filter),
	KUNIT_CASE(filter_errors),
	KUNIT_CASE(lookup),
	KUNIT_CASE(redirected),
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
	KUNIT_CASE(direct),
	KUNIT_CASE(direct_of_each),
#endif
	KUNIT_CASE(kprobe_and_ops),
	KUNIT_CASE(hits_while_registering),
	KUNIT_CASE_SLOW(two_change_a_filter),
	KUNIT_CASE_SLOW(first_use_by_two),
	{}
};

static struct kunit_suite suite = {
	.name = "ftrace_ops",
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("Tests of ftrace's ops, filters and direct callers");
MODULE_LICENSE("GPL");
