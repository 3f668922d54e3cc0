// SPDX-License-Identifier: GPL-2.0

//! Any symbol: what is shown of it is one word, and not too long.

use rtrace_core::format::rust_name::{self, Room};
use rtrace_core::parse::command::split_pattern;

pub fn run(bytes: &[u8]) {
    let mut symbol = Vec::from(*b"_R");
    symbol.extend_from_slice(bytes);
    for symbol in [bytes, &symbol] {
        let mut room = Room::new();
        let Some(shown) = rust_name::shown(symbol, &mut room) else {
            continue;
        };
        assert!(rust_name::is_mangled(symbol));
        assert!(!shown.is_empty() && shown.len() <= rust_name::LONGEST);
        assert!(shown.iter().all(u8::is_ascii_graphic));
        // No colon ends it early.
        assert_eq!(split_pattern(shown), (shown, None));
    }
}
