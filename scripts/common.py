# SPDX-License-Identifier: GPL-2.0
"""What the scripts share: where things lie, how to stop with one line, how to show progress.

`build/` holds what belongs to this checkout; CACHE what is worth keeping between checkouts.
"""
import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "rtrace")
SERIES = "7.3"  # the one Linux series the patches are for
GIB = 1 << 30


class Stop(Exception):
    """The run cannot go on; the text is the one line the user sees."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def main(entry):
    """Run a script's entry point; turn every expected failure into one line and an exit status."""
    def terminated(*_):
        raise Stop("terminated", 143)

    signal.signal(signal.SIGTERM, terminated)
    try:
        sys.exit(entry() or 0)
    except Stop as stop:
        clear_progress()
        print(f"rtrace: {stop}", file=sys.stderr)
        sys.exit(stop.status)
    except BrokenPipeError:
        sys.exit(141)
    except OSError as problem:  # a folder that is another user's, a full disk
        clear_progress()
        print(f"rtrace: {problem}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        clear_progress()
        print("rtrace: interrupted", file=sys.stderr)
        sys.exit(130)


def say(text):
    clear_progress()
    print(f"rtrace: {text}", flush=True)


class _Progress:
    """One line that rewrites itself on a terminal, a line every quarter of a minute elsewhere."""

    def __init__(self):
        self.last = 0.0
        self.shown = False

    def show(self, text):
        now = time.monotonic()
        terminal = sys.stdout.isatty()
        if now - self.last < (0.1 if terminal else 15):
            return
        self.last = now
        if terminal:
            width = shutil.get_terminal_size().columns - 1
            print("\r\033[K" + text[:width], end="", flush=True)
            self.shown = True
        else:
            print(text, flush=True)

    def clear(self):
        if self.shown:
            print("\r\033[K", end="", flush=True)
            self.shown = False


_progress = _Progress()
progress = _progress.show
clear_progress = _progress.clear


def output_of(*command, env=None):
    """Standard output of a command, or None where it is missing or fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL, env=env, text=True, errors="replace", check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def read(path, default=None):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return default


def write(path, text):
    """Write a file whole or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = f"{path}.part{os.getpid()}"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def need_space(path, gib, what):
    """Stop before a step that would fill the disk half-way through."""
    os.makedirs(path, exist_ok=True)
    free = shutil.disk_usage(path).free
    if free < gib * GIB:
        raise Stop(f"{what} needs {gib:g} GiB in {path}, and {free / GIB:.1f} GiB are free")


@contextlib.contextmanager
def locked(path, what):
    """One at a time: a second run in the same place waits and says so."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run: {what}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def scratch(parent, name):
    """A directory that is gone afterwards, however the block ends; left-overs of killed runs go first."""
    os.makedirs(parent, exist_ok=True)
    prefix = f".{name}-"
    for old in os.listdir(parent):
        pid = old[len(prefix):]
        if old.startswith(prefix) and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            shutil.rmtree(os.path.join(parent, old), ignore_errors=True)
    path = os.path.join(parent, f"{prefix}{os.getpid()}")
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
