// SPDX-License-Identifier: GPL-2.0

//! Prints entries of events, with the functions of the generated code.
//!
//! These functions need a [`Printing`]. Four of them are kept for reuse. If all are in use, a
//! caller that may sleep waits for one more, and a caller that may not sleep takes the emergency
//! one.

use super::check;
use crate::core::event::field::Kind;
use crate::core::format::entry::Common;
use crate::core::format::fields::{self, Shown};
use crate::core::format::rust_name::{parts, Part};
use crate::core::format::symbol::Symbols;
use crate::core::format::Out;
use crate::core::parse::options::{Flag, Set};
use crate::kernel::kallsyms;
use crate::kernel::nofault;
use crate::kernel::reserved;
use crate::kernel::trace_event::Call;
use crate::kernel::trace_event_print::{Entry, Form, Printing};
use crate::kernel::try_lock::TryLock;
use crate::kernel::{context::PreemptCount, trace_event_types as types};
use crate::trace::output::line::Printer;
use crate::trace::output::symbols::Kallsyms;
use crate::trace::output::{Record, Style};
use core::fmt;
use kernel::prelude::*;
use kernel::sync::{new_mutex, Mutex, SetOnce};

/// The ones kept for reuse.
static KEPT: [TryLock<Option<KVBox<Printing>>>; 4] = [const { TryLock::new(None) }; 4];
/// The one that tasks wait for.
static LAST: SetOnce<Pin<KBox<Mutex<KVBox<Printing>>>>> = SetOnce::new();
/// The one for callers that cannot wait.
static EMERGENCY: TryLock<Printing> = TryLock::new(Printing::zeroed());

/// Allocates the one that tasks wait for. Once, at boot, before the first entry is printed.
/// `ENOMEM`.
pub(super) fn init() -> Result {
    let last = Printing::new()?;
    LAST.populate(KBox::pin_init(new_mutex!(last), GFP_KERNEL)?);
    Ok(())
}

/// Runs `f` on a free one. `None` if none is free and the caller may not sleep. Any context.
fn with_printing<R>(f: impl FnOnce(&mut Printing) -> R) -> Option<R> {
    let count = PreemptCount::read();
    let may_sleep = !count.is_atomic() && !crate::kernel::context::irqs_off();
    for place in &KEPT {
        if let Some(mut kept) = place.try_take() {
            if kept.is_none() && may_sleep {
                *kept = Printing::new().ok();
            }
            if let Some(printing) = &mut *kept {
                return Some(f(printing));
            }
        }
    }
    if let Some(last) = LAST.as_ref().filter(|_| may_sleep) {
        return Some(f(&mut last.lock()));
    }
    EMERGENCY.try_take().map(|mut printing| f(&mut printing))
}

/// How a field of type `ty` is shown that has `size` bytes. Any context.
pub(super) fn shown(kind: Kind, ty: &[u8], size: usize) -> Shown {
    let has = |part: &[u8]| ty.windows(part.len()).any(|at| at == part);
    match kind {
        Kind::Comm | Kind::Array => Shown::Text,
        Kind::DataLoc => Shown::DynText { relative: false },
        Kind::RelLoc => Shown::DynText { relative: true },
        Kind::Pointer => Shown::Pointer,
        Kind::Function => Shown::Function,
        Kind::Cpu | Kind::Number if size == 4 && has(b"__data_loc") => {
            Shown::Array { relative: false }
        }
        Kind::Cpu | Kind::Number if size == 4 && has(b"__rel_loc") => {
            Shown::Array { relative: true }
        }
        Kind::Cpu | Kind::Number => Shown::Number,
        Kind::CpuMask | Kind::Stacktrace => Shown::Invalid,
    }
}

/// Texts that fields point to, in the memory of now.
pub(super) struct TextAt<'a>(pub(super) &'a Kallsyms);

impl fields::Texts for TextAt<'_> {
    fn write(&self, addr: usize, out: &mut dyn Out) -> fmt::Result {
        let mut room = [0; 128];
        match nofault::text(&mut room, self.0.current_addr(addr), false) {
            Some(text) => {
                out.bytes(b":")?;
                out.bytes(text)
            }
            None => Ok(()),
        }
    }
}

/// Prints an entry field by field.
fn write_fields(call: &Call, entry: &[u8], style: &Style, out: &mut dyn Out) -> fmt::Result {
    out.bytes(call.name().to_bytes())?;
    out.bytes(b":")?;
    let mut any = false;
    for field in call.fields() {
        any = true;
        let field = fields::Field {
            name: field.name.to_bytes(),
            offset: field.offset,
            size: field.size,
            shown: shown(field.kind, field.ty.to_bytes(), field.size),
        };
        let text = reserved::text_start();
        fields::write(
            &field,
            entry,
            text,
            &style.symbols,
            &TextAt(&style.symbols),
            out,
        )?;
    }
    if !any {
        out.bytes(b"No fields found")?;
    }
    out.bytes(b"\n")
}

/// Prints, in place of an entry, that the string of `field` may have been freed.
fn complain(call: &Call, field: &[u8], out: &mut dyn Out) -> fmt::Result {
    out.bytes(b"EVENT ")?;
    out.bytes(call.name().to_bytes())?;
    out.bytes(b": HAS UNSAFE POINTER FIELD '")?;
    out.bytes(field)?;
    out.bytes(b"'\n")
}

/// The bit for [`Flag::RustDemangle`] in the flags that an event's own printing gets. C has none there.
const DEMANGLE: c_int = 1 << 29;

/// How an event's own printing that got `flags` shows addresses.
pub(super) fn symbols_of(flags: c_int) -> Kallsyms {
    let set = Set::NONE.with(Flag::RustDemangle, flags & DEMANGLE != 0);
    Kallsyms::new(set, None)
}

/// Writes what the generated code has printed, with the names of Rust functions as people read them.
fn write_demangled(text: &[u8], out: &mut dyn Out) -> fmt::Result {
    parts(text).try_for_each(|part| match part {
        Part::Text(text) => out.bytes(text),
        Part::Name(name) => kallsyms::write_shown(name, true, &mut &mut *out),
    })
}

/// The printer of events.
pub(crate) struct Events;

impl Printer for Events {
    fn print(
        &self,
        record: &Record<'_>,
        style: &Style,
        out: &mut dyn Out,
    ) -> Result<bool, fmt::Error> {
        let set = style.set;
        let form = match () {
            () if set.has(Flag::Bin) => Form::Binary,
            () if set.has(Flag::Hex) => Form::Hex,
            () if set.has(Flag::Raw) => Form::Raw,
            () => Form::Text,
        };
        let symbol_flags = [Flag::PrintParent, Flag::SymOffset, Flag::SymAddr]
            .iter()
            .enumerate()
            .fold(0, |bits, (at, &flag)| {
                bits | c_int::from(set.has(flag)) << at
            });
        let paths = set.has(Flag::RustDemangle);
        let demangle = if paths { DEMANGLE } else { 0 };
        let entry = Entry {
            data: record.data,
            cpu: record.cpu.as_u32(),
            ts: record.ts,
            instance: style.instance,
            symbol_flags: symbol_flags | demangle,
            paths: paths && form == Form::Text,
        };
        // Entries of another kernel's boot must not be printed by code of this kernel, except system
        // calls, which rtrace prints itself.
        let by_fields = |call: &Call| {
            let is_own = call.system() == c"syscalls";
            set.has(Flag::Fields) || style.symbols.is_of_previous_boot() && !is_own
        };
        let printed = with_printing(|printing| {
            types::with_known_at(record.id(), record.moment, record.held, |event| {
                let is_text = form == Form::Text;
                if let Some(call) = event.call().filter(|call| is_text && by_fields(call)) {
                    return write_fields(call, record.data, style, out);
                }
                let shows_symbols = event
                    .call()
                    .is_some_and(|call| call.has(Call::SHOWS_SYMBOLS));
                match printing.print(event, entry, form) {
                    Some((text, true)) if shows_symbols => write_demangled(text, out),
                    Some((text, _)) => out.bytes(text),
                    None => Err(fmt::Error),
                }
            })
        });
        match printed {
            // A dump on this CPU was interrupted by another dump while it printed an event.
            None => Err(fmt::Error),
            Some(None) => Ok(false),
            Some(Some(result)) => result.map(|()| true),
        }
    }

    fn refuses(&self, record: &[u8], out: &mut dyn Out) -> Result<bool, fmt::Error> {
        let Ok(common) = Common::parse(record) else {
            return Ok(false);
        };
        let refused = types::with(common.id, |event| {
            let call = event.call()?;
            let field = check::string_elsewhere(call, record)?;
            Some(complain(call, field, out))
        });
        refused
            .flatten()
            .map_or(Ok(false), |said| said.map(|()| true))
    }
}
