# SPDX-License-Identifier: GPL-2.0
# Texts of the kernel as long as one may be, up to a page that is not there: init_module(2) copies what a program gives it to
# whole pages, behind which is none. The longest entries need larger sub-buffers.
echo "== long texts at the end of a page =="
python3 - << 'PYTHON'
import ctypes
import os
import re

INIT_MODULE = 175
LIBC = ctypes.CDLL(None, use_errno=True)


def read(name):
    with open(name, encoding="latin-1") as file:
        return file.read()


def write(name, text, how=0):
    file = os.open(name, os.O_WRONLY | how)
    try:
        os.write(file, text.encode())
        return "done"
    except OSError as error:
        return error.strerror
    finally:
        os.close(file)


SIZE = read("buffer_subbuf_size_kb").split()[0]
print(write("buffer_subbuf_size_kb", "8", os.O_TRUNC))
# The address of the copy is the third word of what the first argument is the address of.
print(write("kprobe_events", "p:long load_module s=+0(+16(%di)):string t=+8100(+16(%di)):string", os.O_APPEND))
print(write("events/kprobes/long/enable", "1"))
for length, end in ((100, 0), (4000, 0), (4032, 0), (4033, 0), (4094, 0), (4095, 0), (4096, None), (8191, 0), (8192, None)):
    text = bytearray(b"x" * length)
    if end is not None:
        text += b"\0"
    text += b"y" * (-len(text) % 4096)
    write("trace", "", os.O_TRUNC)
    given = (ctypes.c_char * len(text)).from_buffer(text)
    LIBC.syscall(INIT_MODULE, given, ctypes.c_ulong(len(text)), b"")
    hits = re.findall(r" long: \(.*?\) s=(\S*) t=(\S*)", read("trace"))
    print("exact", length, end, ctypes.get_errno(), [[len(one) if one.startswith('"x') else one[:9] for one in hit] for hit in hits])
print(write("events/kprobes/long/enable", "0"))
print(write("kprobe_events", "", os.O_TRUNC), write("buffer_subbuf_size_kb", SIZE, os.O_TRUNC))
PYTHON
