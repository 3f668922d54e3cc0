#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What perf is told of the trampoline of an ops, in which order. Passes on the C kernel, too."""
import ctypes
import mmap
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from checks import check, checks  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_PERF_EVENT_OPEN = 298
PAGE = 4096
RING = 128 * PAGE
DUMMY = (1, 9)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY
KSYMBOL, TEXT_POKE = 17, 20
ASK_KSYMBOL, ASK_TEXT_POKE = 1 << 29, 1 << 33


def listen(cpu):
    """A ring of what a CPU tells."""
    kind, config = DUMMY
    attr = struct.pack("=IIQQQQQ", kind, 72, config, 0, 0, 0, ASK_KSYMBOL | ASK_TEXT_POKE).ljust(72, b"\0")
    fd = LIBC.syscall(SYS_PERF_EVENT_OPEN, (ctypes.c_char * 72).from_buffer_copy(attr), -1, cpu, -1, 0)
    check("an event", fd >= 0)
    return mmap.mmap(fd, PAGE + RING)


def records(ring):
    """All that is in it, by kind and content."""
    (head,) = struct.unpack_from("=Q", ring, 1024)
    check(f"{head} bytes are in the ring", 0 < head < RING)
    at = PAGE
    while at < PAGE + head:
        kind, _misc, size = struct.unpack_from("=IHH", ring, at)
        yield kind, ring[at + 8:at + size]
        at += size


def told(ring):
    """What is said of trampolines, by their addresses."""
    trampolines = {}
    for kind, content in records(ring):
        (addr,) = struct.unpack_from("=Q", content)
        if kind == KSYMBOL and content[16:].startswith(b"ftrace_trampoline\0"):
            (flags,) = struct.unpack_from("=H", content, 14)
            trampolines.setdefault(addr, []).append("symbol gone" if flags & 1 else "symbol")
        elif kind == TEXT_POKE:
            old, new = struct.unpack_from("=HH", content, 8)
            if not old or not new:
                trampolines.setdefault(addr, []).append("code" if new else "code gone")
    return trampolines


def main():
    """A module comes and goes with an ops."""
    os.sched_setaffinity(0, {0})
    ring = listen(0)
    subprocess.run(["modprobe", "ftrace_ops", "nr_function_calls=0", "persist=1"], check=True)
    subprocess.run(["rmmod", "ftrace_ops"], check=True)
    trampolines = told(ring)
    check("a trampoline", trampolines)
    for addr, what in trampolines.items():
        check(f"{addr:x}: {what}", what == ["symbol", "code", "code gone", "symbol gone"])
    print(checks(), "checks")


main()
