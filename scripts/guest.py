#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boot a kernel in QEMU, run one shell command as root in it, return its exit status.

The guest's root is the host's own, over 9p and read-only, with a tmpfs on top: every program and every file of the host
is there, under its own path, and nothing the guest writes comes back. The command's output goes to standard output; the
console goes to a log of its own. Without a command, and with a terminal, there is a shell instead.

From the environment: CMD, KERNEL (a name under build/: rtrace, c, rtrace-debug … or a directory), FLAVOUR (of build/rtrace or
build/c, where KERNEL says no other), IMAGE=bzImage (not vmlinux, which has no
KASLR), CPU (a model of QEMU's, emulated), SMP, MEM, APPEND (kernel
parameters), BOOTCONFIG (a file with the boot configuration), GUEST_TIMEOUT (seconds), THREAD (single|multi), ACCEL (kvm|tcg), ICOUNT=1 (one virtual nanosecond per
instruction of whichever CPU; one CPU if SMP does not say more), REBOOT=1 (a guest that reboots or panics starts anew, with
the command and with what was in its memory; without it, that is the end), DEBUGGER (lines that are typed where the kernel debugger
waits for one, which takes kgdboc=ttyS0), STEPS (a folder: QEMU translates each instruction alone, its monitor listens at
`monitor` there, and what it is told to log goes to `log`), CHECK_LOG=1 or --check-log (a warning or oops on the console is a failure), LOG (console log's path).

Exit status: the command's own; 124 where it did not end in time; 125 where the guest died or could not be started;
126 where the console shows a warning or oops and --check-log was given.
"""
import contextlib
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

import stuck
from common import BUILD, ROOT, Stop, main, read, say

STAGE = os.path.join(ROOT, "scripts", "guest.d")
TIMED_OUT, DIED, WARNED = 124, 125, 126
LOGS_KEPT = 20
# A mitigation that wants newer microcode says `WARNING: See https:...`.
COMPLAINT = re.compile(r"(?<!testmmiotrace: )WARNING: (?!See https:)|BUG: |BUG at |Oops|Call Trace:|Kernel panic|general protection fault|INFO: task .* blocked"
                       r"|possible recursive locking|inconsistent lock state|suspicious RCU usage|detected stall|"
                       r"UBSAN: |KASAN: |KCSAN: |kmemleak: (?!Kernel memory leak detector initialized|Automatic memory scanning)")


def cpio(entries):
    """An uncompressed newc archive of (name, mode, content) entries."""
    archive = bytearray()
    for inode, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")]):
        fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        archive += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        archive += b"\0" * (-len(archive) % 4) + content
        archive += b"\0" * (-len(archive) % 4)
    return bytes(archive)


def initramfs(command, settings):
    """Static busybox, the two stages of init, and what this run is to do."""
    busybox = shutil.which("busybox")
    if not busybox:
        raise Stop("busybox is missing: make setup", DIED)
    names = ("sh", "mount", "mkdir", "switch_root", "cp", "cat", "poweroff", "sleep", "ln")
    entries = [(name, 0o040755, b"") for name in ("bin", "dev", "proc", "sys", "root", "lower", "rw", "job")]
    entries.append(("bin/busybox", 0o100755, open(busybox, "rb").read()))
    entries += [(f"bin/{name}", 0o120777, b"busybox") for name in names]
    entries += [("init", 0o100755, open(os.path.join(STAGE, "init"), "rb").read()),
                ("job/stage2", 0o100755, open(os.path.join(STAGE, "stage2"), "rb").read()),
                ("job/cmd", 0o100755, command.encode(errors="surrogateescape") + b"\n"),
                ("job/settings", 0o100644, settings.encode())]
    return cpio(entries)


def with_bootconfig(initrd, name):
    """An initrd with the boot configuration of file `name` behind it (admin-guide/bootconfig.rst); without a name, as it is."""
    if not name:
        return initrd
    with open(name, "rb") as file:
        text = file.read() + b"\0"
    text += b"\0" * (-(len(initrd) + len(text)) % 4)
    return initrd + text + struct.pack("<II", len(text), sum(text) % 2**32) + b"#BOOTCONFIG\n"


class Options:
    """The run's settings, from the environment."""

    def __init__(self, arguments):
        get = os.environ.get
        self.command = get("CMD") or from_make(get("GUEST_COMMAND") or "")
        self.check_log = "--check-log" in arguments or get("CHECK_LOG") == "1"
        unknown = [argument for argument in arguments if argument != "--check-log"]
        if unknown:
            raise Stop(f"guest: unknown option {unknown[0]}", DIED)
        self.icount = get("ICOUNT") == "1"
        self.cpus = number("SMP", 1 if self.icount else 2)
        self.append = get("APPEND") or ""
        self.bootconfig = get("BOOTCONFIG") or ""
        self.timeout = number("GUEST_TIMEOUT", 300)
        self.reboot = get("REBOOT") == "1"
        self.debugger = (get("DEBUGGER") or "").splitlines()
        self.steps = get("STEPS")
        self.model = get("CPU") or "max"
        self.thread = get("THREAD") or "single"
        if self.thread not in ("single", "multi"):
            raise Stop(f"THREAD={self.thread}: single or multi", DIED)
        self.kernel = kernel_directory(flavoured(get("KERNEL") or "rtrace", get("FLAVOUR")))
        self.kasan = has_kasan(self.kernel)
        self.memory = get("MEM") or ("4G" if self.kasan else "2G")
        self.interactive = not self.command
        if self.interactive and not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise Stop("without a terminal there is no shell: make guest CMD='…'", DIED)


def from_make(command):
    """A command that was typed as make's CMD=: `$x` as typed, and make's own spelling `$$x` taken as `$x`."""
    return re.sub(r"\$\$(\$\$|(?=[A-Za-z0-9_({?#@*!]))", lambda hit: "$$" if hit[1] else "$", command)


def number(name, default):
    value = os.environ.get(name) or str(default)
    if not value.isdigit() or int(value) < 1:
        raise Stop(f"{name}={value} is not a number above 0", DIED)
    return int(value)


def kernel_directory(name):
    path = name if "/" in name else os.path.join(BUILD, name)
    # Of a build of ours bzImage is the mark that it is complete.
    if not os.path.exists(os.path.join(path, "bzImage")) and (path.startswith(BUILD) or not image_of(path)):
        trace, _, kind = name.partition("-")
        option = "FLAVOUR" if os.path.exists(os.path.join(ROOT, "tools", "testing", "configs", f"{kind}.config")) else "CONFIG"
        how = "make kernel" + (" TRACE=c" if trace == "c" else "") + (f" {option}={kind}" if kind else "")
        raise Stop(f"there is no {os.path.relpath(path)}/bzImage: {how}", DIED)
    return os.path.abspath(path)


def has_kasan(directory):
    return "\nCONFIG_KASAN=y\n" in read(os.path.join(directory, ".config"), "")


def flavoured(kernel, flavour):
    """The name of a kernel: `rtrace` and `c` are meant in the flavour that is given."""
    return f"{kernel}-{flavour}" if flavour and kernel in ("rtrace", "c") else kernel


def image_of(directory):
    """What QEMU boots: vmlinux by way of PVH, which spares it the unpacking of a bzImage; else bzImage."""
    for name in (os.environ.get("IMAGE") or "vmlinux", "bzImage"):
        path = os.path.join(directory, name)
        if os.path.exists(path):
            return path
    return None


def accelerator(options):
    """KVM only where a guest has been seen to boot with it: /dev/kvm may open and the guest hang all the same."""
    wanted = os.environ.get("ACCEL")
    if wanted not in (None, "", "kvm", "tcg"):
        raise Stop(f"ACCEL={wanted}: kvm or tcg", DIED)
    if options.icount or options.model != "max" or wanted == "tcg" or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    if wanted == "kvm":
        return "kvm"
    memo = os.path.join(BUILD, "guest", "accel")
    boot = read("/proc/sys/kernel/random/boot_id", "").strip()
    known = read(memo, "").split()
    if len(known) == 2 and known[0] == boot:
        return known[1]
    found = "kvm" if kvm_boots(options) else "tcg"
    os.makedirs(os.path.dirname(memo), exist_ok=True)
    with open(memo, "w", encoding="utf-8") as file:
        file.write(f"{boot} {found}\n")
    return found


def kvm_boots(options):
    """Boot the kernel without a root: it panics within a second where KVM works, and the log says so."""
    with tempfile.TemporaryDirectory(prefix="rtrace-kvm-") as work:
        log = os.path.join(work, "log")
        command = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-m", "256M",
                   "-accel", "kvm", "-cpu", "host", "-kernel", image_of(options.kernel),
                   "-serial", f"file:{log}", "-append", "console=ttyS0 panic=-1"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as qemu:
            try:
                qemu.wait(8)
            except subprocess.TimeoutExpired:
                qemu.kill()
        return "Linux version" in read(log, "") and "Kernel panic" in read(log, "")


def single_steps(machine):
    """QEMU's options of an emulated machine, so that it translates each instruction alone; 8.1 has another option for that."""
    version = subprocess.run(["qemu-system-x86_64", "--version"], check=False, stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"version (\d+)\.(\d+)", version)
    if found and (int(found[1]), int(found[2])) < (8, 1):
        return [*machine, "-singlestep"]
    return [option.replace("tcg,", "tcg,one-insn-per-tb=on,") for option in machine]


class Guest:
    """One QEMU process with its channels: console log, command output, exit status."""

    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.status_file = os.path.join(work, "status")
        self.log = os.environ.get("LOG") or new_log()
        self.keyboard = os.path.join(work, "keyboard")
        self.monitor = os.path.join(options.steps or work, "monitor")
        with open(os.path.join(work, "initrd"), "wb") as file:
            file.write(with_bootconfig(initramfs(options.command, self.settings()), options.bootconfig))

    def settings(self):
        """Shell assignments that stage 2 reads."""
        options = self.options
        lines = [f"interactive={int(options.interactive)}", f"cwd={quote(os.getcwd())}",
                 f"modules={quote(os.path.join(options.kernel, 'modules', 'lib', 'modules'))}",
                 f"path={quote(os.environ.get('PATH', ''))}", f"kernel={quote(options.kernel)}", f"project={quote(ROOT)}"]
        if options.interactive:
            size = shutil.get_terminal_size()
            lines.append(f"rows={size.lines} columns={size.columns} term={quote(os.environ.get('TERM', 'linux'))}")
        return "\n".join(lines) + "\n"

    def qemu(self):
        options = self.options
        accel = accelerator(options)
        if accel == "tcg":
            machine = ["-accel", f"tcg,thread={options.thread}", "-cpu", options.model]
        else:
            machine = ["-accel", "kvm", "-cpu", "host"]
        if options.icount:
            machine = ["-accel", "tcg,thread=single", "-cpu", "max", "-icount", "shift=0"]
        if options.kasan:
            # On the default machine such a kernel is too slow for the ACPI interpreter: its methods for interrupts time out.
            machine += ["-machine", "q35"]
        console = f"console=ttyS0 panic=-1 no_timer_check {'' if options.icount else 'loglevel=7 '}{options.append}"
        # Not where instructions are counted: a fork costs fewer with it.
        if accel == "tcg" and not options.icount:
            # QEMU keeps translated code by its virtual address: a program that lies elsewhere in each run takes four times as long.
            console = f"norandmaps {console}"
        if options.bootconfig:
            console += " bootconfig"
        output = "stdio,id=out,signal=off" if options.interactive else f"pipe,id=out,path={self.work}/out"
        port = "virtconsole" if options.interactive else "virtserialport"
        reboot = [] if options.reboot else ["-no-reboot"]
        console_device = f"socket,id=console,path={self.keyboard},server=on,wait=off,logfile={self.log}" if options.debugger \
            else f"file,id=console,path={self.log}"
        if options.steps:
            machine = single_steps(machine) + ["-D", f"{options.steps}/log"]
        # Whatever ends this script ends its QEMU.
        return ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64",
                "-nodefaults", "-no-user-config", "-display", "none", *reboot, *machine, "-smp", str(options.cpus),
                "-m", options.memory, "-monitor", f"unix:{self.monitor},server=on,wait=off",
                "-kernel", image_of(options.kernel), "-initrd", os.path.join(self.work, "initrd"),
                "-append", console, "-chardev", console_device, "-serial", "chardev:console",
                "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
                "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
                "-device", "virtio-serial-pci", "-chardev", output, "-device", f"{port},chardev=out,nr=1",
                "-chardev", f"file,id=status,path={self.status_file}", "-device", "virtserialport,chardev=status,nr=2"]

    def run(self):
        if self.options.interactive:
            return self.run_shell()
        for end in ("in", "out"):
            os.mkfifo(os.path.join(self.work, f"out.{end}"))
        # Opened for both so that neither side's open waits for the other.
        keep = os.open(os.path.join(self.work, "out.in"), os.O_RDWR)
        source = os.open(os.path.join(self.work, "out.out"), os.O_RDWR | os.O_NONBLOCK)
        typist = Typist(self.keyboard, self.options.debugger) if self.options.debugger else None
        errors = os.path.join(self.work, "qemu.err")
        with open(errors, "w", encoding="utf-8") as file:
            with subprocess.Popen(self.qemu(), stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                  start_new_session=True) as process:
                try:
                    timed_out = copy_output(source, process, self.options.timeout, typist)
                    where = stuck.report(self.options.kernel, self.monitor, self.log) if timed_out else ()
                finally:
                    if process.poll() is None:
                        process.kill()
        os.close(keep)
        os.close(source)
        if timed_out:
            # As comments of KTAP: who counts tests says them again.
            sys.stdout.flush()
            print(*(f"#   {line}" for line in where), sep="\n", flush=True)
            raise Stop(f"the guest did not end within {self.options.timeout} s and was stopped (GUEST_TIMEOUT); "
                       f"console: {self.log}", TIMED_OUT)
        return self.status(read(errors, ""))

    def run_shell(self):
        say("a shell in the guest; exit or Ctrl-D ends it")
        saved = termios.tcgetattr(sys.stdin)
        try:
            with subprocess.Popen(self.qemu()) as process:
                process.wait()
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)
        return self.status("")

    def status(self, qemu_errors):
        found = re.search(r"^status (\d+)$", read(self.status_file, ""), re.M)
        if not found:
            lines = read(self.log, "").strip().splitlines() or qemu_errors.strip().splitlines()
            for line in lines[-8:]:
                print(f"  {line}", file=sys.stderr)
            raise Stop(f"the guest died before the command ended; console: {self.log}", DIED)
        if self.options.check_log:
            for line in read(self.log, "").splitlines():
                if COMPLAINT.search(line):
                    raise Stop(f"the guest's kernel complained: {line.strip()}; console: {self.log}", WARNED)
        return int(found[1])


class Typist:
    """Types a line each time that the kernel debugger prompts for one."""
    PROMPT = re.compile(rb"\[\d+\]kdb> ")

    def __init__(self, address, lines):
        self.address, self.lines = address, lines
        self.console = None
        self.shown = b""

    def look(self):
        if not self.console:
            if not os.path.exists(self.address):
                return
            self.console = socket.socket(socket.AF_UNIX)
            self.console.connect(self.address)
        while select.select([self.console], [], [], 0)[0]:
            block = self.console.recv(1 << 16)
            if not block:
                return
            self.shown += block
        while self.lines and (prompt := self.PROMPT.search(self.shown)):
            self.shown = self.shown[prompt.end():]
            self.console.sendall(self.lines.pop(0).encode() + b"\r")


def copy_output(source, process, limit, typist=None):
    """Guest to standard output until QEMU ends; True where the time ran out first."""
    deadline = time.monotonic() + limit
    while True:
        if typist:
            typist.look()
        ended = process.poll() is not None
        ready, _, _ = select.select([source], [], [], 0 if ended else 0.05)
        while ready:
            try:
                block = os.read(source, 1 << 16)
            except BlockingIOError:
                break
            sys.stdout.buffer.write(block)
            sys.stdout.buffer.flush()
        if ended:
            return False
        if time.monotonic() > deadline:
            return True


def new_log():
    """A console log under build/guest; the oldest go."""
    folder = os.path.join(BUILD, "guest")
    os.makedirs(folder, exist_ok=True)
    # Guests that start at the same time clear away the same ones.
    with contextlib.suppress(FileNotFoundError):
        old = sorted((os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".log")),
                     key=os.path.getmtime)
        for path in old[:-LOGS_KEPT]:
            os.remove(path)
    return os.path.join(folder, f"console-{time.strftime('%H%M%S')}-{os.getpid()}.log")


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def entry():
    options = Options(sys.argv[1:])
    for program in ("qemu-system-x86_64", "busybox"):
        if not shutil.which(program):
            raise Stop(f"{program} is missing: make setup", DIED)
    with tempfile.TemporaryDirectory(prefix="rtrace-guest-") as work:
        return Guest(options, work).run()


if __name__ == "__main__":
    main(entry)
