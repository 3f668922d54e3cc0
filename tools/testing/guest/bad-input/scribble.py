#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""scribble.py SECONDS SEED: random bytes into every writable file of tracefs while the function tracer runs.

Half of the writes are noise, half are words that the files know, put together at random. What matters is what the
kernel's log says afterwards; here only a hang or a crash of the writer shows.
"""
import os
import random
import sys
import time

WORDS = ["nop", "function", "vfs_*", "vfs_read", "!vfs_read", "*", ":mod:*", ":traceoff:1", ":traceon", ":stacktrace:2", ":dump",
         "0", "1", "2", "-1", "4096", "0x10", "3", "local", "global", "mono", "x86-tsc", "noannotate", "annotate", "latency-format",
         "nolatency-format", "raw", "noraw", "func_stack_trace", "nofunc_stack_trace", "func-no-repeats", "overwrite",
         "nooverwrite", "record-tgid", " ", "\n", ":", "!", ",", "\0"]
# Written last, or not at all: a buffer of gigabytes tests only the allocator's patience.
LEFT_OUT = {"trace_pipe"}


def writable(root):
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if name not in LEFT_OUT and os.stat(path).st_mode & 0o222:
                yield path


def some_bytes(source):
    if source.random() < 0.5:
        return bytes(source.randrange(256) for _ in range(source.choice((1, 2, 7, 64, 300, 5000))))
    return "".join(source.choice(WORDS) for _ in range(source.randrange(1, 6))).encode() + b"\n"


def main():
    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    print(f"seed {seed}", flush=True)
    source = random.Random(seed)
    files = sorted(writable("."))
    end, writes = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        if writes % 50 == 0:
            for name, text in (("current_tracer", "function"), ("tracing_on", "1"), ("buffer_size_kb", "100")):
                try:
                    with open(name, "w", encoding="ascii") as file:
                        file.write(text)
                except OSError:
                    pass
        path = source.choice(files)
        data = some_bytes(source)
        if path.endswith("_size_kb") and len(data.strip()) > 4:
            data = data[:3]
        try:
            file = os.open(path, os.O_WRONLY | source.choice((0, os.O_APPEND, os.O_TRUNC)) | os.O_NONBLOCK)
            try:
                os.write(file, data)
            finally:
                os.close(file)
        except OSError:
            pass
        writes += 1
    print(f"{writes} writes to {len(files)} files")
    return 0 if writes > 100 else 1


if __name__ == "__main__":
    sys.exit(main())
