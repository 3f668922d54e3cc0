# SPDX-License-Identifier: GPL-2.0
"""BPF programs of two instructions, loaded and put at events by the system calls alone: for tests of who runs them and what
they decide. How often a program ran is counted by the kernel."""
import ctypes
import fcntl
import mmap
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_PERF_EVENT_OPEN, SYS_BPF = 298, 321
PROG_LOAD, OBJ_GET_INFO, RAW_TRACEPOINT_OPEN, TASK_FD_QUERY, LINK_CREATE, ENABLE_STATS = 5, 15, 17, 20, 28, 32
KPROBE, TRACEPOINT, RAW_TRACEPOINT = 2, 5, 17  # types of programs
KPROBE_MULTI, UPROBE_MULTI = 42, 48  # what they are attached by
IOC_ENABLE, IOC_SET_BPF = 0x2400, 0x40042408
TYPE_TRACEPOINT = 2  # of perf's events


class Error(OSError):
    pass


def called(number, *arguments):
    result = LIBC.syscall(number, *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise Error(error, os.strerror(error))
    return result


def bpf(command, attributes):
    room = ctypes.create_string_buffer(attributes, max(len(attributes), 144))
    return called(SYS_BPF, command, room, len(room)), room.raw


def moved(value):
    """r0 = value"""
    return struct.pack("<BBhi", 0xb7, 0, 0, value)


EXIT = struct.pack("<BBhi", 0x95, 0, 0, 0)


def override(value):
    """r2 = value; bpf_override_return(r1, r2)"""
    return struct.pack("<BBhi", 0xb7, 2, 0, value) + struct.pack("<BBhi", 0x85, 0, 0, 58)


class Program:
    """A program of a type that does `body`, and returns `result`."""

    def __init__(self, kind, result=0, body=b"", attach=0):
        code = ctypes.create_string_buffer(body + moved(result) + EXIT)
        licence = ctypes.create_string_buffer(b"GPL")
        attributes = struct.pack("<IIQQ", kind, (len(code) - 1) // 8, ctypes.addressof(code), ctypes.addressof(licence))
        attributes = attributes.ljust(68, b"\0") + struct.pack("<I", attach)
        self.fd, _ = bpf(PROG_LOAD, attributes)
        self.keep = code, licence

    def runs(self):
        info = ctypes.create_string_buffer(232)
        bpf(OBJ_GET_INFO, struct.pack("<IIQ", self.fd, len(info), ctypes.addressof(info)))
        return struct.unpack_from("<Q", info, 200)[0]

    def at_raw_tracepoint(self, name):
        text = ctypes.create_string_buffer(name.encode())
        return bpf(RAW_TRACEPOINT_OPEN, struct.pack("<QI", ctypes.addressof(text), self.fd))[0]

    def at_kprobes(self, *symbols, is_return=False):
        texts = [ctypes.create_string_buffer(name.encode()) for name in symbols]
        array = (ctypes.c_uint64 * len(texts))(*map(ctypes.addressof, texts))
        more = struct.pack("<IIQQQ", int(is_return), len(texts), ctypes.addressof(array), 0, 0)
        return bpf(LINK_CREATE, struct.pack("<IIII", self.fd, 0, KPROBE_MULTI, 0) + more)[0]

    def at_uprobes(self, path, *offsets, is_return=False):
        text = ctypes.create_string_buffer(path.encode())
        array = (ctypes.c_uint64 * len(offsets))(*offsets)
        more = struct.pack("<QQQQIII", ctypes.addressof(text), ctypes.addressof(array), 0, 0, len(offsets), int(is_return), 0)
        return bpf(LINK_CREATE, struct.pack("<IIII", self.fd, 0, UPROBE_MULTI, 0) + more)[0]


class PerfEvent:
    """One of perf's events on this CPU."""

    SAMPLED = 0, 0  # period and type of samples

    def __init__(self, kind, config, word1=0, word2=0, pid=-1, cpu=0):
        attributes = bytearray(136)
        struct.pack_into("<IIQQQ", attributes, 0, kind, len(attributes), config, *self.SAMPLED)
        struct.pack_into("<QQ", attributes, 56, word1, word2)
        raw = (ctypes.c_char * len(attributes)).from_buffer(attributes)
        self.fd = called(SYS_PERF_EVENT_OPEN, raw, pid, cpu, -1, 8)

    @classmethod
    def tracepoint(cls, name, **more):
        with open(f"/sys/kernel/tracing/events/{name}/id", encoding="ascii") as number:
            return cls(TYPE_TRACEPOINT, int(number.read()), **more)

    @classmethod
    def local(cls, pmu, text, offset=0, is_return=False, **more):
        """A probe of this event alone; pmu is kprobe or uprobe."""
        with open(f"/sys/bus/event_source/devices/{pmu}/type", encoding="ascii") as number:
            name = ctypes.create_string_buffer(text.encode())
            return cls(int(number.read()), int(is_return), ctypes.addressof(name), offset, **more)

    def attach(self, program):
        fcntl.ioctl(self.fd, IOC_SET_BPF, program.fd)
        return self

    def count(self):
        return struct.unpack("<Q", os.read(self.fd, 8))[0]

    def end(self):
        os.close(self.fd)

    def described(self):
        """What the kernel says of its program: the kind of descriptor, the name, the offset, the address."""
        name = ctypes.create_string_buffer(4096)
        request = struct.pack("<IIIIQIIQQ", os.getpid(), self.fd, 0, len(name), ctypes.addressof(name), 0, 0, 0, 0)
        _, answer = bpf(TASK_FD_QUERY, request)
        kind, offset, address = struct.unpack_from("<IQQ", answer, 28)
        return kind, name.value.decode(), offset, address


class Samples(PerfEvent):
    """One whose samples are kept, each as the entry that it is of."""

    SAMPLED = 1, 1 << 10

    def __init__(self, *place, **more):
        super().__init__(*place, **more)
        self.ring = mmap.mmap(self.fd, 9 * mmap.PAGESIZE)

    def raw(self):
        at, end = mmap.PAGESIZE, mmap.PAGESIZE + struct.unpack_from("<Q", self.ring, 1024)[0]
        while at < end:
            kind, _, size, length = struct.unpack_from("<IHHI", self.ring, at)
            if kind == 9:
                yield self.ring[at + 12:at + 12 + length]
            at += size


def count_runs():
    """Has the kernel count runs of programs from now on."""
    return bpf(ENABLE_STATS, struct.pack("<I", 0))[0]
