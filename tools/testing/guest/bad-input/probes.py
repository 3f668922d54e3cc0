#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Puts a kprobe at every STEPth symbol of the kernel's text, and says where the kernel should have said otherwise.

    probes.py STEP [START]

What can be probed is told by the files of the same kernel: a symbol that is there once, of a function with a patch site that is not
among those that kprobes must not touch. Those that are accepted are enabled, a batch at a time, while some work is done.
"""
import bisect
import collections
import os
import subprocess
import sys

TRACING = "/sys/kernel/tracing"
BATCH = 100
INVALID = 22


def write(name, text):
    """Writes once; the errno, or 0."""
    file = os.open(os.path.join(TRACING, name), os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
        return 0
    except OSError as error:
        return error.errno
    finally:
        os.close(file)


def lines(name):
    with open(name, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def symbols():
    """Names of the kernel's text with their ranges, and how often there is each name, of data, too."""
    found, count = [], collections.Counter()
    for line in lines("/proc/kallsyms"):
        address, kind, name, *module = line.split()
        if not module:
            count[name] += 1
            if kind in "tTwW":
                found.append((int(address, 16), name))
    found.sort()
    starts = sorted({address for address, _ in found})
    ranges = []
    for address, name in found:
        after = bisect.bisect_right(starts, address)
        ranges.append((name, address, starts[after] if after < len(starts) else address + 1))
    return ranges, count


def rules():
    """The function that says whether a symbol can be probed."""
    every, count = symbols()
    ranges = {name: (start, end) for name, start, end in every}
    sites = sorted(int(line.split()[0], 16) for line in lines(TRACING + "/available_filter_functions_addrs"))
    refused = [[int(part, 16) for part in line.split()[0].split("-")] for line in lines("/sys/kernel/debug/kprobes/blacklist")]

    def has_site(start, end):
        at = bisect.bisect_left(sites, start)
        return at < len(sites) and sites[at] < end

    # With dynamic debug, nm gives data between functions' texts a text's letter.
    text = [(ranges[first][0], ranges[end][0]) for first, end in (("_stext", "_etext"), ("_sinittext", "_einittext")) if first in ranges]

    def accepted(name, start, end):
        if count[name] != 1 or not any(first <= start < last for first, last in text) or any(first <= start < last for first, last in refused):
            return False
        whole = ranges.get(name.split(".")[0]) if "." in name else None
        return has_site(start, end) or whole is not None and has_site(*whole)

    return every, accepted


def main(step, start=0):
    subprocess.run("mount | grep -q ' /sys/kernel/debug ' || mount -t debugfs debugfs /sys/kernel/debug", shell=True, check=True)
    every, accepted = rules()
    chosen = every[start::step]
    wrong = made = 0
    for first in range(0, len(chosen), BATCH):
        batch = chosen[first:first + BATCH]
        events = 0
        for at, (name, begin, end) in enumerate(batch):
            error = write("kprobe_events", f"p:every/e{at} {name}\n")
            expected = 0 if accepted(name, begin, end) else INVALID
            if error != expected:
                wrong += 1
                print(f"{name} at {begin:#x}: errno {error}, not {expected}")
            events += error == 0
        made += events
        if events:
            for on in "10":
                if error := write("events/every/enable", on):
                    wrong += 1
                    print(f"{batch[0][0]} and those behind it: enable {on}: errno {error}")
                subprocess.run("ls / > /dev/null", shell=True, check=True)
        os.close(os.open(TRACING + "/kprobe_events", os.O_WRONLY | os.O_TRUNC))
    left = lines(TRACING + "/dynamic_events")
    print(f"{len(chosen)} of {len(every)} symbols, {made} probed, {wrong} wrong, {len(left)} left")
    return 1 if wrong or left or not made else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
