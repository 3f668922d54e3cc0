// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that do to the function graph what goes wrong seldom: they nest too deep, are left without returning, do
 * not return for as long as one likes. A test traces them and calls them by the files of debugfs's graph_faults:
 *
 *	deep	a number: faults_deep() calls itself until there are so many
 *	skip	anything: faults_outer() goes on after faults_middle() and faults_inner(), which do not return
 *	inside	anything: the writer is in three faults_inside() until somebody writes to the next file
 *	release	anything
 *	stacks	reads a line `pid bytes` for each task that has a shadow stack
 *	unwind	reads a line `offset hits callers`: for each instruction of return_to_handler() how often a faults_deep() below
 *		the reader came by, and how often the reader was found in the stack from there
 */
#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <asm/unwind.h>

bool faults_run(void **place, void (*f)(void **place));
void faults_jump(void **place);

noinline unsigned int faults_deep(unsigned int calls);
noinline bool faults_outer(void);
noinline void faults_middle(void **place);
noinline void faults_inner(void **place);
noinline int faults_inside(unsigned int calls);

noinline unsigned int faults_deep(unsigned int calls)
{
	unsigned int further = calls > 1 ? faults_deep(calls - 1) : 0;

	barrier();
	return further + 1;
}

noinline void faults_inner(void **place)
{
	barrier();
	faults_jump(place);
}

noinline void faults_middle(void **place)
{
	faults_inner(place);
	barrier();
}

noinline bool faults_outer(void)
{
	void *place;
	bool left = faults_run(&place, faults_middle);

	barrier();
	return left;
}

static DECLARE_WAIT_QUEUE_HEAD(waiting);
static unsigned int releases;

noinline int faults_inside(unsigned int calls)
{
	unsigned int before = READ_ONCE(releases);
	int ret;

	if (calls > 1)
		ret = faults_inside(calls - 1);
	else
		ret = wait_event_killable(waiting, READ_ONCE(releases) != before);
	barrier();
	return ret;
}

static ssize_t deep_write(struct file *file, const char __user *text, size_t count, loff_t *pos)
{
	unsigned int calls;
	int ret = kstrtouint_from_user(text, count, 0, &calls);

	if (ret)
		return ret;
	return faults_deep(calls) == max(calls, 1u) ? count : -EIO;
}

static ssize_t skip_write(struct file *file, const char __user *text, size_t count, loff_t *pos)
{
	return faults_outer() ? count : -EIO;
}

static ssize_t inside_write(struct file *file, const char __user *text, size_t count, loff_t *pos)
{
	return faults_inside(3) ?: count;
}

static ssize_t release_write(struct file *file, const char __user *text, size_t count, loff_t *pos)
{
	WRITE_ONCE(releases, releases + 1);
	wake_up_all(&waiting);
	return count;
}

static int stacks_show(struct seq_file *seq, void *unused)
{
	struct task_struct *process, *task;

	guard(rcu)();
	for_each_process_thread(process, task) {
		unsigned long *stack = READ_ONCE(task->ret_stack);

		if (stack)
			seq_printf(seq, "%d %zu\n", task->pid, ksize(stack));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stacks);

#define HOOK_LENGTH 128

struct place {
	struct kprobe probe;
	unsigned int hits, callers;
};

static struct task_struct *unwinder;

static int unwind_show(struct seq_file *seq, void *unused);

static bool is_caller(unsigned long address)
{
	return address >= (unsigned long)unwind_show && address < (unsigned long)unwind_show + 4096;
}

static bool is_in_hook(void *address)
{
	char name[KSYM_NAME_LEN];

	scnprintf(name, sizeof(name), "%ps", address);
	return !strcmp(name, "return_to_handler");
}

static int from_here(struct kprobe *probe, struct pt_regs *regs)
{
	struct place *place = container_of(probe, struct place, probe);
	struct unwind_state state;

	if (current != READ_ONCE(unwinder))
		return 0;
	place->hits++;
	for (unwind_start(&state, current, regs, NULL); !unwind_done(&state); unwind_next_frame(&state)) {
		if (is_caller(unwind_get_return_address(&state))) {
			place->callers++;
			break;
		}
	}
	return 0;
}
NOKPROBE_SYMBOL(from_here);

static noinline int unwind_show(struct seq_file *seq, void *unused)
{
	struct place *places __free(kfree) = kcalloc(HOOK_LENGTH, sizeof(*places), GFP_KERNEL);
	unsigned int offset, calls;

	if (!places)
		return -ENOMEM;
	for (offset = 0; offset < HOOK_LENGTH; offset++) {
		struct place *place = &places[offset];

		place->probe.symbol_name = "return_to_handler";
		place->probe.offset = offset;
		place->probe.pre_handler = from_here;
		/* Refused between instructions. */
		if (register_kprobe(&place->probe)) {
			place->probe.pre_handler = NULL;
		} else if (!is_in_hook(place->probe.addr)) {
			unregister_kprobe(&place->probe);
			place->probe.pre_handler = NULL;
		}
	}
	WRITE_ONCE(unwinder, current);
	calls = faults_deep(2);
	WRITE_ONCE(unwinder, NULL);
	for (offset = 0; offset < HOOK_LENGTH; offset++) {
		struct place *place = &places[offset];

		if (!place->probe.pre_handler)
			continue;
		unregister_kprobe(&place->probe);
		if (place->hits)
			seq_printf(seq, "%u %u %u\n", offset, place->hits, place->callers);
	}
	return calls == 2 ? 0 : -EIO;
}
DEFINE_SHOW_ATTRIBUTE(unwind);

#define OPERATIONS(name)					\
	static const struct file_operations name##_fops = {	\
		.owner = THIS_MODULE,				\
		.write = name##_write,				\
	}

OPERATIONS(deep);
OPERATIONS(skip);
OPERATIONS(inside);
OPERATIONS(release);

static struct dentry *dir;

static int __init faults_init(void)
{
	dir = debugfs_create_dir("graph_faults", NULL);
	debugfs_create_file("deep", 0200, dir, NULL, &deep_fops);
	debugfs_create_file("skip", 0200, dir, NULL, &skip_fops);
	debugfs_create_file("inside", 0200, dir, NULL, &inside_fops);
	debugfs_create_file("release", 0200, dir, NULL, &release_fops);
	debugfs_create_file("stacks", 0400, dir, NULL, &stacks_fops);
	debugfs_create_file("unwind", 0400, dir, NULL, &unwind_fops);
	return PTR_ERR_OR_ZERO(dir);
}
module_init(faults_init);

static void __exit faults_exit(void)
{
	debugfs_remove(dir);
}
module_exit(faults_exit);

MODULE_DESCRIPTION("Functions that are hard to trace until they return");
MODULE_LICENSE("GPL");
