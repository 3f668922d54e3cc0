// SPDX-License-Identifier: GPL-2.0

//! [`Joined`]: the filters of several triggers as one program.

use crate::core::event::filter::program::{matches_plain, part_of_any, PlainStep};
use kernel::prelude::*;

/// The steps of plain filters, so that an entry passes if any of them passes it. Empty if that cannot
/// be told so.
pub(super) struct Joined(KVec<PlainStep>);

impl Joined {
    /// Joins the filters with these steps. One without steps, as it is not plain or no filter at all,
    /// makes the whole empty. Task context. `ENOMEM`.
    pub(super) fn new<'a>(filters: impl ExactSizeIterator<Item = &'a [PlainStep]>) -> Result<Self> {
        let mut joined = KVec::new();
        let count = filters.len();
        for (at, steps) in filters.enumerate() {
            let is_last = at.wrapping_add(1) == count;
            let part = part_of_any(steps, joined.len(), is_last);
            let Some(part) = part.filter(|_| !steps.is_empty()) else {
                return Ok(Self(KVec::new()));
            };
            for step in part {
                joined.push(step, GFP_KERNEL)?;
            }
        }
        Ok(Self(joined))
    }

    /// Whether all filters reject `entry`, whose common fields need not be set. False if that cannot
    /// be told. Any context.
    #[inline(always)]
    pub(super) fn reject(&self, entry: &[u8]) -> bool {
        !self.0.is_empty() && !matches_plain(&self.0, entry)
    }
}
