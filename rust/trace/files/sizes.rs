// SPDX-License-Identifier: GPL-2.0

//! The buffer's size in KiB: `buffer_size_kb` for one CPU or all, `buffer_total_size_kb`, and that
//! of its sub-buffers, `buffer_subbuf_size_kb`; and how full it has to be, `buffer_percent`.

use super::control::{errno, shown, Control, Limit, Text};
use super::Place;
use crate::core::parse::number;
#[cfg(CONFIG_FTRACE_SYSCALLS)]
use crate::trace::events::syscalls;
use core::fmt::Write;
use kernel::{page::PAGE_SIZE, prelude::*};

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
        let bytes = kb
            .checked_mul(1024)
            .and_then(|bytes| usize::try_from(bytes).ok());
        at.instance.resize(at.cpu, bytes.ok_or(ENOMEM)?)
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }

    fn is_shut_in_copies(&self) -> bool {
        true
    }
}

/// `buffer_total_size_kb`: the sum over all CPUs.
pub(super) struct BufferTotalSize;

impl Control for BufferTotalSize {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(at.instance.buffer().total_size().write(out))
    }

    fn is_shut_in_copies(&self) -> bool {
        true
    }
}

/// `buffer_subbuf_size_kb`; a change forgets the data.
pub(super) struct SubBufferSize;

impl Control for SubBufferSize {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(writeln!(
            out,
            "{}",
            at.instance.buffer().sub_buffer_size() / 1024
        ))
    }

    /// `EINVAL` for 0 and for more than 128 pages, `ENOMEM`, `EBUSY`. Rounded up to a power of two
    /// of pages.
    fn store(&self, at: &Place, line: &[u8]) -> Result {
        let kb = number::unsigned(line, 10).map_err(errno)?;
        let pages = kb
            .checked_mul(1024)
            .ok_or(EINVAL)?
            .div_ceil(PAGE_SIZE as u64);
        if !(1..=128).contains(&pages) {
            return Err(EINVAL);
        }
        at.instance
            .set_sub_buffer_order(pages.next_power_of_two().ilog2())
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }

    fn is_shut_in_copies(&self) -> bool {
        true
    }
}

/// `buffer_percent`.
pub(super) struct BufferPercent;

impl Control for BufferPercent {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(writeln!(out, "{}", at.instance.buffer_percent()))
    }

    fn store(&self, at: &Place, line: &[u8]) -> Result {
        at.instance
            .set_buffer_percent(number::unsigned(line, 10).map_err(errno)?)
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }
}

/// `syscall_user_buf_size`: how much user memory an argument of a system call has in an entry.
#[cfg(CONFIG_FTRACE_SYSCALLS)]
pub(super) struct SyscallUserSize;

#[cfg(CONFIG_FTRACE_SYSCALLS)]
impl Control for SyscallUserSize {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(writeln!(
            out,
            "{}",
            syscalls::of(&at.instance)?.user_bytes()
        ))
    }

    fn store(&self, at: &Place, line: &[u8]) -> Result {
        let bytes = number::unsigned(line, 10).map_err(errno)?;
        syscalls::of(&at.instance)?.set_user_bytes(bytes);
        Ok(())
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }
}
