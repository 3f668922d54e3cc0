#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Debian packages of a kernel of a real configuration: CONFIG=name, TRACE=rtrace|c, LINUX_SRC=dir, V=1, JOBS=n from the environment.

kbuild makes them (`make bindeb-pkg`): the kernel with its modules, and what modules of one's own are built with. They are in
build/<name>/packages. Debug information is not packed: build/<name>/vmlinux has it.
"""
import glob
import os
import re
import shutil

import setup
from common import ROOT, Stop, locked, main, need_space, say
from kernel import ConfiguredKernel

# What kbuild needs for packages besides what it needs for a kernel.
PACKAGES = {"dpkg-dev": "dpkg-buildpackage", "debhelper": "dh_builddeb", "rsync": "rsync",
            "libdw-dev": "/usr/include/elfutils/libdw.h"}
# kbuild's packages of which nothing depends on the configuration.
COMMON = "linux-libc-dev"


class Packages(ConfiguredKernel):
    """The kernel, and packages of it."""

    def environment(self):
        environment = super().environment()
        environment.update(DEB_BUILD_PROFILES="pkg.linux-upstream.nokerneldbg", KDEB_CHANGELOG_DIST="unstable", DEBFULLNAME="rtrace",
                           DEBEMAIL="rtrace@localhost", DPKG_DEB_THREADS_MAX=self.jobs)
        return environment

    def finish(self):
        super().finish()
        need_space(self.out, 1, "making packages")
        # kbuild leaves them beside its output folder, under names that the packages of another build may have.
        made = os.path.dirname(self.out)
        with locked(os.path.join(made, ".deb.lock"), "making packages"):
            self.pack(made)

    def pack(self, made):
        say("making packages")
        for path in self.left_beside(made):
            os.remove(path)
        self.progress_of("packages", self.command("bindeb-pkg"), None)
        folder = os.path.join(self.out, "packages")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        for path in self.left_beside(made):
            name = os.path.basename(path)
            if name.endswith(".deb") and not name.startswith(COMMON):
                os.replace(path, os.path.join(folder, name))
            else:
                os.remove(path)
        debs = sorted(os.listdir(folder))
        if not any(name.startswith("linux-image-") for name in debs):
            raise Stop(f"{os.path.relpath(folder, ROOT)} has no package of the kernel; the whole log: {self.log}")
        for name in debs:
            path = os.path.join(folder, name)
            say(f"{os.path.relpath(path, ROOT)} ({os.path.getsize(path) / (1 << 20):.1f} MiB)")
        say(f"to install: apt install ./{os.path.relpath(folder, ROOT)}/linux-image-*.deb")

    @staticmethod
    def left_beside(folder):
        return [path for path in glob.glob(f"{folder}/linux-*") if re.search(r"\.(deb|buildinfo|changes)$", path)]


def entry():
    name = os.environ.get("CONFIG")
    if not name:
        raise Stop("make deb CONFIG=debian-cloud: a configuration has to be named", 2)
    if os.environ.get("FLAVOUR"):
        raise Stop("FLAVOUR= is for kernels that guests boot; packages have CONFIG=", 2)
    setup.need(PACKAGES)
    Packages(os.environ.get("TRACE") or "rtrace", name).build()


if __name__ == "__main__":
    main(entry)
