# SPDX-License-Identifier: GPL-2.0
"""Who polls the hist file of an event is told when the event goes."""
import os
import select
import threading
import time

TRACING = os.environ["TRACING_DIR"]
DEFINITIONS = f"{TRACING}/dynamic_events"


def define(text):
    fd = os.open(DEFINITIONS, os.O_WRONLY | os.O_APPEND)
    os.write(fd, text.encode() + b"\n")
    os.close(fd)


for definition, hist, end in (
        ("p:gone/probe vfs_fsync", "gone/probe", "-:gone/probe"),
        ("s:gone_synth int x", "synthetic/gone_synth", "!s:gone_synth int x"),
        ("e:gone/of_exec sched/sched_process_exec", "gone/of_exec", "-:gone/of_exec")):
    define(definition)
    fd = os.open(f"{TRACING}/events/{hist}/hist", os.O_RDONLY)
    poll = select.poll()
    poll.register(fd, select.POLLIN | select.POLLPRI)
    remover = threading.Timer(1, define, [end])
    remover.start()
    begun = time.monotonic()
    # When the time is over, it looks again, too.
    found = poll.poll(60000)
    waited = time.monotonic() - begun
    remover.join()
    os.close(fd)
    assert found == [(fd, select.POLLERR)] and waited < 50, f"{definition}: {found} after {waited:.0f} s"
