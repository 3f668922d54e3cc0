// SPDX-License-Identifier: GPL-2.0

//! An event that ends as soon as somebody wants its entries: while the module is loaded, which waits
//! for that, or for ten seconds.

use kernel::prelude::*;
use kernel::time::{delay::fsleep, Delta};
use rtrace::event::Event;

module! {
    type: Ends,
    name: "rtrace_event_ends",
    authors: ["The rtrace authors"],
    description: "An event that ends while it is used",
    license: "GPL",
}

rtrace::event! {
    /// Never recorded.
    struct Short = rtrace_check:short { a: u8 }
    print("{a}")
}

struct Ends;

impl kernel::Module for Ends {
    fn init(module: &'static ThisModule) -> Result<Self> {
        let short = Event::<Short>::new(module)?;
        for _ in 0..1000 {
            if short.is_wanted() {
                return Ok(Self);
            }
            fsleep(Delta::from_millis(10));
        }
        Err(ETIMEDOUT)
    }
}
