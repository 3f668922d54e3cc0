# SPDX-License-Identifier: GPL-2.0
"""Directories and files that are made, moved and removed.

Left out: in what a folder lists, what C does not have.
"""
import os

from control import TRACING, attempt
from round import brief

OTHERS = ["instances/j", "instances/k", "tracing_on", "x", "/tmp/x", "instances/i"]
HELD = ["trace", "events/oom/enable", "trace_pipe", "set_event", "events/oom/mark_victim/format", "options/raw", "events/oom/filter",
        "error_log", "per_cpu/cpu0/stats", "set_ftrace_filter", "tracing_on", "current_tracer", "trace_clock",
        "events/oom/mark_victim/hist", "buffer_percent", "events/enable", "show_event_filters", "tracing_cpumask", "available_tracers",
        "trace_options", "free_buffer", "trace_marker", "buffer_size_kb", "set_event_pid", "events/header_page"]


def is_ours(name):
    """Whether C does not have it: options and events with `rust`, and one file."""
    return "rust" in name or name == "untraceable_functions"


def names(folder):
    """What a folder lists, in order."""
    return " ".join(brief(name) for name in sorted(os.listdir(folder)) if not is_ours(name))


def instances():
    """The instances that there are."""
    return " ".join(brief(name) for name in sorted(os.listdir(f"{TRACING}/instances")))


def any_path(texts):
    """A path that is there, or one that is not."""
    name = texts.one("i", "i", "j", "a b", "a:b", ".x", "é", "i/", "i/x", "*", "\n", "x" * texts.one(254, 255, 256), "nosuch", "i/..", ".",
                     "..", "-", "%d", "a\\b")
    return texts.one(f"instances/{name}", f"instances/{name}", f"instances/{name}", f"instances/i/{name}", name, f"events/{name}",
                     "instances", "events", "options", "tracing_on", "events/oom", "instances/i/events", "instances/i/tracing_on",
                     "instances/i/options/raw", f"per_cpu/{name}")


def create(full):
    """Makes a file by opening it."""
    os.close(os.open(full, os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK, 0o600))


def stat(full):
    """What lstat(2) says."""
    result = os.lstat(full)
    return f"{result.st_mode:o} {result.st_nlink} {result.st_size} {result.st_uid} {result.st_blocks} {result.st_blksize}"


def remove_held(file):
    """The removal of an instance of which a file is open, and what can be read afterwards."""
    instance = f"{TRACING}/instances/i"
    attempt(os.mkdir, instance)
    mode = os.stat(f"{instance}/{file}").st_mode
    handle = os.open(f"{instance}/{file}", (os.O_RDONLY if mode & 0o400 else os.O_WRONLY) | os.O_NONBLOCK)
    try:
        return file, attempt(os.rmdir, instance), "" if file == "trace_pipe" else type(attempt(os.read, handle, 10))
    finally:
        os.close(handle)


def operation(round_, kind, path):
    """One operation on a path."""
    texts, full = round_.texts, f"{TRACING}/{path}"
    what = f"{kind} {brief(path)}"
    if kind == "rename":
        other = texts.one(*OTHERS)
        round_.call(f"{what} {other}", os.rename, full, os.path.join(TRACING, other))
    elif kind == "symlink":
        round_.call(what, os.symlink, "x", full)
    elif kind == "link":
        round_.call(what, os.link, f"{TRACING}/tracing_on", full)
    elif kind == "mknod":
        round_.call(what, os.mknod, full, 0o100600)
    elif kind == "truncate":
        round_.call(what, os.truncate, full, texts.one(0, 1))
    elif kind == "chmod":
        if os.path.exists(full):
            mode = os.stat(full).st_mode & 0o7777
            round_.call(f"{what} {mode:o}", os.chmod, full, mode)
    elif kind == "held":
        round_.call("rmdir of an instance with an open file", remove_held, texts.one(*HELD))
    else:
        functions = {"create": create, "listdir": names, "stat": stat}
        round_.call(what, functions.get(kind) or getattr(os, kind), full)


def run(round_):
    """Operations on instances, and on what cannot be changed."""
    texts = round_.texts
    round_.call("instances", instances)
    for _ in range(10):
        path = any_path(texts)
        kind = texts.one("mkdir", "mkdir", "mkdir", "rmdir", "rmdir", "unlink", "rename", "create", "symlink", "link", "mknod", "truncate",
                         "chmod", "listdir", "readlink", "stat", "held")
        operation(round_, kind, path)
        round_.tell(f"  instances: {instances()}")
