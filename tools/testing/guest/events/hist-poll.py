# SPDX-License-Identifier: GPL-2.0
"""What poll() of a hist file says after hits, readings and clearing, and who wakes a sleeper. Passes on the C kernel, but for OURS."""
import os
import re
import select
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from checks import check, child, put, status  # noqa: E402

EVENT = "events/sched/sched_process_fork"
FILTER = f"if parent_pid == {os.getpid()}"
NEWS, READABLE, NOTHING = select.POLLIN | select.POLLPRI | select.POLLRDNORM, select.POLLIN | select.POLLRDNORM, 0
with open("/proc/kallsyms", encoding="utf-8") as symbols:
    OURS = "rtrace_dynamic_reg" in symbols.read()


def trigger(text):
    with open(f"{EVENT}/trigger", "ab", buffering=0) as file:
        file.write(f"{text} {FILTER}".encode())


def hit():
    check("a child", status(child(lambda: 0)) == 0)


class Hist:
    """An open file of it."""

    def __init__(self):
        self.hits = 0
        self.fd = os.open(f"{EVENT}/hist", os.O_RDONLY)
        self.poller = select.poll()
        self.poller.register(self.fd, NEWS)

    def poll(self, seconds=0):
        found = self.poller.poll(seconds * 1000)
        return found[0][1] if found else NOTHING

    def read(self):
        os.lseek(self.fd, 0, os.SEEK_SET)
        text = b""
        while part := os.read(self.fd, 65536):
            text += part
        self.hits = sum(map(int, re.findall(rb"Hits: (\d+)", text)))


trigger("hist:keys=parent_pid")
first, second = Hist(), Hist()
check("nothing yet", (first.poll(), second.poll()) == (NOTHING, NOTHING))
hit()
check("one hit", (first.poll(), first.poll(), second.poll()) == (NEWS, READABLE, NEWS))
first.read()
check("it was read by one", (first.poll(), second.poll()) == (NOTHING, READABLE))
hit()
hit()
check("two more", (first.poll(), second.poll()) == (NEWS, NEWS))
first.read()
late = Hist()
check("what was counted before the open can be read", late.poll() == READABLE)
trigger("hist:keys=parent_pid:clear")
check("emptied", (first.poll(), second.poll(), late.poll()) == (NEWS, select.POLLPRI, select.POLLPRI))
hit()
check("a hit after that", (first.poll(), second.poll(), late.poll()) == (NEWS, NEWS, NEWS))
first.read()
trigger("hist:keys=parent_pid:clear")
hit()
# C sees as many hits as were read.
check("as many hits as before", first.poll() == (NEWS if OURS else NOTHING))
first.read()

# So it is with another table in the place of one.
trigger("!hist:keys=parent_pid")
trigger("hist:keys=parent_pid,child_pid")
hit()
check("the first hit of another table", first.poll() == (NEWS if OURS else NOTHING))
first.read()
trigger("!hist:keys=parent_pid,child_pid")
trigger("hist:keys=parent_pid")


class Hits(threading.Thread):
    """Hits that come while somebody looks."""

    def run(self):
        for _number in range(20):
            hit()


# What comes while the text is made is in the text, or poll tells of it.
for _round in range(10):
    hits = Hits()
    hits.start()
    while hits.is_alive():
        first.read()
        shown = first.hits
        known = first.poll() & select.POLLIN
    hits.join()
    last = first.poll() & select.POLLIN
    first.read()
    check(f"{first.hits - shown} hits are told: {known} {last}", first.hits == shown or known or last)

# A sleeper is woken by the first hit of a table that came after it fell asleep.
trigger("hist:keys=parent_pid:pause")
woken = []


def sleep():
    begun = time.monotonic()
    woken.append((first.poll(60), time.monotonic() - begun))


sleeper = threading.Thread(target=sleep)
sleeper.start()
time.sleep(1)
trigger("hist:keys=child_comm")
hit()
sleeper.join()
check(f"woken: {woken}", woken[0][0] == NEWS and woken[0][1] < 50)
trigger("!hist:keys=child_comm")
trigger("!hist:keys=parent_pid")
put("trace", b"")
