#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compares kallsyms with available_filter_functions and untraceable_functions, of which copies are in the folder that is named.

Prints how many of the functions that are written in Rust have sites.
"""
import collections
import os
import sys

MARKS = ("_stext", "_etext", "_sinittext", "_einittext")


def lines(*path):
    with open(os.path.join(*path)) as file:
        return file.read().splitlines()


def symbols():
    """Names of what is in text, as the lists print them, by /proc/kallsyms; and those of C's core and Rust's that count."""
    known = [line.split() for line in lines("/proc/kallsyms")]
    marks = {name[2]: int(name[0], 16) for name in known if name[2] in MARKS}
    text, etext, init, einit = (marks[name] for name in MARKS)
    modules = {line.split()[0] for line in lines("/proc/modules")}
    for address, kind, name, *module in known:
        at = int(address, 16)
        if not module and (text <= at < etext or init <= at < einit):
            yield name
        elif module and module[0].strip("[]") in modules and kind in "tTwW":
            yield f"{name} {module[0]}"


def named(line):
    """The name that a line begins with, with its module."""
    words = line.split()
    return " ".join(words[:2]) if len(words) > 1 and words[1].startswith("[") else words[0]


def report(available, untraceable):
    """How many functions in Rust have sites, of the kernel and of modules."""
    for what, of in ("the kernel", lambda name: " [" not in name), ("modules", lambda name: " [" in name):
        sites = sum(of(name) and name.startswith("_R") for name in available)
        reasons = collections.Counter()
        for line in untraceable:
            if line.startswith("_R") and of(named(line)):
                reasons[line[len(named(line)):].split()[0]] += 1
        rest = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        print(f"Rust in {what}: {sites + sum(reasons.values())} symbols, {sites} with sites; without: {rest or 'none'}")


def report_inlined(inlined, paths):
    """How many there are, among them some that no compiler makes functions of."""
    rust = sum(name.startswith("_R") for name in inlined)
    print(f"inlined: {len(inlined) - rust} in C, {rust} in Rust, {sum(len(name) + 1 for name in inlined)} bytes")
    if "get_current" not in inlined or "start_kernel" in inlined:
        sys.exit("get_current is not inlined, or start_kernel is")
    if not any(line.startswith("<kernel::") and line.endswith(" inlined") for line in paths):
        sys.exit("nothing of the kernel crate is inlined")


def main(folder):
    available = [named(line) for line in lines(folder, "available")]
    untraceable = lines(folder, "untraceable")
    inlined = {named(line) for line in untraceable if line.endswith(" inlined")}
    if "CONFIG_RTRACE_INLINED_FUNCTIONS=y" in lines(folder, "config"):
        report_inlined(inlined, lines(folder, "paths"))
    elif inlined:
        sys.exit(f"inlined without the option: {inlined}")
    untraceable = [line for line in untraceable if not line.endswith(" inlined")]
    listed = collections.Counter(available)
    listed.update(named(line) for line in untraceable)
    known = collections.Counter(symbols())
    report(available, untraceable)
    if len(known) < 10000:
        sys.exit(f"kallsyms has {len(known)} functions")
    if known != listed:
        sys.exit(f"listed in neither: {list((known - listed).items())[:20]}\ntoo often: {list((listed - known).items())[:20]}")
    if known.keys() & inlined:
        sys.exit(f"inlined with a symbol: {known.keys() & inlined}")
    # With paths it is the same list.
    paths = [line for line in lines(folder, "paths") if not line.endswith(" inlined")]
    reasons = [line[len(named(line)):].split()[0] for line in untraceable]
    if [line[len(named(line)):].split()[0] for line in paths] != reasons:
        sys.exit("with rust-paths the list is another")


if __name__ == "__main__":
    main(sys.argv[1])
