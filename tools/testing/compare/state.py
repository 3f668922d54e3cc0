# SPDX-License-Identifier: GPL-2.0
"""What is there before each round of operations, and the way back to it."""
import fcntl
import os
import re

from control import APPEND, TRACING, TRUNC, attempt, put, read

FILES = ["set_event", "set_event_pid", "set_event_notrace_pid", "set_ftrace_pid", "set_ftrace_notrace_pid", "set_ftrace_filter",
         "set_ftrace_notrace", "set_graph_function", "set_graph_notrace", "stack_trace_filter", "trace_options", "trace_clock",
         "tracing_cpumask", "buffer_percent", "current_tracer", "tracing_thresh", "max_graph_depth", "tracing_on", "tracing_max_latency",
         "syscall_user_buf_size", "function_profile_enabled", "buffer_subbuf_size_kb", "buffer_size_kb", "saved_cmdlines_size",
         "hwlat_detector/width", "hwlat_detector/window", "hwlat_detector/mode", "osnoise/cpus", "osnoise/options", "osnoise/period_us",
         "osnoise/runtime_us", "osnoise/stop_tracing_us", "osnoise/timerlat_period_us", "osnoise/print_stack",
         "osnoise/timerlat_align_us", "dynamic_events", "synthetic_events", "show_event_filters", "show_event_triggers",
         "timestamp_mode", "error_log", "user_events_status"]
LISTS = ["set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "set_graph_notrace", "stack_trace_filter", "set_event_pid",
         "set_event_notrace_pid", "set_ftrace_pid", "set_ftrace_notrace_pid"]
# Pairs of which one bounds the other: the order counts.
PAIRS = ["osnoise/period_us", "osnoise/runtime_us", "hwlat_detector/window", "hwlat_detector/width"]
DELETE = 0x40082A01  # a user event


def prepare():
    """Makes what the grammars name."""
    put("buffer_size_kb", "200")
    put("synthetic_events", "one u64 v", APPEND)
    put("synthetic_events", "syn u64 v; char[16] t; char[] d; unsigned long[] st", APPEND)
    put("dynamic_events", "u:own u32 a; s16 s; char[16] t; __data_loc char[] d", APPEND)


def snapshot():
    """The files as they are now."""
    return {file: read(file) for file in FILES}


def remove_triggers():
    """No triggers. show_event_triggers does not have those of `ftrace/print`."""
    lines = [("ftrace:print", line) for line in read("events/ftrace/print/trigger").splitlines() if not line.startswith("#")]
    lines += [line.split(None, 1) for line in read("show_event_triggers").splitlines() if re.match(r"\w+:\w+\s+\S", line)]
    for event, text in lines:
        text = re.sub(r":count=\d+|:unlimited| \[(active|paused)\]", "", text).replace("common_cpucommon_cpu", "common_cpu")
        put(f"events/{event.replace(':', '/')}/trigger", "!" + re.sub(r"common_cpu(cpu|CPU)", r"\1", text), APPEND)
        put(f"events/{event.replace(':', '/')}/trigger", "\n", TRUNC)


def remove_filters():
    """No filters."""
    for line in read("show_event_filters").splitlines():  # A filter may have several lines.
        if re.match(r"\w+:\w", line):
            put(f"events/{line.split()[0].replace(':', '/')}/filter", "0")
    for name in os.listdir(f"{TRACING}/events"):
        if os.path.exists(f"{TRACING}/events/{name}/filter") and not read(f"events/{name}/filter").startswith("#"):
            put(f"events/{name}/filter", "0")


def remove_events(kept):
    """No dynamic events but those of this list."""
    for line in read("dynamic_events").splitlines():
        if line in kept:
            continue
        name = line.split()[0].split(":", 1)[-1].replace("synthetic/", "")
        put("synthetic_events" if line.startswith("s:") else "dynamic_events", ("!" if line[0] in "su" else "-:") + name, APPEND)
        if line.startswith("u:"):
            file = os.open(f"{TRACING}/user_events_data", os.O_RDWR)
            attempt(fcntl.ioctl, file, DELETE, re.split("[ ;]", line[2:])[0].encode("latin-1") + b"\0")
            os.close(file)


def clear_lists():
    """No functions, commands or pids."""
    for file in LISTS:
        put(file, "", TRUNC)
    for line in read("set_ftrace_filter").splitlines():
        if not line.startswith("#"):
            put("set_ftrace_filter", "!" + re.sub(r":unlimited$", "", re.sub(r":count=\d+$", ":0", line)) + "\n", APPEND)


def restore_values(base):
    """Options, numbers and words."""
    for line in base["trace_options"].splitlines():
        put("trace_options", line)
    put("snapshot", "0")
    for file in FILES:
        if read(file) == base[file] or len(base[file].splitlines()) != 1:
            continue
        text = base[file].splitlines()[0]
        if marked := re.search(r"\[(.*?)\]", text):
            text = marked[1]
        put(file, "DEFAULTS" if file == "osnoise/options" else text)


def restore(base):
    """Back to what was there before; the files that are not as they were."""
    put("current_tracer", "nop")
    for name in os.listdir(f"{TRACING}/instances"):
        attempt(os.rmdir, f"{TRACING}/instances/{name}")
    put("set_event", "", TRUNC)
    for _ in range(3):  # What others refer to goes after them.
        remove_triggers()
    remove_filters()
    remove_events(base["dynamic_events"])
    clear_lists()
    restore_values(base)
    prepare()
    for file in PAIRS:
        put(file, base[file])
    put("trace", "", TRUNC)
    put("error_log", "", TRUNC)
    now = snapshot()
    return [file for file in FILES if sorted(now[file].splitlines()) != sorted(base[file].splitlines())]
