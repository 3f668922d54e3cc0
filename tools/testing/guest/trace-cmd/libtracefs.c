// SPDX-License-Identifier: GPL-2.0
/* What libtracefs's functions find and do: an instance, events with a filter, a kprobe, records read back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <tracefs/tracefs.h>

#define need(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #what, strerror(errno)); \
			exit(1); \
		} \
	} while (0)

struct seen {
	int calls, probes, marks, others;
};

static int look(struct tep_event *event, struct tep_record *record, int cpu, void *context)
{
	struct seen *seen = context;
	unsigned long long id;

	if (!strcmp(event->name, "sys_enter")) {
		need(!tep_get_field_val(NULL, event, "id", record, &id, 1));
		seen->calls++;
		seen->others += id != 110;
	} else if (!strcmp(event->name, "opened")) {
		seen->probes++;
	} else if (!strcmp(event->name, "print")) {
		seen->marks++;
	}
	return 0;
}

int main(void)
{
	const char *systems[] = { "raw_syscalls", "kprobes", "ftrace", NULL };
	struct tracefs_instance *instance;
	struct seen seen = {};
	struct tep_handle *tep;
	struct tep_event *event;
	char **names, *text;
	int at, found = 0;

	names = tracefs_tracers(NULL);
	need(names);
	for (at = 0; names[at]; at++)
		found |= !strcmp(names[at], "function");
	need(found);
	tracefs_list_free(names);
	names = tracefs_system_events(NULL, "sched");
	need(names && names[0]);
	tracefs_list_free(names);

	need(!tracefs_kprobe_raw("kprobes", "opened", "do_sys_openat2", "dfd=$arg1:s32"));
	instance = tracefs_instance_create("libtracefs");
	need(instance && tracefs_instance_is_new(instance));
	tep = tracefs_local_events_system(NULL, systems);
	need(tep);
	event = tep_find_event_by_name(tep, "raw_syscalls", "sys_enter");
	need(event);
	/* The number of getppid(). */
	need(tracefs_event_filter_apply(instance, event, "id == 110") >= 0);
	need(!tracefs_event_enable(instance, "raw_syscalls", "sys_enter"));
	need(!tracefs_event_enable(instance, "kprobes", "opened"));
	need(!tracefs_print_init(instance));
	need(tracefs_trace_is_on(instance) == 1);
	for (at = 0; at < 5; at++)
		getppid();
	text = tracefs_instance_file_read(instance, "tracing_on", NULL);
	need(text && text[0] == '1');
	free(text);
	need(!tracefs_printf(instance, "a mark %d", 7));
	need(!tracefs_trace_off(instance));
	need(!tracefs_iterate_raw_events(tep, instance, NULL, 0, look, &seen));
	printf("calls %d others %d probes %s marks %d\n", seen.calls, seen.others, seen.probes ? "some" : "none", seen.marks);

	need(!tracefs_event_disable(instance, NULL, NULL));
	tracefs_print_close(instance);
	need(!tracefs_instance_destroy(instance));
	tracefs_instance_free(instance);
	need(!tracefs_dynevent_destroy_all(TRACEFS_DYNEVENT_KPROBE, false));
	need(!tracefs_instance_exists("libtracefs"));
	return 0;
}
