#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Opens each file of events that can be written, as `echo > file` does: nothing is kept of that. Says how much memory is."""
import glob
import os
import sys
import time

MADE = 2


def unreclaimable():
    """What the kernel has allocated for itself, in kB: the least of a few readings, as RCU frees late."""
    least = None
    for _ in range(10):
        time.sleep(0.2)
        with open("/proc/meminfo") as file:
            now = sum(int(line.split()[1]) for line in file if line.startswith(("SUnreclaim", "VmallocUsed")))
        least = min(now, least or now)
    return least


def opened(instance, flags):
    """How many files were opened."""
    count = 0
    for name in ("enable", "filter", "trigger"):
        for path in glob.glob(f"instances/{instance}/events/*/*/{name}"):
            os.close(os.open(path, os.O_WRONLY | flags))
            count += 1
    return count


for number in range(MADE):
    os.mkdir(f"instances/truncated{number}")
try:
    # The caches have what they need after the first.
    for number in range(MADE):
        files = opened(f"truncated{number}", 0)
    before = unreclaimable()
    for number in range(MADE):
        opened(f"truncated{number}", os.O_TRUNC)
    grown = unreclaimable() - before
finally:
    for number in range(MADE):
        os.rmdir(f"instances/truncated{number}")
print(f"{MADE * files} files, {grown} kB")
if grown * 1024 > MADE * files * 16:
    sys.exit("what was opened is kept")
