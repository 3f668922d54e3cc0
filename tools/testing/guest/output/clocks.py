# SPDX-License-Identifier: GPL-2.0
"""A marker's stamp lies between two readings of the same clock by its writer; exit status 1 where one does not."""
import re
import sys
import time

TRACING = "/sys/kernel/tracing/"
# Names of clocks, what user space calls them, and how far a reading in any context may be off, in seconds.
CLOCKS = [("mono", time.CLOCK_MONOTONIC), ("mono_raw", time.CLOCK_MONOTONIC_RAW), ("boot", time.CLOCK_BOOTTIME),
          ("tai", time.CLOCK_TAI)]
SLACK = 0.005


def write(name, text):
    with open(TRACING + name, "w") as file:
        file.write(text)


def stamp(clock, read, pattern=r"\d+\.\d{6}"):
    """Seconds: user space's reading before a marker, the marker's stamp, the reading after."""
    write("trace_clock", clock)
    with open(TRACING + "trace_marker", "w") as marker:
        before = read()
        marker.write("now\n")
        marker.flush()
        after = read()
    with open(TRACING + "trace") as trace:
        found = re.search(rf"\] \S{{5}} +({pattern}): \S+: now$", trace.read(), re.M)
    return before, float(found[1]), after


bad = 0
for name, number in CLOCKS:
    before, at, after = stamp(name, lambda number=number: time.clock_gettime(number))
    good = before - SLACK <= at <= after + SLACK
    bad += not good
    print(f"{name}: {before} {at} {after}{'' if good else ': wrong'}")

# Time since boot in ticks of user space, counted by interrupts.
before, at, after = stamp("uptime", lambda: time.clock_gettime(time.CLOCK_BOOTTIME), r"\d+")
good = before - 1 <= at / 100 <= after + 1
bad += not good
print(f"uptime: {before} {at} {after}{'' if good else ': wrong'}")
sys.exit(bad != 0)
