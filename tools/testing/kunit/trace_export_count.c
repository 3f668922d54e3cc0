// SPDX-License-Identifier: GPL-2.0
/*
 * Takes entries beside the buffers, by register_ftrace_export() of <linux/trace.h>, and counts them: parameter flags says
 * which, the others say what came.
 */
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/trace.h>
#include <linux/trace_events.h>

static int flags = TRACE_EXPORT_FUNCTION | TRACE_EXPORT_EVENT | TRACE_EXPORT_MARKER;
module_param(flags, int, 0444);

/* The types of the core's own entries that come here. */
enum { FUNCTION = 1, PRINT = 5, OWN = 21 };

static atomic_t functions, arguments, markers, events, others, lengths;

static int get(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%d\n", atomic_read((atomic_t *)param->arg));
}

static const struct kernel_param_ops ops = { .get = get };

module_param_cb(functions, &ops, &functions, 0444);
/* Those of the functions that have arguments. */
module_param_cb(arguments, &ops, &arguments, 0444);
module_param_cb(markers, &ops, &markers, 0444);
module_param_cb(events, &ops, &events, 0444);
module_param_cb(others, &ops, &others, 0444);
/* Entries of a length that they cannot have, and markers without an end. */
module_param_cb(wrong_lengths, &ops, &lengths, 0444);

static char last_marker[64];
module_param_string(last_marker, last_marker, sizeof(last_marker), 0444);

/* Can be traced: what an export calls may be. */
noinline void trace_export_called(void);

noinline void trace_export_called(void)
{
	barrier();
}

static void notrace take(struct trace_export *export, const void *data, unsigned int length)
{
	const struct trace_entry *entry = data;
	const char *text = data + sizeof(*entry) + sizeof(long);

	switch (entry->type) {
	case FUNCTION:
		atomic_inc(&functions);
		trace_export_called();
		/* Tracers of latencies record arguments, too. */
		if (length == sizeof(*entry) + 8 * sizeof(long))
			atomic_inc(&arguments);
		else if (length != sizeof(*entry) + 2 * sizeof(long))
			atomic_inc(&lengths);
		break;
	case PRINT:
		atomic_inc(&markers);
		if (length <= sizeof(*entry) + sizeof(long) ||
		    !memchr(text, 0, length - sizeof(*entry) - sizeof(long)))
			atomic_inc(&lengths);
		else
			strscpy(last_marker, text, sizeof(last_marker));
		break;
	default:
		atomic_inc(entry->type >= OWN ? &events : &others);
		if (length <= sizeof(*entry))
			atomic_inc(&lengths);
	}
}

static struct trace_export count = { .write = take };
static struct trace_export none;

static int __init begin(void)
{
	if (register_ftrace_export(&none) != -1 || unregister_ftrace_export(&count) != -1)
		return -EINVAL;
	count.flags = flags;
	return register_ftrace_export(&count);
}

static void __exit end(void)
{
	WARN_ON(unregister_ftrace_export(&count));
	WARN_ON(unregister_ftrace_export(&count) != -1);
}

module_init(begin);
module_exit(end);
MODULE_DESCRIPTION("Counts the entries that it gets beside the trace buffers");
MODULE_LICENSE("GPL");
