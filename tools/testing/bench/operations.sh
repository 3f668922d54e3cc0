#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# operations.sh PROGRAM: in a guest with ICOUNT=1, print a line `operation instructions` for each control operation and for
# each kind of line that is read. Of what is measured more than once the least counts: the first time may still allocate,
# and an operation that waits for a grace period waits much longer where it comes at a bad moment.
program=$1
getppid=${program%/*}/getppid
set -e
cd /sys/kernel/tracing
one='*_sys_getppid'

# name, then the operation
count() {
	name=$1
	shift
	"$program" "$@" > /tmp/figure && echo "$name $(cat /tmp/figure)" >> /tmp/figures
}

often() { # at moments that differ
	for pause in 0.01 0.02 0.03 0.05 0.07; do
		"$@"
		sleep $pause
	done
}

tracer() { # name, tracer: switching it on and off
	count "$1_on" write current_tracer "$2"
	count "$1_off" write current_tracer nop
}

"$program" write current_tracer function > /dev/null
"$program" write current_tracer nop > /dev/null
tracer function_all function
tracer graph_all function_graph
echo "$one" > set_ftrace_filter
often tracer function_one function
often tracer graph_one function_graph
echo > set_ftrace_filter
"$program" write buffer_size_kb 4096 > /dev/null
sizes() {
	count size_down write buffer_size_kb 1408
	count size_up write buffer_size_kb 4096
	count size_back write buffer_size_kb 1408
	"$program" write buffer_size_kb 4096 > /dev/null
}
often sizes
"$program" write buffer_size_kb 1408 > /dev/null
instance() {
	count instance_made mkdir instances/one
	count instance_removed rmdir instances/one
}
often instance
filter() {
	count filter_add write set_ftrace_filter vfs_read
	count filter_glob write set_ftrace_filter 'vfs_*'
	count filter_cleared write set_ftrace_filter ''
}
often filter

# What is read: the calls of everything that a program does.
record() {
	echo 0 > tracing_on
	echo "$1" > current_tracer
	echo > trace
	echo 1 > tracing_on
	ls -l /proc /sys /proc/self > /dev/null
	echo 0 > tracing_on
}
record function
count line_function lines trace
count pipe_function lines trace_pipe
record function
count page_raw pages per_cpu/cpu0/trace_pipe_raw
record function_graph
count line_graph lines trace
count pipe_graph lines trace_pipe
echo nop > current_tracer
echo 1 > tracing_on

# Lines of events: switches and wake-ups, memory, and system calls with their flags and texts.
echo > trace
for system in sched kmem syscalls; do echo 1 > events/$system/enable; done
ls -l /proc /sys /proc/self > /dev/null
for system in sched kmem syscalls; do echo 0 > events/$system/enable; done
count line_event lines trace
count pipe_event lines trace_pipe

# A function's hit while a latency tracer is on that measures nothing.
none=$("$getppid")
echo "$one" > set_ftrace_filter
echo wakeup_dl > current_tracer
echo "wakeup_hit $((($("$getppid") - none + 10000) / 20000))"
echo nop > current_tracer
echo > set_ftrace_filter

# Last: these leave names and records behind, which make a line and a page dearer to read.
events() {
	count events_on write events/enable 1
	count events_off write events/enable 0
}
often events

# A thousand kprobe events, each of another function; those whose name is not unique, or that cannot be probed, are left out.
if [ -e kprobe_events ]; then
	sed -n '/^[a-z_]*$/p' available_filter_functions | sort | uniq -u | head -n 1400 | while read -r function; do
		echo "p:many/$function $function" 2> /dev/null >> kprobe_events || true
	done
	head -n 1000 kprobe_events > /tmp/probes
	echo > kprobe_events
	[ "$(wc -l < /tmp/probes)" = 1000 ]
	count probes_made copy kprobe_events /tmp/probes
	count probes_removed truncate kprobe_events
fi

sort -k1,1 -k2,2n /tmp/figures | sort -s -u -k1,1
