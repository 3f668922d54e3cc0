# SPDX-License-Identifier: GPL-2.0
"""Files that hold a number or a word.

Left out: sizes of buffers and of sub-buffers in one round, as in C the size is the one that was asked for last, whatever the
sub-buffers have made of it; sizes of six digits and more, for which there may be no memory.
"""
import re

from control import APPEND, BOTH, TRUNC, WRITE, put, some_instance
from texts import NUMBERS, SMALL

# What is written to each file beside numbers.
WORDS = {
    "tracing_on": [],
    "buffer_percent": ["50", "100", "101"],
    "tracing_cpumask": ["1", "3", "2", "0", "f", "0x1", "1,0", "00000003", "1,00000000", ",", "ff,ffffffff", "g", "1,", ",1", "1,,1",
                        "0,000000001"],
    "tracing_max_latency": [],
    "trace_clock": ["local", "global", "mono", "counter", "boot", "perf", "uptime", "mono_raw", "tai", "x86-tsc", "[local]",
                    "local global", "nosuch"],
    "syscall_user_buf_size": ["10", "165", "166"],
    "per_cpu/cpu0/buffer_size_kb": ["10", "100", "1000"],
    "buffer_size_kb": ["10", "100", "1000", "1"],
    "buffer_subbuf_size_kb": ["4", "8", "5", "16", "512", "513"],
    "snapshot": ["0", "1", "2"],
    "per_cpu/cpu0/snapshot": ["0", "1", "2"],
    "per_cpu/cpu1/snapshot": ["0", "1"],
    "current_tracer": ["nop", "function", "function_graph"],
    "free_buffer": [""],
    "trace": [""],
    "per_cpu/cpu0/trace": [""],
}
# The same for the files of which there is one.
TOP_WORDS = {
    "tracing_thresh": ["100"],
    "max_graph_depth": ["1"],
    "saved_cmdlines_size": ["100", "1000"],
    "function_profile_enabled": [],
    "stack_max_size": [],
    "hwlat_detector/width": ["500"],
    "hwlat_detector/window": ["1000000"],
    "hwlat_detector/mode": ["none", "per-cpu", "round-robin"],
    "osnoise/cpus": ["0", "0-1", "1", "0,1", "2", ""],
    "osnoise/options": ["DEFAULTS", "NO_PANIC_ON_STOP", "OSNOISE_PREEMPT_DISABLE", "NO_OSNOISE_WORKLOAD", "NONE", "NO_DEFAULTS"],
    "osnoise/period_us": ["1000000", "1000"],
    "osnoise/runtime_us": ["1000000", "1000"],
    "osnoise/stop_tracing_us": [],
    "osnoise/timerlat_period_us": ["100", "99", "1000000", "1000001"],
    "osnoise/print_stack": [],
    "osnoise/timerlat_align_us": [],
}
SIZES = ["buffer_size_kb", "per_cpu/cpu0/buffer_size_kb", "free_buffer"]


def run(round_):
    """The files of an instance."""
    texts = round_.texts
    place = some_instance(texts, tops=2)
    put("set_ftrace_filter", "vfs_truncate", TRUNC)
    put(f"{place}set_ftrace_filter", "vfs_truncate", TRUNC)
    words = WORDS if place else WORDS | TOP_WORDS
    subbufs = texts.chance(15)
    names = [name for name in words if name not in (SIZES if subbufs else ["buffer_subbuf_size_kb"])]
    round_.watch(*(place + name for name in names if not re.search("snapshot|free_buffer|trace$", name)), f"{place}timestamp_mode")
    if not subbufs:
        round_.watch(f"{place}per_cpu/cpu1/buffer_size_kb", f"{place}buffer_total_size_kb")
    for _ in range(12):
        name = texts.one(*names)
        is_size = "size" in name
        text = texts.one(*words[name]) if words[name] and texts.chance(65) else texts.one(*(SMALL if is_size else NUMBERS))
        text = texts.mutated(text, 30)
        if not is_size or not re.search(r"\d{6,18}", text):
            round_.write(place + name, text, texts.one(WRITE, WRITE, APPEND, TRUNC, BOTH))
