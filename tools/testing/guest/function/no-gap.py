# SPDX-License-Identifier: GPL-2.0
"""No call is lost while what the function tracer looks at changes; runs in the tracing directory.

A task calls one traced function and writes a mark, over and over: between two marks there is one call. Arguments: the
changes to make, each as FILE=TEXT. At most one call for each change may be missing, as in C; a grace period is many."""
import os
import re
import signal
import sys
import time

LINE = re.compile(r"-(\d+) .*?: (?:tracing_mark_write: (\d+)$|\S*sys_getppid\b.* <-)")


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def work():
    mark = os.open("trace_marker", os.O_WRONLY)
    number = 0
    while True:
        number += 1
        os.getppid()
        os.write(mark, b"%d" % number)
        time.sleep(0.0005)


def main(changes):
    pid = os.fork()
    if not pid:
        work()
    time.sleep(0.3)
    for change in changes:
        path, text = change.split("=", 1)
        put(path, text.replace("PID", str(pid)))
        time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    calls, counts = 0, []
    with open("trace", encoding="ascii", errors="replace") as trace:
        for line in trace:
            found = LINE.search(line)
            if not found or int(found[1]) != pid:
                continue
            if found[2]:
                counts.append(calls)
                calls = 0
            else:
                calls += 1
    # What is before the first mark may be cut off.
    counts = counts[1:]
    wrong = [number for number, calls in enumerate(counts) if calls != 1]
    print(len(wrong), "of", len(counts), "rounds do not have one call:", [(number, counts[number]) for number in wrong[:20]])
    return 0 if len(counts) > 50 * len(changes) and len(wrong) <= len(changes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
