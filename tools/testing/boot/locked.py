# SPDX-License-Identifier: GPL-2.0
"""Are all of the kernel's events unknown to perf, and can nothing of tracefs be opened? For a kernel that was locked down at boot."""
import ctypes
import errno
import os
import struct
import sys

PERF_EVENT_OPEN = 298
TRACEPOINT = 2


def perf_event_open(event):
    """The number of the error, or 0."""
    attributes = struct.pack("<IIQ", TRACEPOINT, 64, event) + bytes(48)
    libc = ctypes.CDLL(None, use_errno=True)
    opened = libc.syscall(PERF_EVENT_OPEN, attributes, -1, 0, -1, 0)
    if opened < 0:
        return ctypes.get_errno()
    os.close(opened)
    return 0


said = {event: perf_event_open(event) for event in range(3000)}
known = [event for event, error in said.items() if error != errno.EINVAL]
if known:
    sys.exit(f"perf has events {known[:10]}: {os.strerror(said[known[0]])}")
for name in ("trace", "available_events", "instances/one/trace"):
    try:
        os.close(os.open(name, os.O_RDONLY))
    except OSError:
        continue
    sys.exit(f"{name} can be opened")
