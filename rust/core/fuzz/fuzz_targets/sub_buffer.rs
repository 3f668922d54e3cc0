// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a sub-buffer: the parser ends, stays inside, and goes forward.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rtrace_core::ring_buffer::parse::Page;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(page) = Page::parse(bytes) {
        let mut total = 0;
        for event in page.events() {
            if let Ok((_, payload)) = event {
                total += 4 + payload.len();
            }
        }
        assert!(total <= page.records.len());
    }
});
