// SPDX-License-Identifier: GPL-2.0

//! Function calls: the entries of the function tracer.

use super::{words, Entry, Show};
use crate::core::format::environment::{Error, Line};
use crate::core::format::line::write_time;
use crate::core::format::symbol::ARGUMENTS;
use crate::core::format::Out;

/// The arguments of a call, in the tail of its record.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a>(&'a [u8; ARGUMENTS * size_of::<usize>()]);

impl<'a> Arguments<'a> {
    /// The arguments in `tail`, if they were recorded.
    #[inline]
    pub fn of(tail: &'a [u8]) -> Option<Self> {
        tail.first_chunk().map(Self)
    }

    /// The arguments as words.
    pub fn words(self) -> [usize; ARGUMENTS] {
        let mut arguments = [0; ARGUMENTS];
        for (place, word) in arguments.iter_mut().zip(words(self.0)) {
            *place = word;
        }
        arguments
    }
}

/// A call of a function. Its arguments follow if they are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "function",
    tail(args: [usize]),
    print = r#"" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip"#
)]
#[repr(C)]
pub struct Function {
    /// The address of the function.
    pub ip: usize,
    /// The address of the call.
    pub parent_ip: usize,
}

impl Show for Function {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        let args = Arguments::of(Self::tail(line.record)).map(Arguments::words);
        line.call(out, self.ip, args.as_ref(), self.parent_ip)?;
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

/// Repeated [`Function`] entries, compressed into one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Entry)]
#[entry(
    name = "func_repeats",
    print = r#"" %ps <-%ps\t(repeats:%u  delta: -%llu)", (void *)REC->ip, (void *)REC->parent_ip, REC->count, (((u64)(REC)->top_delta_ts << 32) | (REC)->bottom_delta_ts)"#
)]
#[repr(C)]
pub struct FuncRepeats {
    /// The address of the function.
    pub ip: usize,
    /// The address of the call.
    pub parent_ip: usize,
    /// The number of repetitions.
    #[c("u16")]
    pub count: u16,
    /// The time from the last call to this entry, upper half; see [`FuncRepeats::delta`].
    #[c("u16")]
    pub top_delta_ts: u16,
    /// The time from the last call to this entry, lower half.
    #[c("u32")]
    pub bottom_delta_ts: u32,
}

impl FuncRepeats {
    /// The time from the last call to this entry, in clock units.
    pub fn delta(&self) -> u64 {
        u64::from(self.top_delta_ts) << 32 | u64::from(self.bottom_delta_ts)
    }

    /// Sets that time, of which 48 bits are kept.
    pub fn with_delta(self, delta: u64) -> Self {
        // Each truncation keeps the part that belongs to the field.
        Self {
            top_delta_ts: (delta >> 32) as u16,
            bottom_delta_ts: delta as u32,
            ..self
        }
    }
}

impl Show for FuncRepeats {
    fn normal(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        line.call(out, self.ip, None, self.parent_ip)?;
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
