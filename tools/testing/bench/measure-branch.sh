# SPDX-License-Identifier: GPL-2.0
# measure-branch.sh PROGRAM: in a guest with ICOUNT=1, print what the branch tracer adds for each branch that it records, over
# the same loop of PROGRAM (getppid.c) without it.
program=$1
set -e
cd /sys/kernel/tracing
echo 8192 > buffer_size_kb
"$program" > /dev/null # once to warm up
none=$("$program")
echo 0 > tracing_on
echo branch > current_tracer
echo 1 > tracing_on
with=$("$program")
echo 0 > tracing_on
# The program prints its best of 5 rounds of 20000 calls.
made=$(awk '/^(entries|overrun|read events):/ { n += $NF } END { print n }' per_cpu/cpu0/stats)
echo nop > current_tracer
echo "branch $((((with - none) * 5 + made / 2) / made))"
