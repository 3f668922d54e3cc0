// SPDX-License-Identifier: GPL-2.0
/*
 * Return hooks, <linux/rethook.h>, as kretprobes use them.
 *
 * Loading the module runs the tests; nothing in it is particular to rtrace, so the same file says whether a kernel with
 * the C core behaves alike. The functions probed are its own.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/stacktrace.h>
#include <linux/workqueue.h>

/* Compiled so that they can be probed; the handlers run above them. */
noinline long rethook_tracee(long a, long b);
noinline long rethook_deep(long depth);
noinline long rethook_sleeper(struct completion *entered, struct completion *go);
noinline void rethook_leaver(struct completion *entered, struct completion *go);

noinline long rethook_tracee(long a, long b)
{
	barrier();
	return a * 3 + b;
}

noinline long rethook_deep(long depth)
{
	long below = depth ? rethook_deep(depth - 1) : 0;

	barrier();
	return below + 1;
}

noinline long rethook_sleeper(struct completion *entered, struct completion *go)
{
	complete(entered);
	wait_for_completion(go);
	return 4;
}

/* Never returns. */
noinline void rethook_leaver(struct completion *entered, struct completion *go)
{
	complete(entered);
	wait_for_completion(go);
	kthread_exit(0);
}

/* A kretprobe, and what it has seen. */
struct returns {
	struct kretprobe probe;
	int entries, returns, order;
	long returned;
	unsigned long caller;
	/* Of the handler: does the stack show who called the function, and no trampoline? */
	bool has_caller, has_trampoline;
	long saved;
};

static int order;

static int entered(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct returns *user = container_of(get_kretprobe(instance), struct returns, probe);

	user->entries++;
	*(long *)instance->data = user->entries;
	return 0;
}
NOKPROBE_SYMBOL(entered);

/* The address itself is in place of the caller's; what the trampoline calls returns behind it. */
static bool is_trampoline(unsigned long addr)
{
	char name[KSYM_SYMBOL_LEN];

	snprintf(name, sizeof(name), "%pS", (void *)addr);
	return strstarts(name, "arch_rethook_trampoline+0x0/");
}

static int returned(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct returns *user = container_of(get_kretprobe(instance), struct returns, probe);
	unsigned long stack[32];
	unsigned int i, count;

	user->returns++;
	user->order = ++order;
	user->returned = regs_return_value(regs);
	user->caller = instruction_pointer(regs);
	user->saved = *(long *)instance->data;
	count = stack_trace_save(stack, ARRAY_SIZE(stack), 0);
	user->has_caller = user->has_trampoline = false;
	for (i = 0; i < count; i++) {
		user->has_caller |= stack[i] == user->caller;
		user->has_trampoline |= is_trampoline(stack[i]);
	}
	return 0;
}
NOKPROBE_SYMBOL(returned);

static void start(struct kunit *test, struct returns *user, void *function, int maxactive)
{
	memset(user, 0, sizeof(*user));
	user->probe.kp.addr = function;
	user->probe.maxactive = maxactive;
	user->probe.entry_handler = entered;
	user->probe.handler = returned;
	user->probe.data_size = sizeof(long);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&user->probe), 0);
}

static void expect_calls(struct kunit *test, struct returns *user, int entries, int returns, int missed)
{
	KUNIT_EXPECT_EQ(test, user->entries, entries);
	KUNIT_EXPECT_EQ(test, user->returns, returns);
	KUNIT_EXPECT_EQ(test, user->probe.nmissed, missed);
}

static void one_probe(struct kunit *test)
{
	struct returns *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, a);
	start(test, a, rethook_tracee, 4);
	for (i = 1; i <= 100; i++) {
		KUNIT_EXPECT_EQ(test, rethook_tracee(5, 7), 22l);
		expect_calls(test, a, i, i, 0);
		KUNIT_EXPECT_EQ(test, a->returned, 22l);
		KUNIT_EXPECT_EQ(test, a->saved, (long)i);
		KUNIT_EXPECT_TRUE(test, a->has_caller);
		KUNIT_EXPECT_FALSE(test, a->has_trampoline);
	}
	unregister_kretprobe(&a->probe);
	KUNIT_EXPECT_EQ(test, rethook_tracee(5, 7), 22l);
	expect_calls(test, a, 100, 100, 0);
}

/* Several at one call: the last that was entered is told first, and all are told the caller. */
static void several_probes(struct kunit *test)
{
	struct returns *users = kunit_kcalloc(test, 4, sizeof(*users), GFP_KERNEL);
	int i, first;

	KUNIT_ASSERT_NOT_NULL(test, users);
	for (i = 0; i < 4; i++)
		start(test, &users[i], rethook_tracee, 4);
	first = order;
	KUNIT_EXPECT_EQ(test, rethook_tracee(5, 7), 22l);
	KUNIT_EXPECT_EQ(test, order, first + 4);
	for (i = 0; i < 4; i++) {
		expect_calls(test, &users[i], 1, 1, 0);
		KUNIT_EXPECT_EQ(test, users[i].returned, 22l);
		KUNIT_EXPECT_EQ(test, users[i].caller, users[0].caller);
		KUNIT_EXPECT_TRUE(test, users[i].has_caller);
		KUNIT_EXPECT_FALSE(test, users[i].has_trampoline);
	}
	KUNIT_EXPECT_NE(test, users[0].order, users[3].order);
	for (i = 0; i < 4; i++)
		unregister_kretprobe(&users[i].probe);
}

/* There are as many calls at once as there are nodes; the others are missed, and return where they should. */
static void nested_calls(struct kunit *test)
{
	struct returns *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	start(test, a, rethook_deep, 3);
	KUNIT_EXPECT_EQ(test, rethook_deep(2), 3l);
	expect_calls(test, a, 3, 3, 0);
	KUNIT_EXPECT_EQ(test, a->saved, 1l);
	KUNIT_EXPECT_EQ(test, rethook_deep(9), 10l);
	expect_calls(test, a, 6, 6, 7);
	KUNIT_EXPECT_EQ(test, a->returned, 10l);
	KUNIT_EXPECT_TRUE(test, a->has_caller);
	KUNIT_EXPECT_EQ(test, rethook_deep(2), 3l);
	expect_calls(test, a, 9, 9, 7);
	unregister_kretprobe(&a->probe);
}

static long call_tracee(void *unused)
{
	return rethook_tracee(5, 7);
}

/* The one node of a probe goes from CPU to CPU. */
static void other_cpus(struct kunit *test)
{
	struct returns *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	int calls = 0, round, cpu;

	KUNIT_ASSERT_NOT_NULL(test, a);
	start(test, a, rethook_tracee, 1);
	for (round = 0; round < 10; round++) {
		for_each_online_cpu(cpu) {
			KUNIT_EXPECT_EQ(test, work_on_cpu(cpu, call_tracee, NULL), 22l);
			calls++;
		}
	}
	expect_calls(test, a, calls, calls, 0);
	unregister_kretprobe(&a->probe);
}

struct sleeper {
	struct completion entered, go, gone;
	long result;
};

static int sleep_in_call(void *data)
{
	struct sleeper *sleeper = data;

	sleeper->result = rethook_sleeper(&sleeper->entered, &sleeper->go);
	complete(&sleeper->gone);
	return 0;
}

/* A task enters the function, on CPU `cpu` if that is none below 0. */
static void enter(struct kunit *test, struct sleeper *sleeper, int cpu)
{
	struct task_struct *task;

	init_completion(&sleeper->entered);
	init_completion(&sleeper->go);
	init_completion(&sleeper->gone);
	sleeper->result = 0;
	task = kthread_create(sleep_in_call, sleeper, "rethook_sleeper");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	if (cpu >= 0)
		set_cpus_allowed_ptr(task, cpumask_of(cpu));
	wake_up_process(task);
	wait_for_completion(&sleeper->entered);
}

static void leave(struct kunit *test, struct sleeper *sleeper)
{
	complete(&sleeper->go);
	wait_for_completion(&sleeper->gone);
	KUNIT_EXPECT_EQ(test, sleeper->result, 4l);
}

/* A call that returns when its probe is gone does so without it. */
static void gone_inside(struct kunit *test)
{
	struct returns *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct sleeper *sleeper = kunit_kzalloc(test, sizeof(*sleeper), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, sleeper);
	start(test, a, rethook_sleeper, 2);
	enter(test, sleeper, -1);
	unregister_kretprobe(&a->probe);
	expect_calls(test, a, 1, 0, 0);
	/* The rethook itself goes with its last node. */
	rcu_barrier();
	leave(test, sleeper);
	expect_calls(test, a, 1, 0, 0);
	rcu_barrier();
}

/* A call that is under way when its probe is disabled is reported still, one that begins then is not. */
static void disabled_inside(struct kunit *test)
{
	struct returns *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct sleeper *sleepers = kunit_kcalloc(test, 2, sizeof(*sleepers), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, sleepers);
	start(test, a, rethook_sleeper, 2);
	enter(test, &sleepers[0], -1);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&a->probe), 0);
	enter(test, &sleepers[1], -1);
	expect_calls(test, a, 1, 0, 0);
	leave(test, &sleepers[0]);
	expect_calls(test, a, 1, 1, 0);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&a->probe), 0);
	leave(test, &sleepers[1]);
	expect_calls(test, a, 1, 1, 0);
	enter(test, &sleepers[0], -1);
	KUNIT_EXPECT_EQ(test, disable_kretprobe(&a->probe), 0);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&a->probe), 0);
	leave(test, &sleepers[0]);
	expect_calls(test, a, 2, 2, 0);
	unregister_kretprobe(&a->probe);
}

/* All nodes are in calls; what returns on another CPU than it was entered on can be had there and elsewhere. */
static void used_up(struct kunit *test)
{
	struct returns *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct sleeper *sleepers = kunit_kcalloc(test, 4, sizeof(*sleepers), GFP_KERNEL);
	int last = cpumask_last(cpu_online_mask), round, i;

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, sleepers);
	start(test, a, rethook_sleeper, 3);
	for (round = 1; round <= 20; round++) {
		for (i = 0; i < 4; i++)
			enter(test, &sleepers[i], round % 2 ? 0 : last);
		expect_calls(test, a, 3 * round, 3 * (round - 1), round);
		for (i = 0; i < 4; i++)
			leave(test, &sleepers[i]);
		expect_calls(test, a, 3 * round, 3 * round, round);
	}
	unregister_kretprobe(&a->probe);
}

/* The one node of a probe is with a CPU, or in a call there, that goes. */
static void cpu_goes(struct kunit *test)
{
	struct returns *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct returns *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct sleeper *sleeper = kunit_kzalloc(test, sizeof(*sleeper), GFP_KERNEL);
	unsigned int last = cpumask_last(cpu_online_mask);
	int round;

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	KUNIT_ASSERT_NOT_NULL(test, sleeper);
	if (!last || !IS_ENABLED(CONFIG_HOTPLUG_CPU))
		kunit_skip(test, "one CPU");
	start(test, a, rethook_tracee, 1);
	start(test, b, rethook_sleeper, 1);
	for (round = 1; round <= 3; round++) {
		KUNIT_EXPECT_EQ(test, work_on_cpu(last, call_tracee, NULL), 22l);
		enter(test, sleeper, last);
		KUNIT_ASSERT_EQ(test, remove_cpu(last), 0);
		KUNIT_EXPECT_EQ(test, work_on_cpu(0, call_tracee, NULL), 22l);
		expect_calls(test, a, 3 * round - 1, 3 * round - 1, 0);
		leave(test, sleeper);
		expect_calls(test, b, 2 * round - 1, 2 * round - 1, 0);
		KUNIT_ASSERT_EQ(test, add_cpu(last), 0);
		KUNIT_EXPECT_EQ(test, work_on_cpu(last, call_tracee, NULL), 22l);
		enter(test, sleeper, last);
		leave(test, sleeper);
		expect_calls(test, a, 3 * round, 3 * round, 0);
		expect_calls(test, b, 2 * round, 2 * round, 0);
	}
	/* A node that is with a CPU which is not there goes with the probe. */
	KUNIT_ASSERT_EQ(test, remove_cpu(last), 0);
	unregister_kretprobe(&a->probe);
	unregister_kretprobe(&b->probe);
	rcu_barrier();
	KUNIT_ASSERT_EQ(test, add_cpu(last), 0);
}

/* A kretprobe whose handler waits, with preemption off, until its probe is about to go. */
struct slow {
	struct kretprobe probe;
	bool inside, going;
	int returns;
};

static int returned_slowly(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct slow *user = container_of(get_kretprobe(instance), struct slow, probe);

	WRITE_ONCE(user->inside, true);
	while (!READ_ONCE(user->going))
		cpu_relax();
	/* Some of that is before the probe has gone from the list, and some behind. */
	udelay(user->returns++ % 8 * 100);
	WRITE_ONCE(user->inside, false);
	return 0;
}
NOKPROBE_SYMBOL(returned_slowly);

static int call_again(void *data)
{
	long *wrong = data;

	while (!kthread_should_stop()) {
		if (rethook_tracee(5, 7) != 22)
			++*wrong;
		cond_resched();
	}
	return 0;
}

/*
 * A probe goes, again and again, while its handler runs on another CPU, and others of the same function stay: it is waited
 * for, and nobody looks at what was the probe then.
 */
static void gone_while_handled(struct kunit *test)
{
	struct returns *stays = kunit_kzalloc(test, sizeof(*stays), GFP_KERNEL);
	struct task_struct *task;
	/* Emulated CPUs that take turns take long. */
	unsigned long end = jiffies + 10 * HZ;
	long wrong = 0;
	int round;

	KUNIT_ASSERT_NOT_NULL(test, stays);
	if (num_online_cpus() < 2)
		kunit_skip(test, "one CPU");
	start(test, stays, rethook_tracee, 4);
	task = kthread_create(call_again, &wrong, "rethook_caller");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	migrate_disable();
	kthread_bind(task, cpumask_any_but(cpu_online_mask, smp_processor_id()));
	wake_up_process(task);
	for (round = 0; round < 20 || (round < 1000 && time_before(jiffies, end)); round++) {
		struct slow *slow = kzalloc(sizeof(*slow), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, slow);
		slow->probe.kp.addr = (void *)rethook_tracee;
		slow->probe.maxactive = 1 + round % 2;
		slow->probe.handler = returned_slowly;
		slow->returns = round;
		KUNIT_ASSERT_EQ(test, register_kretprobe(&slow->probe), 0);
		while (!READ_ONCE(slow->inside))
			cpu_relax();
		WRITE_ONCE(slow->going, true);
		unregister_kretprobe(&slow->probe);
		KUNIT_EXPECT_FALSE(test, READ_ONCE(slow->inside));
		memset(slow, 0x6b, sizeof(*slow));
		kfree(slow);
	}
	migrate_enable();
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, wrong, 0l);
	KUNIT_EXPECT_GE(test, stays->returns, round);
	expect_calls(test, stays, stays->entries, stays->entries, 0);
	unregister_kretprobe(&stays->probe);
}

struct leaver {
	struct completion entered, go;
};

static int leave_in_call(void *data)
{
	struct leaver *leaver = data;

	rethook_leaver(&leaver->entered, &leaver->go);
	return 0;
}

/* A task that will never return from its call. */
static struct task_struct *enter_for_good(struct kunit *test, struct leaver *leaver)
{
	struct task_struct *task;

	init_completion(&leaver->entered);
	init_completion(&leaver->go);
	task = kthread_create(leave_in_call, leaver, "rethook_leaver");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	wake_up_process(task);
	wait_for_completion(&leaver->entered);
	return task;
}

static void die(struct leaver *leaver, struct task_struct *task)
{
	int wait;

	complete(&leaver->go);
	/* The list of a dead task is given back by RCU. */
	for (wait = 0; wait < 500 && READ_ONCE(task->rethooks.first); wait++)
		msleep(20);
	put_task_struct(task);
}

/* What a call holds that never returns is there again when its task is dead. */
static void dead_inside(struct kunit *test)
{
	struct returns *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct leaver *leaver = kunit_kzalloc(test, sizeof(*leaver), GFP_KERNEL);
	int call;

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, leaver);
	start(test, a, rethook_leaver, 1);
	for (call = 1; call <= 5; call++) {
		die(leaver, enter_for_good(test, leaver));
		expect_calls(test, a, call, 0, 0);
	}
	unregister_kretprobe(&a->probe);
}

/* Neither the probe nor the task comes to the return. */
static void both_gone_inside(struct kunit *test)
{
	struct returns *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct leaver *leaver = kunit_kzalloc(test, sizeof(*leaver), GFP_KERNEL);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, leaver);
	start(test, a, rethook_leaver, 2);
	task = enter_for_good(test, leaver);
	unregister_kretprobe(&a->probe);
	rcu_barrier();
	die(leaver, task);
	expect_calls(test, a, 1, 0, 0);
	rcu_barrier();
}

static struct kunit_case cases[] = {
	KUNIT_CASE(one_probe),
	KUNIT_CASE(several_probes),
	KUNIT_CASE(nested_calls),
	KUNIT_CASE(other_cpus),
	KUNIT_CASE(gone_inside),
	KUNIT_CASE(disabled_inside),
	KUNIT_CASE(used_up),
	KUNIT_CASE(cpu_goes),
	KUNIT_CASE(gone_while_handled),
	KUNIT_CASE(dead_inside),
	KUNIT_CASE(both_gone_inside),
	{}
};

static struct kunit_suite suite = {
	.name = "rethook",
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit tests of return hooks");
MODULE_LICENSE("GPL");
