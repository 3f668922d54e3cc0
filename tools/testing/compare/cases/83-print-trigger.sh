# SPDX-License-Identifier: GPL-2.0
# A trigger enables ftrace:print, which nobody else can.
echo "== what set_event lists =="
echo traceoff:3 > events/ftrace/print/trigger
cat set_event
echo sched:sched_switch >> set_event
cat set_event
echo > set_event
cat set_event
echo 0 > events/enable
cat set_event
cat events/ftrace/print/trigger
echo '!traceoff' > events/ftrace/print/trigger
cat set_event
