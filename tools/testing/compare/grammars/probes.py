# SPDX-License-Identifier: GPL-2.0
"""Dynamic events of all kinds, by the file of all and by the files of one kind.

Left out: names of user events, and fields without a name, that C takes and cannot show; constant texts of event probes, which in C
are the address of a copy; O_TRUNC where an event probe uses a synthetic event, as C removes what is listed before that.
"""
import re

from control import APPEND, BOTH, TRUNC, WRITE, read
from texts import LONG, SMALL

from .events import FUNCTIONS
from .filters import expression
from .members import definition, is_nameless


def left_out(text):
    """Whether the kernels are meant to differ."""
    if re.search(r"u:\w*[^\w ]|u:[\s ]|u:.*\xe9", text):
        return True
    lines = [line.partition("#")[0].strip("\0") for line in text.split("\n")]
    return any("u:" in line and is_nameless(line.split("u:")[1]) or re.match(r"\s*e.*\\\"", line.partition(" if")[0])
               for line in lines)


def fetch(texts, depth=0):
    """What an argument is taken from."""
    number = texts.mostly(20, ["0", "1", "3", "8", "0x10"], SMALL)
    if depth < 5 and texts.chance(25):
        sign = texts.mostly(10, ["+", "+", "-", "+u"], ["", "-u", "u", "+uu", "*"])
        offset = texts.mostly(15, ["0", "8", "0x10"], SMALL)
        opening = texts.mostly(4, ["("], ["", "[", "(("])
        return sign + offset + opening + fetch(texts, depth + 1) + texts.mostly(5, [")"], ["", "))", "]", ")x"])
    good = ["%di", "%ax", "%si", "%flags", "$stack", f"$stack{number}", "$retval", "$comm", "@jiffies", f"@jiffies+{number}",
            "@0xffffffff81000000", f"\\{number}", f"\\-{number}", '\\"text"', "$pid", "$newcomm", "$filename", "$common_pid", "@_stext",
            f"$arg{number}"]
    odd = ["%nosuch", "%", "$COMM", "$arg*", "$current", f"@jiffies-{number}", "@nosuch", f"@+{number}", "@", '\\"te', "pid", "$nosuch",
           "$", "this_cpu_read(current_task)", "this_cpu_ptr(nosuch)", f"this_cpu_read(+{number}(%di))", "(task_struct)%di->pid",
           "(task_struct,pid)$pid", "$stackx", "$retvalx", "%dix", "$$", "\\", "$COMMx", "this_cpu_read(%di", "this_cpu_ptr(@jiffies)",
           "%bx", "$gs", "$argx", "$common_comm", "(task_struct)", "(x", "()", "this_cpu_read()", "this_cpu_ptr", "%cs", "%bp", "%r15",
           "%sp", "%orig_ax"]
    return texts.mostly(15, good, odd)


def argument(texts):
    """An argument."""
    name = texts.mostly(12, ["", "a=", "b=", "c=", "d=", "pid="], [
        "__probe_ip=", "common_pid=", "=", "a==", "x" * texts.one(*LONG[:13]) + "=", "a =", "__probe_func=", "$a=",
        texts.name("d", "e") + "="])
    ctype = ""
    if texts.chance(50):
        number = texts.mostly(40, ["1", "3", "64"], SMALL)
        good = ["u8", "u16", "u32", "u64", "s8", "s32", "x8", "x16", "x64", "string", "string", "ustring", "symbol", "symstr", "%pd",
                "%pD", "char", "b4@4/32", "b8@0/8"]
        odd = ["bool", f"b{number}@{number}/32", f"b{number}@0/{number}", f"b{number}@{number}/64", "nosuch", "", f"u8[{number}]",
               f"string[{number}]", f"x32[{number}]", "u8[", "u8[]", "u8]", "u8[3]x", "b", "b8", "b8@", "b8@0", "b8@0/", "b8@0/8x",
               "b8@0/8[2]", "U8", "int", "char[16]", "symbol[2]", "ustring[2]", "symstr[2]", "%pd[2]", "string:u8", "x128", "x",
               "u8[3][2]", "%p", "%px", "%pdx", "ustringx"]
        ctype = ":" + texts.mostly(20, good, odd)
    return name + fetch(texts) + ctype


def kprobe_place(texts, function):
    """A place in a function, or its return."""
    return texts.mostly(25, [function, function, function, f"{function}+0", f"{function}%return"], [
        f"{function}+{texts.number()}", "nosuch", f"nosuch:{function}", f"{function}-0", f"{function}%retur", f"{function}+0x10000000",
        f":{function}", f"{function}+", f"{function}+0%return", "*", f"{function}:", "vfs_*", "_stext", f"vmlinux:{function}", "do_int3",
        "jiffies", f"{function}%", f"{function}%return+0", f"{function}+4%return", f"{function}%%return"])


def fprobe_place(texts, function):
    """Functions, or their returns."""
    return texts.mostly(35, [function, function, function, f"{function}%return"], [
        "vfs_f*", "vfs_fsync*", "vfs_f*%return", "nosuch", "nosuch*", f"{function}+0", f"{function}%ret", "*", "!vfs_fsync",
        "vfs_f*,!vfs_fsync", "vfs_fsync,vfs_truncate", "vfs_[fx]sync", "vfs_fsyn?", f"{function}:exit", f"{function}:entry",
        f"{function},", f"nosuch:{function}", ",", "!", f",{function}", f"{function},,vfs_f*", f"{function},vfs_f*:exit",
        f"{function},!{function}", f"!{function},{function}", f"{function},vfs_f*%return", "vfs_f*:entry", "vfs_f*:exit",
        "vfs_f*:nosuch", f"{function}%return:exit", "*,!vfs_fsync"])


def tprobe_place(texts, _function):
    """A tracepoint."""
    return texts.mostly(40, ["sched_process_exec", "task_rename"], [
        "nosuch", "sched/sched_process_exec", "sched-x", "9x", "sched_process_exec%return", "task_rename+0", "task_*", "",
        "x" * texts.one(*LONG)])


def eprobe_place(texts, _function):
    """An event."""
    return texts.mostly(40, ["sched/sched_process_exec", "sched.sched_process_exec", "task.task_rename"], [
        "task/nosuch", "nosuch.x", "sched", "task/task_rename.x", ".x", "/", "synthetic/one", "synthetic.syn", "ftrace/print",
        "ftrace.function", "user_events/own", "kprobes.x", "kprobes.p_vfs_fsync_0", "g.x", "task.task_rename/x",
        "syscalls/sys_enter_swapon", "sched..x", "sched.", "task/" + "x" * texts.one(*LONG), "x" * texts.one(*LONG) + "/x"])


def uprobe_place(texts, _function):
    """An offset in a file."""
    place = "/bin/busybox:0x10"
    return texts.mostly(35, [place, place, "/bin/busybox:16", "/bin/busybox:0x20", f"{place}%return", f"{place}(0x20)"], [
        "/bin/busybox", "/bin/busybox:" + texts.number(), "/nosuch:0x10", "/bin:0x10", "bin/busybox:0x10", f"{place}(0x20",
        f"{place}(0x20)x", f"{place} (0x20)", f"{place}(x)", f"{place}%x", "/bin/../bin/busybox:0x10", f"{place}(0x20)%return",
        f"{place}%return(0x20)", f"{place}({texts.number()})", "/dev/null:0x10", "/bin/busybox::0x10", "/bin/busybox:0x99999999",
        f"{place}()", "/bin/busybox:(0x10)", "/bin/busybox:%return", f"{place}%"])


PLACES = {"p": kprobe_place, "r": kprobe_place, "f": fprobe_place, "t": tprobe_place, "e": eprobe_place, "up": uprobe_place}


def removal(texts):
    """The end of a dynamic event."""
    return (texts.one("-:", "-:", "-:", "-", "!", "- :")
            + texts.one("x", "y", "g/x", "kprobes/x", "fprobes/x", "eprobes/x", "uprobes/x", "g/", "/x", "", "*", "g/*", "nosuch")
            + texts.one("", "", "", " vfs_fsync", " vfs_fsync %di", " vfs_fsync a=%di", " sched.sched_process_exec", " a=%di", " nosuch"))


def probe(texts):
    """A definition or a removal."""
    kind = texts.one("p", "p", "r", "f", "f", "t", "e", "e", "u", "up", "s", "-", "-")
    if kind == "-":
        return removal(texts)
    head = kind[-1] if kind != "up" else texts.one("p", "r", "p")
    if kind in ("r", "p", "f") and texts.chance(8):
        head += texts.one("7", "1", "4096", "4097", *SMALL)
    head += texts.mostly(15, ["", ":x", ":y", ":x", ":g/x", ":h/x", ":g.x"], [
        ":" + texts.name("z", "y"), ":" + texts.name("g", "h") + "/" + texts.name("x", "y"), ":", ":g/", ":/x", ":g/x/y", "::x", ":x:y"])
    function = texts.one(*FUNCTIONS)
    if kind not in PLACES:
        return definition(texts, kind)
    place = PLACES[kind](texts, function)
    arguments = [argument(texts) for _ in range(texts.one(0, 0, 1, 1, 1, 2, 2, 3))]
    if texts.chance(1):
        arguments *= texts.one(43, 65, 128, 129)
    text = texts.blank().join([head, place, *arguments])
    if kind == "e" and texts.chance(25):
        text += texts.one(" if ", " if ", " if  ", " if", " iff ", " if if ") + expression(texts, "sched/sched_process_exec", 2)
    return text


def of_file(texts, file):
    """What is written to a file, mostly of its own kind."""
    text = probe(texts)
    if file == "synthetic_events":
        return definition(texts, "s").removeprefix("s:")
    if file != "dynamic_events" and texts.chance(70):
        while text[:1] not in "pr-!" or ("busybox" in text) != (file == "uprobe_events") and text[:1] in "pr":
            text = probe(texts)
    return text


def watch_formats(round_):
    """The formats of the events that are there now."""
    for line in read("dynamic_events").splitlines():
        if match := re.match(r"\w+:(\w+)/(\w+)", line):
            name = f"{match[1]}/{match[2]}"
        elif match := re.match(r"s:(?:synthetic/)?(\w+)|u:(\w+)", line):
            name = f"synthetic/{match[1]}" if match[1] else f"user_events/{match[2]}"
        else:
            continue
        round_.show(f"events/{name}/format")


def define(round_, *files):
    """Definitions in any of the files, and what they become."""
    texts = round_.texts
    round_.watch("dynamic_events", "kprobe_events", "uprobe_events", "synthetic_events")
    last = ""
    for _ in range(10):
        file = texts.one(*files)
        text = of_file(texts, file)
        if last and texts.chance(20):
            text = texts.one("", "-", "!", "") + last + texts.one("", "", " a=%si")
        last = text
        text = texts.mutated(text, 35)
        if texts.chance(8):
            text += texts.one("\n", "\n\n", "\n#\n", " # ", ";") + probe(texts)
        if left_out(text):
            continue
        flags = texts.one(*[APPEND] * 6, WRITE, BOTH, TRUNC) if texts.chance(50) else APPEND
        if flags == TRUNC and re.search("^e:.* synthetic[./]", read("dynamic_events"), re.M):
            flags = APPEND
        # A piece may be the name of a user event that is left out.
        round_.write(file, text, flags, whole="u:" in text)
        watch_formats(round_)


def run(round_):
    """The file of all kinds."""
    define(round_, "dynamic_events")


def mostly_in(file):
    """The same for one kind's file."""
    return lambda round_: define(round_, file, file, file, "dynamic_events")
