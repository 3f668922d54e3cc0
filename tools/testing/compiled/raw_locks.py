# SPDX-License-Identifier: GPL-2.0
"""Which sections that hold a `RawLock` (rust/kernel/raw_lock.rs) call something that could be traced, from the object code.

A section begins behind a compare-and-exchange that follows `cli` without a call between, and ends where interrupts come on
again (`sti`, or the jump over it), on whatever path. A function that always returns with the lock, such as
`Part::lock_reader()`, begins one in its callers. One that has only taken it where it says so (`Option`) does in its callers on
the paths that all its callers' code agrees on: an instruction that is reached without it, too, is not taken for part of it.

What a section calls, directly or by functions that cannot be traced, must have no patch site in vmlinux, and be known: a call by
a pointer is refused. `RawGuard::around_traced()` leaves the address of where it is used in the section MARK, which the link
discards: from there on the section may call anything.
"""
import collections
import re
import struct
import subprocess

MARK = ".discard.rtrace_traced"
# A site, as it is in vmlinux: in C, and in Rust (arch/x86/insn.rs).
SITES = (bytes.fromhex("0f1f440000"), bytes.fromhex("0f1f440008"))
ENDBR = bytes.fromhex("f30f1efa")
# How a call by a pointer is told.
POINTER = "a function by a pointer"
# What ends in a panic or a warning, and what does nothing while interrupts are off.
NEVER = re.compile(r"_4core(9panicking|5slice5index|6option|6result)|refcount_warn_saturate$|panic$|__stack_chk_fail$|"
                   r"preempt_schedule(_notrace)?(_thunk)?$")

Instruction = collections.namedtuple("Instruction", "at name rest")
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(lock )?(?:(?:rep|repn?e|notrack|cs|bnd) )*([a-z]\w*)\s*(.*)")
SYMBOL = re.compile(r"^([0-9a-f]+) <(.+)>:$")
RELOCATION = re.compile(r"^\s+([0-9a-f]+):\s+(R_\S+)\s+(\S+?)([-+]0x[0-9a-f]+)?$")


def output(*command):
    """What a program says on its standard output."""
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout


def parse(listing):
    """{name of a function: its code} and {where one begins: its name}; a place is (section, address)."""
    functions, names, section, code = {}, {}, "", None
    for line in listing.splitlines():
        if line.startswith("Disassembly of section "):
            section = line[len("Disassembly of section "):-1]
        elif found := SYMBOL.match(line):
            code = functions.setdefault(found[2], [])
            names[section, int(found[1], 16)] = found[2]
        elif (found := RELOCATION.match(line)) and code:
            # By the last instruction. `calls` and `jumps` look at it.
            last = code[-1]
            code[-1] = last._replace(rest=(found[3], int(found[4] or "0", 16)))
        elif (found := LINE.match(line)) and code is not None:
            at = (section, int(found[1], 16))
            if found[2]:
                # LLVM's objdump has it in a line of its own.
                code.append(Instruction(at, "lock", ""))
            code.append(Instruction(at, found[3], found[4]))
    return functions, names


def is_call(instruction):
    return instruction.name.startswith("call")


def is_end(instruction):
    return instruction.name.startswith(("ret", "ud2", "int3"))


class Code:
    """The functions of an object, and of vmlinux where those call them."""

    def __init__(self, listing, marks=(), others=lambda name: [], is_traced=lambda name: False):
        self.functions, self.names = parse(listing)
        self.marks, self.others, self.is_traced = set(marks), others, is_traced
        self.places = {name: {one.at: i for i, one in enumerate(code)} for name, code in self.functions.items()}
        self.always, self.sometimes = set(), set()
        self.openers = {name for name, code in self.functions.items()
                        if any(one.name == "sti" for one in code) and not any(one.name == "cli" or is_call(one) for one in code)}
        self.reach = {}

    def code(self, name):
        if name not in self.functions:
            self.functions[name] = self.others(name)
            self.places[name] = {one.at: i for i, one in enumerate(self.functions[name])}
        return self.functions[name]

    def target(self, instruction):
        """The name of what an instruction calls or jumps to."""
        rest = instruction.rest
        if isinstance(rest, tuple):
            symbol, addend = rest
            if (symbol, addend + 4) in self.names:
                return self.names[symbol, addend + 4]
            return symbol
        found = re.match(r"(?:0x)?[0-9a-f]+ <([^+>]+)>", rest)
        return found[1] if found and "*" not in rest else POINTER

    def callee(self, name, instruction):
        """What the instruction of `name` calls, at its end or before; None if it calls nothing."""
        if not is_call(instruction) and (not instruction.name.startswith("j") or self.inside(name, instruction) is not None):
            return None
        target = self.target(instruction)
        return POINTER if target.startswith("__x86_indirect_thunk") else target

    def inside(self, name, instruction):
        """Where in its own function a jump leads to."""
        if isinstance(instruction.rest, tuple):
            return None
        found = re.match(r"(?:0x)?([0-9a-f]+) <", instruction.rest)
        return self.places[name].get((instruction.at[0], int(found[1], 16))) if found else None

    def next(self, name, i):
        """The instructions that may follow one."""
        instruction = self.code(name)[i]
        if is_end(instruction):
            return []
        if not instruction.name.startswith("j"):
            return [i + 1] if i + 1 < len(self.code(name)) else []
        there = self.inside(name, instruction)
        after = [] if instruction.name.startswith("jmp") else [i + 1]
        return after + ([] if there is None else [there])

    def opens(self, name, i):
        """Is a raw lock open behind this instruction?"""
        code = self.code(name)
        if code[i].name == "sti" or code[i].at in self.marks:
            return True
        if code[i].name.startswith("j") and any(code[to].name == "sti" for to in self.next(name, i)):
            return True
        return is_call(code[i]) and self.target(code[i]) in self.openers

    def taken(self, name):
        """The instructions of a function behind which it has just taken a lock itself."""
        code, found, done = self.code(name), set(), set()
        work = [i for i, one in enumerate(code) if one.name == "cli"]
        while work:
            i = work.pop()
            if i in done or is_call(code[i]) or self.opens(name, i):
                continue
            done.add(i)
            if code[i].name.startswith("cmpxchg") and code[i - 1].name == "lock":
                found.add(i)
            else:
                work += self.next(name, i)
        return found

    def held(self, name, begin):
        """The instructions that are reached with the lock from behind those of `begin`."""
        held, work = set(), [to for i in begin if not self.opens(name, i) for to in self.next(name, i)]
        while work:
            i = work.pop()
            if i not in held and self.code(name)[i].at not in self.marks:
                held.add(i)
                if not self.opens(name, i):
                    work += self.next(name, i)
        return held

    def surely_held(self, name, begin):
        """Those that are reached with the lock alone."""
        code = self.code(name)
        before = collections.defaultdict(list)
        for i in range(len(code)):
            for to in self.next(name, i):
                before[to].append(i)
        held = set(range(len(code))) - {0}
        changed = True
        while changed:
            leaves = {i for i in range(len(code)) if i in begin or i in held and not self.opens(name, i)}
            still = {i for i in held if before[i] and all(one in leaves for one in before[i])}
            changed, held = still != held, still
        return held

    def will_open(self, name, begin):
        """Those behind which a lock is opened before the next one is taken."""
        code = self.code(name)
        before = collections.defaultdict(list)
        for i in range(len(code)):
            for to in self.next(name, i):
                before[to].append(i)
        found, work = set(), [i for i in range(len(code)) if self.opens(name, i)]
        while work:
            i = work.pop()
            if i not in found and i not in begin:
                found.add(i)
                work += before[i]
        return found

    def calls_of(self, name, which):
        return {i for i, one in enumerate(self.code(name)) if is_call(one) and self.target(one) in which}

    def find_holders(self):
        """Which functions return with a lock: always, or sometimes."""
        changed = True
        while changed:
            changed = False
            for name in list(self.functions):
                if name in self.always:
                    continue
                begin = self.taken(name) | self.calls_of(name, self.always)
                if not begin:
                    continue
                code = self.code(name)
                ends = {i for i, one in enumerate(code) if one.name.startswith("ret")}
                if not ends & self.held(name, begin):
                    continue
                always = ends <= self.surely_held(name, begin)
                if (always, name in self.sometimes) in ((True, False), (True, True), (False, False)):
                    changed = True
                self.sometimes.discard(name)
                (self.always if always else self.sometimes).add(name)

    def reached(self, name):
        """What can be traced, or is not known, of what a function is or calls: {name: by way of}."""
        found, done, work = {}, {name}, [(name, ())]
        while work:
            name, way = work.pop()
            if NEVER.search(name):
                continue
            if name == POINTER or self.is_traced(name):
                found.setdefault(name, way)
                continue
            for one in self.code(name):
                target = self.callee(name, one)
                if target and target not in done:
                    done.add(target)
                    work.append((target, way + (name,)))
        return found

    def sections(self):
        """{function: {what can be traced and is called there with a lock: by way of}}, for each that holds one."""
        self.find_holders()
        found = {}
        for name in list(self.functions):
            begin = self.taken(name) | self.calls_of(name, self.always)
            maybe = self.calls_of(name, self.sometimes)
            if not begin and not maybe:
                continue
            found[name] = {}
            held = self.held(name, begin)
            if maybe:
                held |= self.surely_held(name, maybe) & self.will_open(name, begin | maybe)
            for i in held:
                one = self.code(name)[i]
                target = self.callee(name, one)
                if not is_call(one) and self.opens(name, i):
                    # Over `sti`, out of the function.
                    continue
                if target and target not in self.openers and target not in self.always | self.sometimes:
                    if target not in self.reach:
                        self.reach[target] = self.reached(target)
                    found[name].update(self.reach[target])
        return found


class Image:
    """vmlinux: which functions have a site, and the code of those that have none."""

    def __init__(self, path, objdump, nm):
        self.path, self.objdump = path, objdump
        self.symbols = {}
        for line in output(nm, "-S", path).splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tTwW":
                self.symbols[words[3]] = (int(words[0], 16), int(words[1], 16))
        self.text = self.read_text()

    def read_text(self):
        """(address, bytes) of .text and its like."""
        with open(self.path, "rb") as file:
            data = file.read()
        (at,), (size, count) = struct.unpack_from("<Q", data, 0x28), struct.unpack_from("<HH", data, 0x3a)
        found = []
        for i in range(count):
            _name, kind, flags, address, offset, length = struct.unpack_from("<IIQQQQ", data, at + i * size)
            if kind == 1 and flags & 4:
                found.append((address, data[offset:offset + length]))
        return found

    def is_traced(self, name):
        address = self.symbols.get(name, (0, 0))[0]
        for start, code in self.text:
            if start <= address < start + len(code):
                here = code[address - start:address - start + 9]
                return here.removeprefix(ENDBR)[:5] in SITES
        return False

    def code(self, name):
        """The code of a function; none of what is elsewhere."""
        address, size = self.symbols.get(name, (0, 0))
        if not size:
            return []
        listing = output(self.objdump, "-d", "--no-show-raw-insn", f"--start-address={address:#x}",
                         f"--stop-address={address + size:#x}", self.path)
        functions, _ = parse(listing)
        return next((code for code in functions.values() if code), [])


def marks(path, objdump):
    """The places that MARK names."""
    found, wanted = set(), False
    for line in output(objdump, "-r", path).splitlines():
        if line.startswith("RELOCATION RECORDS FOR"):
            wanted = f"[{MARK}]" in line
        elif wanted and (one := re.match(r"[0-9a-f]+\s+R_\S+\s+(\S+?)(?:\+0x([0-9a-f]+))?\s*$", line)):
            found.add((one[1], int(one[2] or "0", 16)))
    return found


def look(build, objdump, nm):
    """The object code of rtrace in a build folder."""
    path = f"{build}/kernel/rtrace/rust/rtrace.o"
    image = Image(f"{build}/vmlinux", objdump, nm)
    listing = output(objdump, "-dr", "--no-show-raw-insn", path)
    return Code(listing, marks(path, objdump), image.code, image.is_traced)
