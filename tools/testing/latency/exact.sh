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
for case in irqsoff:irq preemptirqsoff:irq preemptoff:preempt preemptirqsoff:preempt; do
	start ${case%:*}
	modprobe -q critical_sections kind=${case#*:} before=7000 stopped=30000 after=5000
	result "${case%:*}: a section ends where timings stop" 7000 "$(worst)"
	start ${case%:*}
	modprobe -q critical_sections kind=${case#*:} before=5000 stopped=30000 after=9000
	result "${case%:*}: a section begins where timings start again" 9000 "$(worst)"
done
echo nop > current_tracer
echo "1..$number"
