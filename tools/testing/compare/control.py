# SPDX-License-Identifier: GPL-2.0
"""Control files, read and written as bytes, with the names of errors."""
import errno
import os

TRACING = "/sys/kernel/tracing"
WRITE, APPEND, TRUNC, BOTH = os.O_WRONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC, os.O_RDWR
FLAGS = {WRITE: "", APPEND: "append ", TRUNC: "trunc ", BOTH: "both "}


def code(error):
    """The name of an error."""
    return errno.errorcode.get(error.errno, str(error.errno))


def attempt(call, *arguments):
    """What a call gives, or the name of its error."""
    try:
        return call(*arguments)
    except OSError as error:
        return code(error)


def put(path, data, flags=WRITE):
    """Writes a file at once."""
    try:
        file = os.open(f"{TRACING}/{path}", flags | os.O_NONBLOCK)
    except OSError as error:
        return f"open {code(error)}"
    try:
        return attempt(os.write, file, data.encode("latin-1", "replace") if isinstance(data, str) else data)
    finally:
        attempt(os.close, file)


def read(path, most=1 << 20):
    """A file's text."""
    try:
        file = os.open(f"{TRACING}/{path}", os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        return f"(open {code(error)})"
    text = b""
    try:
        while len(text) < most and (piece := os.read(file, 65536)):
            text += piece
    except OSError as error:
        text += f"({code(error)})".encode()
    finally:
        os.close(file)
    return text.decode("latin-1")


def some_instance(texts, tops=3):
    """Where the files of an instance are: so many times the top one, once another."""
    place = texts.one(*[""] * tops, "instances/i/")
    if place:
        attempt(os.mkdir, f"{TRACING}/instances/i")
    return place


def plain_lines():
    """An empty buffer, and lines without what goes before an entry."""
    put("trace_options", "nocontext-info")
    put("trace", "", TRUNC)
