#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`make run`: set up, build, boot, and show rtrace at work on a real command; then a shell where there is a terminal."""
import os
import subprocess
import sys

import setup
from common import ROOT, main
from config import name_of
from kernel import build_name


def script(name, **variables):
    """Run one of our scripts; its own line says what went wrong."""
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", name)],
                          env=dict(os.environ, **variables), check=False)
    if done.returncode:
        sys.exit(done.returncode)


def entry():
    setup.entry()
    sys.stdout.flush()
    trace, kind = os.environ.get("TRACE") or "rtrace", os.environ.get("CONFIG")
    script("kernel.py", TRACE=trace)
    kernel = os.environ.get("KERNEL") or (build_name(trace, name_of(kind)) if kind else "rtrace")
    script("guest.py", KERNEL=kernel, CMD=f"sh '{ROOT}/scripts/guest.d/demo'", GUEST_COMMAND="")
    if sys.stdin.isatty() and sys.stdout.isatty():
        script("guest.py", KERNEL=kernel, CMD="", GUEST_COMMAND="")


if __name__ == "__main__":
    main(entry)
