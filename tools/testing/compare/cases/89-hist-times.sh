# SPDX-License-Identifier: GPL-2.0
# Times in microseconds that histograms read, and sizes of buckets that are as large as can be.
e=events/ftrace/print
echo "== microseconds are rounded as those of a line =="
echo 'mk u64 t' >> synthetic_events
d='hist:keys=common_pid:t=common_timestamp.usecs:clock=mono:onchange($t).mk($t)'
echo "$d" > $e/trigger
echo 1 > events/synthetic/mk/enable
for number in $(seq 40); do echo $number > trace_marker; done
sed -n '/^#/!s/^.* \([0-9]*\)\.\([0-9]*\): \(.*\)/\1\2 \3/p' trace | while read -r time what rest; do
	case $what in
	mk:) [ "$rest" = "t=$marked" ] && echo same || echo "another" ;;
	*) marked=$time ;;
	esac
done | sort | uniq -c | sed 's/^ */exact /'
echo 0 > events/synthetic/mk/enable
echo "!$d" > $e/trigger
echo '!mk' >> synthetic_events
echo local > trace_clock
echo > trace
echo "== large sizes of buckets =="
for size in 9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616; do
	for d in "keys=common_pid.buckets=$size" "keys=ip.bucket=$size:sort=ip" "keys=ip:x=ip-common_pid.buckets=$size"; do
		echo > error_log
		echo "hist:$d" > $e/trigger
		sed 's/^/exact /' $e/trigger
		sed 's/^\[[^]]*\]//' error_log
		echo "!hist:$d" > $e/trigger
	done 2> /dev/null
done
echo > error_log
