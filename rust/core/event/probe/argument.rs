// SPDX-License-Identifier: GPL-2.0

//! Arguments of definitions, `[NAME=]FETCH[:TYPE]`, compiled.
//!
//! | module | has |
//! | --- | --- |
//! | `word` | the name in front |
//! | `typed` | the type behind |
//! | `fetch` | what is between them: what is fetched |
//! | `named` | parameters and members by name, in there |
//! | `store` | how the value is stored |
//!
//! Carets stand where C's do, also where that is beside the place.

mod fetch;
mod named;
mod store;
mod typed;
mod word;

use super::command::Spot;
use super::error::{Errno, Reason, Refused};
use super::kernel_types::{Function, Types};
use super::program::{Field, Program};
use super::types::Type;
use fetch::Fetch;
use typed::Typed;

pub use word::Word;

/// Bytes of an argument at most.
const LONGEST: usize = 255;
/// Bytes of all arguments in an entry at most, without texts.
const ENTRY_MAX: usize = 3072;
/// Arguments at most.
pub const ARGUMENTS_MAX: usize = 128;

/// What the machine has.
pub trait Machine {
    /// The register of this name, as [`super::program::Load::Register`] has it.
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
    let mut fetch = Fetch::new(body, start, context);
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
