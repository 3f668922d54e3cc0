# SPDX-License-Identifier: GPL-2.0
"""What trace_pipe promises, seen through system calls; runs in the tracing directory."""
import errno
import os
import re
import select
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from checks import check, checks, child, fails, put, status

LINE = re.compile(rb" {0,16}\S.*-\d+ +\[\d{3}\] [dbD.][BNLbnpl.][ZzHhs.][0-9a-f.]{2} +\d+\.\d{6}: tracing_mark_write: .*\n")


def mark(text):
    put("trace_marker", text)


def opened(path="trace_pipe", flags=os.O_NONBLOCK):
    return os.open(path, os.O_RDONLY | flags)


def one_reader():
    whole = opened()
    check("a second trace_pipe is EBUSY", fails(errno.EBUSY, opened))
    check("a CPU's beside the whole one is EBUSY", fails(errno.EBUSY, opened, "per_cpu/cpu0/trace_pipe"))
    os.close(whole)
    cpu = opened("per_cpu/cpu0/trace_pipe")
    check("the whole one beside a CPU's is EBUSY", fails(errno.EBUSY, opened))
    check("the same CPU's is EBUSY", fails(errno.EBUSY, opened, "per_cpu/cpu0/trace_pipe"))
    if os.path.isdir("per_cpu/cpu1"):
        os.close(opened("per_cpu/cpu1/trace_pipe"))
    check("the tracer stays while a pipe is open", fails(errno.EBUSY, put, "current_tracer", b"function"))
    put("current_tracer", b"nop")
    os.close(cpu)
    put("current_tracer", b"function")
    put("current_tracer", b"nop")


def consuming():
    put("trace", b"")
    pipe = opened()
    check("empty is EAGAIN", fails(errno.EAGAIN, os.read, pipe, 100))
    check("no seeking", fails(errno.ESPIPE, os.lseek, pipe, 0, os.SEEK_SET))
    for number in range(5):
        mark(b"mark %d" % number)
    text = os.read(pipe, 4096)
    check("five lines and no header", len(LINE.findall(text)) == 5 and text.count(b"\n") == 5)
    check("then empty again", fails(errno.EAGAIN, os.read, pipe, 100))
    check("trace has nothing left", b"mark" not in open("trace", "rb").read())

    mark(b"in pieces")
    pieces = b""
    while not pieces.endswith(b"\n"):
        pieces += os.read(pipe, 10)
    check("a line in pieces", LINE.fullmatch(pieces) is not None)

    for number in range(400):
        mark(b"many %d" % number)
    seen = b""
    while seen.count(b"\n") < 400:
        part = os.read(pipe, 65536)
        check("whole lines", part.endswith(b"\n") and len(part) <= 8192)
        seen += part
    check("in order", [int(n) for n in re.findall(rb"many (\d+)", seen)] == list(range(400)))
    os.close(pipe)


def unread_stays():
    put("trace", b"")
    for number in range(400):
        mark(b"stay %d" % number)
    pipe = opened()
    got = os.read(pipe, 4096).count(b"\n")
    os.close(pipe)
    left = open("trace", "rb").read().count(b": stay ")
    check(f"what was not printed stays ({got} + {left})", 400 - got - 1 <= left <= 400 - got + 1 and got > 10)


def lost():
    size = open("per_cpu/cpu0/buffer_size_kb").read().split()[0]
    os.sched_setaffinity(0, {0})
    put("buffer_size_kb", b"8")
    put("trace", b"")
    pipe = opened("per_cpu/cpu0/trace_pipe")
    mark(b"first")
    os.read(pipe, 4096)
    for number in range(1000):
        mark(b"flood %d" % number)
    text = b""
    while True:
        try:
            text += os.read(pipe, 65536)
        except BlockingIOError:
            break
    os.close(pipe)
    notice = re.findall(rb"^CPU:0 \[LOST (\d+) EVENTS\]\n", text, re.M)
    check("one notice of lost events", len(notice) == 1)
    kept = text.count(b": flood ")
    check("lost and kept are all", int(notice[0]) + kept == 1000)
    os.sched_setaffinity(0, range(os.cpu_count()))
    put("buffer_size_kb", size.encode() if int(size) > 8 else b"1408")


def waiting():
    put("trace", b"")
    put("tracing_on", b"1")

    def two_reads():
        pipe = opened(flags=0)
        first = os.read(pipe, 4096)
        second = os.read(pipe, 4096)
        return 0 if b"woken" in first and second == b"" else 1

    pid = child(two_reads)
    check("it waits while recording is on", status(pid, 0.5) is None)
    mark(b"woken")
    check("it goes on waiting", status(pid, 0.5) is None)
    put("tracing_on", b"0")
    check("it ends when recording ends", status(pid) == 0)

    def first_read():
        os.read(opened(flags=0), 4096)
        return 1

    pid = child(first_read)
    check("it waits before the first record though recording is off", status(pid, 0.5) is None)
    os.kill(pid, signal.SIGKILL)
    check("a waiting reader can be killed", status(pid) == -signal.SIGKILL)
    os.close(opened())
    put("tracing_on", b"1")


def polling():
    put("trace", b"")
    pipe = opened()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    check("nothing to read", poll.poll(100) == [])
    pid = child(lambda: time.sleep(0.3) or mark(b"polled"))
    check("readable once something is there", poll.poll(5000) == [(pipe, select.POLLIN)])
    status(pid)
    os.read(pipe, 4096)
    check("and not after it is read", poll.poll(100) == [])
    put("options/block", b"1")
    check("always readable with option block", poll.poll(100) == [(pipe, select.POLLIN)])
    put("options/block", b"0")
    os.close(pipe)


def splicing():
    put("trace", b"")
    pipe = opened()
    out, into = os.pipe()
    for number in range(3):
        mark(b"spliced %d" % number)
    count = os.splice(pipe, into, 65536)
    text = os.read(out, 65536)
    check("spliced lines", len(text) == count and len(LINE.findall(text)) == 3)
    check("and consumed them", fails(errno.EAGAIN, os.read, pipe, 100))
    for end in (pipe, out, into):
        os.close(end)


# The runner turns this on; here recording is to go on while trace is read.
put("options/pause-on-trace", b"0")
put("tracing_on", b"1")
for part in (one_reader, consuming, unread_stays, lost, waiting, polling, splicing):
    part()
print(f"{checks()} checks")
