// SPDX-License-Identifier: GPL-2.0

//! The types that `events/ftrace/` shows.

use super::*;

/// The types in the order of `events/ftrace/`. It does not show the others.
const LISTED: [u16; 19] = [
    Function::NUMBER,
    FuncgraphEntry::NUMBER,
    FuncgraphRetaddrEntry::NUMBER,
    FuncgraphExit::NUMBER,
    ContextSwitch::NUMBER,
    Wakeup::NUMBER,
    KernelStack::NUMBER,
    UserStack::NUMBER,
    Bprint::NUMBER,
    Print::NUMBER,
    RawData::NUMBER,
    Bputs::NUMBER,
    mmio::MmioRw::NUMBER,
    mmio::MmioMap::NUMBER,
    Branch::NUMBER,
    Hwlat::NUMBER,
    FuncRepeats::NUMBER,
    Osnoise::NUMBER,
    Timerlat::NUMBER,
];

/// The types that `events/ftrace/` shows, in its order. As in C, some are there that this kernel
/// cannot record.
pub fn listed() -> impl Iterator<Item = &'static Row> {
    let rows = LISTED.iter().filter_map(|id| Row::find(*id));
    rows.filter(|row| row.offered)
}

const _: () = {
    let mut i = 0;
    while i < TABLE.len() {
        // Tracer `blk` has no file there.
        let mut is_listed = TABLE[i].id == 14;
        let mut j = 0;
        while j < LISTED.len() {
            is_listed |= LISTED[j] == TABLE[i].id;
            j += 1;
        }
        assert!(is_listed, "a type that `LISTED` leaves out");
        i += 1;
    }
};
