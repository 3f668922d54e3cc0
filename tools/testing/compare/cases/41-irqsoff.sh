# SPDX-License-Identifier: GPL-2.0
# The tracers of sections with interrupts or preemption off, measuring the kernel's own module for that: longer than
# anything else takes, and than the host may take the guest's CPU away.
# pids have as many digits as tasks were started before.
trace() {
	sed -E 's/latency: [0-9]+ us/latency: N us/; s/task: (.*)-[0-9]+/task: \1-PID/' trace
}
hold() { # tracer, test_mode, more parameters
	echo 0 > tracing_on
	echo "$1" > current_tracer
	tracer=$1 mode=$2
	shift 2
	modprobe preemptirq_delay_test delay=1 # in memory after that
	rmmod preemptirq_delay_test
	echo 1 > tracing_on
	echo 0 > tracing_max_latency
	modprobe preemptirq_delay_test test_mode="$mode" delay=300000 "$@"
	echo 0 > tracing_on
	trace # while the names of the module's functions are known
	rmmod preemptirq_delay_test
	us=$(cat tracing_max_latency)
	[ "$us" -ge 300000 ] && [ "$us" -lt 900000 ] && echo "$tracer, $mode: found" || echo "$tracer, $mode: $us"
}
echo "== nothing held yet =="
echo 0 > options/function-trace
echo 0 > tracing_on
echo irqsoff > current_tracer
cat trace tracing_max_latency
echo "== forced options while irqsoff is current =="
cat options/overwrite options/latency-format options/pause-on-trace
echo 0 > options/overwrite
cat snapshot
echo 1 > snapshot
echo "== another of the kind =="
mkdir instances/other
echo preemptoff > instances/other/current_tracer
rmdir instances/other
echo nop > current_tracer
echo "== addresses in the header of an instance =="
mkdir instances/other
echo 1 > tracing_on
echo irqsoff > instances/other/current_tracer
echo 0 > instances/other/tracing_max_latency
sleep 0.5
echo 0 > instances/other/tracing_on
header() {
	grep -E '=> (started|ended) at' instances/other/trace | sed -E 's/ [^ ]+( <[0-9a-f]+>)?$/ NAME\1/'
}
header
echo 1 > instances/other/options/sym-addr
header
echo 1 > options/sym-addr
header
echo 0 > instances/other/options/sym-addr
header
echo 0 > options/sym-addr
echo nop > instances/other/current_tracer
rmdir instances/other
echo 0 > tracing_on
for tracer in irqsoff preemptirqsoff; do
	echo "== $tracer, interrupts =="
	hold $tracer irq
	echo "== $tracer, interrupts, a burst =="
	hold $tracer irq burst_size=10
done
for tracer in preemptoff preemptirqsoff; do
	echo "== $tracer, preemption =="
	hold $tracer preempt
done
echo "== preemptirqsoff, alternating =="
hold preemptirqsoff alternate burst_size=4 | tail -n 1
echo "== the wrong one sees nothing =="
echo irqsoff > current_tracer
modprobe preemptirq_delay_test test_mode=preempt delay=300000
rmmod preemptirq_delay_test
[ "$(cat tracing_max_latency)" -lt 300000 ] && echo irqsoff: below
echo "== after it =="
echo nop > current_tracer
cat options/overwrite options/latency-format options/pause-on-trace trace
echo 1 > tracing_on
