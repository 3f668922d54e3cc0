#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Configure and build a kernel: TRACE=rtrace|c, FLAVOUR=name or CONFIG=name, LINUX_SRC=dir, V=1, JOBS=n from the environment.

The products are build/<name>/{bzImage,vmlinux,modules}; `bzImage` there is taken away while a build runs, so a build
that failed never leaves an old kernel to be mistaken for the new one.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import time

import config
import fetch
import graft
from common import (BUILD, ROOT, Stop, clear_progress, locked, main, need_space, progress, read, say, write)
from setup import need, ready_toolchain

CONFIGS = os.path.join(ROOT, "tools", "testing", "configs")
ERROR = re.compile(r"(^|\s)(fatal )?error(\[E\d+\])?: |undefined symbol|undefined reference|\*\*\* (?!\[)|"
                   r"^/bin/sh: .* not found$|^panicked at|: No such file or directory$|recursive dependency|^\s*symbol \S+ depends on")


def build_name(trace, flavour):
    if trace not in ("rtrace", "c"):
        raise Stop(f"TRACE={trace}: rtrace or c", 2)
    return trace + (f"-{flavour}" if flavour else "")


def fragments(trace, flavour):
    """The config fragments of a build, in the order in which they are merged."""
    names = ["baseline"] + (["rtrace", "samples"] if trace == "rtrace" else []) + ([flavour] if flavour else [])
    paths = [os.path.join(CONFIGS, f"{name}.config") for name in names]
    if not os.path.exists(paths[-1]):
        known = sorted(os.path.basename(path)[:-7] for path in glob.glob(f"{CONFIGS}/*.config"))
        flavours = [name for name in known if name not in ("baseline", "rtrace", "samples")]
        raise Stop(f"FLAVOUR={flavour} is not known; there is: {', '.join(flavours) or 'none'}", 2)
    return paths


class Kernel:
    """One build directory and the make that fills it; um.py has another kind."""

    arch = ()  # what make is told about it
    targets = ("bzImage", "modules")
    image = "bzImage"  # the mark of a complete build
    lines_of_cold_build = 2200  # for the percentage only

    def __init__(self, name, config):
        self.fragments = config
        self.out = os.path.join(BUILD, name)
        self.log = os.path.join(self.out, "build.log")
        self.image = os.path.join(self.out, self.image)
        self.tools = ready_toolchain()
        self.tree = fetch.kernel_tree()
        self.jobs = os.environ.get("JOBS") or str(os.cpu_count() or 1)

    def command(self, *targets):
        return ["make", "-C", self.tree, f"O={self.out}", f"-j{self.jobs}", *self.arch, *self.tools.make_variables(),
                *targets]

    def environment(self):
        return self.tools.environment()

    def logged(self, command, **options):
        """Run a short step into the log; a failure shows its first errors."""
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                  env=self.environment(), check=False, **options)
        if done.returncode:
            self.fail()

    def configure(self):
        """Write .config anew where anything that decides it has changed."""
        stamp = os.path.join(self.out, ".configured")
        key = self.config_key()
        if read(stamp) == key and os.path.exists(os.path.join(self.out, ".config")):
            return
        say(f"configuring {os.path.relpath(self.out, ROOT)}")
        if os.path.exists(stamp):
            os.remove(stamp)
        self.make_config()
        self.check_config()
        write(stamp, key)

    def make_config(self):
        self.logged(self.command("tinyconfig"))
        self.logged([os.path.join(self.tree, "scripts/kconfig/merge_config.sh"), "-m", "-O", self.out,
                     os.path.join(self.out, ".config"), *self.fragments], cwd=self.tree)
        self.logged(self.command("olddefconfig"))

    def config_key(self):
        """What decides the configuration."""
        parts = [self.tree, str(self.tools.make_variables()), self.tools.rust_release]
        paths = self.fragments + [os.path.join(self.tree, graft.STATE)] + glob.glob(os.path.join(ROOT, "Kconfig*"))
        return hashlib.sha256("\0".join(parts + [read(path, "") for path in paths]).encode()).hexdigest()

    def check_config(self):
        """All fragments must hold but the first, of which some symbols may be unavailable under rtrace and are named."""
        config = set(read(os.path.join(self.out, ".config"), "").splitlines())
        lacking = []
        for path in self.fragments:
            for line in re.findall(r"^CONFIG_\w+=.*$", read(path), re.M):
                name, value = line.split("=", 1)
                if name.startswith("CONFIG_RTRACE_") and "CONFIG_RTRACE=y" not in config:
                    continue  # TRACE=c of a flavour
                held = line in config if value != "n" else not any(row.startswith(name + "=") for row in config)
                if not held and path != self.fragments[0]:
                    raise Stop(f"{os.path.basename(path)} asks for {line} and the kernel does not grant it")
                if not held:
                    lacking.append(name)
        write(os.path.join(self.out, "unavailable.txt"), "".join(f"{name}\n" for name in lacking))
        if lacking:
            say(f"{len(lacking)} options of {os.path.basename(self.fragments[0])} are unavailable here: {os.path.relpath(self.out, ROOT)}"
                "/unavailable.txt")

    def build(self):
        with locked(os.path.join(self.out, ".lock"), f"building {os.path.basename(self.out)}"):
            graft.graft(self.tree, quiet=True)
            # Measured: 0.5 GiB, 0.8 with every condition instrumented; a build that is there already needs room for its link.
            need_space(self.out, 0.3 if os.path.exists(f"{self.out}/vmlinux") else 1, "building a kernel")
            begun = time.monotonic()
            write(self.log, "")
            if os.path.lexists(self.image):
                os.remove(self.image)
            self.configure()
            self.compile()
            self.finish()
        say(f"{os.path.relpath(self.image, ROOT)} is ready ({time.monotonic() - begun:.0f} s)")

    def finish(self):
        """Put the products where they are looked for."""
        self.install_modules()
        os.symlink("arch/x86/boot/bzImage", self.image)

    def compile(self):
        cold = not os.path.exists(os.path.join(self.out, "vmlinux"))
        self.progress_of("kernel", self.command(*self.targets), self.lines_of_cold_build if cold else None)

    def progress_of(self, what, command, lines):
        """make, with a progress line made of kbuild's own short lines, and the share of `lines` where they are known."""
        verbose = os.environ.get("V") == "1"
        command = command + ["V=1"] * verbose
        name = f"{what} {os.path.basename(self.out)}"
        with open(self.log, "a", encoding="utf-8") as log, \
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                 env=self.environment(), text=True, errors="replace") as make:
            steps = 0
            for line in make.stdout:
                log.write(line)
                if verbose:
                    print(line, end="")
                elif re.match(r"  [A-Z]", line):
                    steps += 1
                    share = f" {min(99, 100 * steps // lines)} %" if lines else ""
                    progress(f"building {name}:{share} {' '.join(line.split())}")
        clear_progress()
        if make.returncode:
            self.fail()

    def install_modules(self):
        """The modules as a guest finds them, made aside and swapped in; nothing to do where none is newer."""
        target, fresh = os.path.join(self.out, "modules"), os.path.join(self.out, "modules.new")
        built = [os.path.join(self.out, line[:-1] + "ko") for line in read(f"{self.out}/modules.order", "").split()]
        if os.path.exists(target) and all(os.path.getmtime(path) < os.path.getmtime(target) for path in built):
            return
        shutil.rmtree(fresh, ignore_errors=True)
        self.progress_of("modules of", self.command("modules_install", f"INSTALL_MOD_PATH={fresh}", "INSTALL_MOD_STRIP=1"), None)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(fresh, target)

    def fail(self):
        """The first errors, then one line."""
        clear_progress()
        lines = read(self.log, "").splitlines()
        hits = [index for index, line in enumerate(lines) if ERROR.search(line)][:5]
        shown = sorted({row for hit in hits for row in range(hit, min(hit + 6, len(lines)))})
        for row in shown or range(max(0, len(lines) - 15), len(lines)):
            print(lines[row])
        raise Stop(f"building {os.path.basename(self.out)} failed; the whole log: {self.log}")


def space_for(text):
    """GiB of a build, by measured ones: MiB of an option that is built in, with debug information and without. What a module
    takes is guessed: its objects lie there twice, and once more where they are installed."""
    built_in, module = (2.8, 5) if re.search(r"^CONFIG_DEBUG_INFO=y", text, re.M) else (0.9, 1)
    values = list(config.options(text).values())
    return (values.count("y") * built_in + values.count("m") * module) / 1024


class ConfiguredKernel(Kernel):
    """A build directory of a real configuration, CONFIG=name."""

    lines_of_cold_build = None  # that depends on the configuration

    def configure(self):
        """Before a cold build, what it is going to take. Measured: 1,649 options, 17 of modules, 32 minutes on 2 CPUs, 4.1 GiB."""
        super().configure()
        text = read(os.path.join(self.out, ".config"), "")
        need(config.needed(text))
        if os.path.exists(os.path.join(self.out, "vmlinux")):
            return
        values = list(config.options(text).values())
        built_in, modules = values.count("y"), values.count("m")
        hours = 0.53 * (built_in + modules) / 1666 * 2 / (os.cpu_count() or 1)
        gib = space_for(text)
        say(f"{built_in} options are built in, {modules} are modules: about {hours:.1f} hours, if drivers take no longer than the rest, "
            f"and {gib:.1f} GiB")
        need_space(self.out, gib, "a kernel of that configuration")

    def __init__(self, trace, name):
        super().__init__(build_name(trace, config.name_of(name)), [])
        self.trace, self.wanted = trace, config.prepare(name, trace)
        need(config.needed(self.wanted))

    def config_key(self):
        return hashlib.sha256((super().config_key() + self.wanted).encode()).hexdigest()

    def make_config(self):
        write(os.path.join(self.out, ".config"), self.wanted)
        self.logged(self.command("olddefconfig"))

    def check_config(self):
        """rtrace itself must hold; what else the kernel does not grant is named in a file."""
        got = read(os.path.join(self.out, ".config"), "")
        if self.trace == "rtrace" and config.options(got).get("RTRACE") != "y":
            raise Stop(f"{os.path.relpath(self.out, ROOT)}/.config: the kernel does not grant CONFIG_RTRACE; "
                       "Documentation/your-kernel.md says what it must have")
        path = os.path.join(self.out, "unavailable.txt")
        lost = config.report(self.wanted, got, path)
        say(f"{len(lost)} options of the configuration are other ones here: {os.path.relpath(path, ROOT)}")


def entry():
    trace, flavour, name = (os.environ.get(key) or "" for key in ("TRACE", "FLAVOUR", "CONFIG"))
    trace = trace or "rtrace"
    if name and flavour:
        raise Stop("FLAVOUR= or CONFIG=, not both", 2)
    kernel = ConfiguredKernel(trace, name) if name else Kernel(build_name(trace, flavour), fragments(trace, flavour))
    kernel.build()


if __name__ == "__main__":
    main(entry)
