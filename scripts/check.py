#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run every test there is and end with `N passed, N failed, N skipped`; exit status 0 only with none failed.

A step is a command whose output is read as it comes. Two kinds are understood: `cargo test`, and KTAP, which every
tools/testing/<suite>/run prints (`ok 1 name`, `not ok 2 name`, `ok 3 name # SKIP why`; nested lines are not counted; a
plan `1..N` that is not fulfilled is a failure). A step that exits non-zero without a failed test of its own counts as
one failure. ONLY=text runs the steps whose name contains it.
"""
import glob
import os
import re
import subprocess
import sys
import time

from common import BUILD, ROOT, Stop, clear_progress, main, progress, say

LOGS = os.path.join(BUILD, "check")
KTAP = re.compile(r"^(ok|not ok) (\d+)(?: -)? ?(.*?)(?:\s+# (SKIP|TODO|XFAIL)\b.*)?$")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s+# SKIP.*)?$")
CARGO = re.compile(r"^test (.+?) \.\.\. (ok|FAILED|ignored)")


class Step:
    """One command and what became of its tests."""

    def __init__(self, name, command, needs_kernel=False):
        self.name = name
        self.command = command
        self.needs_kernel = needs_kernel
        self.passed = self.failed = self.skipped = 0
        self.planned = None

    def count(self, line):
        """Take one line of output; returns the name of a test that failed, for the user to see at once."""
        if found := CARGO.match(line):
            return self.add({"ok": "passed", "FAILED": "failed", "ignored": "skipped"}[found[2]], found[1])
        if found := KTAP.match(line):
            if found[4] == "SKIP":
                return self.add("skipped", found[3])
            return self.add("passed" if found[1] == "ok" or found[4] in ("TODO", "XFAIL") else "failed", found[3])
        if (found := PLAN.match(line)) and self.planned is None:
            self.planned = int(found[1])
        return None

    def add(self, kind, name):
        setattr(self, kind, getattr(self, kind) + 1)
        return name if kind == "failed" else None

    def run(self):
        log_path = os.path.join(LOGS, self.name.replace("/", "-") + ".log")
        begun = time.monotonic()
        with open(log_path, "w", encoding="utf-8") as log, subprocess.Popen(
                self.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace") as process:
            for line in process.stdout:
                log.write(line)
                log.flush()
                bad = self.count(line.rstrip("\n"))
                if bad is not None:
                    say(f"{self.name}: FAILED {bad}")
                progress(f"{self.name}: {self.passed} passed, {self.failed} failed: {line.strip()}")
        clear_progress()
        done = self.passed + self.failed + self.skipped
        if self.planned is not None and done < self.planned:
            self.failed += 1
            say(f"{self.name}: FAILED {done} of {self.planned} planned tests ran")
        elif process.returncode and not self.failed:
            self.failed += 1
            say(f"{self.name}: FAILED with exit status {process.returncode}")
        elif not done and not process.returncode:
            self.failed += 1
            say(f"{self.name}: FAILED, it ran no test")
        say(f"{self.name}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped "
            f"({time.monotonic() - begun:.0f} s)" + (f", see {log_path}" if self.failed else ""))


def steps():
    """Host tests first, then whatever suite has a `run`."""
    found = [Step("cargo", ["cargo", "test", "--workspace", "--locked", "--no-fail-fast"])]
    for path in sorted(glob.glob(os.path.join(ROOT, "tools", "testing", "*", "run"))):
        found.append(Step(os.path.basename(os.path.dirname(path)), [path]))
    only = os.environ.get("ONLY") or ""
    chosen = [step for step in found if only in step.name]
    if not chosen:
        raise Stop(f"ONLY={only}: no such step; there is: {', '.join(step.name for step in found)}", 2)
    return chosen


def entry():
    os.makedirs(LOGS, exist_ok=True)
    chosen = steps()
    for kernel in ({}, {"TRACE": "c"}):
        environment = dict(os.environ, FLAVOUR="", **{"TRACE": "rtrace", **kernel})
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "kernel.py")], env=environment,
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            say("the tests need this kernel")
            print("0 passed, 1 failed, 0 skipped")
            return 1
    for step in chosen:
        step.run()
    passed, failed, skipped = (sum(getattr(step, kind) for step in chosen) for kind in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    main(entry)
