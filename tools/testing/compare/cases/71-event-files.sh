# SPDX-License-Identifier: GPL-2.0
# What the files of events read, fresh and after changes; filters and triggers, and what is wrong with bad ones.
# rtrace has no triggers that pause histograms of other events yet.
read_file() { # file
	sed 's/^\(# traceon .*\) enable_hist disable_hist hist$/\1 hist/' $1
}
echo "== fresh =="
for file in set_event set_event_pid set_event_notrace_pid show_event_filters show_event_triggers events/enable events/sched/enable \
	events/sched/filter events/sched/sched_switch/enable events/sched/sched_switch/filter events/sched/sched_switch/trigger; do
	echo "$file:"
	read_file $file
done
stat -c '%n %A %s %U %G' available_events set_event* show_event* events events/sched events/sched/* events/sched/sched_switch/[e-t]*
for directory in events events/sched events/sched/sched_switch; do
	stat -c 'exact %n %a, links: %h' $directory
done
echo "== enable =="
echo 1 > events/sched/sched_switch/enable
cat events/enable events/sched/enable events/sched/sched_switch/enable set_event
echo 'sched_wakeup' >> set_event
echo 'timer:' >> set_event
echo 'irq:*' >> set_event
cat set_event events/timer/enable events/irq/enable events/sched/enable
echo '!timer:timer_start' >> set_event
echo '!sched:*' >> set_event
cat set_event events/timer/enable
echo 'nosuch' >> set_event
echo 'sched:nosuch' >> set_event
echo ':mod:nosuch' >> set_event
echo 'sched:*:mod:nosuch' >> set_event
cat set_event
echo '!:mod:nosuch' >> set_event
cat set_event
echo > set_event
cat set_event events/enable
echo 2 > events/enable
echo x > events/sched/enable
echo 3 > events/sched/sched_switch/enable
echo "== pids =="
echo '1 2 10 11 12 30' > set_event_pid
cat set_event_pid
echo 5 >> set_event_pid
cat set_event_pid
echo x > set_event_pid
echo > set_event_pid
echo 7 > set_event_notrace_pid
cat set_event_notrace_pid set_event_pid
echo > set_event_notrace_pid
echo "== filters =="
good() { # event, filter
	echo "$2" > events/$1/filter 2> /dev/null || echo "refused: $2"
	cat events/$1/filter
}
good sched/sched_switch 'prev_pid == 1'
good sched/sched_switch 'prev_pid==1&&next_pid!=0x10||prev_prio>=0'
good sched/sched_switch '!(prev_comm ~ "ab*" && !(next_comm == cd))'
good sched/sched_switch 'prev_state & 3'
good sched/sched_switch 'common_pid > 010'
good sched/sched_switch 'CPU == 0'
good sched/sched_switch 'CPU & CPUS{0-1}'
good sched/sched_switch 'COMM ~ "*sh*"'
good sched/sched_switch "prev_comm == 'a b'"
good sched/sched_waking 'target_cpu & CPUS{0}'
good sched/sched_process_exec 'filename ~ "/bin/*"'
good timer/timer_start 'function.function == schedule_timeout'
good timer/timer_start 'function.function != schedule'
good irq/irq_handler_entry 'name.ustring == "a"'
good raw_syscalls/sys_enter 'id == 1 && args'
echo 'prev_pid < 5' > events/sched/filter
cat events/sched/filter events/sched/sched_switch/filter events/sched/sched_waking/filter
cat show_event_filters
echo 0 > events/sched/filter
cat events/sched/filter events/sched/sched_switch/filter
echo 0 > events/timer/filter
echo 0 > events/irq/filter
cat show_event_filters
echo "== bad filters =="
number=0
bad() { # event, filter
	echo "$2" > events/$1/filter 2> /dev/null && echo "taken: $2"
	cat events/$1/filter
	sed 's/^\[ *[0-9.]*\]/[TIME]/' error_log
	echo > error_log
	echo 0 > events/$1/filter
}
for filter in 'nosuch == 1' 'prev_pid' 'prev_pid ==' 'prev_pid == x' 'prev_pid = 1' 'prev_pid ~ "a"' 'prev_comm > "a"' 'prev_comm == ' \
	'(prev_pid == 1' 'prev_pid == 1)' 'prev_pid == 1 &&' '&& prev_pid == 1' 'prev_pid == 1 & next_pid == 2' 'prev_comm == "abc' \
	'prev_pid == 1 || || next_pid == 2' '!' '()' 'prev_pid == 1 next_pid == 2' 'prev_pid == 99999999999999999999' \
	'prev_pid.function == schedule' 'prev_comm.ustring == "a"' 'CPUS{0} & prev_pid' 'prev_pid & CPUS{x}' 'prev_pid & CPUS{' \
	'prev_pid > CPUS{0}' 'CPU & CPUS{}' 'prev_comm & CPUS{0}' 'CPU > 99999' 'COMM > 5' 'COMM == sh' 'prev_pid == -1' 'prev_pid == 0b1' \
	'prev_comm ~ "a*b*c"' 'prev_comm ~ abc' 'prev_pid != 1 || (next_pid == 3 && (prev_prio == ))' 'common_nosuch == 1' 'stacktrace == 1' \
	'common_stacktrace == 1' 'prev_pid in 1' 'prev_comm == "x" && prev_pid === 3' 'prev_pid == 1; next_pid == 2' '"a" == prev_comm' \
	'prev_pid & 0' '!prev_pid' 'prev_pid <<1' 'none' '0'; do
	number=$((number + 1))
	echo "-- bad filter $number: $filter"
	bad sched/sched_switch "$filter"
done
for filter in 'function.function == nosuchfunction' 'function.function > schedule' 'function.function == 0' 'function.function' 'function.ustring == "a"'; do
	echo "-- bad filter of timer_start: $filter"
	bad timer/timer_start "$filter"
done
echo "== bad filter of a system =="
echo 'nosuch == 1' > events/sched/filter
cat events/sched/filter events/sched/sched_switch/filter
sed 's/^\[ *[0-9.]*\]/[TIME]/' error_log
echo > error_log
echo 'prev_pid == ' > events/sched/filter
cat events/sched/filter
sed 's/^\[ *[0-9.]*\]/[TIME]/' error_log
echo > error_log
echo 0 > events/sched/filter
echo "== triggers =="
trigger() { # trigger
	echo "$1" > events/sched/sched_switch/trigger 2> /dev/null || echo "refused: $1"
	read_file events/sched/sched_switch/trigger
	cat events/sched/sched_switch/enable
	sed 's/^\[ *[0-9.]*\]/[TIME]/' error_log
	echo > error_log
}
# Nothing switches meanwhile what is hit.
filter='if prev_pid == 4444444'
for text in "traceoff $filter" "traceoff:3 $filter" "traceon $filter" "stacktrace:5 $filter" "snapshot:1 $filter" "enable_event:irq:irq_handler_entry:2 $filter" \
	"disable_event:irq:irq_handler_exit $filter" "stacktrace:count=4 $filter" "enable_event:irq:irq_handler_entry $filter" \
	"disable_event:irq:irq_handler_entry $filter" "nosuch" "traceoff:x" "traceoff:" "traceoff if" "traceoff if nosuch == 1" "traceoff if prev_pid == " \
	"stacktrace:5:6" "enable_event" "enable_event:irq" "enable_event:irq:nosuch" "enable_event:nosuch:irq_handler_entry" \
	"enable_event:irq:irq_handler_entry:x" "!nosuch" "!traceon" "!snapshot" "traceoff prev_pid == 1" "stacktrace if prev_pid == 1 if prev_pid == 2" \
	"traceoff:-1 $filter" "traceoff:0 $filter"; do
	echo "-- trigger $text"
	trigger "$text"
done
echo "== show_event_triggers =="
cat show_event_triggers
for text in '!traceoff' '!stacktrace' '!snapshot' '!enable_event:irq:irq_handler_entry' '!disable_event:irq:irq_handler_exit' '!stacktrace'; do
	trigger "$text"
done
cat show_event_triggers set_event
echo 0 > snapshot
echo "== id of an event that has gone =="
echo 'p:g/x vfs_read' >> kprobe_events
id=$(cat events/g/x/id)
exec 3< events/g/x/id 4< events/g/x/format
echo '-:g/x' >> kprobe_events
[ "$(cat <&3)" = "$id" ] && echo "the number"
cat <&4 > /dev/null
exec 3<&- 4<&-
