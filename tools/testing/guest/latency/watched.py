#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Watches tracing_max_latency by inotify, at the top and in an instance, while latency tracers run."""
import ctypes
import os
import select
import struct
import subprocess
import sys

MODIFY = 2
FILE = "tracing_max_latency"
libc = ctypes.CDLL(None, use_errno=True)


def put(name, text):
    with open(name, "w") as file:
        file.write(text)


def get(name):
    with open(name) as file:
        return file.read()


class Watch:
    """An inotify descriptor with one file."""

    def __init__(self, path):
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        if self.fd < 0 or libc.inotify_add_watch(self.fd, path.encode(), MODIFY) < 0:
            sys.exit(f"{path} cannot be watched: {os.strerror(ctypes.get_errno())}")

    def told(self, seconds):
        """How many messages came, after a wait for the first."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return 0
        data, count = os.read(self.fd, 65536), 0
        while data:
            _, mask, _, length = struct.unpack_from("iIII", data)
            assert mask & MODIFY, hex(mask)
            data, count = data[16 + length:], count + 1
        return count


def measured(directory, tracer):
    """A new longest latency is announced, and no other file's watchers hear of it."""
    watch, other = Watch(directory + FILE), Watch(directory + "tracing_cpumask")
    put(directory + "current_tracer", tracer)
    for _ in range(3):
        put(directory + "tracing_on", "0")
        put(directory + FILE, "0")
        assert watch.told(5), "the write was not announced"
        while watch.told(0.2):
            pass
        assert get(directory + FILE) == "0\n"
        # Any latency is longer than none.
        put(directory + "tracing_on", "1")
        for _ in range(100):
            subprocess.run(["true"], check=True)  # it is woken, and so is who waits for it
            if watch.told(0.2):
                break
        else:
            sys.exit(f"{tracer}: {get(directory + FILE).strip()} us, and nobody was told")
        assert int(get(directory + FILE)) >= 0
    put(directory + "current_tracer", "nop")
    assert not other.told(0.1), "a watcher of another file was told"
    os.close(watch.fd)
    os.close(other.fd)


def taken():
    """A snapshot is announced, too, as its header takes the place of the longest latency's."""
    watch = Watch(FILE)
    put("snapshot", "1")
    assert watch.told(5), "the snapshot was not announced"
    put("snapshot", "0")
    os.close(watch.fd)


taken()
measured("", "irqsoff")
for turn in range(3):
    os.mkdir("instances/watched")
    measured("instances/watched/", "irqsoff")
    # A watch does not keep the instance, nor does a message under way.
    put("instances/watched/current_tracer", "irqsoff")
    watch = Watch("instances/watched/" + FILE)
    put("instances/watched/current_tracer", "nop")
    os.rmdir("instances/watched")
    os.close(watch.fd)
