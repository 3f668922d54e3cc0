#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Put rtrace into a kernel tree, or take it out again: graft TREE | graft --undo TREE

The project's root becomes `kernel/rtrace` (a link), `patches/*.patch` are applied in order, and the source of the crates that
rust/crates names, as cargo has fetched it, becomes `rust/<crate>/`: more files of the same series. The whole series is worked out on copies first, so a hunk that does not apply changes nothing; afterwards only files whose content differs
are written, so that a rebuild stays incremental. `.rtrace-graft` in the tree keeps the series that is in it now: with
that, a changed series replaces the old one, and --undo takes it back.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from common import ROOT, SERIES, Stop, main, read, say, scratch, write
from toolchain import Toolchain

STATE = ".rtrace-graft"
LINK = "kernel/rtrace"


def series_of(tree):
    """`7.3` from the tree's Makefile."""
    text = read(os.path.join(tree, "Makefile"), "")
    found = [re.search(rf"^{name} = (\d+)$", text, re.M) for name in ("VERSION", "PATCHLEVEL")]
    if not all(found):
        raise Stop(f"{tree} is not a Linux tree")
    return ".".join(match.group(1) for match in found)


def sections(series):
    """The series by file: path -> its diffs, in the order in which they apply."""
    heads = list(re.finditer(r"^--- (\S+).*\n\+\+\+ (\S+)", series, re.M))
    found = {}
    for head, following in zip(heads, [*heads[1:], None]):
        name = head[1] if head[2] == "/dev/null" else head[2]
        path = name.partition("/")[2]
        if not path or path.startswith("/") or ".." in path.split("/"):
            raise Stop(f"patches/ names a file outside the tree: {name}")
        text = series[head.start():following.start() if following else None]
        found.setdefault(path, []).append(re.split(r"^diff --git ", text, flags=re.M)[0])
    return found


def our_series():
    """The crates come first: a patch may change one."""
    crates = "".join(new_file(path, text) for path, text in crate_files())
    return crates + "".join(read(path) for path in sorted(glob.glob(os.path.join(ROOT, "patches", "*.patch"))))


def new_file(path, text):
    """The diff that makes a file."""
    lines = text.removesuffix("\n").split("\n")
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)


def crate_files():
    """Path and text of each source file of the crates that are built into the kernel; each names its licence, as a file of
    the kernel does."""
    manifest = os.path.join(ROOT, "rust", "crates", "Cargo.toml")
    if not os.path.exists(manifest):
        return
    command = [Toolchain().cargo or "cargo", "metadata", "--quiet", "--locked", "--offline", "--format-version=1",
               f"--manifest-path={manifest}"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as problem:
        raise Stop(f"cargo is needed to find the crates of rust/crates: {problem}") from problem
    if done.returncode:
        raise Stop(f"the crates of rust/crates are not there (make setup): {done.stderr.strip()}")
    for package in json.loads(done.stdout)["packages"]:
        if not package["source"]:
            continue  # the manifest itself
        root = os.path.dirname(package["targets"][0]["src_path"])
        licence = " OR ".join(sorted(re.split(r" OR |/", package["license"])))
        for path in sorted(glob.glob(os.path.join(root, "**", "*.rs"), recursive=True)):
            inside = os.path.join("rust", package["name"].replace("-", "_"), os.path.relpath(path, root))
            yield inside, f"// SPDX-License-Identifier: {licence}\n\n{read(path)}"


def patch(where, diffs, *options):
    """Apply diffs one after the other; whether all fit, without fuzz."""
    return all(subprocess.run(["patch", "-p1", "-f", "-F0", "-E", "--no-backup-if-mismatch", "-r", "-", *options],
                              cwd=where, input=diff, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0 for diff in diffs)


def work_out(tree, path, work, old, new):
    """Make in `work` what one file becomes; whether the diffs fit it.

    A file that was put back without us (`git checkout .`) no longer holds the old diffs: they would apply to it.
    """
    source, target = os.path.join(tree, path), os.path.join(work, path)
    copy(source, target)
    if not patch(work, reversed(old), "-R"):
        copy(source, target)
        if not patch(work, old):
            return False
        copy(source, target)
    return patch(work, new)


def replace_series(tree, old, new):
    """Bring the tree from one series to another; returns how many files changed."""
    old, new = sections(old), sections(new)
    paths = sorted({*old, *new})
    with scratch(tree, "rtrace-work") as work:
        for path in paths:
            if not work_out(tree, path, work, old.get(path, []), new.get(path, [])):
                edited = f"; if it was edited where they are in it, `git checkout -- {path}` puts it back" if path in old else ""
                raise Stop(f"the patches do not fit {tree}/{path} (nothing was changed){edited}")
        # From here on it is all or nothing: a Ctrl-C waits until the files and the state agree again.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        changed = sum(update(os.path.join(work, path), os.path.join(tree, path)) for path in paths)
        write(os.path.join(tree, STATE), "".join(diff for path in paths for diff in new.get(path, [])))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
        return changed


def copy(source, target):
    """A fresh copy; of a file that is not there, none."""
    if os.path.exists(target):
        os.remove(target)
    if os.path.exists(source):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)


def update(source, target):
    """Make target like source, touching it only where it differs."""
    if not os.path.exists(source):
        if os.path.exists(target):
            os.remove(target)
            if not os.listdir(os.path.dirname(target)):
                os.rmdir(os.path.dirname(target))
            return True
        return False
    with open(source, "rb") as file:
        wanted = file.read()
    if os.path.exists(target):
        with open(target, "rb") as file:
            if file.read() == wanted:
                return False
    os.makedirs(os.path.dirname(target), exist_ok=True)
    owner = os.stat(target if os.path.exists(target) else os.path.dirname(target))
    os.replace(source, target)
    if os.geteuid() == 0:
        os.chown(target, owner.st_uid, owner.st_gid)  # root may graft into the tree of another user
    return True


def series_in(tree):
    """The series that is in the tree. Where its state has been deleted (`git clean -x`, which takes the new files, too) and what it
    changed has not, it is ours, if the tree holds all of that."""
    state = read(os.path.join(tree, STATE))
    if state is not None:
        return state
    ours = our_series()
    with scratch(tree, "rtrace-work") as work:
        for path, diffs in sections(ours).items():
            if not os.path.exists(os.path.join(tree, path)) and diffs[0].startswith("--- /dev/null"):
                continue
            copy(os.path.join(tree, path), os.path.join(work, path))
            if not patch(work, reversed(diffs), "-R"):
                return ""
    return ours


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
    changed = replace_series(tree, series_in(tree), our_series())
    linked = set_link(tree)
    if not quiet or changed:
        say(f"{tree}: " + (f"grafted, {changed} files changed" if changed or linked else "already grafted"))
    return bool(changed or linked)


def ungraft(tree):
    series_of(tree)
    state = os.path.join(tree, STATE)
    link = os.path.join(tree, LINK)
    old = series_in(tree)
    if not old and not os.path.exists(state) and not os.path.islink(link):
        say(f"{tree}: nothing of rtrace in it")
        return
    changed = replace_series(tree, old, "")
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
    if undo:
        ungraft(tree)
    else:
        from setup import fetch_crates  # it needs this file itself

        tools = Toolchain()
        if tools.cargo:
            fetch_crates(tools)
        graft(tree)


if __name__ == "__main__":
    main(entry)
