// SPDX-License-Identifier: GPL-2.0

//! Calls of functions: the function tracer's entries.

use super::{words, Entry, Show};
use crate::core::format::line::write_time;
use crate::core::format::print::{Error, Line};
use crate::core::format::Out;

/// How many of a function's arguments a [`Function`] entry has, where it has any.
pub const ARGUMENTS: usize = 6;

/// A call of a function. Behind it the function's arguments, while they are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "function",
    tail(args: [usize]),
    print = r#"" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip"#
)]
#[repr(C)]
pub struct Function {
    /// The function.
    pub ip: usize,
    /// Where it was called.
    pub parent_ip: usize,
}

impl Show for Function {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        let args = words(Self::tail(line.record)).count() >= ARGUMENTS;
        line.call(out, self.ip, args, self.parent_ip)?;
        Ok(out.bytes(b"\n")?)
    }

    fn raw(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        Ok(writeln!(out, "{:x} {:x}", self.ip, self.parent_ip)?)
    }

    fn hex(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        const WIDTH: usize = size_of::<usize>() * 2;
        let Self { ip, parent_ip } = self;
        Ok(write!(out, "{ip:0WIDTH$x} {parent_ip:0WIDTH$x} ")?)
    }

    fn bin(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        out.bytes(&self.ip.to_ne_bytes())?;
        Ok(out.bytes(&self.parent_ip.to_ne_bytes())?)
    }
}

/// Equal [`Function`] entries that followed each other, compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "func_repeats",
    print = r#"" %ps <-%ps\t(repeats:%u  delta: -%llu)", (void *)REC->ip, (void *)REC->parent_ip, REC->count, (((u64)(REC)->top_delta_ts << 32) | (REC)->bottom_delta_ts)"#
)]
#[repr(C)]
pub struct FuncRepeats {
    /// The function.
    pub ip: usize,
    /// Where it was called.
    pub parent_ip: usize,
    /// How often more than once.
    #[c("u16")]
    pub count: u16,
    /// Time from the last call to this entry, upper half; see [`FuncRepeats::delta`].
    #[c("u16")]
    pub top_delta_ts: u16,
    /// Time from the last call to this entry, lower half.
    #[c("u32")]
    pub bottom_delta_ts: u32,
}

impl FuncRepeats {
    /// The time from the last call to this entry, in clock units.
    pub fn delta(&self) -> u64 {
        u64::from(self.top_delta_ts) << 32 | u64::from(self.bottom_delta_ts)
    }

    /// Sets that time; 48 bits of it are kept.
    pub fn with_delta(self, delta: u64) -> Self {
        // Both truncations take the part that the field is for.
        Self {
            top_delta_ts: (delta >> 32) as u16,
            bottom_delta_ts: delta as u32,
            ..self
        }
    }
}

impl Show for FuncRepeats {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        line.call(out, self.ip, false, self.parent_ip)?;
        write!(out, " (repeats: {}, last_ts:", self.count)?;
        write_time(out, line.ts.wrapping_sub(self.delta()), line.env.unit)?;
        Ok(out.bytes(b")\n")?)
    }

    fn raw(&self, _: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        let Self { ip, parent_ip, .. } = self;
        Ok(writeln!(
            out,
            "{ip} {parent_ip} {} {}",
            self.count,
            self.delta()
        )?)
    }
}
