// SPDX-License-Identifier: GPL-2.0

//! Any bytes whatever: no panic, and what the pass has written it can read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recordmcount::{annotate, list, prune_image, prune_module};

fuzz_target!(|data: &[u8]| {
    for entries in [false, true] {
        if let Ok(Some((new, sites))) = annotate(data, entries) {
            assert!(sites > 0);
            assert!(new.len() > 64);
            let _ = annotate(&new, entries);
            let _ = list(&new[..]);
            let _ = prune_module(&new);
        }
    }
    let _ = prune_module(data);
    if let Ok(patch) = prune_image(data) {
        let end = patch.offset + patch.bytes.len() as u64;
        assert!(end <= data.len() as u64);
    }
    let _ = list(data);
});
