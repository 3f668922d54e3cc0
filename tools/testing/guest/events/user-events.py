#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""User events as programs use them. Passes on the C kernel, too, but for what `OURS` says."""
import ctypes
import errno
import fcntl
import os
import resource
import signal
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from checks import check, child, checks, fails, put, status, true_in_child  # noqa: E402

REG, DEL, UNREG = 0xC0082A00, 0x40082A01, 0x40082A02
PERSIST, MULTI = 1, 2
with open("/proc/kallsyms", encoding="utf-8") as symbols:
    OURS = "rtrace_dynamic_reg" in symbols.read()
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong]
LIBC.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
PAGE = 4096
FILES = 8000  # that are opened at once


def page(at=None):
    """A page of memory."""
    where = LIBC.mmap(at, PAGE, 3, 0x22 | (0x10 if at else 0), -1, 0)
    check("a page", where not in (None, ctypes.c_void_p(-1).value))
    return where


def word(at):
    """The 32 bits there."""
    return ctypes.c_uint32.from_address(at).value


def ioctl(fd, command, address):
    """An ioctl with an address of its own."""
    if LIBC.ioctl(fd, command, address) < 0:
        raise OSError(ctypes.get_errno(), "ioctl")


def request(definition, at, bit=0, size=4, flags=0, length=28, tail=b""):
    """A struct user_reg, and what it points to."""
    text = ctypes.create_string_buffer(definition) if isinstance(definition, bytes) else None
    address = ctypes.addressof(text) if text else definition
    return bytearray(struct.pack("=IBBHQQI", length, bit, size, flags, at, address, 77) + tail), text


def register(fd, definition, at, **rest):
    """Register an event; gives its number."""
    raw, _kept = request(definition, at, **rest)
    fcntl.ioctl(fd, REG, raw, True)
    return struct.unpack_from("=I", raw, 24)[0]


def unregister(fd, at, bit=0, length=16, reserved=0):
    """Take a bit away."""
    fcntl.ioctl(fd, UNREG, struct.pack("=IBBHQ", length, bit, 0, reserved, at))


def delete(fd, name):
    """Delete by name."""
    text = ctypes.create_string_buffer(name)
    ioctl(fd, DEL, ctypes.addressof(text))


def data():
    """An open user_events_data."""
    return os.open("user_events_data", os.O_RDWR)


def read(path):
    """A file's text."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def until(what, so):
    """Wait for what happens later."""
    end = time.time() + 20
    while not so():
        check(what, time.time() < end)
        time.sleep(0.02)


def listed():
    """The lines of events."""
    return read("user_events_status").split("\nActive:")[0].splitlines()


def active(names):
    """Do just these events exist?"""
    return sorted(listed()) == sorted(names)


def define(line):
    """A line of dynamic_events."""
    fd = os.open("dynamic_events", os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)


def enable(on, name="ours", system="user_events", at="."):
    """Enable or disable an event."""
    put(f"{at}/events/{system}/{name}/enable", b"1" if on else b"0")


def raw_write(fd, content, length=None):
    """A write of memory that may not be there."""
    done = LIBC.write(fd, content, length if length is not None else len(content))
    if done < 0:
        raise OSError(ctypes.get_errno(), "write")
    return done


def bad_requests(at):
    """What is refused leaves nothing."""
    fd = data()
    kernel = 0xFFFF888000000000
    for number, rows in {
        errno.EINVAL: [
            (b"ours u32 a", at, {"length": 27}), (b"ours u32 a", at, {"length": 0}),
            (b"ours u32 a", at, {"flags": 4}), (b"ours u32 a", at, {"flags": 0x8000}),
            (b"ours u32 a", at + 2, {}), (b"ours u32 a", at + 4, {"size": 8}),
            (b"ours u32 a", at, {"bit": 32}), (b"ours u32 a", at, {"bit": 64, "size": 8}),
            (b"ours u32 a", at, {"size": 1}), (b"ours u32 a", at, {"size": 16}),
            (b"ours:flag u32 a", at, {}), (b"ours u32", at, {}), (b"ours u32 a 4", at, {}),
            (b"ours long a", at, {}), (b"ours char[] a", at, {}), (b"ours char[1025] a", at, {}),
            (b"ours struct a b", at, {}), (b"ours u8 a; u32", at, {}), (b"ours struct a b 0", at, {}),
            (b"o" * 512, at, {}),
        ],
        errno.E2BIG: [
            (b"ours u32 a", at, {"length": 4097}), (b"ours u32 a", at, {"length": 32, "tail": b"\0\0\1\0"}),
        ],
        # Where no program has memory, the definition is not looked at, and nothing is made that would stay.
        errno.EFAULT: [
            (b"ours u32 a", kernel, {}), (8, at, {}), (b"ours:flag u32 a", 1 << 62, {}), (b"ours u32 a", 1 << 62, {"flags": PERSIST}),
        ],
    }.items():
        for definition, where, rest in rows:
            check(f"{definition} {rest}: {errno.errorcode[number]}",
                  fails(number, lambda: register(fd, definition, where, **rest)))
    if OURS:
        for name in (b"", b".", b"..", b"a/b", b"a\tb"):
            check(f"the name {name}", fails(errno.EINVAL, register, fd, name + b" u32 a", at))
    check("no such ioctl", fails(errno.ENOTTY, ioctl, fd, 0x2A03, 0))
    check("a request that is not there", fails(errno.EFAULT, ioctl, fd, REG, 8))
    check("a deletion of nothing", fails(errno.ENOENT, delete, fd, b"ours"))
    for rest in ({"length": 15}, {"reserved": 1}):
        check(f"unregister {rest}", fails(errno.EINVAL, lambda: unregister(fd, at, **rest)))
    check("a bit that is no event's", fails(errno.ENOENT, unregister, fd, at))
    check("nothing is left", active([]) and word(at) == 0)
    # An event whose bit cannot be written is the file's until that is closed.
    check("no memory there", fails(errno.EFAULT if OURS else errno.ENOMEM, register, fd, b"ours u32 a", at + 16 * PAGE))
    os.close(fd)
    until("it goes with the file", lambda: active([]))


def writes(at):
    """What is written, and what is refused."""
    fd = data()
    check("the first is 0", register(fd, b"ours u32 id; __rel_loc char[] text", at, bit=3) == 0)
    check("the next is 1", register(fd, b"other", at, bit=4, length=32, tail=b"\0" * 4) == 1)
    check("the first again", register(fd, b"ours u32 id;__rel_loc char[] text;", at + 8, size=8, bit=40) == 0)
    check("the bit is used", fails(errno.EADDRINUSE, lambda: register(fd, b"third", at, bit=3)))
    check("other fields", fails(errno.EADDRINUSE, lambda: register(fd, b"ours u32 id", at, bit=5)))
    good = struct.pack("=IIHH", 0, 7, 0, 5) + b"text\0"
    check("nobody wants it", fails(errno.EBADF, os.write, fd, good))
    check("status", read("user_events_status").endswith("\n\nActive: 2\nBusy: 0\n"))
    os.mkdir("instances/user-events")
    enable(True, at="instances/user-events")
    check("its bits", (word(at), word(at + 8), word(at + 12)) == (8, 0, 1 << 8))
    enable(True)
    check("status", "ours # Used by ftrace\n" in read("user_events_status")
          and read("user_events_status").endswith("\n\nActive: 2\nBusy: 1\n"))
    for number, content in {
        errno.EFAULT: [b"", b"\0", struct.pack("=IIHH", 0, 7, 0, 6) + b"text\0", good[:-1] + b"x"],
        errno.EINVAL: [b"\xff" * 4, good[:8]], errno.ENOENT: [b"\2\0\0\0"], errno.EBADF: [b"\1\0\0\0"],
    }.items():
        for bad in content:
            check(f"write {bad}: {errno.errorcode[number]}", fails(number, os.write, fd, bad) or
                  bad == b"" and os.write(fd, bad) == 0)
    check("memory that is not there", fails(errno.EFAULT, raw_write, fd, 16, 16))
    # Half of it is there.
    check("half of it", fails(errno.EFAULT, raw_write, fd, at + PAGE - 8, 16))
    size = 2 << 20
    large = LIBC.mmap(None, size, 3, 0x22, -1, 0)
    LIBC.mprotect(large + size // 2, size // 2, 0)
    check("half of more than any entry", fails(errno.EFAULT, raw_write, fd, large, size))
    LIBC.munmap(large, size)
    check("at a place", fails(errno.EFAULT, os.pwrite, fd, good, 1))
    put("events/user_events/ours/filter", b"id == 8")
    check("a write", os.write(fd, good) == len(good))
    check("in pieces", os.writev(fd, [good[:2], good[2:9], good[9:]]) == len(good))
    long = struct.pack("=IIHH", 0, 8, 0, 1000) + b"x" * 999 + b"\0"
    check("a long one", os.write(fd, long) == len(long))
    check("longer than any entry", os.write(fd, long + b"x" * 3000000) == len(long) + 3000000)
    lines = [line for line in read("instances/user-events/trace").splitlines() if " ours: " in line]
    check(f"three entries: {lines}", len(lines) == 3 and
          all(": ours: id=0x7 (7) text=text" in line for line in lines[:2]))
    lines = [line for line in read("trace").splitlines() if " ours: " in line]
    check(f"filtered: {lines}", len(lines) == 1 and "id=0x8 (8)" in lines[0])
    check("format", '\toffset:12;\tsize:4;\tsigned:1;\n\nprint fmt: "id=%u text=%s", REC->id, __get_rel_str(text)\n'
          in read("events/user_events/ours/format"))
    check("it is used", fails(errno.EBUSY, delete, fd, b"ours"))
    check("it is used", fails(errno.EBUSY, define, b"-:ours u32 id; __rel_loc char[] text"))
    check("nothing is cleared", fails(errno.EBUSY, lambda: open("dynamic_events", "w").close()))
    check("shown", "u:ours u32 id; __rel_loc char[] text\nu:other\n" in read("dynamic_events"))
    put("events/user_events/ours/filter", b"0")
    enable(False)
    check("an instance wants it", word(at) == 8)
    unregister(fd, at, bit=3)
    check("cleared", word(at) == 0)
    # The file holds it; then the instance does.
    os.close(fd)
    unregister_all = data()
    unregister(unregister_all, at, bit=4)
    unregister(unregister_all, at + 8, bit=40)
    check("the other word", word(at + 12) == 0)
    until("only what is enabled is left", lambda: active(["ours # Used by ftrace"]))
    enable(False, at="instances/user-events")
    until("none is left", lambda: active([]))
    os.close(unregister_all)
    os.rmdir("instances/user-events")


def persistent(at):
    """Events that stay, those of one name, and how many there may be."""
    define(b"u:stays u32 a; struct thing b 20")
    check("shown", "u:stays u32 a; struct thing b 20\n" in read("dynamic_events"))
    check("other fields", fails(errno.EADDRINUSE, define, b"u:stays u32 b"))
    define(b"u:stays u32 a;struct thing b 20")
    check("no such fields", fails(errno.ENOENT, define, b"-:stays"))
    define(b"-:user_events/stays u32 a; struct thing b 20")
    check("gone", active([]))
    fd = data()
    register(fd, b"many u32 a", at, flags=MULTI)
    register(fd, b"many u64 a", at, bit=1, flags=MULTI | PERSIST)
    check("the same", register(fd, b"many u64 a", at, bit=2, flags=MULTI) == 1)
    names = listed()
    check("two of a name", len(names) == 2 and all(name.startswith("many.") for name in names))
    number = int(names[1].split(".")[1], 16)
    check("in order", names == [f"many.{number - 1:x}", f"many.{number:x}"] or not OURS)
    enable(True, name=f"many.{number:x}", system="user_events_multi")
    enable(False, name=f"many.{number:x}", system="user_events_multi")
    for bit in range(3):
        unregister(fd, at, bit=bit)
    os.close(fd)
    until("one stays", lambda: len(listed()) == 1)
    fd = data()
    delete(fd, b"many")
    check("none is left", active([]))
    newest_first(at)
    was = read("/proc/sys/kernel/user_events_max")
    put("/proc/sys/kernel/user_events_max", b"1")
    register(fd, b"first", at)
    check("no more", fails(errno.EMFILE, lambda: register(fd, b"second", at, bit=1)))
    put("/proc/sys/kernel/user_events_max", was.encode())
    unregister(fd, at)
    os.close(fd)
    until("none is left", lambda: active([]))


def newest_first(at):
    """Those of one name are removed from the newest on, up to one that is used."""
    for used in range(3):
        fds = [data(), data()]
        for number in range(3):
            fd = fds[number == used]
            register(fd, f"many u32 a{number}".encode(), at, bit=number, flags=MULTI | PERSIST)
            unregister(fd, at, bit=number)
        os.close(fds[0])
        time.sleep(0.5)  # C gives back what a bit held after a while.
        names = sorted(listed(), key=lambda name: int(name.split(".")[1], 16))
        check(f"three of a name: {names}", len(names) == 3)
        check("one is used", fails(errno.EBUSY, delete, fds[1], b"many"))
        check(f"older ones stay, and the used one: {used} of {names}, {listed()}", active(names[:used + 1]))
        os.close(fds[1])
        fd = data()
        delete(fd, b"many")
        check("none is left", active([]))
        os.close(fd)


def without_locks(at):
    """Memory that a program's group has to have free is made so without the locks that others wait for."""
    def traced():
        own = data()

        def registers(numbers):
            for number in numbers:
                register(own, f"locks{number} u32 a; u8 b".encode(), at, bit=number, size=8, flags=number % 2 * MULTI)

        # The file has room for 56 then.
        registers(range(25))
        for name in ("set_ftrace_pid", "set_event_pid"):
            put(name, str(os.getpid()).encode())
        put("set_ftrace_filter", b"mutex_*lock*")
        put("trace", b"")
        put("current_tracer", b"function")
        enable(True, "kmalloc", "kmem")
        registers(range(25, 55))
        put("trace_marker", b"forks")
        os.waitpid(child(lambda: 0), 0)
        put("tracing_on", b"0")

    check("traced", status(child(traced), 60) == 0)
    lines = read("trace").splitlines()
    enable(False, "kmalloc", "kmem")
    put("current_tracer", b"nop")
    for name in ("set_ftrace_filter", "set_ftrace_pid", "set_event_pid"):
        put(name, b"\n")
    # In C others wait for a lock of registrations, and none for a fork.
    held, may_hold, locks, forks, seen = 0, int(not OURS), 0, 0, [0, 0]
    for line in lines:
        if ": mutex_lock " in line or ": mutex_lock_nested " in line:  # the second one with lockdep
            held, locks = held + 1, locks + 1
        elif ": mutex_unlock " in line:
            held = max(held - 1, 0)
        elif "tracing_mark_write: forks" in line:
            held, may_hold, forks = 0, 0, 1
        elif " kmalloc: " in line and ("GFP_KERNEL_ACCOUNT" in line or "GFP_KERNEL|__GFP_ACCOUNT" in line):
            seen[forks] += 1
            check(f"{held} locks: {line}", held <= may_hold)
    put("trace", b"")
    put("tracing_on", b"1")
    check(f"{locks} locks, charged {seen}", locks > 60 and seen[0] > 100 and seen[1] > 0)
    until("none is left", lambda: active([]))


def processes(at):
    """Children have the bits, too; the dead have none."""
    fd = data()
    register(fd, b"ours", at)
    reader, writer = os.pipe()

    def follows():
        ctypes.c_uint32.from_address(at).value = 0
        os.write(writer, b"x")
        until("the child's bit", lambda: word(at) == 1)
        os.write(writer, b"x")
        until("the child's bit", lambda: word(at) == 0)
        unregister(fd, at)
        os.write(writer, b"x")
        time.sleep(0.5)
        return word(at)

    pid = child(follows)
    os.read(reader, 1)
    enable(True)
    os.read(reader, 1)
    enable(False)
    os.read(reader, 1)
    # The child has given its bit back, the parent has not.
    enable(True)
    check("the parent's", word(at) == 1)
    check("the child's", status(pid) == 0)
    enable(False)
    # Children are made and die while the event changes, and what they had is right.
    switcher = child(lambda: [enable(on % 2 == 0) for on in range(100)] and 0)
    pids = []
    for turn in range(60):
        pids.append(child(lambda: time.sleep(60) if turn % 3 == 0 else os.kill(os.getpid(), signal.SIGKILL)))
    check("switched", status(switcher, 120) == 0)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def copies_state():
        state = word(at)
        until("a state that lasts", lambda: word(at) == 0)
        return 0 if state in (0, 1) else 1

    enable(True)
    pid = child(copies_state)
    enable(False)
    check("a child that was made before the change", status(pid, 30) == 0)
    # What is executed has no bits, and none of its memory is written.
    pid = os.fork()
    if pid == 0:
        os.execvp("sleep", ["sleep", "60"])
    time.sleep(0.3)
    enable(True)
    enable(False)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    unregister(fd, at)
    os.close(fd)
    until("none is left", lambda: active([]))

    # A process that is killed while its event is enabled, by another.
    def registers():
        own = data()
        register(own, b"ours u32 a", at)
        os.write(writer, b"x")
        while True:
            if word(at):
                os.write(own, b"\0" * 8)

    pid = child(registers)
    os.read(reader, 1)
    enable(True)
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    check("killed", status(pid) == -signal.SIGKILL)
    check("enabled, it stays", active(["ours # Used by ftrace"]))
    enable(False)
    until("none is left", lambda: active([]))


def pages(_at):
    """The page of the bit goes, and comes back."""
    fd = data()
    at = page()
    register(fd, b"ours", at)
    LIBC.munmap(at, PAGE)
    enable(True)
    time.sleep(0.2)
    enable(False)
    check("the same place", page(at) == at)
    time.sleep(0.2)
    enable(True)
    until("a new page", lambda: word(at) == 1)
    # The kernel has the page come itself.
    LIBC.madvise(at, PAGE, 4)
    enable(False)
    enable(True)
    until("a page that was not there", lambda: word(at) == 1)
    LIBC.mprotect(at, PAGE, 1)
    enable(False)
    time.sleep(0.2)
    check("not to be written", word(at) == 1)
    LIBC.mprotect(at, PAGE, 3)
    enable(True)
    enable(False)
    until("to be written again", lambda: word(at) == 0)
    # It goes while the kernel has it come, again and again.
    for turn in range(50):
        enable(turn % 2 == 0)
        LIBC.madvise(at, PAGE, 4)
        if turn % 5 == 0:
            LIBC.munmap(at, PAGE)
            enable(turn % 2 != 0)
            page(at)
    enable(False)

    def dies():
        LIBC.munmap(at, PAGE)
        put("events/user_events/ours/enable", b"1")
        os.kill(os.getpid(), signal.SIGKILL)

    for _turn in range(20):
        status(child(dies))
        enable(False)
    # A page that a child gets empty, or not at all. In C the bit follows the next change.
    if OURS:
        put("events/user_events/ours/enable", b"1")
        until("enabled", lambda: word(at) == 1)
        LIBC.madvise(at, PAGE, 18)
        check("the child's empty page", true_in_child(lambda: until("its bit", lambda: word(at) == 1) is None, 30))
        LIBC.madvise(at, PAGE, 19)
        LIBC.madvise(at, PAGE, 10)
        log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(log, 0, os.SEEK_END)
        check("a child without the page", true_in_child(lambda: time.sleep(0.5) is None))
        check("nothing is said of it", fails(errno.EAGAIN, os.read, log, 8192))
        os.close(log)
        LIBC.madvise(at, PAGE, 11)
        enable(False)
    LIBC.munmap(at, PAGE)
    check("no page to clear it in", fails(errno.EFAULT, unregister, fd, at))
    check("it is no event's", fails(errno.ENOENT, unregister, fd, at))
    os.close(fd)
    until("none is left", lambda: active([]))


def entries_stay(at):
    """An event that goes leaves its entries, and those of others, until users remove an event."""
    for name in ("trace", "dynamic_events"):
        put(name, b"")
    put("trace_marker", b"a marker")
    fd = data()
    number = register(fd, b"ours u32 a", at)
    enable(True)
    os.write(fd, struct.pack("=II", number, 7))
    enable(False)
    kind = int(read("events/user_events/ours/id"))
    unregister(fd, at)
    os.close(fd)
    until("none is left", lambda: active([]))
    check("the marker stays", "a marker" in read("trace"))
    check("its own entry", f": Unknown type {kind}\n" in read("trace"))
    fd = data()
    register(fd, b"other u32 b", at)
    if OURS:
        check("no other event has the type", int(read("events/user_events/other/id")) != kind)
        check("its own entry", f": Unknown type {kind}\n" in read("trace"))
    unregister(fd, at)
    os.close(fd)
    until("none is left", lambda: active([]))
    check("the marker stays", "a marker" in read("trace"))
    check("there is none", fails(errno.ENOENT, define, b"-:ours"))
    check("all are cleared", "a marker" not in read("trace") and "Unknown" not in read("trace"))
    fd = data()
    register(fd, b"ours", at)
    check("the type is free", int(read("events/user_events/ours/id")) == kind)
    unregister(fd, at)
    os.close(fd)
    until("none is left", lambda: active([]))


def nobody_looks(at):
    """An entry whose texts have no end is refused where somebody would get it."""
    fd = data()
    register(fd, b"ours __rel_loc char[] text", at)
    bad = struct.pack("=IHH", 0, 0, 500)
    enable(True)
    check("recorded", fails(errno.EFAULT, os.write, fd, bad))
    put("tracing_on", b"0")
    check("nothing is recorded", os.write(fd, bad) == len(bad))
    put("events/user_events/ours/filter", b"common_pid == 1")
    check("the filter looks at it", fails(errno.EFAULT, os.write, fd, bad))
    put("events/user_events/ours/filter", b"0")
    enable(False)
    put("events/user_events/ours/trigger", b"traceon if common_pid == 1")
    check("a trigger looks at it", fails(errno.EFAULT, os.write, fd, bad))
    put("events/user_events/ours/trigger", b"!traceon if common_pid == 1")
    put("tracing_on", b"1")
    # Perf has it recorded where a task runs that does not write it.
    pid = child(lambda: time.sleep(60))
    attr = bytearray(struct.pack("=IIQQ", 2, 72, int(read("events/user_events/ours/id")), 1) + bytes(48))
    attr = (ctypes.c_char * 72).from_buffer(attr)
    opened = [LIBC.syscall(298, attr, task, -1, -1, 0) for task in (pid, 0)]
    check("perf's events", min(opened) >= 0)
    check("perf listens", fails(errno.EFAULT, os.write, fd, bad))
    os.close(opened[1])
    check("perf does not listen here", os.write(fd, bad) == len(bad))
    os.close(opened[0])
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    unregister(fd, at)
    os.close(fd)
    until("none is left", lambda: active([]))


def left_behind(at):
    """Events that a program leaves behind go together: nobody waits for each of them."""
    def leave(count):
        fd = data()
        for number in range(count):
            register(fd, f"left{number} u32 a".encode(), at + number // 32 * 4, bit=number % 32)
        if count > 1:
            # Some of them have been enabled, and may have entries.
            for number in range(0, count, 20):
                enable(True, name=f"left{number}")
                enable(False, name=f"left{number}")

    def seconds(count):
        check("registered", status(child(lambda: leave(count)), 120) == 0)
        begin = time.time()
        enable(True, system="sched", name="sched_switch")
        enable(False, system="sched", name="sched_switch")
        until("all are gone", lambda: active([]))
        return time.time() - begin

    one = max(seconds(1) for _turn in range(3))
    many = seconds(400)
    check(f"one in {one:.3f} s, 400 in {many:.3f} s", many < 1 + 12 * one)
    # The same for those of one name.
    fd = data()
    for number in range(100):
        register(fd, f"many u32 a{number}".encode(), at + number // 32 * 4, bit=number % 32, flags=MULTI)
    for number in range(100):
        unregister(fd, at + number // 32 * 4, bit=number % 32)
    check("they are the file's", fails(errno.EBUSY, delete, fd, b"many"))
    os.close(fd)
    until("all are gone", lambda: active([]))


def charged(at):
    """The memory of events is charged to who registers them, where the kernel counts that."""
    group = tempfile.mkdtemp()
    if LIBC.mount(b"none", group.encode(), b"cgroup2", 0, None) < 0:
        return
    try:
        if "memory" not in read(f"{group}/cgroup.controllers").split():
            return
        put(f"{group}/cgroup.subtree_control", b"+memory")
        os.mkdir(f"{group}/ours")

        def kernel():
            return next(int(line.split()[1]) for line in read(f"{group}/ours/memory.stat").splitlines()
                        if line.startswith("kernel "))

        def registers():
            put(f"{group}/ours/cgroup.procs", str(os.getpid()).encode())
            fd = data()
            before = kernel()
            fields = "; ".join(f"char[4] a_field_with_a_long_name_{number}" for number in range(12))
            for number in range(1000):
                register(fd, f"charged{number} {fields}".encode(), at + number // 32 * 4, bit=number % 32)
            print(f"1000 events: {(kernel() - before) >> 10} KiB", flush=True)
            return kernel() - before >= 1 << 21

        def opens(name):
            """What an open file costs."""
            put(f"{group}/ours/cgroup.procs", str(os.getpid()).encode())
            resource.setrlimit(resource.RLIMIT_NOFILE, (FILES + 100, FILES + 100))
            # The table of descriptors is there before.
            os.dup2(os.open("/dev/null", os.O_RDWR), FILES + 50)
            before = kernel()
            for _number in range(FILES):
                os.open(name, os.O_RDWR)
            return (kernel() - before) // FILES

        def opens_more():
            plain = opens("/dev/null")
            os.closerange(3, FILES + 60)
            cost = opens("user_events_data")
            print(f"an open file: {cost} bytes, {plain} of them as any", flush=True)
            return cost - plain >= (512 if OURS else 16)

        check("2 MiB were charged", true_in_child(registers, 120))
        until("none is left", lambda: active([]))
        check("what an open file keeps is charged", true_in_child(opens_more, 120))
        os.rmdir(f"{group}/ours")
    finally:
        LIBC.umount(group.encode())
        os.rmdir(group)


def far_fields(at):
    """A field that begins behind 64 KiB is recorded; filters, histograms and event probes of ours do not take it."""
    fd = data()
    register(fd, b"ours struct blob a 70000; u32 code", at)
    for path, line in (("filter", b"code == 7"), ("trigger", b"hist:keys=code")):
        path = f"events/user_events/ours/{path}"
        check(path, fails(errno.EINVAL, put, path, line) if OURS else put(path, line))
    if not OURS:
        put("events/user_events/ours/trigger", b"!hist:keys=code")
        put("events/user_events/ours/filter", b"0")
    check("what is near", put("events/user_events/ours/filter", b"common_pid == 7"))
    put("events/user_events/ours/filter", b"0")
    unregister(fd, at)
    os.close(fd)
    until("none is left", lambda: active([]))


def main():
    """All of it, in a page of its own, behind which is none that can be used."""
    at = LIBC.mmap(None, 64 * PAGE, 3, 0x22, -1, 0)
    LIBC.mprotect(at + PAGE, 63 * PAGE, 0)
    put("trace", b"")
    for part in (bad_requests, writes, nobody_looks, persistent, without_locks, processes, pages, entries_stay, left_behind,
                 charged, far_fields):
        print(part.__name__, flush=True)
        part(at)
    print(checks(), "checks")


main()
