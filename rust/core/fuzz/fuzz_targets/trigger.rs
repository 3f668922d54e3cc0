// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a trigger: it is taken apart or refused, and what is taken lies in the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rtrace_core::event::trigger::Command;

fuzz_target!(|bytes: &[u8]| {
    let command = Command::parse(bytes);
    let params = command.optional();
    let _ = params.count();
    if let Ok(Some(filter)) = params.filter() {
        assert!(filter.len() <= bytes.len());
    }
    if let Ok(target) = command.target() {
        assert!(target.system.len() + target.event.len() < bytes.len());
        let _ = (target.params.count(), target.params.filter());
    }
});
