# SPDX-License-Identifier: GPL-2.0
# The tracers of latencies with the option display-graph: call graphs instead of function entries.
trace() { # times and durations have as many digits as they have
	sed -E 's/latency: [0-9]+ us/latency: N us/; s/task: (.*)-[0-9]+/task: \1-PID/; s/^ +[0-9]+ us \|/ REL |/
		s/[ +!#*@$] [0-9.]+ us +\|/ TOOK |/; s/\) +([^ |]+)-[0-9]+ +\|/) \1-PID |/' trace
}
hold() { # tracer, test_mode
	echo 0 > tracing_on
	echo "$1" > current_tracer
	modprobe preemptirq_delay_test delay=1 # in memory after that
	rmmod preemptirq_delay_test
	echo 1 > tracing_on
	echo 0 > tracing_max_latency
	modprobe preemptirq_delay_test test_mode="$2" delay=300000
	echo 0 > tracing_on
	trace # while the names of the module's functions are known
	rmmod preemptirq_delay_test
}
echo "== display-graph, nothing measured =="
cat options/display-graph
echo 0 > options/function-trace
echo 0 > tracing_on
echo 1 > options/display-graph
cat options/display-graph trace_options | grep -e '^[01]' -e display-graph
echo irqsoff > current_tracer
cat trace
echo "== display-graph, irqsoff =="
hold irqsoff irq
echo "== display-graph, preemptoff =="
hold preemptoff preempt
echo "== display-graph, preemptirqsoff =="
hold preemptirqsoff preempt
echo "== display-graph, off and on =="
echo 5000 > tracing_max_latency
echo 0 > options/display-graph
cat tracing_max_latency
echo 5000 > tracing_max_latency
echo 1 > options/display-graph
cat tracing_max_latency
echo "== display-graph, functions =="
echo nop > current_tracer
echo kthread_should_stop > set_graph_function
echo 1 > options/function-trace
hold irqsoff irq | grep 'kthread_should_stop();' | sort -u # older ones may have lost their half
echo nop > current_tracer
echo > set_graph_function
echo nop > current_tracer
echo 0 > options/display-graph
echo 1 > options/function-trace
echo 1 > tracing_on
