# SPDX-License-Identifier: GPL-2.0
"""Where a guest is that did not end in time: what each of its CPUs executes, and the last lines of its console, which are of its
timers and its blocked tasks if its kernel has SysRq and still takes keys.

QEMU's monitor tells the registers, System.map the functions; where KASLR moved the kernel, only the addresses are told.
"""
import bisect
import os
import re
import select
import socket
import time

from common import read

LOOKS = 3  # a CPU that waits for something is at another place each time
LINES = 300
SHOW = ("sendkey alt-sysrq-q", "sendkey alt-sysrq-w")  # what each CPU's timers wait for; the blocked tasks
SHOWN = 3  # seconds that the console has for each
PROMPT = b"(qemu) "
WAIT = 5  # seconds for an answer: a stopped QEMU gives none


def told(monitor, command):
    """What the monitor answers to one command."""
    monitor.sendall(command.encode() + b"\n")
    answer = b""
    while not answer.endswith(PROMPT) and select.select([monitor], [], [], WAIT)[0]:
        block = monitor.recv(1 << 16)
        if not block:
            break
        answer += block
    return answer.decode(errors="replace")


class Symbols:
    """Functions by address."""

    def __init__(self, kernel):
        rows = (line.split() for line in read(os.path.join(kernel, "System.map"), "").splitlines())
        self.rows = sorted((int(row[0], 16), row[2]) for row in rows if row[1] in "tT")

    def name(self, address):
        number = bisect.bisect_right(self.rows, (address, "~")) - 1
        # Behind the last function of the kernel's text are modules, and programs are before the first.
        if number < 0 or number == len(self.rows) - 1:
            return f"{address:#x}"
        return f"{self.rows[number][1]}+{address - self.rows[number][0]:#x}"


def report(kernel, path, log):
    """Lines for a human."""
    lines = []
    symbols = Symbols(kernel)
    try:
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(path)
            monitor.settimeout(WAIT)
            for _ in range(LOOKS):
                found = re.findall(r"CPU#(\d+).*?RIP=([0-9a-f]+) RFL=([0-9a-f]+)", told(monitor, "info registers -a"), re.S)
                lines += [f"CPU {cpu} at {symbols.name(int(address, 16))}, interrupts {'on' if int(flags, 16) & 0x200 else 'off'}"
                          for cpu, address, flags in found]
            for key in SHOW:
                told(monitor, key)
                time.sleep(SHOWN)
    except OSError as error:
        lines.append(f"the monitor does not answer: {error}")
    return lines + read(log, "").strip().splitlines()[-LINES:]
