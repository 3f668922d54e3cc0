#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Inputs that are kept, as text and as libFuzzer wants them.

    corpus.py unpack TARGET...      each line of corpus/TARGET.txt becomes a file in corpus/TARGET/
    corpus.py keep TARGET...        files in corpus/TARGET/ that reach what no line reaches become lines of corpus/TARGET.txt
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


def keep(target):
    with tempfile.TemporaryDirectory() as folder:
        unpack(target, folder)
        subprocess.run(["cargo", "fuzz", "run", "-s", "none", target, folder, os.path.join(CORPUS, target), "--", "-merge=1",
                        "-use_counters=0", "-max_len=4096"], cwd=os.path.dirname(FUZZ), check=True)
        known = set(lines(target))
        new = {escape(read(os.path.join(folder, name))) for name in os.listdir(folder)} - known - {"\n"}
    path = os.path.join(CORPUS, target + ".txt")
    had_some = FOUND in open(path, encoding="ascii")
    with open(path, "a", encoding="ascii") as text:
        if new and not had_some:
            text.write("\n" + FOUND)
        text.writelines(sorted(new))


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
