# SPDX-License-Identifier: GPL-2.0
"""Options, by their list and by their files; tracers.

Left out: options that C does not have; tracers without options, with which C takes any word; `test_nop_accept`, as what the
tracer nop has is the same in all instances in C.
"""
import os

from control import TRACING, TRUNC, put, some_instance
from texts import NUMBERS

LEFT_OUT = ["test_nop_accept", "rust-demangle", "rust-paths"]
TRACERS = ["nop", "function", "function_graph", "nop", "function", "function_graph", "blk", "", "nosuch", "Function"]


def run(round_):
    """The options of an instance."""
    texts = round_.texts
    place = some_instance(texts)
    put("set_ftrace_filter", "vfs_truncate", TRUNC)
    put(f"{place}set_ftrace_filter", "vfs_truncate", TRUNC)
    names = [name for name in sorted(os.listdir(f"{TRACING}/{place}options")) if name not in LEFT_OUT]
    round_.watch(f"{place}trace_options", f"{place}current_tracer", *(f"{place}options/{name}" for name in names), f"{place}tracing_on")
    if place:
        round_.watch("trace_options")
    for _ in range(12):
        name = texts.one(*names)
        kind = texts.random.randrange(10)
        if kind < 5:
            word = texts.one("", "", "no", "no", "nono", "NO", " no", "no ") + name
            round_.write(f"{place}trace_options", texts.mutated(word, 20))
        elif kind < 8:
            round_.write(f"{place}options/{name}", texts.mutated(texts.one("0", "1", "0", "1", *NUMBERS), 20))
        else:
            round_.write(f"{place}current_tracer", texts.mutated(texts.one(*TRACERS), 15))
