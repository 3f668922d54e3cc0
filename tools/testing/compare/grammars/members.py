# SPDX-License-Identifier: GPL-2.0
"""Definitions of synthetic events and of user events, which are lists of members; for `probes` and `users`."""
import re

from texts import LONG

TYPES = {
    "s": ["u64", "pid_t", "char[16]", "int", "unsigned int", "unsigned long", "long", "s64", "u8", "char[]", "long[]"],
    "u": ["u64", "s32", "char[16]", "char", "unsigned int", "unsigned char", "short", "struct x", "__data_loc char[]",
          "__rel_loc char[]"],
}
ODD_HEADS = {"s": ["s:other/", "s", "s ", "S:"], "u": ["u ", "u", "U:"]}


def member(texts, kind):
    """A member."""
    ctype = texts.mostly(20, TYPES[kind], [
        "char", "bool", "unsigned long[]", "size_t", "gfp_t", "char[0]", "char[256]", "char[257]", "void", "foo_t", "unsigned", "u64[]",
        "char *", "long long", "__data_loc u8[]", "char[x]", "char[16", "char[-1]", f"char[{texts.number()}]", "signed char",
        "__data_loc", "stack", "s16", "unsigned short", "struct", "struct x", "__data_loc char[] x", "u8[4]", "__data_loc char",
        "unsigned u8", "unsigned __data_loc char[]"])
    if texts.chance(90):
        name = texts.one("a", "b", "c", "d", "e")
    else:
        name = texts.one("9x", "x-y", "x[16]", "x[]", "", "common_pid", "a b", "x" * texts.one(*LONG[:12]), "*a")
    blank = texts.mostly(10, [" "], ["  ", "\t", ""])
    size = ""
    if ctype == "struct x":
        size = " 8"
    elif texts.chance(3):
        size = texts.one(" 8", " x", ":8", "[3]")
    return ctype + blank + name + size


NAMELESS = re.compile(r"\s*((unsigned|struct|(__data_loc|__rel_loc)( unsigned)?) )?[^ ]+ |\s*struct [^ ]+  .*")


def is_nameless(text):
    """Whether a user event has a field with a type and a blank, and no name, which C takes and cannot show."""
    return any(NAMELESS.fullmatch(field) for field in text.partition(" ")[2].split(";"))


def definition(texts, kind):
    """A definition."""
    name = texts.name("x", "y", "z") + texts.mostly(12, [" "], ["  ", "", "\t", ";"])
    between = texts.mostly(20, ["; ", ";"], [" ;", " ; ", ", ", ";;"])
    members = between.join(member(texts, kind) for _ in range(texts.one(0, 1, 1, 2, 2, 3, 64 if texts.chance(5) else 4)))
    head = texts.mostly(12, [f"{kind}:"], [*ODD_HEADS[kind], "s:synthetic/"])
    return head + name + members + texts.mostly(15, [""], [";", ";;", " "])
