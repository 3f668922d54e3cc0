#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""In a guest that counts calls: what serves several ops at a site counts its call once.

It counts by itself. A call of the thunk before the function, as boot makes of other calls, would count once more.
"""
import os
import struct
import sys

CALLERS, CALLED = ("ftrace_caller", "ftrace_regs_caller"), "arch_ftrace_ops_list_func"
THUNK_MAX = 64  # bytes before a function in which a thunk may be


class Text:
    """The kernel's memory, by the segments of /proc/kcore."""

    def __init__(self):
        self.file = os.open("/proc/kcore", os.O_RDONLY)
        header = os.pread(self.file, 64, 0)
        offset, size, count = *struct.unpack_from("<Q", header, 32), *struct.unpack_from("<HH", header, 54)
        segments = [struct.unpack("<IIQQQQQQ", os.pread(self.file, size, offset + index * size)) for index in range(count)]
        self.segments = [(start, where, length) for kind, _, where, start, _, length, _, _ in segments if kind == 1]

    def read(self, address, size):
        for start, where, length in self.segments:
            if start <= address < start + length:
                return os.pread(self.file, size, where + address - start)
        raise SystemExit(f"{address:#x} is in no segment of /proc/kcore")


def symbols():
    """Addresses and, of each, the next one."""
    rows = [line.split()[:3] for line in open("/proc/kallsyms", encoding="ascii") if "[" not in line]
    table = {name: int(address, 16) for address, _, name in rows}
    order = sorted(set(table.values()))
    return table, dict(zip(order, order[1:]))


def calls(text, start, end):
    """Targets of what may be calls; a byte in the middle of an instruction may look like one."""
    code = text.read(start, end - start)
    for at in range(len(code) - 4):
        if code[at] == 0xe8:
            yield start + at + 5 + struct.unpack_from("<i", code, at + 1)[0]


def main():
    text, (table, following) = Text(), symbols()
    bad = 0
    for name in CALLERS:
        start = table[name]
        near = [table[CALLED] - target for target in calls(text, start, following[start])
                if 0 <= table[CALLED] - target < THUNK_MAX]
        if near != [0]:
            print(f"{name} calls {CALLED} at {near} bytes before it")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
