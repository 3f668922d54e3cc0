# SPDX-License-Identifier: GPL-2.0
"""Tests that are a boot each, for suites of such."""
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.append(os.path.dirname(HERE))

from quick import seconds_of_long  # noqa: E402

KERNEL = os.environ.get("KERNEL", "rtrace")


class Boot:
    """One guest: kernel parameters, a shell command in tracefs that must succeed, patterns of the console's log."""

    def __init__(self, name, parameters="", command="true", log=(), not_log=(), status=0, complains=False, settings=None, config="", race=""):
        self.name, self.parameters, self.command = name, parameters, command
        self.settings = settings or {}  # of scripts/guest.py
        self.config = config  # the boot configuration
        self.log, self.not_log, self.status, self.complains = log, not_log, status, complains
        self.race = race  # what the log has when a race was lost that is not ours: the boot is tried anew

    def run(self, tries=3):
        """None, or what was wrong."""
        with tempfile.NamedTemporaryFile("r", suffix=".log", errors="replace") as console, \
                tempfile.NamedTemporaryFile("w", suffix=".bconf", errors="surrogateescape") as config:
            config.write(self.config)
            config.flush()
            environment = dict(os.environ, KERNEL=KERNEL, APPEND=self.parameters, LOG=console.name,
                               CMD=f"cd /sys/kernel/tracing\n{self.command}")
            if self.config:
                environment["BOOTCONFIG"] = config.name
            environment.update(self.settings)
            limits = self.settings.get("GUEST_TIMEOUT", "180"), os.environ.get("GUEST_TIMEOUT") or "0"
            environment["GUEST_TIMEOUT"] = max(limits, key=int)
            options = [] if self.complains else ["--check-log"]
            done = subprocess.run([os.path.join(ROOT, "scripts", "guest.py"), *options], env=environment, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            log = console.read()
        if self.race and tries > 1 and re.search(self.race, log):
            return self.run(tries - 1)
        if done.returncode != self.status:
            return f"status {done.returncode}, wanted {self.status}: {done.stdout[-600:]}"
        for pattern in self.log:
            if not re.search(pattern, log, re.M):
                return f"the log lacks {pattern!r}: {log[-600:]}"
        for pattern in self.not_log:
            if found := re.search(pattern, log, re.M):
                return f"the log has {found[0]!r}"
        return None


def has(text, file):
    """A shell test: the file reads exactly this."""
    return f'[ "$(cat {file})" = "{text}" ] || {{ echo {file}: "$(cat {file})"; exit 1; }}'


def configured(*lines):
    """Does the kernel's configuration have all these lines?"""
    path = os.path.join(KERNEL if "/" in KERNEL else os.path.join(ROOT, "build", KERNEL), ".config")
    with open(path, encoding="utf-8") as file:
        return set(lines) <= set(file.read().splitlines())


def main(tests):
    """Run them as a suite (tools/testing/README.md); CASE=text those whose name has it, or one of its lines."""
    texts = os.environ.get("CASE", "").split("\n")
    chosen = [test for test in tests if any(text in test.name for text in texts)]
    print("KTAP version 1")
    print(f"1..{len(chosen)}", flush=True)
    failed, long = 0, seconds_of_long(HERE)
    for number, test in enumerate(chosen, 1):
        if test.name in long:
            print(f"ok {number} {test.name} # SKIP takes {long[test.name]} s, and QUICK=1 is given", flush=True)
            continue
        begun = time.monotonic()
        wrong = test.run()
        print(f"# {time.monotonic() - begun:.0f} s")
        if wrong:
            failed += 1
            print("\n".join(f"# {line}" for line in wrong.splitlines()), f"\n# CASE={test.name}", sep="")
        print(f"{'not ok' if wrong else 'ok'} {number} {test.name}", flush=True)
    return 1 if failed else 0
