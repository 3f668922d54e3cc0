# SPDX-License-Identifier: GPL-2.0
# Where an entry lies beside what its own triggers record, and which time a histogram has of it.
name() { sed -n 's/.*: \(told\|sys_enter\|sys_exit\): \(id=\|NR \)\([0-9]*\).*/exact \1 \3/p' | grep -w -e 110 -e 39; }
calls() { python3 -c 'import os; os.getpid(); os.getppid(); os.getpid()'; }
e=events/raw_syscalls/sys_enter
echo 'told long id' > synthetic_events
echo 1 > events/synthetic/told/enable
for filter in '' ' if id == 110'; do
	echo "== what a histogram fires, trigger$filter =="
	echo "hist:keys=common_pid:x=id:onchange(\$x).told(\$x)$filter" > $e/trigger
	echo > trace
	echo 1 > $e/enable
	calls
	echo 0 > $e/enable
	name < trace
	echo "== the event has a filter, too$filter =="
	echo 'id == 110 || id == 39' > $e/filter
	echo > trace
	echo 1 > $e/enable
	calls
	echo 0 > $e/enable
	name < trace
	echo 0 > $e/filter
	echo "== the event is off$filter =="
	echo > trace
	calls
	name < trace
	echo "== recording is off$filter =="
	echo > trace
	echo 0 > tracing_on
	echo 1 > $e/enable
	calls
	echo 0 > $e/enable
	echo "exact recorded: $(name < trace)"
	echo 1 > tracing_on
	echo "!hist:keys=common_pid:x=id:onchange(\$x).told(\$x)$filter" > $e/trigger
done
echo "== chains of synthetic events =="
for n in 1 2 3 4; do echo "chain$n long id" >> synthetic_events; echo 1 > events/synthetic/chain$n/enable; done
echo 'hist:keys=common_pid:x=id:onmax($x).chain1($x) if id == 110' > $e/trigger
for n in 1 2 3; do echo "hist:keys=id:x=id:onmatch(synthetic.chain$n).chain$((n + 1))(id)" > events/synthetic/chain$n/trigger 2> /dev/null || echo "hist:keys=id:x=id:onmax(\$x).chain$((n + 1))(\$x)" > events/synthetic/chain$n/trigger; done
echo > trace
echo 1 > $e/enable
calls
echo 0 > $e/enable
sed -n 's/.*: \(chain[1-4]\|sys_enter\): \(id=\|NR \)\([0-9]*\).*/exact \1 \3/p' trace | grep -w 110
for n in 3 2 1; do sed -n '/^#/!s/ \[active\]$//p' events/synthetic/chain$n/trigger | sed 's/^/!/' > /tmp/undo; cat /tmp/undo > events/synthetic/chain$n/trigger; done
echo '!hist:keys=common_pid:x=id:onmax($x).chain1($x) if id == 110' > $e/trigger
echo 0 > events/synthetic/enable
echo > synthetic_events
cat synthetic_events
echo "== snapshots =="
for trigger in 'hist:keys=common_pid:m=id:onmax($m).snapshot() if id == 110' 'snapshot if id == 110' 'snapshot:1 if id == 110'; do
	echo "$trigger" > $e/trigger
	echo > trace
	echo 2 > snapshot
	echo 1 > $e/enable
	calls
	echo 0 > $e/enable
	echo "-- $trigger: snapshot"
	sed -n 's/.*: sys_enter: NR 110 .*/getppid/p' snapshot
	echo "-- trace"
	sed -n 's/.*: sys_enter: NR 110 .*/getppid/p' trace
	echo "!$trigger" > $e/trigger
done
echo 0 > snapshot
echo "== one time of a hit =="
for on in 0 1; do
	for filter in 0 'id == 110 || id == 39'; do
		echo 'hist:keys=common_timestamp-common_timestamp' > $e/trigger
		echo "$filter" > $e/filter
		echo $on > $e/enable
		calls
		echo 0 > $e/enable
		echo "exact $(grep -c '^{' $e/hist) rows"
		echo '!hist:keys=common_timestamp-common_timestamp' > $e/trigger
		echo 0 > $e/filter
	done
done
echo "== the time of the entry =="
for filter in 0 'id == 110'; do
	echo 'hist:keys=common_timestamp.usecs:vals=id if id == 110' > $e/trigger
	echo "$filter" > $e/filter
	echo > trace
	echo 1 > $e/enable
	calls
	echo 0 > $e/enable
	line=$(sed -n 's/.* \([0-9]*\)\.\([0-9]*\): sys_enter: NR 110 .*/\1\2/p' trace)
	hist=$(sed -n 's/^{ common_timestamp: *\([0-9]*\) .*/\1/p' $e/hist)
	[ $((line - hist)) -ge -1 ] && [ $((line - hist)) -le 1 ] && echo "the same" || echo "$line in trace, $hist in the histogram"
	echo '!hist:keys=common_timestamp.usecs:vals=id if id == 110' > $e/trigger
	echo 0 > $e/filter
done
echo > trace
e=events/sched/sched_process_exec
run() { # what is recorded of two commands, until recording is off
	/bin/true
	/bin/false
	echo 0 > tracing_on
	sed -n 's/.*: sched_process_exec: filename=\([^ ]*\) .*/exact \1/p' trace
}
for filter in 0 'common_pid > 0'; do
	for trigger in traceon 'traceon if common_pid > 0' 'traceon:1 if common_pid > 0'; do
		echo "== what switches recording on: $trigger, filter $filter =="
		echo 0 > tracing_on
		echo > trace
		echo "$filter" > $e/filter
		echo 1 > $e/enable
		echo "$trigger" > $e/trigger
		run
		echo "exact $(cat $e/enable)"
		echo "!$trigger" > $e/trigger
		echo 0 > $e/enable
		echo 0 > $e/filter
	done
done
echo "== what switches recording on beside a trigger with a condition =="
echo > trace
echo 1 > $e/enable
echo traceon > $e/trigger
echo 'stacktrace if common_pid < 0' >> $e/trigger
run
echo '!traceon' > $e/trigger
echo '!stacktrace' > $e/trigger
echo 0 > $e/enable
for trigger in enable_event disable_event; do
	for limit in '' ':1' ' if common_pid > 0'; do
		echo "== an event that a trigger of its own switches: $trigger$limit =="
		echo > trace
		echo 1 > tracing_on
		[ $trigger = enable_event ] || echo 1 > $e/enable
		echo "$trigger:sched:sched_process_exec$limit" > $e/trigger
		run
		echo "exact $(cat $e/enable)"
		echo "!$trigger:sched:sched_process_exec" > $e/trigger
		echo 0 > $e/enable
	done
done
echo 1 > tracing_on
echo > trace
