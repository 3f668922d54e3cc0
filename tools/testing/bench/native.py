# SPDX-License-Identifier: GPL-2.0
"""Real time of the ring buffer: upstream's ring_buffer_benchmark under User Mode Linux, C and Rust in turn.

Its producer writes events of 10 bytes for 10 seconds while a consumer reads, by events in the first round and by pages
in the second. What an entry costs is the producer's time by its entries, as the module has it, but unrounded. On a
machine that does other things, too, the wall clock tells more of these; so there is also the time for which the kernel
had a processor of the host, between the module's two messages.
"""
import os
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import um  # noqa: E402

COMMAND = "insmod {module} && timeout 36 cat trace_pipe"
READERS = {"events": 0.4, "pages": 1 / 3}  # with the most of C's time that the goal allows
LIMIT = 120


def round_of(kernel):
    """Nanoseconds an entry by reader: wall clock and processor."""
    module = os.path.join(um.directory(kernel), um.UserModeKernel.module)
    booted = um.Booted(kernel, COMMAND.format(module=module), LIMIT)
    found, began, used, wall = {}, 0.0, 0.0, 0
    for line in booted.lines():
        if "Starting ring buffer hammer" in line:
            began = booted.cpu()
        elif "End ring buffer hammer" in line:
            used = booted.cpu() - began
        elif hit := re.search(r"Time: +(\d+) \(usecs\)", line):
            wall = int(hit[1])
        elif hit := re.search(r"Read: .*\(by (\w+)\)", line):
            reader = hit[1]
        elif hit := re.search(r"Missed: +([1-9]\d*)|ERROR!", line):
            sys.exit(f"not ok 1 {kernel}: {line}")
        elif hit := re.search(r"Hit: +(\d+)", line):
            found[reader] = wall * 1000 / int(hit[1]), used * 1e9 / int(hit[1])
            if len(found) == len(READERS):
                booted.stop()
    if len(found) != len(READERS):
        sys.exit(f"not ok 1 {kernel}: the benchmark did not run its rounds under User Mode Linux")
    return found


def measure(repetitions):
    """Prints the table; C and Rust take turns, so that what else the machine does hits both."""
    rounds = {"c": [], "rtrace": []}
    for number in range(repetitions):
        for kernel, results in rounds.items():
            print(f"# ring_buffer_benchmark {number + 1}/{repetitions}: {kernel}", file=sys.stderr, flush=True)
            results.append(round_of(kernel))
    print(f"{f'ns an entry, median of {repetitions}':<28} {'C':>8} {'Rust':>8} {'Rust/C':>8} {'goal':>8}")
    for reader, goal in READERS.items():
        for place, what in enumerate(("", ", processor time")):
            c, rust = (statistics.median(found[reader][place] for found in rounds[kernel]) for kernel in rounds)
            print(f"{f'read by {reader}{what}':<28} {c:>8.1f} {rust:>8.1f} {rust / c:>8.2f} {goal:>8.2f}")
