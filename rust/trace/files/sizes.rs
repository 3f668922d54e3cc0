// SPDX-License-Identifier: GPL-2.0

//! Sizes in KiB: of the buffer (`buffer_size_kb` for one CPU or all, `buffer_total_size_kb`) and of
//! its sub-buffers (`buffer_subbuf_size_kb`). `buffer_percent` says how full the buffer must be
//! before a blocked reader wakes.

use super::control::{errno, shown, Control, Limit, Text};
use super::Place;
use crate::core::parse::number;
#[cfg(CONFIG_FTRACE_SYSCALLS)]
use crate::trace::events::syscalls;
use crate::trace::output::dump;
use core::fmt::Write;
use kernel::{page::PAGE_SIZE, prelude::*};

/// `buffer_size_kb`: at the top for all CPUs, in `per_cpu/` for one.
pub(super) struct BufferSize;

impl Control for BufferSize {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(at.instance.buffer().size(at.cpu).write(out))
    }

    /// `EINVAL` for 0; `ENOMEM`; `EBUSY` while a reader blocks the resize.
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

    fn is_read_only_in_copies(&self) -> bool {
        true
    }
}

/// `buffer_total_size_kb`: the sum of all CPUs.
pub(super) struct BufferTotalSize;

impl Control for BufferTotalSize {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(at.instance.buffer().total_size().write(out))
    }

    fn is_read_only_in_copies(&self) -> bool {
        true
    }
}

/// `buffer_subbuf_size_kb`. A change drops all events.
pub(super) struct SubBufferSize;

impl Control for SubBufferSize {
    fn show(&self, at: &Place, out: &mut Text) -> Result {
        shown(writeln!(
            out,
            "{}",
            at.instance.buffer().sub_buffer_size() / 1024
        ))
    }

    /// Rounds up to 2^n pages. `EINVAL` for 0 and for more than 128 pages, `ENOMEM`, `EBUSY`, `EINTR`. A
    /// change moves the file offset by 1, as in C.
    fn store_written(&self, at: &Place, line: &[u8], _len: usize) -> Result<usize> {
        let kb = number::unsigned(line, 10).map_err(errno)?;
        let pages = kb
            .checked_mul(1024)
            .ok_or(EINVAL)?
            .div_ceil(PAGE_SIZE as u64);
        if !(1..=128).contains(&pages) {
            return Err(EINVAL);
        }
        let pages = pages.next_power_of_two();
        dump::make_room(pages as usize * PAGE_SIZE)?;
        at.instance
            .set_sub_buffer_order(pages.ilog2())
            .map(usize::from)
    }

    fn limit(&self) -> Limit {
        Limit::NUMBER
    }

    fn is_read_only_in_copies(&self) -> bool {
        true
    }
}

/// The file `buffer_percent`.
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

    fn advance(&self, _len: usize) -> usize {
        1
    }
}

/// `syscall_user_buf_size`: the most bytes of user memory that an entry stores for one argument of
/// a system call.
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
