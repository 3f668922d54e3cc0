# SPDX-License-Identifier: GPL-2.0
# In a guest whose clock counts instructions: a section of so many microseconds is found as just that many. Prints KTAP.
cd /sys/kernel/tracing || exit 1
number=0

result() { # name, what it should be, what it is
	number=$((number + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $number $1"
	else
		echo "# $2 expected, got $3"
		echo "not ok $number $1"
	fi
}

worst() { sed -n 's/^# latency: \([0-9]*\) us, .*/\1/p' trace; }

start() { # tracer
	echo nop > current_tracer
	echo "$1" > current_tracer
}

echo "KTAP version 1"
echo 0 > options/function-trace
modprobe -q preemptirq_delay_test delay=1 # in memory after that
rmmod preemptirq_delay_test
modprobe -q critical_sections
for us in 5000 70000; do
	for case in irqsoff:irq preemptirqsoff:irq preemptoff:preempt preemptirqsoff:preempt; do
		start ${case%:*}
		modprobe preemptirq_delay_test test_mode=${case#*:} delay=$us
		result "${case%:*} finds ${case#*:} off for $us us" $us "$(worst)"
		rmmod preemptirq_delay_test
	done
done
# A tick that falls on the end of a section that leaves interrupts on makes it longer by some microseconds: another try.
measured() { # tracer, kind, before, after, what it should be
	for try in 1 2 3; do
		start "$1"
		modprobe -q critical_sections kind="$2" before="$3" stopped=30000 after="$4"
		[ "$(worst)" = "$5" ] && break
	done
	worst
}

for case in irqsoff:irq preemptirqsoff:irq preemptoff:preempt preemptirqsoff:preempt; do
	tracer=${case%:*} kind=${case#*:}
	result "$tracer: a section ends where timings stop" 7000 "$(measured "$tracer" "$kind" 7000 5000 7000)"
	result "$tracer: a section begins where timings start again" 9000 "$(measured "$tracer" "$kind" 5000 9000 9000)"
done
echo nop > current_tracer

# Interrupts stay on while a large full buffer is resized and read. The buffer's lock is none that irqsoff sees, so the timer
# of timerlat tells in another instance: how late its interrupt came at most, in ns.
latest() {
	sed -n 's/.* context  *irq timer_latency  *\([0-9]*\) ns$/\1/p' instances/timer/trace | sort -n | tail -n 1
}

# A line on the console holds interrupts off for as long: one lateness of three tries may be another's.
soon() { # name, what is made ready, what to do
	name=$1 ready=$2
	shift 2
	for try in 1 2 3; do
		$ready
		echo > instances/timer/trace
		"$@" > /dev/null
		# A timer that was kept waiting fires after that.
		sleep 0.1
		found=$(latest)
		echo "# the timer came ${found:-never} ns late"
		[ "${found:-1000000}" -lt 100000 ] && break
	done
	number=$((number + 1))
	if [ "${found:-1000000}" -lt 100000 ]; then
		echo "ok $number $name"
	else
		echo "not ok $number $name"
	fi
}

full() { # kB
	echo $(($1 + 100)) > buffer_size_kb
	echo > trace
	head -c $(($1 * 1024)) /dev/zero | tr '\0' x | dd of=trace_marker bs=3000 2> /dev/null
}

size() { # kB
	echo "$1" > buffer_size_kb
}

empty() {
	echo > trace
}

raw() {
	dd if=per_cpu/cpu0/trace_pipe_raw bs=4096 iflag=nonblock 2> /dev/null || true
}

if grep -qw timerlat available_tracers && mkdir instances/timer; then
	echo timerlat > instances/timer/current_tracer
	# Where the CPU has nothing to do, it is the host that wakes it, in its own time.
	nice -n 19 sh -c 'while :; do :; done' &
	busy=$!
	soon "interrupts stay on while a full buffer of 64 MiB shrinks" "full 65536" size 32768
	soon "interrupts stay on while it grows" "size 32768" size 65536
	soon "interrupts stay on while 16 MiB are listed" "full 16384" cat trace
	soon "interrupts stay on while the counts are read" : cat per_cpu/cpu0/stats
	soon "interrupts stay on while 16 MiB are read as pages" "full 16384" raw
	soon "interrupts stay on while 16 MiB are thrown away" "full 16384" empty
	if grep -qw preemptoff available_tracers; then
		empty
		echo preemptoff > current_tracer
		echo 0 > tracing_max_latency
		timeout 1 sh -c 'while :; do cat /proc/self/stat; done' > /dev/null
		soon "interrupts stay on while the trace of a latency is listed" : cat trace
		echo nop > current_tracer
	fi
	kill $busy
	echo nop > instances/timer/current_tracer
	rmdir instances/timer
fi
echo "1..$number"
