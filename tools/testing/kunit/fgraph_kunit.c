// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of <linux/ftrace.h> for tracing functions until they return, as the kernel's own C code sees them.
 *
 * Loading the module runs the tests; nothing in it is particular to rtrace, so the same file says whether a kernel with
 * the C core behaves alike. The functions traced are its own. Those that are tested are called by their addresses, since C
 * exports none of them.
 */
#include <kunit/test.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include "address_of.h"

/*
 * kCFI knows a function in Rust by the names of Rust's types, so it is off in this file, which ends with a pop.
 */
#pragma clang attribute push(__attribute__((no_sanitize("kcfi"))), apply_to = function)

static int (*register_graph)(struct fgraph_ops *gops);
static void (*unregister_graph)(struct fgraph_ops *gops);
static void *(*reserve_data)(int idx, int size_bytes);
static void *(*retrieve_data)(int idx, int *size_bytes);
static void *(*retrieve_parent_data)(int idx, int *size_bytes, int depth);
static unsigned long *(*get_task_var)(struct fgraph_ops *gops);

static const struct internal internal[] = {
	{ &register_graph,		"register_ftrace_graph" },
	{ &unregister_graph,		"unregister_ftrace_graph" },
	{ &reserve_data,		"fgraph_reserve_data" },
	{ &retrieve_data,		"fgraph_retrieve_data" },
	{ &retrieve_parent_data,	"fgraph_retrieve_parent_data" },
	{ &get_task_var,		"fgraph_get_task_var" },
};

/* So many there can be. */
#define USERS		16
/* So many bytes of a call. */
#define DATA_MAX	256

/* What a user has seen, last and in all. */
struct graph_user {
	struct fgraph_ops gops;
	/* How much it reserves, filled with its seed plus the number of the call. */
	int bytes;
	u8 seed;
	bool refuses;

	unsigned int entries, returns, torn;
	unsigned long func, return_func, argument, var;
	long depth, return_depth, returned;
	bool reserved;
	int size, parent_size;
	/* Of the last return and of the one before: the first byte, 0 without data. */
	u8 got[2], parent[2];
};

/* Compiled with patch sites; the callbacks are not. */
noinline long graph_tracee(long a, long b);
noinline long graph_outer(long a, long b);
noinline long graph_leaver(struct graph_user *user);

#define TRACEE	((unsigned long)graph_tracee)
#define OUTER	((unsigned long)graph_outer)

noinline long graph_tracee(long a, long b)
{
	barrier();
	return a * 3 + b;
}

noinline long graph_outer(long a, long b)
{
	long ret = graph_tracee(a, b);

	barrier();
	return ret + 1;
}

/* Its user goes while it runs. */
noinline long graph_leaver(struct graph_user *user)
{
	unregister_graph(&user->gops);
	return 9;
}

static notrace int enter(struct ftrace_graph_ent *trace, struct fgraph_ops *gops, struct ftrace_regs *fregs)
{
	struct graph_user *user = container_of(gops, struct graph_user, gops);
	unsigned long *var = get_task_var(gops);
	u8 *data;
	int i;

	user->entries++;
	user->func = trace->func;
	user->depth = trace->depth;
	user->argument = ftrace_regs_get_argument(fregs, 0);
	if (var)
		user->var = ++*var;
	if (user->bytes) {
		data = reserve_data(gops->idx, user->bytes);
		user->reserved = data;
		for (i = 0; data && i < user->bytes; i++)
			data[i] = user->seed + user->entries;
	}
	return !user->refuses;
}

static notrace void leave(struct ftrace_graph_ret *trace, struct fgraph_ops *gops, struct ftrace_regs *fregs)
{
	struct graph_user *user = container_of(gops, struct graph_user, gops);
	u8 *data, *parent;
	int i;

	user->returns++;
	user->return_func = trace->func;
	user->return_depth = trace->depth;
	user->returned = ftrace_regs_get_return_value(fregs);
	user->size = user->parent_size = -1;
	data = retrieve_data(gops->idx, &user->size);
	user->torn += retrieve_parent_data(gops->idx, NULL, -1) != data;
	for (i = 0; data && i < user->bytes; i++)
		user->torn += data[i] != data[0];
	parent = retrieve_parent_data(gops->idx, &user->parent_size, 1);
	user->got[1] = user->got[0];
	user->got[0] = data ? data[0] : 0;
	user->parent[1] = user->parent[0];
	user->parent[0] = parent ? parent[0] : 0;
}

static struct graph_user *users;

static void start(struct kunit *test, struct graph_user *user, u8 seed, int bytes, unsigned long ip)
{
	memset(user, 0, sizeof(*user));
	user->gops.entryfunc = enter;
	user->gops.retfunc = leave;
	user->seed = seed;
	user->bytes = bytes;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&user->gops.ops, ip, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, register_graph(&user->gops), 0);
}

static void finish(struct graph_user *user)
{
	unregister_graph(&user->gops);
	ftrace_free_filter(&user->gops.ops);
}

static void expect_calls(struct kunit *test, struct graph_user *user, unsigned int entries, unsigned int returns)
{
	KUNIT_EXPECT_EQ(test, user->entries, entries);
	KUNIT_EXPECT_EQ(test, user->returns, returns);
}

/* The last call of graph_tracee(5, 7) was the user's `number`th, outermost of what is traced. */
static void expect_tracee(struct kunit *test, struct graph_user *user, unsigned int number)
{
	KUNIT_EXPECT_LT(test, user->func - TRACEE, 16ul);
	KUNIT_EXPECT_EQ(test, user->return_func, user->func);
	KUNIT_EXPECT_EQ(test, user->argument, 5ul);
	KUNIT_EXPECT_EQ(test, user->returned, 22l);
	KUNIT_EXPECT_EQ(test, user->depth, 0l);
	KUNIT_EXPECT_EQ(test, user->return_depth, 0l);
	KUNIT_EXPECT_EQ(test, user->got[0], (u8)(user->seed + number));
	KUNIT_EXPECT_EQ(test, user->size, (int)round_up(user->bytes, sizeof(long)));
	KUNIT_EXPECT_EQ(test, user->torn, 0u);
	KUNIT_EXPECT_EQ(test, user->parent[0], 0);
	KUNIT_EXPECT_EQ(test, user->parent_size, -1);
}

static void one_user(struct kunit *test)
{
	struct graph_user *a = &users[0];

	start(test, a, 10, 8, TRACEE);
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, a, 1, 1);
	expect_tracee(test, a, 1);
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, a, 2, 2);
	expect_tracee(test, a, 2);
	finish(a);
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, a, 2, 2);
}

static void two_users(struct kunit *test)
{
	struct graph_user *a = &users[0], *b = &users[1];

	start(test, a, 10, 8, TRACEE);
	start(test, b, 100, 100, TRACEE);
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, a, 1, 1);
	expect_calls(test, b, 1, 1);
	expect_tracee(test, a, 1);
	expect_tracee(test, b, 1);
	finish(a);
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, a, 1, 1);
	expect_calls(test, b, 2, 2);
	expect_tracee(test, b, 2);
	finish(b);
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, b, 2, 2);
}

/* An entry function that wants no return gets none, and what it has reserved is gone: alone, first, and last. */
static void refusing(struct kunit *test)
{
	struct graph_user *a = &users[0], *b = &users[1], *c = &users[2];

	start(test, a, 10, 64, TRACEE);
	a->refuses = true;
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, a, 1, 0);
	start(test, b, 100, 8, TRACEE);
	start(test, c, 200, 16, TRACEE);
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, a, 2, 0);
	expect_calls(test, b, 1, 1);
	expect_calls(test, c, 1, 1);
	expect_tracee(test, b, 1);
	expect_tracee(test, c, 1);
	a->refuses = false;
	c->refuses = true;
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, a, 3, 1);
	expect_calls(test, b, 2, 2);
	expect_calls(test, c, 2, 1);
	expect_tracee(test, a, 3);
	expect_tracee(test, b, 2);
	b->refuses = a->refuses = true;
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, a, 4, 1);
	expect_calls(test, b, 3, 2);
	expect_calls(test, c, 3, 1);
	finish(a);
	finish(b);
	finish(c);
}

static void sizes(struct kunit *test)
{
	static const int sizes[] = { 1, 7, 8, 9, 100, DATA_MAX - 1, DATA_MAX };
	struct graph_user *a = &users[0], *b = &users[1];
	unsigned int i;

	start(test, a, 10, 0, TRACEE);
	start(test, b, 100, 24, TRACEE);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		a->bytes = sizes[i];
		KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
		expect_calls(test, a, i + 1, i + 1);
		expect_tracee(test, a, i + 1);
		expect_tracee(test, b, i + 1);
	}
	/* More there is not, but a return. */
	a->bytes = DATA_MAX + 1;
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, a, i + 1, i + 1);
	KUNIT_EXPECT_FALSE(test, a->reserved);
	KUNIT_EXPECT_EQ(test, a->got[0], 0);
	KUNIT_EXPECT_EQ(test, a->size, -1);
	expect_tracee(test, b, i + 1);
	finish(a);
	finish(b);
}

/* A call inside another one: each has its data, the inner one sees the outer one's, and both the task's word. */
static void nested(struct kunit *test)
{
	struct graph_user *a = &users[0], *b = &users[1];

	start(test, a, 10, 16, TRACEE);
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&a->gops.ops, OUTER, 0, 0), 0);
	start(test, b, 100, 32, TRACEE);
	KUNIT_EXPECT_EQ(test, graph_outer(5, 7), 23l);
	expect_calls(test, a, 2, 2);
	expect_calls(test, b, 1, 1);
	KUNIT_EXPECT_EQ(test, a->got[1], 12);
	KUNIT_EXPECT_EQ(test, a->parent[1], 11);
	KUNIT_EXPECT_EQ(test, a->got[0], 11);
	KUNIT_EXPECT_EQ(test, a->parent[0], 0);
	KUNIT_EXPECT_EQ(test, a->torn, 0u);
	KUNIT_EXPECT_EQ(test, a->depth, 1l);
	KUNIT_EXPECT_EQ(test, a->return_depth, 0l);
	KUNIT_EXPECT_EQ(test, a->returned, 23l);
	KUNIT_EXPECT_LT(test, a->func - TRACEE, 16ul);
	KUNIT_EXPECT_LT(test, a->return_func - OUTER, 16ul);
	KUNIT_EXPECT_EQ(test, b->got[0], 101);
	/* The outer call is none of this one's. */
	KUNIT_EXPECT_EQ(test, b->parent[0], 0);
	KUNIT_EXPECT_EQ(test, b->depth, 1l);
	KUNIT_EXPECT_EQ(test, b->return_depth, 1l);
	KUNIT_EXPECT_EQ(test, a->var, 2ul);
	KUNIT_EXPECT_EQ(test, b->var, 1ul);
	KUNIT_EXPECT_EQ(test, graph_outer(5, 7), 23l);
	KUNIT_EXPECT_EQ(test, a->var, 4ul);
	KUNIT_EXPECT_EQ(test, b->var, 2ul);
	finish(a);
	finish(b);
}

/* What was entered before a user has gone returns without it, and to where it should. */
static void gone_inside(struct kunit *test)
{
	struct graph_user *a = &users[0], *b = &users[1];
	unsigned long ip = (unsigned long)graph_leaver;

	start(test, a, 10, 8, ip);
	KUNIT_EXPECT_EQ(test, graph_leaver(a), 9l);
	expect_calls(test, a, 1, 0);
	ftrace_free_filter(&a->gops.ops);

	start(test, b, 100, 8, ip);
	start(test, a, 10, 8, ip);
	KUNIT_EXPECT_EQ(test, graph_leaver(a), 9l);
	expect_calls(test, a, 1, 0);
	expect_calls(test, b, 1, 1);
	KUNIT_EXPECT_EQ(test, b->got[0], 101);
	KUNIT_EXPECT_EQ(test, b->returned, 9l);
	finish(b);
	ftrace_free_filter(&a->gops.ops);
}

static void many(struct kunit *test)
{
	struct graph_user *late = &users[USERS];
	int i;

	for (i = 0; i < USERS; i++)
		start(test, &users[i], i * 10, 8 + i, TRACEE);
	late->gops.entryfunc = enter;
	late->gops.retfunc = leave;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&late->gops.ops, TRACEE, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, register_graph(&late->gops), -ENOSPC);
	ftrace_free_filter(&late->gops.ops);
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	for (i = 0; i < USERS; i++) {
		expect_calls(test, &users[i], 1, 1);
		expect_tracee(test, &users[i], 1);
	}
	expect_calls(test, late, 0, 0);
	/* One may come where another has gone. */
	finish(&users[5]);
	start(test, late, 200, 40, TRACEE);
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, &users[5], 1, 1);
	expect_calls(test, late, 1, 1);
	expect_tracee(test, late, 1);
	for (i = 0; i <= USERS; i++) {
		if (i != 5)
			finish(&users[i]);
	}
	KUNIT_EXPECT_EQ(test, graph_tracee(5, 7), 22l);
	expect_calls(test, late, 1, 1);
	expect_calls(test, &users[0], 2, 2);
}

static int find_functions(struct kunit_suite *suite)
{
	return find_internal(internal, ARRAY_SIZE(internal));
}

static int allocate_users(struct kunit *test)
{
	users = kunit_kcalloc(test, USERS + 1, sizeof(*users), GFP_KERNEL);
	return users ? 0 : -ENOMEM;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(one_user),
	KUNIT_CASE(two_users),
	KUNIT_CASE(refusing),
	KUNIT_CASE(sizes),
	KUNIT_CASE(nested),
	KUNIT_CASE(gone_inside),
	KUNIT_CASE_SLOW(many),
	{}
};

static struct kunit_suite suite = {
	.name = "fgraph",
	.suite_init = find_functions,
	.init = allocate_users,
	.test_cases = cases,
};
kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit tests of tracing functions until they return");
MODULE_LICENSE("GPL");

#pragma clang attribute pop
