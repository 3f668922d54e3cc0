# SPDX-License-Identifier: GPL-2.0
"""In a guest that was booted with maxcpus=1: CPU 1 comes up while trace_pipe is polled. The current folder is tracefs."""
import os
import select
import sys
import threading
import time

os.sched_setaffinity(0, {0})
pipe = os.open("trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
poll = select.poll()
poll.register(pipe, select.POLLIN)
woken = []
# Not with a timeout: at its end poll(2) looks once more, and finds what it was not woken for.
waiter = threading.Thread(target=lambda: woken.append(poll.poll()), daemon=True)
waiter.start()
time.sleep(0.5)
with open("/sys/devices/system/cpu/cpu1/online", "w", encoding="ascii") as file:
    file.write("1")
os.sched_setaffinity(0, {1})
with open("trace_marker", "w", encoding="ascii") as file:
    file.write("late\n")
waiter.join(20)
text = open("trace", encoding="ascii", errors="replace").read()
if "[001]" not in text:
    sys.exit(f"CPU 1 did not record: {text}")
if not woken:
    sys.exit("not woken")
