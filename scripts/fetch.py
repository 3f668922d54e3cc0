#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The kernel source and Rust's library source: found, fetched, checked and unpacked.

Everything is made under another name and renamed when it is complete, so a run that was cut short leaves nothing that a
later one would take for whole.
"""
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request

import graft
from apt import Apt, unpack
from common import (BUILD, CACHE, SERIES, Stop, clear_progress, locked, main, need_space, output_of, progress, read, say,
                    scratch, sha256, write)

TREE = os.path.join(BUILD, "src", f"linux-{SERIES}")
TARBALL = os.path.join(CACHE, f"linux-{SERIES}.tar.xz")
KERNEL_ORG = "https://cdn.kernel.org/pub/linux/kernel/v" + SERIES.split(".", maxsplit=1)[0] + ".x"
ORIGIN = ".rtrace-origin"  # in the unpacked tree: which tarball it came from


def kernel_tree():
    """The kernel source to build from: the user's own, or one unpacked under build/."""
    own = os.environ.get("LINUX_SRC")
    place = os.path.abspath(os.path.expanduser(own)) if own else TREE
    if re.search(r"[\s:]", place):
        raise Stop(f"{place}: kbuild takes no path with blanks or colons")
    if own:
        tree = os.path.abspath(os.path.expanduser(own))
        if graft.series_of(tree) != SERIES:
            raise Stop(f"LINUX_SRC={own} is Linux {graft.series_of(tree)}; rtrace is for the {SERIES} series")
        return tree
    with locked(os.path.join(BUILD, "src", ".lock"), "unpacking the kernel"):
        given = os.environ.get("LINUX_TARBALL")
        if given:
            tarball, checksum = given_tarball(given)
        elif os.path.exists(os.path.join(TREE, ORIGIN)):
            return TREE
        else:
            tarball, checksum = cached_tarball()
        if read(os.path.join(TREE, ORIGIN), "").split()[:1] != [checksum]:
            unpack_tarball(tarball, checksum)
    return TREE


def given_tarball(given):
    path = os.path.abspath(os.path.expanduser(given))
    if not os.path.isfile(path):
        raise Stop(f"LINUX_TARBALL={given}: there is no such file")
    return path, sha256(path)


def cached_tarball():
    """The tarball in the cache, fetched if it is not there or no longer what was fetched."""
    with locked(os.path.join(CACHE, ".lock"), "fetching the kernel"):
        record = read(TARBALL + ".sha256", "").split()
        if record and os.path.exists(TARBALL):
            if sha256(TARBALL) == record[0]:
                return TARBALL, record[0]
            say(f"{TARBALL} is damaged: fetching it again")
        need_space(CACHE, 1, "fetching the kernel")
        with scratch(CACHE, "fetch") as work:
            path, origin = from_debian(work) or from_kernel_org(work)
            checksum = sha256(path)
            os.replace(path, TARBALL)
            write(TARBALL + ".sha256", f"{checksum}  {origin}\n")
        say(f"the source is {origin}")
        return TARBALL, checksum


def from_debian(work):
    package = f"linux-source-{SERIES}"
    try:
        apt = Apt()
        found = apt.find(package, lambda offer: offer.startswith(SERIES + "."))
        if not found:
            return None
        deb = apt.download(package, found, work)
    except Stop as stop:
        say(f"not from Debian: {stop}")
        return None
    need_space(work, 1, "unpacking the package")
    unpack(deb, work)
    os.remove(deb)
    return os.path.join(work, "usr", "src", f"{package}.tar.xz"), f"{package} {found}"


def from_kernel_org(work):
    """The newest 7.3.x there, held against the published list of checksums (both come over TLS)."""
    try:
        with urllib.request.urlopen(f"{KERNEL_ORG}/sha256sums.asc", timeout=30) as answer:
            sums = answer.read().decode("ascii", "replace")
    except (OSError, urllib.error.URLError) as error:
        raise Stop(f"neither Debian nor kernel.org gives Linux {SERIES} ({error}): "
                   "give LINUX_TARBALL=file or LINUX_SRC=dir") from None
    pattern = rf"^([0-9a-f]{{64}})  (linux-{re.escape(SERIES)}(?:\.(\d+))?\.tar\.xz)$"
    rows = [(int(row[3] or 0), row[1], row[2]) for row in re.finditer(pattern, sums, re.M)]
    if not rows:
        raise Stop(f"kernel.org lists no Linux {SERIES}: give LINUX_TARBALL=file or LINUX_SRC=dir")
    _, checksum, name = max(rows)
    path = os.path.join(work, name)
    try:
        download(f"{KERNEL_ORG}/{name}", path)
    except (OSError, urllib.error.URLError) as error:
        raise Stop(f"the download of {name} failed: {error}") from None
    if sha256(path) != checksum:
        raise Stop(f"{name} does not have the published checksum")
    return path, f"{KERNEL_ORG}/{name}"


def download(url, path):
    with urllib.request.urlopen(url, timeout=60) as answer, open(path, "wb") as file:
        total = int(answer.headers.get("Content-Length") or 0)
        done = 0
        while block := answer.read(1 << 18):
            file.write(block)
            done += len(block)
            progress(f"downloading {os.path.basename(path)}: {done >> 20} of {total >> 20} MiB")
    clear_progress()


def unpack_tarball(tarball, checksum):
    """Unpack to build/src, look whether it is the right kernel, and only then put it in its place."""
    parent = os.path.dirname(TREE)
    # Measured: 1.8 GiB.
    need_space(parent, 2, "unpacking the kernel")
    with scratch(parent, "unpack") as work:
        feed_tar(tarball, work)
        if graft.series_of(work) != SERIES:
            raise Stop(f"{tarball} is Linux {graft.series_of(work)}; rtrace is for the {SERIES} series")
        write(os.path.join(work, ORIGIN), f"{checksum}  {os.path.basename(tarball)}\n")
        if os.path.exists(TREE):
            shutil.rmtree(TREE)
        os.rename(work, TREE)
        os.mkdir(work)


def feed_tar(tarball, folder):
    """tar -x with a percentage; bad archives are one line. New times (-m), so that make sees another tarball as new."""
    total = os.path.getsize(tarball)
    form = {".xz": "-J", ".gz": "-z", ".bz2": "-j", ".zst": "--zstd"}.get(os.path.splitext(tarball)[1], "")
    command = ["tar", "-x", *([form] if form else []), "--strip-components=1", "--no-same-owner", "-m", "-C", folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as tar, \
            open(tarball, "rb") as file:
        done = 0
        try:
            while block := file.read(1 << 18):
                tar.stdin.write(block)
                done += len(block)
                progress(f"unpacking the kernel: {100 * done // total} %")
            tar.stdin.close()
        except BrokenPipeError:
            pass
        complaint = tar.stderr.read().decode("utf-8", "replace").strip().splitlines()
    clear_progress()
    if tar.returncode:
        raise Stop(f"{tarball} is damaged or not a kernel tarball: {complaint[0] if complaint else 'tar failed'}")


def rust_library(tools):
    """Rust's library source of rustc's own version, unpacked in the cache."""
    release = ".".join(map(str, tools.rust_version))
    target = os.path.join(CACHE, f"rust-src-{release}")
    with locked(os.path.join(CACHE, ".lock"), "fetching Rust's library source"), scratch(CACHE, "fetch") as work:
        if os.path.exists(os.path.join(target, "library", "core", "src", "lib.rs")):
            return
        need_space(CACHE, 1, "fetching Rust's library source")
        try:
            apt = Apt()
            found = apt.find("rust-src", lambda offer: re.match(re.escape(release) + r"[+~-]", offer))
            if not found:
                raise Stop(f"Debian has no rust-src {release}")
            deb = apt.download("rust-src", found, work)
        except Stop as stop:
            say(f"{stop}: trying rustup")
        else:
            unpack(deb, work)
            shutil.rmtree(target, ignore_errors=True)
            os.rename(os.path.join(work, "usr", "src", f"rustc-{release}"), target)
            return
    if output_of("rustup", "component", "add", "rust-src") is None:
        raise Stop(f"no source of Rust's library {release} to be had: "
                   "give RUST_LIB_SRC=…/library, or use another rustc")


def entry():
    say(f"kernel source: {kernel_tree()}")


if __name__ == "__main__":
    main(entry)
