# SPDX-License-Identifier: GPL-2.0
"""No call is lost while what the function tracer looks at changes; runs in the tracing directory.

A task calls one traced function and writes a mark, over and over: between two marks there is one call. Arguments: the
changes to make, each as FILE=TEXT. Another instance (instances/NAME) that is named, or of which something changes, has the marks,
too. In each at most one call for each of its own changes may be missing, as in C; a grace period is many."""
import os
import re
import signal
import sys
import time

LINE = re.compile(r"-(\d+) .*?: (?:tracing_mark_write: (\d+)$|\S*sys_getppid\b.* <-)")


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def work(folders):
    marks = [os.open(f"{folder}/trace_marker", os.O_WRONLY) for folder in folders]
    number = 0
    while True:
        number += 1
        os.getppid()
        for mark in marks:
            os.write(mark, b"%d" % number)
        time.sleep(0.0005)


def instance(argument):
    """The folder of the instance that is meant."""
    found = re.match(r"instances/\w+", argument)
    return found[0] if found else "."


def main(arguments):
    folders = sorted({".", *map(instance, arguments)})
    changes = [argument for argument in arguments if "=" in argument]
    pid = os.fork()
    if not pid:
        work(folders)
    time.sleep(0.3)
    for change in changes:
        path, text = change.split("=", 1)
        put(path, text.replace("PID", str(pid)))
        time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    own = list(map(instance, changes))
    return max(check(pid, folder, own.count(folder), len(changes)) for folder in folders)


def check(pid, folder, missing, changes):
    """Looks for the calls of a task; as many as `missing` may not be there."""
    calls, counts = 0, []
    with open(f"{folder}/trace", encoding="ascii", errors="replace") as trace:
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
    print(f"{folder}: {len(wrong)} of {len(counts)} rounds do not have one call:", [(number, counts[number]) for number in wrong[:20]])
    return 0 if len(counts) > 50 * changes and len(wrong) <= missing else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
