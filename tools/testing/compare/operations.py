#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Operations on tracefs made from a grammar, good ones and nearly good ones; in the guest.

operations.py SEED COUNT [GRAMMAR,GRAMMAR…] [ROUND] does COUNT rounds of each grammar, and prints what each operation returns,
the new records of error_log, and the files that the round watches where they have changed. After a round everything goes back
to where it was; what is not there again is printed, too. The same seed gives the same rounds, so two kernels can be compared.
Lines begin with `exact `: compare/run leaves their numbers alone.

What is meant to differ (Documentation/coming-from-c.md) is not asked for, or taken away before it is printed: the order of a hash
(`text`), options that C does not have, `common_cpu` (`visible`), names that user events cannot have (`dynamic`), a variable in
its own definition (`hists`), common fields (`injects`), lines that are too long (`markers`), words for a tracer without options
(`options`), lseek(2) and pwrite(2) of files that are open for writing only (`seeks`), the pid 4194304 (`pids`).
"""
import ctypes
import errno
import fcntl
import mmap
import os
import re
import struct
import sys
import zlib

from grammar import Choices

TRACING = "/sys/kernel/tracing"
WRITE, APPEND, TRUNC, BOTH = os.O_WRONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC, os.O_RDWR
FLAGS = {WRITE: "", APPEND: "append ", TRUNC: "trunc ", BOTH: "both "}
NUMBERS = ["0", "1", "2", "3", "5", "7", "8", "10", "16", "31", "32", "33", "63", "64", "65", "100", "128", "0x10", "0X1f", "010", "08", "0b1",
           "+1", "-1",
           "-0", "1x", "x1", "1.5", "1e3", "255", "256", "4095", "4096", "65535", "65536", "0x", "2147483647", "2147483648", "4294967295",
           "4294967296", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
           "18446744073709551615", "18446744073709551616", "99999999999999999999", "-99999999999999999999", "0xffffffffffffffff",
           "0x10000000000000000", "00000000000000000000000000000000000001", "''", "'1'", "'ab'", "\"1\"", "1 2", "", "٣"]
SMALL = [number for number in NUMBERS if not re.fullmatch(r"(0x)?[0-9a-fA-F]{6,18}", number)]
LONG = [31, 32, 33, 62, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097]
BLANKS = [" ", "  ", "\t", "\n", "\r", "\v", "\f", "\0", "\xa0", " \t ", "\n\n"]
PUNCTUATION = "():=,.$+-*/ !&|~^\"'\\{}<>[]#@%;_?0aA"
# Of events that nothing here makes happen.
EVENTS = {
    "sched/sched_process_exec": ["filename", "pid", "old_pid"],
    "sched/sched_pi_setprio": ["comm", "pid", "oldprio", "newprio"],
    "sched/sched_move_numa": ["pid"],
    "task/task_rename": ["oldcomm", "newcomm", "oom_score_adj"],
    "task/task_newtask": ["pid", "comm", "clone_flags", "oom_score_adj"],
    "signal/signal_deliver": ["sig", "errno", "code", "sa_handler", "sa_flags"],
    "module/module_load": ["taints", "name"],
    "module/module_request": ["ip", "wait", "name"],
    "ipi/ipi_send_cpumask": ["cpumask", "callsite", "callback"],
    "ipi/ipi_send_cpu": ["cpu", "callsite", "callback"],
    "timer/itimer_state": ["expires", "which", "value_sec", "value_nsec", "interval_sec"],
    "timer/timer_init": ["timer"],
    "workqueue/workqueue_queue_work": ["work", "function", "workqueue", "req_cpu", "cpu"],
    "cgroup/cgroup_mkdir": ["root", "level", "id", "path"],
    "power/cpu_frequency": ["state", "cpu_id"],
    "power/suspend_resume": ["action", "val", "start"],
    "oom/mark_victim": ["pid", "comm", "total_vm", "anon_rss", "uid", "oom_score_adj"],
    "syscalls/sys_enter_swapon": ["__syscall_nr", "specialfile", "swap_flags"],
    "syscalls/sys_enter_reboot": ["__syscall_nr", "magic1", "cmd", "arg"],
    "syscalls/sys_exit_reboot": ["__syscall_nr", "ret"],
    "vmscan/mm_shrink_slab_end": ["shr", "nid", "shrink", "unused_scan", "new_scan", "retval", "total_scan"],
    "ftrace/print": ["ip", "buf"],
    "ftrace/function": ["ip", "parent_ip"],
    "synthetic/syn": ["v", "t", "d", "st"],
    "user_events/own": ["a", "s", "t", "d"],
}
COMMON = ["common_pid", "common_type", "common_flags", "common_preempt_count", "common_cpu", "common_comm", "cpu", "CPU", "comm", "COMM",
          "common_timestamp", "common_stacktrace", "stacktrace", "hitcount", "ip"]
FUNCTIONS = ["vfs_fsync", "vfs_fallocate", "vfs_truncate", "vfs_tmpfile", "vfs_fsync_range", "do_reboot", "kernel_restart"]


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


class Grammar(Choices):
    """Makes texts."""

    def mostly(self, share, good, odd):
        """One of the good ones, or in so many of a hundred cases an odd one."""
        return self.random.choice(odd if self.chance(share) else good)

    def blank(self):
        """What may stand between two words."""
        return " " if self.chance(90) else self.one(*BLANKS)

    def number(self):
        """A number, or nearly."""
        return self.one(*SMALL)

    def name(self, *good):
        """A name, in a few cases no good one."""
        if self.chance(92):
            return self.one(*good)
        return self.one("", "1a", "a-b", "a.b", "a b", "a/b", "_", "__x", "nosuch", "common_pid", "A", "a*", "*", "é", ".", "..",
                        "x" * self.one(*LONG[:13]))

    def mutated(self, text, share=45):
        """The text, in some cases with one or two mistakes."""
        while text and self.chance(share):
            share //= 2
            text = self.mistake(text)
        return text

    def mistake(self, text):
        """The text with a mistake: in its words, in its numbers or in its letters."""
        words = re.findall(r"\w+|\s+|[^\w\s]", text)
        at = self.random.randrange(len(words))
        kind = self.random.randrange(15)
        if kind <= 1:
            words.pop(at)
        elif kind == 2:
            words.insert(at, words[at])
        elif kind == 3:
            other = self.random.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif kind <= 5:
            numbers = [index for index, word in enumerate(words) if word[0].isdigit()]
            if numbers:
                words[self.one(*numbers)] = self.number()
            else:
                words.insert(at, self.number())
        elif kind == 6:
            words.insert(at, self.one(*BLANKS))
        elif kind == 7:
            words.insert(at, self.one(*PUNCTUATION))
        elif kind == 8:
            words[at] = words[at].swapcase()
        elif kind == 9:
            words = words[:at] if self.chance(50) else words[at:]
        elif kind == 10 and self.chance(50):
            words[at] = words[at] * self.one(2, 3, 40) if self.chance(50) else "x" * self.one(*LONG)
        elif kind == 11:
            end = at + self.random.randrange(1, 6)
            words[end:end] = words[at:end]
        elif kind == 12:
            return self.one(" ", "\t", "!", "\n", "-", "\0", "") + text + self.one(" ", "\n", "\t\n", "\0", "\n\n", ";", "#", " #x", "\\", ":")
        elif kind == 13:
            index = self.random.randrange(len(text))
            return text[:index] + text[index + 1:]
        else:
            index = self.random.randrange(len(text))
            return text[:index] + self.one(*PUNCTUATION) + text[index:]
        return "".join(words)


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


class Round:
    """One round: operations, and the files to look at."""

    ONCE = ["error_log"]

    def __init__(self, grammar, name, number):
        self.grammar, self.name, self.number = grammar, name, number
        self.one, self.chance, self.random, self.mostly = grammar.one, grammar.chance, grammar.random, grammar.mostly
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
                self.seen[file] = self.text(file)

    def text(self, file):
        """What is compared of a file."""
        text = visible(read(file))
        # In C, the order is that of a hash.
        # What fills up the last word of a raw mark is what was there before.
        text = re.sub(r"^(.*# [0-9a-f]+ buf:.*?)( [0-9a-f]{2}){1,3}$", r"\1", text, flags=re.M)
        if re.search(r"set_graph_(function|notrace)$|set_ftrace_(filter|notrace)$|user_events_status$", file):
            text = "\n".join(sorted(text.splitlines()))
        if os.path.basename(file) in ("trace", "snapshot"):
            text = "\n".join(line for line in text.splitlines() if not re.match("# tracer|#$|# entries|#  |# \\*", line))
        return text

    def look(self):
        """Prints the files that have changed."""
        for file in self.files + self.ONCE:
            text = self.text(file)
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

    def write(self, path, data, flags=None):
        """One operation: a file is opened, written in one or several pieces, and closed."""
        if flags is None:
            flags = self.one(APPEND, APPEND, APPEND, APPEND, APPEND, APPEND, WRITE, WRITE, TRUNC, BOTH)
        data = data.encode("latin-1", "replace")
        cuts = sorted(self.random.randrange(len(data) + 1) for _ in range(self.one(1, 1, 2))) if self.chance(12) and data else []
        pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)])]
        again = self.chance(20)
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

    # -- event filters

    def field(self, event):
        """The name of a field."""
        if self.chance(3):
            return self.one("nosuch", "", "0", "common_", "$", "pid pid", "x" * self.one(*LONG))
        return self.one(*(EVENTS.get(event, ["pid", "comm"]) if self.chance(75) else COMMON))

    def literal(self, field):
        """What a field is compared with."""
        kind = self.random.randrange(10)
        if kind < 8:
            if re.search("mask|cpu$|CPU$", field) and self.chance(60):
                kind = 5
            elif field.endswith(".function") and self.chance(80):
                kind = 6
            else:
                kind = 7 if re.search("comm|COMM|name|path|workqueue|file|buf$|^[td]$", field) and self.chance(85) else 0
        if kind < 5:
            return self.mostly(50, ["0", "1", "5", "100", "0x10", "-1"], NUMBERS)
        if kind == 5:
            return self.one("CPUS{0}", "CPUS{0-1}", "CPUS{}", "CPUS{x}", "CPUS{0-9999}", "CPUS{0", "CPUS", "CPUS {0}", "CPUS{ 0 , 1 }", "CPUS{all}",
                            "cpus{0}",
                            "CPUS{N}", "CPUS{0-1:1/2}", "CPUS{1-0}")
        if kind == 6:
            return self.one("schedule", '"schedule"', "vfs_fsync", "0xffffffff81000000", "'vfs_fsync'", "nosuch", "do_exit ")
        word = self.one("a", "bash", "", "a b", "*", "a*", "*a", "*a*", "a*b", "[ab]?", "\\*", "a\\", "**", "?", "x" * self.one(*LONG[:12]), '\\"',
                        "é", "!", "(")
        quote = self.one('"', '"', '"', "'", "", "\"'")
        return quote + word + (quote if self.chance(92) else "")

    def predicate(self, event):
        """One comparison."""
        field = self.field(event)
        if self.chance(12):
            field += self.one(".function", ".function", ".ustring", ".foo", ".", " .function", ".FUNCTION")
        text = re.search("comm|COMM|name|path|workqueue|file|buf$|^[td]$", field)
        operator = self.mostly(10, ["==", "!=", "~"] if text and self.chance(85) else ["==", "!=", "<", "<=", ">", ">=", "&"], ["~", "!~", "=",
            "&&", "<>", "===", "=>", "|", "", "<<", "~=", "!"])
        blank = self.one(" ", "", " ", " ", "  ", "\t")
        return f"{field}{blank}{operator}{blank}{self.literal(field)}"

    def expression(self, event, depth=0):
        """A filter."""
        if depth > 3 or self.chance(50):
            return self.predicate(event)
        kind = self.random.randrange(10)
        if kind < 5:
            blank = self.one(" ", " ", "")
            return self.expression(event, depth + 1) + blank + self.mostly(8, ["&&", "||"], ["&", "|", "and", "", "&&&", "&& &&",
                "|| !"]) + blank + self.expression(event, depth + 1)
        if kind < 8:
            return f"({self.expression(event, depth + 1)})"
        opening = self.mostly(15, ["!(", "(!"], ["!", "! ", "!!", "!(!", "( "])
        return opening + self.expression(event, depth + 1) + ")" * opening.count("(")

    def calm(self):
        """An event that does not come."""
        return self.one(*(event for event in EVENTS if not re.search("workqueue|ipi_|timer_init|shrink",
            event) and os.path.isdir(f"{TRACING}/events/{event}")))

    def filters(self):
        """Filters of events and of their systems."""
        event = self.event()
        system = os.path.dirname(event)
        files = sorted(f"events/{other}/filter" for other in EVENTS if other.startswith(f"{system}/"))
        files = [name for name in files if os.path.exists(f"{TRACING}/{name}")]
        self.watch(f"events/{system}/filter", *files, "show_event_filters")
        for _ in range(10):
            path = f"events/{event}/filter" if self.chance(75) else f"events/{system}/filter"
            text = self.grammar.mutated(self.expression(event)) if self.chance(93) else self.one("0", "", " ", "\n", "0 ", " 0", "none", "0\n1",
                "\0", "1", "()", "!")
            if self.chance(3):
                text = " || ".join([self.predicate(event)] * self.one(20, 60, 200))
            if self.chance(2):
                depth = self.one(10, 100, 1000)
                text = "(" * depth + text + ")" * depth
            self.write(path, text)

    def event(self):
        """An event that this kernel has."""
        return self.one(*(event for event in EVENTS if os.path.isdir(f"{TRACING}/events/{event}")))

    # -- triggers

    def trigger(self, event):
        """A trigger that is no histogram."""
        name = self.one("traceon", "traceoff", "snapshot", "stacktrace", "enable_event", "disable_event", "enable_hist", "disable_hist",
                        "enable_event",
                        "nosuch")
        text = name
        if "_" in name:
            target = self.one("oom:mark_victim", "module:module_load", event.replace("/", ":"), "oom", "no:such", "oom:*", "", "ftrace:print",
                              "oom:mark_victim:")
            text += f":{target}"
        text += self.one("", "", "", ":3", ":" + self.grammar.number(), ":unlimited", ":count=3", " 3", ":3:4")
        if self.chance(35):
            text += self.one(" if ", " if ", " if ", "  if  ", " if\t", " if", " iff ", ":if ", " IF ") + self.expression(event, 2)
        return text

    def triggers(self):
        """Triggers with counts and filters."""
        events = [self.calm(), self.calm()]
        for event in events:
            self.watch(f"events/{event}/trigger", f"events/{event}/enable")
        self.watch("events/oom/mark_victim/enable", "events/module/module_load/enable", "tracing_on", "show_event_triggers")
        last = ""
        for _ in range(10):
            event = self.one(*events)
            text = self.one("", "!", "!") + last if last and self.chance(35) else self.one("", "", "", "", "!") + self.trigger(event)
            last = text.lstrip("!")
            if self.chance(6):
                text = self.one("\n", " ", "", "!", "!!", "0", "\0", "#", "# x", "!\n", ":") + self.one("", text)
            if self.chance(10):
                text += self.one("\n", "\n\n", ";", "\n!") + self.trigger(event)
            self.write(f"events/{event}/trigger", self.grammar.mutated(text, 25))
            if self.chance(10):
                self.write(f"events/{event}/enable", self.one("0", "1"))

    def hist(self, event):
        """A histogram."""
        def key():
            name = self.field(event)
            return name + self.mostly(35, [""], [".hex", ".sym", ".sym-offset", ".log2", ".syscall", ".execname", ".buckets=10",
                                                 ".buckets=" + self.grammar.number(),
                                                 ".stacktrace", ".usecs", ".percent", ".graph", ".", ".nosuch"])

        parts = [self.mostly(6, ["keys=", "key="], ["KEYS=", "keys", "keys =", "keyss=", "="]) + ",".join(key() for _ in range(self.one(1, 1, 1, 2,
            2, 3, 4)))]
        if self.chance(40):
            parts.append(self.mostly(6, ["vals=", "values=", "val="], ["vals", "VALS=", "vals=="]) + ",".join(self.one("hitcount", key(),
                key()) for _ in range(self.one(1, 1, 2, 3))))
        for _ in range(self.one(0, 0, 1, 1, 2)):
            value = self.one(key(), "common_timestamp.usecs", "common_timestamp", f"{key()}-$v", "$v", "$v+1", "5",
                             f"{key()}*{self.grammar.number()}",
                             f"{key()}/{self.grammar.number()}", "-" + key(), f"({key()}+1)", f"{key()}+{key()}-{key()}", "common_cpu",
                             "common_comm")
            parts.append(f"{self.one('v', 'w', 'v', 'x', self.grammar.name('y'))}={value}")
        if self.chance(30):
            parts.append("sort=" + ",".join(self.one("hitcount", self.field(event), key()) + self.one("", "", ".descending", ".ascending", ".x",
                ".ascending.x")
                                            for _ in range(self.one(1, 1, 2, 3))))
        if self.chance(25):
            parts.append(self.one("size=", "size=", "SIZE=") + self.one("128", "256", "2048", "131072", *SMALL))
        if self.chance(15):
            parts.append("name=" + self.grammar.name("n", "n", "m"))
        if self.chance(30):
            parts.append(self.one("pause", "cont", "clear", "continue", "nohitcount", "NOHC", "clock=mono", "clock=x86-tsc", "clock=nosuch",
                                  "clock=", "pause=1", "pausex"))
        if self.chance(45):
            handler = self.mostly(15, ["onmatch(EV)", "onmax($v)", "onchange($v)"], ["onchange($w)", "onmatch(EV", "onmax(v)", "onmax()",
                "onmatch(sched.)", "onmatch()", "onmax", "onmatch(EV.x)", "onmax($v,$w)", "ONMAX($v)"])
            handler = handler.replace("EV", self.one(event, self.event()).replace("/", "."))
            parameters = ",".join(self.mostly(30, ["$v", self.one(*EVENTS[event])], ["$w", self.field(event), "common_comm",
                f"{event.replace('/', '.')}.$v", "$nosuch", "5", ""])
                                  for _ in range(self.one(0, 1, 1, 1, 2, 3)))
            action = self.mostly(20, [f"save({parameters})", "snapshot()", f"trace(one,{parameters})", f"one({parameters})", "one($v)",
                                      "trace(one,$v)"], [
                f"syn({parameters})", f"trace({parameters})", f"trace(nosuch,{parameters})", "snapshot", "snapshot(x)", "save()",
                f"save({parameters}", "nosuch()", f"syn($v,{parameters})"])
            parts.append(f"{handler}.{action}")
        if self.chance(25):
            self.random.shuffle(parts)
        text = "hist:" + ":".join(parts)
        if self.chance(20):
            text += self.one(" if ", " if  ", "  if ", " if", ":if ") + self.expression(event, 2)
        return text

    def hists(self):
        """Histograms of a few events."""
        events = ["user_events/own", "user_events/own", self.calm(), self.one("task/task_rename", "synthetic/syn", "power/cpu_frequency")]
        for event in events:
            self.watch(f"events/{event}/trigger", f"events/{event}/hist", f"events/{event}/enable")
        self.watch("timestamp_mode", "events/synthetic/one/enable")
        last = events[0], "hist:keys=a:v=s"
        for _ in range(8):
            event, text = last
            if self.chance(65):
                event = self.one(*events)
                text = self.hist(event)
            elif self.chance(40):
                text = self.one("!", "!", "") + text
            elif self.chance(50):
                text += self.one(":", ":", "") + self.one("pause", "cont", "clear", "continue", "nohitcount", "size=256", "")
            last = event, text.lstrip("!")
            if re.search(r"(log2|buckets)\b.*(stacktrace|comm|hitcount)|(stacktrace|comm|hitcount)\.(log2|buckets)", text, re.I):
                continue  # C warns of a name that it cannot find.
            if re.search(r"(\w+)=[^:]*\$\1\b", text):
                continue  # In C, a variable in its own definition is the first operand.
            self.write(f"events/{event}/trigger", self.grammar.mutated(text, 20), APPEND)

    # -- dynamic events

    def fetch(self, depth=0):
        """What an argument of a probe is taken from."""
        number = self.mostly(20, ["0", "1", "3", "8", "0x10"], SMALL)
        if depth < 5 and self.chance(25):
            return (self.mostly(10, ["+", "+", "-", "+u"], ["", "-u", "u", "+uu", "*"]) + self.mostly(15, ["0", "8", "0x10"],
                SMALL) + self.mostly(4, ["("], ["", "[", "(("])
                    + self.fetch(depth + 1) + self.mostly(5, [")"], ["", "))", "]", ")x"]))
        good = ["%di", "%ax", "%si", "%flags", "$stack", f"$stack{number}", "$retval", "$comm", "@jiffies", f"@jiffies+{number}",
                "@0xffffffff81000000", f"\\{number}",
                f"\\-{number}", '\\"text"', "$pid", "$newcomm", "$filename", "$common_pid", "@_stext", f"$arg{number}"]
        odd = ["%nosuch", "%", "$COMM", "$arg*", "$current", f"@jiffies-{number}", "@nosuch", f"@+{number}", "@", '\\"te', "pid", "$nosuch", "$",
               "this_cpu_read(current_task)", "this_cpu_ptr(nosuch)",
               f"this_cpu_read(+{number}(%di))", "(task_struct)%di->pid", "(task_struct,pid)$pid", "$stackx", "$retvalx", "%dix", "$$", "\\",
               "$COMMx", "this_cpu_read(%di", "this_cpu_ptr(@jiffies)",
               "%bx", "$gs", "$argx", "$common_comm", "(task_struct)", "(x", "()", "this_cpu_read()", "this_cpu_ptr", "%cs", "%bp", "%r15", "%sp",
               "%orig_ax"]
        return self.mostly(15, good, odd)

    def argument(self):
        """An argument of a probe."""
        name = self.mostly(12, ["", "a=", "b=", "c=", "d=", "pid="], [
            "__probe_ip=", "common_pid=", "=", "a==", "x" * self.one(*LONG[:13]) + "=", "a =", "__probe_func=", "$a=", self.grammar.name("d",
                "e") + "="])
        ctype = ""
        if self.chance(50):
            number = self.mostly(40, ["1", "3", "64"], SMALL)
            ctype = ":" + self.mostly(20, ["u8", "u16", "u32", "u64", "s8", "s32", "x8", "x16", "x64", "string", "string", "ustring", "symbol",
                                           "symstr", "%pd", "%pD", "char", "b4@4/32", "b8@0/8"], [
                "bool", f"b{number}@{number}/32", f"b{number}@0/{number}", f"b{number}@{number}/64", "nosuch", "", f"u8[{number}]",
                f"string[{number}]", f"x32[{number}]", "u8[", "u8[]", "u8]", "u8[3]x", "b", "b8", "b8@",
                "b8@0", "b8@0/", "b8@0/8x", "b8@0/8[2]", "U8", "int", "char[16]", "symbol[2]", "ustring[2]", "symstr[2]", "%pd[2]", "string:u8",
                "x128", "x", "u8[3][2]", "%p", "%px", "%pdx", "ustringx"])
        return name + self.fetch() + ctype

    def probe(self):
        """A definition of a dynamic event."""
        kind = self.one("p", "p", "r", "f", "f", "t", "e", "e", "u", "up", "s", "-", "-")
        if kind == "-":
            return self.one("-:", "-:", "-:", "-", "!", "- :") + self.one("x", "y", "g/x", "kprobes/x", "fprobes/x", "eprobes/x", "uprobes/x", "g/",
                "/x", "", "*", "g/*", "nosuch") + self.one(
                "", "", "", " vfs_fsync", " vfs_fsync %di", " vfs_fsync a=%di", " sched.sched_process_exec", " a=%di", " nosuch")
        head = kind[-1] if kind != "up" else self.one("p", "r", "p")
        if kind in ("r", "p", "f") and self.chance(8):
            head += self.one("7", "1", "4096", "4097", *SMALL)
        head += self.mostly(15, ["", ":x", ":y", ":x", ":g/x", ":h/x", ":g.x"], [
            ":" + self.grammar.name("z", "y"), ":" + self.grammar.name("g", "h") + "/" + self.grammar.name("x", "y"), ":", ":g/", ":/x", ":g/x/y",
            "::x", ":x:y"])
        function = self.one(*FUNCTIONS[:3])
        if kind in ("p", "r"):
            place = self.mostly(25, [function, function, function, f"{function}+0", f"{function}%return"], [
                f"{function}+{self.grammar.number()}", "nosuch", f"nosuch:{function}", f"{function}-0", f"{function}%retur",
                f"{function}+0x10000000", f":{function}", f"{function}+", f"{function}+0%return",
                "*", f"{function}:", "vfs_*", "_stext", f"vmlinux:{function}", "do_int3", "jiffies", f"{function}%", f"{function}%return+0",
                f"{function}+4%return", f"{function}%%return"])
        elif kind == "f":
            place = self.mostly(35, [function, function, function, f"{function}%return"], [
                "vfs_f*", "vfs_fsync*", "vfs_f*%return", "nosuch", "nosuch*", f"{function}+0", f"{function}%ret", "*", "!vfs_fsync",
                "vfs_f*,!vfs_fsync", "vfs_fsync,vfs_truncate", "vfs_[fx]sync", "vfs_fsyn?",
                f"{function}:exit", f"{function}:entry", f"{function},", f"nosuch:{function}", ",", "!", f",{function}", f"{function},,vfs_f*",
                f"{function},vfs_f*:exit", f"{function},!{function}", f"!{function},{function}",
                f"{function},vfs_f*%return", "vfs_f*:entry", "vfs_f*:exit", "vfs_f*:nosuch", f"{function}%return:exit", "*,!vfs_fsync"])
        elif kind == "t":
            place = self.mostly(40, ["sched_process_exec", "task_rename"], ["nosuch", "sched/sched_process_exec", "sched-x", "9x",
                "sched_process_exec%return", "task_rename+0", "task_*", "", "x" * self.one(*LONG)])
        elif kind == "e":
            place = self.mostly(40, ["sched/sched_process_exec", "sched.sched_process_exec", "task.task_rename"], [
                "task/nosuch", "nosuch.x", "sched", "task/task_rename.x", ".x", "/", "synthetic/one", "synthetic.syn", "ftrace/print",
                "ftrace.function", "user_events/own", "kprobes.x", "kprobes.p_vfs_fsync_0", "g.x", "task.task_rename/x",
                "syscalls/sys_enter_swapon", "sched..x", "sched.", "task/" + "x" * self.one(*LONG), "x" * self.one(*LONG) + "/x"])
        elif kind == "up":
            place = self.mostly(35, ["/bin/busybox:0x10", "/bin/busybox:0x10", "/bin/busybox:16", "/bin/busybox:0x20", "/bin/busybox:0x10%return",
                                     "/bin/busybox:0x10(0x20)"], [
                "/bin/busybox", "/bin/busybox:" + self.grammar.number(), "/nosuch:0x10", "/bin:0x10", "bin/busybox:0x10", "/bin/busybox:0x10(0x20",
                "/bin/busybox:0x10(0x20)x", "/bin/busybox:0x10 (0x20)", "/bin/busybox:0x10(x)",
                "/bin/busybox:0x10%x", "/bin/../bin/busybox:0x10", "/bin/busybox:0x10(0x20)%return", "/bin/busybox:0x10%return(0x20)",
                f"/bin/busybox:0x10({self.grammar.number()})", "/dev/null:0x10", "/bin/busybox::0x10",
                "/bin/busybox:0x99999999", "/bin/busybox:0x10()", "/bin/busybox:(0x10)", "/bin/busybox:%return", "/bin/busybox:0x10%"])
        else:
            return self.definition(kind)
        arguments = [self.argument() for _ in range(self.one(0, 0, 1, 1, 1, 2, 2, 3))]
        if self.chance(1):
            arguments *= self.one(43, 65, 128, 129)
        text = self.grammar.blank().join([head, place, *arguments])
        if kind == "e" and self.chance(25):
            text += self.one(" if ", " if ", " if  ", " if", " iff ", " if if ") + self.expression("sched/sched_process_exec", 2)
        return text

    def definition(self, kind):
        """A definition of a synthetic event or of a user event."""
        def member():
            ctype = self.mostly(20, ["u64", "pid_t", "char[16]", "int", "unsigned int", "unsigned long", "long", "s64", "u8", "char[]",
                                     "long[]"] if kind == "s" else
                                ["u64", "s32", "char[16]", "char", "unsigned int", "unsigned char", "short", "struct x", "__data_loc char[]",
                                 "__rel_loc char[]"], [
                "char", "bool", "unsigned long[]", "size_t", "gfp_t", "char[0]", "char[256]", "char[257]", "void", "foo_t", "unsigned", "u64[]",
                "char *", "long long", "__data_loc u8[]", "char[x]", "char[16", "char[-1]",
                f"char[{self.grammar.number()}]", "signed char", "__data_loc", "stack", "s16", "unsigned short", "struct", "struct x",
                "__data_loc char[] x", "u8[4]", "__data_loc char", "unsigned u8", "unsigned __data_loc char[]"])
            name = self.one("a", "b", "c", "d", "e") if self.chance(90) else self.one("9x", "x-y", "x[16]", "x[]", "", "common_pid", "a b",
                "x" * self.one(*LONG[:12]), "*a")
            return ctype + self.mostly(10, [" "], ["  ", "\t", ""]) + name + (" 8" if ctype == "struct x" else self.one(" 8", " x", ":8",
                "[3]") if self.chance(3) else "")

        name = self.grammar.name("x", "y", "z") + self.mostly(12, [" "], ["  ", "", "\t", ";"])
        members = self.mostly(20, ["; ", ";"], [" ;", " ; ", ", ", ";;"]).join(member() for _ in range(self.one(0, 1, 1, 2, 2, 3,
            64 if self.chance(5) else 4)))
        odd = ["s:other/", "s", "s ", "S:"] if kind == "s" else ["u ", "u", "U:"]
        return self.mostly(12, [f"{kind}:"], odd + ["s:synthetic/"]) + name + members + self.mostly(15, [""], [";", ";;", " "])

    def dynamic(self, *files):
        """Definitions of dynamic events, and what they become."""
        self.watch("dynamic_events", "kprobe_events", "uprobe_events", "synthetic_events")
        last = ""
        for _ in range(10):
            file = self.one(*files)
            text = self.probe()
            if file == "synthetic_events":
                text = self.definition("s").removeprefix("s:")
            elif file != "dynamic_events" and self.chance(70):
                while text[:1] not in "pr-!" or ("busybox" in text) != (file == "uprobe_events") and text[:1] in "pr":
                    text = self.probe()
            if last and self.chance(20):
                text = self.one("", "-", "!", "") + last + self.one("", "", " a=%si")
            last = text
            text = self.grammar.mutated(text, 35)
            if self.chance(8):
                text += self.one("\n", "\n\n", "\n#\n", " # ", ";") + self.probe()
            if re.search(r"u:\w*[^\w ]|u:[\s ]", text) or re.search(r"u:.*\xe9", text):
                continue  # C takes a name of a user event that it cannot show.
            self.write(file, text, self.one(APPEND, APPEND, APPEND, APPEND, APPEND, APPEND, WRITE, BOTH, TRUNC) if self.chance(50) else APPEND)
            for line in read("dynamic_events").splitlines():
                if match := re.match(r"\w+:(\w+)/(\w+)", line):
                    self.watch_format(f"events/{match[1]}/{match[2]}/format")
                elif match := re.match(r"s:(?:synthetic/)?(\w+)|u:(\w+)", line):
                    self.watch_format(f"events/synthetic/{match[1]}/format" if match[1] else f"events/user_events/{match[2]}/format")

    def watch_format(self, file):
        """Prints the format of a new event."""
        if file not in self.files:
            self.files.append(file)
            self.look()

    def probes(self):
        """All kinds of probes, in the file of all dynamic events."""
        self.dynamic("dynamic_events")

    def kprobes(self):
        """In the file of kprobes."""
        self.dynamic("kprobe_events", "kprobe_events", "kprobe_events", "dynamic_events")

    def uprobes(self):
        """In the file of uprobes."""
        self.dynamic("uprobe_events", "uprobe_events", "uprobe_events", "dynamic_events")

    def synthetics(self):
        """In the file of synthetic events."""
        self.dynamic("synthetic_events", "synthetic_events", "synthetic_events", "dynamic_events")

    # -- event selection

    def set_event(self):
        """Lists of events, and their files `enable`."""
        place = self.one("", "", "", "instances/i/")
        if place:
            attempt(os.mkdir, f"{TRACING}/instances/i")
        self.watch(*(f"{place}{file}" for file in ("set_event", "events/oom/enable", "events/oom/mark_victim/enable", "events/module/enable",
                                                   "events/enable",
                                                  "events/module/module_load/enable", "events/synthetic/enable")))
        for _ in range(10):
            word = self.one("oom:mark_victim", "oom:*", "oom:", "oom", "mark_victim", "module:module_l*", "module_*", ":mark_victim",
                            "*:mark_victim", "o*:mark*", "oom:mark_victim:",
                            ":mod:nosuch", "mark_victim:mod:nosuch", "oom:*:mod:nosuch", ":mod:*", "oom:mark_victim:mod:", ":mod:", ":mod",
                            "nosuch", "oom:nosuch", "nosuch:*", "OOM:MARK_VICTIM", "Oom",
                            "oom/mark_victim", "oom.mark_victim", "module:module_[lf]*", "mark_victi?", "synthetic:one", "synthetic:*",
                            "ftrace:print", "ftrace:*", "ftrace", "oom:mark_victim,module:module_load",
                            "::", ":", "*:*:*", "oom::mark_victim", "syscalls:sys_enter_reboot", "sys_*_reboot", "oom:**", "!oom", "swapo*",
                            "oom:mark_victim\\")
            if self.chance(35):
                word = "!" + word
            if self.chance(20):
                word += self.one(" ", "\n", ",", "\t") + self.one("oom:mark_victim", "!oom:*", "module:*", "nosuch", ":mod:x", "")
            kind = self.random.randrange(10)
            if kind < 8:
                self.write(f"{place}set_event", self.grammar.mutated(word, 30))
            else:
                self.write(place + self.one("events/oom/enable", "events/oom/mark_victim/enable", "events/module/enable", "events/ftrace/enable",
                                            "events/synthetic/one/enable"),
                           self.grammar.mutated(self.one("0", "1", "1", "2", *NUMBERS)), WRITE)

    def pids(self):
        """Lists of pids."""
        place = self.one("", "", "", "instances/i/")
        if place:
            attempt(os.mkdir, f"{TRACING}/instances/i")
        files = [f"{place}{file}" for file in ("set_event_pid", "set_event_notrace_pid", "set_ftrace_pid", "set_ftrace_notrace_pid")]
        self.watch(*files)
        for _ in range(10):
            text = self.one(" ", " ", " ", "\n", ",", "\t", ";").join(self.one("1", "2", "300", "299", "4194303", "4194305", "32768",
                *NUMBERS) for _ in range(self.one(0, 1, 1, 2, 3, 30)))
            self.write(self.one(*files), self.grammar.mutated(text, 20))

    # -- functions

    def functions(self):
        """Filters by functions, with commands."""
        place = self.one("", "", "", "instances/i/")
        if place:
            attempt(os.mkdir, f"{TRACING}/instances/i")
        files = [f"{place}set_ftrace_filter", f"{place}set_ftrace_filter", f"{place}set_ftrace_filter", f"{place}set_ftrace_notrace",
                 "set_graph_function", "set_graph_notrace", "stack_trace_filter"]
        self.watch(*files, f"{place}events/oom/mark_victim/enable", f"{place}events/module/module_load/enable")
        last = ""
        for _ in range(10):
            word = self.one("vfs_fsync", "vfs_f*", "*_fsync", "vfs_truncat?", "vfs_[ft]*e", "vfs_fsync*", "nosuch", "nosuch*", "VFS_FSYNC",
                            "v*_fsync", "*fs_fsyn*", "vfs_fsync ", "vfs_t*", "vfs_trunc*ate", "",
                            "0", "-1", "9999999", "99999999999999999999", "vfs_[!f]sync", "vfs_\\fsync", "vfs_fsync.isra.0", "vfs_tmpfile",
                            "vfs_f**c", "vfs_*_range", "[", "\\", "__x64_sys_reboot")
            if self.chance(15):
                word += self.one(":mod:nosuch", ":mod:*", ":mod:", ":mod", ":mod:!nosuch", ":MOD:x", ":mod:ext*", ":mod:nosuch:x")
            if self.chance(45):
                word += ":" + self.one("traceon", "traceoff", "snapshot", "stacktrace", "dump", "cpudump", "enable_event:oom:mark_victim",
                                       "disable_event:oom:mark_victim", "enable_event:module:module_load",
                                       "enable_event:oom:*", "enable_event:oom", "enable_event:no:such", "enable_event", "nosuch", "",
                                       "mod:x:traceoff")
                word += self.one("", "", ":3", ":0", ":" + self.grammar.number(), ":unlimited", ":count=3", ":")
            if self.chance(30):
                word = self.one("!", "!", "! ", "!!") + word
            if last and self.chance(30):
                word = self.one("!", "", "!") + last + self.one("", "", ":0")
            last = word.lstrip("!")
            if self.chance(25):
                word += self.one(" ", "\n", ",", "\t", "  ") + self.one("vfs_fsync", "!vfs_fsync", "nosuch", "vfs_truncate:traceoff", "vfs_t*", "")
            word = self.grammar.mutated(word, 25)
            if re.search(r"(^|[\s!])[*?\[!]*(\s|:|$)|(^|[\s!:])[\d]", word) or len(re.sub(r"[*?]", "", word)) < 3:
                continue  # Everything, or a function by its number: the kernels have not the same functions.
            self.write(self.one(*files), word)

    # -- options and values

    def options(self):
        """Options, by their list and by their files."""
        place = self.one("", "", "", "instances/i/")
        if place:
            attempt(os.mkdir, f"{TRACING}/instances/i")
        put("set_ftrace_filter", "vfs_truncate", TRUNC)
        put(f"{place}set_ftrace_filter", "vfs_truncate", TRUNC)
        # In C, what nop has is the same in all instances.
        names = [name for name in sorted(os.listdir(f"{TRACING}/{place}options")) if name not in (
            "test_nop_accept", "rust-demangle", "rust-paths", "branch", "event-fork", "function-fork", "stacktrace", "userstacktrace")]
        self.watch(f"{place}trace_options", f"{place}current_tracer", *(f"{place}options/{name}" for name in names), f"{place}tracing_on")
        if place:
            self.watch("trace_options")
        for _ in range(12):
            name = self.one(*names)
            kind = self.random.randrange(10)
            if kind < 5:
                word = self.one("", "", "no", "no", "nono", "NO", " no", "no ") + name
                self.write(f"{place}trace_options", self.grammar.mutated(word, 20))
            elif kind < 8:
                self.write(f"{place}options/{name}", self.grammar.mutated(self.one("0", "1", "0", "1", *NUMBERS), 20))
            else:
                self.write(f"{place}current_tracer", self.grammar.mutated(self.one("nop", "function", "function_graph", "nop", "function",
                    "function_graph", "blk", "", "nosuch", "Function"), 15))

    def values(self):
        """Files that hold a number or a word."""
        place = self.one("", "", "instances/i/")
        if place:
            attempt(os.mkdir, f"{TRACING}/instances/i")
        put("set_ftrace_filter", "vfs_truncate", TRUNC)
        put(f"{place}set_ftrace_filter", "vfs_truncate", TRUNC)
        files = {"tracing_on": [], "buffer_percent": ["50", "100", "101"], "tracing_cpumask": ["1", "3", "2", "0", "f", "0x1", "1,0", "00000003",
            "1,00000000", ",", "ff,ffffffff", "g", "1,", ",1", "1,,1", "0,000000001"],
                 "tracing_max_latency": [], "trace_clock": ["local", "global", "mono", "counter", "boot", "perf", "uptime", "mono_raw", "tai",
                                                            "x86-tsc", "[local]", "local global", "nosuch"],
                 "syscall_user_buf_size": ["10", "165", "166"], "per_cpu/cpu0/buffer_size_kb": ["10", "100", "1000"], "buffer_size_kb": ["10",
                     "100", "1000", "1"],
                 "buffer_subbuf_size_kb": ["4", "8", "5", "16", "512", "513"], "snapshot": ["0", "1", "2"], "per_cpu/cpu0/snapshot": ["0", "1",
                     "2"], "per_cpu/cpu1/snapshot": ["0", "1"],
                 "current_tracer": ["nop", "function", "function_graph"], "free_buffer": [""], "trace": [""], "per_cpu/cpu0/trace": [""]}
        if not place:
            files |= {"tracing_thresh": ["100"], "max_graph_depth": ["1"], "saved_cmdlines_size": ["100", "1000"], "function_profile_enabled": [],
                      "stack_max_size": [],
                      "hwlat_detector/width": ["500"], "hwlat_detector/window": ["1000000"], "hwlat_detector/mode": ["none", "per-cpu",
                          "round-robin"], "osnoise/cpus": ["0", "0-1", "1", "0,1", "2", ""],
                      "osnoise/options": ["DEFAULTS", "NO_PANIC_ON_STOP", "OSNOISE_PREEMPT_DISABLE", "NO_OSNOISE_WORKLOAD", "NONE", "NO_DEFAULTS"],
                      "osnoise/period_us": ["1000000", "1000"],
                      "osnoise/runtime_us": ["1000000", "1000"], "osnoise/stop_tracing_us": [], "osnoise/timerlat_period_us": ["100", "99",
                          "1000000", "1000001"], "osnoise/print_stack": [],
                      "osnoise/timerlat_align_us": []}
        # In C the size is the one that was asked for last, whatever the sub-buffers have made of it.
        sizes = self.chance(15)
        drop = ("buffer_size_kb", "per_cpu/cpu0/buffer_size_kb", "free_buffer") if sizes else ("buffer_subbuf_size_kb",)
        names = [name for name in files if name not in drop]
        self.watch(*(place + name for name in names if not re.search("snapshot|free_buffer|trace$", name)), f"{place}timestamp_mode")
        if not sizes:
            self.watch(f"{place}per_cpu/cpu1/buffer_size_kb", f"{place}buffer_total_size_kb")
        for _ in range(12):
            name = self.one(*names)
            numbers = SMALL if "size" in name else NUMBERS
            text = self.one(*files[name]) if files[name] and self.chance(65) else self.one(*numbers)
            text = self.grammar.mutated(text, 30)
            if "size" in name and re.search(r"\d{6,18}", text):
                continue
            self.write(place + name, text, self.one(WRITE, WRITE, APPEND, TRUNC, BOTH))

    # -- marks

    def markers(self):
        """Marks and raw marks, and how they are printed."""
        self.options_before()
        self.watch("trace")
        for _ in range(8):
            if self.chance(15):
                self.write("trace_options", self.one("raw", "noraw", "hex", "nohex", "fields", "nofields", "noannotate", "markers", "nomarkers",
                                                     "markers"), APPEND)
            kind = self.random.randrange(10)
            text = self.grammar.mutated(self.one("hello", "hello\n", "a\nb\n", "", "\n", "%s %d", "x" * self.one(*LONG), "a\0b", "é", "\xff\xfe",
                                                 "a" * 5000, "# comment", "tab\there\n\n"), 30)
            if kind < 6:
                self.write("trace_marker", text)
            elif kind < 9 and self.chance(15):
                # The line of such an entry is too long, and in C the next one may follow without a newline.
                size = self.one(4052, 4056, 4060, 4064, 4068, 4096, 5000)
                self.tell(f"{size} raw bytes: {put('trace_marker_raw', bytes(size))}")
                put("trace", "", TRUNC)
            elif kind < 9:
                # What fills an entry up to four bytes is what was there before.
                size = self.one(0, 1, 3, 4, 8, 12, 64, 100, 1000, 2600)
                self.write("trace_marker_raw", bytes(self.random.randrange(256) for _ in range(size)).decode("latin-1"))
            else:
                self.write(self.one("trace", "per_cpu/cpu0/trace", "per_cpu/cpu1/trace", "snapshot"), self.one("", "x", "0", "1", "2"),
                           self.one(WRITE, TRUNC))

    def options_before(self):
        """Lines without what goes before an entry."""
        put("trace_options", "nocontext-info")
        put("trace", "", TRUNC)

    def injects(self):
        """Entries that are made up."""
        self.options_before()
        self.watch("trace")
        event = self.event()
        # C warns where the number is that of another system call. The other one shows the pid.
        while event.startswith(("syscalls", "vmscan")):
            event = self.event()
        for _ in range(10):
            parts = []
            for _ in range(self.one(0, 1, 1, 2, 2, 3)):
                field = self.field(event)
                # In C a command can set the common fields, and COMM and comm overwrite them.
                if field.startswith("common_") or field in ("cpumask", "comm", "COMM"):
                    continue
                value = self.one(*NUMBERS, '"text"', "'text'", '"te', '"' + "x" * self.one(*LONG) + '"', '"a b"', '"a\\"b"', '""', "text", '"%s"',
                                 '"a\tb"', "-5", "0x7fffffff")
                parts.append(field + self.one("=", "=", "=", " = ", " =", "= ", "==", " ") + value)
            self.write(f"events/{event}/inject", self.grammar.mutated(self.one(" ", " ", " ", "  ", "\t", ",").join(parts), 25))

    # -- the file system

    def tree(self):
        """Directories and files that are made, moved and removed."""
        self.seen["instances"] = ""

        def listing():
            return " ".join(brief(name) for name in sorted(os.listdir(f"{TRACING}/instances")))

        self.call("instances", listing)
        for _ in range(10):
            name = self.one("i", "i", "j", "a b", "a:b", ".x", "é", "i/", "i/x", "*", "\n", "x" * self.one(254, 255, 256), "nosuch", "i/..", ".",
                            "..", "-", "%d", "a\\b")
            path = self.one(f"instances/{name}", f"instances/{name}", f"instances/{name}", f"instances/i/{name}", name, f"events/{name}",
                            "instances", "events", "options", "tracing_on", "events/oom",
                            "instances/i/events", "instances/i/tracing_on", "instances/i/options/raw", f"per_cpu/{name}")
            full = f"{TRACING}/{path}"
            kind = self.one("mkdir", "mkdir", "mkdir", "rmdir", "rmdir", "unlink", "rename", "create", "symlink", "link", "mknod", "truncate",
                            "chmod", "listdir", "readlink", "stat", "held")
            if kind == "rename":
                other = self.one("instances/j", "instances/k", "tracing_on", "x", "/tmp/x", "instances/i")
                self.call(f"rename {brief(path)} {other}", os.rename, full, os.path.join(TRACING, other))
            elif kind == "create":
                self.call(f"create {brief(path)}", lambda where=full: os.close(os.open(where, os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK, 0o600)))
            elif kind == "symlink":
                self.call(f"symlink {brief(path)}", os.symlink, "x", full)
            elif kind == "link":
                self.call(f"link {brief(path)}", os.link, f"{TRACING}/tracing_on", full)
            elif kind == "mknod":
                self.call(f"mknod {brief(path)}", os.mknod, full, 0o100600)
            elif kind == "truncate":
                self.call(f"truncate {brief(path)}", os.truncate, full, self.one(0, 1))
            elif kind == "chmod":
                if os.path.exists(full):
                    mode = os.stat(full).st_mode & 0o7777
                    self.call(f"chmod {brief(path)} {mode:o}", os.chmod, full, mode)
            elif kind == "listdir":
                self.call(f"listdir {brief(path)}",
                          lambda where=full: " ".join(brief(one) for one in sorted(os.listdir(where)) if "rust" not in one))
            elif kind == "stat":
                def stat(where=full):
                    result = os.lstat(where)
                    return f"{result.st_mode:o} {result.st_nlink} {result.st_size} {result.st_uid} {result.st_blocks} {result.st_blksize}"
                self.call(f"stat {brief(path)}", stat)
            elif kind == "held":
                def held(where=f"{TRACING}/instances/i", file=self.one("trace", "events/oom/enable", "trace_pipe", "set_event",
                    "events/oom/mark_victim/format", "options/raw", "events/oom/filter", "error_log",
                                                                      "per_cpu/cpu0/stats", "set_ftrace_filter", "tracing_on", "current_tracer",
                                                                      "trace_clock", "events/oom/mark_victim/hist", "buffer_percent",
                                                                      "events/enable",
                                                                      "show_event_filters", "tracing_cpumask", "available_tracers", "trace_options",
                                                                      "free_buffer", "trace_marker", "buffer_size_kb", "set_event_pid",
                                                                      "events/header_page")):
                    attempt(os.mkdir, where)
                    mode = os.stat(f"{where}/{file}").st_mode
                    handle = os.open(f"{where}/{file}", (os.O_RDONLY if mode & 0o400 else os.O_WRONLY) | os.O_NONBLOCK)
                    try:
                        return file, attempt(os.rmdir, where), "" if file == "trace_pipe" else type(attempt(os.read, handle, 10))
                    finally:
                        os.close(handle)
                self.call("rmdir of an instance with an open file", held)
            else:
                self.call(f"{kind} {brief(path)}", getattr(os, kind), full)
            self.tell(f"  instances: {listing()}")

    def seeks(self):
        """Reads and positions in one open file."""
        put("set_event", "oom:mark_victim module:*", TRUNC)
        put("set_event_pid", "1 2 3", TRUNC)
        put("trace_options", "nocontext-info")
        put("kprobe_events", "p:x vfs_truncate a=%di", APPEND)
        put("events/oom/filter", "common_pid == 1")
        put("events/oom/mark_victim/trigger", "traceoff:3 if common_pid == 5", APPEND)
        put("trace_marker", "one")
        files = ["tracing_on", "buffer_size_kb", "buffer_total_size_kb", "trace_clock", "current_tracer", "available_tracers", "set_event",
                 "set_event_pid", "kprobe_events", "dynamic_events", "synthetic_events",
                 "options/raw", "events/oom/enable", "events/oom/mark_victim/enable", "events/oom/mark_victim/id", "events/oom/mark_victim/format",
                 "events/oom/mark_victim/trigger",
                 "events/oom/mark_victim/hist", "tracing_cpumask", "error_log", "max_graph_depth", "buffer_percent", "buffer_subbuf_size_kb",
                 "tracing_thresh", "timestamp_mode",
                 "show_event_filters", "show_event_triggers", "set_ftrace_pid", "set_ftrace_filter", "per_cpu/cpu0/buffer_size_kb", "README",
                 "trace", "trace_marker", "trace_marker_raw", 
                 "user_events_data", "user_events_status", "function_profile_enabled", "syscall_user_buf_size", "uprobe_events",
                 "tracing_max_latency", "stack_max_size", "per_cpu/cpu0/stats",
                 "snapshot", "events/enable", "kprobe_profile", "uprobe_profile", "set_graph_function", "stack_trace_filter", "printk_formats",
                 "available_events", "events/oom/mark_victim/hist_debug", "events/header_page"]
        for _ in range(3):
            name = self.one(*files)
            mode = os.stat(f"{TRACING}/{name}").st_mode
            flags = self.one(os.O_RDONLY, os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_APPEND)
            file = attempt(os.open, f"{TRACING}/{name}", flags | os.O_NONBLOCK)
            self.start(f"open {name} {flags} {mode:o}")
            if isinstance(file, str):
                self.tell(f"  gives {file}")
                continue
            for _ in range(6):
                size = self.one(0, 1, 2, 3, 5, 10, 64, 100, 4096, 10000)
                offset = self.one(0, 0, 1, 2, 5, 10, 100, 4096, 1 << 20)
                kind = self.random.randrange(9)
                if kind < 3:
                    self.call(f"read {name} {size}", os.read, file, size)
                elif kind < 5:
                    self.call(f"pread {name} {size} {offset}", os.pread, file, size, offset)
                elif kind < 8 and flags != os.O_WRONLY:
                    whence = self.one(os.SEEK_SET, os.SEEK_SET, os.SEEK_CUR, os.SEEK_CUR, 9)
                    self.call(f"lseek {name} {offset} {whence}", os.lseek, file, self.one(offset, offset, -offset), whence)
                elif kind == 8 and flags & os.O_RDWR and mode & 0o200 and name not in ("trace_marker", "trace_marker_raw", "free_buffer",
                    "user_events_data",
                    "snapshot", "buffer_size_kb", "buffer_subbuf_size_kb", "per_cpu/cpu0/buffer_size_kb", "saved_cmdlines_size"):
                    text = self.one(b"1", b"0", b"x", b"", b"1\n", b"local", b"nop", b"oom:mark_victim")
                    self.call(f"pwrite {name} {text} {offset}", os.pwrite, file, text, offset)
            attempt(os.close, file)

    # -- user events

    def users(self):
        """User events by ioctl(2)."""
        self.watch("dynamic_events", "user_events_status")
        page = mmap.mmap(-1, 4096)
        bits = (ctypes.c_char * 4096).from_buffer(page)
        base = ctypes.addressof(bits)
        file = os.open(f"{TRACING}/user_events_data", os.O_RDWR)
        for _ in range(10):
            kind = self.random.randrange(10)
            text = self.grammar.mutated(self.definition("u").removeprefix("u:").lstrip("u "), 25)
            encoded = text.encode("latin-1", "replace").split(b"\0")[0]
            # C takes names that it cannot show.
            name = encoded.split(b" ")[0]
            if not re.fullmatch(rb"\w+", name) or name.startswith(b"own"):
                continue
            buffer = ctypes.create_string_buffer(encoded)
            if kind < 6:
                size = 28 if self.chance(90) else self.one(0, 27, 29, 4097, 4, 4294967295)
                bit = self.one(0, 0, 1, 31, 32, 63, 64, 255)
                width = self.one(4, 4, 8, 4, 0, 2, 16)
                flags = self.one(0, 0, 0, 0, 1, 2, 3, 4)
                shift = self.one(0, 0, 0, 4, 8, 1, 4094)
                raw = bytearray(struct.pack("=IBBHQQI", size, bit, width, flags, base + shift, ctypes.addressof(buffer), 77))
                raw += self.one(b"", b"\0" * 8, b"\1")

                def register(raw=raw):
                    fcntl.ioctl(file, 0xC0082A00, raw, True)
                    return struct.unpack_from("=I", raw, 24)[0]
                self.call(f"register {brief(encoded)} size {size} bit {bit} width {width} flags {flags} at {shift}", register)
            elif kind < 8:
                self.call(f"delete {brief(name)}", fcntl.ioctl, file, 0x40082A01, name + b"\0")
            elif kind < 9:
                bit = self.one(0, 0, 1, 31)
                raw = bytearray(struct.pack("=IBBHIQ", self.one(20, 20, 16, 0), bit, self.one(0, 0, 1), self.one(0, 0, 1), 0, base + self.one(0, 4,
                    8)))[:20]
                self.call(f"unregister bit {bit} {raw[:12].hex()}", fcntl.ioctl, file, 0x40082A02, bytes(raw))
            else:
                data = struct.pack("=I", self.one(0, 1, 2, 77)) + b"x" * self.one(0, 1, 4, 8, 20)
                self.call(f"write {brief(data)}", os.write, file, data[:self.one(0, 3, 100, 100)])
        os.close(file)
        del bits


GRAMMARS = ["filters", "triggers", "hists", "probes", "kprobes", "uprobes", "synthetics", "set_event", "pids", "functions", "options", "values",
            "markers",
            "injects", "tree", "seeks", "users"]
BASE = ["set_event", "set_event_pid", "set_event_notrace_pid", "set_ftrace_pid", "set_ftrace_notrace_pid", "set_ftrace_filter",
        "set_ftrace_notrace", "set_graph_function", "set_graph_notrace", "stack_trace_filter",
        "trace_options", "trace_clock", "tracing_cpumask", "buffer_percent", "current_tracer", "tracing_thresh", "max_graph_depth", "tracing_on",
        "tracing_max_latency", "syscall_user_buf_size",
        "function_profile_enabled", "buffer_subbuf_size_kb", "buffer_size_kb", "saved_cmdlines_size", "hwlat_detector/width",
        "hwlat_detector/window", "hwlat_detector/mode", "osnoise/cpus", "osnoise/options",
        "osnoise/period_us", "osnoise/runtime_us", "osnoise/stop_tracing_us", "osnoise/timerlat_period_us", "osnoise/print_stack",
        "osnoise/timerlat_align_us", "dynamic_events", "synthetic_events", "show_event_filters",
        "show_event_triggers", "timestamp_mode", "error_log", "user_events_status"]


def prepare():
    """What is there before each round."""
    put("buffer_size_kb", "200")
    put("synthetic_events", "one u64 v", APPEND)
    put("synthetic_events", "syn u64 v; char[16] t; char[] d; unsigned long[] st", APPEND)
    put("dynamic_events", "u:own u32 a; s16 s; char[16] t; __data_loc char[] d", APPEND)


def restore(base):
    """Back to what was there before; what is not, is told."""
    put("current_tracer", "nop")
    for name in os.listdir(f"{TRACING}/instances"):
        attempt(os.rmdir, f"{TRACING}/instances/{name}")
    put("set_event", "", TRUNC)
    for _ in range(3):
        for line in read("show_event_triggers").splitlines():
            if not re.match(r"\w+:\w+\s+\S", line):
                continue
            event, text = line.split(None, 1)
            text = re.sub(r":count=\d+|:unlimited| \[(active|paused)\]", "", text).replace("common_cpucommon_cpu", "common_cpu")
            put(f"events/{event.replace(':', '/')}/trigger", "!" + re.sub(r"common_cpu(cpu|CPU)", r"\1", text), APPEND)
            put(f"events/{event.replace(':', '/')}/trigger", "\n", TRUNC)
    for line in read("show_event_filters").splitlines():  # A filter may have several lines.
        if not re.match(r"\w+:\w", line):
            continue
        put(f"events/{line.split()[0].replace(':', '/')}/filter", "0")
    for name in os.listdir(f"{TRACING}/events"):
        if os.path.exists(f"{TRACING}/events/{name}/filter") and not read(f"events/{name}/filter").startswith("#"):
            put(f"events/{name}/filter", "0")
    for line in read("dynamic_events").splitlines():
        if line not in base["dynamic_events"]:
            name = line.split()[0].split(":", 1)[-1]
            put("synthetic_events" if line.startswith("s:") else "dynamic_events", ("!" if line[0] in "su" else "-:") + name.replace("synthetic/",
                ""), APPEND)
            if line.startswith("u:"):
                file = os.open(f"{TRACING}/user_events_data", os.O_RDWR)
                attempt(fcntl.ioctl, file, 0x40082A01, re.split("[ ;]", line[2:])[0].encode("latin-1") + b"\0")
                os.close(file)
    for file in ("set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "set_graph_notrace", "stack_trace_filter", "set_event_pid",
                 "set_event_notrace_pid", "set_ftrace_pid", "set_ftrace_notrace_pid"):
        put(file, "", TRUNC)
    for line in read("set_ftrace_filter").splitlines():
        if not line.startswith("#"):
            put("set_ftrace_filter", "!" + re.sub(r":unlimited$", "", re.sub(r":count=\d+$", ":0", line)) + "\n", APPEND)
    for line in base["trace_options"].splitlines():
        put("trace_options", line)
    put("snapshot", "0")
    for file in BASE:
        if (now := read(file)) != base[file]:
            text = base[file].splitlines()[0] if base[file] else ""
            if marked := re.search(r"\[(.*?)\]", text):
                text = marked[1]
            if file == "osnoise/options":
                text = "DEFAULTS"
            if len(base[file].splitlines()) == 1 and now != base[file]:
                put(file, text)
    prepare()
    put("osnoise/period_us", base["osnoise/period_us"])
    put("osnoise/runtime_us", base["osnoise/runtime_us"])
    put("hwlat_detector/window", base["hwlat_detector/window"])
    put("hwlat_detector/width", base["hwlat_detector/width"])
    put("trace", "", TRUNC)
    put("error_log", "", TRUNC)
    lines = {file: read(file) for file in BASE}
    return [file for file in BASE if sorted(lines[file].splitlines()) != sorted(base[file].splitlines())]


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    names = sys.argv[3].split(",") if len(sys.argv) > 3 and sys.argv[3] != "all" else GRAMMARS
    only = set(map(int, sys.argv[4].split(","))) if len(sys.argv) > 4 else None
    os.chdir("/")
    prepare()
    base = {file: read(file) for file in BASE}
    for name in names:
        print(f"== {name}, seed {seed} ==")
        for number in range(count):
            if only and number not in only:
                continue
            round_ = Round(Grammar(f"{seed} {name} {number}"), name, number)
            getattr(round_, name)()
            round_.count += 1
            for file in restore(base):
                round_.tell(f"  left behind in {file}: {brief(chr(10).join(sorted(visible(read(file)).splitlines())))}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
