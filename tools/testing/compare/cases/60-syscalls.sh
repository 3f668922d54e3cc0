# SPDX-License-Identifier: GPL-2.0
# The events of system calls: which there are, their formats, lines with what arguments point to.
echo "== events =="
ls events/syscalls
for call in getppid openat write mount rename sethostname execve symlinkat linkat umount; do
	for event in enter exit; do
		echo "== sys_${event}_$call =="
		grep -v '^ID' events/syscalls/sys_${event}_$call/format
	done
done
echo 0 > tracing_on
echo > trace
for call in openat write chdir newfstatat exit_group; do
	echo 1 > events/syscalls/sys_enter_$call/enable
done
echo 1 > events/syscalls/sys_exit_chdir/enable
sh -c 'echo $$ > set_event_pid; echo 1 > tracing_on; cd /proc; cd /nowhere 2> /dev/null; printf "ab\1" > /dev/null; echo long > /tmp/../dev/null; echo 0 > tracing_on'
echo 0 > events/syscalls/enable
echo > set_event_pid
echo "== lines =="
sed 's/0x[0-9a-f]\{8,\}/ADDRESS/g; s/filename: [0-9]\{8,\}/filename: ADDRESS/' trace
echo "== lines, verbose =="
echo verbose > trace_options
sed 's/0x[0-9a-f]\{8,\}/ADDRESS/g' trace
echo noverbose > trace_options
echo 1 > tracing_on
echo > trace
