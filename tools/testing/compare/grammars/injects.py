# SPDX-License-Identifier: GPL-2.0
"""Entries that are made up.

Left out: common fields, which in C a command can set, and which COMM and comm overwrite there; system calls, of which C warns
where the number is that of another one; mm_shrink_slab_end, which shows the pid.
"""
from control import plain_lines
from texts import LONG, NUMBERS

from .events import any_event, any_field


def left_out(field):
    """Whether the kernels are meant to differ."""
    return field.startswith("common_") or field in ("cpumask", "comm", "COMM")


def value(texts):
    """What a field is set to."""
    return texts.one(*NUMBERS, '"text"', "'text'", '"te', '"' + "x" * texts.one(*LONG) + '"', '"a b"', '"a\\"b"', '""', "text", '"%s"',
                     '"a\tb"', "-5", "0x7fffffff")


def run(round_):
    """Entries of one event."""
    texts = round_.texts
    plain_lines()
    round_.watch("trace")
    event = any_event(texts)
    while event.startswith(("syscalls", "vmscan")):
        event = any_event(texts)
    for _ in range(10):
        parts = []
        for _ in range(texts.one(0, 1, 1, 2, 2, 3)):
            field = any_field(texts, event)
            if not left_out(field):
                text = value(texts)
                parts.append(field + texts.one("=", "=", "=", " = ", " =", "= ", "==", " ") + text)
        between = texts.one(" ", " ", " ", "  ", "\t", ",")
        round_.write(f"events/{event}/inject", texts.mutated(between.join(parts), 25))
