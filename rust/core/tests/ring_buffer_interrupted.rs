// SPDX-License-Identifier: GPL-2.0

//! Writers and readers interrupted before each of their accesses, by every deeper context, up to
//! four deep.
//!
//! With `RTRACE_TEST_ALL=1` two interrupts come at all pairs of points of all pairs of operations.
//! Otherwise at a part of them, which is the same in each run.

#![cfg(not(loom))]

#[path = "ring_buffer/machine.rs"]
mod machine;
#[path = "ring_buffer/memory.rs"]
mod memory;

use machine::{interrupt_everywhere, interrupt_twice, Machine, Op};
use rtrace_core::ring_buffer::Context;

const DEEPER: [Context; 4] = [
    Context::NORMAL,
    Context::SOFTIRQ,
    Context::IRQ,
    Context::NMI,
];
/// Interrupts whose context word bit is still that of the one they interrupt.
const LATE: [[Context; 4]; 4] = [
    [Context::IRQ, Context::IRQ, Context::NMI, Context::NMI],
    [Context::NORMAL, Context::IRQ, Context::IRQ, Context::NMI],
    [
        Context::NORMAL,
        Context::NORMAL,
        Context::SOFTIRQ,
        Context::SOFTIRQ,
    ],
    [Context::SOFTIRQ, Context::NMI, Context::NMI, Context::NMI],
];

/// Room for records on a sub-buffer: 48 bytes, three events of 16.
const SIZE: u32 = 64;

const OPS: [Op; 9] = [
    Op::Plain,
    Op::Write {
        count: 1,
        length: 8,
    },
    Op::Write {
        count: 1,
        length: 30,
    },
    Op::Write {
        count: 12,
        length: 12,
    },
    Op::Discard { length: 8 },
    Op::Nest { length: 8 },
    Op::Wait {
        time: 1 << 28,
        length: 4,
    },
    Op::Consume { count: 4 },
    Op::Iterate,
];

/// Numbers of events before the first operation, overwriting, and ticks of the clock at a reading.
const SETTINGS: [(usize, bool, u64); 5] = [
    (1, true, 1),
    (3, true, 0),
    (8, false, 1),
    (2, true, 0),
    (3, true, 1),
];

fn machine(
    (prepared, overwrite, tick): (usize, bool, u64),
    contexts: [Context; 4],
    ops: [Op; 4],
) -> Machine {
    let machine = Machine::new(2, SIZE, tick, contexts, ops);
    machine.memory.buffer().set_overwrite(overwrite);
    machine.prepare(prepared, 8);
    machine
}

/// Two readers are kept apart by a lock.
fn both_read(ops: &[Op]) -> bool {
    ops.iter().filter(|op| op.reads()).count() > 1
}

/// Runs `case` for all threes of operations that do not read twice, each with one of the
/// [`SETTINGS`].
fn threes(mut case: impl FnMut([Op; 4], (usize, bool, u64))) {
    let mut settings = SETTINGS.into_iter().cycle();
    for outer in OPS {
        for middle in OPS {
            for inner in OPS {
                let setting = settings.next().expect("a cycle");
                if !both_read(&[outer, middle, inner]) {
                    case([outer, middle, inner, inner], setting);
                }
            }
        }
    }
}

/// How many of the points are left out for each one that is taken, where two interrupts meet.
fn stride() -> usize {
    match std::env::var_os("RTRACE_TEST_ALL") {
        Some(_) => 1,
        None => 7,
    }
}

/// Everything interrupted by everything, wherever the sub-buffer's end is.
#[test]
fn one_interrupt() {
    let mut ways = 0;
    for outer in OPS {
        for inner in OPS {
            if both_read(&[outer, inner]) {
                continue;
            }
            for prepared in 0..10 {
                for (overwrite, tick) in [(true, 1), (true, 0), (false, 1)] {
                    let ops = [outer, inner, inner, inner];
                    ways += interrupt_everywhere(1, 1, || {
                        machine((prepared, overwrite, tick), DEEPER, ops)
                    });
                }
            }
        }
    }
    assert!(ways > 100_000, "{ways} ways");
}

/// The context word of an interrupt still says that the interrupted context runs.
#[test]
fn one_late_interrupt() {
    for outer in OPS {
        for inner in OPS {
            if both_read(&[outer, inner]) {
                continue;
            }
            for prepared in 0..10 {
                let ops = [outer, inner, inner, inner];
                interrupt_everywhere(1, 1, || machine((prepared, true, 1), LATE[0], ops));
            }
        }
    }
}

/// Of two interrupts, one inside the other, one is late.
#[test]
fn two_late_interrupts() {
    let mut contexts = LATE.into_iter().cycle();
    threes(|ops, setting| {
        let contexts = contexts.next().expect("a cycle");
        interrupt_everywhere(2, stride(), || machine(setting, contexts, ops));
    });
}

/// Two interrupts, one inside the other.
#[test]
fn two_interrupts() {
    threes(|ops, setting| {
        interrupt_everywhere(2, stride(), || machine(setting, DEEPER, ops));
    });
}

/// Two interrupts, one after the other.
#[test]
fn two_interrupts_in_turn() {
    threes(|ops, setting| interrupt_twice(stride(), || machine(setting, DEEPER, ops)));
}

/// The position that a writer has read comes back: one that interrupts it before its context is
/// entered goes round the ring, and one behind that goes on to the very same position.
#[test]
fn a_position_that_comes_back() {
    let write = |count| Op::Write { count, length: 8 };
    for outer in [Op::Plain, write(1)] {
        for (first, second) in (1..10).flat_map(|first| (1..10).map(move |second| (first, second)))
        {
            for setting in [
                (0, true, 0),
                (0, true, 1),
                (1, true, 0),
                (1, true, 1),
                (2, true, 0),
                (2, true, 1),
            ] {
                let ops = [outer, write(first), write(second), write(1)];
                interrupt_twice(1, || machine(setting, DEEPER, ops));
            }
        }
    }
}

/// Four contexts at once, at the end of a sub-buffer.
#[test]
fn three_interrupts() {
    let write = Op::Write {
        count: 1,
        length: 8,
    };
    let discard = Op::Discard { length: 8 };
    let wait = Op::Wait {
        time: 1 << 28,
        length: 4,
    };
    for ops in [
        [write, write, write, write],
        [write, discard, write, discard],
        [discard, write, wait, write],
    ] {
        for prepared in [2, 3] {
            let setting = (prepared, true, prepared as u64 - 2);
            interrupt_everywhere(3, 1, || machine(setting, DEEPER, ops));
        }
    }
}

/// The [`OPS`] that write.
fn writes() -> impl Iterator<Item = Op> {
    OPS.into_iter().filter(|op| !op.reads())
}

/// A reader of whole pages and everything that writes interrupt each other, wherever the sub-buffer's
/// end is. Then two of three are writers: the reader is the outermost, the middle or the innermost.
fn pages(reader: Op, machine: impl Fn((usize, bool, u64), [Context; 4], [Op; 4]) -> Machine) {
    let mut ways = 0;
    for write in writes() {
        for ops in [[reader, write, write, write], [write, reader, write, write]] {
            for prepared in 0..10 {
                for (overwrite, tick) in [(true, 1), (true, 0), (false, 1)] {
                    ways += interrupt_everywhere(1, 1, || {
                        machine((prepared, overwrite, tick), DEEPER, ops)
                    });
                }
            }
        }
    }
    assert!(ways > 3_000, "{ways} ways");
    let mut settings = SETTINGS.into_iter().cycle();
    for (first, second) in writes().flat_map(|first| writes().map(move |second| (first, second))) {
        for ops in [
            [reader, first, second, second],
            [first, reader, second, second],
            [first, second, reader, reader],
        ] {
            let setting = settings.next().expect("a cycle");
            interrupt_everywhere(2, stride(), || machine(setting, DEEPER, ops));
            interrupt_everywhere(2, stride(), || machine(setting, LATE[0], ops));
        }
    }
}

#[test]
fn pages_that_are_swapped_out() {
    pages(Op::Swap, machine);
}

/// Whole pages, of two events at most, and of full sub-buffers alone.
#[test]
fn pages_that_are_copied() {
    for (length, full) in [(SIZE as usize, false), (48, false), (SIZE as usize, true)] {
        pages(Op::Copy { length, full }, machine);
    }
}

#[test]
fn pages_that_are_mapped() {
    pages(
        Op::Show { count: 2 },
        |(prepared, overwrite, tick), contexts, ops| {
            let machine = Machine::new(2, SIZE, tick, contexts, ops);
            machine.memory.buffer().set_overwrite(overwrite);
            machine.map();
            machine.prepare(prepared, 8);
            machine
        },
    );
}
