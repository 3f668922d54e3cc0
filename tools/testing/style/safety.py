# SPDX-License-Identifier: GPL-2.0
"""What clippy and rustdoc would say of the kernel's side, which neither is run on, as far as the text alone tells it:

- `unsafe` blocks and impls without a SAFETY comment: on the line, or right above the statement;
- `unsafe` functions and traits whose doc has no `# Safety` section. The methods of an `impl Trait for` have the trait's;
- links of a doc to what is not there. A name has to be declared or imported in the file, or known everywhere; what is behind
  `::` has to be declared in the type's body, in an impl of it, or in the module. Types of other crates are believed."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import rooms  # noqa: E402

# A comment or a text, which may be long and have anything in it; or a character, and not a lifetime.
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|"(?:\\.|[^"\\])*"|\'(?:\\[^\n\']*\'?|[^\'\\\n])\'', re.S)
UNSAFE = re.compile(r"\bunsafe\s*(?:\{|impl\b)")
OWES = re.compile(r'\bunsafe\s+(?:extern\s+(?:""|"C")\s*)?(fn|trait)\s+\w+')
ITEM = re.compile(r"\b(?:fn|struct|enum|union|trait|const|static|type|mod|macro_rules!)\s+(?:mut\s+)?(?!fn\b|unsafe\b|mut\b)(\w+)")
TYPE = re.compile(r"\b(?:struct|enum|union|trait)\s+(\w+)")
MEMBER = re.compile(r"(?:^|[{,(])\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:r#)?([A-Za-z_]\w*)\s*(?=[:,({=}]|$)", re.M)
BODY = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(impl|trait|struct|enum|union|mod)\b((?:\[[^\]]*\]|[^;{}\[])*)(\{)", re.M)
USE = re.compile(r"\buse\s+([^;]*);")
LINK = re.compile(r"\[`([^`]+)`\](?!\()|\]\(((?:crate|super|self|Self)(?:::\w+)*|\w+(?:::\w+)+)(?:\(\))?\)")
KNOWN = set("Option Some None Result Ok Err Error Vec Box Arc Send Sync Drop Copy Clone Deref Iterator Default Fn FnMut FnOnce From Into Self "
            "str bool char usize isize u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 fmt core kernel pin_init bindings std alloc "
            "KBox KVec KVVec Debug Display Write ToString String ENOMEM EINVAL".split())


class Source:
    """A file: its lines, its code with comments and texts blanked, and what it declares."""

    def __init__(self, name, text):
        self.name, self.lines = name, text.split("\n")
        self.code = HIDDEN.sub(lambda hidden: re.sub(r"[^\n]", " ", hidden[0]) if not hidden[0].startswith('"C"') else hidden[0], text)
        self.code_lines = self.code.split("\n")
        self.declared, self.types = {*ITEM.findall(self.code)}, {*TYPE.findall(self.code)}
        # Code that is compiled names what is there, also where a macro makes it.
        self.said = {tuple(re.split(r"\s*::\s*", path)[-2:]) for path in re.findall(r"\b\w+(?:\s*::\s*\w+)+", self.code)}
        self.members = {}  # of types and modules: what is declared in them
        for found in BODY.finditer(self.code):
            self.read_body(found)
        for used in USE.findall(self.code):
            self.declared |= set(re.findall(r"(\w+)\s*(?=[,;}]|$)", used)) | set(re.findall(r"\w+", used))

    def names(self, name):
        """Does the code name it, as what a macro has made, or a glob has brought: a type, or a function that is called?"""
        return re.search(rf"\b{name}\b" if name[0].isupper() else rf"(?<![.\w])(?<!fn ){name}(?:::<[^()]*>)?\(", self.code)

    def line(self, at):
        return self.code.count("\n", 0, at)

    def body(self, at):
        """Where the block that begins at `at` ends."""
        depth = 0
        for brace in re.compile(r"[{}]").finditer(self.code, at):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                return brace.end()
        return len(self.code)

    def read_body(self, found):
        what, of = found[1], re.split(r"\bwhere\b", found[2])[0].replace("->", "")
        while re.search(r"<[^<>]*>", of):
            of = re.sub(r"<[^<>]*>", "", of)
        names = re.findall(r"\w+", of.split(" for ")[-1].split(":")[0])
        if not names:
            return
        inside = self.code[found.start(3):self.body(found.start(3))]
        members = self.members.setdefault(names[-1], set())
        members |= set(ITEM.findall(inside))
        if what in ("struct", "enum", "union"):
            members |= set(MEMBER.findall(inside))
            if what == "enum":
                self.declared |= set(MEMBER.findall(inside)) & {name for name in MEMBER.findall(inside) if name[0].isupper()}
        # An impl of a trait gives the type what the trait has.
        if " for " in of:
            members |= {"impl " + name for name in re.findall(r"\w+", of.split(" for ")[0])[-1:]}

    def in_trait_impl(self, at):
        """Is the function there a method of an `impl Trait for`?"""
        return any(found.start(3) < at < self.body(found.start(3)) for found in BODY.finditer(self.code)
                   if found[1] == "impl" and re.search(r"\bfor\s+[^<\s]", re.split(r"\bwhere\b", found[2])[0]))


def sources(root):
    for folder, _ in rooms.FOLDERS + (("rust/api", "api"),):
        for place, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(f for f in folders if f not in rooms.OWN_CRATES)
            for name in sorted(names):
                if name.endswith(".rs"):
                    yield os.path.relpath(os.path.join(place, name), root)
    yield rooms.CRATE


def is_justified(source, at):
    """Does a comment above line `at`, at its end, or above the statement that it is in, say SAFETY?"""
    while True:
        if "SAFETY:" in source.lines[at]:
            return True
        at -= 1
        if at < 0:
            return False
        code = source.code_lines[at].strip()
        comment = source.lines[at].strip().startswith("//") or code.startswith("#")
        if not comment and (code == "" or code[-1] in ";{}"):
            return False


def doc_above(source, at):
    """The doc of the item in line `at`."""
    doc = []
    while at > 0:
        at -= 1
        line = source.lines[at].strip()
        if line.endswith(")]"):
            # An attribute, maybe of many lines.
            while at > 0 and not source.lines[at].strip().startswith("#["):
                at -= 1
        elif line.startswith("//"):
            doc.append(line)
        elif not line.startswith("#["):
            break
    return doc


def unjustified(source):
    for found in UNSAFE.finditer(source.code):
        at = source.line(found.start())
        if not is_justified(source, at):
            yield f"{source.name}:{at + 1}: an unsafe block or impl without a SAFETY comment"


def without_contract(source):
    for found in OWES.finditer(source.code):
        at = source.line(found.start())
        if "# Safety" not in "\n".join(doc_above(source, at)) and not source.in_trait_impl(found.start()):
            yield f"{source.name}:{at + 1}: an unsafe {found[1]} whose doc has no `# Safety`"


class Names:
    """All that is declared anywhere."""

    def __init__(self, files):
        self.modules = {part for source in files for part in re.findall(r"\w+", source.name)}
        self.declared, self.types, self.said, self.members = set(), set(), set(), {}
        for source in files:
            self.declared |= source.declared
            self.types |= source.types
            self.said |= source.said
            for name, members in source.members.items():
                self.members.setdefault(name, set()).update(members)

    def members_of(self, name, seen=()):
        members = self.members.get(name, set())
        for member in list(members):
            if member.startswith("impl ") and member not in seen:
                members = members | self.members_of(member[5:], (*seen, member))
        return members

    def is_there(self, source, path):
        path = re.sub(r"<.*>|\(.*\)|!$", "", path.split("@")[-1])
        parts = [part for part in path.split("::") if part]
        if not parts or not all(re.fullmatch(r"\w+", part) for part in parts):
            return True
        first, *rest = parts
        if first in ("crate", "super", "self"):
            return all(part in self.declared | self.modules | {"super"} for part in rest)
        if first == "Self":
            return any(rest[-1] in self.members_of(mine) for mine in source.members)
        if first not in source.declared | KNOWN and not source.names(first):
            return False
        return all(of not in self.types or member in self.members_of(of) or (of, member) in self.said or of in self.modules
                   for of, member in zip(parts, rest))


def broken(source, names):
    for at, line in enumerate(source.lines):
        if line.lstrip().startswith(("///", "//!")):
            for found in LINK.finditer(line):
                if not names.is_there(source, found[1] or found[2]):
                    yield f"{source.name}:{at + 1}: a link to what is not there: {found[1] or found[2]}"


def check(root=ROOT, more=()):
    """What is wrong: blocks, functions, links. `more` are files beside those of the tree."""
    files = [Source(name, text) for name, text in more]
    for name in sources(root):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            files.append(Source(name, file.read()))
    names = Names(files)
    return ([line for source in files for line in unjustified(source)],
            [line for source in files for line in without_contract(source)],
            [line for source in files for line in broken(source, names)])


if __name__ == "__main__":
    for lines in check():
        print(*lines, sep="\n")
