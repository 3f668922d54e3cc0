// SPDX-License-Identifier: GPL-2.0
/*
 * Writers for the hammer: on every CPU events are written from a task, a softirq, a hard interrupt and an NMI, as fast
 * as they go. Each event is a text that says which CPU and context it is from and its number there, and whose rest
 * follows from that; so a reader can tell whether it is whole, and whether any was lost or came twice.
 *
 *	hammer CPU CONTEXT NUMBER SUM FILLING
 *
 * Parameters: `how` says by what, and begins the numbers anew:
 *
 *	puts		trace_puts()
 *	event		the event rtrace_hammer:hammer, reserved and committed
 *	discard		the same, after each a second time with the field `keep` 0, for a filter to reject
 *	function	a call of hammer_call(), for a tracer to record with its arguments or with what it returns
 *
 * `run` starts and stops the writers; none writes any more once it is stopped. `written` says for each CPU how many events
 * each context has recorded and how many attempts were refused. Of `puts` and `event` a number is used up only by an event
 * that was recorded; the others do not learn whether it was, and use one for each attempt. With each 64th number, but in
 * NMIs, hammer_seldom() is called, for function commands.
 */
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smpboot.h>
#include <linux/timer.h>
#include <linux/trace_events.h>
#include <linux/trace_printk.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#define CREATE_TRACE_POINTS
#include "rtrace_hammer_trace.h"

enum { TASK, SOFTIRQ, HARDIRQ, NMI, CONTEXTS };

#define LONGEST	200
#define FNV_START	2166136261u
#define FNV_PRIME	16777619u
#define GOLDEN		0x9e3779b97f4a7c15ul

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

static const char *const ways[] = { "puts", "event", "discard", "function" };
enum { PUTS, EVENT, DISCARD, FUNCTION };
static int way;
/* The event in the top instance, which is there as long as the module. */
static struct trace_event_file *file;

/* Global, and with a use of each argument: the compiler is to leave all of them where a tracer finds them. */
unsigned long hammer_call(unsigned long from, unsigned long number, unsigned long sum);
void hammer_seldom(unsigned long number);

/* `from` is the CPU and, in the lowest four bits, the context. */
noinline unsigned long hammer_call(unsigned long from, unsigned long number, unsigned long sum)
{
	asm volatile("" : : "r"(from), "r"(number), "r"(sum));
	return number << 24 | (from & 0xfff) << 12 | sum >> 52;
}

noinline void hammer_seldom(unsigned long number)
{
	asm volatile("" : : "r"(number));
}

static u32 sum(const char *text)
{
	u32 sum = FNV_START;

	for (; *text; text++)
		sum = (sum ^ (u8)*text) * FNV_PRIME;
	return sum;
}

static bool write_event(const char *text, int length, bool keep)
{
	struct trace_event_raw_hammer *entry;
	struct trace_event_buffer buffer;

	entry = trace_event_buffer_reserve(&buffer, file, sizeof(*entry) + length);
	if (!entry)
		return false;
	entry->keep = keep;
	entry->__data_loc_text = length << 16 | offsetof(struct trace_event_raw_hammer, __data);
	memcpy(entry->__data, text, length);
	trace_event_buffer_commit(&buffer);
	return true;
}

/* Whether the number is used up. */
static bool write_text(const char *text, int length)
{
	switch (way) {
	case EVENT:
		return write_event(text, length, true);
	case DISCARD:
		write_event(text, length, true);
		write_event(text, length, false);
		return true;
	default:
		return __trace_puts(_THIS_IP_, text);
	}
}

/* Writes one event. The caller stays on its CPU. */
static void write_one(int context)
{
	struct writer *writer = this_cpu_ptr(&writers);
	u64 number = writer->written[context] + 1;
	char *text = writer->text[context];
	unsigned int filling = number * 7 % LONGEST, i;
	int cpu = smp_processor_id(), length;

	if (context != NMI && number % 64 == 0)
		hammer_seldom(number);
	if (way == FUNCTION) {
		unsigned long from = cpu << 4 | context;

		hammer_call(from, number, (number ^ from) * GOLDEN);
		writer->written[context] = number;
		return;
	}
	length = sprintf(text, "hammer %d %d %llu ", cpu, context, number);
	length += sprintf(text + length, "%08x ", sum(text));
	for (i = 0; i < filling; i++)
		text[length + i] = 'a' + (number + i) % 26;
	text[length + filling] = '\n';
	text[length + filling + 1] = 0;
	if (write_text(text, length + filling + 1))
		writer->written[context] = number;
	else
		writer->refused[context]++;
}

static void write_some(int context, int count)
{
	/* With PREEMPT_RT a softirq can be preempted. */
	preempt_disable();
	while (count-- && READ_ONCE(running))
		write_one(context);
	preempt_enable();
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

	for (int i = 0; i < 20; i++)
		write_some(TASK, 10);
	/*
	 * A CPU that goes parks its threads one by one. With PREEMPT_RT its timers end with one of them, so who is to park
	 * must not wait for a timer.
	 */
	set_current_state(TASK_INTERRUPTIBLE);
	if (!kthread_should_park())
		schedule_timeout(1);
	__set_current_state(TASK_RUNNING);
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
	if (!running) {
		/* All that write have preemption off. */
		synchronize_rcu();
		return 0;
	}
	cpus_read_lock();
	for_each_online_cpu(cpu)
		wake_up_process(per_cpu(writers.task, cpu));
	cpus_read_unlock();
	return 0;
}

static const struct kernel_param_ops run_ops = { .set = set_run, .get = param_get_bool };
module_param_cb(run, &run_ops, &running, 0644);
MODULE_PARM_DESC(run, "whether the writers write");

static int set_how(const char *text, const struct kernel_param *param)
{
	int chosen = sysfs_match_string(ways, text);
	unsigned int cpu;

	if (chosen < 0)
		return chosen;
	if (running)
		return -EBUSY;
	way = chosen;
	for_each_possible_cpu(cpu) {
		struct writer *writer = per_cpu_ptr(&writers, cpu);

		memset(writer->written, 0, sizeof(writer->written));
		memset(writer->refused, 0, sizeof(writer->refused));
	}
	return 0;
}

static int get_how(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%s\n", ways[way]);
}

static const struct kernel_param_ops how_ops = { .set = set_how, .get = get_how };
module_param_cb(how, &how_ops, NULL, 0644);
MODULE_PARM_DESC(how, "what events are written by: puts, event, discard or function");

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

	file = trace_get_event_file(NULL, "rtrace_hammer", "hammer");
	if (IS_ERR(file))
		return PTR_ERR(file);
	/* It would keep the module in use. */
	trace_put_event_file(file);
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
