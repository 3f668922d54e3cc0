# SPDX-License-Identifier: GPL-2.0
# events/ftrace: the core's own entries, their files, what inject takes; probes in that group.
# A command cannot set common fields in rtrace, so none does.
echo "== files =="
mkdir instances/own
ls -U events/ftrace
ls -U instances/own/events/ftrace
for name in $(ls -U events/ftrace); do
	ls -U events/ftrace/$name
	stat -c '%n %A' events/ftrace/$name/*
	cat events/ftrace/$name/format events/ftrace/$name/hist events/ftrace/$name/hist_debug
done
rmdir instances/own
echo "== inject =="
inject() { # event, text
	printf '%s' "$2" | LC_ALL=C dd of=events/$1/inject bs=4096 2>&1 | grep -v records | sed 's/, [0-9.e-]* s,.*//'
	sed -n '/^#/!s/^[^:]*: //p' trace
	echo > trace
}
echo > trace
for text in 'ip=1' 'ip=0x1 buf="hello"' 'buf="x"' 'ip=-1' 'ip=1 ip=2' 'nosuch=1' 'ip="x"' 'buf=1' "buf='a'" 'ip=99999999999999999999' ip= =1; do
	echo "$text:"
	inject ftrace/print "$text"
done
for text in 'ip=1' 'parent_ip=2' 'nosuch=1' 'ip=99999999999999999999' 'ip="x"'; do
	echo "function $text:"
	inject ftrace/function "$text"
done
python3 -c '
import os
for event in "ftrace/print", "ftrace/function", "sched/sched_switch", "irq/softirq_entry":
    print(event, os.write(os.open(f"events/{event}/inject", os.O_WRONLY), b""), flush=True)'
sed -n '/^#/!s/^[^:]*: //p' trace
echo > trace
echo "== probes in the group ftrace =="
for name in foo print function format; do
	echo "p:ftrace/$name vfs_read" >> kprobe_events
	ls events/ftrace/$name
	cat kprobe_events
done
ls -U events/ftrace | tail -n 2
cat events/ftrace/foo/enable
echo 1 > events/ftrace/foo/enable
cat set_event
echo 0 > events/ftrace/foo/enable
echo > kprobe_events
ls -d events/ftrace/foo || true
echo "== description of an instance that is gone =="
mkdir instances/gone
python3 - <<'PY'
import errno
import os

for name in "sched/sched_switch/format", "ftrace/print/format", "sched/sched_switch/id", "ftrace/print/id":
    os.makedirs("instances/gone", exist_ok=True)
    file = os.open(f"instances/gone/events/{name}", os.O_RDONLY)
    os.rmdir("instances/gone")
    try:
        print(name, os.read(file, 6))
    except OSError as error:
        print(name, errno.errorcode[error.errno])
PY
