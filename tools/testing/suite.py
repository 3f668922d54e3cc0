#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""suite.py FTRACETEST CASE...: in the guest, run test cases, or folders of them, by upstream's own runner, one KTAP line a result.

All cases go to one run of the runner, whose start and end cost more than many a case. What the kernel complains of while a
case runs is that case's failure. A case whose features the kernel does not have is skipped, and so is one that the runner
calls unresolved (a program or a module is missing). A case that does not end is stopped, and the ones behind it run on. In a
kernel with kmemleak, memory that the cases have lost is a failure at the end. Of a failure, `# CASE=path` is said: the case alone.

NOT_YET names a file of `path<TAB>what it lacks` for cases that do not say themselves what they require. LONG names a file of
`path<TAB>seconds`: cases that are skipped because they take so long. CASE_LIMIT is how
many seconds a case may take (900); TOGGLES, which is for one case, gives every case a second more for each. RUNNER_OPTIONS
are options for the runner.
"""
import glob
import itertools
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

TRACING = "/sys/kernel/tracing"
KMEMLEAK = "/sys/kernel/debug/kmemleak"
YOUNG = 6  # seconds in which kmemleak takes nothing for lost
LIMIT = int(os.environ.get("CASE_LIMIT") or 900) + int(os.environ.get("TOGGLES") or 0)  # seconds for a case
OPTIONS = os.environ.get("RUNNER_OPTIONS", "").split()
# The folder that `requires:` names files of.
FILES = os.path.join(TRACING, "rv") if "--rv" in OPTIONS else TRACING
# Upstream's test of mmiotrace says so itself.
COMPLAINT = re.compile(r"(?<!testmmiotrace: )WARNING: |BUG: |Oops|Call Trace:|general protection|blocked for more|detected stall|rcu: INFO|"
                       "UBSAN|KASAN|KCSAN")
# KCSAN finds races of Linux's own: a report is of ours if somebody of ours is in it, above what an interrupt has interrupted.
RACE = "BUG: KCSAN: "
INTERRUPT = " asm_"
# fork(2) copies the running task while it is traced, and gives the copy its own state of tracing after that.
COPIED = "arch_dup_task_struct"
OURS = re.compile(r"rtrace|trac|ring_buffer|probe")
PLAN = re.compile(r"^1\.\.(\d+)$")
RESULT = re.compile(r"^(ok|not ok) (\d+) *(.*?) *(?:# (SKIP|UNRESOLVED|XFAIL|error).*)?$")
SHOWN = 60  # lines of a log
LEAKS_SHOWN = 200


class KernelLog:
    """What the kernel says from now on."""

    def __init__(self):
        self.file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.file, 0, os.SEEK_END)

    def new(self):
        """The lines since it was asked last."""
        lines = []
        while True:
            try:
                record = os.read(self.file, 8192).decode(errors="replace")
            except BlockingIOError:
                return lines
            except BrokenPipeError:
                lines.append("BUG: the test has lost messages")
                continue
            lines.append(record.partition(";")[2].partition("\n")[0])

    def complaint(self):
        """The first thing in them that should not be, and what follows."""
        lines = self.new()
        for at, line in enumerate(lines):
            if COMPLAINT.search(line) and not is_foreign_race(lines[at:]):
                return lines[at:at + SHOWN]
        return []


def is_foreign_race(lines):
    """Whether they begin with a report of a race between two others; its end is a line of `=`."""
    if RACE not in lines[0]:
        return False
    report = list(itertools.takewhile(lambda line: not line.startswith("===="), lines))
    if any(COPIED in line for line in report):
        return True
    interrupted = False
    for line in report:
        # Stacks are apart by an empty line.
        interrupted = bool(line) and (interrupted or line.startswith(INTERRUPT))
        if not interrupted and OURS.search(line):
            return False
    return True


def title_of(case):
    """What the runner calls a case, or the path of one that has no description."""
    if os.path.isdir(case):
        return case
    with open(case, encoding="utf-8") as file:
        found = re.search(r"^#[ \t]*description:[ \t]*(.*)", file.read(), re.M)
    return found[1] if found else case


class Suite:
    """Results, as they come."""

    def __init__(self, runner):
        self.runner = runner
        self.number = 0
        self.log = KernelLog()

    def say(self, good, title, note=""):
        self.number += 1
        print(f"{'ok' if good else 'not ok'} {self.number} {title}{f' # {note}' if note else ''}", flush=True)

    def explain(self, what, lines):
        print(f"# {what}", *(f"#   {line}" for line in lines), sep="\n", flush=True)

    def run(self, cases):
        """Run `cases`; gives the ones that are left where one did not end. (Their repetitions in an instance are not.)"""
        with tempfile.TemporaryDirectory() as logs:
            with subprocess.Popen(["sh", self.runner, "--ktap", "--keep", "--logdir", logs, *OPTIONS, *cases], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as process:
                done = planned = 0
                path_of = {title_of(case): case for case in cases if os.path.exists(case)}
                for line, seconds in lines_of(process, LIMIT):
                    if plan := PLAN.match(line):
                        planned = int(plan[1])
                    if found := RESULT.match(line):
                        # Behind the last one come the repetitions in an instance.
                        case = cases[done] if done < len(cases) else ""
                        self.report(found, logs, f"{seconds:.0f} s" + f": {case}" * bool(case),
                                    case or path_of.get(found[3].removeprefix("(instance)").strip()))
                        done += 1
                ended = process.poll() is not None
                if not ended:
                    os.killpg(process.pid, signal.SIGKILL)
            if complaint := self.log.complaint():
                self.explain("the kernel complained:", complaint)
            if ended and done >= planned > 0 and process.returncode >= 0:
                if complaint:
                    self.say(False, "the end of the runner")
                return []
            name = cases[done] if done < len(cases) else "the cases in an instance"
            self.explain("what it said:", self.tail(logs, done + 1))
            if done < len(cases):
                print(f"# CASE={name}")
            self.say(False, f"{name}: " + ("the runner ended before it" if ended else f"did not end within {LIMIT} s"))
            return cases[done + 1:]

    def report(self, found, logs, took, case):
        print(f"# {took}")
        kind, number, title, word = found.groups()
        complaint = self.log.complaint()
        good = (kind == "ok" or word == "UNRESOLVED") and not complaint
        if complaint:
            self.explain("the kernel complained:", complaint)
        if not good:
            self.explain("what it said:", self.tail(logs, number))
            if case:
                print(f"# CASE={case}")
        notes = {"SKIP": "SKIP not supported by this kernel", "UNRESOLVED": "SKIP unresolved"}
        self.say(good, title, notes.get(word, "") if good else "")

    def report_leaks(self):
        """What no pointer is found to any more."""
        time.sleep(YOUNG)
        # What has changed since the scan before is not reported yet.
        for _ in range(2):
            with open(KMEMLEAK, "w", encoding="ascii") as file:
                file.write("scan")
        with open(KMEMLEAK, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        if lines:
            self.explain("memory that nothing points to:", lines[:LEAKS_SHOWN])
        self.say(not lines, "no memory is lost")

    @staticmethod
    def tail(logs, number):
        for path in glob.glob(f"{logs}/{number}-*-log.*"):
            with open(path, errors="replace", encoding="utf-8") as file:
                return file.read().splitlines()[-SHOWN:]
        return []


def lines_of(process, limit):
    """The lines of a process's output, each with the seconds since the one before; until it ends or says nothing for too long."""
    rest, last = b"", time.monotonic()
    while select.select([process.stdout], [], [], max(0, last + limit - time.monotonic()))[0]:
        block = os.read(process.stdout.fileno(), 1 << 16)
        if not block:
            process.wait()
            return
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            now = time.monotonic()
            yield line.decode(errors="replace"), now - last
            last = now


def listed(variable):
    """The lines `path<TAB>text` of the file that an environment variable names."""
    path = os.environ.get(variable)
    if not path:
        return []
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t", 1) for line in file if line.strip() and not line.startswith("#")]


def why_not(case, not_yet, long):
    """Why a case is skipped, or None: a file of its `requires:` is missing, NOT_YET or LONG names it. The runner looks for a folder's."""
    if os.path.isdir(case):
        return None
    if seconds := next((seconds for path, seconds in long if case.endswith(f"/{path}")), None):
        return f"takes {seconds} s, and QUICK=1 is given"
    with open(case, encoding="utf-8") as file:
        requires = " ".join(re.findall(r"^#[ \t]*requires:(.*)", file.read(), re.M))
    # A text in quotes, of a file that should have it, is looked for by the runner.
    for name in re.findall(r"""(?:"[^"]*"|'[^']*'|\S)+""", requires):
        if not re.search(r"[:\"']", name) and not os.path.exists(os.path.join(FILES, name)):
            return f"no {name}"
    return next((lack for path, lack in not_yet if f"/test.d/{path}" in case), None)


def entry():
    runner, *cases = sys.argv[1:]
    not_yet, long = listed("NOT_YET"), listed("LONG")
    print("KTAP version 1")
    suite, wanted = Suite(runner), []
    for case in cases:
        if reason := why_not(case, not_yet, long):
            suite.say(True, title_of(case), f"SKIP {reason}")
        else:
            wanted.append(case)
    while wanted:
        wanted = suite.run(wanted)
    if os.path.exists(KMEMLEAK):
        suite.report_leaks()
    print(f"1..{suite.number}")


if __name__ == "__main__":
    entry()
