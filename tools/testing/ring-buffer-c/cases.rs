// SPDX-License-Identifier: GPL-2.0

//! The cases: each makes a sequence of operations of random numbers.

use crate::both::{Both, Iters, Writing};
use crate::random::Random;

/// Sequences of a case, if `CASES` does not say it.
const CASES: u64 = 4000;

/// Runs the sequences `SEED`, `SEED` + 1, … of a case, `CASES` of them.
pub fn run(name: &str, case: impl Fn(&mut Random)) {
    let number = |variable, default| match std::env::var(variable) {
        Ok(text) => text.parse().expect("SEED and CASES are numbers"),
        Err(_) => default,
    };
    let first = number("SEED", 1);
    for seed in first..first + number("CASES", CASES) {
        let _named = Named { name, seed };
        case(&mut Random::new(seed));
    }
}

/// Says how a sequence that fails can be run again.
struct Named<'a> {
    name: &'a str,
    seed: u64,
}

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { name, seed } = self;
            println!("again: SEED={seed} CASES=1 tools/testing/ring-buffer-c/host {name}");
        }
    }
}

/// Small buffers, also full ones, and all ways to read.
pub fn plain(random: &mut Random) {
    let slots = 2 + random.below(4) as u32;
    let both = Both::new(slots, random.below(2) as u32, random.one_in(2));
    let absolute = random.one_in(3);
    let reads = random.one_in(2);
    let peeks = reads && random.one_in(3);
    for _ in 0..random.below(120) {
        match random.below(40) {
            0..=21 => both.write(random),
            22..=26 if reads => both.consume_some(random),
            27 if peeks => both.peek(),
            28..=30 => both.iterate(),
            31..=35 if reads => both.read_page(random.one_in(2)),
            36 => both.set_overwrite(random.one_in(2)),
            37 if absolute => both.set_absolute_stamps(random.one_in(2)),
            38 if random.one_in(4) => both.reset(),
            _ => {}
        }
        both.check_counts();
    }
    both.iterate();
    both.consume_all();
    both.check_counts();
}

/// Events in events, and discarded ones, in a buffer with room for all.
fn roomy(random: &mut Random, writing: Writing) {
    let both = Both::new(150, random.below(2) as u32, random.one_in(2));
    if random.one_in(5) {
        both.set_absolute_stamps(true);
    }
    for _ in 0..random.below(40) {
        match random.below(30) {
            0..=20 => {
                let level = if random.one_in(3) {
                    random.below(4) as u32
                } else {
                    0
                };
                both.write_at(random, level, writing);
            }
            21..=24 => both.consume_some(random),
            25 => both.iterate(),
            26 => both.consume_pages(),
            _ => {}
        }
        both.check_counts();
    }
    both.iterate();
    if random.one_in(2) {
        both.consume_all();
    } else {
        both.consume_pages();
    }
    both.check_counts();
}

pub fn nested(random: &mut Random) {
    let (nested, discarded) = (2, 0);
    roomy(random, Writing { nested, discarded });
}

pub fn discards(random: &mut Random) {
    let (nested, discarded) = (0, 3);
    roomy(random, Writing { nested, discarded });
}

pub fn nested_discards(random: &mut Random) {
    let (nested, discarded) = (2, 3);
    roomy(random, Writing { nested, discarded });
}

pub fn resizes(random: &mut Random) {
    let slots = 2 + random.below(6) as u32;
    let mut both = Both::new(slots, random.below(2) as u32, random.one_in(2));
    let reads = random.below(3);
    for _ in 0..random.below(120) {
        match random.below(40) {
            0..=25 => both.write(random),
            26..=28 if reads > 0 => both.consume_some(random),
            29 => both.iterate(),
            30..=31 if reads > 1 => both.read_page(random.one_in(2)),
            36 => both.set_overwrite(random.one_in(2)),
            37 | 38 => both.resize(2 + random.below(8) as u32),
            _ => {}
        }
        both.check_counts();
    }
    both.iterate();
    both.consume_all();
    both.check_counts();
}

/// Writers that are interrupted where they read the clock.
pub fn interrupted(random: &mut Random) {
    let both = Both::new(100, random.below(2) as u32, true);
    if random.one_in(5) {
        both.set_absolute_stamps(true);
    }
    for _ in 0..random.below(40) {
        match random.below(12) {
            0..=7 => both.write_interrupted(random),
            8 | 9 => both.consume_some(random),
            10 => both.iterate(),
            _ => both.consume_pages(),
        }
        both.check_counts();
    }
    both.iterate();
    if random.one_in(2) {
        both.consume_all();
    } else {
        both.consume_pages();
    }
}

/// A mapping, which shows each event once it is committed.
pub fn mapped(random: &mut Random) {
    let slots = 2 + random.below(6) as u32;
    let mut both = Both::new(slots, random.below(2) as u32, random.one_in(2));
    for _ in 0..random.below(20) {
        both.write(random);
    }
    let consumes = random.one_in(2);
    if consumes {
        both.consume_some(random);
    }
    both.map();
    for _ in 0..random.below(120) {
        match random.below(40) {
            0..=25 => both.write(random),
            26 | 27 if consumes => both.consume_some(random),
            28 if consumes => both.read_page(random.one_in(2)),
            29 => both.iterate(),
            30..=34 => both.next_mapped(),
            36 => both.set_overwrite(random.one_in(2)),
            37 if random.one_in(4) => both.reset(),
            _ => {}
        }
        both.check_counts();
    }
    both.iterate();
    both.unmap();
    both.consume_all();
    both.check_counts();
}

/// Clocks with large numbers, of which an absolute time holds the lower 59 bits.
pub fn clocks(random: &mut Random) {
    let both = Both::new(60, random.below(2) as u32, true);
    both.set_time(match random.below(4) {
        0 => 1000,
        1 => (1 << 59) + 10_000,
        2 => 1_700_000_000_000_000_000,
        _ => u64::MAX - (1 << 44),
    });
    let absolute = random.one_in(3);
    if absolute && random.one_in(2) {
        both.set_absolute_stamps(true);
    }
    for _ in 0..random.below(60) {
        match random.below(30) {
            0..=20 => {
                if random.one_in(10) {
                    both.advance(random.below(1 << 36));
                }
                both.write(random);
            }
            21..=24 => both.consume_some(random),
            25 => both.iterate(),
            26 => both.consume_pages(),
            27 if absolute => both.set_absolute_stamps(random.one_in(2)),
            _ => {}
        }
        both.check_counts();
    }
    both.iterate();
    if random.one_in(2) {
        both.consume_all();
    } else {
        both.consume_pages();
    }
    both.check_counts();
}

/// Iterators that go on while events are written and consumed.
pub fn iterators(random: &mut Random) {
    let slots = 2 + random.below(4) as u32;
    let both = Both::new(slots, random.below(2) as u32, true);
    let mut iters = Iters::new(&both);
    let consumes = random.one_in(2);
    for _ in 0..random.below(80) {
        match random.below(20) {
            0..=9 => both.write_numbered(random),
            10..=12 if consumes => iters.consume_some(random),
            13 if random.one_in(4) => iters.reset(),
            14..=16 => iters.pass(random.below(6)),
            17 => iters.rest(),
            _ => {}
        }
        both.check_counts();
    }
    iters.rest();
    both.consume_all();
}

/// Events inside a task's event, more than have room.
pub fn full_of_unfinished_events(random: &mut Random) {
    let slots = 2 + random.below(6) as u32;
    let overwrite = random.one_in(2);
    let both = Both::new(slots, random.below(2) as u32, overwrite);
    both.overfill(random.below(8), random.one_in(2));
}
