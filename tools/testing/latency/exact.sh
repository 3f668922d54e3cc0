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

# Reading passes over what was recorded before the section, with interrupts on in between.
echo 8192 > buffer_size_kb
echo 1 > options/function-trace
start irqsoff
echo 1000000 > tracing_max_latency
old=0
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ "$old" -lt 60000 ] || break
	ls -lR /sys/kernel /proc/sys > /dev/null 2>&1
	old=$(sed -n 's/^entries: //p' per_cpu/cpu0/stats)
done
echo 0 > tracing_max_latency
modprobe preemptirq_delay_test test_mode=irq delay=9000
rmmod preemptirq_delay_test
echo 1000 > tracing_max_latency
cat trace > /dev/null
result "reading takes no longer with interrupts off where there are $((old / 10000))0000 records before" 1000 "$(cat tracing_max_latency)"
result "so many records there are" yes "$([ "$old" -ge 60000 ] && echo yes || echo "$old")"
echo 0 > options/function-trace
echo nop > current_tracer
echo "1..$number"
