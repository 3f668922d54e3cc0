// SPDX-License-Identifier: GPL-2.0

#![no_main]

#[path = "../../tests/fuzz/synth.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::run(bytes));
