# SPDX-License-Identifier: GPL-2.0
# In the guest, in tracefs: all that can be at one site, at once, and each of them sees what it should.
set -e

wrong() {
	echo "$1"
	exit 1
}

since() { dmesg | tail -n +$((before + 1)); }

work() { for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; }

echo nop > current_tracer
echo > trace

# A kprobe, a kretprobe and the graph on one function.
echo kernel_clone > set_ftrace_filter
for order in graph probes; do
	[ $order = probes ] || echo function_graph > current_tracer
	modprobe kprobe_example symbol=kernel_clone
	modprobe kretprobe_example func=kernel_clone
	[ $order = graph ] || echo function_graph > current_tracer
	before=$(dmesg | wc -l)
	work
	[ "$(since | grep -c 'handler_pre: <kernel_clone>')" -ge 10 ] || wrong "$order first: the kprobe: $(since)"
	[ "$(since | grep -c 'kernel_clone returned')" -ge 10 ] || wrong "$order first: the kretprobe: $(since)"
	[ "$(grep -c 'kernel_clone()' trace)" -ge 10 ] || wrong "$order first: the graph: $(cat trace)"
	rmmod kprobe_example kretprobe_example
	echo nop > current_tracer
	echo > trace
done

# A livepatch, and the tracer on the function that it replaces.
echo cmdline_proc_show > set_ftrace_filter
echo function > current_tracer
modprobe livepatch_sample
grep -q 'this has been live patched' /proc/cmdline || wrong "not patched: $(cat /proc/cmdline)"
grep -q 'cmdline_proc_show' trace || wrong "the patched function is not traced: $(cat trace)"
echo 0 > /sys/kernel/livepatch/livepatch_sample/enabled
tries=0
while [ -e /sys/kernel/livepatch/livepatch_sample ]; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || wrong "the livepatch stays"
	sleep 0.2
done
grep -q 'this has been live patched' /proc/cmdline && wrong "still patched"
rmmod livepatch_sample
echo nop > current_tracer
echo > trace

# What C functions print, of events that C functions fill in: called through pointers that kCFI looks at.
for event in sched/sched_switch irq_vectors/local_timer_entry; do
	echo 1 > events/$event/enable
	work
	echo 0 > events/$event/enable
	grep -q "${event#*/}: " trace || wrong "no $event: $(cat trace)"
	echo > trace
done

echo 1 > events/syscalls/enable
work
echo 0 > events/syscalls/enable
grep -q 'sys_openat(' trace || wrong "no system calls: $(head -50 trace)"
grep -q 'sys_openat -> ' trace || wrong "no returns of system calls: $(head -50 trace)"
echo > trace

# Direct callers, alone and beside the tracer.
for module in ftrace-direct ftrace-direct-modify ftrace-direct-multi ftrace-direct-too; do
	modprobe -n -q $module || continue
	modprobe $module
	echo > set_ftrace_filter
	echo function > current_tracer
	work
	echo nop > current_tracer
	rmmod $module
	echo > trace
done

# Rust code is traced, and calls and returns as any other.
modprobe -n -q rust_minimal && {
	modprobe rust_minimal
	rmmod rust_minimal
}

# Everything at once.
echo function_graph > current_tracer
work
echo nop > current_tracer
[ -z "$(cat enabled_functions)" ] || wrong "still enabled: $(head enabled_functions)"
