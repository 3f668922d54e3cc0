#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Events of returns that are switched and removed while calls are under way, in several instances. Passes on the C kernel, too."""
import errno
import itertools
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from checks import check, checks, child, fails, put, status  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS") or 30)
SLEEPS = "do_nanosleep"
OFTEN = "ksys_read"
NODES = "/proc/vmallocinfo"
WAYS = ("disable", "one", "again", "remove", "kill", "instance")


def define(text):
    """A line of dynamic_events."""
    # Python's own files ask where the end is, which C refuses here.
    file = os.open("dynamic_events", os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def switch(event, on, where="."):
    put(f"{where}/events/gone/{event}/enable", b"1" if on else b"0")


def entries(where, text):
    """Lines with a text, of the first ones: a trace that is written all the time need not end."""
    with open(f"{where}/trace", encoding="ascii", errors="replace") as file:
        return sum(text in line for line in itertools.islice(file, 5000))


def nodes():
    """How much memory kretprobes have for calls under way, where the kernel tells."""
    if not os.access(NODES, os.R_OK):
        return 0
    with open(NODES, encoding="ascii", errors="replace") as file:
        return sum(" rethook_alloc+" in line for line in file)


def sleeper():
    """A task in the function that sleeps, for a second or until it is killed."""
    pid = child(lambda: time.sleep(1))
    for _turn in range(200):
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            # nanosleep(2), clock_nanosleep(2)
            if file.read().split()[0] in ("35", "230"):
                return pid
        time.sleep(0.01)
    check("the task sleeps", False)
    return None


def sleeping(way):
    """An event is switched, or goes, while a task is in the function; then the task returns."""
    define(f"r:gone/slept {SLEEPS} ret=$retval\n")
    for where in (".", "instances/gone1", "instances/gone2"):
        put(f"{where}/trace", b"")
        switch("slept", True, where)
    pid = sleeper()
    mine = f"-{pid} "
    expected = {".": 1, "instances/gone1": 1, "instances/gone2": 1}
    if way == "disable":
        for where in expected:
            switch("slept", False, where)
        expected = dict.fromkeys(expected, 0)
    elif way == "one":
        switch("slept", False, "instances/gone1")
        expected["instances/gone1"] = 0
    elif way == "again":
        for on in (False, True):
            for where in expected:
                switch("slept", on, where)
    elif way == "remove":
        for where in expected:
            switch("slept", False, where)
        define("-:gone/slept\n")
        expected = {}
    elif way == "kill":
        os.kill(pid, signal.SIGKILL)
    elif way == "instance":
        os.rmdir("instances/gone2")
        del expected["instances/gone2"]
    check(f"{way}: the task ends", status(pid) == (-signal.SIGKILL if way == "kill" else 0))
    for where, count in expected.items():
        found = entries(where, mine)
        check(f"{way}: {found} returns in {where}", found == count)
    if way == "instance":
        os.mkdir("instances/gone2")
    if way != "remove":
        for where in (".", "instances/gone1", "instances/gone2"):
            switch("slept", False, where)
        define("-:gone/slept\n")


def reads():
    """Calls of the function on the last CPU, until the task is killed."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    zeros = os.open("/dev/zero", os.O_RDONLY)
    while True:
        if os.read(zeros, 4) != bytes(4):
            return 1


def often():
    """Events of a function that is called all the time on another CPU come, are switched and go."""
    pid = child(reads)
    seen = 0
    for turn in range(ROUNDS):
        # One node, or some; the name is the same each time.
        define(f"r{'1' if turn % 2 else ''}:gone/read {OFTEN} ret=$retval:s64\n")
        places = [".", "instances/gone1", "instances/gone2"][:1 + turn % 3]
        for where in places:
            switch("read", True, where)
        if turn % 4 == 3:
            switch("read", False, places[-1])
            switch("read", True, places[0])
        check("it is in use", fails(errno.EBUSY, define, "-:gone/read\n"))
        if turn % 10 == 0:
            for _wait in range(100):
                if entries(places[0], "ret=4"):
                    break
                time.sleep(0.05)
            check("returns are recorded", entries(places[0], "ret=4") > 0)
            seen += 1
        for where in places:
            switch("read", False, where)
        define("-:gone/read\n")
        if turn % 10 == 0:
            for where in places:
                put(f"{where}/trace", b"")
    check("the calls went on", status(pid, 0.1) is None)
    os.kill(pid, signal.SIGKILL)
    check("they were right", status(pid) == -signal.SIGKILL)


def main():
    """All of it; no memory stays."""
    os.mkdir("instances/gone1")
    os.mkdir("instances/gone2")
    before = nodes()
    define(f"r:gone/slept {SLEEPS}\n")
    switch("slept", True)
    check("the kernel tells of nodes", not os.access(NODES, os.R_OK) or nodes() > before)
    switch("slept", False)
    define("-:gone/slept\n")
    for way in WAYS:
        sleeping(way)
    often()
    os.rmdir("instances/gone1")
    os.rmdir("instances/gone2")
    for _wait in range(50):
        if nodes() == before:
            break
        time.sleep(0.2)
    check(f"nodes stay: {nodes()}, before {before}", nodes() == before)
    print(checks(), "checks")


main()
