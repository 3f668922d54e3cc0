#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""In a guest, in tracefs: each return in a copy of a trampoline is the one that the CPU is to use there.

The argument is the thunk that returns jump to. A plain `ret` is allowed where that is its_return_thunk, at addresses with bit 5; and,
where calls are counted, one that the model has there, too, for a call that is not.
The copies are of what runs already, of an instance's tracer, and of a kprobe, which wants all registers.
"""
import re
import struct
import subprocess
import sys
import tempfile

from counted import Text, symbols

MODELS = ("ftrace_caller", "ftrace_regs_caller")
MODEL_WORDS = 18  # of a struct Model in trampoline.rs, which begins with the size
ALIGNED, BIT = "its_return_thunk", 0x20
COUNTED = "call_depth_return_thunk"
LINE = re.compile(r"^\s*([0-9a-f]+):\t(?:\S+ )*?(ret|jmp)\b\s*(?:0x([0-9a-f]+))?")


def returns(code, start, thunk):
    """Offsets of the returns in what was read at `start`, each with whether it is a plain one."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(code)
        file.flush()
        listing = subprocess.run(["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "--no-show-raw-insn", f"--adjust-vma={start:#x}",
                                  file.name], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for address, what, target in filter(None, (LINE.match(line) and LINE.match(line).groups() for line in listing.splitlines())):
        target = int(target, 16) if target else None
        if what == "ret" or target == thunk:
            found[int(address, 16) - start] = what == "ret"
        elif target is None or not 0 <= target - start < len(code):
            print(f"at {address} a jump to {target and hex(target)}, which is neither {thunk:#x} nor inside")
            found[int(address, 16) - start] = None
    return found


def copies():
    """Addresses of the copies that there are."""
    rows = (line.split() for line in open("/proc/kallsyms", encoding="ascii"))
    return [int(row[0], 16) for row in rows if row[2:] == ["ftrace_trampoline", "[__builtin__ftrace]"]]


def write(file, text):
    with open(file, "a", encoding="ascii") as stream:
        stream.write(text)


def likeness(one, other):
    return sum(a == b for a, b in zip(one, other))


def main():
    text, (table, _) = Text(), symbols()
    name, thunk = sys.argv[1], table[sys.argv[1]]
    chosen, = struct.unpack("<Q", text.read(table["x86_return_thunk"], 8))
    if chosen != thunk:
        print(f"returns jump to {chosen:#x}, not to {name}")
        return 1

    subprocess.run(["mkdir", "instances/returns"], check=True)
    write("instances/returns/set_ftrace_filter", "vfs_read\n")
    write("instances/returns/current_tracer", "function\n")
    write("kprobe_events", "p:returns vfs_open\n")
    write("events/kprobes/returns/enable", "1\n")

    models = []
    for index, model in enumerate(MODELS):
        size, = struct.unpack("<Q", text.read(table["rtrace_models"] + index * MODEL_WORDS * 8, 8))
        code = text.read(table[model], size)
        models.append((model, code, returns(code, table[model], thunk)))
    bad, seen = 0, set()
    for start in copies():
        model, code, wanted = max(models, key=lambda model: likeness(model[1], text.read(start, len(model[1]))) / len(model[1]))
        found = returns(text.read(start, len(code)), start, thunk)
        seen.add(model)
        print(f"# {start:#x}, of {model}: returns at " + ", ".join(f"{at:#x}{' plain' * bool(plain)}" for at, plain in found.items()))
        if not wanted or set(found) != set(wanted):
            print(f"{model} has them at {', '.join(map(hex, wanted))}")
            bad = 1
        for at, plain in found.items():
            allowed = (start + at) & BIT if name == ALIGNED else wanted.get(at) if name == COUNTED else False
            if plain is None or plain and not allowed:
                print(f"the one at {at:#x} is not to be there")
                bad = 1
    if seen != set(MODELS):
        print(f"copies of {seen} alone")
        bad = 1

    write("events/kprobes/returns/enable", "0\n")
    write("kprobe_events", "-:returns\n")
    write("instances/returns/current_tracer", "nop\n")
    subprocess.run(["rmdir", "instances/returns"], check=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
