#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pointers.py WHAT: whether an event's `%p` shows the address, its weak hash, or another number (addresses, weak, hashed).

In a guest whose kernel was booted to do so; the current folder is tracefs."""
import re
import sys

GOLDEN_RATIO = 0x61C8864680B583EB  # include/linux/hash.h


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def pointers():
    with open("trace", encoding="ascii") as file:
        return [int(digits, 16) for digits in re.findall(r" kfree: .* ptr=([0-9a-f]{16})$", file.read(), re.M)]


def weak(address):
    return address * GOLDEN_RATIO % 2**64 >> 32


put("events/kmem/kfree/enable", "1")
with open("set_event", encoding="ascii") as read:
    read.read()
put("events/kmem/kfree/enable", "0")
shown = pointers()
put("options/hash-ptr", "0")
addresses = pointers()
assert addresses and len(addresses) == len(shown), (len(addresses), len(shown))
for found, address in zip(shown, addresses):
    # Null is shown as it is.
    kind = {address: "addresses", weak(address): "weak"}.get(found, "hashed")
    assert not address or kind == sys.argv[1], (hex(address), hex(found))
