#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In a guest, print a line `what KiB` for the memory that an instance takes beside its buffer, and with all its events enabled once.
# What is counted are objects of the kernel's allocators; the pages of buffers are none.
set -e
cd /sys/kernel/tracing
many=8

# What the kernel has allocated, of which what caches can give back is taken away first.
allocated() {
	sync
	echo 3 > /proc/sys/vm/drop_caches
	sleep 1
	awk '/^(Slab|VmallocUsed):/ { sum += $2 } END { print sum }' /proc/meminfo
}

each() { # a command, which finds the instance in $1
	for number in $(seq $many); do
		sh -c "$1" - "instances/$number"
	done
}

# What the first one allocates for all is not an instance's.
each 'mkdir "$1"; echo 1 > "$1/events/enable"; echo 0 > "$1/events/enable"; rmdir "$1"'
before=$(allocated)
each 'mkdir "$1"'
made=$(allocated)
each 'echo 1 > "$1/events/enable"; echo 0 > "$1/events/enable"'
enabled=$(allocated)
echo "instance_kib $(((made - before) / many))"
echo "instance_events_kib $(((enabled - before) / many))"
