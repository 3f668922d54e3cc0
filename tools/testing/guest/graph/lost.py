# SPDX-License-Identifier: GPL-2.0
"""A writer on CPU 0 goes around a small buffer many times, and a reader of trace_pipe takes pieces meanwhile. What it is told was
lost is what was lost, and each event that was read is in a line."""
import os
import re
import subprocess
import time

TRACING = os.environ["TRACING_DIR"]
WRITER = ("cd $TRACING_DIR; echo $$ > set_ftrace_pid; echo {mark} > trace_marker; "
          "exec taskset -c 0 dd if=/dev/zero of=/dev/null bs=1 count=6000 status=none")
pipe = os.open(f"{TRACING}/trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
pieces = []


def piece():
    try:
        new = os.read(pipe, 4096)
    except BlockingIOError:
        return False
    pieces.append(new)
    return bool(new)


# A call and its return are 80 bytes, of which 51 fill a page. Behind a mark of some length all pages may end with a call and
# begin with a return.
for length in range(4, 84, 10):
    with subprocess.Popen(["sh", "-c", WRITER.format(mark="." * length)]) as writer:
        while writer.poll() is None:
            piece()
            time.sleep(0.02)
with open(f"{TRACING}/tracing_on", "w", encoding="ascii") as file:
    file.write("0")
while piece():
    pass
text = b"".join(pieces)
told = sum(map(int, re.findall(rb"^CPU:0 \[LOST (\d+) EVENTS\]$", text, re.M)))
with open(f"{TRACING}/per_cpu/cpu0/stats", encoding="ascii") as file:
    stats = dict(line.strip().split(": ", 1) for line in file)
lost, read = int(stats["overrun"]), int(stats["read events"])
# A call and its return are on one line, or on one each.
shown = sum(1 + (b"();" in line) for line in text.splitlines() if re.search(rb"^ 0\) .*\|  (ksys_read\(\)|\}|/\* \.)", line))
print(f"lost {lost}, told {told}; read {read}, shown {shown}")
raise SystemExit(0 if lost > 10000 and told == lost and shown == read else 1)
