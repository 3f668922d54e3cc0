# SPDX-License-Identifier: GPL-2.0
"""Filters by functions, with commands.

Left out: all functions, and functions by their numbers, as the kernels do not have the same ones; `!!FUNCTION:COMMAND`, of which
C warns.
"""
import re

from control import some_instance

NAMES = ["vfs_fsync", "vfs_f*", "*_fsync", "vfs_truncat?", "vfs_[ft]*e", "vfs_fsync*", "nosuch", "nosuch*", "VFS_FSYNC", "v*_fsync",
         "*fs_fsyn*", "vfs_fsync ", "vfs_t*", "vfs_trunc*ate", "", "0", "-1", "9999999", "99999999999999999999", "vfs_[!f]sync",
         "vfs_\\fsync", "vfs_fsync.isra.0", "vfs_tmpfile", "vfs_f**c", "vfs_*_range", "[", "\\", "__x64_sys_reboot"]
COMMANDS = ["traceon", "traceoff", "snapshot", "stacktrace", "dump", "cpudump", "enable_event:oom:mark_victim",
            "disable_event:oom:mark_victim", "enable_event:module:module_load", "enable_event:oom:*", "enable_event:oom",
            "enable_event:no:such", "enable_event", "nosuch", "", "mod:x:traceoff"]


def left_out(text):
    """Whether the kernels are meant to differ."""
    return (re.search(r"(^|[\s!])[*?\[!]*(\s|:|$)|(^|[\s!:])[\d]|!!\S*:", text)
            or len(re.sub(r"[*?]", "", text)) < 3)


def functions(texts):
    """Functions, in some cases those of a module, in some with a command."""
    word = texts.one(*NAMES)
    if texts.chance(15):
        word += texts.one(":mod:nosuch", ":mod:*", ":mod:", ":mod", ":mod:!nosuch", ":MOD:x", ":mod:ext*", ":mod:nosuch:x")
    if texts.chance(45):
        word += ":" + texts.one(*COMMANDS) + texts.one("", "", ":3", ":0", ":" + texts.number(), ":unlimited", ":count=3", ":")
    return word


def run(round_):
    """The lists of an instance, and those of which there is one."""
    texts = round_.texts
    place = some_instance(texts)
    often = [f"{place}set_ftrace_filter"] * 3
    files = [*often, f"{place}set_ftrace_notrace", "set_graph_function", "set_graph_notrace", "stack_trace_filter"]
    round_.watch(*files, f"{place}events/oom/mark_victim/enable", f"{place}events/module/module_load/enable")
    last = ""
    for _ in range(10):
        text = functions(texts)
        if texts.chance(30):
            text = texts.one("!", "!", "! ", "!!") + text
        if last and texts.chance(30):
            text = texts.one("!", "", "!") + last + texts.one("", "", ":0")
        last = text.lstrip("!")
        if texts.chance(25):
            text += texts.one(" ", "\n", ",", "\t", "  ")
            text += texts.one("vfs_fsync", "!vfs_fsync", "nosuch", "vfs_truncate:traceoff", "vfs_t*", "")
        text = texts.mutated(text, 25)
        if not left_out(text):
            round_.write(texts.one(*files), text)
