#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What `make setup` does: packages, compilers, bindgen, Rust's library source and the kernel source.

As root it installs what is missing; otherwise it prints the one apt-get line and stops. With everything there it is
done in a second, so every other command starts with it.
"""
import os
import re
import shutil
import subprocess

import fetch
from common import CACHE, ROOT, Stop, clear_progress, locked, main, need_space, output_of, progress, say, scratch
from toolchain import BINDGEN_BUILT, BINDGEN_LEAST, LLVM_OF_RUSTC, RUSTC_LEAST, Toolchain, version

# Package -> the program or file that shows it is there: what kernels are built with,
BUILD = {
    "gcc": "gcc", "libc6-dev": "/usr/include/stdlib.h", "make": "make", "patch": "patch", "xz-utils": "xz",
    "flex": "flex", "bison": "bison", "bc": "bc", "kmod": "depmod", "ccache": "ccache",
    "libelf-dev": "/usr/include/libelf.h", "libssl-dev": "/usr/include/openssl/ssl.h", "pahole": "pahole",
}
# what Debian's sources are fetched with,
FETCH = {
    "ca-certificates": "/etc/ssl/certs/ca-certificates.crt",
    "debian-archive-keyring": "/usr/share/keyrings/debian-archive-keyring.gpg",
}
# and what guests and tests run.
TESTS = {
    "qemu-system-x86": "qemu-system-x86_64", "busybox-static": "busybox", "iputils-ping": "ping",
    "trace-cmd": "trace-cmd", "linux-perf": "perf", "strace": "strace", "rtla": "rtla",
    "bpftrace": "bpftrace", "perf-tools-unstable": "/usr/sbin/kprobe-perf",
    "libtracefs-dev": "/usr/include/tracefs/tracefs.h", "libtraceevent-dev": "/usr/include/traceevent/event-parse.h",
    "pkg-config": "pkg-config", "bsdextrautils": "col", "gawk": "gawk",
}

SECTION_PASS = os.path.join(ROOT, "scripts", "recordmcount", "Cargo.toml")
INLINED = os.path.join(ROOT, "scripts", "inlined", "Cargo.toml")
KERNEL_CRATES = os.path.join(ROOT, "rust", "crates", "Cargo.toml")


def present(mark):
    return os.path.exists(mark) if mark.startswith("/") else bool(
        shutil.which(mark, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"))


def is_static(path):
    """No interpreter named in the ELF file: it runs in an initramfs with nothing beside it."""
    try:
        with open(path, "rb") as file:
            return b"/ld-linux" not in file.read(4096)
    except OSError:
        return False


def rust_packages():
    """Debian's packages for a new enough rustc, cargo and library source."""
    for suffix in ("", "-web"):
        offered = version(candidate(f"rustc{suffix}"))
        if offered >= RUSTC_LEAST:
            return [f"rustc{suffix}", f"cargo{suffix}", f"rust{suffix}-src"], offered
    raise Stop("no rustc >= 1.85 in this machine's apt sources: install one with rustup (https://rustup.rs)")


def candidate(package):
    found = re.search(r"^  Candidate: (?!\(none\))(\S+)", output_of("apt-cache", "policy", package) or "", re.M)
    return found[1] if found else ""


def missing_packages(tools, tests):
    """What apt has to install, in one list."""
    marks = {**BUILD, **(FETCH if shutil.which("apt-get") else {}), **(TESTS if tests else {})}
    wanted = [package for package, mark in marks.items() if not present(mark)]
    if tests and present("busybox") and not is_static(shutil.which("busybox")):
        wanted.append("busybox-static")
    llvm = tools.llvm
    if tools.rustc and not tools.rust_ok and not tools.rustc.startswith("/usr/bin/"):
        raise Stop(f"{tools.rustc} is {tools.rust_release or 'broken'}; 1.85 or newer is needed: rustup update")
    if not tools.rust_ok:
        packages, offered = rust_packages()
        wanted += packages
        llvm = next(major for least, major in LLVM_OF_RUSTC if offered >= least)
    elif not tools.cargo:
        wanted.append("cargo-web" if candidate("cargo-web").startswith(tools.rust_release) else "cargo")
    if not tools.rust_ok or not tools.llvm_make:
        wanted += [f"clang-{llvm}", f"lld-{llvm}", f"llvm-{llvm}"]
    if not tools.rust_ok or not tools.libclang:
        wanted.append(f"libclang-{llvm}-dev")
    if not tools.bindgen and version(candidate("bindgen")) >= BINDGEN_LEAST:
        wanted.append("bindgen")
    return wanted


def need(packages):
    """What one command needs besides: package -> the program or file that shows it is there."""
    missing = [package for package, mark in packages.items() if not present(mark)]
    if missing:
        install(missing, Toolchain())


def install(packages, tools):
    """As root, apt-get; otherwise the line to type."""
    line = "apt-get install -y --no-install-recommends " + " ".join(packages)
    if not shutil.which("apt-get"):
        raise Stop("this is not a Debian: see Documentation/building.md for what is needed, missing here are: "
                   + " ".join(packages))
    unknown = [package for package in packages if not candidate(package)]
    if os.geteuid() and not (any(package.startswith("clang-") for package in unknown) and candidate("clang")):
        raise Stop(f"missing, as root: {line}")
    if unknown and not os.geteuid():
        apt_get("update", "-q")
        unknown = [package for package in packages if not candidate(package)]
    if any(package.startswith("clang-") for package in unknown) and tools.llvm:
        raise Stop(f"rustc {tools.rust_release} is built on LLVM {tools.llvm} and apt has no clang-{tools.llvm}: "
                   "use a rustc that matches a clang, or add apt.llvm.org to the apt sources")
    if unknown:
        raise Stop("apt does not know " + ", ".join(unknown))
    say("installing " + " ".join(packages))
    apt_get("install", "-q", "-y", "--no-install-recommends", *packages)


def apt_get(*arguments):
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0", *arguments]
    if subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False).returncode:
        raise Stop(f"apt-get {arguments[0]} failed (see its message above)")


def build_bindgen(tools):
    """bindgen by cargo, into the cache: the distribution's is too old."""
    if not tools.cargo:
        raise Stop("cargo is missing and bindgen has to be built: install cargo beside rustc")
    need_space(CACHE, 1, "building bindgen")
    target = os.path.join(CACHE, "bindgen")
    with locked(os.path.join(CACHE, ".bindgen.lock"), "building bindgen"), scratch(CACHE, "bindgen") as work:
        if Toolchain().bindgen:
            return
        command = [tools.cargo, "install", "bindgen-cli", "--version", BINDGEN_BUILT, "--locked", "--root", work]
        lines = []
        environment = dict(os.environ, CARGO_TARGET_DIR=os.path.join(work, "target"))
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              env=environment, text=True, errors="replace") as cargo:
            for line in cargo.stdout:
                lines.append(line)
                progress(f"building bindgen {BINDGEN_BUILT}: {line.strip()}")
        clear_progress()
        if cargo.returncode:
            print("".join(lines[-15:]), end="")
            raise Stop(f"bindgen {BINDGEN_BUILT} could not be built")
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(os.path.join(target, "bin"))
        os.replace(os.path.join(work, "bin", "bindgen"), os.path.join(target, "bin", "bindgen"))
    say(f"bindgen {BINDGEN_BUILT} is in {target}/bin")


def fetch_crates(tools):
    """The crates of the section pass and of the kernel, so that a kernel build needs no network."""
    for manifest in (SECTION_PASS, INLINED, KERNEL_CRATES):
        command = [tools.cargo, "fetch", "--quiet", "--locked", "--manifest-path", manifest]
        quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
        if subprocess.run([*command, "--offline"], **quiet).returncode == 0:
            continue
        of = os.path.relpath(os.path.dirname(manifest), ROOT)
        say(f"fetching the crates of {of}")
        if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:
            raise Stop(f"the crates of {of} could not be fetched (see cargo's message above)")


def ready_toolchain(tests=False):
    """The toolchain with nothing missing, installed or fetched as needed; with what tests run, if they are wanted."""
    if os.uname().machine != "x86_64":
        raise Stop(f"rtrace builds on x86-64; this is {os.uname().machine}")
    tools = Toolchain()
    for _ in range(2):  # a newly installed rustc can ask for another clang
        packages = missing_packages(tools, tests)
        if not packages:
            break
        install(packages, tools)
        tools = Toolchain()
    if not tools.bindgen:
        build_bindgen(tools)
        tools = Toolchain()
    if not tools.library:
        fetch.rust_library(tools)
        tools = Toolchain()
    for what, held in (("rustc", tools.rust_ok), (f"clang {tools.llvm}", tools.llvm_make),
                       ("bindgen", tools.bindgen), ("Rust's library source", tools.library)):
        if not held:
            raise Stop(f"{what} is still missing after set-up")
    fetch_crates(tools)
    return tools


def entry():
    tools = ready_toolchain(tests=True)
    tree = fetch.kernel_tree()
    say(f"rustc {tools.rust_release}, {tools.clang} (LLVM {tools.llvm}), {tools.bindgen}")
    say(f"Rust's library {tools.library}, kernel {tree}")


if __name__ == "__main__":
    main(entry)
