#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Loads a module once for each of its allocations, which fails then. Where it is loaded all the same, at most one of its events
is missing."""
import ctypes
import os
import subprocess
import sys

NAME = "trace-events-sample"
EVENTS = "/sys/kernel/tracing/events/sample-trace"
# Unlike finit_module it does not complain where the module's file finds no memory.
INIT_MODULE = 175
MANY = 1 << 20
libc = ctypes.CDLL(None)


def load(module, faults, number):
    """Is the module loaded although its allocation of this number fails; how many were left."""
    os.write(faults, str(number).encode())
    loaded = libc.syscall(INIT_MODULE, module, len(module), b"") == 0
    left = int(os.pread(faults, 20, 0))
    os.write(faults, b"0")
    return loaded, left


def known():
    """The number of its events."""
    return sum(os.path.exists(f"{EVENTS}/{name}/format") for name in os.listdir(EVENTS)) if os.path.isdir(EVENTS) else 0


def main():
    path = subprocess.run(["modinfo", "-F", "filename", NAME], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    with open(path, "rb") as file:
        module = file.read()
    faults = os.open("/sys/kernel/debug/allocation_faults/fail-nth", os.O_RDWR)
    loaded, left = load(module, faults, MANY)
    events, missing = known(), 0
    if not loaded or not events:
        sys.exit("it is not loaded")
    for number in range(1, MANY - left + 1):
        if loaded:
            subprocess.run(["rmmod", NAME], check=True)
        loaded, _ = load(module, faults, number)
        if loaded and known() < events:
            missing += 1
            if known() < events - 1:
                sys.exit(f"{known()} of {events} events where allocation {number} fails")
    if loaded:
        subprocess.run(["rmmod", NAME], check=True)
    if not missing:
        sys.exit("no event was ever missing")


main()
