# SPDX-License-Identifier: GPL-2.0
"""poll.py MOST LEAST: readers on CPU 0 wait for what is written on CPU 1, whose interrupts by polls of its buffer are at MOST, and at
LEAST, so many of a hundred. The current folder is tracefs."""
import os
import select
import sys
import threading
import time

MOST, LEAST = (int(argument) for argument in sys.argv[1:])
POLLS, ROUNDS = 100, 40
RAW = "per_cpu/cpu1/trace_pipe_raw"


def mark():
    """An event of CPU 1, where the main thread is."""
    os.write(MARKER, b"mark\n")


def calls():
    """Interrupts of CPU 1 that have it call a function."""
    with open("/proc/interrupts", encoding="ascii") as file:
        return next(int(line.split()[2]) for line in file if line.lstrip().startswith("CAL:"))


def drain(file):
    try:
        while os.read(file, 65536):
            pass
    except BlockingIOError:
        pass


def interrupts():
    """What polls that find nothing cost the CPU, which is in a program meanwhile."""
    os.sched_setaffinity(0, {0})
    stop = threading.Event()

    def busy():
        os.sched_setaffinity(0, {1})
        while not stop.is_set():
            pass

    thread = threading.Thread(target=busy)
    thread.start()
    file = os.open(RAW, os.O_RDONLY | os.O_NONBLOCK)
    drain(file)
    poll = select.poll()
    poll.register(file, select.POLLIN)
    before = calls()
    for _turn in range(POLLS):
        if poll.poll(0):
            sys.exit("there is something")
    took = calls() - before
    stop.set()
    thread.join()
    os.close(file)
    print(f"{took} interrupts by {POLLS} polls")
    if not LEAST <= took <= MOST:
        sys.exit(f"{took} interrupts by {POLLS} polls, not {LEAST} to {MOST}")


class Waiter(threading.Thread):
    """Waits on CPU 0, again and again, until it is told to stop, by an event too."""

    def __init__(self, name, how):
        super().__init__(daemon=True)
        self.title = f"{how} of {name}"
        self.file = os.open(name, os.O_RDONLY | (os.O_NONBLOCK if how == "poll" else 0))
        self.how = how
        self.woken = 0
        self.stop = False

    def run(self):
        os.sched_setaffinity(0, {0})
        poll = select.poll()
        poll.register(self.file, select.POLLIN)
        while not self.stop:
            if self.how == "poll":
                # Without a timeout: at its end poll(2) looks once more, and finds what it was not woken for.
                poll.poll()
                drain(self.file)
            else:
                os.read(self.file, 65536)
            self.woken += 1


def woken(waiter):
    """Each round wakes the waiter: a poll by the second event at the latest."""
    waiter.start()
    os.sched_setaffinity(0, {1})
    for turn in range(ROUNDS):
        before = waiter.woken
        # At any moment of what the waiter does to wait.
        time.sleep(turn % 8 * 0.003)
        for wait in (2, 10):
            mark()
            end = time.monotonic() + wait
            while waiter.woken == before and time.monotonic() < end:
                time.sleep(0.001)
        if waiter.woken == before:
            sys.exit(f"{waiter.title}: not woken in round {turn}")
    waiter.stop = True
    while waiter.is_alive():
        mark()
        waiter.join(0.2)
    os.close(waiter.file)
    print(f"{waiter.title}: {waiter.woken} times woken")


MARKER = os.open("trace_marker", os.O_WRONLY)
with open("buffer_percent", "w", encoding="ascii") as FILE:
    FILE.write("0")  # any event
interrupts()
for NAME in (RAW, "trace_pipe"):
    for HOW in ("poll", "read"):
        woken(Waiter(NAME, HOW))
