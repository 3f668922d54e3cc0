# SPDX-License-Identifier: GPL-2.0
"""The grammars of operations.py, a file each. What is meant to differ (Documentation/coming-from-c.md) is not asked for: each
file says what it leaves out, and why."""
from . import (filters, functions, hists, injects, markers, options, pids, probes, seeks, set_event, tree, triggers, users, values)

# The round of each, by its name.
GRAMMARS = {
    "filters": filters.run,
    "triggers": triggers.run,
    "hists": hists.run,
    "probes": probes.run,
    "kprobes": probes.mostly_in("kprobe_events"),
    "uprobes": probes.mostly_in("uprobe_events"),
    "synthetics": probes.mostly_in("synthetic_events"),
    "set_event": set_event.run,
    "pids": pids.run,
    "functions": functions.run,
    "options": options.run,
    "values": values.run,
    "markers": markers.run,
    "injects": injects.run,
    "tree": tree.run,
    "seeks": seeks.run,
    "users": users.run,
}
