// SPDX-License-Identifier: GPL-2.0

//! `trace_printk()` and `trace_puts()`: texts of the kernel's own in the top instance, as print entries.
//!
//! Any context.

use super::entry::kind;
use super::instances;
use crate::kapi::nested::Nested;
use kernel::prelude::*;
use kernel::sync::SetOnce;

/// The longest text that is formatted, with its NUL.
const LONGEST: usize = 1024;

static SCRATCH: SetOnce<Nested<[u8; LONGEST]>> = SetOnce::new();

/// Makes the memory that formatting needs. Once, at boot. `ENOMEM`.
pub(crate) fn init() -> Result {
    SCRATCH.populate(Nested::new([0; LONGEST])?);
    Ok(())
}

/// Gives `f` memory to format in; 0 when there is none.
pub(crate) fn with_scratch(f: impl FnOnce(&mut [u8]) -> i32) -> i32 {
    SCRATCH.as_ref().and_then(|scratch| scratch.with(|piece| f(piece))).unwrap_or(0)
}

/// Records `text`, said at `ip`; gives its length, 0 if it was not recorded.
pub(crate) fn print(ip: usize, text: &[u8]) -> i32 {
    record(ip, &[&ip.to_ne_bytes(), text, b"\0"], text.len())
}

/// [`print`] that ends the line if `text` does not.
pub(crate) fn puts(ip: usize, text: &[u8]) -> i32 {
    match text.last() {
        Some(b'\n') => print(ip, text),
        _ => record(ip, &[&ip.to_ne_bytes(), text, b"\n\0"], text.len()),
    }
}

fn record(ip: usize, parts: &[&[u8]], length: usize) -> i32 {
    let recorded = instances::with_printk_dest(|dest| dest.record_event(kind::PRINT, ip, parts)).flatten();
    recorded.map_or(0, |()| length.try_into().unwrap_or(i32::MAX))
}
