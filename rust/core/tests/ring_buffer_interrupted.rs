// SPDX-License-Identifier: GPL-2.0

//! Writers interrupted at every step, by every deeper context, up to four deep.

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
/// An interrupt whose context word bit is still that of the one it interrupts.
const LATE: [Context; 4] = [Context::IRQ, Context::IRQ, Context::NMI, Context::NMI];

/// Room for records on a sub-buffer: 48 bytes, three events of 16.
const SIZE: u32 = 64;

const OPS: [Op; 8] = [
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
    Op::Wait {
        time: 1 << 28,
        length: 4,
    },
    Op::Consume { count: 4 },
    Op::Iterate,
];

fn machine(
    prepared: usize,
    overwrite: bool,
    tick: u64,
    contexts: [Context; 4],
    ops: [Op; 4],
) -> Machine {
    let machine = Machine::new(2, SIZE, tick, contexts, ops);
    machine.memory.buffer().set_overwrite(overwrite);
    machine.prepare(prepared, 8);
    machine
}

fn is_write(op: &Op) -> bool {
    !matches!(op, Op::Consume { .. } | Op::Iterate)
}

/// Every writer interrupted by everything, wherever the sub-buffer's end is.
#[test]
fn one_interrupt() {
    let mut ways = 0;
    for outer in OPS.into_iter().filter(is_write) {
        for inner in OPS {
            for prepared in 0..10 {
                for (overwrite, tick) in [(true, 1), (true, 0), (false, 1)] {
                    let ops = [outer, inner, inner, inner];
                    ways +=
                        interrupt_everywhere(1, || machine(prepared, overwrite, tick, DEEPER, ops));
                }
            }
        }
    }
    assert!(ways > 20_000, "{ways} ways");
}

/// The context word of the interrupt still says that the interrupted context runs.
#[test]
fn one_late_interrupt() {
    for outer in OPS.into_iter().filter(is_write) {
        for inner in OPS {
            for prepared in [0, 2, 3, 6] {
                let ops = [outer, inner, inner, inner];
                interrupt_everywhere(1, || machine(prepared, true, 1, LATE, ops));
            }
        }
    }
}

/// Two interrupts, one inside the other.
#[test]
fn two_interrupts() {
    let mut settings = [
        (1, true, 1),
        (3, true, 0),
        (8, false, 1),
        (2, true, 0),
        (3, true, 1),
    ]
    .into_iter()
    .cycle();
    for outer in OPS.into_iter().filter(is_write) {
        for middle in OPS.into_iter().filter(is_write) {
            for inner in OPS {
                let ops = [outer, middle, inner, inner];
                let (prepared, overwrite, tick) = settings.next().expect("a cycle");
                interrupt_everywhere(2, || machine(prepared, overwrite, tick, DEEPER, ops));
            }
        }
    }
}

/// Two interrupts, one after the other.
#[test]
fn two_interrupts_in_turn() {
    let mut settings = [
        (1, true, 1),
        (3, true, 0),
        (8, false, 1),
        (2, true, 0),
        (3, true, 1),
    ]
    .into_iter()
    .cycle();
    for outer in OPS.into_iter().filter(is_write) {
        for first in OPS {
            for second in OPS {
                let ops = [outer, first, second, second];
                let (prepared, overwrite, tick) = settings.next().expect("a cycle");
                interrupt_twice(|| machine(prepared, overwrite, tick, DEEPER, ops));
            }
        }
    }
}

/// The position that a writer has read comes back: one that interrupts it before its context is
/// entered goes round the ring, and one behind that goes on to the very same position.
#[test]
fn a_position_that_comes_back() {
    let write = |count| Op::Write { count, length: 8 };
    for outer in [Op::Plain, write(1)] {
        for (first, second) in (1..10).flat_map(|first| (1..10).map(move |second| (first, second)))
        {
            for (prepared, tick) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
                let ops = [outer, write(first), write(second), write(1)];
                interrupt_twice(|| machine(prepared, true, tick, DEEPER, ops));
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
    for (a, b, c, d) in [
        (write, write, write, write),
        (
            write,
            Op::Discard { length: 8 },
            write,
            Op::Discard { length: 8 },
        ),
        (
            Op::Discard { length: 8 },
            write,
            Op::Wait {
                time: 1 << 28,
                length: 4,
            },
            write,
        ),
    ] {
        for prepared in [2, 3] {
            interrupt_everywhere(3, || {
                machine(prepared, true, prepared as u64 - 2, DEEPER, [a, b, c, d])
            });
        }
    }
}
