# SPDX-License-Identifier: GPL-2.0
# What filter files show that are open for reading and writing; blanks; which files an epoll takes.
python3 - <<'END'
import errno
import os
import select


def attempt(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]


def put(name, text, flags=os.O_TRUNC):
    file = os.open(name, os.O_WRONLY | flags)
    written = attempt(os.write, file, text)
    os.close(file)
    return written


FILTERS = "set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "set_graph_notrace", "stack_trace_filter"
for name in FILTERS:
    print(f"== {name}, open for both ==")
    put(name, b"vfs_read\n")
    file = os.open(name, os.O_RDWR)
    for text in b"vfs_write\n", b"!vfs_read\n", b"!vfs_fsync\n", b"nosuchfunction\n", b"vfs_op", b"en\n", b"!vfs_write":
        print(text, attempt(os.write, file, text), end=" ")
        os.lseek(file, 0, os.SEEK_SET)
        print(os.read(file, 1000), open(name, "rb").read())
    print("closed by another", put(name, b"vfs_fsync\n"), end=" ")
    os.lseek(file, 0, os.SEEK_SET)
    # The graph's filters are in the order of a hash in C.
    print(sorted(os.read(file, 1000).split()))
    os.close(file)
    print(sorted(open(name, "rb").read().split()))
    put(name, b"")
    print(f"== {name}, blanks ==")
    file = os.open(name, os.O_WRONLY)
    for text in b" " * 5000, b"\n" * 4096, b" " * 4095 + b"vfs_read", b" " * 9000, b" " * 5000 + b"vfs_write" + b" " * 5000:
        print(attempt(os.write, file, text), end=" ")
    os.close(file)
    print(sorted(open(name, "rb").read().split()), put(name, b""))

print("== epoll ==")
open("trace", "w").close()
for name in ("per_cpu/cpu0/snapshot_raw", "per_cpu/cpu0/trace_pipe_raw", "trace_pipe", "per_cpu/cpu0/trace_pipe", "trace", "snapshot",
             "tracing_on", "trace_marker", "events/sched/sched_switch/hist", "user_events_data", "free_buffer", "per_cpu/cpu0/stats"):
    readable = os.stat(name).st_mode & 0o400
    file = os.open(name, (os.O_RDONLY if readable else os.O_WRONLY) | os.O_NONBLOCK)
    poll = select.poll()
    poll.register(file, 0xffff)
    print(name, attempt(select.epoll().register, file, select.EPOLLIN), [hex(events) for _, events in poll.poll(0)])
    os.close(file)
END
