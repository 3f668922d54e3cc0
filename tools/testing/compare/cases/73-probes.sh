# SPDX-License-Identifier: GPL-2.0
# Definitions of probes: what the write returns, what is listed, what error_log says, names of events. Addresses are masked, so
# that they are hashed is told by a comparison.
python3 - << 'PYTHON'
import ctypes
import os
import re

ADDRESSES = {}
with open("/proc/kallsyms", encoding="utf-8") as file:
    for line in file:
        address, _, name = line.split()[:3]
        if name in ("vfs_read", "vfs_write"):
            ADDRESSES.setdefault(name, address)


def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def write(name, text, how):
    file = os.open(name, os.O_WRONLY | how)
    try:
        os.write(file, text.encode())
        return "done"
    except OSError as error:
        return error.strerror
    finally:
        os.close(file)


def define(name, *texts):
    """Writes one after the other, each after those before it; then removes all."""
    for text in texts:
        write("error_log", "", os.O_TRUNC)
        print(f"{write(name, text, os.O_APPEND)}: {text[:90]}")
        for line in (read("dynamic_events") + re.sub(r"^\[ *[0-9.]*\] ", "", read("error_log"))).splitlines():
            print("   ", line[:120])
    write("dynamic_events", "", os.O_TRUNC)


def many(count, fetch):
    return "".join(f" a{at}={fetch}" for at in range(count))


def part(name):
    print(f"== {name} ==")


READ, WRITE = (f"0x{ADDRESSES[name]}" for name in ("vfs_read", "vfs_write"))
part("probes at addresses")
for text in (f"p {READ}", f"r {READ}", f"p:here {READ}", "p 0", "p 0x10", "p 0xffffffffffffffff"):
    define("kprobe_events", text)
write("kprobe_events", f"p {READ}", os.O_APPEND)
listed = read("kprobe_events")
name, place = re.match(r"p:kprobes/p_(\S+) (\S+)", listed).groups()
print("hashed:", READ not in listed, "one number:", name == place, "of 32 bits:", place.startswith("0x00000000"))
print("by the address:", write("kprobe_events", f"-:p_{name} {READ}", os.O_APPEND))
print("by what is shown:", write("kprobe_events", f"-:p_{name} {place}", os.O_APPEND), read("kprobe_events"))
define("kprobe_events", f"p:here {READ}", f"p:here {READ}", f"p:here {READ} a=%di", "p:here vfs_open", f"r:here {READ}")

part("events of events")
for text in (
        "e:many sched/sched_switch" + many(128, "$prev_pid"), "e:many sched/sched_switch" + many(129, "$prev_pid"),
        "e:none sched/none" + many(129, "$prev_pid"), r'e:text sched/sched_switch a=\"text":string', "e:text sched/sched_switch a=$comm",
        "e:text sched/sched_switch a=$comm:string b=$prev_comm:string c=$prev_comm", "e:f sched/sched_switch a=$prev_pid if",
        "e:f sched/sched_switch a=$prev_pid if prev_pid", "e:f sched/sched_switch a=$prev_pid if none == 1",
        "e:f sched/sched_switch a=$prev_pid if prev_pid == 1 && prev_prio > 2", "e:f sched/sched_switch a=$none",
        "e:f sched/sched_switch a=none", "e:f sched/sched_switch a=%di", "e sched/sched_switch prev_pid $next_pid",
        "e:f/ sched.sched_switch $next_pid", "e:/f sched.sched_switch $next_pid", "e sched_switch $next_pid",
        r"e:f sched/sched_switch a=\5 b=+0($prev_comm):string c=@jiffies", "e:f sched/sched_switch a=$prev_pid a=$next_pid",
        "e:f sched/sched_switch a=@none", "e:f sched/sched_switch a=@jiffies+z", "e:f sched/sched_switch a=@none b=$none",
        "e:f sched/sched_switch a=$none b=@none"):
    define("dynamic_events", text)
define("dynamic_events", "e:f sched/sched_switch a=@jiffies", "e:f sched/sched_switch a=@none", "e:f sched/sched_switch b=@jiffies")

part("fprobes")
for text in ("f vfs_rea*", "f vfs_rea?", "f vfs_rea[d]", "f *vfs_read", "f vfs_*%return", "f vfs_read%return $retval", "f vfs_none", "f vfs_none*",
             "f7 vfs_read", "t sched_switch", "t none_such", "t sched-switch", "f vfs_read" + many(128, "$stack"), "f vfs_read" + many(129, "$stack")):
    define("dynamic_events", text)
define("dynamic_events", "f:g vfs_read", "f:g vfs_write", "f:g vfs_write", "f:g vfs_read%return", "-:g")

part("kprobes")
for text in (
        "p:x vfs_read", "p vfs_read+3", "p vfs_read+0x10000", "p vfs_read-1", "r vfs_read+4", "r7 vfs_read", "p7 vfs_read", "r0 vfs_read",
        "r5000 vfs_read", "p none_such", "p none_such:vfs_read", "p vfs_read%return", "p vfs_read%returned", "p", "p:", "p:a/ vfs_read",
        "p:a/b/c vfs_read", "p:1a vfs_read", "p:a-b/c vfs_read", "p:a.b vfs_read", "q vfs_read", "r:x foo", "p:x foo/bar",
        "p /bin/busybox:0x100", r'p vfs_read a=\"text"', r'p vfs_read a=\"text":u8', r'p vfs_read a=\"text', "p vfs_read a=$comm",
        "p vfs_read $comm:u8", "p vfs_read $stack0 $stack $stack-1", "p vfs_read $stack2048 $stack2049", "p do_int3", "p vfs_read a=%di:b1@2/4", "p vfs_read b=%di:b9@0/8",
        "p vfs_read b=%di:b9@0/16", "p vfs_read +0(+0(+0(%di))):u8[3]", "p vfs_read @none", "p vfs_read @jiffies+8",
        "p vfs_read" + many(128, "%di"), "p vfs_read" + many(129, "%di")):
    define("kprobe_events", text)

part("uprobes")
FILE = "/bin/busybox"
for text in (
        "r:x foo", "p:x foo", f"p:x {FILE}", f"p:x {FILE}:", f"p:x {FILE}:z", "p:x /none:0x10", "p:x /bin:0x10", f"p:x {FILE}:0x10", f"p {FILE}:0x10",
        f"r {FILE}:0x10", f"r:x {FILE}:0x10 $retval", f"p:x {FILE}:0x10 $retval", f"p:x {FILE}:0x10%return", f"p:x {FILE}:0x10(0x20)",
        f"p:x {FILE}:0x10(0x20", f"p:x {FILE}:0x10(0x20)z", f"p7:x {FILE}:0x10", f"p:x/ {FILE}:0x10", f"p: {FILE}:0x10",
        rf'p:x {FILE}:0x10 @+0x10 @0x10 $stack3 %ax:u8 a=\5 b=\"hello"', f"p:x {FILE}:0x10 @jiffies", f"q:x {FILE}:0x10", "p",
        f"p:x {FILE}:0x10 $stack70000 $stack4294967295", f"p:x {FILE}:0x10 $arg1", f"p:x {FILE}:0x10 $arg2048", f"p:x {FILE}:0x10 $arg2049",
        f"p:x {FILE}:0x10 $arg70000", f"r:x {FILE}:0x10 $arg3000", f"p:x {FILE}:0x10 a=%ax a", f"p:x {FILE}:0x10 arg2=%ax a"):
    define("uprobe_events", text)
define("uprobe_events", f"p:x {FILE}:0x10", f"p:x {FILE}:0x10", f"p:x {FILE}:0x20", f"p:x {FILE}:0x20 %ax", f"r:x {FILE}:0x20",
       f"-:x {FILE}:0x20", f"-:x {FILE}:0x0000000000000020", "-:y")

part("a uprobe of an enabled event")
FILE = os.path.realpath("/bin/true")
print(write("uprobe_events", f"p:more {FILE}:0x1000", os.O_APPEND), write("events/uprobes/more/enable", "1", 0))
print(write("uprobe_events", f"p:more {FILE}:0x7fffffff", os.O_APPEND), read("uprobe_events"), read("events/uprobes/more/enable"))
print(write("events/uprobes/more/enable", "0", 0), write("events/uprobes/more/enable", "1", 0), read("events/uprobes/more/enable"))
print(write("uprobe_events", f"-:more {FILE}:0x000000007fffffff", os.O_APPEND), write("events/uprobes/more/enable", "1", 0))
print(write("events/uprobes/more/enable", "0", 0), write("uprobe_events", "", os.O_TRUNC), read("uprobe_events"))

part("long texts of a program")
# Of a function of the C library that this Python calls. The longest entries need larger sub-buffers.
LIBC = ctypes.CDLL(None)
LIBC.strdup.restype = ctypes.c_void_p
ADDRESS = ctypes.cast(LIBC.strdup, ctypes.c_void_p).value
for line in read("/proc/self/maps").splitlines():
    span, _, start, _, _, *path = line.split()
    low, high = (int(end, 16) for end in span.split("-"))
    if low <= ADDRESS < high:
        PLACE = f"{path[0]}:{ADDRESS - low + int(start, 16):#x}"
SIZE = read("buffer_subbuf_size_kb").split()[0]
print(write("buffer_subbuf_size_kb", "8", os.O_TRUNC))
print(write("uprobe_events", f"p:long {PLACE} s=+0(%di):string", os.O_APPEND))
print(write("uprobe_events", f"r:back {PLACE} n=%ax:u8 s=+0($retval):string", os.O_APPEND))
for name in ("long", "back"):
    print(write(f"events/uprobes/{name}/enable", "1", 0))
for length in (100, 4000, 4067, 4068, 4075, 4076, 4085, 4089, 4090):
    write("trace", "", os.O_TRUNC)
    LIBC.free(ctypes.c_void_p(LIBC.strdup(b"x" * length)))
    found = {name: [len(hit) for hit in re.findall(rf" {name}: .*s=\"(x*)\"", read("trace"))] for name in ("long", "back")}
    print("exact", length, {name: length in lengths for name, lengths in found.items()}, found["long"][-1:], found["back"][-1:])
for name in ("long", "back"):
    print(write(f"events/uprobes/{name}/enable", "0", 0))
print(write("uprobe_events", "", os.O_TRUNC), write("buffer_subbuf_size_kb", SIZE, os.O_TRUNC))

part("a user event with the name of a probe")
print(write("kprobe_events", "p:user_events/same vfs_read", os.O_APPEND), write("dynamic_events", "u:same u32 a", os.O_APPEND))
print(read("dynamic_events"), sorted(os.listdir("events/user_events")), "__probe_ip" in read("events/user_events/same/format"))
print(write("set_event", "user_events:same", os.O_TRUNC), read("set_event"), read("user_events_status"))
print(write("set_event", "", os.O_TRUNC), read("set_event"))
print(write("kprobe_events", "-:user_events/same", os.O_APPEND), read("dynamic_events"), sorted(os.listdir("events/user_events")))
print("u32 a" in read("events/user_events/same/format"), write("kprobe_events", "p:user_events/same vfs_read", os.O_APPEND))
print(write("dynamic_events", "", os.O_TRUNC), read("dynamic_events"), os.path.exists("events/user_events/same"))

part("all kinds")
for text in ("r:x foo", "p:x foo", "x:y z", "-", "-:", "-:none", "!p:x foo", "# p vfs_read", "p vfs_read # text"):
    define("dynamic_events", text)
for text in ("/sched_switch", "1a/sched_switch", "sched/1a", "sched/", "sched", ".a", "/", "a/b/c", "a/b-c", "g" * 70 + "/a", "sched/" + "e" * 70):
    define("dynamic_events", f"e:x {text}")
PYTHON
