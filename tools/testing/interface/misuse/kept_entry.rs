// SPDX-License-Identifier: GPL-2.0

//! An entry that was read is there until the next is read.

use rtrace::instance::Reader;

/// Compares two in a row.
pub fn same(reader: &mut Reader) -> bool {
    let first = reader.consume().ok().flatten();
    let second = reader.consume().ok().flatten();
    first.zip(second).is_some_and(|(a, b)| a.bytes == b.bytes)
}
