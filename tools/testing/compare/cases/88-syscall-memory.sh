# SPDX-License-Identifier: GPL-2.0
# How much of a program's memory events of system calls read: where some of it is not there, there is none in the entry.
was=$(cat syscall_user_buf_size)
python3 - << 'PYTHON'
import ctypes
import os
import re

PAGE = 4096
LIBC = ctypes.CDLL(None)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
LIBC.chdir.argtypes = [ctypes.c_void_p]
SIZES = (1, 10, 164, 165, 166, 167, 168, 169, 170, 1000)


def put(name, text):
    file = os.open(name, os.O_WRONLY | os.O_TRUNC)
    os.write(file, text.encode())
    os.close(file)


def entry(call, address, *rest):
    """What the entry of a call shows behind an address."""
    put("trace", "")
    call(*rest)
    with open("trace", encoding="latin-1") as file:
        return re.findall(rf": 0x{address:x} (.*)\)$", file.read(), re.M)


# The page behind it cannot be read.
END = LIBC.mmap(None, 2 * PAGE, 3, 0x22, -1, 0) + PAGE
LIBC.mprotect(END, PAGE, 0)
ctypes.memset(END - PAGE, ord("x"), PAGE)
NULL = os.open("/dev/null", os.O_WRONLY)
put("set_event_pid", str(os.getpid()))
for event in ("write", "chdir"):
    put(f"events/syscalls/sys_enter_{event}/enable", "1")
for size in ("165", "10", "0"):
    put("syscall_user_buf_size", size)
    print(f"== size {size}, bytes ==")
    for there in SIZES:
        for count in sorted({there, there + 1, 168, 169, 170, 2000}):
            found = entry(LIBC.write, END - there, NULL, END - there, count)
            print("exact", there, count, [(text.count("78"), text.count("x"), text.count("...")) for text in found])
    print(f"== size {size}, texts ==")
    for there in SIZES:
        found = entry(LIBC.chdir, END - there, END - there)
        print("exact", there, [(text.count("x"), text.count(".")) for text in found])
put("events/syscalls/enable", "0")
PYTHON
echo > set_event_pid
echo > trace
echo $was > syscall_user_buf_size
