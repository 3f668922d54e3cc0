#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Put rtrace into a kernel tree, or take it out again: graft TREE | graft --undo TREE

The project's root becomes `kernel/rtrace` (a link) and `patches/*.patch` are applied in order. The whole series is
worked out on copies first, so a hunk that does not apply changes nothing; afterwards only files whose content differs
are written, so that a rebuild stays incremental. `.rtrace-graft` in the tree keeps the series that is in it now: with
that, a changed series replaces the old one, and --undo takes it back.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys

from common import ROOT, SERIES, Stop, main, read, say, scratch, write

STATE = ".rtrace-graft"
LINK = "kernel/rtrace"


def series_of(tree):
    """`7.3` from the tree's Makefile."""
    text = read(os.path.join(tree, "Makefile"), "")
    found = [re.search(rf"^{name} = (\d+)$", text, re.M) for name in ("VERSION", "PATCHLEVEL")]
    if not all(found):
        raise Stop(f"{tree} is not a Linux tree")
    return ".".join(match.group(1) for match in found)


def files_of(series):
    """Paths a patch series touches."""
    paths = re.findall(r"^(?:---|\+\+\+) [ab]/(\S+)", series, re.M)
    for path in paths:
        if path.startswith("/") or ".." in path.split("/"):
            raise Stop(f"patches/ names a file outside the tree: {path}")
    return sorted(set(paths))


def our_series():
    return "".join(read(path) for path in sorted(glob.glob(os.path.join(ROOT, "patches", "*.patch"))))


def patch(where, series, tree, *options):
    done = subprocess.run(["patch", "-p1", "-s", "-f", "-F0", "-E", "--no-backup-if-mismatch", "-r", "-", *options],
                          cwd=where, input=series, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if done.returncode:
        first = done.stdout.strip().splitlines()[0] if done.stdout.strip() else "patch failed"
        raise Stop(f"the series does not fit {tree} (nothing was changed): {first}")


def replace_series(tree, old, new):
    """Bring the tree from one series to another; returns how many files changed."""
    paths = sorted(set(files_of(old) + files_of(new)))
    with scratch(tree, "rtrace-work") as work:
        for path in paths:
            if os.path.exists(os.path.join(tree, path)):
                os.makedirs(os.path.dirname(os.path.join(work, path)), exist_ok=True)
                shutil.copy(os.path.join(tree, path), os.path.join(work, path))
        if old:
            patch(work, old, tree, "-R")
        if new:
            patch(work, new, tree)
        # From here on it is all or nothing: a Ctrl-C waits until the files and the state agree again.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        changed = sum(update(os.path.join(work, path), os.path.join(tree, path)) for path in paths)
        write(os.path.join(tree, STATE), new)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
        return changed


def update(source, target):
    """Make target like source, touching it only where it differs."""
    if not os.path.exists(source):
        if os.path.exists(target):
            os.remove(target)
            return True
        return False
    with open(source, "rb") as file:
        wanted = file.read()
    if os.path.exists(target):
        with open(target, "rb") as file:
            if file.read() == wanted:
                return False
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.replace(source, target)
    return True


def set_link(tree):
    link = os.path.join(tree, LINK)
    inside = os.path.realpath(tree).startswith(os.path.realpath(ROOT) + os.sep)
    wanted = os.path.relpath(os.path.realpath(ROOT), os.path.realpath(os.path.dirname(link))) if inside else ROOT
    if os.path.islink(link):
        if os.readlink(link) == wanted:
            return False
        os.remove(link)
    elif os.path.exists(link):
        raise Stop(f"{link} is there and is not a link of ours")
    os.symlink(wanted, link)
    return True


def graft(tree, quiet=False):
    """Idempotent; returns whether anything changed."""
    if series_of(tree) != SERIES:
        raise Stop(f"{tree} is Linux {series_of(tree)}; rtrace is for the {SERIES} series")
    link = os.path.join(tree, LINK)
    if os.path.exists(link) and not os.path.islink(link):
        raise Stop(f"{link} is there and is not a link of ours (nothing was changed)")
    state = os.path.join(tree, STATE)
    old, new = read(state, ""), our_series()
    changed = replace_series(tree, old, new) if old != new or not os.path.exists(state) else 0
    linked = set_link(tree)
    if not quiet or changed:
        say(f"{tree}: " + (f"grafted, {changed} files changed" if changed or linked else "already grafted"))
    return bool(changed or linked)


def ungraft(tree):
    series_of(tree)
    state = os.path.join(tree, STATE)
    link = os.path.join(tree, LINK)
    if not os.path.exists(state) and not os.path.islink(link):
        say(f"{tree}: nothing of rtrace in it")
        return
    changed = replace_series(tree, read(state, ""), "")
    if os.path.islink(link):
        os.remove(link)
    if os.path.exists(state):
        os.remove(state)
    say(f"{tree}: ungrafted, {changed} files restored")


def entry():
    arguments = sys.argv[1:]
    undo = "--undo" in arguments
    trees = [argument for argument in arguments if argument != "--undo"]
    if len(trees) != 1 or not trees[0]:
        raise Stop("say which tree: make graft LINUX_SRC=~/linux", 2)
    tree = os.path.abspath(os.path.expanduser(trees[0]))
    if not os.access(tree, os.W_OK):
        raise Stop(f"{tree} is not a directory that can be written to")
    (ungraft if undo else graft)(tree)


if __name__ == "__main__":
    main(entry)
