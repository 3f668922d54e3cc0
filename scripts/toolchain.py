# SPDX-License-Identifier: GPL-2.0
"""Which compilers this machine has, and whether they fit together.

The kernel wants rustc >= 1.85 with the matching library source, bindgen >= 0.71.1, and a clang whose major version is
the LLVM major of rustc: only then can C inline helpers be inlined into Rust code.
"""
import functools
import os
import re
import shutil

from common import CACHE, output_of

RUSTC_LEAST = (1, 85)
BINDGEN_LEAST = (0, 71, 1)
BINDGEN_BUILT = "0.72.1"  # what set-up builds where the distribution's is too old
# First rustc release with that LLVM, newest first; only asked while there is no rustc to ask.
LLVM_OF_RUSTC = (((1, 94), 22), ((1, 91), 21), ((1, 87), 20), ((1, 85), 19))


def version(text):
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text or "")
    return tuple(int(part) for part in found.groups() if part) if found else ()


def find(name, *folders):
    """A program in the PATH or in one of the folders."""
    return shutil.which(name) or next(filter(None, (shutil.which(name, path=folder) for folder in folders)), None)


class Toolchain:
    """What is there. Nothing is cached between runs: a look takes a tenth of a second."""

    def __init__(self):
        cargo_bin = os.path.expanduser("~/.cargo/bin")
        self.rustc = find("rustc", cargo_bin)
        self.cargo = find("cargo", cargo_bin)
        about = output_of(self.rustc, "-vV") if self.rustc else ""
        self.rust_release = (re.search(r"^release: (\S+)", about or "", re.M) or [None, ""])[1]
        self.rust_version = version(self.rust_release)
        self.llvm = int((re.search(r"^LLVM version: (\d+)", about or "", re.M) or [None, "0"])[1])

    @property
    def rust_ok(self):
        return self.rust_version >= RUSTC_LEAST and self.llvm > 0

    @functools.cached_property
    def llvm_make(self):
        """The value for kbuild's LLVM=, or None where no clang of rustc's LLVM major is complete."""
        tools = ("clang", "ld.lld", "llvm-ar", "llvm-nm", "llvm-objcopy", "llvm-strip", "llvm-readelf")
        folder = f"/usr/lib/llvm-{self.llvm}/bin/"
        if all(shutil.which(f"{tool}-{self.llvm}") for tool in tools):
            return f"-{self.llvm}"
        if all(os.access(folder + tool, os.X_OK) for tool in tools):
            return folder
        if all(shutil.which(tool) for tool in tools) and version(output_of("clang", "--version"))[:1] == (self.llvm,):
            return "1"
        return None

    @property
    def clang(self):
        value = self.llvm_make
        return value + "clang" if value.endswith("/") else "clang" + (value if value.startswith("-") else "")

    @functools.cached_property
    def bindgen(self):
        """A new enough bindgen: the PATH's, cargo's, or the one set-up built."""
        for folder in (None, os.path.expanduser("~/.cargo/bin"), os.path.join(CACHE, "bindgen", "bin")):
            path = shutil.which("bindgen", path=folder)
            if path and version(output_of(path, "--version")) >= BINDGEN_LEAST:
                return path
        return None

    @property
    def libclang(self):
        """The folder with the libclang that belongs to the compiler (bindgen loads it at run time)."""
        folder = f"/usr/lib/llvm-{self.llvm}/lib"
        return folder if os.path.exists(f"{folder}/libclang.so") or os.path.exists(f"{folder}/libclang.so.1") else None

    @functools.cached_property
    def library(self):
        """The source of Rust's core library, of rustc's very version."""
        sysroot = (output_of(self.rustc, "--print", "sysroot") or "").strip()
        release = ".".join(map(str, self.rust_version))
        for path in (os.environ.get("RUST_LIB_SRC"), f"{sysroot}/lib/rustlib/src/rust/library",
                     f"/usr/src/rustc-{release}/library", f"{CACHE}/rust-src-{release}/library"):
            if path and os.path.exists(f"{path}/core/src/lib.rs"):
                return os.path.realpath(path)
        return None

    def make_variables(self):
        """Arguments for the kernel's make."""
        ccache = "ccache " if shutil.which("ccache") else ""
        values = [f"LLVM={self.llvm_make}", f"RUSTC={self.rustc}", f"BINDGEN={self.bindgen}"]
        if ccache:
            values.append(f"CC={ccache}{self.clang}")  # not HOSTCC: kbuild hands that to rustc as a linker, one word
        return values

    def environment(self):
        """What the kernel's make needs in its environment; fixed names and times so that the compiler cache hits."""
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "CMD", "V", "ARCH",
                                      "CROSS_COMPILE", "KBUILD_OUTPUT")}
        environment.update(
            RUST_LIB_SRC=self.library, LC_ALL="C", CCACHE_NOHASHDIR="1",
            KBUILD_BUILD_TIMESTAMP="1970-01-01", KBUILD_BUILD_USER="rtrace", KBUILD_BUILD_HOST="rtrace")
        environment.setdefault("CCACHE_DIR", os.path.join(CACHE, "ccache"))
        environment.setdefault("CCACHE_BASEDIR", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        if self.libclang:
            environment["LIBCLANG_PATH"] = self.libclang
        environment["PATH"] += os.pathsep + os.path.expanduser("~/.cargo/bin")
        return environment
