# SPDX-License-Identifier: GPL-2.0
# The order of directories of events, as readdir gives it, and of set_event: events that came before and after an instance.
mine() {
	grep -x -e enable -e filter -e header_page -e sched -e irq -e kprobes -e agrp -e zgrp -e newgrp -e synthetic -e sample-trace \
		-e preemptirq -e osnoise -e ftrace -e error_report -e power
}
order() {
	for events in events instances/*/events; do
		echo "$events:"
		ls -U $events | mine
	done
}
echo "== events that come =="
echo 'p:kprobes/a vfs_read' > kprobe_events
echo 'p:zgrp/b vfs_read' >> kprobe_events
echo 'p:agrp/c vfs_read' >> kprobe_events
echo 'p:agrp/a vfs_read' >> kprobe_events
echo 'p:sched/mine vfs_read' >> kprobe_events
echo 'syn int a' > synthetic_events
order
mkdir instances/early
order
ls -U events/agrp events/sched instances/early/events/agrp instances/early/events/sched
echo "== events that come after an instance =="
echo 'p:agrp/later vfs_read' >> kprobe_events
echo 'p:newgrp/later vfs_read' >> kprobe_events
modprobe trace-events-sample
mkdir instances/late
order
ls -U instances/*/events/agrp instances/*/events/sample-trace events/sample-trace
echo "== set_event =="
for name in . instances/early instances/late; do
	for event in sched:mine sched:sched_switch agrp: zgrp: irq: sample-trace:foo_bar newgrp:; do
		echo $event >> $name/set_event
	done
	# Of all that cannot be enabled, a trigger enables this one.
	echo 'stacktrace if common_pid < 0' > $name/events/ftrace/print/trigger
	echo power:cpu_idle >> $name/set_event
	cat $name/set_event
	echo '!stacktrace' > $name/events/ftrace/print/trigger
	echo > $name/set_event
done
echo "== events that go and come again =="
echo '-:agrp/a' >> kprobe_events
rmmod trace-events-sample
order
modprobe trace-events-sample
echo 'p:agrp/a vfs_read' >> kprobe_events
order
ls -U events/agrp instances/*/events/agrp
rmmod trace-events-sample
rmdir instances/*
echo > kprobe_events
echo > synthetic_events
