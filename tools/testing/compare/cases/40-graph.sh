# SPDX-License-Identifier: GPL-2.0
# function_graph on two functions that one process calls a known number of times, with every option and in every format.
work() { # the traced process writes to /dev/null twice, and a mark between
	sh -c 'echo $$ > set_ftrace_pid; echo 1 > tracing_on; echo 1 > /dev/null; echo mark > trace_marker
		echo 22 > /dev/null; echo 0 > tracing_on'
}
begin() { # filter
	echo 0 > tracing_on
	echo nop > current_tracer
	echo "$1" > set_ftrace_filter
	echo function_graph > current_tracer
	echo > trace
}
reset() {
	echo nop > current_tracer
	echo > set_ftrace_filter
	echo > set_ftrace_pid
	echo > trace
}
show() { # durations and their marks go, the columns stay
	sed -E -e 's/[+!#*@$]( +[0-9.]+ us)/ \1/' -e 's/[ +!#*@$] +[0-9.]+ us +\|/  T us        |/' -e 's/ [^ ]*-[0-9]+ +\|/ TASK |/' -e 's/ +[0-9]+\.[0-9]{6} \|/TIME |/' \
		-e 's/[^ ]+-[0-9]+ +=>/TASK =>/; s/=> +[^ ]+-[0-9]+ +/=> TASK/' "$@"
}
begin 'ksys_write vfs_write'
echo "== graph, empty =="
cat trace
grep -vxE '(no)?rust-(demangle|paths)' trace_options | tail -n 14
work
echo "== graph, default =="
show trace
for option in funcgraph-overrun nofuncgraph-cpu nofuncgraph-overhead funcgraph-proc nofuncgraph-duration funcgraph-abstime \
	funcgraph-tail funcgraph-retval nocontext-info latency-format raw hex bin nofuncgraph-irqs; do
	base=${option#no}
	case $option in no*) back=$base ;; *) back=no$option ;; esac
	echo $option > trace_options
	echo "== graph, $option =="
	show trace
	echo $back > trace_options
done
echo funcgraph-retval > trace_options
echo funcgraph-retval-hex > trace_options
echo "== graph, return values in hexadecimal =="
show trace
echo nofuncgraph-retval > trace_options
echo nofuncgraph-retval-hex > trace_options
for option in funcgraph-proc funcgraph-abstime latency-format funcgraph-tail; do echo $option > trace_options; done
reset
begin 'ksys_write vfs_write ksys_read'
echo funcgraph-retaddr > trace_options
work
for option in funcgraph-retaddr funcgraph-retval funcgraph-tail sym-addr nofuncgraph-retaddr raw hex; do
	echo "== graph, return addresses, $option =="
	echo $option > trace_options
	show trace
done
for option in nohex noraw nofuncgraph-retaddr nofuncgraph-retval nofuncgraph-tail nosym-addr; do echo $option > trace_options; done
begin 'ksys_write vfs_write'
work
echo "== graph, all columns =="
show trace
for option in funcgraph-proc funcgraph-abstime latency-format funcgraph-tail; do echo no$option > trace_options; done
echo "== graph, per_cpu trace =="
show per_cpu/cpu0/trace
echo "== graph, trace_pipe =="
timeout 2 cat trace_pipe | show
echo "== graph, trace after trace_pipe =="
cat trace
begin 'ksys_write vfs_write ksys_read'
echo 0 > options/sleep-time
echo 0 > options/funcgraph-irqs
work
echo "== graph, no sleep time and no interrupts =="
show trace
echo 1 > options/sleep-time
echo 1 > options/funcgraph-irqs
begin 'ksys_write vfs_write'
echo vfs_write > set_graph_function
echo "== set_graph_function =="
cat set_graph_function
work
show trace
echo '!vfs_write' >> set_graph_function
cat set_graph_function
echo vfs_write > set_graph_notrace
echo "== set_graph_notrace =="
cat set_graph_notrace
echo > trace
work
show trace
echo > set_graph_notrace
cat set_graph_notrace
echo 1 > max_graph_depth
echo "== max_graph_depth =="
cat max_graph_depth
echo > trace
work
show trace
echo 0 > max_graph_depth
echo "== graph files, bad input =="
for word in nosuchfunction '!vfs_write' ':' 'vfs_write:mod:ext4'; do
	echo "$word" > set_graph_function
	echo "$? $(cat set_graph_function)"
done 2>&1 | sed 's/^.*: //'
for number in x -1 99999999999999999999 3x ''; do
	echo "$number" > max_graph_depth
	echo "$? $(cat max_graph_depth)"
done 2>&1 | sed 's/^.*: //'
echo 0 > max_graph_depth
for clock in global counter mono x86-tsc; do
	begin vfs_write
	echo $clock > trace_clock
	work
	echo "== graph, clock $clock =="
	show trace
done
echo local > trace_clock
echo "== graph, entry formats =="
cat events/ftrace/funcgraph_entry/format events/ftrace/fgraph_retaddr_entry/format events/ftrace/funcgraph_exit/format
reset
