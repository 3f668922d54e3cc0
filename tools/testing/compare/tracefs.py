#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Inodes of what is in events/: their numbers, and that who watches one is told."""
import ctypes
import os
import select
import struct

TRACING = "/sys/kernel/tracing"
NAMES = {2: "MODIFY", 4: "ATTRIB", 32: "OPEN"}
libc = ctypes.CDLL(None, use_errno=True)


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


class Watch:
    """An inotify descriptor with one path."""

    def __init__(self, path, mask=2):
        self.path = path
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        if self.fd < 0 or libc.inotify_add_watch(self.fd, path.encode(), mask) < 0:
            raise OSError(ctypes.get_errno(), path)

    def tell(self, what):
        told = []
        if select.select([self.fd], [], [], 0.2)[0]:
            data = os.read(self.fd, 65536)
            while data:
                _, mask, _, length = struct.unpack_from("iIII", data)
                name = data[16:16 + length].rstrip(b"\0").decode()
                told.append(f"{name or 'itself'}:{NAMES.get(mask, mask)}")
                data = data[16 + length:]
        print(f"exact {what}, {self.path}: {' '.join(told) or 'nothing'}")


def numbers(path):
    """What the inode numbers below a directory have in common on both kernels."""
    fit = same = True
    directories = set()
    for where, dirs, _ in os.walk(path):
        for entry in os.scandir(where):
            stat = entry.stat(follow_symlinks=False)
            fit &= 0 < stat.st_ino < 1 << 32 and 0 < entry.inode() < 1 << 32
            same &= stat.st_ino == entry.inode()
        numbers = [os.stat(os.path.join(where, name)).st_ino for name in dirs]
        same &= len(set(numbers)) == len(numbers)
        directories.update(numbers)
    print(f"exact {path}: fit {fit}, listed as they are {same}, many {len(directories) > 100}")


os.chdir(TRACING)
print("== inode numbers ==")
numbers("events")
os.mkdir("instances/numbered")
numbers("instances/numbered/events")
events = {os.stat(where + "events/sched").st_ino for where in ("", "instances/numbered/")}
print(f"exact an instance has its own: {len(events) == 2}")
os.rmdir("instances/numbered")

print("== watchers ==")
enable = "events/sched/sched_switch/enable"
watches = [Watch(enable), Watch("events/sched/sched_switch"), Watch("events/sched", 2 | 32), Watch("events")]
other = Watch("events/sched/sched_wakeup/enable")
for name in (enable, "events/sched/enable", "events/enable"):
    put(name, "0")
    for watch in watches + [other]:
        watch.tell(f"after a write to {name}")
os.chmod(enable, 0o600)
Watch(enable).tell("a new one")
os.chmod(enable, 0o640)
print(f"exact mode {os.stat(enable).st_mode:o}")

print("== watchers of an event that goes ==")
put("kprobe_events", "p:watched/one vfs_fsync\n")
watches = [Watch("events/watched/one/enable"), Watch("events/watched/one"), Watch("events/watched")]
put("events/watched/one/enable", "0")
for watch in watches:
    watch.tell("before")
put("kprobe_events", "\n")
for watch in watches:
    watch.tell("when it goes")
put("kprobe_events", "p:watched/one vfs_fsync\n")
put("events/watched/one/enable", "0")
for watch in watches:
    watch.tell("when it is back")
put("kprobe_events", "\n")

print("== watchers in an instance that goes ==")
os.mkdir("instances/watched")
watches = [Watch("instances/watched/" + name) for name in (enable, "events/sched/sched_switch", "events/sched/filter")]
put("instances/watched/" + enable, "0")
for watch in watches:
    watch.tell("before")
os.rmdir("instances/watched")
print(f"exact there: {os.path.exists('instances/watched')}")
