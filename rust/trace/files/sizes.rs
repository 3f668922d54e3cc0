// SPDX-License-Identifier: GPL-2.0

//! The buffer's size in KiB: `buffer_size_kb` for one CPU or all, `buffer_total_size_kb`.

use super::{
    control::{errno, shown, Control, Limit, Text},
    Place,
};
use crate::rcore::text::number;
use kernel::prelude::*;

/// `buffer_size_kb`, at the top for all CPUs, below `per_cpu/` for one.
pub(super) struct BufferSize;

impl Control for BufferSize {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(at.instance.buffer().size(at.cpu).write(out))
    }

    /// `EINVAL` for 0, `ENOMEM`.
    fn store(&self, at: &Place, line: &[u8]) -> Result {
        let kb = number::unsigned(line, 10).map_err(errno)?;
        if kb == 0 {
            return Err(EINVAL);
        }
        let bytes = kb.checked_mul(1024).and_then(|bytes| usize::try_from(bytes).ok());
        at.instance.resize(at.cpu, bytes.ok_or(ENOMEM)?)
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }
}

/// `buffer_total_size_kb`: the sum over all CPUs.
pub(super) struct BufferTotalSize;

impl Control for BufferTotalSize {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(at.instance.buffer().total_size().write(out))
    }
}
