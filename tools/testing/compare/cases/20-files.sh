# SPDX-License-Identifier: GPL-2.0
# What the control files read: at boot, and after changes.
for file in current_tracer tracing_on trace_clock buffer_size_kb buffer_total_size_kb set_ftrace_filter set_ftrace_notrace \
	set_ftrace_pid set_ftrace_notrace_pid tracing_cpumask saved_cmdlines_size saved_tgids error_log enabled_functions \
	per_cpu/cpu0/buffer_size_kb; do
	echo "== $file, fresh =="
	cat $file
	echo .
done
echo "== modes =="
for file in current_tracer tracing_on trace_clock buffer_size_kb buffer_total_size_kb set_ftrace_filter set_ftrace_notrace \
	set_ftrace_pid set_ftrace_notrace_pid tracing_cpumask saved_cmdlines_size saved_tgids error_log enabled_functions touched_functions \
	per_cpu/cpu0/buffer_size_kb available_tracers trace trace_pipe trace_options trace_marker saved_cmdlines free_buffer README \
	available_filter_functions available_filter_functions_addrs dyn_ftrace_total_info per_cpu/cpu0/trace per_cpu/cpu0/trace_pipe \
	per_cpu/cpu0/stats per_cpu per_cpu/cpu0 options options/annotate .; do
	stat -c '%n %A %s %U %G' $file
done
echo "== filter =="
echo 'vfs_read vfs_write' > set_ftrace_filter
cat set_ftrace_filter
echo "== filter, appended and removed =="
echo 'vfs_fsync*' >> set_ftrace_filter
echo '!vfs_read' >> set_ftrace_filter
cat set_ftrace_filter
echo "== filter for a module that is not there =="
echo ':mod:nosuchmodule' >> set_ftrace_filter
echo 'vfs_*:mod:nosuchmodule' >> set_ftrace_filter
cat set_ftrace_filter
echo > set_ftrace_filter
echo "== notrace =="
echo 'vfs_*' > set_ftrace_notrace
cat set_ftrace_notrace
echo > set_ftrace_notrace
echo "== commands =="
echo 'vfs_read:traceoff' > set_ftrace_filter
echo 'vfs_write:traceon:3' >> set_ftrace_filter
echo 'vfs_read:stacktrace:5' >> set_ftrace_filter
cat set_ftrace_filter
echo '!vfs_read:traceoff' >> set_ftrace_filter
echo '!vfs_write:traceon:0' >> set_ftrace_filter
echo '!vfs_read:stacktrace:0' >> set_ftrace_filter
echo 1 > tracing_on
echo "== after the commands =="
cat set_ftrace_filter
echo "== size =="
echo 100 > buffer_size_kb
cat buffer_size_kb buffer_total_size_kb
echo "== one CPU's size =="
echo 200 > per_cpu/cpu0/buffer_size_kb
cat buffer_size_kb per_cpu/cpu0/buffer_size_kb buffer_total_size_kb
echo 1410 > buffer_size_kb
echo "== enabled functions =="
echo vfs_read > set_ftrace_filter
echo function > current_tracer
cat enabled_functions
echo nop > current_tracer
echo > set_ftrace_filter
echo "== clocks =="
for clock in $(tr -d '[]' < trace_clock); do
	echo $clock > trace_clock
	cat trace_clock
done
echo local > trace_clock
echo "== marker =="
echo 1 > tracing_on
echo > trace
echo 'hello, marker' > trace_marker
printf 'no newline' > trace_marker
# Whether the name of the shell was saved depends on when it was last switched.
sed 's/^ *[^ ]*-[0-9]* /TASK-PID /' trace
echo "== stats =="
cat per_cpu/cpu0/stats
echo > trace
