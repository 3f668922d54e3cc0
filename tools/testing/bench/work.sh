#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# work.sh PROGRAM: in a guest with ICOUNT=1, print for each tracer how much longer real work takes while everything is traced, in
# thousandths of the time that it takes otherwise.
program=$1
set -e
cd /sys/kernel/tracing
folder=/tmp/work
mkdir -p $folder
mount -t tmpfs nodev $folder
for what in fork pipe open; do
	"$program" $what $folder > /tmp/$what
done
told() { # name
	for what in fork pipe open; do
		echo "work_$1_$what $(($("$program" $what $folder) * 1000 / $(cat /tmp/$what)))"
	done
}
for tracer in function function_graph irqsoff wakeup; do
	echo $tracer > current_tracer
	told $tracer
	echo nop > current_tracer
done
echo 1 > function_profile_enabled
told profile
echo 0 > function_profile_enabled
umount $folder
