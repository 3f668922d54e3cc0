#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each CPU prints what it hits, and waiting for a lock is such a hit: who waits for the lock under which is printed would
# wait for itself. In tracefs, in a kernel that was booted with tp_printk.

echo 1 > events/lock/contention_begin/enable
echo 1 > events/lock/contention_end/enable
echo 1 > events/raw_syscalls/sys_enter/enable
for cpu in 0 1 2 3; do
	taskset -c $cpu sh -c 'i=0; while [ $i -lt 400 ]; do read line < /proc/self/stat; i=$((i + 1)); done' &
done
wait
echo 0 > events/enable
# All of it was reached, and something was printed.
dmesg | grep -q ' sys_enter: NR '
