# SPDX-License-Identifier: GPL-2.0
"""BPF programs at each kind of event: they run once a hit, and perf gets the hits that they do not drop."""
import ctypes
import errno
import fcntl
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bpf import (EXIT, KPROBE, KPROBE_MULTI, RAW_TRACEPOINT, TRACEPOINT, UPROBE_MULTI, Error, PerfEvent, Program,  # noqa: E402
                 Samples, count_runs, moved, override)

TRACING = "/sys/kernel/tracing/"
HITS = 10
program, offset, ends = sys.argv[1], int(sys.argv[2], 0), int(sys.argv[3], 0)
with open("/proc/kallsyms", encoding="utf-8") as symbols:
    OURS = "rtrace_dynamic_reg" in symbols.read()
bad = []


def expect(what, got, wanted):
    print(f"# {what}: {got}")
    if got != wanted:
        bad.append(f"{what}: {got}, not {wanted}")


def refused(what, number, call):
    try:
        call()
    except OSError as error:
        expect(what, errno.errorcode[error.errno], errno.errorcode[number])
    else:
        bad.append(f"{what}: not refused")


def not_for(what, event, it):
    """An event that takes no such program."""
    refused(what, errno.EINVAL, lambda: event.attach(it))
    event.end()


def hit():
    for _ in range(HITS):
        os.getppid()


def run():
    pid = os.fork()
    if not pid:
        os.execv(program, [program])
    os.waitpid(pid, 0)


def write(file, text, mode="w"):
    with open(TRACING + file, mode, encoding="ascii") as out:
        out.write(text)


def one(what, event, kind, do, hits):
    """A program that keeps hits, then one that drops them, then both."""
    for result in (1, 0):
        it, at = Program(kind, result), event()
        at.attach(it)
        do()
        expect(f"{what}: a program that returns {result} ran", it.runs(), hits)
        expect(f"{what}: perf then counts", at.count(), hits * result)
        at.end()
    keeps, drops, first, second = Program(kind, 1), Program(kind, 0), event(), event()
    first.attach(keeps)
    second.attach(drops)
    do()
    expect(f"{what}: both ran", (keeps.runs(), drops.runs()), (hits, hits))
    expect(f"{what}: one of both drops", (first.count(), second.count()), (0, 0))
    first.end()
    second.end()


os.sched_setaffinity(0, {0})
stats = count_runs()
FUNCTION = "__x64_sys_getppid"
me = {"pid": os.getpid(), "cpu": -1}

write("kprobe_events", f"p:bpf_entry {FUNCTION}\n")
write("kprobe_events", f"r:bpf_return {FUNCTION} $retval\n", "a")
write("uprobe_events", f"p:bpf_called {program}:{offset:#x}\n")
write("uprobe_events", f"r:bpf_back {program}:{offset:#x}\n", "a")
# A program sees all hits of an event, also those that perf's event is not for.
one("kprobe", lambda: PerfEvent.tracepoint("kprobes/bpf_entry", **me), KPROBE, hit, HITS)
one("kretprobe", lambda: PerfEvent.tracepoint("kprobes/bpf_return", **me), KPROBE, hit, HITS)
one("uprobe", lambda: PerfEvent.tracepoint("uprobes/bpf_called"), KPROBE, run, 3)
one("uretprobe", lambda: PerfEvent.tracepoint("uprobes/bpf_back"), KPROBE, run, 3)
one("sys_enter_getppid", lambda: PerfEvent.tracepoint("syscalls/sys_enter_getppid", **me), TRACEPOINT, hit, HITS)
one("sys_exit_getppid", lambda: PerfEvent.tracepoint("syscalls/sys_exit_getppid", **me), TRACEPOINT, hit, HITS)

# The hole behind the number has nothing of the kernel's stack: r0 = *(u32 *)(r1 + 12); if r0 != 0 it drops the hit.
hole = struct.pack("<BBhi", 0x61, 0x10, 12, 0) + struct.pack("<BBhi", 0x15, 0, 2, 0) + moved(0) + EXIT
at = PerfEvent.tracepoint("syscalls/sys_exit_getppid", **me).attach(Program(TRACEPOINT, 1, hole))
hit()
expect("sys_exit_getppid: hits with zeros in the hole", at.count(), HITS)
at.end()

# The function that a program at a uprobe is told is not 0: bpf_get_func_ip(r1); if r0 == 0 it drops the hit.
function = struct.pack("<BBhi", 0x85, 0, 0, 173) + struct.pack("<BBhi", 0x55, 0, 2, 0) + moved(0) + EXIT
for name in ("bpf_called", "bpf_back"):
    at = PerfEvent.tracepoint(f"uprobes/{name}").attach(Program(KPROBE, 1, function))
    run()
    expect(f"{name}: hits in a function", at.count(), 3)
    at.end()
# A program that has the task go on elsewhere: r2 = ends; regs->ip = r2. The sample has that place.
jump = struct.pack("<BBhi", 0xb7, 2, 0, ends) + struct.pack("<BBhi", 0x7b, 0x21, 128, 0)
# Behind the common fields are the place, or the function and the place that it returns to.
for name, word in (("bpf_called", 8), ("bpf_back", 16)):
    at = Samples.tracepoint(f"uprobes/{name}").attach(Program(KPROBE, 1, jump))
    run()
    places = [struct.unpack_from("<Q", raw, word)[0] for raw in at.raw()]
    expect(f"{name}: samples of the place that a program went on at", places, [ends])
    at.end()
# A tracepoint's program sees each process that ends.
one("sched_process_exit", lambda: PerfEvent.tracepoint("sched/sched_process_exit"), TRACEPOINT, run, 1)

# The same of an event that a module in Rust declares.
if os.path.exists(TRACING + "events/rtrace_sample/task_end"):
    one("rtrace_sample:task_end", lambda: PerfEvent.tracepoint("rtrace_sample/task_end"), TRACEPOINT, run, 1)
    at = PerfEvent.tracepoint("rtrace_sample/task_end").attach(Program(TRACEPOINT, 1))
    expect("rtrace_sample:task_end: described", at.described()[:3], (1, "task_end", 0))
    at.end()
    not_for("a kprobe's program at an event in Rust", PerfEvent.tracepoint("rtrace_sample/task_end"), Program(KPROBE))

# A program at a user event sees each entry.
if os.path.exists(TRACING + "user_events_data"):
    bit = ctypes.c_uint64(0)
    text = ctypes.create_string_buffer(b"bpf_user u32 a")
    request = bytearray(struct.pack("=IBBHQQI", 28, 0, 4, 0, ctypes.addressof(bit), ctypes.addressof(text), 0))
    data = os.open(TRACING + "user_events_data", os.O_RDWR)
    fcntl.ioctl(data, 0xC0082A00, request, True)
    entry = struct.pack("=II", struct.unpack_from("=I", request, 24)[0], 7)
    one("user event", lambda: PerfEvent.tracepoint("user_events/bpf_user", **me), TRACEPOINT,
        lambda: [os.write(data, entry) for _ in range(HITS)], HITS)
    not_for("a kprobe's program at a user event", PerfEvent.tracepoint("user_events/bpf_user"), Program(KPROBE))
    os.close(data)

# A program at a synthetic event does, too. C takes it, and never runs it.
if os.path.exists(TRACING + "events/syscalls/sys_enter_getppid/hist") and os.path.exists(TRACING + "synthetic_events"):
    fires = f"hist:keys=common_pid:now=common_timestamp:onchange($now).trace(bpf_synthetic,$now) if common_pid == {os.getpid()}"
    write("synthetic_events", "bpf_synthetic u64 a\n", "a")
    write("events/syscalls/sys_enter_getppid/trigger", fires, "a")
    if OURS:
        one("synthetic event", lambda: PerfEvent.tracepoint("synthetic/bpf_synthetic", **me), TRACEPOINT, hit, HITS)
    it = Program(TRACEPOINT, 1)
    at = PerfEvent.tracepoint("synthetic/bpf_synthetic", **me).attach(it)
    hit()
    expect("synthetic event: perf counts", at.count(), HITS)
    expect("synthetic event: described", at.described()[:3], (1, "bpf_synthetic", 0))
    at.end()
    not_for("a kprobe's program at a synthetic event", PerfEvent.tracepoint("synthetic/bpf_synthetic"), Program(KPROBE))
    # r0 = *(u64 *)(r1 + 16), which is behind the fields.
    at, reads = PerfEvent.tracepoint("synthetic/bpf_synthetic", **me), struct.pack("<BBhi", 0x79, 0x10, 16, 0)
    refused("a program that reads behind the entry", errno.EACCES, lambda: at.attach(Program(TRACEPOINT, 1, reads)))
    at.end()
    write("events/syscalls/sys_enter_getppid/trigger", "!" + fires, "a")
    write("synthetic_events", "!bpf_synthetic\n", "a")

# Probes of one of perf's events alone.
for is_return in (False, True):
    for result in (1, 0):
        it = Program(KPROBE, result)
        at = PerfEvent.local("kprobe", FUNCTION, is_return=is_return, **me).attach(it)
        hit()
        expect(f"own kprobe, return {is_return}: a program that returns {result} ran", it.runs(), HITS)
        expect(f"own kprobe, return {is_return}: perf then counts", at.count(), HITS * result)
        kind, name, place, address = at.described()
        expect("own kprobe: described", (kind, name, place, address != 0), (3 if is_return else 2, FUNCTION, 0, True))
        at.end()
        it = Program(KPROBE, result)
        at = PerfEvent.local("uprobe", program, offset=offset, is_return=is_return).attach(it)
        run()
        expect(f"own uprobe, return {is_return}: a program that returns {result} ran", it.runs(), 3)
        expect(f"own uprobe, return {is_return}: perf then counts", at.count(), 3 * result)
        expect("own uprobe: described", at.described()[:3], (5 if is_return else 4, program, offset))
        at.end()
at = PerfEvent.tracepoint("kprobes/bpf_entry", **me).attach(Program(KPROBE, 1))
expect("kprobe: described", at.described()[:3], (2, FUNCTION, 0))
at.end()
at = PerfEvent.tracepoint("syscalls/sys_enter_getppid", **me).attach(Program(TRACEPOINT, 1))
expect("sys_enter_getppid: described", at.described()[:3], (1, "sys_enter_getppid", 0))
at.end()

# What is told of an event with several probes is its first one, also while that is removed.
write("kprobe_events", "p:bpf_two vfs_read\n", "a")
write("kprobe_events", "p:bpf_two vfs_write\n", "a")
at = PerfEvent.tracepoint("kprobes/bpf_two", **me).attach(Program(KPROBE, 1))
described = {at.described()[1]}
child = os.fork()
if not child:
    for _ in range(20):
        for first in ("vfs_read", "vfs_write"):
            write("kprobe_events", f"-:bpf_two {first}\n", "a")
            write("kprobe_events", f"p:bpf_two {first}\n", "a")
    os._exit(0)
ended = 0, 0
while ended == (0, 0):
    described.add(at.described()[1])
    ended = os.waitpid(child, os.WNOHANG)
expect("an event with two probes: redefined", ended[1], 0)
expect("an event with two probes: described", sorted(described), ["vfs_read", "vfs_write"])
at.end()

# What files record is not dropped.
write("trace", "")
write("events/kprobes/bpf_entry/enable", "1")
at = PerfEvent.tracepoint("kprobes/bpf_entry", **me).attach(Program(KPROBE, 0))
hit()
at.end()
write("events/kprobes/bpf_entry/enable", "0")
with open(TRACING + "trace", encoding="utf-8") as trace:
    # In the comm's columns and behind is the task, python3.
    expect("kprobe: recorded in the file", sum(f"-{os.getpid()} " in line and "bpf_entry: " in line for line in trace), HITS)

# A raw tracepoint, many functions and many places at once.
it = Program(RAW_TRACEPOINT)
link = it.at_raw_tracepoint("sys_enter")
hit()
print(f"# raw tracepoint: {it.runs()}")
if it.runs() < HITS:
    bad.append(f"raw tracepoint: ran {it.runs()} times")
os.close(link)
refused("raw tracepoint: no such", errno.ENOENT, lambda: it.at_raw_tracepoint("no_such_tracepoint"))
for is_return in (False, True):
    it = Program(KPROBE, 0, attach=KPROBE_MULTI)
    link = it.at_kprobes(FUNCTION, "__x64_sys_getpgid", is_return=is_return)
    hit()
    for _ in range(HITS):
        os.getpgid(0)
    expect(f"kprobe.multi, return {is_return}: ran", it.runs(), 2 * HITS)
    os.close(link)
    hit()
    expect(f"kprobe.multi, return {is_return}: ran after its end", it.runs(), 2 * HITS)
    it = Program(KPROBE, 0, attach=UPROBE_MULTI)
    link = it.at_uprobes(program, offset, is_return=is_return)
    run()
    expect(f"uprobe.multi, return {is_return}: ran", it.runs(), 3)
    os.close(link)
refused("kprobe.multi: no such function", errno.ESRCH, lambda: Program(KPROBE, 0, attach=KPROBE_MULTI).at_kprobes("no_such_function"))
not_for("a kprobe's program at a tracepoint", PerfEvent.tracepoint("sched/sched_process_exit"), Program(KPROBE))
not_for("a tracepoint's program at a kprobe", PerfEvent.tracepoint("kprobes/bpf_entry"), Program(TRACEPOINT))

# A function that returns what a program says, without running: only one that is marked for it, only at its entry.
try:
    fails = Program(KPROBE, 0, override(-errno.EIO))
except Error as error:
    print(f"# no bpf_override_return(): {error}")
else:
    at = PerfEvent.tracepoint("kprobes/bpf_entry", **me).attach(fails)
    expect("overridden", os.getppid(), -errno.EIO)
    at.end()
    expect("overridden no longer", os.getppid() > 0, True)
    not_for("override of what is not marked", PerfEvent.local("kprobe", "vfs_read"), fails)
    try:
        inside = PerfEvent.local("kprobe", FUNCTION, offset=5)
    except OSError:
        # There is an ENDBR in front.
        inside = PerfEvent.local("kprobe", FUNCTION, offset=9)
    not_for("override inside a function", inside, fails)

write("kprobe_events", "")
write("uprobe_events", "")
for line in bad:
    print(f"wrong: {line}")
sys.exit(bool(bad))
