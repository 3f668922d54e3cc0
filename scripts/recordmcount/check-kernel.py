#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the section pass on a kernel that was built with it: check-kernel.py [--every N] BUILD

Runs compare-objtool.py, and adds what is to be seen in the linked kernel, read here without the pass's own code: the
table ascends strictly and then only repeats its last address, every site is the 5-byte NOP, and it holds sites of Rust
code. Prints KTAP; --every is handed on.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NOP5 = bytes.fromhex("0f1f440000")


class Image:
    """The sections and symbols of a 64-bit little-endian ELF file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        table, count = self.word(40, 8), self.word(60, 2)
        self.sections = [[self.word(table + 64 * index + at, 8) for at in (16, 24, 32)] for index in range(count)]
        self.kinds = [(self.word(table + 64 * index + 4, 4), self.word(table + 64 * index + 40, 4))
                      for index in range(count)]

    def word(self, at, size):
        return int.from_bytes(self.data[at:at + size], "little")

    def bytes_at(self, address, size):
        """What the file has for an address; empty where it has nothing."""
        for (start, offset, length), (kind, _) in zip(self.sections, self.kinds):
            if kind == 1 and start and start <= address and address + size <= start + length:
                at = offset + address - start
                return self.data[at:at + size]
        return b""

    def symbols(self):
        """Each symbol's name, kind and address."""
        index = next(index for index, (kind, _) in enumerate(self.kinds) if kind == 2)
        _, offset, length = self.sections[index]
        _, names, _ = self.sections[self.kinds[index][1]]
        for at in range(offset, offset + length, 24):
            name = names + self.word(at, 4)
            yield (self.data[name:self.data.index(b"\0", name)].decode("ascii", "replace"),
                   self.data[at + 4] & 15, self.word(at + 8, 8))


class Suite:
    """KTAP lines."""

    def __init__(self, planned):
        self.number = self.failed = 0
        print(f"KTAP version 1\n1..{planned}")

    def result(self, good, name):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} {name}", flush=True)


def check_image(suite, path):
    image = Image(path)
    symbols = list(image.symbols())
    address = {name: value for name, _, value in symbols if name in ("__start_mcount_loc", "__stop_mcount_loc")}
    start, stop = address["__start_mcount_loc"], address["__stop_mcount_loc"]
    table = image.bytes_at(start, stop - start)
    slots = [int.from_bytes(table[at:at + 8], "little") for at in range(0, len(table), 8)]
    last = slots.index(slots[-1]) if slots else 0
    sites = slots[:last + 1]
    suite.result(bool(sites) and all(a < b for a, b in zip(sites, sites[1:])) and set(slots[last:]) == set(slots[-1:]),
                 f"the table of vmlinux ascends, {len(sites)} sites, then repeats the last, {len(slots) - len(sites)} "
                 "times")
    others = [site for site in sites if image.bytes_at(site, 5) != NOP5]
    for site in others[:3]:
        print(f"# {site:#x} is not the 5-byte NOP")
    suite.result(bool(sites) and not others, "every site of vmlinux is the 5-byte NOP")
    functions = {value: name for name, kind, value in symbols if kind == 2}
    names = [functions.get(site) or functions.get(site - 4) for site in sites]
    strays = [site for site, name in zip(sites, names) if name is None]
    for site in strays[:3]:
        print(f"# {site:#x} is at no function")
    suite.result(bool(sites) and not strays, "every site of vmlinux is at a function")
    rust = sum(1 for name in names if name and re.match(r"_R", name))
    suite.result(rust > 0, f"{rust} sites of vmlinux are in Rust code")


def main():
    build = sys.argv[-1]
    if len(sys.argv) < 2 or not os.path.exists(os.path.join(build, "vmlinux")):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    done = subprocess.run([os.path.join(HERE, "compare-objtool.py"), *sys.argv[1:]], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=False)
    compared = re.findall(r"^(ok|not ok) \d+ (.*)$", done.stdout, re.M)
    suite = Suite(max(len(compared), 1) + 4)
    for line in re.findall(r"^# .*$", done.stdout, re.M):
        print(line)
    for good, name in compared:
        suite.result(good == "ok", name)
    if not compared:
        suite.result(False, f"compare-objtool.py: exit status {done.returncode}")
    check_image(suite, os.path.join(build, "vmlinux"))
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
