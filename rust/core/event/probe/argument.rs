// SPDX-License-Identifier: GPL-2.0

//! Arguments of definitions, `[NAME=]FETCH[:TYPE]`, compiled.
//!
//! Carets stand where C's do, also where that is beside the place.

mod named;

use super::command::{is_name, Spot};
use super::error::{Errno, Reason, Refused};
use super::kernel_types::{Function, Types};
use super::program::{Bits, Field, Load, Program, Step, Store, STEPS};
use super::types::{TextOf, Type};
use crate::core::format;
use crate::core::parse::number;
use crate::core::parse::parser::{is_letter, split_at_byte};
use core::ops::Range;
use named::{Cast, Known};

/// Bytes of an argument at most.
const LONGEST: usize = 255;
/// Bytes of a name at most.
const NAME_MAX: usize = 32;
/// Elements of an array at most.
const ARRAY_MAX: u64 = 64;
/// Bytes of all arguments in an entry at most, without texts.
const ENTRY_MAX: usize = 3072;
/// Arguments at most.
pub const ARGUMENTS_MAX: usize = 128;
/// How deep dereferences may be in each other.
const NESTED_MAX: usize = 8;
/// Operations at most, as C counts them.
const OPS_MAX: usize = STEPS + 1;

/// Names of fields that entries have anyway.
const RESERVED: &[&[u8]] = &[
    b"common_type",
    b"common_flags",
    b"common_preempt_count",
    b"common_pid",
    b"common_tgid",
    b"__probe_ip",
    b"__probe_ret_ip",
    b"__probe_func",
];

/// What the machine has.
pub trait Machine {
    /// The register of this name, as [`Load::Register`] has it.
    fn register(&self, name: &[u8]) -> Option<u16>;

    /// How many words a stack of the kernel has.
    fn stack_words(&self) -> u64;

    /// Whether probes are in programs: they read a program's memory, and know a place in its file,
    /// but nothing of the kernel's.
    fn is_program(&self) -> bool {
        false
    }

    /// Whether definitions may name registers.
    fn has_registers(&self) -> bool {
        true
    }

    /// The field of this name, of the event whose entries are looked at.
    fn field(&self, _name: &[u8]) -> Option<Field> {
        None
    }

    /// How many arguments the probed function has in front of those that users know.
    fn hidden_arguments(&self) -> u16 {
        0
    }
}

/// The arguments that a return probe saves when the function is entered.
pub struct Saved {
    numbers: [u16; ARGUMENTS_MAX],
    count: usize,
}

impl Saved {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            numbers: [0; ARGUMENTS_MAX],
            count: 0,
        }
    }

    /// Their numbers, from 0 on, in the order in which they are saved.
    pub fn numbers(&self) -> &[u16] {
        self.numbers.get(..self.count).unwrap_or(&[])
    }

    /// Where `number` is saved; none if there is no room, as there is for one by each argument.
    fn place(&mut self, number: u16) -> Option<u16> {
        let known = self.numbers().iter().position(|&known| known == number);
        let place = match known {
            Some(place) => place,
            None => {
                *self.numbers.get_mut(self.count)? = number;
                self.count = self.count.wrapping_add(1);
                self.count.wrapping_sub(1)
            }
        };
        u16::try_from(place).ok()
    }
}

impl Default for Saved {
    fn default() -> Self {
        Self::new()
    }
}

/// An argument, but for its name and the text that it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// What its value is stored as.
    pub ty: &'static Type,
    /// Elements, if it is an array.
    pub count: Option<u8>,
    /// Where its value is, behind the fields that all entries of its kind have.
    pub offset: usize,
    /// How its value is found.
    pub program: Program,
}

impl Argument {
    /// Bytes of the value.
    pub fn size(&self) -> usize {
        usize::from(self.ty.size) * usize::from(self.count.unwrap_or(1))
    }
}

/// A word that is an argument, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The bytes that are its name; none if it has none and is called by its number.
    pub name: Option<Range<usize>>,
    /// Where the rest begins.
    pub body: usize,
}

/// What is known where an argument is compiled.
pub struct Context<'a> {
    /// Where the probe is.
    pub spot: Spot,
    /// What the machine has.
    pub machine: &'a dyn Machine,
    /// The kernel's types, if they are known.
    pub types: Option<&'a mut dyn Types>,
    /// The probed function, if the types have it.
    pub function: Option<Function>,
    /// Whether another argument has asked for the function. As in C, what is not found is told otherwise then.
    pub asked: bool,
    /// What is saved at entry.
    pub saved: &'a mut Saved,
    /// Bytes of the arguments before this one.
    pub size: usize,
}

impl Word {
    /// Finds the name of `word`. `is_taken` says whether another argument has a name; where the kernel
    /// `has_types`, what is recorded may be its own name.
    ///
    /// # Errors
    ///
    /// What is wrong with the name.
    pub fn parse(
        word: &[u8],
        has_types: bool,
        is_taken: impl Fn(&[u8]) -> bool,
    ) -> Result<Self, Refused> {
        let refused = |reason| Err(Refused::new(reason, 0));
        let Some(equals) = position(word, b'=') else {
            let end = position(word, b':').unwrap_or(word.len());
            let name = word.get(..end).filter(|name| has_types && is_name(name));
            if name.is_some_and(|name| RESERVED.contains(&name) || is_taken(name)) {
                return refused(Reason::UsedArgumentName);
            }
            return Ok(Self {
                name: name.map(|_| 0..end),
                body: 0,
            });
        };
        let name = word.get(..equals).unwrap_or(&[]);
        if name.len() > NAME_MAX {
            return refused(Reason::ArgumentNameTooLong);
        }
        if name.is_empty() {
            return refused(Reason::NoArgumentName);
        }
        if !is_name(name) {
            return refused(Reason::BadArgumentName);
        }
        if RESERVED.contains(&name) || is_taken(name) {
            return refused(Reason::UsedArgumentName);
        }
        Ok(Self {
            name: Some(0..equals),
            body: equals.wrapping_add(1),
        })
    }
}

/// Compiles `body`, which is at `start` of its word.
///
/// # Errors
///
/// What is wrong with it.
pub fn compile(body: &[u8], start: usize, context: &mut Context<'_>) -> Result<Argument, Refused> {
    if body.len() > LONGEST {
        return Err(Refused::new(Reason::ArgumentTooLong, start).with(Errno::TooLong));
    }
    if body.is_empty() {
        return Err(Refused::new(Reason::NoArgumentBody, start));
    }
    let mut typed = Typed::parse(body, start, context)?;
    let mut fetch = Fetch {
        body,
        at: start,
        context,
        load: Load::StackPointer,
        steps: [Step::ThisCpu; STEPS],
        count: 0,
        known: None,
    };
    fetch.parse(typed.fetch)?;
    fetch.apply_type(&mut typed)?;
    let offset = fetch.context.size;
    let size = usize::from(typed.ty.size) * usize::from(typed.count.unwrap_or(1));
    if offset.saturating_add(size) > ENTRY_MAX {
        return Err(Refused::new(Reason::EventTooBig, fetch.at).with(Errno::TooLong));
    }
    let program = fetch.finish(&typed)?;
    context.size = offset + size;
    Ok(Argument {
        ty: typed.ty,
        count: typed.count,
        offset,
        program,
    })
}

/// An argument whose type was cut off.
struct Typed<'a> {
    fetch: &'a [u8],
    /// The type's name, and where it is in the argument.
    name: Option<(&'a [u8], usize)>,
    ty: &'static Type,
    count: Option<u8>,
}

/// Whether the name of a parameter or a field begins with `byte`.
const fn begins_name(byte: u8) -> bool {
    is_letter(byte) || byte == b'_'
}

fn position(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().position(|&other| other == byte)
}

impl<'a> Typed<'a> {
    fn parse(body: &'a [u8], start: usize, context: &Context<'_>) -> Result<Self, Refused> {
        let refused = |reason, at: usize| Err(Refused::new(reason, start.saturating_add(at)));
        let mut count = None;
        let (fetch, name) = match split_at_type(body, context.machine.is_program()) {
            None => (body, None),
            Some((fetch, ty)) => {
                let at = fetch.len().wrapping_add(1);
                let ty = match split_at_byte(ty, b'[') {
                    None => ty,
                    Some((ty, array)) => {
                        let at = at.wrapping_add(ty.len()).wrapping_add(1);
                        let Some((digits, behind)) = split_at_byte(array, b']') else {
                            return refused(Reason::ArrayNotClosed, body.len());
                        };
                        if !behind.is_empty() {
                            let behind = at.wrapping_add(digits.len()).wrapping_add(1);
                            return refused(Reason::BadArraySuffix, behind);
                        }
                        let elements = match number::unsigned(digits, 0) {
                            Ok(number @ 1..=0xffff_ffff) => number,
                            _ => return refused(Reason::BadArrayNumber, at),
                        };
                        if elements > ARRAY_MAX {
                            return refused(Reason::ArrayTooBig, at);
                        }
                        count = u8::try_from(elements).ok();
                        ty
                    }
                };
                (fetch, Some((ty, at)))
            }
        };
        let at = name.map_or(0, |(_, at)| at);
        // As in C, of an event only a type says that it is a text.
        let is_text = context.spot != Spot::Event && matches!(fetch, b"$comm" | b"$COMM")
            || fetch.starts_with(b"\\\"");
        let ty = match name {
            _ if is_text => {
                if count.is_some() || name.is_some_and(|(name, _)| name != b"string") {
                    return refused(Reason::NeedsStringType, at);
                }
                Some(Type::string())
            }
            None => Some(Type::word()),
            Some((b"symbol" | b"symstr", _)) if context.machine.is_program() => None,
            Some((name, _)) => Type::named(name),
        };
        let Some(ty) = ty else {
            return refused(Reason::BadType, at);
        };
        Ok(Self {
            fetch,
            name,
            ty,
            count,
        })
    }
}

/// What is fetched, and the type behind a colon. The pairs of colons in the path of a Rust symbol
/// behind an `@` are passed over. A program has no such symbols.
fn split_at_type(body: &[u8], is_program: bool) -> Option<(&[u8], &[u8])> {
    let symbol = position(body, b'@').filter(|_| !is_program && !body.starts_with(b"\\"));
    let symbol = symbol.map(|at| at.wrapping_add(1)).filter(|&at| {
        let begins = |byte: &u8| matches!(byte, b'<' | b'_') || byte.is_ascii_alphabetic();
        body.get(at).is_some_and(begins)
    });
    let Some(mut from) = symbol else {
        return split_at_byte(body, b':');
    };
    loop {
        let at = from.wrapping_add(position(body.get(from..)?, b':')?);
        let behind = at.wrapping_add(1);
        if body.get(behind) != Some(&b':') {
            return Some((body.get(..at)?, body.get(behind..)?));
        }
        from = behind.wrapping_add(1);
    }
}

/// A dereference whose inside is looked at first.
#[derive(Clone, Copy)]
struct Nested {
    step: Step,
    /// What stands in front of the value that it follows is an address to be read.
    is_read: bool,
    /// Its inside begins with `@`.
    of_memory: bool,
    at: usize,
}

/// What stands around a value.
#[derive(Clone, Copy)]
enum Outer<'t> {
    Dereference(Nested),
    Cast(Cast<'t>),
}

const READ: &[u8] = b"this_cpu_read(";
const POINTER: &[u8] = b"this_cpu_ptr(";

struct Fetch<'a, 'b> {
    body: &'a [u8],
    /// Where a caret goes, in the word.
    at: usize,
    context: &'a mut Context<'b>,
    load: Load,
    steps: [Step; STEPS],
    count: usize,
    /// What the kernel's types say of the value.
    known: Option<Known>,
}

impl Fetch<'_, '_> {
    fn refuse<T>(&self, reason: Reason) -> Result<T, Refused> {
        Err(Refused::new(reason, self.at))
    }

    /// Where `part` is in the argument; it is a part of it.
    fn range(&self, part: &[u8]) -> Range<u8> {
        let start = (part.as_ptr() as usize).wrapping_sub(self.body.as_ptr() as usize);
        let end = start.wrapping_add(part.len());
        // An argument is not longer than that.
        start as u8..end as u8
    }

    fn push(&mut self, step: Step) -> Result<(), Refused> {
        let used = self.load.ops().wrapping_add(self.count);
        match self.steps.get_mut(self.count) {
            Some(place) if used < OPS_MAX => *place = step,
            _ => return self.refuse(Reason::TooManyOps),
        }
        self.count = self.count.wrapping_add(1);
        Ok(())
    }

    fn parse(&mut self, text: &[u8]) -> Result<(), Refused> {
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
    fn parameter_at(&mut self, at: u16) -> Result<Load, Refused> {
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

    /// Says how the value is stored.
    fn finish(mut self, typed: &Typed<'_>) -> Result<Program, Refused> {
        let type_at = self.at.wrapping_add(typed.name.map_or(0, |(_, at)| at));
        let at_type = |reason| Err(Refused::new(reason, type_at));
        let last = self.count.checked_sub(1).and_then(|at| self.steps.get(at));
        let read = match last {
            Some(&Step::Read { offset, user }) => Some((offset, user)),
            _ => None,
        };
        let ops = self.load.ops().wrapping_add(self.count);
        let mut used = ops;
        let store = match typed.ty.text {
            Some(TextOf::Symbol) => {
                let fits = match last {
                    Some(step) => matches!(step, Step::Read { user: false, .. }),
                    None => matches!(
                        self.load,
                        Load::Register(_)
                            | Load::Stack(_)
                            | Load::Returned
                            | Load::Argument(_)
                            | Load::Field(_)
                    ),
                };
                if !fits {
                    return at_type(Reason::BadSymbolString);
                }
                used = used.wrapping_add(1);
                Store::Text {
                    offset: 0,
                    of: TextOf::Symbol,
                }
            }
            Some(of) => match read {
                // The last read is that of the text itself, unless it is one of an array's.
                Some((offset, user)) if typed.count.is_none() => {
                    self.count = self.count.wrapping_sub(1);
                    Store::Text {
                        offset,
                        of: if user { TextOf::User } else { of },
                    }
                }
                _ => {
                    let is_address = matches!(
                        self.load,
                        Load::Immediate(_) | Load::Comm | Load::Text(_) | Load::Field(_)
                    );
                    if read.is_none() && (!is_address || self.count != 0) {
                        return at_type(Reason::BadString);
                    }
                    used = used.wrapping_add(1);
                    Store::Text { offset: 0, of }
                }
            },
            None => match read {
                Some((offset, user)) => {
                    self.count = self.count.wrapping_sub(1);
                    Store::Memory { offset, user }
                }
                None => {
                    used = used.wrapping_add(1);
                    Store::Value
                }
            },
        };
        if used > OPS_MAX {
            let text = typed.ty.text.is_some();
            let errno = if text { Errno::Invalid } else { Errno::TooLong };
            return Err(Refused::new(Reason::TooManyOps, self.at).with(errno));
        }
        let bits = match typed.name {
            Some((name @ [b'b', ..], _)) => Some(bits(name, typed.ty)),
            Some(_) => None,
            None => {
                let place = self.known.and_then(|known| known.bits);
                place.map(|(offset, width)| Bits::new(offset.into(), width.into(), typed.ty))
            }
        };
        let bits = match bits {
            None => None,
            Some(Some(bits)) if used < OPS_MAX => {
                used = used.wrapping_add(1);
                Some(bits)
            }
            // Nobody has asked for a bit-field.
            Some(Some(_)) if typed.name.is_none() => return self.refuse(Reason::TooManyOps),
            Some(_) => return at_type(Reason::BadBitfield),
        };
        if typed.count.is_some() {
            let of_symbols = Store::Text {
                offset: 0,
                of: TextOf::Symbol,
            };
            let fits = match store {
                Store::Value => false,
                Store::Memory { user, .. } => !user,
                Store::Text { .. } => store != of_symbols,
            };
            if !fits {
                return at_type(Reason::BadString);
            }
            if used >= OPS_MAX {
                return Err(Refused::new(Reason::TooManyOps, self.at).with(Errno::TooLong));
            }
        }
        Ok(Program {
            load: self.load,
            steps: self.steps,
            step_count: self.count as u8,
            store,
            bits,
            size: typed.ty.size,
            count: typed.count,
        })
    }
}

/// `bWIDTH@OFFSET/SIZE`, of which the type has the size.
fn bits(name: &[u8], ty: &Type) -> Option<Bits> {
    let (width, rest) = prefix(name.get(1..)?);
    let digits = rest.strip_prefix(b"@")?;
    let (offset, rest) = prefix(digits);
    let has_digits = rest.len() != digits.len();
    match has_digits && rest.starts_with(b"/") {
        true => Bits::new(offset, width, ty),
        false => None,
    }
}

impl Bits {
    /// So many bits behind the first ones of a number of this type; none if it does not have them.
    fn new(offset: u64, width: u64, ty: &Type) -> Option<Self> {
        let all = u64::from(ty.size).wrapping_mul(8);
        let end = width.checked_add(offset)?;
        if width == 0 || end > all {
            return None;
        }
        Some(Self {
            left: u8::try_from(all.wrapping_sub(end)).ok()?,
            right: u8::try_from(all.wrapping_sub(width)).ok()?,
        })
    }
}

/// The number that `text` begins with, with C's prefixes, and what follows it; 0 without digits.
fn prefix(text: &[u8]) -> (u64, &[u8]) {
    let (radix, mut rest) = match text {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => {
            (16, text.get(2..).unwrap_or(&[]))
        }
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let mut number = 0_u64;
    while let [digit, behind @ ..] = rest {
        let Some(digit) = char::from(*digit).to_digit(radix) else {
            break;
        };
        number = number
            .saturating_mul(radix.into())
            .saturating_add(digit.into());
        rest = behind;
    }
    (number, rest)
}
