#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run every test there is and end with `N passed, N failed, N skipped`; exit status 0 only with none failed.

A step is a command whose output is read as it comes. Two kinds are understood: `cargo test`, and the KTAP of the suites
(tools/testing/README.md): `ok 1 name`, `not ok 2 name`, `ok 3 name # SKIP why`; nested lines are not counted; a plan
`1..N` that is not fulfilled is a failure. A step that exits non-zero without a failed test of its own, and one that runs
no test at all, count as one failure each. With SECOND_TRY=1 what failed beside another suite runs once more, alone, and what
passes then is said to be unsteady, and no failure: of a suite that says `# CASE=text` of each failure, these cases, of another
one all. ONLY=text runs the steps whose name contains it. QUICK=1 leaves out
what the suites' files `long` list. KERNEL_C=c builds the C kernel, too: the suites that compare with C boot it, instead of
reading what it printed once. FLAVOUR=name builds the kernels in that flavour and runs what is there for it instead, the suites'
`run-<name>`.
"""
import collections
import concurrent.futures
import contextlib
import glob
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from unittest import mock

import setup
from common import BUILD, ROOT, Stop, clear_progress, main, progress, say

# Seconds a step may take: a case of make check-long takes one for each toggle, and some flavours are slow or build within a step.
LIMIT = 5400 * {"kasan": 8, "kcsan": 4, "distro": 2, "debug": 2, "deb": 5}.get(os.environ.get("FLAVOUR"), 1) + int(os.environ.get("TOGGLES") or 0)
if os.environ.get("FLAVOUR") == "configs":
    LIMIT += 1800 * int(os.environ.get("CONFIGS") or 4)
REASONS = 100  # comment lines before a failure that are shown with it: the log may be gone when somebody reads of it
GRACE = 60  # seconds that a step has to end in when it is asked to
AGAIN = 5  # of them are said again at the end: of a long output often only the end is kept
COMPLAINT = "# the kernel complained:"
BLOCKED = "sysrq: Show Blocked State"  # scripts/stuck.py has it shown where a guest does not end
DEADLY = (COMPLAINT, "kernel complained", "the guest died")
COMPLAINT_AGAIN = 30  # lines from there on are said again, too
AT_ONCE = min(2, os.cpu_count() or 1)  # suites; a guest keeps one host CPU busy, and so do most that need none
LONGEST = ("loom", "times", "guest", "upstream")  # suites that begin before others
BESIDE_C = ("block", "bpf", "branch")  # flavours in which suites compare with C
NO_KERNEL = ("configs", "deb")  # whose suites build kernels of their own
LOGS = os.path.join(BUILD, "check")
KTAP = re.compile(r"^(ok|not ok) (\d+)(?: -)? ?(.*?)(?:\s+# (SKIP|TODO|XFAIL)\b.*)?$")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s+# (SKIP).*)?$")
FAILED_CASE = re.compile(r"^# CASE=(.+)$")
CARGO = re.compile(r"^test (.+?) \.\.\. (ok|FAILED|ignored)")


class Step:
    """One command and what became of its tests."""

    def __init__(self, name, *command):
        self.name = name
        self.command = command
        self.failed_cases = []
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.unsteady = []
        self.is_deadly = False
        self.planned = None
        self.process = None

    def count(self, line):
        """Take one line of output; returns the name of a test that failed, for the user to see at once."""
        if found := FAILED_CASE.match(line):
            self.failed_cases.append(found[1])
        if found := CARGO.match(line):
            return self.add({"ok": "passed", "FAILED": "failed", "ignored": "skipped"}[found[2]], found[1])
        if found := KTAP.match(line):
            if found[4] == "SKIP":
                return self.add("skipped", found[3])
            return self.add("passed" if found[1] == "ok" or found[4] in ("TODO", "XFAIL") else "failed", found[3])
        if (found := PLAN.match(line)) and self.planned is None:
            self.planned = int(found[1])
            if found[2] and not self.planned:
                self.planned = 1
                return self.add("skipped", "all")
        return None

    def add(self, kind, name):
        setattr(self, kind, getattr(self, kind) + 1)
        return name if kind == "failed" else None

    def run(self):
        log_path = os.path.join(LOGS, self.name.replace("/", "-") + ".log")
        begun = time.monotonic()
        reasons = collections.deque(maxlen=REASONS)
        with open(log_path, "w", encoding="utf-8") as log, subprocess.Popen(
                self.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", start_new_session=True) as process:
            self.process = process
            watchdog = threading.Timer(LIMIT, self.stop)
            watchdog.start()
            try:
                for line in process.stdout:
                    log.write(line)
                    log.flush()
                    self.is_deadly |= any(word in line for word in DEADLY)
                    bad = self.count(line.rstrip("\n"))
                    if bad is not None:
                        self.fail(f"FAILED {bad}", reasons)
                    if line.startswith("#"):
                        reasons.append(line.rstrip("\n"))
                    elif KTAP.match(line):
                        reasons.clear()
                    progress(f"{self.name}: {self.passed} passed, {self.failed} failed: {line.strip()}")
            except BaseException:
                self.stop()
                raise
            finally:
                watchdog.cancel()
        clear_progress()
        self.judge(process.returncode, time.monotonic() - begun >= LIMIT, reasons)
        say(f"{self.name}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped "
            f"({time.monotonic() - begun:.0f} s)" + (f", see {log_path}" if self.failed else ""))

    def stop(self):
        """End the command, if it runs, and all that it started; what does not hear of it after a while is ended all the same."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            last = threading.Timer(GRACE, self.kill)
            last.daemon = True
            last.start()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def judge(self, status, timed_out, reasons):
        """What the lines do not say: a step that stopped early is a failure, whatever it printed before."""
        done = self.passed + self.failed + self.skipped
        why = None
        if timed_out:
            why = f"it did not end within {LIMIT} s"
        elif self.planned is not None and done != self.planned:
            why = f"{done} of {self.planned} planned tests ran"
        elif status and not self.failed:
            why = f"exit status {status}"
        elif not done:
            why = "it ran no test"
        if why:
            self.failed += 1
            self.fail(f"FAILED, {why}", reasons)

    def fail(self, what, reasons=()):
        """Say it now, and keep it for the end."""
        say("\n".join([f"{self.name}: {what}", *reasons]))
        self.failures.append([f"{self.name}: {what}", *said_again(list(reasons))])


def said_again(reasons):
    """The lines that are worth saying twice: what the kernel complained of, or what its tasks waited for, and how the test ended."""
    start = next((at for at, line in enumerate(reasons) if line == COMPLAINT or BLOCKED in line), len(reasons))
    complaint = reasons[start:start + COMPLAINT_AGAIN]
    return complaint + reasons[start + len(complaint):][-AGAIN:] if complaint else reasons[-AGAIN:]


class KernelStep(Step):
    """A kernel that the suites after it boot: built is passed."""

    def __init__(self, trace, flavour):
        super().__init__(f"kernel {trace}" + (f"-{flavour}" if flavour else ""))
        self.trace, self.flavour = trace, flavour

    def run(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "kernel.py")], stdin=subprocess.DEVNULL,
                              env=dict(os.environ, FLAVOUR=self.flavour, TRACE=self.trace), check=False)
        self.add("failed" if done.returncode else "passed", self.name)
        if done.returncode:
            self.failures.append([f"{self.name}: FAILED, exit status {done.returncode}"])


def suites(kind):
    paths = sorted(glob.glob(os.path.join(ROOT, "tools", "testing", "*", kind)))
    return [Step(os.path.basename(os.path.dirname(path)), path) for path in paths]


def run_suites(steps):
    """Run them, AT_ONCE at a time, the longest first."""
    steps = sorted(steps, key=lambda step: [step.name != name for name in LONGEST])
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(step.run) for step in steps]
        try:
            for future in running:
                future.result()
        except BaseException:
            for future in running:
                future.cancel()
            for step in steps:
                step.stop()
            raise


def second_try(steps):
    """Run what failed once more, suite by suite, and count it anew."""
    for at, step in enumerate(steps):
        if not step.failed:
            continue
        # What the kernel complains of once is a fault.
        if step.is_deadly:
            continue
        again = Step(step.name, *step.command)
        with_cases = len(step.failed_cases) == step.failed
        cases = {"CASE": "\n".join(dict.fromkeys(step.failed_cases))} if with_cases else {}
        with mock.patch.dict(os.environ, cases):
            again.run()
        if with_cases:
            again.passed += step.passed
            again.skipped += step.skipped
        again.unsteady = list(itertools.chain.from_iterable(step.failures))
        steps[at] = again


def chosen(steps):
    only = os.environ.get("ONLY") or ""
    return [step for step in steps if only in step.name]


def entry():
    """Host tests first: they are quick and need no kernel. Guest suites only where the kernels could be built."""
    os.makedirs(LOGS, exist_ok=True)
    for name in [name for name, value in os.environ.items() if not value]:
        del os.environ[name]  # make exports what was not given as empty
    flavour = os.environ.get("FLAVOUR") or ""
    test = ("cargo", "test", "--locked", "--no-fail-fast")
    cargo = [] if flavour else [
        Step("cargo", *test, "--workspace"),
        Step("cargo recordmcount", *test, "--manifest-path", "scripts/recordmcount/Cargo.toml"),
        Step("cargo inlined", *test, "--manifest-path", "scripts/inlined/Cargo.toml")]
    host = [] if flavour else suites("host")
    guest = suites(f"run-{flavour}" if flavour else "run")
    if not guest:
        raise Stop(f"FLAVOUR={flavour}: there are no tests of that flavour alone", 2)
    traces = [] if flavour in NO_KERNEL else ["rtrace"]
    if flavour in BESIDE_C or os.environ.get("KERNEL_C"):
        traces.append("c")
    kernels = [KernelStep(trace, flavour) for trace in traces]
    everything = cargo + host + kernels + guest
    if not chosen(everything):
        names = ", ".join(step.name for step in everything)
        raise Stop(f"ONLY={os.environ.get('ONLY')}: no such step; there is: {names}", 2)
    os.environ["PATH"] += os.pathsep + os.path.expanduser("~/.cargo/bin")
    wanted = chosen(guest)
    if wanted and kernels:
        setup.need(setup.TESTS)
    cargo, host, kernels = chosen(cargo), chosen(host), kernels if wanted else chosen(kernels)
    for step in cargo:
        step.run()
    run_suites(host)
    for step in kernels:
        step.run()
    if not any(kernel.failed for kernel in kernels):
        run_suites(wanted)
        if os.environ.get("SECOND_TRY") == "1":
            second_try(wanted)
    elif wanted:
        say(f"{len(wanted)} suites did not run for want of a kernel")
    steps = cargo + host + kernels + wanted
    passed, failed, skipped = (sum(getattr(step, kind) for step in steps) for kind in ("passed", "failed", "skipped"))
    for failure in itertools.chain.from_iterable(step.failures for step in steps):
        print(*failure, sep="\n")
    for step in steps:
        if step.unsteady:
            print(f"{step.name}: unsteady, {step.failed} failed alone; at first:", *step.unsteady, sep="\n")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    main(entry)
