// SPDX-License-Identifier: GPL-2.0

//! Stack traces.

use super::{words, Entry, Show};
use crate::core::format::environment::{Error, Line};
use crate::core::format::{symbol, Out};
use crate::core::parse::options::Flag;

/// A caller value of [`KernelStack`] that stands for any ftrace trampoline.
pub const TRAMPOLINE: usize = i32::MAX as usize;

/// A kernel stack. The callers follow, the innermost first. The format shows 8 of them, but `size`
/// has the real number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "kernel_stack",
    tail(caller: [usize; 8]),
    print = r#""\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n", (void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]"#
)]
#[repr(C)]
pub struct KernelStack {
    /// The number of callers.
    pub size: i32,
    /// Aligns the callers.
    pub _pad: u32,
}

impl Show for KernelStack {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        out.bytes(b"<stack trace>\n")?;
        // The length of the record counts, not `size`. A word of all ones ends the list.
        for caller in words(Self::tail(line.record)).take_while(|&addr| addr != usize::MAX) {
            out.bytes(b" => ")?;
            match caller {
                TRAMPOLINE => out.bytes(b"[FTRACE TRAMPOLINE]")?,
                addr => line.symbol(out, addr)?,
            }
            out.bytes(b"\n")?;
        }
        Ok(())
    }
}

/// The user stack of the task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "user_stack",
    print = r#""\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n", (void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]"#
)]
#[repr(C)]
pub struct UserStack {
    /// The thread group of the task.
    pub tgid: u32,
    /// Aligns the callers.
    pub _pad: u32,
    /// The callers, the innermost first. 0 after the last one.
    pub caller: [usize; 8],
}

impl Show for UserStack {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        let (set, tasks) = (line.env.set, line.env.tasks);
        out.bytes(b"<user stack trace>\n")?;
        for addr in self.caller.into_iter().take_while(|&addr| addr != 0) {
            out.bytes(b" => ")?;
            let named =
                set.has(Flag::SymUserObj) && tasks.write_mapped(self.tgid as i32, addr, out)?;
            if !named || set.has(Flag::SymAddr) {
                symbol::write_addr(out, addr)?;
            }
            out.bytes(b"\n")?;
        }
        Ok(())
    }
}
