#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Events in the kernel log as they are recorded, in a kernel that was booted with tp_printk. In tracefs.

TMPDIR=$(mktemp -d)
fail() { echo "$1"; cat $TMPDIR/log; exit 1; }
switch=/proc/sys/kernel/tracepoint_printk
event=events/sched/sched_process_exec
# The lines of the log since the last call.
log() { dmesg | tail -n +$((seen + 1)) > $TMPDIR/log; seen=$(dmesg | wc -l); }
seen=$(dmesg | wc -l)

[ "$(cat $switch)" = 1 ] || fail "it is not on"
echo 0 > $switch
echo 'filename == "/bin/true"' > $event/filter
echo 1 > $event/enable
/bin/true
log
grep sched_process_exec $TMPDIR/log && fail "printed while it is off"

echo 2 > $switch
[ "$(cat $switch)" = 2 ] || fail "it reads $(cat $switch)"
echo > trace
/bin/true
/bin/ls > /dev/null
log
# What was recorded, and nothing else, in the same words.
sed -n 's/^.*: sched_process_exec: //p' trace > $TMPDIR/recorded
sed -n 's/^.*sched_process_exec: //p' $TMPDIR/log > $TMPDIR/printed
[ "$(wc -l < $TMPDIR/printed)" -eq 1 ] || fail "not one line"
diff $TMPDIR/recorded $TMPDIR/printed || fail "other words"

# An event that is first enabled in an instance meanwhile, without a filter.
mkdir instances/foo
echo 1 > instances/foo/$event/enable
/bin/ls > /dev/null
log
[ "$(grep -c 'sched_process_exec: filename=/bin/ls ' $TMPDIR/log)" -eq 1 ] || fail "not in an instance"
# Soft-disabled and with tasks chosen it is neither recorded nor printed.
echo 1 > instances/foo/set_event_pid
/bin/ls > /dev/null
log
grep -q 'filename=/bin/ls ' $TMPDIR/log && fail "of a task that is not traced"
echo > instances/foo/set_event_pid
echo 0 > instances/foo/$event/enable
rmdir instances/foo

# Many at once, from each CPU and from interrupts: as many as there were, but for what a CPU hit while it printed.
echo 1 > events/sched/sched_wakeup/enable
echo 1 > events/sched/sched_waking/enable
for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done
log
[ "$(grep -cE 'sched_wak(eup|ing): comm=.* pid=[0-9]+ prio=[0-9]+ target_cpu=[0-9]{3}$' $TMPDIR/log)" -ge 16 ] ||
	fail "too few of many"
echo 0 > $switch
log
/bin/true
log
grep -q 'sched_' $TMPDIR/log && fail "printed when it is off again"
echo 0 > events/enable
echo 0 > $event/filter
exit 0
