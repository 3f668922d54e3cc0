# SPDX-License-Identifier: GPL-2.0
# The branch tracer and the profiles, on conditions of a pipe that are passed a known number of times.
echo "== tracers and options =="
tr ' ' '\n' < available_tracers | grep -A 1 branch
cat options/branch
grep branch trace_options
cat events/ftrace/branch/format
echo "== nothing recorded =="
echo 0 > tracing_on
echo branch > current_tracer
cat trace
record() { # a pipe, two writes (one of nothing) and a read, recorded from beginning to end
	echo > trace
	python3 -c '
import os
on = open("tracing_on", "wb", buffering=0)
on.write(b"1")
end, start = os.pipe()
os.write(start, b"0123456789")
os.write(start, b"")
os.read(end, 4)
on.write(b"0")'
}
pipe() { grep -E '\] (do_pipe2|anon_pipe_(read|write)|alloc_pipe_info):' trace; }
echo "== branches of a pipe =="
record
pipe
head -n 4 trace
for option in latency-format verbose raw hex; do
	echo "== option $option =="
	echo 1 > options/$option
	head -n 2 trace
	case $option in
	raw | hex) grep -c '^[^#].*type: 9' trace | sed 's/[0-9][0-9]*/SOME/' ;;
	*) pipe | sed -E 's/(python3|<\.\.\.>)[- ]*[0-9]+/TASK/; s/ [0-9]+ [0-9a-f]{8} [0-9a-f]{8} / /; s/\+?[0-9]+\.[0-9]+ms/T/g' ;;
	esac
	echo 0 > options/$option
done
echo "== a file of one CPU =="
grep -E '\] do_pipe2:' per_cpu/cpu0/trace
echo nop > current_tracer
echo "== nop again =="
record
pipe
cat trace
echo "== option branch, set and not in force =="
echo 1 > options/branch
cat options/branch
record
pipe
echo "== option branch beside nop =="
echo branch > current_tracer
echo nop > current_tracer
record
pipe | sed 's/.*\] //'
head -n 2 trace
echo 0 > options/branch
echo "== option branch, cleared and in force =="
record
pipe | sed 's/.*\] //'
echo branch > current_tracer
echo nop > current_tracer
record
pipe
echo "== in an instance =="
mkdir instances/one
cd instances/one
grep -c branch available_tracers
echo branch > current_tracer
cat current_tracer options/branch
grep branch trace_options
cd ../..
rmdir instances/one
echo 1 > tracing_on

echo "== titles of profiles =="
ls trace_stat | grep branch
stat -c '%n %A' trace_stat/branch_*
for file in trace_stat/branch_*; do head -n 2 $file; done
echo x > trace_stat/branch_all
echo $?
# Sites by file: what headers define is there once for each object file, of which the two kernels have different ones.
sites() { awk '$NF ~ /^[0-9]+$/ { print $(NF - 2), $(NF - 1), $NF }' "$1" | grep -E ' (pipe|namei|read_write|open|exit|pid|signal|mmap|memory)\.c '; }
echo "== annotated sites =="
sites trace_stat/branch_annotated | sort | tr 0-9 a-j
echo "== all sites, in their order =="
sites trace_stat/branch_all | grep ' pipe.c ' | tr 0-9 a-j
sites trace_stat/branch_all | sort | md5sum
count() { # what a thousand rounds add to the sites of pipes, digits as letters
	python3 -c '
import collections, os, sys
def read(name):
    rows = collections.Counter()
    for line in open("trace_stat/" + name).readlines()[2:]:
        *numbers, function, file, number = line.split()
        if file == "pipe.c":
            for way, value in enumerate(numbers[:2]):
                rows[function, number, way] += int(value.split("/")[0])
    return rows
def work():
    for _ in range(1000):
        end, start = os.pipe()
        os.write(start, b"0123456789")
        os.write(start, b"")
        os.read(end, 4)
        os.close(end)
        os.close(start)
for name in sys.argv[1:]:
    before = read(name)
    work()
    after = read(name)
    for row in sorted(after):
        if after[row] - before[row] >= 1000:
            print(name, *row, (after[row] - before[row]) // 1000)' "$@" | tr 0-9 a-j
}
echo "== a thousand pipes, annotated =="
count branch_annotated
echo "== a thousand pipes, all =="
count branch_all
