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
echo "1..$number"
