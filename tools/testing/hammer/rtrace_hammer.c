// SPDX-License-Identifier: GPL-2.0
/*
 * Writers for the hammer: on every CPU events are written from a task, a softirq, a hard interrupt and an NMI, as fast
 * as they go. Each event is a text that says which CPU and context it is from and its number there, and whose rest
 * follows from that; so a reader can tell whether it is whole, and whether any was lost or came twice.
 *
 *	hammer CPU CONTEXT NUMBER SUM FILLING
 *
 * A number is used up only by an event that was recorded. Parameters: `run` starts and stops the writers, `written`
 * says for each CPU how many events each context has recorded and how many attempts were refused.
 */
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smpboot.h>
#include <linux/timer.h>
#include <linux/trace_printk.h>
#include <asm/apic.h>
#include <asm/nmi.h>

enum { TASK, SOFTIRQ, HARDIRQ, NMI, CONTEXTS };

#define LONGEST	200
#define FNV_START	2166136261u
#define FNV_PRIME	16777619u

struct writer {
	u64 written[CONTEXTS];
	u64 refused[CONTEXTS];
	struct task_struct *task;
	struct timer_list timer;
	struct hrtimer hrtimer;
	/* One for each context: they interrupt each other. */
	char text[CONTEXTS][LONGEST + 64];
};

static DEFINE_PER_CPU(struct writer, writers);
static bool running;

static u32 sum(const char *text)
{
	u32 sum = FNV_START;

	for (; *text; text++)
		sum = (sum ^ (u8)*text) * FNV_PRIME;
	return sum;
}

/* Writes one event. The caller stays on its CPU. */
static void write_one(int context)
{
	struct writer *writer = this_cpu_ptr(&writers);
	u64 number = writer->written[context] + 1;
	char *text = writer->text[context];
	unsigned int filling = number * 7 % LONGEST, i;
	int length = sprintf(text, "hammer %d %d %llu ", smp_processor_id(), context, number);

	length += sprintf(text + length, "%08x ", sum(text));
	for (i = 0; i < filling; i++)
		text[length + i] = 'a' + (number + i) % 26;
	text[length + filling] = '\n';
	text[length + filling + 1] = 0;
	if (__trace_puts(_THIS_IP_, text))
		writer->written[context] = number;
	else
		writer->refused[context]++;
}

static void write_some(int context, int count)
{
	while (count-- && READ_ONCE(running))
		write_one(context);
}

static void in_softirq_timer(struct timer_list *timer)
{
	write_some(SOFTIRQ, 20);
}

static enum hrtimer_restart in_hard_timer(struct hrtimer *timer)
{
	write_some(HARDIRQ, 5);
	return HRTIMER_NORESTART;
}

static int in_nmi_handler(unsigned int command, struct pt_regs *regs)
{
	write_some(NMI, 3);
	/* Somebody else may have sent it. */
	return NMI_DONE;
}

/* Each turn of the task keeps the other contexts of its CPU going, and interrupts another CPU by an NMI. */
static void task_turn(unsigned int cpu)
{
	struct writer *writer = per_cpu_ptr(&writers, cpu);
	unsigned int other;

	preempt_disable();
	if (!timer_pending(&writer->timer))
		mod_timer(&writer->timer, jiffies + 1);
	if (!hrtimer_active(&writer->hrtimer))
		hrtimer_start(&writer->hrtimer, ns_to_ktime(200 * NSEC_PER_USEC), HRTIMER_MODE_REL_PINNED_HARD);
	other = cpumask_next_wrap(cpu, cpu_online_mask);
	if (other < nr_cpu_ids && other != cpu)
		__apic_send_IPI_mask(cpumask_of(other), NMI_VECTOR);
	preempt_enable();

	for (int i = 0; i < 20; i++) {
		preempt_disable();
		write_some(TASK, 10);
		preempt_enable();
	}
	schedule_timeout_interruptible(1);
}

static int should_run(unsigned int cpu)
{
	return READ_ONCE(running);
}

static void set_up(unsigned int cpu)
{
	struct writer *writer = per_cpu_ptr(&writers, cpu);

	timer_setup(&writer->timer, in_softirq_timer, TIMER_PINNED);
	hrtimer_setup(&writer->hrtimer, in_hard_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}

static struct smp_hotplug_thread threads = {
	.store			= &writers.task,
	.thread_should_run	= should_run,
	.thread_fn		= task_turn,
	.thread_comm		= "hammer/%u",
};

static int set_run(const char *text, const struct kernel_param *param)
{
	unsigned int cpu;
	int error = param_set_bool(text, param);

	if (error)
		return error;
	cpus_read_lock();
	for_each_online_cpu(cpu)
		wake_up_process(per_cpu(writers.task, cpu));
	cpus_read_unlock();
	return 0;
}

static const struct kernel_param_ops run_ops = { .set = set_run, .get = param_get_bool };
module_param_cb(run, &run_ops, &running, 0644);
MODULE_PARM_DESC(run, "whether the writers write");

static int get_written(char *text, const struct kernel_param *param)
{
	int length = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct writer *writer = per_cpu_ptr(&writers, cpu);

		for (int context = 0; context < CONTEXTS; context++)
			length += scnprintf(text + length, PAGE_SIZE - length, "%u %d %llu %llu\n", cpu, context,
					    writer->written[context], writer->refused[context]);
	}
	return length;
}

static const struct kernel_param_ops written_ops = { .get = get_written };
module_param_cb(written, &written_ops, NULL, 0444);
MODULE_PARM_DESC(written, "CPU, context, events recorded, attempts refused");

static int __init hammer_init(void)
{
	unsigned int cpu;
	int error;

	for_each_possible_cpu(cpu)
		set_up(cpu);
	error = register_nmi_handler(NMI_LOCAL, in_nmi_handler, 0, "rtrace_hammer");
	if (error)
		return error;
	error = smpboot_register_percpu_thread(&threads);
	if (error)
		unregister_nmi_handler(NMI_LOCAL, "rtrace_hammer");
	return error;
}

static void __exit hammer_exit(void)
{
	unsigned int cpu;

	WRITE_ONCE(running, false);
	smpboot_unregister_percpu_thread(&threads);
	for_each_possible_cpu(cpu) {
		timer_shutdown_sync(per_cpu_ptr(&writers.timer, cpu));
		hrtimer_cancel(per_cpu_ptr(&writers.hrtimer, cpu));
	}
	unregister_nmi_handler(NMI_LOCAL, "rtrace_hammer");
}

module_init(hammer_init);
module_exit(hammer_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Writers that hammer the trace buffer from every context");
