// SPDX-License-Identifier: GPL-2.0

//! Files of instances whose buffer outlives the kernel: `last_boot_info`, and `buffer_meta` of each
//! CPU.

use super::listing::{self, Lines};
use super::{Node, Place};
use crate::core::format::Out;
use crate::kernel::fs::pseudo_fs::{OpenFlags, Opening};
use crate::trace::buffer::Part;
use crate::trace::instance::persistent::PreviousBoot;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::{cpu::CpuId, prelude::*, sync::Arc};

/// `last_boot_info`: the text addresses of the last boot, first the kernel's. It reads `# Current`
/// once the buffer holds entries of this boot.
pub(super) struct LastBootInfo;

impl Node for LastBootInfo {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        listing::open(Info(at.instance.previous_boot().ok_or(ENODEV)?))
    }
}

struct Info(&'static PreviousBoot);

impl Lines for Info {
    fn seek(&self, at: u64) -> Option<u64> {
        self.0.has_row(at).then_some(at)
    }

    fn show(&self, at: u64, mut out: &mut dyn Out) -> fmt::Result {
        // The data of the last boot may have been dropped after `seek` found the row.
        self.0.write_row(at, &mut out).map(drop)
    }
}

/// `per_cpu/cpuN/buffer_meta`.
pub(super) struct BufferMeta;

impl Node for BufferMeta {
    fn open(&'static self, at: &Place, _how: &OpenFlags) -> Result<Opening> {
        let meta = Meta {
            instance: at.instance.clone(),
            cpu: at.cpu.ok_or(ENODEV)?,
        };
        meta.part().ok_or(ENODEV)?;
        listing::open(meta)
    }
}

struct Meta {
    instance: Arc<Instance>,
    cpu: CpuId,
}

impl Meta {
    fn part(&self) -> Option<Part<'_>> {
        self.instance.buffer().cpu(self.cpu)
    }
}

impl Lines for Meta {
    fn seek(&self, at: u64) -> Option<u64> {
        let reader = self.part()?.lock_reader();
        (at == 0 || reader.place_at(u32::try_from(at - 1).ok()?).is_some()).then_some(at)
    }

    fn show(&self, at: u64, out: &mut dyn Out) -> fmt::Result {
        let Some(part) = self.part() else {
            return Ok(());
        };
        let size = part.sub_buffer_size();
        let (head, commit, count, row) = {
            let reader = part.lock_reader();
            let row = at
                .checked_sub(1)
                .and_then(|index| reader.place_at(index as u32));
            (
                reader.head_place(),
                reader.commit_place(),
                reader.sub_buffers(),
                row,
            )
        };
        match (at.checked_sub(1), row) {
            (None, _) => {
                writeln!(out, "head_buffer:   {head}")?;
                writeln!(out, "commit_buffer: {commit}")?;
                writeln!(out, "subbuf_size:   {size}")?;
                writeln!(out, "nr_subbufs:    {count}")
            }
            (Some(index), Some((place, used))) => {
                writeln!(out, "buffer[{index}]:    {place} (commit: {used})")
            }
            (Some(_), None) => Ok(()),
        }
    }
}
