# SPDX-License-Identifier: GPL-2.0
"""Lists of events, and files `enable`. Nothing is left out."""
from control import WRITE, some_instance
from texts import NUMBERS

WATCHED = ["set_event", "events/oom/enable", "events/oom/mark_victim/enable", "events/module/enable", "events/enable",
           "events/module/module_load/enable", "events/synthetic/enable"]
SWITCHES = ["events/oom/enable", "events/oom/mark_victim/enable", "events/module/enable", "events/ftrace/enable",
            "events/synthetic/one/enable"]
WORDS = ["oom:mark_victim", "oom:*", "oom:", "oom", "mark_victim", "module:module_l*", "module_*", ":mark_victim", "*:mark_victim",
         "o*:mark*", "oom:mark_victim:", ":mod:nosuch", "mark_victim:mod:nosuch", "oom:*:mod:nosuch", ":mod:*", "oom:mark_victim:mod:",
         ":mod:", ":mod", "nosuch", "oom:nosuch", "nosuch:*", "OOM:MARK_VICTIM", "Oom", "oom/mark_victim", "oom.mark_victim",
         "module:module_[lf]*", "mark_victi?", "synthetic:one", "synthetic:*", "ftrace:print", "ftrace:*", "ftrace",
         "oom:mark_victim,module:module_load", "::", ":", "*:*:*", "oom::mark_victim", "syscalls:sys_enter_reboot", "sys_*_reboot",
         "oom:**", "!oom", "swapo*", "oom:mark_victim\\"]


def run(round_):
    """Events of an instance."""
    texts = round_.texts
    place = some_instance(texts)
    round_.watch(*(place + file for file in WATCHED))
    for _ in range(10):
        word = texts.one(*WORDS)
        if texts.chance(35):
            word = "!" + word
        if texts.chance(20):
            word += texts.one(" ", "\n", ",", "\t") + texts.one("oom:mark_victim", "!oom:*", "module:*", "nosuch", ":mod:x", "")
        if texts.random.randrange(10) < 8:
            round_.write(f"{place}set_event", texts.mutated(word, 30))
        else:
            round_.write(place + texts.one(*SWITCHES), texts.mutated(texts.one("0", "1", "1", "2", *NUMBERS)), WRITE)
