#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Build both kernels as User Mode Linux: TRACE=rtrace|c for one of them, LINUX_SRC=dir, V=1, JOBS=n.

The products are build/um-rtrace/linux and build/um-c/linux, programs that boot Linux natively on the host, each with
ring_buffer_benchmark.ko beside it. `Booted` runs them, for tests and measurements: the host's root is the kernel's,
read-only, and a shell script is its init.
"""
import contextlib
import os
import subprocess
import tempfile
import threading

from common import BUILD, Stop, main
from kernel import CONFIGS, Kernel

INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tracefs tracefs /sys/kernel/tracing
mount -t tmpfs run /run
cd /sys/kernel/tracing
({command}
) < /dev/null 2>&1
echo "um: status $?"
exec busybox poweroff -f
"""


def directory(trace):
    return os.path.join(BUILD, f"um-{trace}")


class UserModeKernel(Kernel):
    """A build directory as kernel.py's, of another architecture."""

    arch = ("ARCH=um",)
    targets = ("linux", "modules")
    image = "linux"
    lines_of_cold_build = 800
    module = "ring_buffer_benchmark.ko"

    def __init__(self, trace):
        fragments = ["um"] + (["rtrace"] if trace == "rtrace" else [])
        super().__init__(f"um-{trace}", [os.path.join(CONFIGS, f"{name}.config") for name in fragments])

    def finish(self):
        """kbuild made the program in its place; the module comes beside it."""
        beside = os.path.join(self.out, self.module)
        if os.path.lexists(beside):
            os.remove(beside)
        os.symlink(os.path.join("kernel", "trace", self.module), beside)


class Booted:
    """A kernel that runs a shell command in tracefs: `lines` as they come, `cpu()` seconds so far, `status` at the end."""

    def __init__(self, trace, command, seconds):
        self.program = os.path.join(directory(trace), "linux")
        if not os.path.exists(self.program):
            raise Stop(f"there is no {self.program}: make um")
        self.command = command
        self.seconds = seconds
        self.status = None
        self.process = None

    def lines(self):
        """What the command prints, and the kernel's own messages of note."""
        with tempfile.TemporaryDirectory(prefix="rtrace-um-") as work:
            init = os.path.join(work, "init")
            with open(init, "w", encoding="utf-8") as file:
                file.write(INIT.format(command=self.command))
            os.chmod(init, 0o755)
            command = [self.program, "mem=256M", "root=none", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}",
                       "con=null", "con0=null,fd:1", "quiet", "panic=1"]
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace") as self.process:
                limit = threading.Timer(self.seconds, self.stop)
                limit.start()
                try:
                    for line in self.process.stdout:
                        line = line.rstrip()
                        if line.startswith("um: status "):
                            self.status = int(line.split()[-1])
                        else:
                            yield line
                finally:
                    limit.cancel()
                    self.stop()

    def stop(self):
        """No more is wanted of it. It ends its helpers on the host when it is asked to."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.terminate()
            self.process.wait(2)
        self.process.kill()

    def cpu(self):
        """Seconds of the host's processor that the kernel has had."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(trace, command, seconds=60):
    """Status (None where it did not end) and output of a command."""
    booted = Booted(trace, command, seconds)
    text = list(booted.lines())
    return booted.status, "\n".join(text)


def entry():
    for trace in [os.environ["TRACE"]] if os.environ.get("TRACE") else ["c", "rtrace"]:
        if trace not in ("c", "rtrace"):
            raise Stop(f"TRACE={trace}: rtrace or c", 2)
        UserModeKernel(trace).build()


if __name__ == "__main__":
    main(entry)
