# SPDX-License-Identifier: GPL-2.0
"""Histograms, some of which refer to each other.

Left out: a variable in its own definition, which in C is the first operand; groups (`log2`, `buckets`) of what has no name, of
which C warns.
"""
import re

from control import APPEND
from texts import SMALL

from .events import EVENTS, any_event, any_field, calm_event
from .filters import expression


def left_out(text):
    """Whether the kernels are meant to differ."""
    return (re.search(r"(log2|buckets)\b.*(stacktrace|comm|hitcount)|(stacktrace|comm|hitcount)\.(log2|buckets)", text, re.I)
            or re.search(r"(\w+)=[^:]*\$\1\b", text))


def key(texts, event):
    """A field with a modifier."""
    name = any_field(texts, event)
    if texts.chance(12):
        name = f"{event.replace('/', '.')}.{name}"
    return name + texts.mostly(35, [""], [".hex", ".sym", ".sym-offset", ".log2", ".syscall", ".execname", ".buckets=10",
                                          ".buckets=" + texts.number(), ".stacktrace", ".usecs", ".percent", ".graph", ".", ".nosuch"])


def listed(texts, counts, make):
    """As many as one of the counts says, with commas."""
    return ",".join(make() for _ in range(texts.one(*counts)))


def variable(texts, event):
    """A variable and its definition."""
    def operand():
        return key(texts, event)

    value = texts.one(operand(), "common_timestamp.usecs", "common_timestamp", f"{operand()}-$v", "$v", "$v+1", "5",
                      f"{operand()}*{texts.number()}", f"{operand()}/{texts.number()}", "-" + operand(), f"({operand()}+1)",
                      f"{operand()}+{operand()}-{operand()}", "common_cpu", "common_comm")
    return f"{texts.one('v', 'w', 'v', 'x', texts.name('y'))}={value}"


def effect(texts, event):
    """A handler and its action."""
    handler = texts.mostly(15, ["onmatch(EV)", "onmax($v)", "onchange($v)"], [
        "onchange($w)", "onmatch(EV", "onmax(v)", "onmax()", "onmatch(sched.)", "onmatch()", "onmax", "onmatch(EV.x)", "onmax($v,$w)",
        "ONMAX($v)"])
    handler = handler.replace("EV", texts.one(event, any_event(texts)).replace("/", "."))

    def parameter():
        return texts.mostly(30, ["$v", texts.one(*EVENTS[event])], [
            "$w", any_field(texts, event), "common_comm", f"{event.replace('/', '.')}.$v", "$nosuch", "5", ""])

    parameters = listed(texts, (0, 1, 1, 1, 2, 3), parameter)
    good = [f"save({parameters})", "snapshot()", f"trace(one,{parameters})", f"one({parameters})", "one($v)", "trace(one,$v)"]
    odd = [f"syn({parameters})", f"trace({parameters})", f"trace(nosuch,{parameters})", "snapshot", "snapshot(x)", "save()",
           f"save({parameters}", "nosuch()", f"syn($v,{parameters})"]
    return f"{handler}.{texts.mostly(20, good, odd)}"


def hist(texts, event):
    """A histogram."""
    keys = texts.mostly(6, ["keys=", "key="], ["KEYS=", "keys", "keys =", "keyss=", "="])
    parts = [keys + listed(texts, (1, 1, 1, 2, 2, 3, 4), lambda: key(texts, event))]
    if texts.chance(40):
        values = texts.mostly(6, ["vals=", "values=", "val="], ["vals", "VALS=", "vals=="])
        parts.append(values + listed(texts, (1, 1, 2, 3), lambda: texts.one("hitcount", key(texts, event), key(texts, event))))
    parts += [variable(texts, event) for _ in range(texts.one(0, 0, 1, 1, 2))]
    if texts.chance(30):
        parts.append("sort=" + listed(texts, (1, 1, 2, 3), lambda: texts.one("hitcount", any_field(texts, event), key(texts, event))
                                      + texts.one("", "", ".descending", ".ascending", ".x", ".ascending.x")))
    if texts.chance(25):
        parts.append(texts.one("size=", "size=", "SIZE=") + texts.one("128", "256", "2048", "131072", *SMALL))
    if texts.chance(15):
        parts.append("name=" + texts.name("n", "n", "m"))
    if texts.chance(30):
        parts.append(texts.one("pause", "cont", "clear", "continue", "nohitcount", "NOHC", "clock=mono", "clock=x86-tsc", "clock=nosuch",
                               "clock=", "pause=1", "pausex"))
    if texts.chance(45):
        parts.append(effect(texts, event))
    if texts.chance(25):
        texts.random.shuffle(parts)
    text = "hist:" + ":".join(parts)
    if texts.chance(20):
        text += texts.one(" if ", " if  ", "  if ", " if", ":if ") + expression(texts, event, 2)
    return text


def run(round_):
    """Histograms of a few events."""
    texts = round_.texts
    events = ["user_events/own", "user_events/own", calm_event(texts), texts.one("task/task_rename", "synthetic/syn", "power/cpu_frequency")]
    for event in events:
        round_.watch(f"events/{event}/trigger", f"events/{event}/hist", f"events/{event}/enable")
    round_.watch("timestamp_mode", "events/synthetic/one/enable")
    last = events[0], "hist:keys=a:v=s"
    for _ in range(8):
        event, text = last
        if texts.chance(65):
            event = texts.one(*events)
            text = hist(texts, event)
        elif texts.chance(40):
            text = texts.one("!", "!", "") + text
        elif texts.chance(50):
            text += texts.one(":", ":", "") + texts.one("pause", "cont", "clear", "continue", "nohitcount", "size=256", "")
        last = event, text.lstrip("!")
        if not left_out(text):
            round_.write(f"events/{event}/trigger", texts.mutated(text, 20), APPEND)
