# SPDX-License-Identifier: GPL-2.0
# perf's own tests of what it gets from tracepoints, probes and the buffers of perf's events: the same verdicts.
one() { # part of a test's name
	LC_ALL=C perf test "$1" 2>&1 | sed -nE 's/^ *[0-9]+(:[0-9]+)?: /exact /p'
}

echo "== events =="
for name in "Detect openat syscall event" "PERF_RECORD_" "Parse sched tracepoints fields" "event fields" "Number of exit events" \
	"Track with sched_switch" "Event times" "Parse event definition"; do
	one "$name"
done
echo "== probes =="
for name in vfs_getname "Probe SDT" "Breakpoint accounting" Sigtrap; do
	one "$name"
done
echo "== buffers and pipes =="
for name in "Read backward" "Sample parsing" "perf pipe" "symtab matches kallsyms"; do
	one "$name"
done
