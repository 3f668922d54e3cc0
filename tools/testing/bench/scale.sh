#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# scale.sh PROGRAM CPUS: in a guest with ICOUNT=1 and as many CPUs, print `scale_CPUS hundredths`: how many hundredths of an
# instruction an event of the function tracer costs where all CPUs write at once.
program=$1
cpus=$2
calls=$((320000 / cpus)) # ticks, forks and exits come to the same share of all calls then
set -e
cd /sys/kernel/tracing

best() { # of 5
	for round in 1 2 3 4 5; do "$program" "$cpus" $calls; done | sort -n | head -n 1
}

"$program" "$cpus" $calls > /dev/null # once to warm up
none=$(best)
echo '*_sys_getppid' > set_ftrace_filter
echo function > current_tracer
with=$(best)
echo nop > current_tracer
echo "scale_$cpus $(((with - none) * 100 / (calls * cpus)))"
