# SPDX-License-Identifier: GPL-2.0
# What function commands hold is free once they are removed: a write that follows at once succeeds. (The event is not one of a
# kprobe at a function: C takes the ftrace lock twice when it switches that off.)
define() {
	echo 'one u64 number' > synthetic_events
}
undefine() { # what was removed
	(echo '!one' >> synthetic_events) 2>&1 | sed 's/.*: //'
	echo "exact $1: $(grep -c . synthetic_events)"
}
map() { # what was removed
	python3 - "$1" <<'END'
import ctypes
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
file = os.open("per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY)
at = libc.mmap(None, 4096, 1, 1, file, 0)
print("exact", sys.argv[1], os.strerror(ctypes.get_errno()) if at == 2**64 - 1 else "mapped")
END
}
echo "== events are free when their commands are removed =="
for command in enable_event disable_event; do
	define
	echo "vfs_rmdir:$command:synthetic:one" > set_ftrace_filter
	undefine "with $command"
	echo "vfs_mkdir:$command:synthetic:one" >> set_ftrace_filter
	echo "!vfs_rmdir:$command:synthetic:one" >> set_ftrace_filter
	undefine "with $command at one of two"
	echo "!vfs_mkdir:$command:synthetic:one" >> set_ftrace_filter
	undefine "without $command"
	cat set_ftrace_filter
done
echo "== events are free when the instance of their commands is removed =="
mkdir instances/one
define
echo 'vfs_rmdir:enable_event:synthetic:one' > instances/one/set_ftrace_filter
undefine "with an instance"
rmdir instances/one
undefine "without the instance"
echo "== an event that was softly enabled is not afterwards =="
define
echo 'vfs_rmdir:enable_event:synthetic:one' > set_ftrace_filter
cat events/synthetic/one/enable
echo '!vfs_rmdir:enable_event:synthetic:one' >> set_ftrace_filter
cat events/synthetic/one/enable
undefine "at the end"
echo "== the buffer can be mapped when the command snapshot is removed =="
echo 'vfs_rmdir:snapshot' > set_ftrace_filter
echo 'vfs_mkdir:snapshot:3' >> set_ftrace_filter
map "with two"
echo '!vfs_rmdir:snapshot' >> set_ftrace_filter
map "with one"
echo '!vfs_mkdir:snapshot:3' >> set_ftrace_filter
map "without"
echo 'vfs_rmdir:snapshot' > set_ftrace_filter
map "again with one"
echo '!vfs_rmdir:snapshot' >> set_ftrace_filter
echo 0 > snapshot
echo > trace
