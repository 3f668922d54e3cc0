// SPDX-License-Identifier: GPL-2.0

//! What a probe records: its arguments, compiled once, from which fields, entries and lines follow.

use super::types::Known;
use crate::core::event::probe::argument::{self, Argument, Context, Machine, Saved, Word};
use crate::core::event::probe::command::{split_offset, Spot};
use crate::core::event::probe::error::Refused;
use crate::core::event::probe::layout::{self, Kind, Named};
use crate::core::event::probe::meta::Origin;
use crate::core::event::probe::program::{Plain, Source, Texts};
use crate::core::format::symbol::Style;
use crate::core::format::Out;
use crate::core::parse::number;
use crate::kernel::cold::copied;
use crate::kernel::dynamic_event::FieldText;
use crate::kernel::kallsyms;
use crate::kernel::text::{NulText, Text};
use crate::kernel::trace_event::COMMON;
use crate::trace::output::symbols::Kallsyms;
use core::fmt;
use core::mem::size_of;
use kernel::alloc::AllocError;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};

/// One of them.
struct Item {
    name: KVec<u8>,
    body: KVec<u8>,
    argument: Argument,
    /// Where the symbol is that it names.
    symbol: Atomic<usize>,
}

impl Item {
    /// As [`Arguments::find_symbols`].
    fn find_symbol(&self) -> Result {
        let Some(text) = self.argument.program.symbol() else {
            return Ok(());
        };
        let text = self.body.get(text).ok_or(EINVAL)?;
        let (name, offset) = split_offset(text);
        let offset = match offset {
            [] => 0,
            digits => {
                number::signed(digits, 0).map_err(|error| Error::from_errno(-error.errno()))?
            }
        };
        let address = kallsyms::address_of(name).ok_or(ENOENT)?;
        let address = address.wrapping_add_signed(offset as isize);
        self.symbol.store(address, Relaxed);
        Ok(())
    }
}

/// What they are, as far as hits ask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Each is a [`Plain`].
    Plain,
    /// None of them is a text.
    Values,
    /// Texts are among them, so that entries differ in size.
    Texts,
}

/// All of a probe.
pub(crate) struct Arguments {
    kind: Kind,
    /// What the entries are of, for those of another event.
    attached: KVec<u8>,
    items: KVec<Item>,
    form: Form,
    /// All of them, if each is one; else some, which are not looked at.
    plain: KVec<Plain>,
    /// Bytes of an entry without texts, with the common fields.
    entry: usize,
    /// Bytes of their values, without texts.
    size: usize,
    /// Bytes in front of them, behind the common fields.
    start: usize,
    /// The function's arguments that are saved at its entry.
    saved: KVec<u16>,
}

/// Why arguments cannot be compiled.
pub(crate) enum ArgumentError {
    /// There is no memory, or no such symbol.
    Errno(Error),
    /// What is wrong with one.
    Refused(Refused),
}

impl From<Error> for ArgumentError {
    fn from(error: Error) -> Self {
        Self::Errno(error)
    }
}

impl From<AllocError> for ArgumentError {
    fn from(error: AllocError) -> Self {
        Self::Errno(error.into())
    }
}

impl From<Refused> for ArgumentError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<ArgumentError> for Error {
    fn from(error: ArgumentError) -> Self {
        match error {
            ArgumentError::Errno(error) => error,
            ArgumentError::Refused(refused) => refused.errno.into(),
        }
    }
}

impl Arguments {
    /// Compiles `words`. Those of another event's entries have their symbols found one by one, before
    /// the next word is looked at. Task context, may sleep.
    pub(super) fn new<'a>(
        kind: Kind,
        words: impl Iterator<Item = (&'a [u8], Origin)>,
        spot: Spot,
        machine: &dyn Machine,
        known: &mut Known,
    ) -> Result<Self, ArgumentError> {
        let mut all = Self {
            kind,
            attached: KVec::new(),
            items: KVec::new(),
            form: Form::Plain,
            plain: KVec::new(),
            entry: 0,
            size: 0,
            start: kind.size(),
            saved: KVec::new(),
        };
        let mut saved = KBox::new(Saved::new(), GFP_KERNEL)?;
        for (at, (word, origin)) in words.enumerate() {
            let refused = |refused: Refused| ArgumentError::Refused(origin.refused(refused));
            let is_taken = |name: &[u8]| all.items.iter().any(|item| item.name.as_slice() == name);
            // As in C, also where the types say nothing.
            let has_types = cfg!(CONFIG_PROBE_EVENTS_BTF_ARGS);
            let parsed = Word::parse(word, has_types, is_taken).map_err(refused)?;
            let name = match parsed.name {
                Some(range) => Text::copy(word.get(range).unwrap_or(&[]))?,
                None => Text::of(|out| write_number(out, at))?,
            };
            if is_taken(&name) {
                return Err(refused(Refused::new(
                    crate::core::event::probe::error::Reason::UsedArgumentName,
                    0,
                )));
            }
            let body = Text::copy(word.get(parsed.body..).unwrap_or(&[]))?;
            let asked = known.asked;
            let (types, function) = known.parts();
            let mut context = Context {
                spot,
                machine,
                types,
                function,
                asked,
                saved: &mut saved,
                size: all.size,
            };
            let argument = argument::compile(&body, parsed.body, &mut context).map_err(refused)?;
            (all.size, known.asked) = (context.size, context.asked);
            let place = all.start.wrapping_add(argument.offset);
            match argument.program.plain(place) {
                _ if argument.program.has_texts() => all.form = Form::Texts,
                Some(plain) => all.plain.push(plain, GFP_KERNEL)?,
                None if all.form == Form::Plain => all.form = Form::Values,
                None => {}
            }
            let item = Item {
                name,
                body,
                argument,
                symbol: Atomic::new(0),
            };
            if matches!(kind, Kind::Event) {
                item.find_symbol()?;
            }
            all.items.push(item, GFP_KERNEL)?;
        }
        all.entry = COMMON.wrapping_add(all.start).wrapping_add(all.size);
        all.saved.extend_from_slice(saved.numbers(), GFP_KERNEL)?;
        Ok(all)
    }

    /// The same, made of entries of the event of this name.
    #[cfg(CONFIG_EPROBE_EVENTS)]
    pub(crate) fn of_event(self, attached: KVec<u8>) -> Self {
        Self { attached, ..self }
    }

    /// The function's arguments that are saved at its entry, counted from 0.
    pub(crate) fn saved(&self) -> &[u16] {
        &self.saved
    }

    fn named(&self) -> impl Iterator<Item = Named<'_>> + Clone {
        self.items.iter().map(|item| Named {
            name: &item.name,
            argument: &item.argument,
        })
    }

    /// The first argument, from 0 on, that is not stored as that of `other`, or has another name.
    pub(crate) fn differs_at(&self, other: &Self) -> Option<usize> {
        let (mine, others) = (&self.items, &other.items);
        if mine.len() != others.len() {
            return Some(mine.len().min(others.len()));
        }
        mine.iter().zip(others.iter()).position(|(one, other)| {
            one.argument.ty != other.argument.ty
                || one.argument.count != other.argument.count
                || one.name.as_slice() != other.name.as_slice()
        })
    }

    /// Whether all have the same text as those of `other`.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let both = self.items.iter().zip(other.items.iter());
        let mut same = both.map(|(one, other)| one.body.as_slice() == other.body.as_slice());
        self.items.len() == other.items.len() && same.all(|same| same)
    }

    /// Whether the words of a removal are the texts of the first arguments.
    pub(crate) fn begin_with(&self, words: &mut dyn Iterator<Item = &[u8]>) -> bool {
        let mut items = self.items.iter();
        for word in words {
            let same = items.next().is_some_and(|item| {
                let body = word
                    .strip_prefix(item.name.as_slice())
                    .and_then(|rest| rest.strip_prefix(b"="));
                body == Some(item.body.as_slice())
            });
            if !same {
                return false;
            }
        }
        true
    }

    /// Writes them as a definition has them, with a blank before each.
    pub(crate) fn show(&self, out: &mut dyn Out) -> fmt::Result {
        for item in &self.items {
            out.bytes(b" ")?;
            out.bytes(&item.name)?;
            out.bytes(b"=")?;
            out.bytes(&item.body)?;
        }
        Ok(())
    }

    /// Finds the symbols that they name. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` for one that is not there, `EINVAL` and `ERANGE` for a bad offset.
    pub(crate) fn find_symbols(&self) -> Result {
        self.items.iter().try_for_each(Item::find_symbol)
    }

    /// Where the symbol is that the argument of this number names. Any context.
    #[inline(always)]
    pub(crate) fn symbol(&self, number: usize) -> usize {
        let item = self.items.get(number);
        item.map_or(0, |item| item.symbol.load(Relaxed))
    }

    /// The text by which user space prints entries. `ENOMEM`.
    pub(crate) fn print_fmt(&self) -> Result<NulText> {
        Text::nul_text(|out| layout::write_print_fmt(self.kind, self.named(), out))
    }

    /// The fields of entries after the common ones. `ENOMEM`.
    pub(crate) fn fields(&self) -> Result<KVec<FieldText>> {
        let mut fields = KVec::new();
        for (at, word) in self.kind.words().iter().enumerate() {
            let field = FieldText {
                ty: NulText::try_from(c"unsigned long")?,
                name: Text::nul_text(|out| out.bytes(word.as_bytes()))?,
                offset: COMMON + at * 8,
                size: 8,
                signed: false,
                len: 0,
                is_stack: false,
            };
            fields.push(field, GFP_KERNEL)?;
        }
        for Named { name, argument } in self.named() {
            let field = FieldText {
                ty: Text::nul_text(|out| layout::write_type(argument, out))?,
                name: Text::nul_text(|out| out.bytes(name))?,
                offset: COMMON + self.kind.size() + argument.offset,
                size: argument.size(),
                signed: argument.ty.is_signed(),
                len: 0,
                is_stack: false,
            };
            fields.push(field, GFP_KERNEL)?;
        }
        Ok(fields)
    }

    /// Bytes of an entry, with the common fields, and how many of those are texts.
    #[inline(always)]
    pub(crate) fn entry_size(&self, source: impl Source) -> usize {
        match self.form {
            Form::Texts => self.entry.saturating_add(self.text_length(copied(source))),
            _ => self.entry,
        }
    }

    /// Bytes of the texts of an entry.
    #[inline(never)]
    fn text_length(&self, source: impl Source) -> usize {
        let lengths = self.items.iter().enumerate().map(|(number, item)| {
            let program = &item.argument.program;
            program.text_length(number, &item.body, source)
        });
        lengths.fold(0, usize::saturating_add)
    }

    /// Writes what is behind the common fields of an entry: the words that its kind begins with, and
    /// the values.
    #[inline(always)]
    pub(crate) fn store<const N: usize>(
        &self,
        words: [usize; N],
        source: impl Source,
        fields: &mut [u8],
    ) {
        let Some((front, _)) = fields.split_at_mut_checked(N * size_of::<usize>()) else {
            return;
        };
        for (to, word) in front.chunks_exact_mut(size_of::<usize>()).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        match self.form {
            Form::Plain => self.store_plain(source, fields),
            _ => self.store_values(copied(source), fields),
        }
    }

    /// [`Arguments::store_values`] of [`Form::Plain`].
    #[inline(always)]
    fn store_plain(&self, source: impl Source, fields: &mut [u8]) {
        for plain in &self.plain {
            plain.store(source, fields);
        }
    }

    /// Writes the values behind the common fields of an entry.
    #[inline(never)]
    fn store_values(&self, source: impl Source, fields: &mut [u8]) {
        let start = self.start;
        let mut texts = Texts {
            header: COMMON,
            next: start.wrapping_add(self.size),
        };
        for (number, item) in self.items.iter().enumerate() {
            let at = start.wrapping_add(item.argument.offset);
            let program = &item.argument.program;
            program.store(number, &item.body, source, fields, at, &mut texts);
        }
    }

    /// Prints an entry of the event `name`. Any context.
    pub(crate) fn print(
        &self,
        name: &[u8],
        entry: &[u8],
        (style, symbols): (Style, Kallsyms),
        out: &mut dyn Out,
    ) -> fmt::Result {
        let name = (name, self.attached.as_slice());
        layout::write_entry(name, self.kind, self.named(), entry, &symbols, style, out)
    }
}

/// The name of an argument that has none.
fn write_number(out: &mut Text, at: usize) -> fmt::Result {
    use core::fmt::Write;
    write!(out, "arg{}", at.saturating_add(1))
}
