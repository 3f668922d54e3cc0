// SPDX-License-Identifier: GPL-2.0

//! What is fetched: `%REGISTER`, `$VARIABLE`, `@PLACE`, `\IMMEDIATE`, and the dereferences and casts
//! around it.

use super::super::command::Spot;
use super::super::error::{Errno, Reason, Refused};
use super::super::program::{Load, Step, STEPS};
use super::named::{Cast, Known};
use super::Context;
use crate::core::format;
use crate::core::parse::number;
use crate::core::parse::parser::{is_letter, split_at_byte};
use core::ops::Range;

/// How deep dereferences may be in each other.
const NESTED_MAX: usize = 8;
/// Operations at most, as C counts them.
pub(super) const OPS_MAX: usize = STEPS + 1;

/// A dereference whose inside is looked at first.
#[derive(Clone, Copy)]
pub(super) struct Nested {
    step: Step,
    /// What stands in front of the value that it follows is an address to be read.
    is_read: bool,
    /// Its inside begins with `@`.
    of_memory: bool,
    at: usize,
}

/// What stands around a value.
#[derive(Clone, Copy)]
pub(super) enum Outer<'t> {
    Dereference(Nested),
    Cast(Cast<'t>),
}

pub(super) const READ: &[u8] = b"this_cpu_read(";
pub(super) const POINTER: &[u8] = b"this_cpu_ptr(";

pub(super) struct Fetch<'a, 'b> {
    body: &'a [u8],
    /// Where a caret goes, in the word.
    pub(super) at: usize,
    pub(super) context: &'a mut Context<'b>,
    pub(super) load: Load,
    pub(super) steps: [Step; STEPS],
    pub(super) count: usize,
    /// What the kernel's types say of the value.
    pub(super) known: Option<Known>,
}

impl<'a, 'b> Fetch<'a, 'b> {
    pub(super) fn new(body: &'a [u8], start: usize, context: &'a mut Context<'b>) -> Self {
        Self {
            body,
            at: start,
            context,
            load: Load::StackPointer,
            steps: [Step::ThisCpu; STEPS],
            count: 0,
            known: None,
        }
    }

    pub(super) fn refuse<T>(&self, reason: Reason) -> Result<T, Refused> {
        Err(Refused::new(reason, self.at))
    }

    /// Where `part` is in the argument; it is a part of it.
    fn range(&self, part: &[u8]) -> Range<u8> {
        let start = (part.as_ptr() as usize).wrapping_sub(self.body.as_ptr() as usize);
        let end = start.wrapping_add(part.len());
        // An argument is not longer than that.
        start as u8..end as u8
    }

    pub(super) fn push(&mut self, step: Step) -> Result<(), Refused> {
        let used = self.load.ops().wrapping_add(self.count);
        match self.steps.get_mut(self.count) {
            Some(place) if used < OPS_MAX => *place = step,
            _ => return self.refuse(Reason::TooManyOps),
        }
        self.count = self.count.wrapping_add(1);
        Ok(())
    }

    pub(super) fn parse(&mut self, text: &[u8]) -> Result<(), Refused> {
        let mut nested = [Outer::Dereference(Nested {
            step: Step::ThisCpu,
            is_read: false,
            of_memory: false,
            at: 0,
        }); NESTED_MAX];
        let mut depth = 0;
        let mut rest = text;
        loop {
            let is_cpu = rest.starts_with(READ) || rest.starts_with(POINTER);
            if !is_cpu && !matches!(rest, [b'+' | b'-' | b'(', ..]) {
                break;
            }
            let Some(place) = nested.get_mut(depth) else {
                return Err(Refused::new(Reason::TooManyNested, self.at).with(Errno::TooLong));
            };
            let (outer, inside) = match rest {
                _ if is_cpu && self.context.spot == Spot::Event => {
                    return self.refuse(Reason::NoPerCpu)
                }
                [b'(', ..] => self.cast(rest)?,
                _ if is_cpu => self.of_this_cpu(rest)?,
                _ => self.dereference(rest)?,
            };
            *place = outer;
            depth = depth.wrapping_add(1);
            rest = inside;
        }
        self.leaf(rest)?;
        for outer in nested.get(..depth).unwrap_or(&[]).iter().rev() {
            match outer {
                Outer::Dereference(nested) => self.apply(nested)?,
                Outer::Cast(cast) => self.apply_cast(cast)?,
            }
        }
        Ok(())
    }

    /// Follows the address that was found inside.
    fn apply(&mut self, outer: &Nested) -> Result<(), Refused> {
        self.at = outer.at;
        let is_text = matches!(self.load, Load::Comm | Load::Text(_));
        if is_text && self.count == 0 {
            return self.refuse(Reason::CommDereferenced);
        }
        if outer.step == Step::ThisCpu && outer.of_memory {
            // It wants the address, not what is there.
            self.count = self.count.saturating_sub(1);
        }
        self.push(outer.step)?;
        self.known = None;
        if outer.is_read {
            self.push(Step::Read {
                offset: 0,
                user: false,
            })?;
        }
        Ok(())
    }

    /// `this_cpu_ptr(…)` and `this_cpu_read(…)`.
    fn of_this_cpu<'t>(&mut self, text: &'t [u8]) -> Result<(Outer<'t>, &'t [u8]), Refused> {
        if self.context.machine.is_program() {
            return self.refuse(Reason::NoPerCpu);
        }
        let is_read = text.starts_with(READ);
        let name = if is_read { READ } else { POINTER };
        let rest = text.get(name.len()..).unwrap_or(&[]);
        self.at = self.at.wrapping_add(name.len());
        let inside = self.until_last_brace(rest)?;
        let nested = Nested {
            step: Step::ThisCpu,
            is_read,
            of_memory: inside.starts_with(b"@"),
            at: self.at,
        };
        Ok((Outer::Dereference(nested), inside))
    }

    /// What is before the last closing brace.
    fn until_last_brace<'t>(&self, text: &'t [u8]) -> Result<&'t [u8], Refused> {
        let end = text.iter().rposition(|&byte| byte == b')');
        end.and_then(|end| text.get(..end)).ok_or_else(|| {
            let at = self.at.wrapping_add(text.len());
            Refused::new(Reason::DereferenceOpen, at)
        })
    }

    /// `+OFFSET(…)`, `-OFFSET(…)`, with `u` behind the sign of the user's memory.
    fn dereference<'t>(&mut self, text: &'t [u8]) -> Result<(Outer<'t>, &'t [u8]), Refused> {
        let (sign, mut rest) = text.split_at_checked(1).unwrap_or((text, &[]));
        let user = rest.starts_with(b"u");
        if user {
            rest = rest.get(1..).unwrap_or(&[]);
        }
        let Some((digits, inside)) = split_at_byte(rest, b'(') else {
            return self.refuse(Reason::DereferenceNeedsBrace);
        };
        let offset = match (sign, digits) {
            // A sign of its own is one too many.
            (b"-", [b'+' | b'-', ..]) => Err(format::Error::Invalid),
            (b"-", digits) => number::unsigned(digits, 0).and_then(|size| {
                let least = 0_i64.checked_sub_unsigned(size);
                least.ok_or(format::Error::Range)
            }),
            _ => number::signed(digits, 0),
        };
        let offset = match offset {
            Ok(offset) => offset,
            Err(error) => {
                let refused = Refused::new(Reason::BadDereferenceOffset, self.at);
                return Err(refused.with(error.into()));
            }
        };
        // Sign, digits, brace; C forgets the `u`, and the `+` before another sign.
        let around = match digits {
            [b'-', ..] => 1,
            _ => 2,
        };
        self.at = self.at.wrapping_add(digits.len()).wrapping_add(around);
        let inside = self.until_last_brace(inside)?;
        let nested = Nested {
            step: Step::Read {
                // As many bits as C keeps.
                offset: offset as i32,
                user,
            },
            is_read: false,
            of_memory: false,
            at: self.at,
        };
        Ok((Outer::Dereference(nested), inside))
    }

    /// What stands innermost.
    fn leaf(&mut self, text: &[u8]) -> Result<(), Refused> {
        match text {
            [b'$', name @ ..] => self.variable(text, name),
            [b'%', ..] if !self.context.machine.has_registers() => self.refuse(Reason::BadVariable),
            [b'%', name @ ..] => match self.context.machine.register(name) {
                Some(register) => {
                    self.load = Load::Register(register);
                    Ok(())
                }
                None => self.refuse(Reason::BadRegisterName),
            },
            [b'@', place @ ..] => self.memory(place),
            [b'\\', b'"', text @ ..] => match text.split_last() {
                Some((b'"', text)) => {
                    self.load = Load::Text(self.range(text));
                    Ok(())
                }
                _ => {
                    let at = self.at.wrapping_add(2).wrapping_add(text.len());
                    Err(Refused::new(Reason::TextNotClosed, at))
                }
            },
            [b'\\', digits @ ..] => self.immediate(digits),
            [first, ..] if begins_name(*first) && self.context.spot == Spot::Event => {
                match self.context.machine.field(text) {
                    Some(field) => {
                        self.load = Load::Field(field);
                        Ok(())
                    }
                    None => self.refuse(Reason::NoEventField),
                }
            }
            [first, ..] if begins_name(*first) => {
                let refused = Refused::new(Reason::NoTypes, self.at);
                match self.context.spot {
                    Spot::Inside | Spot::Event => Err(refused),
                    _ if self.context.machine.is_program() => Err(refused),
                    _ if self.has_types() => self.named(text),
                    Spot::Entry | Spot::Return => Err(refused.with(Errno::NotSupported)),
                }
            }
            _ => self.refuse(Reason::BadFetch),
        }
    }

    fn immediate(&mut self, digits: &[u8]) -> Result<(), Refused> {
        let value = match digits {
            [b'0'..=b'9', ..] => number::unsigned(digits, 0),
            [b'-', ..] => number::signed(digits, 0).map(|number| number as u64),
            [b'+', digits @ ..] => number::signed(digits, 0).map(|number| number as u64),
            _ => Err(format::Error::Invalid),
        };
        match value {
            Ok(value) => {
                self.load = Load::Immediate(value);
                Ok(())
            }
            Err(error) => {
                let at = self.at.wrapping_add(1);
                Err(Refused::new(Reason::BadImmediate, at).with(error.into()))
            }
        }
    }

    /// `@ADDRESS` and `@SYMBOL`.
    fn memory(&mut self, place: &[u8]) -> Result<(), Refused> {
        self.load = match place {
            [b'0'..=b'9', ..] => match number::unsigned(place, 0) {
                Ok(address) => Load::Immediate(address),
                Err(error) => {
                    let refused = Refused::new(Reason::BadMemoryAddress, self.at);
                    return Err(refused.with(error.into()));
                }
            },
            [b'+', offset @ ..] if self.context.machine.is_program() => {
                match number::signed(offset, 0) {
                    Ok(offset) => Load::InFile(offset as u64),
                    Err(error) => {
                        let refused = Refused::new(Reason::BadFileOffset, self.at);
                        return Err(refused.with(error.into()));
                    }
                }
            }
            [b'+', ..] => return self.refuse(Reason::FileOffset),
            _ if self.context.machine.is_program() => return self.refuse(Reason::SymbolOfProgram),
            symbol => Load::Symbol(self.range(symbol)),
        };
        self.push(Step::Read {
            offset: 0,
            user: false,
        })
    }

    /// Whether the types of the kernel say something of what is probed.
    fn has_types(&self) -> bool {
        self.context.types.is_some() && !self.context.machine.is_program()
    }

    /// `text`, a dollar sign and `name`.
    fn variable(&mut self, text: &[u8], name: &[u8]) -> Result<(), Refused> {
        let rest = |prefix: &[u8]| name.strip_prefix(prefix);
        self.load = match name {
            b"comm" | b"COMM" if self.context.spot != Spot::Event => Load::Comm,
            _ if self.context.spot == Spot::Event => match self.context.machine.field(name) {
                Some(field) => Load::Field(field),
                None if matches!(name, b"comm" | b"COMM") => Load::Comm,
                None => return self.refuse(Reason::BadVariable),
            },
            _ if rest(b"retval").is_some() => match self.context.spot {
                Spot::Return if self.has_types() => return self.named(text),
                // C does not look at what follows.
                Spot::Return => Load::Returned,
                _ => return self.refuse(Reason::ReturnedAtEntry),
            },
            b"stack" => Load::StackPointer,
            b"current" if !self.context.machine.is_program() => Load::Current,
            _ if rest(b"current-").is_some() && self.has_types() => return self.named(text),
            _ => match (rest(b"stack"), rest(b"arg")) {
                (Some(digits @ [b'0'..=b'9', ..]), _) => {
                    let at = self.number(digits)?;
                    // How large the stack of a program is nobody knows.
                    let machine = self.context.machine;
                    let may_be = machine.is_program() || at <= machine.stack_words();
                    match u32::try_from(at) {
                        Ok(word) if may_be => Load::Stack(word),
                        _ => return self.refuse(Reason::BadStackNumber),
                    }
                }
                (None, Some(digits)) => self.argument(digits)?,
                _ => return self.refuse(Reason::BadVariable),
            },
        };
        Ok(())
    }

    /// The number at the end of a variable.
    fn number(&self, digits: &[u8]) -> Result<u64, Refused> {
        number::unsigned(digits, 10)
            .map_err(|error| Refused::new(Reason::BadVariable, self.at).with(error.into()))
    }

    fn argument(&mut self, digits: &[u8]) -> Result<Load, Refused> {
        let number = self.number(digits)?;
        let last = self.context.machine.stack_words();
        let Some(at) = number.checked_sub(1).filter(|_| number <= last) else {
            return self.refuse(Reason::BadArgumentNumber);
        };
        let Ok(at) = u16::try_from(at) else {
            return self.refuse(Reason::BadArgumentNumber);
        };
        self.parameter_at(at)
    }

    /// The function's argument of this number, from 0 on.
    pub(super) fn parameter_at(&mut self, at: u16) -> Result<Load, Refused> {
        match self.context.spot {
            // Where a program's function has its arguments is not known.
            _ if self.context.machine.is_program() => self.refuse(Reason::NotAtEntry),
            Spot::Entry => {
                let hidden = self.context.machine.hidden_arguments();
                Ok(Load::Argument(at.saturating_add(hidden)))
            }
            Spot::Return => match self.context.saved.place(at) {
                Some(place) => Ok(Load::Saved(place)),
                None => self.refuse(Reason::BadArgumentNumber),
            },
            Spot::Inside | Spot::Event => self.refuse(Reason::NotAtEntry),
        }
    }
}

/// Whether the name of a parameter or a field begins with `byte`.
const fn begins_name(byte: u8) -> bool {
    is_letter(byte) || byte == b'_'
}
