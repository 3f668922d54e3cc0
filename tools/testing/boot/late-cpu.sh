# SPDX-License-Identifier: GPL-2.0
# In a guest that was booted with maxcpus=1: CPU 1 comes up late. The current folder is tracefs.
wrong() {
	echo "$*"
	exit 1
}

for line in 'entries: 0' 'overrun: 0' 'commit overrun: 0' 'bytes: 0' 'dropped events: 0' 'read events: 0'; do
	grep -qx "$line" per_cpu/cpu1/stats || wrong "not '$line': $(cat per_cpu/cpu1/stats)"
done
# Its raw file is there, and has nothing that could be waited for.
python3 - << 'END' || wrong "errors of a CPU that never came up"
import errno
import fcntl
import os


def attempt(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]


pipe = os.pipe()[1]
found = []
for flags in os.O_NONBLOCK, 0:
    file = os.open("per_cpu/cpu1/trace_pipe_raw", os.O_RDONLY | flags)
    GET_READER = 0x5220
    found += [attempt(fcntl.ioctl, file, GET_READER), attempt(os.splice, file, pipe, 4096), attempt(os.read, file, 4096)]
print(found)
raise SystemExit(found != ["EINVAL", "EAGAIN", "ENODEV", "ENODEV", "ENODEV", "ENODEV"])
END

allocates=$(grep -xm 1 -e __alloc_frozen_pages_noprof -e get_page_from_freelist available_filter_functions) || wrong "no function that allocates"
for n in 1 2 3 4; do
	mkdir "instances/$n" || wrong "no instance"
done
each() { # command...: in the folder of each instance
	for place in . instances/*; do
		(cd $place && "$@") || exit 1
	done
}
begin() {
	echo 512 > buffer_size_kb
	echo "$allocates:snapshot" > set_ftrace_filter
}
each begin
size=$(cat per_cpu/cpu0/buffer_size_kb)
[ "$size" -ge 512 ] || wrong "not expanded: $size KiB"
# What is recorded meanwhile lies in both buffers.
echo 1 > events/sched/sched_switch/enable
echo 1 > /sys/devices/system/cpu/cpu1/online || wrong "CPU 1 does not come up"
echo 0 > events/sched/sched_switch/enable
grep -q sched_switch snapshot || wrong "no snapshot was taken meanwhile"

size_of_all() {
	for cpu in 0 1; do
		[ "$(cat per_cpu/cpu$cpu/buffer_size_kb)" = "$size" ] || wrong "$PWD: CPU $cpu has $(cat per_cpu/cpu$cpu/buffer_size_kb) KiB, not $size"
	done
}
check() {
	echo "!$allocates:snapshot" > set_ftrace_filter
	size_of_all
	# Buffers of different sizes would not be exchanged. (A write to `snapshot` would make the sizes the same first.)
	echo > trace
	taskset 2 sh -c 'echo late > trace_marker'
	grep -q '\[001\].*: late$' trace || wrong "$PWD: CPU 1 does not record: $(cat trace)"
	echo 'vfs_read:snapshot:1' > set_ftrace_filter
	cat /proc/version > /dev/null
	echo '!vfs_read:snapshot' > set_ftrace_filter
	grep -q '\[001\].*: late$' snapshot || wrong "$PWD: no snapshot was taken: $(cat snapshot)"
	size_of_all
}
each check

# Each allocation of its coming up fails in turn.
echo 0 > /sys/devices/system/cpu/cpu1/online || wrong "CPU 1 does not go down"
for n in 1 2 3 4; do
	rmdir "instances/$n" || wrong "the instance stays"
done
if [ -e /proc/self/fail-nth ] || modprobe -q allocation_faults; then
	python3 "$(dirname "$0")/late-cpu-faults.py" || wrong "a CPU that has no memory to come up"
fi
