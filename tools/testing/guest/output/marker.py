# SPDX-License-Identifier: GPL-2.0
"""Limits and errnos of the marker files; runs in the tracing directory."""
import ctypes
import errno
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from checks import check, checks, put


def errno_of(call, *args):
    try:
        call(*args)
    except OSError as error:
        return error.errno
    return 0


def events():
    """What the lines of trace say, after the time."""
    lines = open("trace", "rb").read().split(b"\n")
    return [line.split(b": ", 1)[1] for line in lines if line and not line.startswith(b"#")]


put("tracing_on", b"1")
put("trace", b"")
text = os.open("trace_marker", os.O_WRONLY)
raw = os.open("trace_marker_raw", os.O_WRONLY)

check("the whole text is taken", os.write(text, b"hello") == 5)
check("with its newline", os.write(text, b"world\n") == 6)
check("any byte", os.write(text, b"\x01\xff") == 2)
check("three lines", events() == [b"tracing_mark_write: " + t for t in (b"hello", b"world", b"\x01\xff")])

put("trace", b"")
check("a long text is cut", os.write(text, b"x" * 5000) == 4054)
check("to what one sub-buffer holds", events() == [b"tracing_mark_write: " + b"x" * 4054])

put("trace", b"")
check("4054 bytes fit", os.write(text, b"y" * 4054) == 4054)
check("300 bytes", os.write(text, b"z" * 300) == 300)
check("both are there", events() == [b"tracing_mark_write: " + c * n for c, n in ((b"y", 4054), (b"z", 300))])

put("trace", b"")
check("raw", os.write(raw, struct.pack("I", 0x1d) + b"abcd") == 8)
check("raw prints its id and bytes", events() == [b"# 1d buf: 61 62 63 64"])
check("3 bytes are no id", errno_of(os.write, raw, b"abc") == errno.EINVAL)
check("5000 raw bytes", errno_of(os.write, raw, b"x" * 5000) == errno.EINVAL)
check("and nothing was recorded of them", len(events()) == 1)
check("4000 raw bytes", os.write(raw, b"x" * 4000) == 4000)

libc = ctypes.CDLL(None, use_errno=True)
libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def write_at(file, address, size):
    ctypes.set_errno(0)
    done = libc.write(file, address, size)
    return done if done >= 0 else -ctypes.get_errno()


put("trace", b"")
for file in (text, raw):
    check("a bad pointer", write_at(file, 8, 16) == -errno.EFAULT)
    # Two pages of which the second is not there; and two that were never touched.
    two = libc.mmap(None, 8192, 3, 0x22, -1, 0)
    libc.munmap(two + 4096, 4096)
    check("memory that ends half-way", write_at(file, two + 4096 - 8, 16) == -errno.EFAULT)
check("nothing of it is recorded", events() == [])
untouched = libc.mmap(None, 8192, 3, 0x22, -1, 0)
check("memory not yet there is brought in", write_at(raw, untouched + 4090, 12) == 12)
check("as zeroes", events() == [b"# 0 buf:" + b" 00" * 8])

for file in (text, raw):
    check("no seeking", errno_of(os.lseek, file, 0, os.SEEK_SET) == errno.ESPIPE)
both = os.open("trace_marker", os.O_RDWR)
check("reading is EINVAL", errno_of(os.read, both, 10) == errno.EINVAL)
os.close(both)

put("options/markers", b"0")
for file in (text, raw):
    check("option markers off", errno_of(os.write, file, b"12345678") == errno.EINVAL)
put("options/markers", b"1")
put("tracing_on", b"0")
for file in (text, raw):
    check("recording off", errno_of(os.write, file, b"12345678") == errno.EBADF)
put("tracing_on", b"1")
print(f"{checks()} checks")
