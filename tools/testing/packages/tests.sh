#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What an installed kernel has to do, as the only thing that runs on a Debian which has just booted; KTAP.
# Each test is a function that prints why and fails. `TRACE=c` runs the same.
tracing=/sys/kernel/tracing
work=/tmp/rtrace
mkdir -p "$work"
cd "$work" || exit 1
number=0

t_booted() { # with systemd and without a unit that failed
	state=$(systemctl list-units --state=failed --plain --no-legend)
	[ -z "$state" ] || { echo "$state"; return 1; }
	[ "$(cat /proc/1/comm)" = systemd ]
}

t_disk() { # the root is the disk, and its driver is a module that the initrd brought, or built in
	findmnt -n -o SOURCE / | grep -x /dev/vda
}

t_tracefs() { # tracefs is where systemd or the kernel mounts it
	ls "$tracing" >/dev/null && grep -q tracefs /proc/mounts && cat "$tracing/available_tracers" | grep -w function_graph
}

t_demonstration() { BUSYBOX=$(command -v busybox) sh /opt/rtrace/demo; }

t_trace_cmd_function() {
	trace-cmd record -q -p function -l 'vfs_*' ls / && trace-cmd report | grep vfs_ | head -n 3 | grep vfs_
}

t_trace_cmd_graph() {
	trace-cmd record -q -p function_graph -g vfs_read cat /proc/uptime && trace-cmd report | grep funcgraph_exit | head -n 3 | grep us
}

t_trace_cmd_events() {
	trace-cmd record -q -e sched:sched_switch -e syscalls ls / && trace-cmd report >report || return 1
	tail -n 3 report
	grep -q 'sched_switch:.*==>' report && grep -q sys_enter_openat report
}

t_filter_and_trigger() {
	trace-cmd record -q -e sched_switch -f 'prev_comm == "sleep"' sleep 0.2 && trace-cmd report >report || return 1
	tail -n 3 report
	grep -q 'sched_switch:.*sleep' report || return 1
	! grep 'sched_switch: *' report | grep -v 'sched_switch: *sleep:' || return 1
	(
		cd "$tracing/events/syscalls/sys_enter_openat" || exit 1
		echo traceoff:1 >trigger && cat /etc/hostname && cat "$tracing/tracing_on" && grep -x 0 "$tracing/tracing_on"
		status=$?
		echo '!traceoff' >trigger || status=1
		exit $status
	)
}

t_histogram() {
	(
		cd "$tracing/events/sched/sched_switch" || exit 1
		echo 'hist:keys=prev_comm:sort=hitcount' >trigger || exit 1
		sleep 0.5
		tail -n 5 hist
		grep -q 'prev_comm: swapper' hist
		status=$?
		echo '!hist:keys=prev_comm:sort=hitcount' >trigger || status=1
		exit $status
	)
}

t_dynamic_events() { # a probe with an argument, at an entry and a return
	echo 'p:opened do_sys_openat2 name=+0($arg2):ustring' >"$tracing/kprobe_events" &&
		echo 'r:done do_sys_openat2 result=$retval:s64' >>"$tracing/kprobe_events" || { cat "$tracing/error_log"; return 1; }
	echo 1 >"$tracing/events/kprobes/enable" || return 1
	cat /etc/hostname
	echo 0 >"$tracing/events/kprobes/enable"
	grep -m 1 'opened:.*name="/etc/hostname"' "$tracing/trace" && grep -m 1 'done:.*result=[0-9]' "$tracing/trace"
	status=$?
	echo >"$tracing/kprobe_events"
	return $status
}

t_modules() { # a module's functions and events appear with it
	found=
	for module in xfs nfs null_blk dm_mod; do
		modprobe -q "$module" || continue
		grep -m 1 "\[$module\]" "$tracing/available_filter_functions" && found=$module && break
	done
	[ -n "$found" ] || { echo "none of the modules could be loaded"; return 1; }
	echo ":mod:$found" >"$tracing/set_ftrace_filter" && wc -l <"$tracing/set_ftrace_filter"
	echo function >"$tracing/current_tracer" && echo nop >"$tracing/current_tracer" && echo >"$tracing/set_ftrace_filter"
}

t_own_module() { # that of tools/testing/packages/module
	insmod /opt/rtrace/own_module.ko || return 1
	grep -x 'own_module_answer \[own_module\]' "$tracing/available_filter_functions" || return 1
	echo ':mod:own_module' >"$tracing/set_ftrace_filter" && echo function >"$tracing/current_tracer" &&
		echo 1 >"$tracing/events/own_module/enable" && echo 41 >/sys/module/own_module/parameters/question
	status=$?
	cat "$tracing/trace" >trace
	echo nop >"$tracing/current_tracer" && echo >"$tracing/set_ftrace_filter" && rmmod own_module || status=1
	grep 'own_module_answer <-' trace && grep 'own_module_asked: question=41' trace && ! ls "$tracing/events/own_module" && return $status
}

t_all_functions() {
	echo function >"$tracing/current_tracer" && sleep 1 && ls -lR /etc >/dev/null || return 1
	echo 0 >"$tracing/tracing_on"
	# The next tracer begins with an empty buffer.
	lines=$(grep -vc '^#' "$tracing/trace")
	echo nop >"$tracing/current_tracer" && echo "$lines lines" && [ "$lines" -gt 1000 ]
}

t_all_events() {
	echo 1 >"$tracing/events/enable" && sleep 1 && ls -lR /etc >/dev/null && echo 0 >"$tracing/events/enable"
	[ "$(grep -vc '^#' "$tracing/trace")" -gt 1000 ]
}

t_instance() {
	mkdir "$tracing/instances/one" && echo 1 >"$tracing/instances/one/events/sched/enable" && sleep 0.2 || return 1
	grep -m 1 sched_switch "$tracing/instances/one/trace"
	status=$?
	echo 0 >"$tracing/instances/one/events/sched/enable"
	rmdir "$tracing/instances/one" && return $status
}

run() { # NAME FUNCTION
	number=$((number + 1))
	# trace-cmd leaves recording off.
	echo 1 >"$tracing/tracing_on"
	echo >"$tracing/trace"
	if "$2" >said 2>&1; then
		echo "ok $number $1"
	else
		tail -n 20 said | sed 's/^/# /'
		echo "not ok $number $1"
	fi
}

echo "1..15"
# What is told here is told of a machine at rest.
while systemctl is-system-running | grep -q starting && [ "$(systemctl list-jobs --no-legend | wc -l)" -gt 1 ]; do sleep 1; done
echo "# $(uname -r)"
echo "# $(systemd-analyze time 2>&1 | head -n 1)"
echo "# $(grep MemTotal /proc/meminfo) $(grep MemAvailable /proc/meminfo) $(grep Slab: /proc/meminfo)"
echo "# $(dmesg 2>/dev/null | grep 'Memory:' | head -n 1)"
run "systemd has booted, and no unit failed" t_booted
run "the root is the disk" t_disk
run "tracefs is mounted and function_graph there" t_tracefs
run "the demonstration of make run" t_demonstration
run "trace-cmd: function tracer" t_trace_cmd_function
run "trace-cmd: function_graph" t_trace_cmd_graph
run "trace-cmd: events" t_trace_cmd_events
run "a filter and a trigger" t_filter_and_trigger
run "a histogram" t_histogram
run "kprobe events" t_dynamic_events
run "functions of a module" t_modules
run "a module that was built with the headers package" t_own_module
run "all functions" t_all_functions
run "all events" t_all_events
run "an instance" t_instance
