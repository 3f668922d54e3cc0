# SPDX-License-Identifier: GPL-2.0
"""Events that a reader of trace_pipe has consumed are not lost for who reads trace meanwhile; those that were overwritten are."""
import os
import re

TRACING = os.environ["TRACING_DIR"]
os.sched_setaffinity(0, {0})
marker = os.open(f"{TRACING}/trace_marker", os.O_WRONLY)


def mark(count):
    for number in range(count):
        os.write(marker, b"%04d" % number + b"." * 60)


def rest(fd):
    text = b""
    while block := os.read(fd, 65536):
        text += block
    return text


def told_beside(other):
    """What a reading of trace is told was lost, if `other` happens behind its first part."""
    trace = os.open(f"{TRACING}/trace", os.O_RDONLY)
    text = os.read(trace, 4096)
    other()
    text += rest(trace)
    os.close(trace)
    return sum(map(int, re.findall(rb"\[LOST (\d+) EVENTS\]", text)))


def consume():
    pipe = os.open(f"{TRACING}/trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
    size = 0
    while size < 15000:
        size += len(os.read(pipe, 8000))
    os.close(pipe)


mark(400)
told = told_beside(consume)
assert told == 0, f"{told} events are said to be lost, which were read"
# The buffer is full, and half of what the reading is to show goes.
mark(3000)
told = told_beside(lambda: mark(600))
with open(f"{TRACING}/per_cpu/cpu0/stats", encoding="ascii") as file:
    overrun = int(re.search(r"^overrun: (\d+)$", file.read(), re.M)[1])
assert 0 < told <= overrun, f"{told} events are said to be lost, {overrun} are"
