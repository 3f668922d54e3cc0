// SPDX-License-Identifier: GPL-2.0

//! What one hit of an event costs that Rust code declares. Loading it hits the events in a loop, and the
//! log has the nanoseconds, which are instructions in a guest that counts those: of an event that is
//! enabled when it is made (`rtrace_cost:numbers:mod:rtrace_event_cost` in `set_event`), or of one
//! that nobody wants.

use core::hint::black_box;
use kernel::prelude::*;
use rtrace::event::Event;

module! {
    type: Cost,
    name: "rtrace_event_cost",
    authors: ["The rtrace authors"],
    description: "What a hit of an event in Rust costs",
    license: "GPL",
}

rtrace::event! {
    /// As `preemptirq:irq_disable`, which the generated code of C records.
    struct Numbers = rtrace_cost:numbers {
        caller: i32,
        parent: i32,
    }
    print("{caller} {parent}")
}

rtrace::event! {
    /// With a text.
    struct Text<'a> = rtrace_cost:text {
        number: u64,
        text: &'a str,
    }
    print("{number} {text}")
}

/// Nanoseconds of one call of `hit`: the least of some rounds.
fn price(hit: impl Fn(u32)) -> u64 {
    const CALLS: u32 = 20_000;
    let round = |hit: &dyn Fn()| {
        let start = rtrace::now();
        hit();
        rtrace::now().saturating_sub(start)
    };
    let rounds = (0..5).map(|_| {
        let with = round(&|| (0..CALLS).for_each(|number| hit(black_box(number))));
        let without = round(&|| {
            (0..CALLS).for_each(|number| {
                black_box(number);
            });
        });
        with.saturating_sub(without)
    });
    rounds.min().unwrap_or(0).div_ceil(CALLS.into())
}

struct Cost;

impl kernel::Module for Cost {
    fn init(module: &'static ThisModule) -> Result<Self> {
        let numbers = Event::<Numbers>::new(module)?;
        let text = Event::<Text<'_>>::new(module)?;
        let state = |is_wanted| if is_wanted { "" } else { "_off" };
        let cost = price(|number| {
            numbers.record(|| Numbers {
                caller: number as i32,
                parent: 1,
            });
        });
        pr_info!("event_rust{} {}\n", state(numbers.is_wanted()), cost);
        let cost = price(|number| {
            text.record(|| Text {
                number: number.into(),
                text: "a text of 20 letters",
            });
        });
        pr_info!("event_rust_text{} {}\n", state(text.is_wanted()), cost);
        Ok(Self)
    }
}
