# SPDX-License-Identifier: GPL-2.0
"""What QUICK=1 leaves out of a suite: its file `long`, lines of `name<TAB>seconds`."""
import os


def seconds_of_long(folder):
    """The seconds that a name takes which is to be left out; of none without QUICK."""
    path = os.path.join(folder, "long")
    if not os.environ.get("QUICK") or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t", 1) for line in file if line.strip() and not line.startswith("#"))
