# SPDX-License-Identifier: GPL-2.0
# The snapshot files: what they read, take and refuse.
marks() { # file: its lines with the task left out
	sed 's/^ *[^ ]*-[0-9]* /TASK-PID /' "$1"
}
echo 1 > tracing_on
echo 1410 > buffer_size_kb
echo > trace
echo "== snapshot, freed =="
cat snapshot
echo "== snapshot of a CPU, freed =="
cat per_cpu/cpu0/snapshot
echo "== snapshot, modes =="
stat -c '%n %A %s' snapshot per_cpu/cpu0/snapshot
echo "== snapshot, taken of nothing =="
echo 1 > snapshot
cat snapshot per_cpu/cpu0/snapshot
echo "== snapshot, first =="
echo one > trace_marker
echo 1 > snapshot
marks snapshot
marks trace
echo "== snapshot, second: the first is live again =="
echo two > trace_marker
echo 1 > snapshot
marks snapshot
marks trace
echo "== snapshot, the first was cleared away before the second =="
echo > trace
echo one > trace_marker
echo 1 > snapshot
echo > trace
echo two > trace_marker
echo 1 > snapshot
marks snapshot
marks trace
marks per_cpu/cpu0/trace
echo "exact $(grep entries-in trace)"
echo three > trace_marker
marks trace
echo "exact $(grep entries-in trace)"
dd if=trace_pipe iflag=nonblock bs=4096 2> /dev/null | sed 's/^.*: /: /'
echo "== snapshot, while the trace is read =="
echo 8 > buffer_size_kb
echo > trace
python3 - <<'END'
import os


def put(name, *texts):
    file = os.open(name, os.O_WRONLY)
    for text in texts:
        os.write(file, text)
    os.close(file)


def rest(file):
    text = b""
    while piece := os.read(file, 4096):
        text += piece
    return text


put("trace_marker", *(b"old %d" % n for n in range(90)))
put("snapshot", b"1")
put("trace_marker", *(b"mid %d" % n for n in range(90)))
file = os.open("per_cpu/cpu0/trace", os.O_RDONLY)
text = os.read(file, 4096)
put("snapshot", b"1")
put("trace_marker", b"new")
text += rest(file)
# It goes on with what it had begun to read, which is the snapshot now.
print("exact", text.count(b": old "), text.count(b": mid "), text.count(b": new"))
file = os.open("per_cpu/cpu0/snapshot", os.O_RDONLY)
text = os.read(file, 4096)
put("snapshot", b"1")
text += rest(file)
print("exact", text.count(b": old "), text.count(b": mid "))
END
echo 1410 > buffer_size_kb
echo "== time of a buffer that was never cleared =="
mkdir instances/never
echo 1 > instances/never/options/latency-format
echo hi > instances/never/trace_marker
us=$(sed -n 's/.* \([0-9]*\)us.*: hi/\1/p' instances/never/trace)
read -r up _ < /proc/uptime
[ $((us / 500000)) -gt "${up%.*}" ] && echo "since boot"
echo > instances/never/trace
echo hi > instances/never/trace_marker
us=$(sed -n 's/.* \([0-9]*\)us.*: hi/\1/p' instances/never/trace)
[ "$us" -lt 1000000 ] && echo "since it was cleared"
rmdir instances/never
echo "== snapshot, cleared =="
echo 2 > snapshot
marks snapshot
marks trace
echo "== snapshot, of a CPU =="
echo three > trace_marker
echo 1 > per_cpu/cpu0/snapshot
marks per_cpu/cpu0/snapshot
marks trace
echo 7 > per_cpu/cpu0/snapshot
cat per_cpu/cpu0/snapshot
echo "== snapshot, sizes =="
echo 100 > buffer_size_kb
echo four > trace_marker
echo 1 > snapshot
cat buffer_size_kb
echo 1 > snapshot
cat buffer_size_kb
echo 200 > per_cpu/cpu0/buffer_size_kb
echo 1 > snapshot
cat buffer_size_kb per_cpu/cpu0/buffer_size_kb
echo 1410 > buffer_size_kb
echo "== snapshot, refused =="
(echo 0 > per_cpu/cpu0/snapshot) 2>&1 | sed 's/.*: //'
(echo x > snapshot) 2>&1 | sed 's/.*: //'
(echo -1 > snapshot) 2>&1 | sed 's/.*: //'
(echo 0x1 > snapshot) 2>&1 | sed 's/.*: //'
echo "== snapshot, freed again =="
echo 0 > snapshot
cat snapshot
echo "== snapshot, command =="
echo > trace
echo 'vfs_symlink:snapshot' > set_ftrace_filter
echo 'vfs_rename:snapshot:1' >> set_ftrace_filter
echo 'vfs_link:snapshot:' >> set_ftrace_filter
grep snapshot set_ftrace_filter | sort
cat snapshot
echo five > trace_marker
ln -s nowhere /tmp/snapshot-link
marks snapshot
marks trace
echo "== snapshot, command with a count =="
echo six > trace_marker
mv /tmp/snapshot-link /tmp/snapshot-link2
mv /tmp/snapshot-link2 /tmp/snapshot-link
ln /tmp/snapshot-link /tmp/snapshot-link3
grep snapshot set_ftrace_filter | sort
marks snapshot
echo "== snapshot, command without memory =="
echo > trace
echo 0 > snapshot
ln -s nowhere /tmp/snapshot-link4
cat tracing_on
marks trace
echo "== snapshot, commands removed =="
echo '!vfs_symlink:snapshot' >> set_ftrace_filter
echo '!vfs_rename:snapshot:0' >> set_ftrace_filter
echo '!vfs_link:snapshot:0' >> set_ftrace_filter
cat set_ftrace_filter
echo 1 > tracing_on
echo > trace
