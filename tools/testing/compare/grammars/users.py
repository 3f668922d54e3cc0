# SPDX-License-Identifier: GPL-2.0
"""User events by ioctl(2), and their entries.

Left out: names, and fields without a name, that C takes and cannot show; the event that is there before.
"""
import ctypes
import fcntl
import mmap
import os
import re
import struct

from control import TRACING
from round import brief

from .members import definition, is_nameless

# As include/uapi/linux/user_events.h has them.
REGISTER, DELETE, UNREGISTER = 0xC0082A00, 0x40082A01, 0x40082A02


def left_out(text):
    """Whether the kernels are meant to differ, or others need the event."""
    name = text.split(" ")[0]
    return not re.fullmatch(r"\w+", name, re.A) or name.startswith("own") or is_nameless(text)


def register(file, raw):
    """The number of the event in the entries of this file."""
    fcntl.ioctl(file, REGISTER, raw, True)
    return struct.unpack_from("=I", raw, 24)[0]


def registration(round_, file, text, base):
    """An event is registered, with a bit that says whether it is enabled."""
    texts = round_.texts
    buffer = ctypes.create_string_buffer(text)
    size = 28 if texts.chance(90) else texts.one(0, 27, 29, 4097, 4, 4294967295)
    bit = texts.one(0, 0, 1, 31, 32, 63, 64, 255)
    width = texts.one(4, 4, 8, 4, 0, 2, 16)
    flags = texts.one(0, 0, 0, 0, 1, 2, 3, 4)
    shift = texts.one(0, 0, 0, 4, 8, 1, 4094)
    raw = bytearray(struct.pack("=IBBHQQI", size, bit, width, flags, base + shift, ctypes.addressof(buffer), 77))
    raw += texts.one(b"", b"\0" * 8, b"\1")
    round_.call(f"register {brief(text)} size {size} bit {bit} width {width} flags {flags} at {shift}", register, file, raw)


def unregistration(round_, file, base):
    """A bit is given back."""
    texts = round_.texts
    bit = texts.one(0, 0, 1, 31)
    raw = bytearray(struct.pack("=IBBHIQ", texts.one(20, 20, 16, 0), bit, texts.one(0, 0, 1), texts.one(0, 0, 1), 0,
                                base + texts.one(0, 4, 8)))[:20]
    round_.call(f"unregister bit {bit} {raw[:12].hex()}", fcntl.ioctl, file, UNREGISTER, bytes(raw))


def operation(round_, file, base):
    """One operation on an open file; the bits are at `base`."""
    texts = round_.texts
    kind = texts.random.randrange(10)
    text = texts.mutated(definition(texts, "u").removeprefix("u:").lstrip("u "), 25).split("\0")[0]
    if left_out(text):
        return
    text = text.encode("latin-1", "replace")
    name = text.split(b" ")[0]
    if kind < 6:
        registration(round_, file, text, base)
    elif kind < 8:
        round_.call(f"delete {brief(name)}", fcntl.ioctl, file, DELETE, name + b"\0")
    elif kind < 9:
        unregistration(round_, file, base)
    else:
        data = struct.pack("=I", texts.one(0, 1, 2, 77)) + b"x" * texts.one(0, 1, 4, 8, 20)
        round_.call(f"write {brief(data)}", os.write, file, data[:texts.one(0, 3, 100, 100)])


def run(round_):
    """Events of one file."""
    round_.watch("dynamic_events", "user_events_status")
    page = mmap.mmap(-1, 4096)
    bits = (ctypes.c_char * 4096).from_buffer(page)
    file = os.open(f"{TRACING}/user_events_data", os.O_RDWR)
    for _ in range(10):
        operation(round_, file, ctypes.addressof(bits))
    os.close(file)
