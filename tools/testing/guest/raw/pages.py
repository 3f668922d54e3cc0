# SPDX-License-Identifier: GPL-2.0
"""Sub-buffers as they leave the kernel: reading them apart."""
import struct

PAGE = 4096
PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31


class Page:
    """One sub-buffer: its time, the events on it as (time, payload), and what was lost before it."""

    def __init__(self, data):
        self.time, self.commit = struct.unpack_from("<QQ", data)
        self.length = self.commit & 0x3FFFFFFF
        self.lost_some = bool(self.commit & 1 << 31)
        self.lost = None
        if self.commit & 1 << 30:
            self.lost = struct.unpack_from("<Q", data, 16 + self.length)[0]
        self.tail = data[16 + self.length + (8 if self.lost is not None else 0):]
        self.events = list(self._events(data[16:16 + self.length]))

    def _events(self, records):
        at, time = 0, self.time
        while at < len(records):
            word, = struct.unpack_from("<I", records, at)
            kind, delta = word & 31, word >> 5
            if kind in (TIME_EXTEND, TIME_STAMP):
                high = struct.unpack_from("<I", records, at + 4)[0] << 27
                time = time + delta + high if kind == TIME_EXTEND else time >> 59 << 59 | high | delta
                at += 8
                continue
            time += delta
            if kind == PADDING and not delta:
                return
            if kind in (0, PADDING):
                size, = struct.unpack_from("<I", records, at + 4)
                payload, size = records[at + 8:at + 4 + size], 4 + (size + 3 & ~3)
            else:
                size = 4 + 4 * kind
                payload = records[at + 4:at + size]
            if kind != PADDING:
                yield time, payload
            at += size


def marks(page):
    """The texts of the markers on a page (entries of type 5)."""
    return [payload[16:].split(b"\0")[0] for _, payload in page.events if struct.unpack_from("<H", payload)[0] == 5]
