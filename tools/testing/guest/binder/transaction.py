#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Two processes and one Binder transaction: `transaction.py DEVICE`, in tracefs.

A child is the context manager and answers a text with the same text reversed. tracing_on is 1 from just before the transaction
until the reply has been read, and 0 at the end. Prints the pids of client and manager.
"""
import ctypes
import fcntl
import os
import struct
import sys

REQUEST = b"what is traced here?"
CODE = 0x7274

# struct binder_write_read, and struct binder_transaction_data with the addresses of data and offsets.
WRITE_READ = struct.Struct("=6Q")
TRANSACTION = struct.Struct("=QQIIiIQQQQ")
MAP_SIZE = 1 << 20
PROT_READ, MAP_PRIVATE = 1, 2


def ioc(direction, group, number, size):
    """A command of ioctl() or of the protocol, as <linux/ioctl.h> makes it."""
    return direction << 30 | size << 16 | ord(group) << 8 | number


BINDER_WRITE_READ = ioc(3, "b", 1, WRITE_READ.size)
BINDER_SET_CONTEXT_MGR = ioc(1, "b", 7, 4)
BINDER_VERSION = ioc(3, "b", 9, 4)
BC_TRANSACTION = ioc(1, "c", 0, TRANSACTION.size)
BC_REPLY = ioc(1, "c", 1, TRANSACTION.size)
BC_FREE_BUFFER = ioc(1, "c", 3, 8)
BC_ENTER_LOOPER = ioc(0, "c", 12, 0)
BR_TRANSACTION = ioc(2, "r", 2, TRANSACTION.size)
BR_REPLY = ioc(2, "r", 3, TRANSACTION.size)
BR_TRANSACTION_COMPLETE = ioc(0, "r", 6, 0)
BR_NOOP = ioc(0, "r", 12, 0)


class Binder:
    """An open Binder device, with the memory that transactions arrive in."""

    def __init__(self, device):
        self.fd = os.open(device, os.O_RDWR | os.O_CLOEXEC)
        version = bytearray(4)
        fcntl.ioctl(self.fd, BINDER_VERSION, version)
        if version != struct.pack("=i", 8):
            sys.exit(f"protocol version {version}")
        mmap = ctypes.CDLL(None, use_errno=True).mmap
        mmap.restype = ctypes.c_void_p
        mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        if mmap(None, MAP_SIZE, PROT_READ, MAP_PRIVATE, self.fd, 0) == ctypes.c_void_p(-1).value:
            sys.exit(f"mmap of {device}: {os.strerror(ctypes.get_errno())}")

    def write_read(self, write, room=256):
        """One BINDER_WRITE_READ; gives what was read, as pairs of a command and its data."""
        written, answer = ctypes.create_string_buffer(write), ctypes.create_string_buffer(room)
        call = bytearray(WRITE_READ.pack(len(write), 0, ctypes.addressof(written), room, 0, ctypes.addressof(answer)))
        fcntl.ioctl(self.fd, BINDER_WRITE_READ, call)
        _, consumed, _, _, read, _ = WRITE_READ.unpack(call)
        if consumed != len(write):
            sys.exit(f"{consumed} bytes of {len(write)} were taken")
        at, answers = 0, []
        while at < read:
            command, = struct.unpack_from("=I", answer, at)
            size = command >> 16 & 0x3FFF
            answers.append((command, answer.raw[at + 4:at + 4 + size]))
            at += 4 + size
        return answers

    def wait_for(self, wanted, write=b""):
        """Write, and read until `wanted` comes; gives its code and its text, and what frees its buffer."""
        while True:
            for command, data in self.write_read(write):
                if command == wanted:
                    _, _, code, _, _, _, size, _, buffer, _ = TRANSACTION.unpack(data)
                    return code, ctypes.string_at(buffer, size), struct.pack("=IQ", BC_FREE_BUFFER, buffer)
                if command not in (BR_NOOP, BR_TRANSACTION_COMPLETE):
                    sys.exit(f"answered {command:#x} instead of {wanted:#x}")
            write = b""


def command(number, code, text):
    """The command `number` with a transaction of `text` to the context manager, or a reply; the text must stay where it is."""
    return struct.pack("=I", number) + TRANSACTION.pack(0, 0, code, 0, 0, 0, len(text) - 1, 0, ctypes.addressof(text), 0)


def manage(device, ready):
    """The context manager: answers one transaction."""
    binder = Binder(device)
    fcntl.ioctl(binder.fd, BINDER_SET_CONTEXT_MGR, 0)
    binder.write_read(struct.pack("=I", BC_ENTER_LOOPER), room=0)
    os.write(ready, b"r")
    code, text, free = binder.wait_for(BR_TRANSACTION)
    if code != CODE:
        sys.exit(f"the code that came is {code:#x}")
    reply = ctypes.create_string_buffer(text[::-1])
    binder.write_read(free + command(BC_REPLY, code, reply), room=0)
    # It stays until the client has ended.
    sys.stdin.read()


def tracing(on):
    with open("tracing_on", "w") as file:
        file.write(str(on))


def main(device):
    ready, tell = os.pipe()
    hold, go = os.pipe()
    manager = os.fork()
    if manager == 0:
        os.close(go)
        os.dup2(hold, 0)
        manage(device, tell)
        os._exit(0)
    os.close(tell)
    if os.read(ready, 1) != b"r":
        sys.exit("there is no context manager")
    binder, request = Binder(device), ctypes.create_string_buffer(REQUEST)
    tracing(1)
    _, text, free = binder.wait_for(BR_REPLY, command(BC_TRANSACTION, CODE, request))
    tracing(0)
    binder.write_read(free, room=0)
    if text != REQUEST[::-1]:
        sys.exit(f"the reply is {text}")
    os.close(go)
    if os.waitstatus_to_exitcode(os.waitpid(manager, 0)[1]):
        sys.exit("the context manager failed")
    print(os.getpid(), manager)


if __name__ == "__main__":
    main(sys.argv[1])
