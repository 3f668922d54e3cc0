# SPDX-License-Identifier: GPL-2.0
"""Reads, writes and positions in one open file.

Left out: README, whose text is another one; `header_page`, of which C gives the first piece only; lseek(2) of files that are open
for writing only (coming-from-c.md); pwrite(2) to files whose writes leave a trace, and to sizes.
"""
import os

from control import APPEND, TRACING, TRUNC, attempt, put

FILES = ["tracing_on", "buffer_size_kb", "buffer_total_size_kb", "trace_clock", "current_tracer", "available_tracers", "set_event",
         "set_event_pid", "kprobe_events", "dynamic_events", "synthetic_events", "options/raw", "events/oom/enable",
         "events/oom/mark_victim/enable", "events/oom/mark_victim/id", "events/oom/mark_victim/format",
         "events/oom/mark_victim/trigger", "events/oom/mark_victim/hist", "tracing_cpumask", "error_log", "max_graph_depth",
         "buffer_percent", "buffer_subbuf_size_kb", "tracing_thresh", "timestamp_mode", "show_event_filters", "show_event_triggers",
         "set_ftrace_pid", "set_ftrace_filter", "per_cpu/cpu0/buffer_size_kb", "trace", "trace_marker", "trace_marker_raw",
         "user_events_data", "user_events_status", "function_profile_enabled", "syscall_user_buf_size", "uprobe_events",
         "tracing_max_latency", "stack_max_size", "per_cpu/cpu0/stats", "snapshot", "events/enable", "kprobe_profile", "uprobe_profile",
         "set_graph_function", "stack_trace_filter", "printk_formats", "available_events", "events/oom/mark_victim/hist_debug"]
NOT_WRITTEN = ["trace_marker", "trace_marker_raw", "user_events_data", "snapshot", "buffer_size_kb", "buffer_subbuf_size_kb",
               "per_cpu/cpu0/buffer_size_kb"]


def prepare():
    """Something to read in most files."""
    put("set_event", "oom:mark_victim module:*", TRUNC)
    put("set_event_pid", "1 2 3", TRUNC)
    put("trace_options", "nocontext-info")
    put("kprobe_events", "p:x vfs_truncate a=%di", APPEND)
    put("events/oom/filter", "common_pid == 1")
    put("events/oom/mark_victim/trigger", "traceoff:3 if common_pid == 5", APPEND)
    put("trace_marker", "one")


def operation(round_, file, name, flags, mode):
    """One operation on an open file."""
    texts = round_.texts
    size = texts.one(0, 1, 2, 3, 5, 10, 64, 100, 4096, 10000)
    offset = texts.one(0, 0, 1, 2, 5, 10, 100, 4096, 1 << 20)
    kind = texts.random.randrange(9)
    if kind < 3:
        round_.call(f"read {name} {size}", os.read, file, size)
    elif kind < 5:
        round_.call(f"pread {name} {size} {offset}", os.pread, file, size, offset)
    elif kind < 8 and flags != os.O_WRONLY:
        whence = texts.one(os.SEEK_SET, os.SEEK_SET, os.SEEK_CUR, os.SEEK_CUR, 9)
        round_.call(f"lseek {name} {offset} {whence}", os.lseek, file, texts.one(offset, offset, -offset), whence)
    elif kind == 8 and flags & os.O_ACCMODE and mode & 0o200 and name not in NOT_WRITTEN:
        text = texts.one(b"1", b"0", b"x", b"", b"1\n", b"local", b"nop", b"oom:mark_victim")
        round_.call(f"pwrite {name} {text} {offset}", os.pwrite, file, text, offset)


def run(round_):
    """Three files."""
    texts = round_.texts
    prepare()
    for _ in range(3):
        name = texts.one(*FILES)
        mode = os.stat(f"{TRACING}/{name}").st_mode
        flags = texts.one(os.O_RDONLY, os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_APPEND)
        file = attempt(os.open, f"{TRACING}/{name}", flags | os.O_NONBLOCK)
        round_.start(f"open {name} {flags} {mode:o}")
        if isinstance(file, str):
            round_.tell(f"  gives {file}")
            continue
        for _ in range(6):
            operation(round_, file, name, flags, mode)
        attempt(os.close, file)
