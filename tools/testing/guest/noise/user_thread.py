#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Programs that wait for the timer of timerlat, in the place of its threads. In the folder of tracefs; exits 1 if one was
treated wrongly."""
import errno
import os
import signal
import sys
import time

FILE = "osnoise/per_cpu/cpu%d/timerlat_fd"


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def read(name):
    with open(name) as file:
        return file.read()


def wrong(what):
    sys.exit(f"wrong: {what}")


def refused(cpu, number, what):
    try:
        os.close(os.open(FILE % cpu, os.O_RDONLY))
    except OSError as error:
        if error.errno != number:
            wrong(f"{what}: {error}")
        return
    wrong(f"{what}: opened")


def child(work):
    """Runs `work` in a process; gives its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(work() or 0)
        except OSError as error:
            print(f"in a process: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    return pid


def end_of(pid, seconds=30):
    """How a process ended, in time."""
    for _ in range(seconds * 10):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    wrong("a process hangs")


def reader(cpu=1, first=lambda: None):
    """Waits for the timer of a CPU, until it is killed. Gives its pid once it is there. `first` runs there, with the file open."""
    ready = os.pipe()

    def waits():
        os.sched_setaffinity(0, {cpu})
        fd = os.open(FILE % cpu, os.O_RDONLY)
        first()
        os.write(ready[1], b"1")
        while True:
            os.read(fd, 1)

    pid = child(waits)
    os.close(ready[1])
    if os.read(ready[0], 1) != b"1":
        wrong("a process did not get the timer")
    os.close(ready[0])
    return pid


def wait_for(text, seconds=30):
    for _ in range(seconds * 5):
        if text in read("trace"):
            return
        time.sleep(0.2)
    wrong(f"no {text!r}:\n{read('trace')[-2000:]}")


def killed(pid, why):
    status = end_of(pid)
    if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
        wrong(f"{why}, and the process ended with {status}")


def samples():
    return [line for line in read("trace").splitlines() if "timer_latency" in line and not line.startswith("#")]


def while_paused():
    """Programs that come while nothing is recorded."""
    while time.monotonic() < 30:
        time.sleep(1)
    write("osnoise/timerlat_period_us", "1000000")
    write("current_tracer", "timerlat")
    write("tracing_on", "0")
    pid = reader()
    time.sleep(0.2)
    start = time.monotonic()
    write("tracing_on", "1")
    wait_for("[001] d.h")
    wait_for("context thread")
    most = time.monotonic() - start + 2
    for line in samples():
        if int(line.split()[-2]) > most * 1e9:
            wrong(f"so late, after {most} s: {line}")
    write("tracing_on", "0")
    killed(pid, "nothing is recorded")
    pid = reader()
    write("osnoise/options", "DEFAULTS")
    killed(pid, "there are to be threads")
    write("osnoise/options", "NO_OSNOISE_WORKLOAD")
    pid = reader()
    write("current_tracer", "nop")
    killed(pid, "the tracer has gone")
    write("tracing_on", "1")
    write("osnoise/timerlat_period_us", "5000")


def of_before():
    """The timer of a program that was killed, and whose file another one has open still."""
    keepers = os.pipe()

    def keeper():
        pid = os.fork()
        if pid == 0:
            # Until the end of this.
            os.close(keepers[1])
            os.read(keepers[0], 1)
            os._exit(0)

    write("osnoise/timerlat_align_us", "8000000")
    write("osnoise/options", "TIMERLAT_ALIGN")
    write("current_tracer", "timerlat")
    one = reader(0)
    wait_for("[000] d.h")
    other = reader(1, keeper)
    time.sleep(0.5)
    write("current_tracer", "nop")
    killed(one, "the tracer has gone")
    killed(other, "the tracer has gone")
    write("osnoise/options", "DEFAULTS")
    write("osnoise/options", "NO_OSNOISE_WORKLOAD")
    write("osnoise/timerlat_align_us", "0")
    write("current_tracer", "timerlat")
    time.sleep(9)
    if samples():
        wrong(f"a timer of before: {samples()}")
    os.close(keepers[1])
    os.close(keepers[0])
    time.sleep(0.5)
    # The CPU is free again.
    killed_later = reader()
    wait_for("[001] d.h")
    write("current_tracer", "nop")
    killed(killed_later, "the tracer has gone")


def main():
    os.sched_setaffinity(0, {0})
    refused(0, errno.EINVAL, "without the tracer")
    write("osnoise/options", "NO_OSNOISE_WORKLOAD")
    refused(0, errno.EINVAL, "without the tracer, with the option")
    write("current_tracer", "timerlat")
    if "timerlat/" in os.popen("ps -e -o comm").read():
        wrong("there are threads")
    refused(1, errno.EPERM, "on another CPU")
    os.sched_setaffinity(0, {0, 1})
    refused(0, errno.EPERM, "while not pinned")
    refused(1, errno.EPERM, "while not pinned")
    os.sched_setaffinity(0, {0})

    fd = os.open(FILE % 0, os.O_RDONLY)
    refused(0, errno.EBUSY, "by two")
    for _ in range(5):
        if os.read(fd, 10) != b"":
            wrong("a read gives something")
    for context in ("context    irq", "context thread", "context user-ret"):
        wait_for(context)

    # A signal ends a wait; and the next activation comes.
    write("osnoise/timerlat_period_us", "1000000")
    os.read(fd, 1)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    os.read(fd, 1)
    os.read(fd, 1)
    write("osnoise/timerlat_period_us", "5000")
    os.close(fd)

    # It can be opened anew, by another process, too, which may die as it waits.
    os.close(os.open(FILE % 0, os.O_RDONLY))
    pid = reader()
    wait_for("[001] d.h")
    os.kill(pid, signal.SIGKILL)
    if not os.WIFSIGNALED(end_of(pid)):
        wrong("it was not killed")
    pid = reader()

    # The end of the tracer kills who waits.
    write("current_tracer", "nop")
    killed(pid, "the tracer has gone")

    # So does the option, and the CPU's end.
    write("current_tracer", "timerlat")
    pid = reader()
    write("osnoise/options", "DEFAULTS")
    if not os.WIFSIGNALED(end_of(pid)):
        wrong("there is a workload, and the process lives")
    write("osnoise/options", "NO_OSNOISE_WORKLOAD")
    online = "/sys/devices/system/cpu/cpu1/online"
    if os.path.exists(online):
        pid = reader()
        write(online, "0")
        if not os.WIFSIGNALED(end_of(pid)):
            wrong("its CPU has gone, and the process lives")
        write(online, "1")

    # Who goes to another CPU stops the trace.
    def leaver():
        os.sched_setaffinity(0, {1})
        fd = os.open(FILE % 1, os.O_RDONLY)
        os.read(fd, 1)
        os.read(fd, 1)
        os.sched_setaffinity(0, {0})
        try:
            os.read(fd, 1)
        except OSError as error:
            return 3 if error.errno == errno.EINVAL else 4
        return 5

    status = end_of(child(leaver))
    if os.waitstatus_to_exitcode(status) != 3:
        wrong(f"the process that has left its CPU ended with {status}")
    if read("tracing_on").strip() != "0":
        wrong("the trace goes on")
    if "timerlat user" not in read("trace"):
        wrong("no text about it")
    write("tracing_on", "1")
    write("current_tracer", "nop")
    while_paused()
    of_before()
    write("osnoise/options", "DEFAULTS")


main()
