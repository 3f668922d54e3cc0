# SPDX-License-Identifier: GPL-2.0
"""Triggers with counts and filters. Nothing is left out."""
from .events import calm_event
from .filters import expression


def trigger(texts, event):
    """A trigger that is no histogram."""
    text = texts.one("traceon", "traceoff", "snapshot", "stacktrace", "enable_event", "disable_event", "enable_hist", "disable_hist",
                     "enable_event", "nosuch")
    if "_" in text:
        target = texts.one("oom:mark_victim", "module:module_load", event.replace("/", ":"), "oom", "no:such", "oom:*", "", "ftrace:print",
                           "oom:mark_victim:")
        text += f":{target}"
    text += texts.one("", "", "", ":3", ":" + texts.number(), ":unlimited", ":count=3", " 3", ":3:4")
    if texts.chance(35):
        text += texts.one(" if ", " if ", " if ", "  if  ", " if\t", " if", " iff ", ":if ", " IF ") + expression(texts, event, 2)
    return text


def run(round_):
    """Triggers of two events, and what they enable."""
    texts = round_.texts
    events = [calm_event(texts), calm_event(texts)]
    for event in events:
        round_.watch(f"events/{event}/trigger", f"events/{event}/enable")
    round_.watch("events/oom/mark_victim/enable", "events/module/module_load/enable", "tracing_on", "show_event_triggers")
    last = ""
    for _ in range(10):
        event = texts.one(*events)
        text = texts.one("", "!", "!") + last if last and texts.chance(35) else texts.one("", "", "", "", "!") + trigger(texts, event)
        last = text.lstrip("!")
        if texts.chance(6):
            text = texts.one("\n", " ", "", "!", "!!", "0", "\0", "#", "# x", "!\n", ":") + texts.one("", text)
        if texts.chance(10):
            text += texts.one("\n", "\n\n", ";", "\n!") + trigger(texts, event)
        round_.write(f"events/{event}/trigger", texts.mutated(text, 25))
        if texts.chance(10):
            round_.write(f"events/{event}/enable", texts.one("0", "1"))
