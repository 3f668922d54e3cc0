#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""at_once.py SECONDS: every switch is turned by a process of its own, and every file is read by one, all at the same time.

A write may meet another one that is in its way: what is said then is in the table. Any other error ends the test, and so does
a process that does not get on.
"""
import errno
import glob
import itertools
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from checks import child, status  # noqa: E402

PAUSE = 0.02  # seconds after each, or who waits for the others' locks comes to run too seldom
BUSY = (errno.EBUSY,)
SYSCTL = "/proc/sys/kernel/"


def words(path):
    with open(path, encoding="ascii") as file:
        return file.read().split()


def switched(path):
    return [(path, "1"), (path, "0")]


def options():
    """Every option, off where it is on and the other way round, and back."""
    for path in sorted(glob.glob("options/*")):
        if not path.endswith("/test_nop_refuse"):
            now = int(words(path)[0])
            yield path, str(1 - now)
            yield path, str(now)


def systems():
    for path in sorted(glob.glob("events/*/enable")):
        yield from switched(path)


def clocks():
    return [("trace_clock", word.strip("[]")) for word in words("trace_clock")]


def instances():
    """An instance that comes, records and goes."""
    for number in itertools.count():
        name = f"instances/at_once_{number % 3}"
        os.mkdir(name)
        try:
            yield f"{name}/set_ftrace_filter", "vfs_*"
            yield f"{name}/events/sched/enable", "1"
            yield f"{name}/current_tracer", "function"
            yield f"{name}/snapshot", "1"
            yield f"{name}/current_tracer", "nop"
        finally:
            os.rmdir(name)
        yield None


def probes():
    for number in itertools.count():
        name = f"at_once/p{number % 5}"
        yield "dynamic_events", f"p:{name} vfs_read"
        yield f"events/{name}/trigger", "hist:keys=common_pid"
        yield f"events/{name}/enable", "1"
        yield f"events/{name}/enable", "0"
        yield f"events/{name}/trigger", "!hist:keys=common_pid"
        yield "dynamic_events", f"-:{name}"
        if number % 5 == 4:
            yield None


# Each is a process: what it writes again and again, and the errors that others may cause.
WRITERS = {
    "tracer": (lambda: [("current_tracer", word) for word in words("available_tracers") if word != "mmiotrace"], BUSY),
    "options": (options, (errno.EINVAL,)),
    "clock": (clocks, BUSY),
    "events": (systems, BUSY),
    "set_event": (lambda: [("set_event", "sched:*\n"), ("set_event", "!sched:*\n"), ("set_event", "")], BUSY),
    "size": (lambda: [("buffer_size_kb", "100"), ("buffer_size_kb", "2000"), ("per_cpu/cpu0/buffer_size_kb", "300")], BUSY),
    "order": (lambda: [("buffer_subbuf_size_kb", "8"), ("buffer_subbuf_size_kb", "4")], BUSY),
    "on": (lambda: switched("tracing_on"), ()),
    "mask": (lambda: [("tracing_cpumask", "1"), ("tracing_cpumask", "3")], ()),
    "filter": (lambda: [("set_ftrace_filter", "*mutex*\n"), ("set_ftrace_filter", "!*mutex*\n"), ("set_ftrace_notrace", "*rcu*\n"),
                        ("set_ftrace_filter", "vfs_read:traceoff:3\n"), ("set_ftrace_filter", "!vfs_read:traceoff:0\n")], BUSY),
    "graph": (lambda: [("set_graph_function", "vfs_read\n"), ("set_graph_notrace", "*lock*\n"), ("max_graph_depth", "3"),
                       ("max_graph_depth", "0")], BUSY),
    "pids": (lambda: [("set_ftrace_pid", f"{os.getpid()}\n"), ("set_event_pid", f"{os.getpid()}\n"),
                      ("set_ftrace_notrace_pid", "1\n")], ()),
    "profile": (lambda: switched("function_profile_enabled"), ()),
    "stack": (lambda: switched(SYSCTL + "stack_tracer_enabled") + [("stack_max_size", "0")], ()),
    "ftrace_enabled": (lambda: switched(SYSCTL + "ftrace_enabled"), (errno.EOPNOTSUPP,)),
    "latency": (lambda: [("tracing_max_latency", "0"), ("tracing_thresh", "100"), ("tracing_thresh", "0")], ()),
    "snapshot": (lambda: [("snapshot", "1"), ("snapshot", "2"), ("snapshot", "0")], BUSY),
    "clear": (lambda: [("trace", ""), ("per_cpu/cpu1/trace", "")], BUSY),
    "marker": (lambda: [("trace_marker", "x" * length) for length in (1, 100, 4000)],
               (errno.EBADF, errno.EINVAL, errno.ENODEV)),
    "instances": (instances, BUSY),
    "probes": (probes, (errno.EBUSY, errno.EEXIST)),
}
READERS = ["trace", "per_cpu/cpu0/trace", "trace_pipe", "per_cpu/cpu1/trace_pipe_raw", "snapshot", "per_cpu/cpu0/stats", "trace_stat/*",
           "stack_trace", "enabled_functions", "set_event", "saved_cmdlines", "events/*/*/format", "events/at_once/*/hist", "trace_options",
           "printk_formats"]


def put(path, text):
    """One write, as `echo text > path` does it; lists are added to: those of functions are never empty, or all are patched."""
    is_list = path in ("dynamic_events", "set_ftrace_filter", "stack_trace_filter")
    file = os.open(path, os.O_WRONLY | (os.O_APPEND if is_list else os.O_TRUNC))
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def said(body):
    """The child says what ended it."""
    try:
        return body()
    except OSError as error:
        print(error, flush=True)
        return 1


def write(what, allowed, until):
    """One who writes. An option of the tracer that is going, and an event that another one takes, may be gone."""
    done = 0
    while time.monotonic() < until:
        for one in what():
            if one is None or time.monotonic() >= until:
                break
            path, text = one
            try:
                put(path, text)
            except FileNotFoundError:
                if not path.startswith(("options/", "events/at_once/")):
                    raise
            except OSError as error:
                if error.errno not in allowed:
                    raise OSError(error.errno, error.strerror, f"{path}: {text}") from error
            done += 1
            time.sleep(PAUSE)
    return 0 if done else 3


def read(pattern, until):
    done = 0
    while time.monotonic() < until:
        for path in glob.glob(pattern):
            if time.monotonic() >= until:
                break
            try:
                file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno not in (errno.EBUSY, errno.ENOENT, errno.ENODEV):
                    raise
                continue
            try:
                for _ in range(50):
                    if not os.read(file, 65536):
                        break
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EBUSY, errno.ENODEV):
                    raise OSError(error.errno, error.strerror, path) from error
            finally:
                os.close(file)
            done += 1
            time.sleep(PAUSE)
    return 0 if done else 3


def main():
    seconds = float(sys.argv[1])
    for path in ("set_ftrace_filter", "stack_trace_filter"):
        put(path, "vfs_*")
    until = time.monotonic() + seconds
    running = {name: child(lambda what=what: said(lambda: write(*what, until))) for name, what in WRITERS.items()}
    running.update({f"reader of {pattern}": child(lambda pattern=pattern: said(lambda: read(pattern, until))) for pattern in READERS})
    bad = {name: end for name, pid in running.items() if (end := status(pid, 10 * seconds)) != 0}
    sys.exit(f"ended so: {bad}" if bad else 0)


if __name__ == "__main__":
    main()
