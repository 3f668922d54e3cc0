#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Inputs that are kept, as text and as libFuzzer wants them.

    corpus.py unpack TARGET...      each line of corpus/TARGET.txt becomes a file in corpus/TARGET/
    corpus.py keep TARGET...        files in corpus/TARGET/ that reach most that no line reaches become lines of corpus/TARGET.txt
    corpus.py pack FILE...          prints files as lines

A line is an input; `\\n`, `\\t`, `\\r`, `\\\\`, `\\xNN` stand for one byte each. Lines that begin with `#` are comments."""
import hashlib
import os
import re
import subprocess
import sys
import tempfile

FUZZ = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(FUZZ, "corpus")
SHORT = {b"\\": b"\\\\", b"\n": b"\\n", b"\t": b"\\t", b"\r": b"\\r"}
FOUND = "# Found by fuzzing.\n"
# A kept input reaches so many places that no other one does, and a target has no more of them.
GAIN = 2
MOST = 240


def escape(data):
    """An input as a line."""
    def byte(found):
        return SHORT.get(found[0], b"\\x%02x" % found[0][0])
    return re.sub(rb"^#|[^ -\[\]-~]| $", byte, data).decode() + "\n"


def unescape(line):
    long = {short: byte for byte, short in SHORT.items()}
    def byte(found):
        return long.get(found[0]) or bytes([int(found[1], 16)])
    return re.sub(rb"\\(?:x([0-9a-f]{2})|.)", byte, line.encode().rstrip(b"\n"))


def lines(target):
    path = os.path.join(CORPUS, target + ".txt")
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as text:
        return [line for line in text if line.strip() and not line.startswith("#")]


def unpack(target, folder):
    os.makedirs(folder, exist_ok=True)
    for data in map(unescape, lines(target)):
        with open(os.path.join(folder, hashlib.sha1(data).hexdigest()), "wb") as file:
            file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def reached(target, folders):
    """What each file of these folders reaches, by its path."""
    with tempfile.TemporaryDirectory() as scratch:
        control = os.path.join(scratch, "control")
        subprocess.run(["cargo", "fuzz", "run", "-s", "none", target, *folders, "--", "-set_cover_merge=1", "-use_counters=0",
                        "-max_len=4096", f"-merge_control_file={control}"], cwd=os.path.dirname(FUZZ), check=True)
        with open(control, encoding="utf-8") as text:
            count = int(next(text))
            next(text)
            names = [next(text).rstrip("\n") for _ in range(count)]
            each = [line.split() for line in text]
    return {names[int(number)]: frozenset(places) for kind, number, *places in each if kind == "FT"}


def keep(target):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as merged:
        unpack(target, folder)
        # What is merged into the first folder is not needed: the choice is another one.
        left = reached(target, (merged, folder, os.path.join(CORPUS, target)))
        known = set().union(*(places for path, places in left.items() if path.startswith(folder)))
        found = {path: escape(read(path)) for path in left if not path.startswith(folder) and os.path.getsize(path)}
    chosen = []
    while found and len(lines(target)) + len(chosen) < MOST:
        path = max(found, key=lambda path: (len(left[path] - known) - len(found[path]) / 20, path))
        if len(left[path] - known) < GAIN:
            break
        known |= left[path]
        chosen.append(found.pop(path))
    path = os.path.join(CORPUS, target + ".txt")
    had_some = FOUND in open(path, encoding="ascii").read()
    with open(path, "a", encoding="ascii") as text:
        if chosen and not had_some:
            text.write("\n" + FOUND)
        text.writelines(sorted(chosen))


def main(verb=None, *names):
    if verb == "unpack" and names:
        for target in names:
            unpack(target, os.path.join(CORPUS, target))
    elif verb == "keep" and names:
        for target in names:
            keep(target)
    elif verb == "pack" and names:
        sys.stdout.writelines(escape(read(name)) for name in names)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
