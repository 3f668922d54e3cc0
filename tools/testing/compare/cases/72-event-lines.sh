# SPDX-License-Identifier: GPL-2.0
# The lines of events: symbols, flags, arrays, bytes, masks, texts, addresses, in each format of output.
shown() { # event; numbers have any width
	grep -v '^#' trace | grep " $1: " | sed 's/^ *.*-[0-9]* *\[[0-9]*\] [^ ]* *[0-9.]*: //; s/\(0x\)*[0-9a-f]\{8,\}/ADDRESS/g; s/[0-9][0-9]*/N/g'
}
fresh() {
	echo > set_event
	echo > trace
	echo 1 > tracing_on
}
echo "== sample events =="
fresh
modprobe -q trace-events-sample
rmmod trace-events-sample
echo ':mod:trace-events-sample' > set_event
cat set_event
modprobe trace-events-sample
sleep 5
echo 0 > tracing_on
cat set_event
for event in foo_bar foo_bar_with_cond foo_with_template_simple foo_with_template_print foo_with_template_cond foo_with_template_fn foo_rel_loc \
	foo_bar_with_fn; do
	echo "$event:"
	shown $event | head -n 4
done
echo "== masks of CPUs =="
for value in 1 0; do
	echo "bitmask-list $value:"
	echo $value > options/bitmask-list
	sed -n 's/ iter=.*//; s/.* foo_bar: foo hello /exact /p; s/.* foo_rel_loc: /exact /p' trace | head -n 8
done
echo "== formats of sample events =="
for event in events/sample-trace/*/; do
	grep -v '^ID: ' $event/format
done
echo "== enable files of a module's events =="
cat events/sample-trace/enable
echo 0 > events/sample-trace/foo_bar/enable
cat events/sample-trace/enable events/sample-trace/foo_bar/enable
echo 'bar == 3' > events/sample-trace/foo_bar/filter
cat events/sample-trace/foo_bar/filter show_event_filters
echo "== module =="
fresh
echo 1 > events/module/enable
rmmod trace-events-sample
modprobe trace-events-sample
rmmod trace-events-sample
echo 0 > tracing_on
for event in module_load module_free; do
	shown $event
done
cat show_event_filters
echo "== processes =="
fresh
echo 1 > events/sched/sched_process_exec/enable
echo 1 > events/sched/sched_process_exit/enable
echo 1 > events/sched/sched_process_wait/enable
echo 1 > events/task/enable
echo 1 > events/signal/enable
sh -c 'kill -USR1 $$; true' 2> /dev/null
sh -c 'trap "" USR2; kill -USR2 $$; echo > /dev/null'
echo 0 > tracing_on
for event in sched_process_exec sched_process_exit task_newtask task_rename signal_generate signal_deliver; do
	echo "$event:"
	shown $event | grep -v -e 'sig=N errno=N code=N comm=cat' | sort -u | head -n 12
done
echo "== other formats =="
fresh
echo 1 > events/sched/sched_process_exec/enable
/bin/true
echo 0 > tracing_on
for option in raw fields hash-ptr verbose; do
	echo "$option:"
	echo $option > trace_options
	grep -v '^#' trace | sed 's/.*sched_process_exec/sched_process_exec/; s/0x[0-9a-f]*/0xN/g; s/[0-9][0-9]*/N/g'
	echo no$option > trace_options
done
echo hash-ptr > trace_options
echo 1 > tracing_on
echo > set_event
echo > trace
