# SPDX-License-Identifier: GPL-2.0
# What histograms, the triggers of texts and the removal of synthetic events leave in buffers and in hist files.
# What a trigger has enabled stays so.
echo 0 > events/enable
e=events/raw_syscalls/sys_enter
calls() { python3 -c 'import os; os.getpid(); os.getppid()'; }
undo() { for event in "$@" "$@"; do tac events/$event/trigger | sed -n 's/ \[\(active\|paused\)\]$//; s/:unlimited\( \|$\)/\1/; /^#/!s/^/!/p' | while read -r line; do echo "$line" >> events/$event/trigger; done 2> /dev/null; done; echo > error_log; }
echo "== a synthetic event goes by its own file =="
mkdir instances/i
for event in foo bar; do
	echo > trace
	echo > instances/i/trace
	echo "$event long x" >> synthetic_events
	echo "hist:keys=common_pid:x=id:onchange(\$x).$event(\$x) if id == 110" > $e/trigger
	echo 1 > events/synthetic/$event/enable
	echo 1 > instances/i/events/synthetic/$event/enable
	calls
	echo 0 > instances/i/events/synthetic/$event/enable
	echo 0 > events/synthetic/$event/enable
	grep -c " $event: x=110" trace instances/i/trace
	echo "!hist:keys=common_pid:x=id:onchange(\$x).$event(\$x) if id == 110" > $e/trigger
	echo hello > trace_marker
	echo hello > instances/i/trace_marker
	case $event in
	foo) echo '!foo' >> synthetic_events ;;
	bar) echo '-:synthetic/bar' >> dynamic_events ;;
	esac
	echo "exact $event: $(grep -c hello trace) and $(grep -c hello instances/i/trace) texts, $(grep -ci 'Unknown type' trace) and $(grep -ci 'Unknown type' instances/i/trace) entries of the event"
	sed -n '/^#/!s/.*: //p' trace
	ls -d events/synthetic/$event 2> /dev/null
done
echo '!foo' >> synthetic_events || cat error_log
rmdir instances/i
echo > trace
echo "== the time and the place of a text that a trigger sees =="
echo 'mk u64 t; unsigned int cpu' >> synthetic_events
d='hist:keys=common_pid:t=common_timestamp:c=common_cpu:clock=counter:onchange($t).mk($t,$c)'
echo "$d" > events/ftrace/print/trigger
echo 1 > events/synthetic/mk/enable
for text in one two three; do echo $text > trace_marker; done
sed -n '/^#/!s/^ *[^ ]* *\[0*\([0-9]\)\] [^ ]* *\([0-9]*\): \(.*\)/\1 \2 \3/p' trace | grep -e tracing_mark_write -e ' mk:' | while read -r cpu time what rest; do
	case $what in
	mk:) [ "$rest" = "t=$marked cpu=$on" ] && echo "mk: the same time" || echo "mk: $rest, but $marked on $on" ;;
	*) marked=$time on=$cpu; echo "$rest" ;;
	esac
done
echo 0 > events/synthetic/mk/enable
echo "!$d" > events/ftrace/print/trigger
echo '!mk' >> synthetic_events
echo local > trace_clock
echo "== what lies behind a text whose trigger fires =="
echo 'mk int x' >> synthetic_events
echo 1 > events/synthetic/mk/enable
d='hist:keys=common_pid:x=common_pid-common_pid+7:onchange($x).mk($x) if buf == "a"'
echo "$d" > events/ftrace/print/trigger
echo 'stacktrace if buf == "b"' >> events/ftrace/print/trigger
printf 'b' > trace_marker
printf 'a' > trace_marker
printf 'b\n' > trace_marker
printf 'ab\n' > trace_marker
# Whether a task waits for the CPU is chance.
sed -n '/^#/!s/.*: \(mk\|tracing_mark_write\): /exact \1: /p; s/^ *[^ ]* *\[[0-9]*\] \(.\).\([^ ]*\) .*<stack trace>.*/exact \1\2 stack/p' trace
echo "!$d" > events/ftrace/print/trigger
echo '!stacktrace if buf == "b"' > events/ftrace/print/trigger
cat events/ftrace/print/trigger
echo 0 > events/synthetic/mk/enable
echo '!mk' >> synthetic_events
echo "== a text that is cut, and a trigger =="
d='hist:keys=buf:vals=ip if ip != 0'
echo "$d" > events/ftrace/print/trigger
d='hist:keys=ip if common_type > 0'
echo "$d" > events/ftrace/print/trigger
echo > trace
for size in 1 2 7 8 60 300 4096 5000; do
	python3 -c "
import os
print('exact $size', os.write(os.open('trace_marker', os.O_WRONLY), b'x' * ($size - 1) + b'y'))"
	sed -n 's/^    Hits: /exact hits /p' events/ftrace/print/hist
done
sed -n 's/.*tracing_mark_write: //p' trace | while read -r text; do echo "exact ${#text}"; done
echo 0 > tracing_on
echo xy > trace_marker
sed -n 's/^    Hits: /exact hits /p' events/ftrace/print/hist
echo 1 > tracing_on
echo > trace
echo "!$d" > events/ftrace/print/trigger
echo "== a snapshot that a text takes =="
echo 1 > snapshot
echo before > trace_marker
echo 'snapshot if buf == "now"' > events/ftrace/print/trigger
cat events/ftrace/print/trigger
printf now > trace_marker
echo after > trace_marker
sed -n '/^#/!s/.*: //p' snapshot
echo "-- trace"
sed -n '/^#/!s/.*: //p' trace
undo ftrace/print
echo 0 > snapshot
echo > trace
echo "== save() of a text that nothing has saved =="
echo 'hist:keys=common_pid:x=id:onmax($x).save(id,common_comm) if id == 0' > $e/trigger
cat $e/hist > /dev/null
grep -m1 max: $e/hist | cat -A
undo raw_syscalls/sys_enter
echo 'hist:keys=common_pid.execname:x=id-id:onchange($x).save(id,common_comm,common_stacktrace) if id == 110' > $e/trigger
calls
grep -m1 changed: $e/hist | cat -A
undo raw_syscalls/sys_enter
echo "== a histogram that takes snapshots is not emptied =="
d='hist:keys=common_pid.execname,common_comm:m=id:onmax($m).snapshot()'
echo "$d if id == 110" > $e/trigger
calls
echo "$d:clear if id == 110" >> $e/trigger
sed 's/^\[[^]]*\]//' error_log
cat $e/hist
undo raw_syscalls/sys_enter
echo 0 > snapshot
echo > trace
echo "== a shared histogram and those that it reads =="
mkdir instances/i
w=sched/sched_waking; s=sched/sched_switch
for d in . instances/i; do
	echo 'hist:keys=pid:v=prio' > $d/events/$w/trigger
	echo 'hist:name=n:keys=next_pid:x=$v' > $d/events/$s/trigger
done
echo '!hist:name=n:keys=next_pid:x=$v' >> events/$s/trigger
echo '!hist:keys=pid:v=prio' >> events/$w/trigger
echo "exact $?"
cat events/$w/trigger
echo '!hist:name=n:keys=next_pid:x=$v' >> instances/i/events/$s/trigger
echo "exact $?"
for d in instances/i .; do
	echo '!hist:keys=pid:v=prio' >> $d/events/$w/trigger
	echo "exact $?"
	cat $d/events/$w/trigger
done
rmdir instances/i
echo "== carets of references in keys =="
echo 'hist:keys=pid:x=prio' > events/sched/sched_wakeup/trigger
for d in 'vals=prio:keys=prio+$x' 'keys=prio+$x' 'keys=$x' 'keys=$x+prio' 'keys=prio+pid-$x' 'vals=prio:keys=prio+pid*$x' 'vals=pid:keys=-($x)' 'vals=pid:keys=-(pid+$x)' 'vals=pid:keys=pid*-($x)' 'vals=pid:keys=-($x)+pid' 'vals=pid:keys=pid/3+-(pid-$x)' 'sched=prio:keys=sched.sched_wakeup.$x' 'sched=prio:keys=sched.sched_wakeup.$x+prio' 'vals=prio:keys=prio+sched.sched_wakeup.$x' 'vals=prio:keys=prio.hex+$x' 'vals=pid:keys=pid,prio,pid*$x' 'vals=pid:keys=prio,-(pid)*$x' 'vals=pid:keys=3+$x'; do
	echo > error_log
	echo "hist:$d" > events/sched/sched_waking/trigger && echo "exact taken: $d"
	sed 's/^\[[^]]*\]//' error_log
	undo sched/sched_waking
done 2> /dev/null
undo sched/sched_wakeup
echo "== hist_debug of a hit count =="
echo 'hist:keys=pid:x=hitcount' > events/sched/sched_waking/trigger
sed '/^hist_data: /d' events/sched/sched_waking/hist_debug
undo sched/sched_waking
