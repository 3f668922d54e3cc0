# SPDX-License-Identifier: GPL-2.0
# Where a write leaves the position of a file, what a read behind it gives, and what rewinding an open list shows.
python3 - <<'END'
import errno
import os


def attempt(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]


def at(file):
    return attempt(os.lseek, file, 0, os.SEEK_CUR)


# C ends a read of a filter behind the first piece.
WHOLE = "events/sched/sched_switch/filter",

print("== written and read by one descriptor ==")
for name, texts in {
    "tracing_on": ("1", "1\n", "x"), "trace_clock": ("local", "local\n"), "trace_options": ("nobin\n",), "buffer_size_kb": ("1410", "1410\n"),
    "buffer_percent": ("50\n",), "buffer_subbuf_size_kb": ("4\n",), "current_tracer": ("nop", "nop\n"), "options/markers": ("1\n",),
    "tracing_cpumask": ("1\n",), "tracing_thresh": ("0\n",), "max_graph_depth": ("0\n",), "syscall_user_buf_size": ("63\n",),
    "set_event": ("irq:irq_handler_entry\n", "!irq:irq_handler_entry"), "set_event_pid": ("12\n",), "set_event_notrace_pid": ("34 35\n",),
    "set_ftrace_pid": ("12\n",), "kprobe_events": ("p:probe_of_this vfs_read\n", "-:probe_of_this\n"), "events/sched/enable": ("0\n", "2\n"),
    "events/sched/sched_switch/enable": ("0\n", "2\n"), "events/sched/sched_switch/filter": ("prev_pid == 1\n", "0\n"),
    "events/sched/sched_switch/trigger": ("traceoff if prev_pid == 4444444\n", "!traceoff\n"), "per_cpu/cpu0/buffer_size_kb": ("1410\n",),
}.items():
    for text in texts:
        file = os.open(name, os.O_RDWR)
        print(name, repr(text), attempt(os.write, file, text.encode()), at(file))
        if name not in WHOLE:
            print(" ", attempt(os.read, file, 12), at(file), attempt(os.pread, file, 6, 1), attempt(os.pwrite, file, text.encode(), 2), at(file))
        os.close(file)
for name in "set_event_pid", "set_event_notrace_pid", "set_ftrace_pid":
    os.close(os.open(name, os.O_WRONLY | os.O_TRUNC))

print("== numbers of tracers of noise, written and read by one descriptor ==")
for name, text in {
    "osnoise/period_us": "2000000", "osnoise/runtime_us": "1000000", "osnoise/stop_tracing_us": "0", "osnoise/timerlat_period_us": "1000",
    "osnoise/cpus": "0", "osnoise/options": "DEFAULTS", "hwlat_detector/width": "500000", "hwlat_detector/window": "1000000",
}.items():
    file = os.open(name, os.O_RDWR)
    print("exact", name, attempt(os.write, file, text.encode()), attempt(os.read, file, 100))
    os.close(file)
for name, text in ("osnoise/period_us", "1000000"), ("osnoise/cpus", "0-N"):
    with open(name, "w") as file:
        file.write(text)

print("== lists, rewound ==")
for name, texts in {
    "set_event": ("irq:irq_handler_entry", "timer:", "!timer:", "sched:*:mod:nosuch", "!irq:*", "!:mod:nosuch"),
    "set_event_pid": ("5", "3 9", "7"), "set_event_notrace_pid": ("5", "3 9", "7"), "set_ftrace_pid": ("5", "3 9", "7"),
    "kprobe_events": ("p:one vfs_read", "p:two vfs_write", "-:one", "-:two"),
    "dynamic_events": ("p:one vfs_read", "s:three int a", "p:two vfs_write", "-:one", "-:three", "-:two"),
    "synthetic_events": ("one int a", "two int a; u64 b", "!one", "!two"), "uprobe_events": ("p:one /bin/sh:0x1000", "-:one"),
    "events/sched/sched_switch/trigger": ("traceoff if prev_pid == 4444444", "!traceoff"),
}.items():
    reader = os.open(name, os.O_RDONLY)
    print(name, os.read(reader, 1000))
    for text in texts:
        writer = os.open(name, os.O_WRONLY | os.O_APPEND)
        print(" ", text, attempt(os.write, writer, text.encode() + b"\n"), end=" ")
        os.close(writer)
        behind = os.read(reader, 1000)
        # C counts the lines that were read, and begins again with one that has moved.
        print("behind:", "-" if "pid" in name else behind, end=" ")
        os.lseek(reader, 0, os.SEEK_SET)
        print("again:", os.read(reader, 1000))
    os.close(reader)
for name in "set_event_pid", "set_event_notrace_pid", "set_ftrace_pid":
    os.close(os.open(name, os.O_WRONLY | os.O_TRUNC))

print("== lists that show others' state, rewound ==")
for name, file, texts in (
    ("show_event_filters", "events/sched/sched_switch/filter", ("prev_pid == 1", "0")),
    ("show_event_triggers", "events/sched/sched_switch/trigger", ("traceoff if prev_pid == 4444444", "!traceoff")),
    ("kprobe_profile", "kprobe_events", ("p:one vfs_fsync", "-:one")),
    ("trace_clock", "trace_clock", ("global", "local")),
):
    reader = os.open(name, os.O_RDONLY)
    print(name, os.read(reader, 1000))
    for text in texts:
        with open(file, "wb", buffering=0, opener=lambda path, _: os.open(path, os.O_WRONLY | os.O_APPEND)) as writer:
            attempt(writer.write, text.encode() + b"\n")
        print("behind:", os.read(reader, 1000), end=" ")
        os.lseek(reader, 0, os.SEEK_SET)
        print("again:", os.read(reader, 7), os.read(reader, 1000))
    os.close(reader)

print("== a list in pieces ==")
writer = os.open("set_event", os.O_WRONLY)
os.write(writer, b"*:*")
whole = open("set_event").read()
reader = os.open("set_event", os.O_RDONLY)
pieces = b""
while piece := os.read(reader, 57):
    pieces += piece
print(pieces.decode() == whole, whole.count("\n") > 100)
os.lseek(reader, 0, os.SEEK_SET)
first = os.read(reader, 4096).decode()
os.close(os.open("set_event", os.O_WRONLY | os.O_TRUNC))
print(whole.startswith(first), os.read(reader, 100000).decode().count("\n") < 200, os.pread(reader, 10, 0))
END
