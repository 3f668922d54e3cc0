# SPDX-License-Identifier: GPL-2.0
"""What trace_pipe_raw promises, seen through system calls; runs in the tracing directory."""
import ctypes
import errno
import fcntl
import mmap
import os
import select
import signal
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from checks import check, checks, child, fails, put, status
from pages import PAGE, Page, marks

RAW = "per_cpu/cpu0/trace_pipe_raw"
GET_READER = 0x5220
LONG = 1000
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)


def get(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def mark(number, length=16):
    put("trace_marker", (b"%08d" % number).ljust(length, b"."))


def opened(flags=os.O_NONBLOCK, path=RAW):
    return os.open(path, os.O_RDONLY | flags)


def drain(fd):
    """All pages there are."""
    pages = []
    while True:
        try:
            data = os.read(fd, 1 << 20)
        except BlockingIOError:
            return pages
        if not data:
            return pages
        pages.append(data)


def numbers(pages):
    return [int(text[:8]) for data in pages for text in marks(Page(data))]


def reading():
    put("trace", b"")
    fd = opened()
    check("an empty buffer is EAGAIN", fails(errno.EAGAIN, os.read, fd, PAGE))
    check("reading nothing gives nothing", os.read(fd, 0) == b"")
    check("lseek is ESPIPE", fails(errno.ESPIPE, os.lseek, fd, 0, 0))
    check("pread is ESPIPE", fails(errno.ESPIPE, os.pread, fd, 1, 0))
    for n in range(100):
        mark(n)
    parts = [os.read(fd, 200), os.read(fd, 200), os.read(fd, 2 * PAGE)]
    check("a page in parts: 200, 200, the rest", [len(part) for part in parts] == [200, 200, PAGE - 400])
    page = Page(b"".join(parts))
    # The room of the first read limits the events.
    check("short reads copy what fits", 0 < page.length <= 200 - 16)
    check("nothing old behind the records", not any(page.tail))
    rest = drain(fd)
    check("each event once, in order", numbers([b"".join(parts)] + rest) == list(range(100)))
    times = [t for data in [b"".join(parts)] + rest for t, _ in Page(data).events]
    check("times in order", times == sorted(times))
    mark(1)
    check("too short for any event gives nothing", os.read(fd, 20) == b"")
    check("and the event is still there", numbers(drain(fd)) == [1])
    os.close(fd)


def several():
    """Many readers on one CPU: each event goes to one."""
    put("trace", b"")
    fds = [opened() for _ in range(5)]
    check("the tracer stays while one is open", fails(errno.EBUSY, put, "current_tracer", b"function"))
    seen = []
    for n in range(60):
        mark(n, LONG)
        for fd in fds:
            if (n + fd) % 3 == 0:
                seen += numbers(drain(fd))
    for fd in fds:
        seen += numbers(drain(fd))
    check("many readers: each event once", sorted(seen) == list(range(60)))
    for fd in fds:
        os.close(fd)
    put("current_tracer", b"function")
    put("current_tracer", b"nop")


def splice(fd, pipe, length, flags=os.SPLICE_F_NONBLOCK):
    return os.splice(fd, pipe, length, flags=flags)


def splicing():
    put("trace", b"")
    fd = opened()
    out, into = os.pipe()
    check("nothing to splice is EAGAIN", fails(errno.EAGAIN, splice, fd, into, PAGE))
    mark(0)
    check("less than a page is EINVAL", fails(errno.EINVAL, splice, fd, into, PAGE - 1))
    check("a page that is being written is EAGAIN", fails(errno.EAGAIN, splice, fd, into, PAGE))
    for n in range(1, 40):
        mark(n, LONG)
    moved = splice(fd, into, 3 * PAGE)
    check("three pages", moved == 3 * PAGE)
    pages = [os.read(out, PAGE) for _ in range(3)]
    moved = splice(fd, into, 16 * PAGE)
    check("the other full pages", moved > 0 and moved % PAGE == 0)
    pages += [os.read(out, PAGE) for _ in range(moved // PAGE)]
    check("the rest is EAGAIN", fails(errno.EAGAIN, splice, fd, into, PAGE))
    pages += drain(fd)
    check("splice and read: each event once, in order", numbers(pages) == list(range(40)))
    check("an odd position is EINVAL", position_is_odd(fd, into))
    os.close(fd)

    # A pipe's reader that is gone; a pipe that goes with pages in it; a tee of them.
    fd = opened()
    for n in range(40):
        mark(n, LONG)
    splice(fd, into, 2 * PAGE)
    os.close(out)
    os.close(into)
    out, into = os.pipe()
    out2, into2 = os.pipe()
    splice(fd, into, PAGE)
    check("tee", tee(out, into2, PAGE) == PAGE)
    first, second = os.read(out, PAGE), os.read(out2, PAGE)
    check("both pipes have the page", first == second and numbers([first]))
    os.close(out)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    check("no reader is EPIPE", fails(errno.EPIPE, splice, fd, into, PAGE))
    for end in (fd, into, out2, into2):
        os.close(end)


def tee(source, target, length):
    return LIBC.tee(source, target, ctypes.c_size_t(length), 0)


class Map:
    """A mapping. Python's own module wants files to have a size."""

    def __init__(self, fd, length, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ, offset=0):
        self.address = LIBC.mmap(None, length, prot, flags, fd, offset)
        self.length = length
        if self.address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "mmap")

    def __getitem__(self, part):
        return ctypes.string_at(self.address + part.start, part.stop - part.start)

    def close(self):
        LIBC.munmap(ctypes.c_void_p(self.address), ctypes.c_size_t(self.length))


def position_is_odd(fd, into):
    mark(0)
    for n in range(20):
        mark(n, LONG)
    check("100 bytes of a page", len(os.read(fd, 100)) == 100)
    return fails(errno.EINVAL, splice, fd, into, PAGE)


def lost():
    put("buffer_size_kb", b"16")
    put("trace", b"")
    fd = opened()
    for n in range(200):
        mark(n, LONG)
    pages = [Page(data) for data in drain(fd)]
    seen = [int(text[:8]) for page in pages for text in marks(page)]
    check("the newest are there", seen == list(range(200 - len(seen), 200)))
    check("the first page says that some were lost", pages[0].lost_some and not any(page.lost_some for page in pages[1:]))
    check("and how many, if there is room", pages[0].lost in (None, 200 - len(seen)))
    stats = dict(line.split(": ") for line in get("per_cpu/cpu0/stats").splitlines())
    check("overrun and read add up", int(stats["overrun"]) == 200 - len(seen) and int(stats["read events"]) == len(seen))
    os.close(fd)
    put("buffer_size_kb", b"1410")


def waiting():
    put("trace", b"")

    def read_one():
        return 0 if numbers([os.read(opened(0), PAGE)]) == [7] else 2

    pid = child(read_one)
    time.sleep(2)
    check("a reader waits", status(pid, 0.1) is None)
    mark(7)
    check("an event wakes it", status(pid) == 0)

    pid = child(read_one)
    time.sleep(2)
    os.kill(pid, signal.SIGKILL)
    check("a waiting reader can be killed", status(pid) == -signal.SIGKILL)
    put("current_tracer", b"nop")

    fd = opened(0)
    pid = child(lambda: 0 if os.read(fd, PAGE) == b"" else 2)
    time.sleep(2)
    fcntl.ioctl(fd, 0)
    # It looks again and waits on.
    check("ioctl 0 wakes, and reads go on", status(pid, 1) is None)
    os.close(fd)
    check("closing ends a waiting read", status(pid) == 0)

    for name, wake in ("ioctl 0", lambda fd: fcntl.ioctl(fd, 0)), ("a close", lambda fd: os.close(os.dup(fd))):
        fd = opened(0)
        pid = child(lambda: 0 if fails(errno.ENODEV, fcntl.ioctl, fd, GET_READER) else 2)
        time.sleep(2)
        check("GET_READER waits", status(pid, 0.1) is None)
        wake(fd)
        check(f"{name} ends its wait", status(pid) == 0)
        os.close(fd)

    check("other ioctls are ENOTTY", fails(errno.ENOTTY, fcntl.ioctl, opened(), 0x1234))
    check("no mapping: ENODEV", fails(errno.ENODEV, fcntl.ioctl, opened(), GET_READER))


def percent():
    check("buffer_percent is 50", get("buffer_percent") == "50\n")
    check("101 is too much", fails(errno.EINVAL, put, "buffer_percent", b"101"))
    put("buffer_size_kb", b"100")
    put("trace", b"")
    fd = opened(0)
    out, into = os.pipe()
    pid = child(lambda: 0 if os.splice(fd, into, 16 * PAGE) >= PAGE else 2)
    time.sleep(2)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    n = 0
    while n < 30:
        mark(n, LONG)
        n += 1
    time.sleep(0.3)
    check("seven pages of 26 are not half: a splice waits", status(pid, 0.1) is None)
    check("and so does poll", poll.poll(0) == [])
    while n < 70:
        mark(n, LONG)
        n += 1
    check("seventeen are: the splice goes on", status(pid) == 0)
    put("buffer_percent", b"0")
    check("poll at 0 percent: any event", poll.poll(1000) == [(fd, select.POLLIN)])
    drain(opened())
    check("poll of nothing", poll.poll(0) == [])
    pid = child(lambda: 0 if poll.poll(60000) else 2)
    time.sleep(2)
    mark(1)
    check("an event wakes poll", status(pid) == 0)
    put("buffer_percent", b"50")
    put("options/block", b"1")
    drain(opened())
    check("option block: always readable", poll.poll(0) == [(fd, select.POLLIN)])
    put("options/block", b"0")
    for end in (fd, out, into):
        os.close(end)
    put("buffer_size_kb", b"1410")


def sizes():
    check("buffer_subbuf_size_kb is 4", get("buffer_subbuf_size_kb") == "4\n")
    for bad in (b"0", b"513", b"-1", b"x"):
        check(f"{bad} is EINVAL", fails(errno.EINVAL, put, "buffer_subbuf_size_kb", bad))
    mark(1)
    put("buffer_subbuf_size_kb", b"5")
    check("5 becomes 8", get("buffer_subbuf_size_kb") == "8\n")
    check("header_page follows", "size:8176;" in get("events/header_page"))
    put("trace", b"")
    fd = opened()
    check("the data is forgotten", fails(errno.EAGAIN, os.read, fd, PAGE))
    for n in range(20):
        mark(n, 3000)
    data = os.read(fd, 1 << 20)
    check("pages of 8 KiB", len(data) == 2 * PAGE and numbers([data]) == [0, 1])
    out, into = os.pipe()
    check("4 KiB are too little to splice", fails(errno.EINVAL, splice, fd, into, PAGE))
    check("8 KiB", splice(fd, into, 2 * PAGE) == 2 * PAGE and numbers([os.read(out, 2 * PAGE)]) == [2, 3])
    put("buffer_subbuf_size_kb", b"4")
    check("back again", get("buffer_subbuf_size_kb") == "4\n")
    mark(5)
    check("a file that was open reads on", numbers(drain(fd)) == [5])
    for end in (fd, out, into):
        os.close(end)


def meta(view):
    names = ("page_size", "struct_len", "subbuf_size", "nr_subbufs", "lost", "id", "read_bytes", "flags", "entries",
             "overrun", "read", "pages_lost", "pages_touched")
    return dict(zip(names, struct.unpack("<IIIIQIIQQQQQQ", view[0:80])))


def mapping():
    put("buffer_size_kb", b"40")
    put("trace", b"")
    fd = opened()
    for what, prot, flags in (("private", mmap.PROT_READ, mmap.MAP_PRIVATE), ("executable", mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_SHARED)):
        check(f"{what} is EPERM", fails(errno.EPERM, lambda: Map(fd, PAGE, flags, prot)))
    check("writable is EACCES", fails(errno.EACCES, lambda: Map(fd, PAGE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)))
    first = Map(fd, PAGE)
    now = meta(first)
    check("the meta page", (now["page_size"], now["struct_len"], now["subbuf_size"]) == (PAGE, 80, PAGE))
    check("nothing yet", not any(now[name] for name in ("id", "read_bytes", "flags", "entries", "overrun", "read", "lost")))
    count = now["nr_subbufs"]
    whole = Map(fd, (count + 1) * PAGE)
    check("too long is EINVAL", fails(errno.EINVAL, lambda: Map(fd, (count + 2) * PAGE)))
    check("behind the end is EINVAL", fails(errno.EINVAL, lambda: Map(fd, PAGE, offset=(count + 1) * PAGE)))
    for path, text in (("snapshot", b"1"), ("buffer_subbuf_size_kb", b"8"), ("per_cpu/cpu0/buffer_size_kb", b"80")):
        check(f"{path} is EBUSY", fails(errno.EBUSY, put, path, text))
    fcntl.ioctl(fd, GET_READER)
    check("still nothing", meta(first)["id"] == 0)
    seen, shown, pages = [], {}, set()
    for n in range(30):
        mark(n, LONG)
        if n % 7 == 6:
            seen += mapped_numbers(fd, first, whole, shown, pages)
    seen += mapped_numbers(fd, first, whole, shown, pages)
    check("each event once, in order", seen == list(range(30)))
    now = meta(first)
    check("all counted and read", (now["entries"], now["overrun"], now["read"]) == (30, 0, 30))
    check("no sub-buffer outside", all(number < count for number in pages) and len(pages) > 2)
    # read(2) copies while the buffer is mapped.
    for n in range(30, 60):
        mark(n, LONG)
    reader = opened()
    check("read(2) beside the mapping", [n for n in numbers(drain(reader)) if n >= 60 - 20][-1] == 59)
    put("trace", b"")
    check("clearing clears the meta page", meta(first)["entries"] == 0)
    mark(77)
    shown.clear()
    check("and goes on", mapped_numbers(fd, first, whole, shown, pages) == [77])
    for fill in range(200):
        mark(fill, LONG)
    fcntl.ioctl(fd, GET_READER)
    check("overruns are counted", meta(first)["overrun"] > 0)
    # Who only looks at the buffer leaves the page where it is, also where all of it was read: writers must not get it.
    fcntl.ioctl(fd, GET_READER)
    lost_before = meta(first)["lost"]
    Map(fd, PAGE).close()
    check(f"another mapping leaves what was lost there: {lost_before}", meta(first)["lost"] == lost_before > 0)
    at = (meta(first)["id"] + 1) * PAGE
    page = whole[at:at + PAGE]
    get("per_cpu/cpu0/stats")
    get("trace")
    for fill in range(200):
        mark(fill, LONG)
    check("a page stays until the next ioctl", whole[at:at + PAGE] == page)
    os.close(reader)
    # libtracefs looks at the page before it asks for the next one.
    put("trace", b"")
    fcntl.ioctl(fd, GET_READER)
    mark(1)
    fcntl.ioctl(fd, GET_READER)
    for n in range(2, 5):
        mark(n)
    check("what is written to the page is there without an ioctl", [int(text[:8]) for text in marks(page_of(first, whole))] == [1, 2, 3, 4])
    for n in range(200):
        mark(n, LONG)
        fcntl.ioctl(fd, GET_READER)
    put("trace", b"")
    check("a cleared page is empty", marks(page_of(first, whole)) == [])
    # libtracefs takes it that the page changes by the ioctl only.
    moved = []
    for n in range(8):
        mark(n, LONG)
        fcntl.ioctl(fd, GET_READER)
        before = meta(first)["id"]
        put("trace", b"")
        if meta(first)["id"] != before:
            moved.append((before, meta(first)["id"]))
    check(f"clearing leaves the reader its page {moved}", not moved)
    os.close(fd)
    check("a mapping outlives the file", meta(first)["nr_subbufs"] == count)
    first.close()
    check("one mapping is left", fails(errno.EBUSY, put, "per_cpu/cpu0/buffer_size_kb", b"80"))
    whole.close()
    for n in range(10):
        mark(n)
    fd = opened()
    os.read(fd, 200)
    first = Map(fd, PAGE)
    whole = Map(fd, (meta(first)["nr_subbufs"] + 1) * PAGE)
    texts = [int(text[:8]) for text in marks(page_of(first, whole))]
    check("a page that was read in part is there whole", texts == list(range(10)) and meta(first)["read_bytes"] > 0)
    whole.close()
    first.close()
    os.close(fd)
    put("trace", b"")
    put("per_cpu/cpu0/buffer_size_kb", b"80")
    put("snapshot", b"1")
    put("snapshot", b"0")
    put("buffer_size_kb", b"1410")


def page_of(first, whole):
    """The page that the reader has, as it is."""
    at = (meta(first)["id"] + 1) * PAGE
    return Page(whole[at:at + PAGE])


def mapped_numbers(fd, first, whole, shown, pages):
    """What is new in the mapping; `shown` says how far each sub-buffer was seen at its time."""
    found = []
    while True:
        before = meta(first)
        fcntl.ioctl(fd, GET_READER)
        now = meta(first)
        at = (now["id"] + 1) * PAGE
        page = Page(whole[at:at + PAGE])
        key = (now["id"], page.time)
        texts = marks(page)
        found += [int(text[:8]) for text in texts[shown.get(key, 0):]]
        pages.add(now["id"])
        shown[key] = len(texts)
        if now["read"] == before["read"]:
            return found


def snapshot():
    put("trace", b"")
    put("snapshot", b"1")
    put("snapshot", b"2")
    put("trace", b"")
    for n in range(10):
        mark(n, LONG)
    put("snapshot", b"1")
    fd = opened(path="per_cpu/cpu0/snapshot_raw")
    check("the snapshot's pages", numbers(drain(fd)) == list(range(10)))
    check("it cannot be mapped", fails(errno.ENODEV, lambda: Map(fd, PAGE)))
    check("it has no ioctl", fails(errno.ENOTTY, fcntl.ioctl, fd, GET_READER))
    os.close(fd)
    put("snapshot", b"0")


os.sched_setaffinity(0, {0})
put("current_tracer", b"nop")
put("options/pause-on-trace", b"0")
put("tracing_on", b"1")
put("buffer_size_kb", b"1410")
for part in (reading, several, splicing, lost, waiting, percent, sizes, mapping, snapshot):
    part()
    print(f"{part.__name__}: {checks()} checks so far", flush=True)
put("trace", b"")
