# SPDX-License-Identifier: GPL-2.0
"""Real configurations, CONFIG=name: those of Debian's own kernels, the running kernel's, or a file.

Debian's come from the package linux-config-7.3, fetched as the kernel source is. What they say of Debian's signing keys is
replaced, since nobody else has those. The kernel's release ends with what was built, so that it and its modules can lie beside
the machine's own.
"""
import gzip
import lzma
import os
import re

from apt import Apt, unpack
from common import CACHE, ROOT, SERIES, Stop, locked, need_space, say, scratch, write

PACKAGE = f"linux-config-{SERIES}"
DEBIAN = {"debian": "amd64_none_amd64", "debian-cloud": "amd64_none_cloud-amd64", "debian-rt": "amd64_none_rt-amd64"}
# Files of the packager's that are named in a configuration, and what is there instead: modules are signed with a key that the
# build makes for itself, which is Kconfig's own default.
KEYS = {"SYSTEM_TRUSTED_KEYS": '""', "SYSTEM_REVOCATION_KEYS": '""', "MODULE_SIG_KEY": '"certs/signing_key.pem"'}
# What other tools than the packager's decide.
TOOLS = re.compile(r"(AS|CC|LD|LLD|GCC|CLANG|RUSTC|BINDGEN|PAHOLE)_")
# What rtrace is added with. It inlines C's helpers, which is an option for experts. Where modules have versions, Rust's symbols
# get theirs from debug information.
RTRACE = {"RTRACE": "y", "RUST": "y", "FTRACE": "y", "EXPERT": "y", "GENDWARFKSYMS": "y"}
# What compresses the image, the modules and the first of the initrd: package -> program.
COMPRESSION = {"BZIP2": ("bzip2", "bzip2"), "LZMA": ("xz-utils", "lzma"), "XZ": ("xz-utils", "xz"), "LZO": ("lzop", "lzop"),
               "LZ4": ("lz4", "lz4"), "ZSTD": ("zstd", "zstd")}


def name_of(config):
    """What a build directory of CONFIG=config is called by."""
    if config in (*DEBIAN, "running"):
        return config
    if not os.path.isfile(os.path.expanduser(config)):
        raise Stop(f"CONFIG={config}: {', '.join(DEBIAN)}, running, or a file", 2)
    name = re.sub(r"[^\w.-]", "_", os.path.basename(config)).lstrip(".") or "config"
    is_flavour = os.path.exists(os.path.join(ROOT, "tools", "testing", "configs", f"{name}.config"))
    return f"{name}.config" if is_flavour else name  # FLAVOUR= has a folder of that name


def text_of(config):
    """The configuration itself."""
    if config in DEBIAN:
        path = debian(DEBIAN[config])
    elif config == "running":
        release = os.uname().release
        path = next(filter(os.path.exists, ("/proc/config.gz", f"/boot/config-{release}", f"/lib/modules/{release}/config")), None)
        if not path:
            raise Stop("the running kernel does not tell its configuration (no /proc/config.gz, none in /boot or /lib/modules)")
    else:
        path = os.path.expanduser(config)
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(os.path.splitext(path)[1], open)
    try:
        with opener(path, "rt", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise Stop(f"CONFIG={config}: {path} cannot be read: {error}") from None
    if not re.search(r"^CONFIG_\w+=", text, re.M):
        raise Stop(f"CONFIG={config}: {path} is no kernel configuration")
    return text


def debian(flavour):
    """Debian's configuration `flavour`, in the cache."""
    target = os.path.join(CACHE, PACKAGE)
    name = f"config.{flavour}.xz"
    with locked(os.path.join(CACHE, ".lock"), f"fetching {PACKAGE}"), scratch(CACHE, "fetch") as work:
        if not os.path.exists(os.path.join(target, name)):
            need_space(CACHE, 0.1, f"fetching {PACKAGE}")
            try:
                apt = Apt()
            except Stop as stop:
                raise Stop(f"{PACKAGE}: {stop}: give CONFIG=file") from None
            found = apt.find(PACKAGE, lambda offer: offer.startswith(SERIES + "."))
            if not found:
                raise Stop(f"Debian has no {PACKAGE}: give CONFIG=file")
            unpack(apt.download(PACKAGE, found, work), work)
            os.makedirs(target, exist_ok=True)
            source = os.path.join(work, "usr", "src", PACKAGE)
            for each in os.listdir(source):
                os.replace(os.path.join(source, each), os.path.join(target, each))
            say(f"{PACKAGE} {found} is in {target}")
    if not os.path.exists(os.path.join(target, name)):
        raise Stop(f"{PACKAGE} has no {name}")
    return os.path.join(target, name)


def changed(text, values):
    """`text` with symbols set: "y", "m", "n", or a string with its quotes."""
    names = "|".join(map(re.escape, values))
    kept = [line for line in text.splitlines()
            if not re.match(rf"(?:# )?CONFIG_(?:{names})(?:=| is not set)", line)]
    said = [f"# CONFIG_{name} is not set" if value == "n" else f"CONFIG_{name}={value}" for name, value in values.items()]
    return "\n".join(kept + said) + "\n"


def suffix(config, trace):
    """What the kernel's release ends with. It is part of a package's name, which has small letters only; uname has 64 bytes."""
    return re.sub(r"[^a-z0-9.+-]", "-", f"-{trace}-{name_of(config)}".lower())[:40].rstrip(".+-")


def prepare(config, trace):
    """The configuration to give to olddefconfig: CONFIG=config, for rtrace or for C."""
    values = dict(KEYS, LOCALVERSION=f'"{suffix(config, trace)}"')
    text = text_of(config)
    if trace == "rtrace":
        values.update(RTRACE)
        if not re.search(r"^CONFIG_MODVERSIONS=y", text, re.M):
            del values["GENDWARFKSYMS"]
    return changed(text, values)


def needed(text):
    """What the build of that configuration takes besides: package -> the program or file that shows it is there."""
    found = re.findall(r"^CONFIG_(?:KERNEL|MODULE_COMPRESS|INITRAMFS_COMPRESSION)_(\w+)=y", text, re.M)
    packages = dict(COMPRESSION[name] for name in found if name in COMPRESSION)
    if re.search(r"^CONFIG_GENDWARFKSYMS=y", text, re.M):
        packages["libdw-dev"] = "/usr/include/elfutils/libdw.h"
    return packages


def options(text):
    """Symbol -> value of what is set."""
    return dict(re.findall(r"^CONFIG_(\w+)=(.*)$", text, re.M))


def report(wanted, got, path):
    """Say which options of `wanted` the kernel did not grant, and keep the list in `path`."""
    wanted, got = options(wanted), options(got)
    lost = sorted(name for name, value in wanted.items() if got.get(name) != value and name not in KEYS and not TOOLS.match(name))
    write(path, "".join(f"{name}: {wanted[name]} -> {got.get(name, 'n')}\n" for name in lost))
    return lost
