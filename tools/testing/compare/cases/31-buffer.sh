# SPDX-License-Identifier: GPL-2.0
# What a full buffer keeps, what its bytes are, and when a CPU's snapshot is taken.
cat > /tmp/full.py <<'END'
import os

marker, n = os.open("trace_marker", os.O_WRONLY), 0
try:
    while True:
        os.write(marker, b"x" * 1000)
        n += 1
except OSError as error:
    print("exact", n, error.errno)
for text in b"late", b"later":
    try:
        print("exact", os.write(marker, text))
    except OSError as error:
        print("exact", error.errno)
END
last() { # the last line of the trace, and what was dropped
	tail -n 1 per_cpu/cpu0/trace | sed 's/.*tracing_mark_write: //;s/xxx*/xs/'
	sed -n '/dropped/s/^/exact /p' per_cpu/cpu0/stats
}
echo "== full, without overwriting =="
echo 0 > options/overwrite
echo 8 > buffer_size_kb
echo > trace
python3 /tmp/full.py
last
echo "== full, read, and full again =="
dd if=per_cpu/cpu0/trace_pipe of=/dev/null bs=1500 count=1 2> /dev/null
python3 /tmp/full.py
last
sed -n '/late/s/.*: //p' per_cpu/cpu0/trace
echo "== full, then overwriting =="
echo 1 > options/overwrite
echo more > trace_marker
last
echo "== bytes with unused ends =="
echo 1408 > buffer_size_kb
echo > trace
python3 -c 'import os
marker = os.open("trace_marker", os.O_WRONLY)
for i in range(100): os.write(marker, b"x" * 80)'
sed -n '/bytes/s/^/exact /p' per_cpu/cpu0/stats
dd if=per_cpu/cpu0/trace_pipe of=/dev/null bs=4096 count=1 2> /dev/null
sed -n '/bytes\|entries/s/^/exact /p' per_cpu/cpu0/stats
dd if=per_cpu/cpu0/trace_pipe_raw of=/dev/null bs=4096 count=1 2> /dev/null
sed -n '/bytes\|entries/s/^/exact /p' per_cpu/cpu0/stats
dd if=per_cpu/cpu0/trace_pipe_raw of=/dev/null bs=4096 count=1 2> /dev/null
sed -n '/bytes\|entries/s/^/exact /p' per_cpu/cpu0/stats
echo "== bytes after an overrun =="
echo 8 > buffer_size_kb
echo > trace
python3 -c 'import os
marker = os.open("trace_marker", os.O_WRONLY)
for i in range(1000): os.write(marker, b"x" * 80)'
sed -n '/bytes\|entries\|overrun/s/^/exact /p' per_cpu/cpu0/stats
echo "== a short read after an overrun =="
python3 - <<'END'
import os
import struct

file = os.open("per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
data = os.read(file, 16 + 104 + 4)
_, commit = struct.unpack_from("<QQ", data)
rest = os.read(file, 4096)
print("exact", len(data), commit & 0xfffff, commit >> 30 & 3, len(rest), struct.unpack_from("<Q", (data + rest)[16 + (commit & 0xfffff):])[0])
END
echo 1410 > buffer_size_kb
echo "== a CPU's snapshot where nothing records =="
mask=$(cat tracing_cpumask)
for how in off mask; do
	echo 0 > snapshot
	echo > trace
	echo mark > trace_marker
	case $how in
	off) echo 0 > tracing_on ;;
	mask) echo 0 > tracing_cpumask ;;
	esac
	echo 1 > per_cpu/cpu0/snapshot
	echo "exact $how $(grep -c ': mark' per_cpu/cpu0/snapshot) $(grep -c ': mark' per_cpu/cpu0/trace)"
	echo 1 > snapshot
	echo "exact $how, all CPUs $(grep -c ': mark' per_cpu/cpu0/snapshot) $(grep -c ': mark' per_cpu/cpu0/trace)"
	echo 1 > tracing_on
	echo $mask > tracing_cpumask
done
echo 0 > snapshot
echo "== markers for several instances: the newest is first, and the first error ends it =="
marked() { # whether each instance has the marker
	echo x > trace_marker
	for instance in . instances/one instances/two; do
		echo "exact $1 $instance $(grep -c ': x$' $instance/trace)"
		echo > $instance/trace
	done
}
echo > trace
mkdir instances/one instances/two
for instance in one two; do
	echo 1 > instances/$instance/options/copy_trace_marker
done
marked all
for instance in . instances/one instances/two; do
	echo 0 > $instance/tracing_on
	marked "not $instance" 2>&1 | sed 's/.*: //'
	echo 1 > $instance/tracing_on
done
rmdir instances/one instances/two
echo "== names without record-cmd =="
names() { # who records: whether names are saved meanwhile
	echo 128 > saved_cmdlines_size
	echo > trace
	(echo > /dev/null; sleep 0.2; echo > /dev/null; sleep 0.1)
	[ "$(wc -l < saved_cmdlines)" -gt 0 ] && echo "$1: names" || echo "$1: none"
}
echo 0 > options/record-cmd
names nop
for tracer in function function_graph; do
	echo $tracer > current_tracer
	names $tracer
	echo nop > current_tracer
done
echo 1 > events/sched/sched_switch/enable
names event
echo 1 > options/record-cmd
names 'event, with the option'
echo 0 > events/sched/sched_switch/enable
echo "== names with and without record-cmd in an instance =="
mkdir instances/names
echo norecord-cmd > instances/names/trace_options
echo 1 > events/sched/sched_switch/enable
names 'event at the top, without the option in an instance'
echo 0 > events/sched/sched_switch/enable
echo 1 > instances/names/events/sched/sched_switch/enable
names 'event there'
echo record-cmd > instances/names/trace_options
names 'event there, with the option again'
echo norecord-cmd > instances/names/trace_options
names 'event there, without it again'
rmdir instances/names
echo 1 > events/sched/sched_switch/enable
names 'event at the top, when the instance has gone'
echo 0 > events/sched/sched_switch/enable
echo 0 > options/record-cmd
mkdir instances/names
grep record-cmd instances/names/trace_options
echo 1 > instances/names/events/sched/sched_switch/enable
names 'event there, without the option from the top'
echo record-cmd > instances/names/trace_options
echo 1 > events/sched/sched_switch/enable
names 'event there, with the option'
echo 0 > instances/names/events/sched/sched_switch/enable
names 'event at the top alone, without the option'
echo 0 > events/sched/sched_switch/enable
rmdir instances/names
echo 1 > options/record-cmd
echo "== thread groups with and without record-tgid in an instance =="
groups() { # whether a new task's group is saved
	echo 1 > events/sched/sched_switch/enable
	sh -c 'echo $$; for i in 1 2 3; do sleep 0.05; done' > /tmp/groups
	echo 0 > events/sched/sched_switch/enable
	grep -q "^$(cat /tmp/groups) " saved_tgids && echo "$1: saved" || echo "$1: none"
}
groups none
mkdir instances/groups
echo 1 > instances/groups/options/record-tgid
rmdir instances/groups
groups 'the option went with its instance'
echo 1 > options/record-tgid
groups 'the option at the top'
mkdir instances/groups
cat instances/groups/options/record-tgid
rmdir instances/groups
groups 'an instance that had it, too, has gone'
mkdir instances/groups
echo 0 > instances/groups/options/record-tgid
groups 'an instance has it no more'
rmdir instances/groups
echo 0 > options/record-tgid
groups 'none again'
echo "== a line's room =="
echo > trace
echo 1 > options/irq-info
python3 - <<'END'
import os

marker = os.open("trace_marker", os.O_WRONLY)
for _ in range(200):
    os.write(marker, b"12345678")
pipe = os.open("trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
text = os.read(pipe, 65536)
line = len(text.split(b"\n")[0]) + 1
print("exact", len(text) // line, len(text) % line)
END
echo > trace
echo "== a dump of a long event =="
echo 8 > buffer_subbuf_size_kb
echo > trace
python3 -c 'import os; os.write(os.open("trace_marker", os.O_WRONLY), b"A" * 4096)'
echo after > trace_marker
dmesg -C
echo z > /proc/sysrq-trigger
dmesg | grep -c tracing_mark_write
dmesg | sed -n 's/.*tracing_mark_write: //p' | awk '{ print (length($0) > 900), substr($0, 1, 5) }'
echo 4 > buffer_subbuf_size_kb
echo 1 > tracing_on
echo > trace
echo "== a dump with option verbose =="
echo 1 > options/verbose
echo a > trace_marker
echo b > trace_marker
dmesg -C
echo z > /proc/sysrq-trigger
dmesg | awk '/tracing_mark_write/ { print "exact", $(NF - 6), $(NF - 5), $NF }'
echo 0 > options/verbose
echo 1 > tracing_on
echo > trace
echo "== positions =="
python3 - <<'END'
import os

file = os.open("buffer_subbuf_size_kb", os.O_RDWR)
for size in b"8", b"8", b"4":
    written = os.write(file, size)
    print("exact", written, os.lseek(file, 0, os.SEEK_CUR), os.read(file, 9))
for name in "trace", "snapshot", "error_log":
    file = os.open(name, os.O_WRONLY)
    for offset, whence in (5, 0), (-1, 0), (7, 1), (0, 2), (1, 9):
        try:
            print("exact", name, offset, whence, os.lseek(file, offset, whence))
        except OSError as error:
            print("exact", name, offset, whence, error.errno)
END
echo 1408 > buffer_size_kb
