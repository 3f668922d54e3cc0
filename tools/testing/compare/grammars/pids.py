# SPDX-License-Identifier: GPL-2.0
"""Lists of pids.

Left out: the pid 4194304, the largest. In C its line is `no pid`, and the list ends there.
"""
from control import some_instance
from texts import NUMBERS


def run(round_):
    """The four lists of an instance."""
    texts = round_.texts
    place = some_instance(texts)
    files = [f"{place}{file}" for file in ("set_event_pid", "set_event_notrace_pid", "set_ftrace_pid", "set_ftrace_notrace_pid")]
    round_.watch(*files)
    for _ in range(10):
        between = texts.one(" ", " ", " ", "\n", ",", "\t", ";")
        numbers = [texts.one("1", "2", "300", "299", "4194303", "4194305", "32768", *NUMBERS) for _ in range(texts.one(0, 1, 1, 2, 3, 30))]
        round_.write(texts.one(*files), texts.mutated(between.join(numbers), 20))
