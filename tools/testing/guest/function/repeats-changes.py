# SPDX-License-Identifier: GPL-2.0
"""Equal calls of one task on one CPU, while the lists of pids and of functions change between them; in the tracing directory.

Prints how many calls the function tracer is to have seen."""
import os


def put(file, text):
    with open(file, "w", encoding="ascii") as control:
        control.write(text)


def calls():
    for _ in range(100):
        os.getppid()
    return 100


def calls_of_child():
    pid = os.fork()
    if not pid:
        calls()
        os._exit(0)
    os.waitpid(pid, 0)


def main():
    both = "*_sys_getppid *_sys_getuid"
    me = str(os.getpid())
    put("set_ftrace_pid", me)
    put("trace", "")
    seen = calls()
    # A list goes and comes: between the two, the task is traced as well.
    put("set_ftrace_pid", me)
    seen += calls()
    calls_of_child()
    seen += calls()
    put("set_ftrace_notrace_pid", me)
    calls()
    put("set_ftrace_notrace_pid", "")
    seen += calls()
    # The function goes from the filter and comes back.
    put("set_ftrace_filter", "*_sys_getuid")
    calls()
    put("set_ftrace_filter", both)
    seen += calls()
    os.getuid()
    put("set_ftrace_pid", "1")
    calls()
    os.getuid()
    put("set_ftrace_pid", me)
    seen += calls()
    os.getuid()
    put("set_ftrace_pid", "")
    print(seen)


main()
