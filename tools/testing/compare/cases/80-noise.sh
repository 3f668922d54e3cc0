# SPDX-License-Identifier: GPL-2.0
# hwlat, osnoise, timerlat: their files, what those take and refuse, titles, and lines but for the figures.
exact() {
	tr 0123456789 OIZEASGTBQ
}
try() { # file, text
	printf '%s' "$2" | LC_ALL=C tee "$1" 2>&1 > /dev/null | sed 's/^tee: //'
	echo "$1 $2:"
	cat "$1"
}
echo "== files of the tracers of noise =="
cat available_tracers
find hwlat_detector osnoise | sort | xargs stat -c '%n %A %s %U %G'
for file in hwlat_detector/* osnoise/*; do
	[ -d $file ] || { echo $file; cat $file; } | exact
done
ls instances
mkdir instances/noise
ls instances/noise | grep -e hwlat -e osnoise
cat instances/noise/available_tracers
rmdir instances/noise
echo "== numbers of osnoise and hwlat =="
{
	for text in 5 -1 x '' ' 7' '7 ' 0x10 18446744073709551615 18446744073709551616; do
		try osnoise/stop_tracing_us "$text"
	done
	try osnoise/stop_tracing_total_us 5
	try osnoise/print_stack 5
	try osnoise/timerlat_align_us 5
	for text in 99 100 1000000 1000001; do
		try osnoise/timerlat_period_us $text
	done
	for folder in 'osnoise/runtime_us osnoise/period_us' 'hwlat_detector/width hwlat_detector/window'; do
		set -- $folder
		try $1 1000001
		try $2 499999
		try $1 1000000
		try $2 999999
		try $1 0
		try $2 0
		try $1 1
		echo 1000000 > $2
		echo 500000 > $1
	done
	for number in stop_tracing_us stop_tracing_total_us print_stack timerlat_align_us; do
		echo 0 > osnoise/$number
	done
} 2>&1 | exact
echo "== options of osnoise =="
for text in DEFAULTS NO_DEFAULTS PANIC_ON_STOP NO_OSNOISE_WORKLOAD ' OSNOISE_IRQ_DISABLE ' OSNOISE_PREEMPT_DISABLE NO_PANIC_ON_STOP \
	TIMERLAT_ALIGN osnoise_workload '' NO_ NO_NO_DEFAULTS ' NO_TIMERLAT_ALIGN' 'OSNOISE_WORKLOAD PANIC_ON_STOP' DEFAULTS; do
	try osnoise/options "$text"
done
printf '%300s' DEFAULTS | LC_ALL=C tee osnoise/options 2>&1 > /dev/null
echo "== cpus of osnoise =="
for text in 0 '' ' ' 1 0-1 x 0,0 all N 64 -1 0; do
	try osnoise/cpus "$text" | exact
done
dd if=osnoise/cpus bs=1 count=1 2>&1 | head -n 1
dd if=osnoise/cpus bs=3 count=1 2> /dev/null
echo "== modes of hwlat =="
for text in none per-cpu ' round-robin ' '' x none,per-cpu round-robin; do
	try hwlat_detector/mode "$text"
done
echo "== titles =="
echo 0 > tracing_on
for tracer in osnoise timerlat hwlat; do
	echo $tracer > current_tracer
	cat trace | sed 's/^# *entries-in.*//'
	echo nop > current_tracer
done
echo 1 > options/latency-format
for tracer in osnoise timerlat; do
	echo $tracer > current_tracer
	cat trace
	echo nop > current_tracer
done
echo 0 > options/latency-format
echo 1 > tracing_on
echo "== one of them at a time =="
mkdir instances/noise
for first in osnoise timerlat hwlat; do
	echo $first > current_tracer
	for second in osnoise timerlat hwlat; do
		echo "$first, $second"
		echo $second | LC_ALL=C tee instances/noise/current_tracer 2>&1 > /dev/null
		cat instances/noise/current_tracer
		echo nop > instances/noise/current_tracer
	done
	echo nop > current_tracer
done
rmdir instances/noise
echo "== threshold with hwlat =="
{
	cat tracing_thresh
	echo hwlat > current_tracer
	cat tracing_thresh
	echo 15 > tracing_thresh
	echo nop > current_tracer
	cat tracing_thresh
	echo hwlat > current_tracer
	cat tracing_thresh
	echo nop > current_tracer
	echo 30 > tracing_thresh
	echo hwlat > current_tracer
	cat tracing_thresh
	echo nop > current_tracer
	cat tracing_thresh
	echo 0 > tracing_thresh
} | exact
# A figure is a number of letters that varies: one of any length.
figures() {
	sed -E 's/^ *[^ ]+-[0-9]+ +/TASK /; s/ +[0-9]+\.[0-9]{6}: / TIME: /; s/\] [^ ]+ /] STATE /; s/ *[0-9]+(\.[0-9]+)?/ N/g; s/ +/ /g' | sort -u
}
echo "== lines of osnoise =="
echo 20000 > osnoise/runtime_us
echo 20000 > osnoise/period_us
echo osnoise > current_tracer
sleep 1
echo 0 > tracing_on
grep -v '^#' trace | figures
echo 1 > options/raw
grep -v '^#' trace | head -n 1 | tr -s 0-9 N
echo 0 > options/raw
ps -e -o comm | grep osnoise/
echo nop > current_tracer
echo 1 > tracing_on
ps -e -o comm | grep osnoise/ || true
echo "== lines of timerlat =="
echo 10000 > osnoise/timerlat_period_us
echo timerlat > current_tracer
sleep 1
echo 0 > tracing_on
grep -v '^#' trace | figures
echo 1 > options/raw
grep -v '^#' trace | head -n 1 | tr -s 0-9 N
echo 0 > options/raw
echo nop > current_tracer
echo 1 > tracing_on
echo "== places of stops =="
mkdir instances/noise
for way in timerlat:stop_tracing_us timerlat:stop_tracing_total_us osnoise:stop_tracing_us osnoise:stop_tracing_total_us program:stop_tracing_total_us; do
	number=osnoise/${way#*:}
	tracer=${way%:*}
	echo 1 > $number
	echo 1 > instances/noise/tracing_on
	echo > instances/noise/trace
	if [ $tracer = program ]; then
		echo NO_OSNOISE_WORKLOAD > osnoise/options
		echo timerlat > instances/noise/current_tracer
		timeout 10 taskset -c 0 head -c 1 osnoise/per_cpu/cpu0/timerlat_fd
	else
		echo $tracer > instances/noise/current_tracer
	fi
	for try in $(seq 100); do
		grep -q 1 instances/noise/tracing_on || break
		sleep 0.1
	done
	echo $way
	grep -o '[a-z_]*: stop tracing hit on cpu [0-9]*' instances/noise/trace
	echo nop > instances/noise/current_tracer
	echo 0 > $number
done
echo DEFAULTS > osnoise/options
rmdir instances/noise
echo "== files of programs with timerlat =="
fd=osnoise/per_cpu/cpu0/timerlat_fd
LC_ALL=C head -c 1 $fd 2>&1
echo timerlat > current_tracer
LC_ALL=C head -c 1 $fd 2>&1
echo nop > current_tracer
echo NO_OSNOISE_WORKLOAD > osnoise/options
LC_ALL=C head -c 1 $fd 2>&1
echo timerlat > current_tracer
LC_ALL=C taskset -c 0 head -c 1 $fd 2>&1
echo $?
echo nop > current_tracer
echo DEFAULTS > osnoise/options
echo 1000000 > osnoise/period_us
echo 1000000 > osnoise/runtime_us
