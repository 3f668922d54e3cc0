#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""all-load.py SECONDS: in a tracing folder with all events on, read pages of all CPUs and check each.

At the end all events are switched off and the rest is read. Then the numbers of events that were read and that pages told as
lost must be those of `stats`.
"""
import glob
import os
import re
import struct
import sys
import time

MISSED, MISSED_STORED = 1 << 31, 1 << 30
PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31


def number_in(name):
    with open(name, encoding="ascii") as file:
        return int(file.read())


def types():
    """The type numbers of all events."""
    return {number_in(name) for name in glob.glob("events/*/*/id")}


class Cpu:
    """The pages of one CPU."""

    def __init__(self, folder, known):
        self.folder, self.known = folder, known
        self.file = os.open(f"{folder}/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
        self.read = self.lost = 0
        self.is_lost_known = True
        self.time = 0

    def take(self, size):
        """Read one page; False if there is none."""
        try:
            page = os.read(self.file, size)
        except BlockingIOError:
            return False
        if page:
            self.check(page)
        return bool(page)

    def check(self, page):
        start, commit = struct.unpack_from("=QQ", page)
        length = commit & (MISSED_STORED - 1)
        assert 0 < length <= len(page) - 16, f"{self.folder}: a page of {length} bytes"
        if commit & MISSED:
            if commit & MISSED_STORED:
                self.lost += struct.unpack_from("=Q", page, 16 + length)[0]
            else:
                self.is_lost_known = False
        now, at, end = start, 16, 16 + length
        assert now >= self.time, f"{self.folder}: a page begins at {now}, before {self.time}"
        while at < end:
            head, more = struct.unpack_from("=II", page, at) if at + 8 <= len(page) else (*struct.unpack_from("=I", page, at), 0)
            kind, delta = head & 31, head >> 5
            if kind == PADDING:
                assert delta, f"{self.folder}: the page ends at {at} of {end}"
                at += 4 + more
            elif kind == TIME_EXTEND:
                now += delta + (more << 27)
                at += 8
                continue
            elif kind == TIME_STAMP:
                # The upper bits are those of the time so far.
                now = now >> 59 << 59 | delta + (more << 27)
                at += 8
                continue
            else:
                body = at + (4 if kind else 8)
                event = struct.unpack_from("=H", page, body)[0]
                assert event in self.known, f"{self.folder}: type {event} at {at}"
                at += 4 + (kind * 4 if kind else more + 3 & ~3)
                self.read += 1
            now += delta
        assert at == end, f"{self.folder}: the last event ends at {at}, the page at {end}"
        self.time = now

    def stats(self):
        with open(f"{self.folder}/stats", encoding="ascii") as file:
            return {name: int(value) for name, value in re.findall(r"^([a-z ]+): (\d+)$", file.read(), re.M)}

    def finish(self):
        """Compare with what the kernel has counted."""
        stats = self.stats()
        print(f"{self.folder}: {self.read} read, {self.lost} told lost, {stats}")
        assert stats["entries"] == 0, "not all was read"
        assert stats["read events"] == self.read, "events that were read"
        assert stats["commit overrun"] == stats["dropped events"] == 0
        if self.is_lost_known:
            assert stats["overrun"] == self.lost, "events that were lost"


def entry():
    seconds, size = float(sys.argv[1]), number_in("buffer_subbuf_size_kb") * 1024
    known = types()
    cpus = [Cpu(folder, known) for folder in sorted(glob.glob("per_cpu/cpu*"))]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for cpu in cpus:
            cpu.take(size)
    with open("events/enable", "w", encoding="ascii") as file:
        file.write("0")
    for cpu in cpus:
        while cpu.take(size):
            pass
        cpu.finish()
    assert any(cpu.read > 1000 for cpu in cpus), "hardly any events"


if __name__ == "__main__":
    entry()
