# SPDX-License-Identifier: GPL-2.0
"""Filters of events and of their systems. Nothing is left out."""
import os
import re

from control import TRACING
from texts import LONG, NUMBERS

from .events import EVENTS, any_event, any_field

OF_TEXT = re.compile("comm|COMM|name|path|workqueue|file|buf$|^[td]$")


def literal(texts, field):
    """What a field is compared with."""
    kind = texts.random.randrange(10)
    if kind < 8:
        if re.search("mask|cpu$|CPU$", field) and texts.chance(60):
            kind = 5
        elif field.endswith(".function") and texts.chance(80):
            kind = 6
        else:
            kind = 7 if OF_TEXT.search(field) and texts.chance(85) else 0
    if kind < 5:
        return texts.mostly(50, ["0", "1", "5", "100", "0x10", "-1"], NUMBERS)
    if kind == 5:
        return texts.one("CPUS{0}", "CPUS{0-1}", "CPUS{}", "CPUS{x}", "CPUS{0-9999}", "CPUS{0", "CPUS", "CPUS {0}", "CPUS{ 0 , 1 }",
                         "CPUS{all}", "cpus{0}", "CPUS{N}", "CPUS{0-1:1/2}", "CPUS{1-0}")
    if kind == 6:
        return texts.one("schedule", '"schedule"', "vfs_fsync", "0xffffffff81000000", "'vfs_fsync'", "nosuch", "do_exit ")
    word = texts.one("a", "bash", "", "a b", "*", "a*", "*a", "*a*", "a*b", "[ab]?", "\\*", "a\\", "**", "?", "x" * texts.one(*LONG[:12]),
                     '\\"', "é", "!", "(")
    quote = texts.one('"', '"', '"', "'", "", "\"'")
    return quote + word + (quote if texts.chance(92) else "")


def predicate(texts, event):
    """One comparison."""
    field = any_field(texts, event)
    if texts.chance(12):
        field += texts.one(".function", ".function", ".ustring", ".foo", ".", " .function", ".FUNCTION")
    good = ["==", "!=", "~"] if OF_TEXT.search(field) and texts.chance(85) else ["==", "!=", "<", "<=", ">", ">=", "&"]
    operator = texts.mostly(10, good, ["~", "!~", "=", "&&", "<>", "===", "=>", "|", "", "<<", "~=", "!"])
    blank = texts.one(" ", "", " ", " ", "  ", "\t")
    return f"{field}{blank}{operator}{blank}{literal(texts, field)}"


def expression(texts, event, depth=0):
    """A filter."""
    if depth > 3 or texts.chance(50):
        return predicate(texts, event)
    kind = texts.random.randrange(10)
    if kind < 5:
        blank = texts.one(" ", " ", "")
        left = expression(texts, event, depth + 1)
        operator = texts.mostly(8, ["&&", "||"], ["&", "|", "and", "", "&&&", "&& &&", "|| !"])
        return left + blank + operator + blank + expression(texts, event, depth + 1)
    if kind < 8:
        return f"({expression(texts, event, depth + 1)})"
    opening = texts.mostly(15, ["!(", "(!"], ["!", "! ", "!!", "!(!", "( "])
    return opening + expression(texts, event, depth + 1) + ")" * opening.count("(")


def no_expression(texts):
    """What takes a filter away, and what is none."""
    return texts.one("0", "", " ", "\n", "0 ", " 0", "none", "0\n1", "\0", "1", "()", "!")


def run(round_):
    """One event, and the others of its system."""
    texts = round_.texts
    event = any_event(texts)
    system = os.path.dirname(event)
    files = sorted(f"events/{other}/filter" for other in EVENTS if other.startswith(f"{system}/"))
    files = [name for name in files if os.path.exists(f"{TRACING}/{name}")]
    round_.watch(f"events/{system}/filter", *files, "show_event_filters")
    for _ in range(10):
        path = f"events/{event}/filter" if texts.chance(75) else f"events/{system}/filter"
        text = texts.mutated(expression(texts, event)) if texts.chance(93) else no_expression(texts)
        if texts.chance(3):
            text = " || ".join([predicate(texts, event)] * texts.one(20, 60, 200))
        if texts.chance(2):
            depth = texts.one(10, 100, 1000)
            text = "(" * depth + text + ")" * depth
        round_.write(path, text)
