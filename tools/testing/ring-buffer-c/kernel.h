/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernel/trace/ring_buffer.c takes from the rest of the kernel, for one CPU in one thread of a program. Nobody runs beside it:
 * locks and barriers are nothing, and atomic operations are plain ones. An interrupt is a call, at a level that the test sets.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* The configuration. Without its own MMU code a mapping is refused, so that is compiled, too. */
#define CONFIG_RING_BUFFER			1
#define CONFIG_MMU				1
#define CONFIG_RING_BUFFER_ALLOW_SWAP		1
#define CONFIG_ARCH_HAVE_NMI_SAFE_CMPXCHG	1

#define IS_ENABLED(option)			IS_ENABLED_##option
/* The argument is expanded before, where it is 1. */
#define IS_ENABLED_1				1
#define IS_ENABLED_CONFIG_ARCH_HAVE_NMI_SAFE_CMPXCHG	1
#define IS_ENABLED_CONFIG_GENERIC_ATOMIC64	0
#define IS_ENABLED_CONFIG_MITIGATION_RETPOLINE	0

/* Small, so that a sequence of few events fills a buffer. */
#define PAGE_SIZE	256UL

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef unsigned int gfp_t;
typedef unsigned int __poll_t;
typedef unsigned long pgoff_t;

/* The compiler */
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#undef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#define noinline		__attribute__((noinline))
#define fallthrough		__attribute__((fallthrough))
#define __maybe_unused		__attribute__((unused))
#define __aligned(x)		__attribute__((aligned(x)))
#define __same_type(a, b)	__builtin_types_compatible_p(typeof(a), typeof(b))
#define __counted_by(member)
#define __init
#define __initdata
#define EXPORT_SYMBOL_GPL(name)
#define READ_ONCE(x)		(*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile typeof(x) *)&(x) = (value))
#define barrier()		__asm__ __volatile__("" : : : "memory")
#define smp_mb()		barrier()
#define smp_rmb()		barrier()
#define smp_wmb()		barrier()

/* Arithmetic */
#define ALIGN(x, to)		(((x) + (to) - 1) & ~((typeof(x))(to) - 1))
#define DIV_ROUND_UP(x, by)	(((x) + (by) - 1) / (by))
#define BIT(nr)			(1UL << (nr))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define is_signed_type(type)	((type)-1 < (type)1)
#define size_add(a, b)		((a) + (b))
#define size_mul(a, b)		((a) * (b))
#define struct_size(p, member, n)	(sizeof(*(p)) + sizeof(*(p)->member) * (n))
#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))

/*
 * What the test sees and sets of a thread's machine; c.rs has the same. The clock calls `interrupt`, if there is one, once: what
 * that writes is written between the reading of the clock and its use.
 */
struct machine {
	u64 clock;
	void (*interrupt)(void *data);
	void *data;
	/* What interrupt_context_level() gives: 0 task, 1 softirq, 2 hardirq, 3 NMI. */
	int level;
	/* How many warnings there were, and the last one. */
	int warnings;
	char warning[256];
};

struct machine *c_machine(void);

/* Warnings: the test asks for them after each step. */
#define WARN_ONCE(condition, ...)					\
({									\
	bool warns = !!(condition);					\
									\
	if (warns) {							\
		struct machine *machine = c_machine();			\
									\
		machine->warnings++;					\
		snprintf(machine->warning, sizeof(machine->warning), __VA_ARGS__);	\
	}								\
	warns;								\
})
#define WARN(condition, ...)	WARN_ONCE(condition, __VA_ARGS__)
#define WARN_ON(condition)	WARN_ONCE(condition, "%s:%d %s", __func__, __LINE__, #condition)
#define WARN_ON_ONCE(condition)	WARN_ON(condition)
#define pr_warn(...)		((void)0)
#define pr_info(...)		((void)0)
#define pr_cont(...)		((void)0)
#define pr_warn_ratelimited(...)	((void)0)

/* Contexts and CPUs: this one. */
#define interrupt_context_level()	(c_machine()->level)
#define in_nmi()		(c_machine()->level == 3)
#define smp_processor_id()	0
#define raw_smp_processor_id()	0
#define nr_cpu_ids		1
#define NR_CPUS			1
#define cpu_online_mask		0
#define cpu_online(cpu)		1
#define cpu_to_node(cpu)	0
#define housekeeping_any_cpu(type)	0
#define cache_line_size()	64
#define DEFINE_PER_CPU(type, name)	type name
#define this_cpu_ptr(p)		(p)
#define for_each_cpu(cpu, mask)	for (cpu = 0; cpu < 1; cpu++)
#define for_each_cpu_and(cpu, mask, other)	for_each_cpu(cpu, mask)
#define zalloc_cpumask_var(mask, flags)	((*(mask))[0] = 0, true)
#define free_cpumask_var(mask)	((void)0)
#define cpumask_set_cpu(cpu, mask)	((mask)[0] |= 1UL << (cpu))
#define cpumask_test_cpu(cpu, mask)	((cpu) == 0 && ((mask)[0] & 1))
#define on_each_cpu(function, data, wait)	((void)0)
#define CPUHP_TRACE_RB_PREPARE	0
#define cpuhp_state_add_instance(state, node)	0
#define cpuhp_state_remove_instance(state, node)	((void)0)
#define SYSTEM_BOOTING		0
#define SYSTEM_RUNNING		1
#define system_state		SYSTEM_RUNNING
#define sched_clock_stable()	1

typedef unsigned long cpumask_var_t[1];

u64 trace_clock_local(void);

/* Atomic operations */
typedef struct { int v; } atomic_t;
typedef struct { long v; } local_t;
typedef local_t local64_t;

#define atomic_read(a)		((a)->v)
#define atomic_read_acquire(a)	((a)->v)
#define atomic_inc(a)		((void)(a)->v++)
#define atomic_dec(a)		((void)(a)->v--)
#define atomic_add(n, a)	((void)((a)->v += (n)))
#define atomic_sub(n, a)	((void)((a)->v -= (n)))
#define atomic_fetch_inc_release(a)	((a)->v++)
#define atomic_try_cmpxchg(a, old, new)	try_cmpxchg(&(a)->v, (int *)(old), (int)(new))
#define local_read(a)		((a)->v)
#define local_set(a, n)		((void)((a)->v = (n)))
#define local_inc(a)		((void)(a)->v++)
#define local_dec(a)		((void)(a)->v--)
#define local_add(n, a)		((void)((a)->v += (long)(n)))
#define local_sub(n, a)		((void)((a)->v -= (long)(n)))
#define local_add_return(n, a)	((a)->v += (long)(n))
#define local_cmpxchg(a, old, new)	cmpxchg(&(a)->v, (long)(old), (long)(new))
#define local_try_cmpxchg(a, old, new)	try_cmpxchg(&(a)->v, (long *)(old), (long)(new))
#define local64_read(a)		((u64)(a)->v)
#define local64_set(a, n)	((void)((a)->v = (n)))

#define cmpxchg(p, old, new)						\
({									\
	typeof(*(p)) was = *(p);					\
									\
	if (was == (old))						\
		*(p) = (new);						\
	was;								\
})

#define try_cmpxchg(p, old, new)					\
({									\
	bool same = *(p) == *(old);					\
									\
	if (same)							\
		*(p) = (new);						\
	else								\
		*(old) = *(p);						\
	same;								\
})

/* Locks and waiting */
typedef struct { } raw_spinlock_t;
typedef struct { } arch_spinlock_t;
typedef struct wait_queue_head { } wait_queue_head_t;
struct mutex { };
struct lock_class_key { };
struct irq_work { };
struct work_struct { };
struct completion { };
struct poll_table_struct;
typedef struct poll_table_struct poll_table;

#define __ARCH_SPIN_LOCK_UNLOCKED	{ }
#define raw_spin_lock_init(lock)	((void)0)
#define lockdep_set_class(lock, key)	((void)0)
#define lockdep_assert_held(lock)	((void)0)
#define raw_spin_lock(lock)	((void)0)
#define raw_spin_trylock(lock)	true
#define raw_spin_unlock(lock)	((void)0)
#define raw_spin_lock_irq(lock)	((void)0)
#define raw_spin_unlock_irq(lock)	((void)0)
#define raw_spin_lock_irqsave(lock, flags)	((void)(flags = 0))
#define raw_spin_unlock_irqrestore(lock, flags)	((void)(flags))
#define arch_spin_lock(lock)	((void)0)
#define arch_spin_unlock(lock)	((void)0)
#define local_irq_save(flags)	((void)(flags = 0))
#define local_irq_restore(flags)	((void)(flags))
#define mutex_init(lock)	((void)0)
#define mutex_lock(lock)	((void)0)
#define mutex_unlock(lock)	((void)0)
#define preempt_disable()	((void)0)
#define preempt_enable()	((void)0)
#define preempt_disable_notrace()	((void)0)
#define preempt_enable_notrace()	((void)0)
#define migrate_disable()	((void)0)
#define migrate_enable()	((void)0)
#define synchronize_rcu()	((void)0)
#define cond_resched()		((void)0)
#define udelay(us)		((void)0)
/* guard(kind)(lock): a function that is given the lock, or nothing. */
#define guard(kind)		no_guard
#define no_guard(...)		((void)0)
#define scoped_guard(kind, lock)	if (1)
#define DEFINE_GUARD(...)
#define init_irq_work(work, function)	((void)0)
#define irq_work_sync(work)	((void)0)
#define irq_work_queue(work)	true
#define irq_work_queue_on(work, cpu)	true
#define init_waitqueue_head(queue)	((void)0)
#define wake_up_all(queue)	((void)0)
#define wait_event_interruptible(queue, condition)	((void)(condition), 0)
#define poll_wait(file, queue, table)	((void)0)
#define EPOLLIN			POLLIN
#define EPOLLRDNORM		POLLIN
#define EPOLLERR		POLLERR
#define INIT_WORK(work, function)	((void)0)
#define schedule_work_on(cpu, work)	((void)0)
#define init_completion(done)	((void)0)
#define complete(done)		((void)0)
#define wait_for_completion(done)	((void)0)

/* Memory: what is asked for is there, and is empty. */
struct page {
	char byte[PAGE_SIZE];
};

static inline void *allocate(size_t size, size_t align)
{
	void *p;

	size = ALIGN(size, align);
	p = aligned_alloc(align, size);
	if (!p)
		abort();
	return memset(p, 0, size);
}

/* The alignment of a cache line leaves the low bits of a pointer free, which C's ring buffer uses. */
#define kmalloc(size, flags)	allocate(size, 64)
#define kzalloc(size, flags)	allocate(size, 64)
#define kzalloc_node(size, flags, node)	allocate(size, 64)
#define kcalloc(n, size, flags)	allocate((n) * (size), 64)
#define kzalloc_obj(object, ...)	allocate(sizeof(object), 64)
#define kzalloc_objs(object, n)	allocate((n) * sizeof(object), 64)
#define kfree(p)		free((void *)(p))
#define alloc_pages_node(node, flags, order)	((struct page *)allocate(PAGE_SIZE << (order), PAGE_SIZE << (order)))
#define alloc_page(flags)	alloc_pages_node(0, flags, 0)
#define free_pages(address, order)	free((void *)(address))
#define free_page(address)	free((void *)(address))
#define page_address(page)	((void *)(page))
#define page_to_virt(page)	((void *)(page))
#define virt_to_page(address)	((struct page *)(address))
#define page_ref_count(page)	1
#define __free(function)
#define return_ptr(p)		return (p)
#define GFP_KERNEL		0
#define GFP_USER		0
#define __GFP_RETRY_MAYFAIL	0
#define __GFP_COMP		0
#define __GFP_ZERO		0
#define gfpflags_allow_blocking(flags)	true
#define si_mem_available()	(1L << 30)
#define set_current_oom_origin()	((void)0)
#define clear_current_oom_origin()	((void)0)
#define current			(&(struct task_struct){ })
#define fatal_signal_pending(task)	false
#define flush_kernel_vmap_range(address, size)	((void)0)
#define ERR_PTR(error)		((void *)(long)(error))
#define PTR_ERR(p)		((long)(p))
#define IS_ERR(p)		((unsigned long)(p) >= -4095UL)

struct task_struct {
	void *mm;
};

/* A user's mapping: pages are put into it, and nobody looks. */
struct vm_area_struct {
	unsigned long vm_start, vm_flags;
};

#define VM_WRITE		1
#define VM_EXEC			2
#define VM_MAYSHARE		4
#define VM_MAYWRITE		0
#define VM_DONTCOPY		0
#define VM_DONTEXPAND		0
#define VM_DONTDUMP		0
#define vm_flags_mod(vma, set, clear)	((void)0)
#define vma_start_pgoff(vma)	0
#define vma_pages(vma)		1
#define vm_insert_pages(vma, address, pages, count)	0
#define ZERO_PAGE(address)	NULL

/* Bitmaps and lists */
#define bitmap_alloc(bits, flags)	allocate(DIV_ROUND_UP(bits, 64) * 8, 64)
#define bitmap_clear(map, first, bits)	memset(map, 0, DIV_ROUND_UP(bits, 64) * 8)
#define bitmap_free(map)	free(map)
#define test_bit(nr, map)	((map)[(nr) / 64] >> (nr) % 64 & 1)
#define set_bit(nr, map)	((map)[(nr) / 64] |= 1UL << (nr) % 64)

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node { };

#define LIST_HEAD(name)		struct list_head name = { &name, &name }
#define list_empty(head)	((head)->next == (head))
#define list_entry(p, type, member)	container_of(p, type, member)
#define list_next(p, member)	list_entry((p)->member.next, typeof(*(p)), member)
#define list_for_each(p, head)	for (p = (head)->next; p != (head); p = p->next)
#define list_for_each_entry(p, head, member)				\
	for (p = list_entry((head)->next, typeof(*p), member); &p->member != (head); p = list_next(p, member))
#define list_for_each_entry_safe(p, n, head, member)			\
	for (p = list_entry((head)->next, typeof(*p), member), n = list_next(p, member);	\
	     &p->member != (head); p = n, n = list_next(n, member))

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list->prev = list;
}

static inline void list_insert(struct list_head *new, struct list_head *before, struct list_head *behind)
{
	before->next = behind->prev = new;
	new->prev = before;
	new->next = behind;
}

static inline void list_add(struct list_head *new, struct list_head *head)
{
	list_insert(new, head, head->next);
}

static inline void list_add_tail(struct list_head *new, struct list_head *head)
{
	list_insert(new, head->prev, head);
}

static inline void list_del(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
}

static inline void list_del_init(struct list_head *entry)
{
	list_del(entry);
	INIT_LIST_HEAD(entry);
}

/* Text and files: nobody reads it here. */
struct trace_seq;
struct file {
	void *private_data;
};
struct seq_file {
	void *private;
};
struct seq_operations {
	void *(*start)(struct seq_file *m, loff_t *pos);
	void *(*next)(struct seq_file *m, void *v, loff_t *pos);
	int (*show)(struct seq_file *m, void *v);
	void (*stop)(struct seq_file *m, void *v);
};
struct notifier_block {
	int (*notifier_call)(struct notifier_block *nb, unsigned long event, void *data);
};

#define trace_seq_puts(s, text)	((void)0)
#define trace_seq_putc(s, c)	((void)0)
#define trace_seq_printf(...)	((void)0)
#define trace_seq_has_overflowed(s)	false
#define seq_printf(...)		((void)0)
#define seq_open(file, operations)	((void)(operations), 0)
#define NOTIFY_DONE		0
#define atomic_notifier_chain_register(list, block)	((void)0)
#define atomic_notifier_chain_unregister(list, block)	((void)0)
#define arch_ring_buffer_flush_range(start, end)	((void)0)

#endif
