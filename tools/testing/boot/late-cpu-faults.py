# SPDX-License-Identifier: GPL-2.0
"""CPU 1 comes up while each allocation of that fails in turn: snapshots can be taken after each.

In a guest with two CPUs, the second of which is down; the current folder is tracefs. An instance that was made since then has not
prepared itself for that CPU, and so each attempt has a new one.
"""
import errno
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest", "allocation"))
from failures import Faults, attempt, text, write  # pylint: disable=wrong-import-position

CPU = "/sys/devices/system/cpu/cpu1/online"
INSTANCE = "instances/late_cpu"
HIT = "vfs_read"


def snapshot_is_taken():
    """A function's hit takes it, which makes no buffer larger first."""
    write(f"{INSTANCE}/trace", "")()
    write(f"{INSTANCE}/trace_marker", "before\n", os.O_WRONLY)()
    write(f"{INSTANCE}/set_ftrace_filter", f"{HIT}:snapshot:1")()
    with open("/proc/version", "rb") as file:
        file.read()
    write(f"{INSTANCE}/set_ftrace_filter", f"!{HIT}:snapshot:0")()
    with open(f"{INSTANCE}/snapshot", encoding="ascii") as file:
        return ": before" in file.read()


def one(faults, number):
    """Whether the fault happened, whether the CPU came up all the same, and what is wrong."""
    os.mkdir(INSTANCE)
    write(f"{INSTANCE}/buffer_size_kb", "16")()
    write(f"{INSTANCE}/snapshot", "1")()
    happened, failure = attempt(faults, number, write(CPU, "1"))
    wrong = None
    if failure not in (0, errno.ENOMEM):
        print(f"#   allocation {number}: {errno.errorcode[failure]}")
    if not snapshot_is_taken():
        wrong = f"allocation {number}: no snapshot is taken, CPU 1 is {text(CPU).strip()}, {os.strerror(failure)}"
    if text(CPU).strip() == "1":
        write(CPU, "0")()
    os.rmdir(INSTANCE)
    return happened, failure == 0, wrong


def main():
    faults = Faults()
    failed = without = 0
    for number in itertools.count(1):
        happened, up, wrong = one(faults, number)
        if wrong:
            print(wrong)
            return 1
        if not happened:
            break
        failed += not up
        without += up
    print(f"{number - 1} allocations: {failed} times CPU 1 did not come up, {without} times it did without one")
    return 0 if failed else 1


if __name__ == "__main__":
    sys.exit(main())
