# SPDX-License-Identifier: GPL-2.0
"""What one event costs in instructions, measured in a guest; for `bench` and `run`."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


def program(name="getppid"):
    """Build a program of this folder; its path."""
    folder = os.path.join(ROOT, "build", "bench")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    source = os.path.join(HERE, f"{name}.c")
    for compiler in (os.environ.get("CC"), "cc", "gcc", "clang-22", "clang-19", "clang"):
        if not compiler:
            continue
        for options in (["-static"], []):
            try:
                subprocess.run([compiler, "-O2", *options, "-o", path, source], check=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                return path
            except (OSError, subprocess.CalledProcessError):
                continue
    sys.exit(f"bench: no C compiler builds {name}.c")


def measure(kernel, path):
    """The instructions of each kind of event that the kernel has, by name."""
    program("pingpong")  # which measure.sh finds beside the other
    return figures_of(kernel, 1, f"exec sh {HERE}/measure.sh {path}")


def operations(kernel, path):
    """The instructions of each control operation, and of each kind of line that is read, by name."""
    program("getppid")  # which operations.sh finds beside the other
    return figures_of(kernel, 1, f"exec sh {HERE}/operations.sh {path}")


def memory(kernel):
    """The memory that things take, in KiB, by name."""
    return figures_of(kernel, 1, f"exec sh {HERE}/memory.sh")


def work(kernel, path):
    """How many thousandths of its time real work takes under each tracer, by name."""
    return figures_of(kernel, 1, f"exec sh {HERE}/work.sh {path}")


def branches(kernel, path):
    """The same of the branch tracer, in a kernel of FLAVOUR=branch."""
    return figures_of(kernel, 1, f"exec sh {HERE}/measure-branch.sh {path}")


def scale(kernel, path, cpus):
    """The instructions of one function tracer event, in hundredths, while so many CPUs write."""
    return figures_of(kernel, cpus, f"exec sh {HERE}/scale.sh {path} {cpus}")[f"scale_{cpus}"]


def spliced(kernel, path, events):
    """What becomes of so many markers that one CPU writes as fast as it can while another splices: `ms`, `bytes`, `lost`."""
    # Setting a tracer gives the buffer its size. Nothing is patched here, so each CPU can have a thread of the host.
    command = f"{path} {events} && sed -n 's/^overrun: /lost /p' per_cpu/cpu0/stats"
    return figures_of(kernel, 2, f"cd /sys/kernel/tracing && echo nop > current_tracer && {command}", ICOUNT="", THREAD="multi")


def figures_of(kernel, cpus, command, **options):
    """The lines `name number` that a command prints in a guest that counts instructions, if `options` say no other."""
    environment = dict(os.environ, KERNEL=kernel, ICOUNT="1", SMP=str(cpus), GUEST_TIMEOUT="900", CMD=command) | options
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "guest.py"), "--check-log"], env=environment,
                          check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
    figures = {}
    for line in done.stdout.splitlines():
        name, _, figure = line.partition(" ")
        if figure.isdigit():
            figures[name] = int(figure)
        else:
            print(f"# {kernel}: {line}")
    if done.returncode or not figures:
        sys.exit(f"not ok 1 {kernel}: the guest ended with status {done.returncode}")
    return figures


def budget():
    """The most that each kind of event may cost, by name."""
    with open(os.path.join(HERE, "budget"), encoding="utf-8") as lines:
        rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {name: int(most) for name, most in rows}
