#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hold the imports of the Rust code to its layers and rooms: `rooms.py [FOLDER]` names each arrow that turns back.

An arrow goes from a file to the file that defines what it names, in a `use` or by a path in the code; what a module hands
on by `pub use` counts for the file that it comes from. Four things are reported, and the exit status is 1 with any:

- an arrow to a room that the file's own room may not use (ROOMS);
- a circle of more than CIRCLE files inside one room;
- in FENCED, a name that belongs into other folders (FOREIGN);
- in BELOW_ABI, a name that a header of ABI declares: C's linker would connect what no `use` tells.
"""
import collections
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The rooms from the bottom up: name, what it holds (a module and all below it; the longest one counts), what it may use:
# all rooms before it (BELOW), or those named.
BELOW = None
ROOMS = (
    ("core", ("core",), ()),
    ("kernel", ("kernel",), BELOW),
    ("buffer", ("trace::buffer",), BELOW),
    ("tasks", ("trace::tasks",), BELOW),
    ("ftrace", ("trace::ftrace", "trace::unpatched"), BELOW),
    ("fgraph", ("trace::fgraph",), BELOW),
    ("profilers", ("trace::profilers",), BELOW),
    ("instance", ("trace::instance",), BELOW),
    ("output", ("trace::output",), BELOW),
    ("events", ("trace::events",), BELOW),
    ("tracers", ("trace::tracers",), BELOW),
    ("commands", ("trace::commands",), BELOW),
    ("files", ("trace::files",), BELOW),
    ("boot", ("trace::boot", "trace"), BELOW),
    ("arch", ("arch",), ("kernel", "ftrace")),
    ("abi", ("abi",), BELOW),
    ("root", ("",), BELOW),
)
CIRCLE = 5  # so many files of a room may name each other in a circle

# What is safe Rust has nothing to do with C: neither its structures and functions nor symbols of its own for it.
FENCED = "rust/trace/"
FOREIGN = ("bindings", "no_mangle", "export_name")

# What is below the C interface takes nothing from it, neither in Rust nor in C. (Assembly calls it: that is what it is for.)
ABI = "rust/abi"
BELOW_ABI = ("rust/kernel", "rust/helpers", "arch/x86")

# Where the crate's modules lie; `mod.rs` is the module that its folder is called.
FOLDERS = (("rust/abi", "abi"), ("arch/x86", "arch"), ("rust/core", "core"), ("rust/kernel", "kernel"), ("rust/trace", "trace"))
CRATE = "rust/rtrace.rs"
NOT_OF_IT = ("rust/core/lib.rs", "rust/core/build.rs")
OWN_CRATES = ("benches", "examples", "fuzz", "tests", "target")

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?c?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\'|\'\w+'
    r'|\$?[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*(?:\s*::(?=\s*[{*]))?|[{};*,]|.', re.S)


class Module:
    """A module of the crate: a file, or a `mod` with a body inside one."""

    def __init__(self, path, file):
        self.path, self.file = path, file
        self.children = {}
        self.names = {}  # what a `use` brings: name -> absolute path
        self.globs = []
        self.macros = set()
        self.tests = False


class Use:
    """A path that stands at a line of a module."""

    def __init__(self, module, line, path, binds=None, public=False):
        self.module, self.line, self.path, self.binds, self.public = module, line, path, binds, public


def without_comments(text):
    """C text with its lines where they were."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.S)


def declared(text):
    """The names that a header declares: functions, data, types that it has the contents of, enumerators as in Rust, macros.
    A type that it only mentions is not its own."""
    text = without_comments(text)
    names = {name for name in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.M) if not name.endswith("_H")}
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    names.update(re.findall(r"\b(?:struct|union|enum)\s+(\w+)\s*\{", text))
    for enum, body in re.findall(r"\benum\s+(\w+)\s*\{([^}]*)\}", text):
        names.update(f"{enum}_{enumerator}" for enumerator in re.findall(r"(?:^|,)\s*(\w+)", body))
    before = None
    while before != text:  # inner braces first
        before, text = text, re.sub(r"\{[^{}]*\}", ";", text)
    for statement in text.split(";"):
        found = (re.search(r"\bDECLARE_PER_CPU\w*\(.*\b(\w+)\s*\)", statement, re.S)
                 or re.search(r"\w[\s*]+(\w+)\s*\(", statement)
                 or re.search(r"\bextern\b.*?\b(\w+)\s*(?:\[[^]]*\]\s*)*$", statement, re.S))
        if found:
            names.add(found[1])
    return names


def is_below_abi(file):
    return file.startswith(tuple(folder + "/" for folder in BELOW_ABI))


class Crate:
    """All modules of the crate in a folder, and what they name."""

    def __init__(self, root):
        self.root = root
        self.modules = {}
        self.uses, self.paths, self.foreign, self.upward = [], [], [], []
        self.declared = {}  # name -> the header
        for file in self.c_files(ABI, ".h"):
            with open(os.path.join(root, file), encoding="utf-8") as text:
                self.declared.update((name, file) for name in declared(text.read()))
        files = [(CRATE, ())]
        for folder, name in FOLDERS:
            for place, folders, names in os.walk(os.path.join(root, folder)):
                folders[:] = sorted(f for f in folders if f not in OWN_CRATES)
                for file in sorted(names):
                    relative = os.path.relpath(os.path.join(place, file), root)
                    if file.endswith(".rs") and relative not in NOT_OF_IT:
                        below = os.path.relpath(relative, folder)[:-3].split(os.sep)
                        files.append((relative, (name, *(below[:-1] if below[-1] == "mod" else below))))
        for file, path in files:
            self.module(path, file).file = file
        for file, path in files:
            with open(os.path.join(root, file), encoding="utf-8") as text:
                self.read(self.modules[path], text.read())
        for file in (file for folder in BELOW_ABI for file in self.c_files(folder, ".c", ".h")):
            with open(os.path.join(root, file), encoding="utf-8") as text:
                self.read_c(file, text.read())

    def c_files(self, folder, *endings):
        """Files in a folder, by their paths from the root."""
        return sorted(os.path.relpath(os.path.join(place, name), self.root)
                      for place, _, names in os.walk(os.path.join(self.root, folder)) for name in names if name.endswith(endings))

    def read_c(self, file, text):
        """Collects what a C file below the C interface takes from it."""
        for number, line in enumerate(without_comments(text).split("\n"), 1):
            self.upward += [(file, number, name, self.declared[name]) for name in re.findall(r"\w+", line) if name in self.declared]
            if re.search(r'#[ \t]*include[^\n]*\babi/', line):
                self.upward.append((file, number, "a header", ABI))

    def module(self, path, file):
        """The module at `path`, made with those above it where it is not there."""
        if path not in self.modules:
            self.modules[path] = Module(path, file)
        if path:
            above = self.modules.get(path[:-1]) or self.module(path[:-1], CRATE)
            above.children[path[-1]] = self.modules[path]
        return self.modules[path]

    def read(self, module, text):
        """Collects what a file names."""
        at, line = 0, 1
        here, depth, inside = module, 0, []  # `inside`: the depths at which inner modules began, with the outer module
        tokens = []
        while at < len(text):
            found = TOKEN.match(text, at)
            token = found[0]
            if not (token.isspace() or token.startswith(("//", "/*", '"', "'", 'b"', 'r"', 'r#', 'br', 'c"', "b'"))):
                tokens.append((re.sub(r"\s+", "", token), line))
            line += token.count("\n")
            at = found.end()
        if is_below_abi(module.file):
            self.upward += [(module.file, line, part, self.declared[part]) for token, line in tokens
                            for part in token.split("::") if part in self.declared]
        i = 0
        while i < len(tokens):
            token, line = tokens[i]
            following = tokens[i + 1][0] if i + 1 < len(tokens) else ""
            if any(part in FOREIGN for part in token.split("::")[1:]):
                self.foreign.append((module.file, line, next(p for p in token.split("::") if p in FOREIGN)))
            if token == "mod" and i + 2 < len(tokens) and tokens[i + 2][0] == "{":
                inside.append((depth, here))
                here = self.module((*here.path, following), module.file)
                here.tests = following == "tests"
                depth, i = depth + 1, i + 2
            elif token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if inside and inside[-1][0] == depth:
                    here = inside.pop()[1]
            elif token == "use" and self.is_module_level(tokens, i):
                end = next(j for j in range(i, len(tokens)) if tokens[j][0] == ";")
                public = i > 0 and (tokens[i - 1][0] == "pub" or tokens[i - 1][0] == ")" and tokens[i - 4][0] == "pub")
                self.tree(here, public, tokens[i + 1:end], ())
                self.foreign += [(module.file, at, part) for token, at in tokens[i + 1:end]
                                 for part in token.split("::") if part in FOREIGN]
                i = end
            elif token == "macro_rules" and i + 2 < len(tokens):
                here.macros.add(tokens[i + 2][0])
            elif token in FOREIGN or "::" in token and token.split("::")[0] in FOREIGN:
                self.foreign.append((module.file, line, token.split("::")[0]))
            elif "::" in token and [t for t, _ in tokens[max(i - 3, 0):i]] != ["pub", "(", "in"]:  # that names who may use it
                self.paths.append(Use(here, line, tuple(p for p in token.replace("$", "").split("::") if p)))
            i += 1

    @staticmethod
    def is_module_level(tokens, i):
        return tokens[i + 1][0] not in ("<", ",")  # not the `use<>` of a bound

    def tree(self, here, public, tokens, prefix):
        """Takes apart what follows `use`."""
        i = 0
        while i < len(tokens):
            token, line = tokens[i]
            if token == ",":
                i += 1
                continue
            path = (*prefix, *(p for p in token.split("::") if p)) if token not in ("{", "*") else prefix
            if token != "{" and i + 1 < len(tokens) and tokens[i + 1][0] == "{":
                i += 1
                token = "{"
            if token == "{":
                end, depth = i, 0
                while True:
                    depth += {"{": 1, "}": -1}.get(tokens[end][0], 0)
                    if not depth:
                        break
                    end += 1
                self.tree(here, public, tokens[i + 1:end], path)
                i = end + 1
                continue
            if token == "*" or (i + 1 < len(tokens) and tokens[i + 1][0] == "*"):
                i += 1 if token == "*" else 2
                if absolute := self.absolute(here, path):
                    here.globs.append(absolute)
                    self.uses.append(Use(here, line, absolute, None, public))
                continue
            binds = path[-1]
            if binds == "self":
                path = path[:-1]
                binds = path[-1]
            i += 1
            if i + 1 < len(tokens) and tokens[i][0] == "as":
                binds = tokens[i + 1][0]
                i += 2
            absolute = self.absolute(here, path)
            if absolute is not None:
                here.names[binds] = absolute
                self.uses.append(Use(here, line, absolute, binds, public))

    def absolute(self, here, path):
        """A path from the crate's root; none for what other crates have."""
        if not path:
            return None
        first, rest = path[0], path[1:]
        at = here.path
        if first == "crate":
            return rest
        if first == "self":
            return (*at, *rest)
        if first == "super":
            while first == "super":
                at = at[:-1]
                first, rest = (rest[0], rest[1:]) if rest else ("", ())
            return (*at, first, *rest) if first else at
        if first in here.children and (at or first not in ("core", "kernel")):
            return (*at, *path)
        return None

    def define(self, path, seen=()):
        """The module that defines what `path` names, through what others hand on."""
        module, i = self.modules[()], 0
        while i < len(path):
            if path[i] in module.children:
                module = module.children[path[i]]
            elif path[i] in module.names and path[i] not in module.macros:
                further = (*module.names[path[i]], *path[i + 1:])
                return module if further in seen else self.define(further, (*seen, further))
            else:
                for glob in module.globs:
                    target = self.define(glob)
                    if path[i] in target.children or path[i] in target.names:
                        return self.define((*target.path, *path[i:]), (*seen, path))
                break
            i += 1
        return module

    def arrows(self):
        """(from file, line, to module, what is named), each once for a file and what it names."""
        by_name = collections.defaultdict(list)
        for use in self.paths:
            absolute = self.absolute(use.module, use.path)
            if absolute is not None:
                yield use.module, use.line, self.define(absolute), absolute
            else:
                by_name[use.module.path, use.path[0]].append(use)
        for use in self.uses:
            target = self.define(use.path)
            through = by_name.get((use.module.path, use.binds), ())
            if through and target.path == use.path:
                for inner in through:  # a module: what counts is what is taken out of it
                    absolute = (*use.path, *inner.path[1:])
                    yield use.module, inner.line, self.define(absolute), absolute
            elif not use.public or self.room(target) != self.room(use.module):
                yield use.module, use.line, target, use.path

    @staticmethod
    def room(module):
        best = ("", "root")
        name = "::".join(module.path)
        for room, holds, _ in ROOMS:
            for place in holds:
                if (name == place or name.startswith(place + "::")) and len(place) > len(best[0]):
                    best = (place, room)
        return best[1]


def may_use(room, other):
    names = [name for name, _, _ in ROOMS]
    allowed = next(uses for name, _, uses in ROOMS if name == room)
    return room == other or (other in allowed if allowed is not None else names.index(other) < names.index(room))


def components(graph):
    """The strongly connected components of `graph`, by Tarjan's way without recursion."""
    index, low, on, stack, found = {}, {}, set(), [], []
    for start in sorted(graph):
        if start in index:
            continue
        work = [(start, iter(sorted(graph[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            node, further = work[-1]
            for other in further:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(graph.get(other, ())))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    circle = set()
                    while node not in circle:
                        circle.add(stack[-1])
                        on.discard(stack.pop())
                    found.append(circle)
    return found


def check(root=ROOT):
    """The wrong arrows, the circles, the foreign names and those from above of the crate in `root`, as lines of text."""
    crate = Crate(root)
    back, inside = {}, collections.defaultdict(lambda: collections.defaultdict(set))
    for module, line, target, path in crate.arrows():
        if module.tests:
            continue
        room, other = crate.room(module), crate.room(target)
        if not may_use(room, other):
            back.setdefault((module.file, "::".join(path)), (line, room, other))
        elif room == other and module.file != target.file:
            inside[room][module.file].add(target.file)
    arrows = [f"{file}:{line}: {room} must not use {other}: {path}" for (file, path), (line, room, other) in sorted(back.items())]
    circles = []
    for room, graph in sorted(inside.items()):
        for circle in components(graph):
            if len(circle) > CIRCLE:
                circles.append(f"{room}: a circle of {len(circle)} files: {', '.join(sorted(circle))}")
    fences = [f"{file}:{line}: {name} in {FENCED}" for file, line, name in crate.foreign
              if file.startswith(FENCED)]
    upward = [f"{file}:{line}: {name} of {header}" for file, line, name, header in crate.upward]
    return arrows, circles, fences, upward


def main(arguments):
    arrows, circles, fences, upward = check(*arguments[1:2])
    for line in [*arrows, *circles, *fences, *upward]:
        print(line)
    print(f"rooms: {len(arrows)} wrong arrows, {len(circles)} circles of more than {CIRCLE} files, "
          f"{len(fences)} names of other folders, {len(upward)} names of {ABI} below it")
    return 1 if arrows or circles or fences or upward else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
