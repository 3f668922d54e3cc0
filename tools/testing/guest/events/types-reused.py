#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A reader that is kept from running between an entry's copy and its line, while the entry's event goes and another one gets its
type. Passes on the C kernel, too."""
import ctypes
import fcntl
import mmap
import os
import random
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from checks import check, checks, child, put, status  # noqa: E402

REG, UNREG = 0xC0082A00, 0x40082A02
ROUNDS = 30
ENTRIES = 500
INSTANCE = "instances/reused"
EVENTS = "events/user_events"
VALUES = {"one": 1111, "two": 2222}
# Of all tasks: whether the hog is to go on, and whether it runs.
SHARED = mmap.mmap(-1, mmap.PAGESIZE)
WORD = ctypes.addressof(ctypes.c_char.from_buffer(SHARED, 2048))


class Event:
    """A user event with one value. It goes some time after `end`."""

    def __init__(self, name):
        self.name = name
        self.file = os.open("user_events_data", os.O_RDWR)
        text = ctypes.create_string_buffer(b"%s u64 value" % name.encode())
        request = bytearray(struct.pack("=IBBHQQI", 28, 0, 4, 0, WORD, ctypes.addressof(text), 0))
        fcntl.ioctl(self.file, REG, request, True)
        self.number = struct.unpack_from("=I", request, 24)[0]
        with open(f"{EVENTS}/{name}/id", encoding="utf-8") as file:
            self.type = int(file.read())

    def enable(self, on):
        """Record it where it is read, or no more."""
        put(f"{INSTANCE}/{EVENTS}/{self.name}/enable", b"01"[on:on + 1])

    def hit(self):
        """Record entries."""
        entry = struct.pack("=IQ", self.number, VALUES[self.name])
        for _ in range(ENTRIES):
            os.write(self.file, entry)

    def end(self):
        """Nobody uses it any more. Waits until it is gone."""
        fcntl.ioctl(self.file, UNREG, struct.pack("=IBBHQ", 16, 0, 0, 0, WORD))
        os.close(self.file)
        end = time.monotonic() + 20
        while os.path.exists(f"{EVENTS}/{self.name}"):
            check(f"{self.name} goes", time.monotonic() < end)
        # To remove all events, of which there are none, clears the buffers, too. Then the type is free.
        put("dynamic_events", b"")


def read():
    """Read `trace` for ever, as the least of all tasks of CPU 1. Ends with a wrong line."""
    os.sched_setaffinity(0, {1})
    os.nice(19)
    while True:
        file = os.open(f"{INSTANCE}/trace", os.O_RDONLY)
        # A read ends with a whole line, unless there is no room for that.
        while text := os.read(file, 1 << 16):
            check("there is room", text.endswith(b"\n"))
            for name, value in VALUES.items():
                # Its values are as many as its lines.
                if text.count(b": %s: value=" % name.encode()) != text.count(b"value=%#x" % value):
                    wrong = [line for line in text.splitlines() if b"Unknown" in line or b"%#x" % value in line]
                    print(f"not those of {name}: {wrong[:3]}", flush=True)
                    return 1
        os.close(file)


def hog():
    """Keep all other tasks off CPU 1, but not for long: the reader may have what the end of an event waits for."""
    os.sched_setaffinity(0, {1})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    SHARED[1] = 1
    end = time.monotonic() + 0.4
    while SHARED[0] and time.monotonic() < end:
        pass
    SHARED[1] = 0


def main():
    """All of it."""
    check("there is a second CPU", os.cpu_count() > 1)
    os.sched_setaffinity(0, {0})
    put("/sys/kernel/rcu_expedited", b"1")
    os.mkdir(INSTANCE)
    reader = child(read)
    types, found = set(), None
    try:
        for number in range(ROUNDS):
            first, second = sorted(VALUES, reverse=bool(number % 2))
            event = Event(first)
            event.enable(True)
            event.hit()
            types.add(event.type)
            time.sleep(0.02 + random.random() * 0.02)
            SHARED[0] = 1
            keeper = child(hog)
            while not SHARED[1]:
                pass
            event.enable(False)
            event.end()
            event = Event(second)
            types.add(event.type)
            SHARED[0] = 0
            os.waitpid(keeper, 0)
            time.sleep(0.01)
            event.end()
            found = status(reader, 0.01)
            check("the reader has found no wrong line", found is None)
    finally:
        SHARED[0] = 0
        if found is None:
            os.kill(reader, 9)
            os.waitpid(reader, 0)
        put("/sys/kernel/rcu_expedited", b"0")
        os.rmdir(INSTANCE)
    check(f"the type was one for all: {types}", len(types) == 1)
    print(f"{checks()} checks")


main()
