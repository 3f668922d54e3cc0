#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Perf at a system call reads the memory of the tasks that it listens to, and of no others. Passes on the C kernel, too."""
import ctypes
import mmap
import os
import resource
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from checks import check, checks, true_in_child  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
SYS_PERF_EVENT_OPEN = 298
PAGE = 4096


def listen(pid, cpu):
    """An event that records entries."""
    with open("events/syscalls/sys_enter_write/id", encoding="ascii") as file:
        number = int(file.read())
    sample_raw = 1 << 10
    attr = bytearray(struct.pack("=IIQQQ", 2, 72, number, 1, sample_raw) + bytes(40))
    attr = (ctypes.c_char * 72).from_buffer(attr)
    fd = LIBC.syscall(SYS_PERF_EVENT_OPEN, attr, pid, cpu, -1, 0)
    check(f"an event of task {pid}", fd >= 0)
    return fd


def faults():
    """Page faults that a write takes which does not read what it is given: those of who looks at it."""
    null = os.open("/dev/null", os.O_WRONLY)
    areas = [mmap.mmap(-1, PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _turn in range(20)]
    pages = [ctypes.addressof(ctypes.c_char.from_buffer(area)) for area in areas]
    LIBC.write(null, 16, 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for page in pages:
        LIBC.write(null, page, 64)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def main():
    """Other tasks, on the same CPU and on others, and the one that is listened to."""
    os.sched_setaffinity(0, {0})
    none = faults()
    check(f"nobody listens: {none} faults", none < 10)
    event = listen(0, -1)
    check("another task", true_in_child(lambda: faults() < 10))
    own = faults()
    check(f"the task itself: {own} faults", own >= 20)
    os.close(event)
    # A CPU's event listens to all tasks there.
    event = listen(-1, 0)
    check("each task of a CPU", true_in_child(lambda: faults() >= 20))
    os.close(event)
    none = faults()
    check(f"nobody listens any more: {none} faults", none < 10)
    print(checks(), "checks")


main()
