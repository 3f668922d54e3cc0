# SPDX-License-Identifier: GPL-2.0
# The wakeup tracers: their files and entries, and the trace of one real-time task that a timer wakes.
sleeps() {
	grep -qs nanosleep /proc/$1/wchan
}
# A real-time task that a timer wakes, and that ends the recording: its end waits for its files, and wakes again.
sleeper() {
	exec chrt -f 5 perl -e 'open $switch, ">", "tracing_on"; sleep $ARGV[0]; syswrite $switch, "0\n"' "$1"
}
wake() { # What is measured is the timer that wakes a task which sleeps already.
	echo 0 > tracing_on
	echo "$1" > current_tracer
	(sleeper 0) # its files are in memory after that
	while :; do
		sleeper 2 &
		until sleeps $! || ! kill -0 $! 2> /dev/null; do sleep 0.1; done
		echo 0 > tracing_max_latency
		echo 1 > tracing_on
		sleeps $! && break
		wait # A busy machine needed more than the two seconds: the timer came before the tracer was on.
		echo 0 > tracing_on
	done
	wait
}
trace() { # pids have as many digits as tasks were started before
	sed -E 's/latency: [0-9]+ us/latency: N us/; s/ +[0-9]+:( *[0-9]+:[A-Z])/ PID:\1/g' trace
}
echo "== latency files =="
cat tracing_max_latency tracing_thresh options/function-trace
stat -c '%n %A' tracing_max_latency tracing_thresh
echo 5 > tracing_thresh
cat tracing_thresh
echo x > tracing_thresh
echo 0 > tracing_thresh
echo "== entries of wake-ups and switches =="
cat events/ftrace/context_switch/format events/ftrace/wakeup/format
echo "== no wake-up yet =="
echo 0 > options/function-trace
echo wakeup_dl > current_tracer
cat trace
echo "== forced options =="
cat options/overwrite options/latency-format options/pause-on-trace
echo 0 > options/overwrite
echo "== the snapshot is the tracer's =="
cat snapshot
echo 1 > snapshot
echo "== a wake-up without functions =="
wake wakeup_rt
# The tracer's own functions are not part of what it shows here.
trace | grep -v -e __ftrace_trace_stack -e probe_wakeup
echo "== after it =="
echo nop > current_tracer
cat options/overwrite options/latency-format trace
echo 1 > tracing_on
echo "== functions meanwhile =="
echo pick_task_rt > set_ftrace_filter
echo 1 > options/function-trace
wake wakeup_rt
trace | grep '() <-' | sed 's/.*us.: //' | sort -u
echo nop > current_tracer
echo "== functions of tasks that are not traced =="
echo 1 > set_ftrace_pid
wake wakeup_rt
trace | grep -c '() <-'
echo nop > current_tracer
echo > set_ftrace_pid
echo > set_ftrace_filter
echo 1 > tracing_on
