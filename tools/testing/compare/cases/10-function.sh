# SPDX-License-Identifier: GPL-2.0
# The function tracer on one function that one process calls a known number of times, in every line format.
work() { # the traced process writes to /dev/null three times
	sh -c 'echo $$ > set_ftrace_pid; echo 1 > tracing_on; for n in 1 2 3; do echo $n > /dev/null; done; echo 0 > tracing_on'
}
begin() {
	echo 0 > tracing_on
	echo nop > current_tracer
	echo "$1" > set_ftrace_filter
	echo function > current_tracer
	echo > trace
}
reset() {
	echo nop > current_tracer
	echo > set_ftrace_filter
	echo > set_ftrace_pid
	echo > trace
}
echo "== empty trace, nop =="
cat trace
begin vfs_write
echo "== empty trace, function =="
cat trace
work
echo "== function, normal =="
cat trace
for option in noprint-parent sym-offset verbose latency-format raw hex nocontext-info noirq-info record-tgid noannotate; do
	base=${option#no}
	case $option in no*) back=$base ;; *) back=no$option ;; esac
	echo $option > trace_options
	echo "== function, $option =="
	case $option in raw|hex) sed 's/[0-9a-f]\{8,\}/ADDRESS/g' trace ;; *) cat trace ;; esac
	echo $back > trace_options
done
echo verbose > trace_options
echo latency-format > trace_options
echo "== function, latency-format and verbose =="
cat trace
echo noverbose > trace_options
echo nolatency-format > trace_options
echo "== per_cpu trace =="
cat per_cpu/cpu0/trace
echo "== trace_pipe =="
timeout 2 cat trace_pipe
echo "== trace after trace_pipe =="
cat trace
begin 'vfs_write vfs_read'
echo 1 > options/func_stack_trace
work
echo 0 > options/func_stack_trace
echo "== function with stacks =="
cat trace
begin vfs_write
echo 1 > options/func-no-repeats
work
echo 0 > options/func-no-repeats
echo "== function without repeats =="
sed 's/last_ts: *[0-9.]*/last_ts/' trace
for clock in global counter mono x86-tsc; do
	begin vfs_write
	echo $clock > trace_clock
	work
	echo "== clock $clock =="
	cat trace
done
echo local > trace_clock
reset
