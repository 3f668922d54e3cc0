#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Operations on tracefs made from grammars, good ones and nearly good ones; in the guest.

operations.py SEED COUNT [GRAMMAR,GRAMMAR…] [ROUND] does COUNT rounds of each grammar, and prints what each operation returns,
the new records of error_log, and the files that the round watches where they have changed. After a round everything goes back
to where it was; what is not there again is printed, too. The same seed gives the same rounds, so two kernels can be compared.
Lines begin with `exact `: compare/run leaves their numbers alone. What the grammars leave out, each says itself (grammars/).
"""
import os
import sys

import state
from control import read
from grammars import GRAMMARS
from round import Round, brief, visible
from texts import Texts


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    names = sys.argv[3].split(",") if len(sys.argv) > 3 and sys.argv[3] != "all" else GRAMMARS
    only = set(map(int, sys.argv[4].split(","))) if len(sys.argv) > 4 else range(count)
    os.chdir("/")
    state.prepare()
    base = state.snapshot()
    for name in names:
        print(f"== {name}, seed {seed} ==")
        for number in range(count):
            if number not in only:
                continue
            round_ = Round(Texts(f"{seed} {name} {number}"), name, number)
            GRAMMARS[name](round_)
            round_.count += 1
            for file in state.restore(base):
                round_.tell(f"  left behind in {file}: {brief(chr(10).join(sorted(visible(read(file)).splitlines())))}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
