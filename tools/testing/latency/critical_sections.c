// SPDX-License-Identifier: GPL-2.0
/*
 * One section with interrupts or preemption off, part of which is not to be measured: at insmod it lasts
 * `before` us, then `stopped` us between stop_critical_timings() and start_critical_timings(), then `after` us.
 */
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched/clock.h>

static char *kind = "irq";
module_param(kind, charp, 0);
MODULE_PARM_DESC(kind, "irq or preempt");
static unsigned int before, stopped, after;
module_param(before, uint, 0);
module_param(stopped, uint, 0);
module_param(after, uint, 0);

static void hold(unsigned int us)
{
	u64 end = local_clock() + us * 1000ull;

	while (local_clock() < end)
		cpu_relax();
}

static noinline void critical_section(void)
{
	hold(before);
	stop_critical_timings();
	hold(stopped);
	start_critical_timings();
	hold(after);
}

static int __init critical_sections_init(void)
{
	if (!strcmp(kind, "irq")) {
		local_irq_disable();
		critical_section();
		local_irq_enable();
	} else if (!strcmp(kind, "preempt")) {
		preempt_disable();
		critical_section();
		preempt_enable();
	} else {
		return -EINVAL;
	}
	return -EAGAIN; /* it need not stay */
}
module_init(critical_sections_init);

MODULE_DESCRIPTION("A section that latency tracers measure in part");
MODULE_LICENSE("GPL");
