# SPDX-License-Identifier: GPL-2.0
"""Marks and raw marks, and how they are printed.

Left out: the lines of raw marks that are too long, after which in C the next one may follow without a newline.
"""
from control import APPEND, TRUNC, WRITE, plain_lines, put
from texts import LONG

OPTIONS = ["raw", "noraw", "hex", "nohex", "fields", "nofields", "noannotate", "markers", "nomarkers", "markers"]
CLEARED = ["trace", "per_cpu/cpu0/trace", "per_cpu/cpu1/trace", "snapshot"]


def run(round_):
    """Marks of the top instance."""
    texts = round_.texts
    plain_lines()
    round_.watch("trace")
    for _ in range(8):
        if texts.chance(15):
            round_.write("trace_options", texts.one(*OPTIONS), APPEND)
        kind = texts.random.randrange(10)
        text = texts.mutated(texts.one("hello", "hello\n", "a\nb\n", "", "\n", "%s %d", "x" * texts.one(*LONG), "a\0b", "é", "\xff\xfe",
                                       "a" * 5000, "# comment", "tab\there\n\n"), 30)
        if kind < 6:
            round_.write("trace_marker", text)
        elif kind < 9 and texts.chance(15):
            size = texts.one(4052, 4056, 4060, 4064, 4068, 4096, 5000)
            round_.tell(f"{size} raw bytes: {put('trace_marker_raw', bytes(size))}")
            put("trace", "", TRUNC)
        elif kind < 9:
            size = texts.one(0, 1, 3, 4, 8, 12, 64, 100, 1000, 2600)
            round_.write("trace_marker_raw", bytes(texts.random.randrange(256) for _ in range(size)).decode("latin-1"))
        else:
            round_.write(texts.one(*CLEARED), texts.one("", "x", "0", "1", "2"), texts.one(WRITE, TRUNC))
