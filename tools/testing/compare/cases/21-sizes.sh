# SPDX-License-Identifier: GPL-2.0
# Sizes after changes of the sub-buffers' size and after free_buffer, and what remains of the events.
sizes() {
	cat buffer_size_kb buffer_total_size_kb buffer_subbuf_size_kb per_cpu/cpu0/buffer_size_kb events/header_page
}
marks() { # from, to
	seq $1 $2 | while read number; do echo "mark $number" > trace_marker; done
}
echo "== sub-buffers =="
for size in 8 5 64 4 16; do
	# In C the size stays as it was told before, whatever it is now.
	echo $size > buffer_subbuf_size_kb
	echo "-- sub-buffers of $size KiB, 100 KiB"
	echo 100 > buffer_size_kb
	sizes
	echo 1000 > per_cpu/cpu0/buffer_size_kb
	sizes
	echo 1 > buffer_size_kb
	sizes
done
echo "-- with a snapshot"
echo 4 > buffer_subbuf_size_kb
echo 64 > buffer_size_kb
echo 1 > snapshot
echo 8 > buffer_subbuf_size_kb
echo 64 > buffer_size_kb
sizes
echo 0 > snapshot
echo 3 > buffer_subbuf_size_kb
for size in 0 513 512 x -1 8589934592; do
	echo $size > buffer_subbuf_size_kb && cat buffer_subbuf_size_kb
done
echo 4 > buffer_subbuf_size_kb
echo "== free_buffer =="
echo 1410 > buffer_size_kb
cat buffer_size_kb
echo > trace
marks 1 600
echo anything > free_buffer
sizes
grep -c 'mark ' trace
tail -n 1 trace | sed 's/.*: //'
cat tracing_on
marks 601 620
tail -n 1 trace | sed 's/.*: //'
echo 100 > buffer_size_kb
sizes
grep -c 'mark ' trace
echo "== disable_on_free =="
echo 1 > options/disable_on_free
: > free_buffer
cat tracing_on
sizes
echo 1 > tracing_on
echo 0 > options/disable_on_free
mkdir instances/small
(
	cd instances/small
	cat buffer_size_kb buffer_total_size_kb
	: > free_buffer
	cat buffer_size_kb buffer_total_size_kb
	echo 1 > events/sched/sched_switch/enable
	cat buffer_size_kb buffer_total_size_kb
	echo 0 > events/sched/sched_switch/enable
)
rmdir instances/small
echo 1410 > buffer_size_kb
echo > trace
echo "== stats =="
# What a CPU counts, and how the time of the oldest event stands to that of the first in trace and to now.
stats() {
	sed 's/^\(oldest event ts\|now ts\): .*/\1/' per_cpu/cpu0/stats
	first=$(sed -n 's/.* \([0-9.]*\): tracing_mark_write: .*/\1/p' trace | head -n 1)
	awk -v "first=$first" '/^oldest event ts/ { oldest = $4 } /^now ts/ { now = $3 } END {
		print oldest == 0 ? "none" : first == "" ? "of no event" : oldest - first < 1e-4 && first - oldest < 1e-4 ? "of the first" : oldest < first ? "older" : "newer",
		oldest <= now, oldest ~ /\./, now ~ /\./ }' per_cpu/cpu0/stats
}
for clock in $(tr -d '[]' < trace_clock); do
	echo $clock > trace_clock
	echo "-- $clock, empty"
	stats
	marks 1 3
	echo "-- $clock, 3 events"
	stats
done
echo local > trace_clock
marks 1 3
dd if=trace_pipe of=/dev/null bs=4096 count=1 2> /dev/null
echo "-- consumed"
grep -v ts per_cpu/cpu0/stats
marks 1 2
echo "-- 2 more"
grep -v ts per_cpu/cpu0/stats
echo 4 > buffer_size_kb
marks 1 800
echo "-- overrun"
grep -v ts per_cpu/cpu0/stats
echo 1410 > buffer_size_kb
