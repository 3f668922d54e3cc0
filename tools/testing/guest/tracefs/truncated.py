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


def attempt(name):
    """Bytes that stay of each file, in instances of their own."""
    made = [f"{name}{number}" for number in range(MADE)]
    for instance in made:
        os.mkdir(f"instances/{instance}")
    try:
        # The caches have what they need after the first.
        files = sum(opened(instance, 0) for instance in made)
        before = unreclaimable()
        for instance in made:
            opened(instance, os.O_TRUNC)
        grown = unreclaimable() - before
    finally:
        for instance in made:
            os.rmdir(f"instances/{instance}")
    print(f"{files} files, {grown} kB")
    return grown * 1024 / files


# What else the guest does needs memory, too, but not each time.
if all(attempt(f"truncated{turn}_") > 16 for turn in range(3)):
    sys.exit("what was opened is kept")
