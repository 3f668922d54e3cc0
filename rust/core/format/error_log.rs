// SPDX-License-Identifier: GPL-2.0

//! `error_log`: the commands that parsers have refused, with a caret under the error.

use super::Out;
use core::fmt;

/// The number of records in the log.
pub const RECORDS: usize = 8;

/// The most bytes of a location and the text around it.
const LOCATION_MAX: usize = 127;

/// One refused command.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The time, in nanoseconds of the local clock.
    pub ts: u64,
    /// The parser: `event filter parse error`, `trace_kprobe`, `hist:SYS:EV`, …
    pub location: &'a [u8],
    /// The error text.
    pub message: &'a str,
    /// The command.
    pub command: &'a [u8],
    /// The position of the error, in bytes from the start of the command.
    pub position: u16,
}

impl Record<'_> {
    /// Writes the three lines of the record.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write(&self, out: &mut dyn Out) -> fmt::Result {
        const AFTER: &[u8] = b": error: ";
        const COMMAND: &[u8] = b"  Command: ";

        let micros = self.ts % 1_000_000_000 / 1000;
        write!(out, "[{:5}.{micros:06}] ", self.ts / 1_000_000_000)?;
        let location = self.location.get(..LOCATION_MAX).unwrap_or(self.location);
        out.bytes(location)?;
        out.bytes(
            AFTER
                .get(..LOCATION_MAX.saturating_sub(location.len()))
                .unwrap_or(AFTER),
        )?;
        out.write_str(self.message)?;
        out.bytes(b"\n")?;
        out.bytes(COMMAND)?;
        out.bytes(self.command)?;
        out.bytes(b"\n")?;
        out.fill(b' ', COMMAND.len().saturating_add(self.position.into()))?;
        out.bytes(b"^\n")
    }
}

/// The newest `N` pushed items.
///
/// The log keeps [`RECORDS`] items of a type that owns a record's text. The caller provides the
/// lock.
pub struct Newest<T, const N: usize> {
    slots: [Option<T>; N],
    /// The slot of the next item. The oldest item is there or, while the log is not full, in slot
    /// 0.
    next: usize,
}

impl<T, const N: usize> Newest<T, N> {
    /// An empty log.
    pub const fn new() -> Self {
        Self {
            slots: [const { None }; N],
            next: 0,
        }
    }

    /// Adds `item`. Returns the replaced item, so that the caller can free it outside a lock.
    pub fn push(&mut self, item: T) -> Option<T> {
        let slot = self.slots.get_mut(self.next)?;
        self.next = if self.next.wrapping_add(1) < N {
            self.next.wrapping_add(1)
        } else {
            0
        };
        slot.replace(item)
    }

    /// Removes all items, in no special order.
    pub fn clear(&mut self) -> [Option<T>; N] {
        self.next = 0;
        core::mem::replace(&mut self.slots, [const { None }; N])
    }

    /// The items, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (newer, older) = self
            .slots
            .split_at_checked(self.next)
            .unwrap_or((&self.slots, &[]));
        older.iter().chain(newer).flatten()
    }
}

impl<T, const N: usize> Default for Newest<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::text;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn carets() {
        let command = b"foo == bar";
        let record = Record {
            ts: 12_345_678_999,
            location: b"event filter parse error",
            message: "Field not found",
            command,
            position: 4,
        };
        assert_eq!(
            text(|out| record.write(out)),
            "[   12.345678] event filter parse error: error: Field not found\n  Command: foo == bar\n               ^\n"
        );
        let long = Record {
            location: &[b'x'; 200],
            ..record
        };
        assert!(text(|out| long.write(out)).contains("xField"));
        let edge = Record {
            location: &[b'x'; 125],
            ..record
        };
        assert!(text(|out| edge.write(out)).contains("x: Field"));
    }

    #[test]
    fn the_newest_stay() {
        let mut log = Newest::<u32, 3>::new();
        let list = |log: &Newest<u32, 3>| log.iter().copied().collect::<Vec<_>>();
        assert_eq!((log.push(1), log.push(2)), (None, None));
        assert_eq!(list(&log), [1, 2]);
        assert_eq!(
            (log.push(3), log.push(4), log.push(5)),
            (None, Some(1), Some(2))
        );
        assert_eq!(list(&log), [3, 4, 5]);
        log.clear();
        assert!(list(&log).is_empty());
        log.push(6);
        assert_eq!(list(&log), [6]);
    }
}
