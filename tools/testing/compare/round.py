# SPDX-License-Identifier: GPL-2.0
"""A round of operations, and what is printed of it.

Taken away before it is printed: what differs between two boots; the order where it is that of a hash in C; what
Documentation/coming-from-c.md says of options that C does not have, of `common_cpu` and of user events.
"""
import os
import re
import zlib

from control import APPEND, BOTH, FLAGS, TRACING, TRUNC, WRITE, attempt, put, read


def visible(text):
    """Takes away what differs between two boots."""
    text = re.sub(r"^\[ *\d+\.\d+\] ", "", text, flags=re.M)
    text = re.sub(r"^ID: \d+$", "ID: N", text, flags=re.M)
    text = re.sub(r"^(no)?rust-(demangle|paths)\n", "", text, flags=re.M)  # Options that C does not have.
    text = re.sub(r"(?<![0-9a-f])(0x)?00000000[0-9a-f]{8}\b", "HASHED", text)
    text = re.sub(r"common_cpu(common_cpu|cpu|CPU)\b", "common_cpu", text)  # C prints it twice.
    text = re.sub(r"(field:[\w ]*char \w+)\[-?\d*\];", r"\1[];", text)  # In user events, C has not set the length.
    text = re.sub(r"( ts: +)[\d.]+", r"\1T", text)
    return re.sub(r"\b(0x)?ffff[0-9a-f]{12}\b", "ADDRESS", text)


def brief(data):
    """A text as it is printed: a long run of one letter is told by its length."""
    text = ascii(data)
    if len(text) > 1500:
        text = f"{text[:300]}...{text[-100:]} {zlib.crc32(text.encode()):08x}"
    return re.sub(r"(.)\1{24,}", lambda run: f"{run[1]}{{{len(run[0])}}}", text)


def compared(file):
    """What is compared of a file."""
    text = visible(read(file))
    # What fills up the last word of a raw mark is what was there before.
    text = re.sub(r"^(.*# [0-9a-f]+ buf:.*?)( [0-9a-f]{2}){1,3}$", r"\1", text, flags=re.M)
    # In C, the order is that of a hash.
    if re.search(r"set_graph_(function|notrace)$|set_ftrace_(filter|notrace)$|user_events_status$", file):
        text = "\n".join(sorted(text.splitlines()))
    if file.endswith("set_ftrace_filter") and ":mod:" in text:
        # C may not list commands behind what is meant for modules.
        text = "\n".join(line for line in text.splitlines() if ":" not in line or ":mod:" in line)
    if os.path.basename(file) in ("trace", "snapshot"):
        text = "\n".join(line for line in text.splitlines() if not re.match("# tracer|#$|# entries|#  |# \\*", line))
    return text


class Round:
    """One round: operations, and the files to look at."""

    ONCE = ["error_log"]

    def __init__(self, texts, name, number):
        self.texts, self.name, self.number = texts, name, number
        self.count = 0
        self.files, self.seen = [], {}

    def tell(self, text):
        """Prints a line."""
        print(f"exact {self.name} {self.number}.{self.count} {text}")

    def watch(self, *files):
        """Looks at these files after each operation."""
        for file in files:
            if file not in self.files:
                self.files.append(file)
                self.seen[file] = compared(file)

    def show(self, file):
        """Looks at this file from now on."""
        if file not in self.files:
            self.files.append(file)
            self.look()

    def look(self):
        """Prints the files that have changed."""
        for file in self.files + self.ONCE:
            text = compared(file)
            if text != self.seen.get(file, ""):
                self.seen[file] = text
                lines = text.splitlines() or ["(empty)"]
                for line in lines[:60] + lines[60:][-1:]:
                    self.tell(f"  {file}: {brief(line)[1:-1]}")

    def start(self, what):
        """The next operation."""
        put("error_log", "\n", TRUNC)
        self.seen["error_log"] = ""
        self.count += 1
        self.tell(what)

    def cut(self, data):
        """The data, in some cases in pieces."""
        texts, cuts = self.texts, []
        if texts.chance(12) and data:
            cuts = sorted(texts.random.randrange(len(data) + 1) for _ in range(texts.one(1, 1, 2)))
        return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)])]

    def write(self, path, data, flags=None, whole=False):
        """One operation: a file is opened, written in one or several pieces unless `whole`, and closed."""
        if flags is None:
            flags = self.texts.one(APPEND, APPEND, APPEND, APPEND, APPEND, APPEND, WRITE, WRITE, TRUNC, BOTH)
        data = data.encode("latin-1", "replace")
        pieces = [data] if whole else self.cut(data)
        again = self.texts.chance(20)
        self.start(f"{FLAGS[flags]}{path} < {' '.join(map(brief, pieces))}{' again' if again else ''}")
        results = []
        file = attempt(os.open, f"{TRACING}/{path}", flags | os.O_NONBLOCK)
        if isinstance(file, str):
            results = [f"open {file}"]
        else:
            for piece in pieces:
                for _ in range(40):
                    written = attempt(os.write, file, piece)
                    results.append(written)
                    # A program that goes on after a short write.
                    if isinstance(written, str) or not 0 < written < len(piece) or not again:
                        break
                    piece = piece[written:]
            results.append(attempt(os.close, file) or "closed")
        if not isinstance(results[0], int) or len(results) > 2 or results[0] != len(data):
            self.tell(f"  gives {' '.join(map(str, results))}")
        self.look()

    def call(self, what, function, *arguments):
        """Another operation, told by its result."""
        self.start(what)
        result = attempt(function, *arguments)
        self.tell(f"  gives {brief(visible(result.decode('latin-1'))) if isinstance(result, bytes) else result}")
        self.look()
