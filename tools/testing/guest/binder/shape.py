#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Checks the graph of one Binder transaction: `shape.py TRACE FUNCTIONS CLIENT MANAGER`.

TRACE is function_graph's with funcgraph-proc, FUNCTIONS lists what can be traced. What the compiler has inlined here is left out of
the chains below.
"""
import re
import sys

IOCTL = "rust_binder::rust_binder_ioctl"
WRITE = "<rust_binder::thread::Thread>::write"
TRANSACTION = "<rust_binder::thread::Thread>::transaction"
COPY = "<rust_binder::thread::Thread>::copy_transaction_data"
ALLOC = "<rust_binder::process::Process>::buffer_alloc"
DELIVER = "<rust_binder::transaction::Transaction~as~rust_binder::DeliverToRead>::do_work"

# Who calls whom, from the outermost on, and which of the two processes does. The transaction goes one way, the reply the other.
CLIENT = [
    [IOCTL, WRITE, TRANSACTION, "<rust_binder::process::Process>::get_transaction_node"],
    [IOCTL, WRITE, TRANSACTION, "<rust_binder::transaction::Transaction>::new", COPY, ALLOC],
    [IOCTL, WRITE, TRANSACTION, "<rust_binder::transaction::Transaction>::submit"],
    [IOCTL, DELIVER],
]
MANAGER = [
    [DELIVER],
    [IOCTL, WRITE, TRANSACTION, COPY, ALLOC],
    [IOCTL, WRITE, TRANSACTION, "<rust_binder::thread::Thread>::deliver_single_reply"],
]
LINE = re.compile(r"^ *\d+\) +\S+-(\d+) +\|[^|]*\|  ( *)(\S.*)$")


def calls(lines):
    """The chain of callers and callee of each call, by pid."""
    found, open_calls = {}, {}
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        pid, depth, text = int(match[1]), len(match[2]) // 2, match[3]
        stack = open_calls.setdefault(pid, [])
        if text.startswith("}"):
            del stack[depth:]
            continue
        name = re.sub(r"\(\)(;| \{).*$", "", text)
        if depth > len(stack):
            # Its callers were entered before.
            sys.exit(f"depth {depth} below {stack}: {line}")
        del stack[depth:]
        stack.append(name)
        found.setdefault(pid, []).append(list(stack))
    return found


def main(trace, functions, client, manager):
    with open(functions) as file:
        known = {line.split()[0] for line in file}
    with open(trace) as file:
        found = calls(file.read().splitlines())
    kept = 0
    for pid, chains in (client, CLIENT), (manager, MANAGER):
        for chain in chains:
            chain = [name for name in chain if name in known]
            kept += len(chain)
            if not any(is_part(chain, stack) for stack in found.get(int(pid), [])):
                sys.exit(f"{pid} has no {chain} in {found}")
    if kept < 15:
        sys.exit(f"only {kept} of the names are functions here")


def is_part(chain, stack):
    """Does the call end in the chain's last function, with the others above it in their order?"""
    if not chain:
        return True
    callers = iter(stack[:-1])
    return stack[-1] == chain[-1] and all(name in callers for name in chain[:-1])


if __name__ == "__main__":
    main(*sys.argv[1:])
