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
echo "== a trigger that runs behind the entry, behind many others =="
echo > trace
echo 1 > tracing_on
others=$(ls events/syscalls | grep sys_exit_ | head -70)
echo traceoff > $e/trigger
for event in $others; do echo enable_event:syscalls:$event; done >> $e/trigger
echo 1 > $e/enable
/bin/true
/bin/false
sed -n 's/.*: sched_process_exec: filename=\([^ ]*\) .*/exact \1/p' trace
grep -v '^#' $e/trigger | sed 's/:unlimited$//; s/^/!/' > /tmp/undo
while read -r line; do echo "$line" >> $e/trigger; done < /tmp/undo
cat $e/trigger
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
echo "== event probes stand behind other triggers, in their order =="
e=events/raw_syscalls/sys_enter
n='s/.*: \(a\|b\|told\|sys_enter\): .*/exact \1/p'
echo 'told long id' > synthetic_events
echo 'e:g/a raw_syscalls/sys_enter id=$id:s64 if id == 110' > dynamic_events
echo 'e:g/b raw_syscalls/sys_enter id=$id:s64 if id == 110' >> dynamic_events
echo 'told long id' >> synthetic_events
echo 1 > events/synthetic/told/enable
for first in a b; do
	for trigger in 'hist:keys=common_pid:x=id:onchange($x).told($x) if id == 110' 'traceon if id == 110' 'snapshot if id == 110'; do
		for order in "probes trigger" "trigger probes"; do
			echo "-- $order: $trigger"
			for what in $order; do
				case $what in
				trigger) echo "$trigger" >> $e/trigger ;;
				probes) echo 1 > events/g/$first/enable; echo 1 > events/g/enable ;;
				esac
			done
			echo > trace
			echo 2 > snapshot
			case $trigger in traceon*) echo 0 > tracing_on ;; esac
			calls
			echo 1 > tracing_on
			sed -n "$n" trace
			echo "- snapshot"
			sed -n "$n" snapshot
			echo 0 > events/g/enable
			echo "!$trigger" >> $e/trigger
		done
	done
done
echo 0 > snapshot
echo '-:g/a' >> dynamic_events
echo '-:g/b' >> dynamic_events
echo "== a histogram of another event reads times =="
t='hist:keys=common_timestamp'
x=events/sched/sched_process_exec
h='hist:keys=common_pid:x=id:onchange($x).told($x) if id == 110'
for trigger in "$h" 'snapshot if id == 110' 'traceon if id == 110'; do
	for timed in yes no; do
		echo "-- $timed: $trigger"
		[ $timed = no ] || echo "$t" > $x/trigger
		echo "$trigger" > $e/trigger
		echo 'id == 110' > $e/filter
		echo > trace
		echo 2 > snapshot
		case $trigger in traceon*) echo 0 > tracing_on ;; esac
		echo 1 > $e/enable
		calls
		echo 0 > $e/enable
		echo 1 > tracing_on
		sed -n "$n" trace
		echo "- snapshot"
		sed -n "$n" snapshot
		echo 0 > $e/filter
		echo "!$trigger" > $e/trigger
		[ $timed = no ] || echo "!$t" > $x/trigger
	done
done
echo 0 > snapshot
echo "== a filtered entry whose trigger takes a snapshot while nothing is recorded =="
mask=$(cat tracing_cpumask)
echo 1 > snapshot
for off in before trigger mask; do
	echo "-- off: $off"
	echo > trace
	echo 2 > snapshot
	case $off in
	before) echo 0 > tracing_on; echo 'snapshot if id == 110' > $e/trigger ;;
	trigger) echo 'snapshot if id == 110' > $e/trigger; echo 'traceoff if id == 110' >> $e/trigger ;;
	mask) echo 'snapshot if id == 110' > $e/trigger; echo 0 > tracing_cpumask ;;
	esac
	echo 'id == 110' > $e/filter
	echo 1 > $e/enable
	calls
	echo 0 > $e/enable
	echo 0 > $e/filter
	sed -n "$n" trace
	echo "- snapshot"
	sed -n "$n" snapshot
	echo '!snapshot if id == 110' >> $e/trigger
	echo '!traceoff if id == 110' >> $e/trigger
	echo 1 > tracing_on
	echo $mask > tracing_cpumask
done
echo 0 > snapshot
echo "== a synthetic event with a filter and a histogram =="
echo 'more long id' >> synthetic_events
echo 1 > events/synthetic/more/enable
echo "$h" > $e/trigger
echo 'hist:keys=common_pid:y=id:onchange($y).more($y)' > events/synthetic/told/trigger
for on in 0 1; do
	for filter in 0 'id > 0'; do
		echo "-- enabled $on, filter $filter"
		echo "$filter" > events/synthetic/told/filter
		echo > trace
		echo $on > $e/enable
		calls
		echo 0 > $e/enable
		sed -n 's/.*: \(told\|more\): .*/exact \1/p' trace
	done
done
echo 0 > events/synthetic/told/filter
echo '!hist:keys=common_pid:y=id:onchange($y).more($y)' > events/synthetic/told/trigger
echo "!$h" > $e/trigger
echo 0 > events/synthetic/enable
echo '!more' >> synthetic_events
echo '!told' >> synthetic_events
echo > trace
