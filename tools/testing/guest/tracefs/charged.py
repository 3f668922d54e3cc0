#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Inodes of tracefs that are made when they are looked at are charged to who looks, by the kernel's count. Passes on the C kernel, too."""
import ctypes
import os
import resource
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from checks import check, checks, put, true_in_child  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
FILES = ("enable", "filter", "format", "id", "trigger")
# A dentry has 192 bytes, an inode of the VFS some 600: without one of them it is less.
LEAST = 700


def main():
    """A task of a group of its own looks at all events."""
    group = tempfile.mkdtemp()
    check("mount of cgroup2", LIBC.mount(b"none", group.encode(), b"cgroup2", 0, None) == 0)
    try:
        with open(f"{group}/cgroup.controllers", encoding="ascii") as file:
            if "memory" not in file.read().split():
                sys.exit(4)
        put(f"{group}/cgroup.subtree_control", b"+memory")
        os.mkdir(f"{group}/ours")

        def charged(name):
            with open(f"{group}/ours/memory.stat", encoding="ascii") as file:
                return next(int(line.split()[1]) for line in file if line.startswith(f"{name} "))

        def looks():
            put(f"{group}/ours/cgroup.procs", str(os.getpid()).encode())
            resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
            # What others have looked at is theirs.
            put("/proc/sys/vm/drop_caches", b"2")
            before = charged("slab_reclaimable")
            paths = [entry.path for system in os.scandir("events") if system.is_dir() for entry in os.scandir(system) if entry.is_dir()]
            count = 0
            for path in paths:
                for name in FILES:
                    try:
                        # What nobody holds may go at once. The file itself is not reclaimable.
                        os.open(f"{path}/{name}", os.O_PATH)
                        count += 1
                    except FileNotFoundError:
                        pass
            cost = (charged("slab_reclaimable") - before) // count
            print(f"{count} files: {cost} bytes each", flush=True)
            return count > 1000 and cost >= LEAST

        try:
            check("inodes are charged", true_in_child(looks, 120))
        finally:
            os.rmdir(f"{group}/ours")
    finally:
        LIBC.umount2(group.encode(), 2)
        os.rmdir(group)
    print(checks(), "checks")


main()
