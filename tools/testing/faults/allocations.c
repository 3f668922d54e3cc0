// SPDX-License-Identifier: GPL-2.0
/*
 * Makes one allocation of a task fail, in kernels without CONFIG_FAULT_INJECTION too. The file of debugfs is used as
 * /proc/self/fail-nth is: a task that writes N to allocation_faults/fail-nth has its Nth allocation from then on fail; what is
 * read is how many are left until then, 0 once it has happened. One task at a time.
 */
#include <linux/debugfs.h>
#include <linux/gfp.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

struct allocator {
	struct kprobe probe;
	unsigned int flags;	/* which argument these are */
};

static int refuse(struct kprobe *probe, struct pt_regs *regs);

#define TOKENS (IS_ENABLED(CONFIG_KMALLOC_PARTITION_CACHES) ? 1 : 0)
#define SIZES (1 + TOKENS + (IS_ENABLED(CONFIG_SLAB_BUCKETS) ? 1 : 0))
#define ALLOCATOR(name, argument) { .probe = { .symbol_name = #name "_noprof", .pre_handler = refuse }, .flags = argument }

static struct allocator allocators[] = {
	ALLOCATOR(__kmalloc, 1 + TOKENS),
	ALLOCATOR(__kmalloc_node, SIZES),
	ALLOCATOR(__kmalloc_node_track_caller, SIZES),
	ALLOCATOR(__kmalloc_cache, 1),
	ALLOCATOR(__kmalloc_cache_node, 1),
	ALLOCATOR(__kmalloc_large, 1),
	ALLOCATOR(__kmalloc_large_node, 1),
	ALLOCATOR(__kvmalloc_node, SIZES + 1),
	ALLOCATOR(__vmalloc_node_range, 4),
	ALLOCATOR(krealloc_node_align, 3 + TOKENS),
	ALLOCATOR(kvrealloc_node_align, 3 + TOKENS),
	ALLOCATOR(vrealloc_node_align, 3),
	ALLOCATOR(kmem_cache_alloc, 1),
	ALLOCATOR(kmem_cache_alloc_lru, 2),
	ALLOCATOR(kmem_cache_alloc_node, 1),
	ALLOCATOR(__alloc_frozen_pages, 0),
	ALLOCATOR(pcpu_alloc, 3),
};

static struct task_struct *armed;
static unsigned int left;

static noinline notrace void *nothing(void)
{
	return NULL;
}

/* The kernel warns where it has no memory for the static keys of a module: such an allocation is none of those that are counted. */
static bool is_for_static_keys(struct pt_regs *regs)
{
	char caller[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(caller, regs_get_kernel_stack_nth(regs, 0));
	return !strncmp(caller, "jump_label_", strlen("jump_label_"));
}
NOKPROBE_SYMBOL(is_for_static_keys);

static int refuse(struct kprobe *probe, struct pt_regs *regs)
{
	struct allocator *allocator = container_of(probe, struct allocator, probe);

	if (current != READ_ONCE(armed) || !in_task() || !left)
		return 0;
	if (regs_get_kernel_argument(regs, allocator->flags) & __GFP_NOFAIL)
		return 0;
	if (is_for_static_keys(regs))
		return 0;
	if (--left)
		return 0;
	/* Instead of the function, which has not begun. */
	instruction_pointer_set(regs, (unsigned long)nothing);
	return 1;
}
NOKPROBE_SYMBOL(refuse);

static ssize_t fail_nth_write(struct file *file, const char __user *text, size_t count, loff_t *pos)
{
	unsigned int number;
	int ret = kstrtouint_from_user(text, count, 0, &number);

	if (ret)
		return ret;
	left = number;
	WRITE_ONCE(armed, number ? current : NULL);
	return count;
}

static ssize_t fail_nth_read(struct file *file, char __user *text, size_t count, loff_t *pos)
{
	char number[16];
	int length = scnprintf(number, sizeof(number), "%u\n", left);

	return simple_read_from_buffer(text, count, pos, number, length);
}

static const struct file_operations fail_nth_fops = {
	.owner = THIS_MODULE,
	.read = fail_nth_read,
	.write = fail_nth_write,
};

static struct dentry *dir;

static void remove_probes(unsigned int count)
{
	while (count--) {
		if (allocators[count].probe.addr)
			unregister_kprobe(&allocators[count].probe);
	}
}

static int __init allocation_faults_init(void)
{
	unsigned int number;

	for (number = 0; number < ARRAY_SIZE(allocators); number++) {
		int ret = register_kprobe(&allocators[number].probe);

		/* Where nobody calls one it is not there. */
		if (ret == -ENOENT)
			continue;
		if (ret) {
			pr_err("%s: %d\n", allocators[number].probe.symbol_name, ret);
			remove_probes(number);
			return ret;
		}
	}
	dir = debugfs_create_dir("allocation_faults", NULL);
	debugfs_create_file("fail-nth", 0600, dir, NULL, &fail_nth_fops);
	return 0;
}
module_init(allocation_faults_init);

static void __exit allocation_faults_exit(void)
{
	debugfs_remove(dir);
	remove_probes(ARRAY_SIZE(allocators));
}
module_exit(allocation_faults_exit);

MODULE_DESCRIPTION("Makes a task's allocations fail");
MODULE_LICENSE("GPL");
