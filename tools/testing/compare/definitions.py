#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Histograms, filters, triggers and synthetic events made from a grammar, good ones and bad ones; in the guest.

definitions.py SEED COUNT prints what happens to COUNT rounds: the error number of each write, the new entry of error_log,
what the files read back, and what is counted when known entries come. The same seed gives the same rounds, so two kernels
can be compared. ROUND=N,N… runs only those, GROUP=N prints so many rounds as one part. Lines begin with `exact `: compare/run leaves their numbers alone.
"""
import ctypes
import errno
import fcntl
import mmap
import os
import random
import re
import struct
import sys

from grammar import Choices

REG = 0xC0082A00
TRACING = "/sys/kernel/tracing"
# Fields of the event that this program writes, with their sizes.
FIELDS = {"a8": "u8", "s8": "s8", "a16": "u16", "s16": "s16", "a32": "u32", "s32": "s32", "a64": "u64", "s64": "s64",
          "name": "char[16]", "txt": "__data_loc char[]", "rel": "__rel_loc char[]"}
NUMBERS = [name for name, ctype in FIELDS.items() if "char" not in ctype]
TEXTS = [name for name in FIELDS if name not in NUMBERS]
WORDS = ["one", "two", "three", "", "a b", "One*", "x[1]", "onetwo"]
EVENTS = ["user_events/gen", "user_events/gen2", "sched/sched_switch", "sched/sched_waking", "raw_syscalls/sys_enter",
          "irq/irq_handler_entry", "timer/timer_start", "syscalls/sys_enter_openat", "synthetic/syn", "synthetic/lat", "synthetic/one"]
REAL = {
    "sched/sched_switch": ["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"],
    "sched/sched_waking": ["comm", "pid", "prio", "target_cpu"],
    "raw_syscalls/sys_enter": ["id", "args"],
    "irq/irq_handler_entry": ["irq", "name"],
    "timer/timer_start": ["timer", "function", "expires", "flags"],
    "syscalls/sys_enter_openat": ["__syscall_nr", "dfd", "filename", "flags", "mode"],
    "synthetic/syn": ["v", "t", "st"],
    "synthetic/one": ["v"],
    "synthetic/lat": ["lat", "pid", "comm"],
}
COMMON = ["common_pid", "common_type", "common_flags", "common_preempt_count", "common_cpu", "common_comm",
          "common_timestamp", "common_stacktrace", "cpu", "CPU", "comm", "COMM", "stacktrace", "STACKTRACE", "hitcount"]
KEY, VALUE, VARIABLE, OPERAND = range(4)
MODIFIERS = {
    KEY: [".hex", ".sym", ".sym-offset", ".syscall", ".log2", ".usecs", ".buckets=5", ".buckets=0x10", ".bucket=3"],
    VALUE: [".hex", ".percent", ".graph", ".usecs"],
    VARIABLE: [".hex", ".usecs", ".sym"],
    OPERAND: [".hex", ".log2", ".buckets=5", ".usecs", ".sym-offset"],
}
ANY = [".execname", ".stacktrace", ".buckets", ".buckets=0", ".buckets=x", ".descending", ".foo", ".", ".percentage", ".hexa", ".log2",
       ".sym", ".graph", ".syscall"]
UNCHANGED = ["common_stacktrace", "stacktrace", "STACKTRACE", "hitcount", "common_comm", "comm", "COMM"]


def put(path, text, flags=os.O_WRONLY | os.O_APPEND):
    """Writes a file at once; 0 or the name of the error."""
    try:
        fd = os.open(path, flags)
    except OSError as error:
        return f"open {errno.errorcode.get(error.errno, error.errno)}"
    try:
        data = text.encode("latin-1")
        written = os.write(fd, data)
        return "ok" if written == len(data) else f"wrote {written} of {len(data)}"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    finally:
        os.close(fd)


def read(path):
    """A file's text."""
    try:
        with open(path, encoding="latin-1") as file:
            return file.read()
    except OSError as error:
        return f"({errno.errorcode.get(error.errno, error.errno)})\n"


def tell(title, text):
    """Prints a text, with what differs between two boots taken away."""
    text = re.sub(r"^\[ *\d+\.\d+\] ", "", text, flags=re.M)
    text = re.sub(rf"\b0*{os.getpid()}\b", "PID", text)
    text = re.sub(r"common_cpu(common_cpu|cpu|CPU)\b", "common_cpu", text)  # C prints it twice.
    text = re.sub(r"\b18446(6\d\d|7[0-3]\d)\d{12}\b", "ADDRESS", text)
    for line in text.splitlines() or ["(empty)"]:
        print(f"exact {title}: {line}")


class Writer:
    """A user event, and what writes its entries."""

    def __init__(self, name, file):
        self.file = file
        self.page = mmap.mmap(-1, 4096)
        self.bits = (ctypes.c_char * 4096).from_buffer(self.page)
        fields = "; ".join(f"{ctype.replace('[16]', '')} {field}[16]" if "[16]" in ctype else f"{ctype} {field}"
                           for field, ctype in FIELDS.items())
        fields = fields.replace("char name[16]", "char[16] name")
        text = ctypes.create_string_buffer(f"{name} {fields}".encode())
        raw = bytearray(struct.pack("=IBBHQQI", 28, 0, 4, 0, ctypes.addressof(self.bits), ctypes.addressof(text), 77))
        fcntl.ioctl(file, REG, raw, True)
        self.number = struct.unpack_from("=I", raw, 24)[0]

    def write(self, values):
        """One entry. Locations count from the start of the entry, whose common fields have 8 bytes."""
        fixed = struct.pack("=BbHhIiQq16s", *(values[name] for name in NUMBERS), values["name"].encode())
        txt, rel = (values[name].encode() + b"\0" for name in ("txt", "rel"))
        start = 8 + len(fixed) + 8
        location = (len(txt) << 16) | start
        relative = (len(rel) << 16) | len(txt)  # From the end of its own word, which is the last one.
        data = struct.pack("=I", self.number) + fixed + struct.pack("=II", location, relative) + txt + rel
        try:
            os.write(self.file, data)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise


class Grammar(Choices):
    """Makes texts."""

    def field(self, event):
        """The name of a field."""
        if self.chance(2):
            return self.one("nosuch", "", "0", "a8x", "$", "common_", "__probe")
        own = REAL.get(event, list(FIELDS))
        return self.one(*(own if self.chance(75) else COMMON))

    def number(self):
        """A number, or nearly."""
        return self.one("0", "1", "2", "3", "5", "7", "8", "10", "100", "0x10", "010", "4096", "4294967295", "18446744073709551615",
                        "18446744073709551616", "-1", "1x", "0b1", "'5'", "99999999999999999999", "-9223372036854775808")

    def modified(self, event, share, use):
        """A field, perhaps with a modifier."""
        name = self.field(event)
        if use in (VALUE, OPERAND) and self.chance(90):
            name = self.one(*NUMBERS) if event not in REAL else name
        if name == "common_pid" and use == KEY and self.chance(30):
            return "common_pid.execname"
        # C warns of a name that it cannot find for these with .log2 and .buckets.
        if not self.chance(share) or name in UNCHANGED:
            return name
        return name + (self.one(*MODIFIERS[use]) if self.chance(93) else self.one(*ANY))

    def atom(self, event, known, use):
        """A field, a constant or a variable."""
        sort = self.random.randrange(10)
        if sort < 2:
            return self.one("0", "1", "2", "3", "8", "10", "100", "0x10", "4294967296", "1", "2", "5", "1x", "18446744073709551615")
        if sort < 5 and known:
            name = self.one(*known)
            if self.chance(88):
                return f"${name}"
            return self.one(f"{event.replace('/', '.')}.${name}", "$nosuch", f"nosuch.e.${name}", f"user_events.gen.${name}")
        return self.modified(event, 15, use)

    def expression(self, event, use, known=(), share=35):
        """An expression."""
        if not self.chance(share):
            return self.modified(event, 30, use) if self.chance(85) else self.atom(event, known, use)
        text = self.atom(event, known, OPERAND)
        for _ in range(self.random.choice([0, 1, 1, 1, 1, 2, 2, 3, 4])):
            text += self.one("+", "-", "*", "/") + self.atom(event, known, OPERAND)
        if self.chance(15):
            text = f"-({text})" + self.one("", "", "", "", "+1", ")")
        return text

    def listed(self, make, most):
        """A list, as a rule not too long."""
        return ",".join(make() for _ in range(self.random.choice([1, 1, 1, 1, 1, 2, 2, 2, 3, most])))

    def mutated(self, text):
        """The text, in a few cases with a mistake."""
        if not text or not self.chance(6):
            return text
        at = self.random.randrange(len(text))
        kind = self.random.randrange(5)
        if kind == 0:
            return text[:at] + text[at + 1:]
        if kind == 1:
            return text[:at] + self.random.choice("():=,.$+-*/ !&|~^\"'\t\\{}<>0aA%") + text[at:]
        if kind == 2:
            end = at + self.random.randrange(1, 8)
            return text[:end] + text[at:end] + text[end:]
        if kind == 3:
            return text[:at]
        return text.replace(":", "::", 1) if self.chance(50) else text.swapcase()

    def literal(self, field):
        """What a field is compared with."""
        if field in NUMBERS or self.chance(20):
            return self.number()
        word = self.one(*WORDS)
        return self.one(f'"{word}"', f"'{word}'", word.replace(" ", ""), f'"*{word}"', f'"{word}*"', f'"*{word}*"', '"t?o"', '"[a-o]ne"',
                        '"o*e"', '"*"', f'"{word}', '"**"', '"\\*"', '""')

    def predicate(self, event):
        """One comparison."""
        field = self.field(event)
        if self.chance(4):
            field += self.one(".ustring", ".function", ".foo")
        operator = self.one("==", "!=", "<", "<=", ">", ">=", "&", "==", "!=", "~", "~", "!~", "=", "&&", "<>")
        literal = self.literal(field)
        if self.chance(4):
            literal = self.one("CPUS{0}", "CPUS{0-1}", "CPUS{}", "CPUS{x}", "CPUS{0-9999}", "schedule", '"schedule"', "CPUS{0")
        blank = self.one(" ", "", " ", "  ", "\t")
        return f"{field}{blank}{operator}{blank}{literal}"

    def filter(self, event, depth=0):
        """A filter."""
        if depth > 3 or self.chance(45):
            return self.predicate(event)
        sort = self.random.randrange(10)
        if sort < 4:
            blank = self.one(" ", " ", "")
            return self.filter(event, depth + 1) + blank + self.one("&&", "||") + blank + self.filter(event, depth + 1)
        if sort < 7:
            return f"({self.filter(event, depth + 1)})"
        if sort < 9:
            return f"!({self.filter(event, depth + 1)})"
        return f"!{self.filter(event, depth + 1)}"

    def action(self, event, known):
        """An action of a histogram."""
        variable = f"${self.one(*known)}" if known and self.chance(95) else self.one("$nosuch", "a8", "")
        matched = self.one(*EVENTS[:3]) if self.chance(60) else event
        handler = self.one(f"onmax({variable})", f"onchange({variable})", f"onmatch({matched.replace('/', '.')})")
        if self.chance(4):
            handler = self.one("onmatch(sched)", "onmatch(no.such)", "onmatch(", "onfoo(x)")
        value = self.one(variable, "a64", "s64", f"{matched.replace('/', '.')}.a64", "a32")
        pid = self.one("s32", "common_pid", variable, f"{event.replace('/', '.')}.s32")
        word = self.one("txt", "name", "common_comm", variable, "rel")
        good = [f"lat({value},{pid},{word})", f"trace(lat,{value},{pid},{word})", f"one({value})", f"trace(one,{value})",
                f"syn({value},name,common_stacktrace)"]
        if not handler.startswith("onmatch"):
            good += ["snapshot()", "save(a64)", f"save({self.listed(lambda: self.one(*NUMBERS, 'txt', 'rel', 'name', 'comm', 'nosuch', 'cpu'), 4)})"]
        if self.chance(85):
            return f"{handler}.{self.one(*good)}"
        parameters = self.listed(lambda: variable if self.chance(40) else self.one(*NUMBERS, *TEXTS, "nosuch"), 4)
        action = self.one(f"save({parameters})", f"lat({parameters})", f"trace(lat,{parameters})", f"syn({parameters})", "snapshot()",
                          f"nosuch({parameters})", "save()", f"trace(syn,{parameters})", self.one("trace()", "save(a8", "lat", "snapshot("))
        return f"{handler}.{action}"

    def hist(self, event, known):
        """A definition, and the variables that it would set."""
        parts = []
        keys = self.listed(lambda: self.expression(event, KEY, (), 8), 4)
        parts.append(self.one("keys=", "keys=", "keys=", "key=") + keys)
        values = None
        if self.chance(55):
            values = self.listed(lambda: "hitcount" if self.chance(20) else self.expression(event, VALUE, known, 30), 3)
            parts.append(self.one("vals=", "values=", "val=") + values)
        mine = []
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            name = self.one("x", "y", "z", "ts0", "lat", "a8", "w")
            expression = self.expression(event, VARIABLE, known + mine)
            parts.append(f"{name}={expression}" + (",k=a8" if self.chance(5) else ""))
            # C shows where a text lies if it is used as a number.
            if not re.search(r"name|txt|rel|comm|COMM|stack|STACK|\bst\b|\bt\b|execname", expression):
                mine.append(name)
        if self.chance(40):
            names = [part.split(".")[0] for part in f"{keys},{values or 'hitcount'},hitcount".split(",")]
            sort = self.listed(lambda: self.one(*names) + self.one("", "", ".descending", ".ascending", ".foo"), 3)
            parts.append(f"sort={sort}")
        for share, texts in ((20, ("size=128", "size=2048", "size=200", "size=128", "size=100", "size=4096", "size=0", "size=200000", "size=x", "size=")),
                             (12, ("name=n1", "name=n2", "name=n1")), (10, ("nohitcount", "NOHC")),
                             (8, ("clock=global", "clock=mono", "clock=global", "clock= local ", "clock=nosuch")),
                             (10, ("pause", "pause", "pause", "cont", "clear", "continue")), (2, ("foo", "", "x=", "=x"))):
            if self.chance(share):
                parts.append(self.one(*texts))
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            parts.append(self.action(event, mine or known))
        if self.chance(25):
            self.random.shuffle(parts)
        text = "hist:" + ":".join(parts)
        if self.chance(20):
            text += self.one(" if ", " if ", "  if  ", " if\t") + self.filter(event)
        return self.mutated(text), mine

    def trigger(self, event):
        """Another trigger."""
        name = self.one("traceon", "traceoff", "snapshot", "stacktrace", "enable_event", "disable_event", "enable_hist", "disable_hist",
                        "nosuch", "")
        if "_" in name:
            name += self.one(":sched:sched_switch", ":user_events:gen", ":sched", ":no:such", "", ":", f":{event.replace('/', ':')}")
        text = name + self.one("", "", ":3", ":0", ":x", ":-1", " 3", ":3:4", ": ", ":unlimited", ":0x10")
        if self.chance(35):
            text += self.one(" if ", " if  ", "  if ", ":if ", " iff ", " if", " unless ") + self.filter(event)
        return self.mutated(text)

    def synthetic(self):
        """The definition of a synthetic event."""
        ctype = self.one("u64", "pid_t", "char[16]", "char", "int", "unsigned int", "unsigned long", "long", "s64", "char[]", "bool",
                         "long[]", "unsigned long[]", "u8", "size_t", "gfp_t", "char[0]", "char[300]", "void", "foo_t", "unsigned",
                         "struct x", "u64[]", "__u8", "signed char", "dev_t", "cpumask_t", "char *", "unsigned u64", "long long",
                         "__data_loc char[]", "s32", "isolate_mode_t", "unsigned char", "char[x]", "char[16")
        def member():
            kind = self.one(ctype, "u64", "pid_t", "char[]", "u32", "long", "char[8]")
            name = self.one("lat", "pid", "comm", "x", "y", "z") if self.chance(92) else self.one("9x", "x-y", "x[16]", "x[]", "", "common_pid")
            return kind + self.one(" ", " ", " ", "  ", "\t") + name

        name = self.one("tmp", "tmp", "tmp2") if self.chance(92) else self.one("lat", "a-b", "9", "", "a b", "tmp/x")
        members = self.one("; ", ";", " ;", " ; ").join(member() for _ in range(self.random.choice([0, 1, 1, 2, 3, 4])))
        text = name + self.one(" ", " ", "  ", "", ";") + members + self.one("", "", ";", ";;", " ")
        if self.chance(12):
            text = self.one("!", "s:", "!s:", "-:", "u:") + text
        return self.mutated(text)


def clean():
    """Removes what a round has made. What refers to others goes first."""
    for _ in range(3):
        for event in EVENTS:
            if os.path.isdir(f"{TRACING}/events/{event}"):
                put(f"{TRACING}/events/{event}/filter", "0")
                for line in read(f"{TRACING}/events/{event}/trigger").splitlines():
                    if not line.startswith("#"):
                        line = re.sub(r":count=\d+|:unlimited| \[(active|paused)\]", "", line).replace("common_cpucommon_cpu", "common_cpu")
                        line = re.sub(r"common_cpu(cpu|CPU)", r"\1", line)
                        put(f"{TRACING}/events/{event}/trigger", "!" + line)
                put(f"{TRACING}/events/{event}/trigger", "\n", os.O_WRONLY | os.O_TRUNC)
    for line in read(f"{TRACING}/synthetic_events").splitlines():
        if line.split()[0] not in ("lat", "one", "syn"):
            put(f"{TRACING}/synthetic_events", "!" + line)
    put(f"{TRACING}/tracing_on", "1")
    put(f"{TRACING}/error_log", "\n", os.O_WRONLY | os.O_TRUNC)


def left():
    """What the round before could not remove."""
    lines = []
    for event in EVENTS:
        for line in read(f"{TRACING}/events/{event}/trigger").splitlines():
            if not line.startswith("#"):
                lines.append(f"{event}: {line}")
    return lines


class Round:
    """One round: a few writes and what they do."""

    def __init__(self, number, grammar, writers):
        self.number, self.grammar, self.writers = number, grammar, writers
        self.files = []

    def write(self, path, text):
        """One write, with its error and what error_log says."""
        put(f"{TRACING}/error_log", "\n", os.O_WRONLY | os.O_TRUNC)
        result = put(f"{TRACING}/{path}", text)
        tell(f"{self.number} {path} < {text!r}", result)
        log = read(f"{TRACING}/error_log")
        if log:
            tell(f"{self.number} error_log", log)
        return result == "ok"

    def hit(self):
        """Known entries."""
        values = random.Random(7)
        for _ in range(24):
            entry = {"a8": values.choice([0, 1, 5, 255]), "s8": values.choice([-1, 1, -128]), "a16": values.choice([0, 65535, 300]),
                     "s16": values.choice([-300, 300]), "a32": values.choice([7, 1 << 31, 100]), "s32": values.choice([-7, 100, 0]),
                     "a64": values.choice([0, 1, 1 << 40, (1 << 64) - 1]), "s64": values.choice([-1, 5, -(1 << 62)]),
                     "name": values.choice(WORDS), "txt": values.choice(WORDS), "rel": values.choice(WORDS)}
            self.writers[values.randrange(2)].write(entry)

    def counted(self, path):
        """A hist file; stacks and times are not the same on two kernels, nor are texts as numbers: C adds up their addresses."""
        text = read(f"{TRACING}/{path}")
        if re.search(r"keys=[^:]*common_(timestamp|type)|vals=[^:]*common_(timestamp|type)|keys=[^ :]*(common_stacktrace|st\.stack)"
                     r"|vals=[^:]*\b(name|txt|rel|common_comm)\b", text):
            text = "not the same"
        return "\n".join(line for line in text.splitlines() if not line.startswith("         "))

    def hists(self):
        """Histograms that may refer to each other, and other triggers."""
        known, used = [], []
        rounds = self.grammar.random.choice([1, 2, 2, 3, 4])
        last = None
        for _ in range(rounds):
            event = self.grammar.one(*EVENTS) if self.grammar.chance(30) else self.grammar.one(*EVENTS[:2])
            if last and self.grammar.chance(25):
                event, text = last
                kind = self.grammar.random.randrange(6)
                if kind == 0:
                    text = "!" + text
                elif kind == 1:
                    text += ":" + self.grammar.one("pause", "cont", "clear", "nohitcount", "size=256")
                elif kind == 2:
                    text = re.sub(r"\d+", self.grammar.one("3", "5", "8"), text)
                elif kind == 3:
                    event = self.grammar.one(*EVENTS[:2])
                elif kind == 4:
                    text = text.replace("+", "*").replace("a8", "s8")
                mine = []
            elif self.grammar.chance(15):
                text, mine = self.grammar.trigger(event), []
            else:
                text, mine = self.grammar.hist(event, known)
            if self.write(f"events/{event}/trigger", text):
                known += mine
                last = (event, text)
            used.append(event)
        self.hit()
        for event in dict.fromkeys(used):
            text = read(f"{TRACING}/events/{event}/trigger")
            tell(f"{self.number} {event}/trigger", text if event in EVENTS[:2] else re.sub(r"count=\d+", "count=", text))
            if event in EVENTS[:2] or event.startswith("synthetic"):
                tell(f"{self.number} {event}/hist", self.counted(f"events/{event}/hist"))

    def filters(self):
        """A filter, and how many entries it lets pass."""
        event = self.grammar.one(*EVENTS) if self.grammar.chance(30) else EVENTS[0]
        text = self.grammar.mutated(self.grammar.filter(event))
        taken = self.write(f"events/{event}/filter", text)
        tell(f"{self.number} {event}/filter", read(f"{TRACING}/events/{event}/filter"))
        if taken and event == EVENTS[0]:
            put(f"{TRACING}/trace", "\n", os.O_WRONLY | os.O_TRUNC)
            put(f"{TRACING}/events/{event}/enable", "1")
            self.hit()
            put(f"{TRACING}/events/{event}/enable", "0")
            lines = [line.split("gen: ")[1] for line in read(f"{TRACING}/trace").splitlines() if "gen: " in line]
            tell(f"{self.number} passed", "\n".join(lines))

    def synthetics(self):
        """Definitions of synthetic events."""
        for _ in range(self.grammar.random.choice([1, 1, 2])):
            self.write(self.grammar.one("synthetic_events", "synthetic_events", "dynamic_events"), self.grammar.synthetic())
        tell(f"{self.number} synthetic_events", read(f"{TRACING}/synthetic_events"))
        for name in ("tmp", "tmp2"):
            text = read(f"{TRACING}/events/synthetic/{name}/format")
            tell(f"{self.number} {name} format", re.sub(r"ID: \d+", "ID", text))


def main():
    os.chdir(TRACING)
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    group = int(os.environ.get("GROUP", "10"))
    chosen = {int(number) for number in os.environ.get("ROUND", "").split(",") if number}
    file = os.open("user_events_data", os.O_RDWR)
    writers = [Writer("gen", file), Writer("gen2", file)]
    put("synthetic_events", "lat u64 lat; pid_t pid; char[] comm")
    put("synthetic_events", "one u64 v")
    put("synthetic_events", "syn u64 v; char[16] t; unsigned long[] st")
    for number in range(count):
        if chosen and number not in chosen:
            continue
        made = Round(number, Grammar(seed * 1000003 + number), writers)
        if number % group == 0:
            print(f"== definitions {seed}/{number} ==")
        made.grammar.one(made.hists, made.hists, made.hists, made.filters, made.synthetics)()
        clean()
        for line in left():
            tell(f"{number} left", line)
        sys.stdout.flush()


main()
