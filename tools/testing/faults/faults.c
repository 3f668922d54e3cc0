// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that do to the function graph what goes wrong seldom: they nest too deep, are left without returning, do
 * not return for as long as one likes. A test traces them and calls them by the files of debugfs's graph_faults:
 *
 *	deep	a number: faults_deep() calls itself until there are so many
 *	skip	anything: faults_outer() goes on after faults_middle() and faults_inner(), which do not return
 *	inside	anything: the writer is in three faults_inside() until somebody writes to the next file
 *	release	anything
 *	dump	anything: the stack is recorded by trace_dump_stack()
 *	warn	anything: a WARN()
 *	stacks	reads a line `pid bytes` for each task that has a shadow stack
 *	unwind	reads a line `offset hits callers`: for each instruction of return_to_handler() how often a faults_deep() below
 *		the reader came by, and how often the reader was found in the stack from there
 *	steps	reads the same, for each instruction without a symbol, as a trampoline's are, that a faults_deep() below the
 *		reader took before its first own; the offset is that in the page
 */
#include <linux/debugfs.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/trace_printk.h>
#include <linux/wait.h>
#include <asm/processor-flags.h>
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

static ssize_t dump_write(struct file *file, const char __user *text, size_t count, loff_t *pos)
{
	trace_dump_stack(0);
	return count;
}

static ssize_t warn_write(struct file *file, const char __user *text, size_t count, loff_t *pos)
{
	WARN(1, "asked for\n");
	return count;
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
static int steps_show(struct seq_file *seq, void *unused);

static bool is_in(unsigned long address, void *function)
{
	return address >= (unsigned long)function && address < (unsigned long)function + 4096;
}

/* Is the reader of one of the two files found in the stack of the current task from where @regs are? */
static bool caller_is_found(struct pt_regs *regs)
{
	struct unwind_state state;

	for (unwind_start(&state, current, regs, NULL); !unwind_done(&state); unwind_next_frame(&state)) {
		unsigned long address = unwind_get_return_address(&state);

		if (is_in(address, unwind_show) || is_in(address, steps_show))
			return true;
	}
	return false;
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

	if (current != READ_ONCE(unwinder))
		return 0;
	place->hits++;
	place->callers += caller_is_found(regs);
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

static struct {
	unsigned int hits, callers;
} steps[PAGE_SIZE];

static struct task_struct *stepper;

static bool has_symbol(unsigned long address)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol(name, address);
	return strncmp(name, "0x", 2) != 0;
}

static int stepped(struct notifier_block *block, unsigned long why, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;

	if (why != DIE_DEBUG || current != READ_ONCE(stepper))
		return NOTIFY_DONE;
	if (!has_symbol(regs->ip)) {
		steps[offset_in_page(regs->ip)].hits++;
		steps[offset_in_page(regs->ip)].callers += caller_is_found(regs);
	}
	return NOTIFY_STOP;
}

static struct notifier_block step_block = { .notifier_call = stepped };

static noinline int steps_show(struct seq_file *seq, void *unused)
{
	unsigned int offset, calls;
	int ret = register_die_notifier(&step_block);

	if (ret)
		return ret;
	memset(steps, 0, sizeof(steps));
	/* No other task may get the flag. */
	preempt_disable();
	WRITE_ONCE(stepper, current);
	asm volatile("pushfq; orq %0, (%%rsp); popfq" : : "i" (X86_EFLAGS_TF) : "memory", "cc");
	calls = faults_deep(1);
	asm volatile("pushfq; andq %0, (%%rsp); popfq" : : "i" (~X86_EFLAGS_TF) : "memory", "cc");
	WRITE_ONCE(stepper, NULL);
	preempt_enable();
	unregister_die_notifier(&step_block);
	for (offset = 0; offset < ARRAY_SIZE(steps); offset++) {
		if (steps[offset].hits)
			seq_printf(seq, "%u %u %u\n", offset, steps[offset].hits, steps[offset].callers);
	}
	return calls == 1 ? 0 : -EIO;
}
DEFINE_SHOW_ATTRIBUTE(steps);

#define OPERATIONS(name)					\
	static const struct file_operations name##_fops = {	\
		.owner = THIS_MODULE,				\
		.write = name##_write,				\
	}

OPERATIONS(deep);
OPERATIONS(skip);
OPERATIONS(inside);
OPERATIONS(release);
OPERATIONS(dump);
OPERATIONS(warn);

static struct dentry *dir;

static int __init faults_init(void)
{
	dir = debugfs_create_dir("graph_faults", NULL);
	debugfs_create_file("deep", 0200, dir, NULL, &deep_fops);
	debugfs_create_file("skip", 0200, dir, NULL, &skip_fops);
	debugfs_create_file("inside", 0200, dir, NULL, &inside_fops);
	debugfs_create_file("release", 0200, dir, NULL, &release_fops);
	debugfs_create_file("dump", 0200, dir, NULL, &dump_fops);
	debugfs_create_file("warn", 0200, dir, NULL, &warn_fops);
	debugfs_create_file("stacks", 0400, dir, NULL, &stacks_fops);
	debugfs_create_file("unwind", 0400, dir, NULL, &unwind_fops);
	debugfs_create_file("steps", 0400, dir, NULL, &steps_fops);
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
