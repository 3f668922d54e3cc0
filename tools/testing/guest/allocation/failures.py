#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make each allocation of each control operation fail in turn.

An operation that says it failed must have left every control file as it was; one that says it succeeded, as it leaves them
without a fault. What takes effect when its file is closed cannot say that it failed: it must have done all or nothing. Only this
task's allocations fail, so an operation is a system call or a few of it.
OPERATION=text runs the operations whose name contains it.
"""
import contextlib
import ctypes
import errno
import os
import re
import sys
import threading
import time

TRACING = "/sys/kernel/tracing"
DEBUG = "/sys/kernel/debug"
INSTANCE = "instances/failures"
MARKS = 200  # events that fill some sub-buffers of an instance's 32 KiB
FIRST = 24  # allocations that each fail in turn; of the later ones some
# What a control operation may change.
STATE = ["current_tracer", "set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "set_graph_notrace", "set_ftrace_pid",
         "set_ftrace_notrace_pid", "set_event", "set_event_pid", "set_event_notrace_pid", "trace_options", "buffer_size_kb",
         "buffer_subbuf_size_kb",
         "per_cpu/cpu0/buffer_size_kb", "per_cpu/cpu1/buffer_size_kb", "snapshot", "tracing_cpumask", "trace_clock", "tracing_on",
         "saved_cmdlines_size", "function_profile_enabled", "events/sched/enable", "events/sched/filter",
         "events/sched/sched_switch/enable", "events/sched/sched_switch/filter", "events/sched/sched_switch/trigger",
         "events/sched/sched_waking/filter", "tracing_thresh", "max_graph_depth"]
MODES = ["", "events/irq", "events/irq/enable", "events/irq/softirq_raise/format"]
MOUNTED = "/tmp/failures"
# Files that take effect when they are closed.
AT_CLOSE = {"set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "set_graph_notrace"}


def text(name):
    """What a control file says now; None where there is none."""
    try:
        with open(name, "rb") as file:
            said = file.read().decode(errors="replace")
    except OSError as error:
        return errno.errorcode[error.errno]
    if name.endswith("snapshot"):
        # Whether there is one; not what is in it.
        return next((line for line in said.splitlines() if "napshot is" in line), "an allocated one")
    return said


def state():
    """Every control file, here and in the instance, and which instances there are."""
    now = {name: text(name) for folder in (".", INSTANCE) for name in (f"{folder}/{file}" for file in STATE)}
    now["instances"] = sorted(os.listdir("instances"))
    now |= {f"mode of {folder}/{name}": oct(os.stat(f"{folder}/{name}").st_mode) for folder in (".", INSTANCE) for name in MODES}
    now["mounts"] = os.path.ismount(MOUNTED)
    return now


def difference(was, now, but=()):
    return "; ".join(f"{name}: {was[name]!r:.300} became {now[name]!r:.300}" for name in was
                     if was[name] != now[name] and name.split("/")[-1] not in but)


class Faults:
    """The fault of this task: the kernel's own where it has such, else those of tools/testing/faults/allocations.c."""

    def __init__(self):
        if os.path.exists("/proc/self/fail-nth"):
            for kind in ("failslab", "fail_page_alloc"):
                self.set(kind, "ignore-gfp-wait", "N")
                self.set(kind, "verbose", "0")
            self.set("fail_page_alloc", "min-order", "0")
            self.set("fail_page_alloc", "ignore-gfp-highmem", "N")
            name = "/proc/self/fail-nth"
        else:
            name = f"{DEBUG}/allocation_faults/fail-nth"
        self.file = os.open(name, os.O_RDWR)

    @staticmethod
    def set(kind, name, value):
        with open(f"{DEBUG}/{kind}/{name}", "w", encoding="ascii") as file:
            file.write(value)

    def arm(self, number):
        os.write(self.file, str(number).encode())

    def disarm(self):
        """Whether it happened."""
        left = int(os.pread(self.file, 20, 0))
        os.write(self.file, b"0")
        return left == 0


@contextlib.contextmanager
def opened(name, flags):
    """A descriptor: Python's own files do more system calls."""
    file = os.open(name, flags)
    try:
        yield file
    finally:
        os.close(file)


# Operations: functions that do a few system calls.

def write(name, data, flags=os.O_WRONLY | os.O_TRUNC):
    data = data.encode()
    if name.split("/")[-1] in AT_CLOSE and not data.endswith(b"\n"):
        data += b"\n"  # else even the word is taken at the close

    def operation():
        with opened(name, flags) as file:
            os.write(file, data)
    operation.name = f"{data.decode().strip()!r} to {name}"
    operation.at_close = name.split("/")[-1] in AT_CLOSE
    return operation


def append(name, data):
    return write(name, data, os.O_WRONLY | os.O_APPEND)


def make(name):
    def operation():
        os.mkdir(name)
    operation.name = f"mkdir {name}"
    return operation


def cold():
    """Nothing of tracefs that could be made anew is in memory."""
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("2")


def look_up(name, mode):
    """The way to a file of a directory whose entries are made when they are looked at."""
    def operation():
        if os.stat(name).st_mode & 0o777 != mode:
            raise OSError(errno.EBADMSG, "it has another mode")
    operation.name = f"look-up of {name}"
    operation.first = cold
    return operation


def listed(name):
    """What a directory has: all of it, or an errno."""
    every = sorted(os.listdir(name))

    def operation():
        if sorted(os.listdir(name)) != every:
            raise OSError(errno.EBADMSG, "the list has other names")
    operation.name = f"listing {name}"
    operation.first = cold
    return operation


def chmod(name, mode):
    """Attributes of what is made when it is looked at are kept elsewhere."""
    def operation():
        os.chmod(name, mode)
    operation.name = f"mode {mode:o} to {name}"
    operation.first = cold
    return operation


def mount(at):
    """Another mount of the tree. Without options: these have changed the tree before the VFS makes the mount."""
    def operation():
        if LIBC.mount(b"failures", at.encode(), b"tracefs", 0, None):
            raise OSError(ctypes.get_errno(), "mount")
    operation.name = f"mount on {at}"
    return operation


def unmount(at):
    def operation():
        if LIBC.umount2(at.encode(), 2):
            raise OSError(ctypes.get_errno(), "umount")
    operation.name = f"umount {at}"
    return operation


def remove(name):
    def operation():
        os.rmdir(name)
    operation.name = f"rmdir {name}"
    return operation


def read(name, size=65536, flags=os.O_RDONLY | os.O_NONBLOCK):
    def operation():
        with opened(name, flags) as file:
            with contextlib.suppress(BlockingIOError):
                while os.read(file, size):
                    if name.endswith("pipe") or name.endswith("raw"):
                        break
    operation.name = f"reading {name}"
    return operation


def splice(name):
    def operation():
        with opened(name, os.O_RDONLY | os.O_NONBLOCK) as file:
            with contextlib.suppress(BlockingIOError):
                os.splice(file, PIPE[1], 65536, flags=os.SPLICE_F_NONBLOCK)
            with contextlib.suppress(BlockingIOError):
                while os.read(PIPE[0], 65536):
                    pass
    operation.name = f"splice of {name}"
    return operation


def mapped(name):
    def operation():
        with opened(name, os.O_RDONLY | os.O_NONBLOCK) as file:
            # Not Python's mmap, which asks how long the file is.
            at = LIBC.mmap(None, 4096, PROT_READ, MAP_SHARED, file, 0)
            if at == MAP_FAILED:
                raise OSError(ctypes.get_errno(), "mmap")
            LIBC.munmap(at, 4096)
    operation.name = f"mapping {name}"
    return operation


PIPE = os.pipe2(os.O_NONBLOCK)
PROT_READ, MAP_SHARED, MAP_FAILED = 1, 1, 2**64 - 1
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_uint64
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
LIBC.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]


def in_folder(folder):
    """Operations as (what comes before them, they, what undoes both)."""
    def at(name):
        return f"{folder}/{name}"

    def toggled(name, new, old):
        return [], write(at(name), new), [write(at(name), old)]
    tracer = write(at("current_tracer"), "function")
    nop = write(at("current_tracer"), "nop")
    few = write(at("set_ftrace_filter"), "vfs_read")
    all_of_them = write(at("set_ftrace_filter"), "\n")
    yield [few], tracer, [nop, all_of_them]
    yield [few, tracer], nop, [nop, all_of_them]
    yield [few], write(at("current_tracer"), "function_graph"), [nop, all_of_them]
    yield [], few, [all_of_them]
    yield [few], write(at("set_ftrace_filter"), "vfs_write"), [all_of_them]
    yield [few], append(at("set_ftrace_filter"), "vfs_write"), [all_of_them]
    yield [few], append(at("set_ftrace_filter"), "!vfs_read"), [all_of_them]
    yield [few, tracer], append(at("set_ftrace_filter"), "vfs_write"), [nop, all_of_them]
    yield [few, tracer], write(at("set_ftrace_notrace"), "vfs_read"), [write(at("set_ftrace_notrace"), "\n"), nop, all_of_them]
    for command, without in (("traceoff:3", "traceoff:0"), ("snapshot:1", "snapshot:0"), ("stacktrace", "stacktrace"),
                             ("enable_event:sched:sched_waking", "enable_event:sched:sched_waking")):
        yield [], append(at("set_ftrace_filter"), f"vfs_fsync:{command}"), [
            append(at("set_ftrace_filter"), f"!vfs_fsync:{without}"), write(at("snapshot"), "0")]
    yield [], write(at("set_ftrace_pid"), "1 2 3"), [write(at("set_ftrace_pid"), "\n")]
    yield [write(at("set_ftrace_pid"), "5")], append(at("set_ftrace_pid"), "7"), [write(at("set_ftrace_pid"), "\n")]
    yield [few, tracer], write(at("set_ftrace_pid"), "1 2 3"), [write(at("set_ftrace_pid"), "\n"), nop, all_of_them]
    yield [], write(at("set_ftrace_notrace_pid"), "9"), [write(at("set_ftrace_notrace_pid"), "\n")]
    yield [], write(at("set_event_pid"), "1 2 3"), [write(at("set_event_pid"), "\n")]
    yield [write(at("set_event_pid"), "5")], append(at("set_event_pid"), "7"), [write(at("set_event_pid"), "\n")]
    yield [], write(at("buffer_size_kb"), "64"), [write(at("buffer_size_kb"), "32")]
    yield [], write(at("per_cpu/cpu1/buffer_size_kb"), "64"), [write(at("buffer_size_kb"), "32")]
    yield [], write(at("buffer_subbuf_size_kb"), "8"), [write(at("buffer_subbuf_size_kb"), "4"), write(at("buffer_size_kb"), "32")]
    yield [], write(at("snapshot"), "1"), [write(at("snapshot"), "0")]
    yield [write(at("snapshot"), "1")], write(at("buffer_size_kb"), "64"), [write(at("snapshot"), "0"), write(at("buffer_size_kb"), "32")]
    yield toggled("tracing_cpumask", "1", "3")
    yield [few, tracer], write(at("options/func_stack_trace"), "1"), [write(at("options/func_stack_trace"), "0"), nop, all_of_them]
    yield toggled("trace_options", "sym-offset", "nosym-offset")
    yield toggled("trace_clock", "global", "local")
    yield [], append(at("set_event"), "sched:sched_switch"), [append(at("set_event"), "!sched:sched_switch")]
    yield toggled("events/sched/sched_switch/enable", "1", "0")
    yield toggled("events/sched/sched_switch/filter", "prev_pid == 1 && (next_comm ~ \"a*\" || CPU == 1)", "0")
    switch, no_filter = at("events/sched/sched_switch/filter"), [write(at("events/sched/filter"), "0")]
    yield [write(switch, "prev_pid == 7")], write(switch, "prev_pid == 1 && next_comm ~ \"a*\""), no_filter
    yield [write(switch, "prev_pid == 7")], write(at("events/sched/filter"), "common_pid == 1"), no_filter
    # None of them comes to act: no task has that number.
    for command in ("stacktrace", "traceoff:2", "snapshot", "enable_event:sched:sched_waking"):
        command += " if prev_pid == 99999999"
        yield [], append(at("events/sched/sched_switch/trigger"), command), [
            append(at("events/sched/sched_switch/trigger"), f"!{command}"), write(at("snapshot"), "0")]
    yield [], write(at("trace_marker"), "a line\n", os.O_WRONLY), []
    for name in ("trace", "trace_pipe", "per_cpu/cpu0/stats", "per_cpu/cpu0/trace_pipe_raw", "set_ftrace_filter", "set_event", "snapshot",
                 "per_cpu/cpu0/trace", "events/sched/sched_switch/filter", "events/sched/sched_switch/trigger", "set_event_pid"):
        yield [], read(at(name)), []
    # Directories of which nothing else here is looked at, but for their modes.
    yield [], look_up(at("events/irq/softirq_raise/format"), 0o440), []
    yield [], look_up(at("events/irq/softirq_raise/enable"), 0o640), []
    yield [], look_up(at("options/overwrite"), 0o640), []
    for name in ("events", "events/irq", "events/irq/softirq_raise", "options", "per_cpu/cpu0"):
        yield [], listed(at(name)), []
    for name, new, old in (("events/irq", 0o711, 0o755), ("events/irq/enable", 0o600, 0o640), ("events/irq/softirq_raise/format", 0o444, 0o440)):
        yield [], chmod(at(name), new), [chmod(at(name), old)]
    yield [], splice(at("per_cpu/cpu0/trace_pipe_raw")), []
    yield [], splice(at("trace_pipe")), []
    yield [], mapped(at("per_cpu/cpu0/trace_pipe_raw")), []


def operations():
    """All of them."""
    yield from in_folder(".")
    yield from in_folder(INSTANCE)
    yield [], make("instances/another"), [remove("instances/another")]
    yield [make("instances/another")], remove("instances/another"), [remove("instances/another")]
    yield [], mount(MOUNTED), [unmount(MOUNTED)]
    yield [], write("set_graph_function", "vfs_read"), [write("set_graph_function", "\n")]
    yield [], write("set_graph_notrace", "vfs_read"), [write("set_graph_notrace", "\n")]
    yield [], write("saved_cmdlines_size", "256"), [write("saved_cmdlines_size", "128")]
    yield [], write("options/record-tgid", "1"), [write("options/record-tgid", "0")]
    few, every = write("set_ftrace_filter", "vfs_read"), write("set_ftrace_filter", "\n")
    nop = write("current_tracer", "nop")
    with open("available_tracers", encoding="ascii") as file:
        for tracer in set(file.read().split()) - {"nop", "function", "function_graph"}:
            yield [few], write("current_tracer", tracer), [nop, every, write("snapshot", "0")]
    if os.path.exists("function_profile_enabled"):
        yield [few], write("function_profile_enabled", "1"), [write("function_profile_enabled", "0"), every]
    yield [few], write("/proc/sys/kernel/stack_tracer_enabled", "1"), [write("/proc/sys/kernel/stack_tracer_enabled", "0"), every]
    for name in ("available_events", "set_event", "trace_options", "events/header_page", "events/ftrace/print/format", "options/overwrite",
                 "saved_cmdlines", "saved_tgids", "enabled_functions", "trace_stat/function0", "printk_formats", "events/sched/sched_switch/format",
                 "error_log", "stack_trace", "untraceable_functions"):
        if os.path.exists(name):
            yield [], read(name), []


def run(steps):
    for step in steps:
        try:
            step()
        except OSError as error:
            # What undoes may find nothing.
            if step.name.startswith(("'!", "rmdir", "umount")):
                continue
            raise OSError(error.errno, f"{step.name}: {error.strerror}") from error


def numbers():
    """Which allocation fails: each of the first, then every so many."""
    number = 1
    while True:
        yield number
        number += 1 if number < FIRST else number // 5


def attempt(faults, number, operation):
    """Whether the fault happened, and the errno of the operation."""
    failure = 0
    getattr(operation, "first", lambda: None)()
    faults.arm(number)
    try:
        operation()
    except OSError as error:
        failure = error.errno
    except MemoryError:
        failure = errno.ENOMEM
    happened = faults.disarm()
    return happened, failure


def check(faults, before, operation, after):
    """The first thing that is wrong with an operation, or None."""
    run(before)
    initial = state()
    operation()
    final = state()
    run(after)
    run(before)
    if wrong := difference(initial, state()):
        return f"what undoes it leaves a difference: {wrong}"
    silent = 0
    for number in numbers():
        happened, failure = attempt(faults, number, operation)
        now = state()
        # A command for which the snapshot was allocated leaves it so, as in C.
        but = ["snapshot"] if "snapshot:" in operation.name or "snapshot if" in operation.name else []
        if failure and (wrong := difference(initial, now, but)):
            return f"allocation {number}: {errno.errorcode[failure]}, and {wrong}"
        if not failure and (wrong := difference(final, now)) and not (
                happened and getattr(operation, "at_close", False) and now == initial):
            return f"allocation {number}: it succeeded, and against what it does without a fault {wrong}"
        if failure == errno.EINVAL and operation.name.startswith("reading"):
            return f"allocation {number}: EINVAL instead of ENOMEM"
        if failure == errno.EBADMSG:
            return f"allocation {number}: something else was found"
        if failure and not happened:
            return f"{errno.errorcode[failure]} without a fault, behind {number - 1}"
        if failure not in (0, errno.ENOMEM, errno.EBUSY):
            print(f"#   allocation {number}: {errno.errorcode[failure]}")
        silent += happened and not failure
        if not failure:
            run(after)
            run(before)
            if wrong := difference(initial, state()):
                return f"allocation {number}: after undoing, {wrong}"
        if not happened:
            break
    run(after)
    print(f"{operation.name}: {number - 1} allocations, {silent} of them can be done without")
    return None


def drained(file):
    """What can be read without waiting."""
    found = b""
    with contextlib.suppress(BlockingIOError):
        while block := os.read(file, 65536):
            found += block
    return found


def check_splice(faults):
    """Events of which a splice has no memory for the sub-buffers: all of them are in the pipe or stay to be read."""
    os.sched_setaffinity(0, {0})
    for number in numbers():
        write(f"{INSTANCE}/trace", "")()
        for _ in range(MARKS):
            write(f"{INSTANCE}/trace_marker", "spliced" + 60 * "." + "\n", os.O_WRONLY)()
        with opened(f"{INSTANCE}/per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK) as file:
            happened, _ = attempt(faults, number, lambda: os.splice(file, PIPE[1], 65536, flags=os.SPLICE_F_NONBLOCK))
            left = (drained(PIPE[0]) + drained(file)).count(b"spliced")
        if left != MARKS:
            return f"allocation {number}: {MARKS - left} of {MARKS} events are lost"
        if not happened:
            break
    print(f"splice that loses no event: {number - 1} allocations")
    return None if number > FIRST // 4 else f"only {number - 1} allocations: the sub-buffers were not full"


class User(threading.Thread):
    """Uses an instance from the moment that its files can be opened. This is another task: its allocations do not fail."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.over, self.seen = folder, False, 0
        self.start()

    def run(self):
        steps = write(f"{self.folder}/set_ftrace_filter", "vfs_read"), write(f"{self.folder}/current_tracer", "function")
        while not self.over:
            with contextlib.suppress(OSError):
                for step in steps:
                    step()
                    self.seen += 1

    def stop(self):
        self.over = True
        self.join()


def check_used(faults):
    """An instance that somebody uses while it is made: where that fails nothing of the use is left."""
    folder, seen = "instances/another", 0
    before = text("enabled_functions")
    for number in numbers():
        user = User(folder)
        happened, failure = attempt(faults, number, make(folder))
        while not failure and not user.seen:
            time.sleep(0.01)
        user.stop()
        seen += user.seen
        if failure and user.seen:
            print(f"#   allocation {number}: used {user.seen} times before {errno.errorcode[failure]}")
        if not failure:
            os.rmdir(folder)
        if os.path.exists(folder):
            return f"allocation {number}: the directory is left"
        if (now := text("enabled_functions")) != before:
            return f"allocation {number}: enabled_functions: {before!r} became {now!r}"
        if not happened:
            break
    print(f"mkdir {folder}, used meanwhile: {number - 1} allocations, {seen} steps")
    return None


def check_dynamic(faults):
    """An event of the user's that one instance switches off: the others record on, and what cannot be done can be tried again."""
    source = "events/sched/sched_process_fork/enable"
    idle = text(source)
    for system, definition in (("probes", "p:probes/failing vfs_open"), ("eprobes", "e:eprobes/failing sched.sched_process_fork")):
        if not (os.path.exists("kprobe_events") if system == "probes" else "e[:[<group>/]" in text("README")):
            continue
        append("dynamic_events", definition)()
        here, there = f"events/{system}/failing/enable", f"{INSTANCE}/events/{system}/failing/enable"
        write(here, "1")()
        for number in numbers():
            write(there, "1")()
            happened, failure = attempt(faults, number, write(there, "0"))
            if text(there) != ("1\n" if failure else "0\n"):
                return f"{definition}: allocation {number}: {errno.errorcode.get(failure, 'done')}, and enable is {text(there)!r}"
            write("trace", "")()
            if os.fork() == 0:
                os._exit(0)
            os.wait()
            if ": failing: (" not in text("trace"):
                return f"{definition}: allocation {number}: the top records it no more"
            write(there, "0")()
            if not happened:
                break
        write(here, "0")()
        append("dynamic_events", f"-:{system}/failing")()
        print(f"{definition}, switched off in an instance: {number - 1} allocations")
    return None if text(source) == idle else f"{source} was {idle!r} and is {text(source)!r}"


def main():
    os.chdir(TRACING)
    faults = Faults()
    os.mkdir(INSTANCE)
    os.makedirs(MOUNTED, exist_ok=True)
    size = re.findall(r"\d+", text("buffer_size_kb"))[-1]
    wanted = os.environ.get("OPERATION") or ""
    bad = 0
    for folder in (".", INSTANCE):
        write(f"{folder}/buffer_size_kb", "32")()
        write(f"{folder}/tracing_on", "1")()
    write("trace_marker", "one\n", os.O_WRONLY)()
    write(f"{INSTANCE}/trace_marker", "one\n", os.O_WRONLY)()
    for before, operation, after in operations():
        if wanted not in operation.name:
            continue
        begun = time.monotonic()
        title = operation.name + (f" (after {', '.join(step.name for step in before)})" if before else "")
        try:
            wrong = check(faults, before, operation, after)
        except OSError as error:
            faults.disarm()
            wrong = f"{error}"
        if wrong:
            bad += 1
            print(f"WRONG {title}: {wrong}", flush=True)
            with contextlib.suppress(OSError):
                run(after)
        if time.monotonic() - begun > 10:
            print(f"  that took {time.monotonic() - begun:.0f} s", flush=True)
    if wanted in "splice" and (wrong := check_splice(faults)):
        bad += 1
        print(f"WRONG splice: {wrong}")
    if wanted in "mkdir, used" and (wrong := check_used(faults)):
        bad += 1
        print(f"WRONG mkdir, used: {wrong}")
    if wanted in "user's events" and (wrong := check_dynamic(faults)):
        bad += 1
        print(f"WRONG user's events: {wrong}")
    os.rmdir(INSTANCE)
    write("buffer_size_kb", size)()
    print(f"{bad} operations are wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
