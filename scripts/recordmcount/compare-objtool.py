#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check that the section pass finds the sites that objtool finds: compare-objtool.py [--every N] BUILD [DIRECTORY...]

BUILD is where a kernel was built (with C objects and tools/objtool in it), DIRECTORY a folder of it; without any,
kernel/sched, mm and fs. Every object of C code there (or one in N) is compiled once more by the command that kbuild has
kept, in a place of its own; one copy goes through `objtool --mcount --mnop`, one through the section pass. Their tables
must name the same sites, and their code must be the same, byte for byte. Prints KTAP, a line for each directory.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

OBJTOOL = "tools/objtool/objtool"
PASS = "scripts/recordmcount"


class Difference(Exception):
    """What is not as it should be with an object."""


def run(command, where=None):
    done = subprocess.run(command, cwd=where, shell=isinstance(command, str), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        name = command if isinstance(command, str) else " ".join(command)
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise Difference(f"{os.path.basename(name.split()[0])}: {last[0]}")
    return done.stdout


def compile_command(build, name):
    """The command that compiled an object from C, without what follows the compiler; None for other objects."""
    folder, file = os.path.split(name)
    with open(os.path.join(build, folder, f".{file}.cmd"), encoding="utf-8") as kept:
        line = kept.readline()
    found = re.match(r"savedcmd_\S+ := (.*\.c)\s*(?:;.*)?$", line)
    if not found:
        return None
    # As make would: it halves dollar signs and takes the backslash from a number sign.
    return found[1].replace("$$", "$").replace("\\#", "#")


def compile_again(build, name, command, scratch):
    """Compile into the scratch directory; kbuild's own files stay as they are."""
    pristine = os.path.join(scratch, "pristine.o")
    again, count = re.subn(rf"-o {re.escape(name)}(?=\s)", f"-o {pristine}", command)
    again = re.sub(r"-Wp,-MMD,\S+", f"-Wp,-MMD,{pristine}.d", again)
    if count != 1:
        raise Difference("the kept command does not write this object")
    run(again, build)
    return pristine


def code_of(path):
    """The contents of all sections with code, by index; names may repeat."""
    with open(path, "rb") as file:
        data = file.read()
    word = lambda at, size: int.from_bytes(data[at:at + size], "little")
    table, count = word(40, 8), word(60, 2)
    headers = [table + 64 * index for index in range(count)]
    executable = [at for at in headers if word(at + 4, 4) == 1 and word(at + 8, 8) & 4]
    return [data[word(at + 24, 8):word(at + 24, 8) + word(at + 32, 8)] for at in executable]


def compare(build, name, scratch):
    """Compare one object; returns its number of sites, or None where it is not of C code."""
    command = compile_command(build, name)
    if command is None:
        return None
    pristine = compile_again(build, name, command, scratch)
    theirs, ours = (os.path.join(scratch, kind) for kind in ("objtool.o", "pass.o"))
    shutil.copy(pristine, theirs)
    shutil.copy(pristine, ours)
    run([os.path.join(build, OBJTOOL), "--mcount", "--mnop", theirs])
    section_pass = os.path.join(build, PASS)
    run([section_pass, ours])
    expected, found = (run([section_pass, "--list", path]).splitlines() for path in (theirs, ours))
    if expected != found:
        odd = sorted(set(expected) ^ set(found))[:3]
        raise Difference(f"objtool has {len(expected)} sites, the pass {len(found)}; not in both: {', '.join(odd)}")
    if code_of(theirs) != code_of(ours):
        raise Difference("the code differs")
    if not found and open(pristine, "rb").read() != open(ours, "rb").read():
        raise Difference("an object without sites was changed")
    return len(found)


def objects(build, folder, every):
    kept = sorted(glob.glob(os.path.join(build, folder, "**", ".*.o.cmd"), recursive=True))
    names = []
    for path in kept:
        name = os.path.join(os.path.dirname(path), os.path.basename(path)[1:-len(".cmd")])
        if os.path.exists(name):
            names.append(os.path.relpath(name, build))
    return names[::every]


def compare_folder(build, folder, every, scratch):
    count = sites = bad = 0
    for name in objects(build, folder, every):
        try:
            found = compare(build, name, scratch)
        except Difference as difference:
            print(f"# {name}: {difference}", flush=True)
            bad += 1
            continue
        if found is not None:
            count += 1
            sites += found
    return count, sites, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take one object in N")
    parser.add_argument("build")
    parser.add_argument("folders", nargs="*", default=["kernel/sched", "mm", "fs"])
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    failed = False
    print(f"KTAP version 1\n1..{len(options.folders)}")
    with tempfile.TemporaryDirectory() as scratch:
        for number, folder in enumerate(options.folders, 1):
            count, sites, bad = compare_folder(build, folder, options.every, scratch)
            # A directory in which nothing was compared proves nothing.
            good = not bad and sites
            failed |= not good
            print(f"{'ok' if good else 'not ok'} {number} {folder}: {count} objects and {sites} sites as objtool has"
                  f" them, {bad} not", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
