// SPDX-License-Identifier: GPL-2.0

//! Checks that printing an entry does not follow bad pointers: the `print fmt` is checked at
//! registration, and the strings of an entry before it is printed.

use crate::core::event::dereference::{examine, Wrong};
use crate::core::format::rust_name::prints_symbols;
use crate::core::parse::parser::until_nul;
use crate::kernel::printk as log;
use crate::kernel::trace_event::{Call, Field, Registered};
use kernel::fmt;
use kernel::prelude::*;
use kernel::str::CString;

/// Checks the `print fmt` of a new event and logs errors in C's words. Marks the event if the
/// strings of its entries must be checked, too, and if it prints symbols. Task context, may sleep.
pub(super) fn look_at(event: &mut Registered) {
    let mut has_strings = false;
    let call: &Call = event;
    let is_array = |name: &[u8]| named(call, name).map(|field| is_array(&field));
    examine(
        call.print_fmt().to_bytes(),
        &is_array,
        |_| has_strings = true,
        |wrong| say(call, wrong),
    );
    let shows_symbols = prints_symbols(call.print_fmt().to_bytes());
    if has_strings {
        event.mark(Call::TEST_STR);
    }
    if shows_symbols {
        event.mark(Call::SHOWS_SYMBOLS);
    }
}

fn say(call: &Call, wrong: Wrong<'_>) {
    let name = call.name();
    match wrong {
        Wrong::Unsafe(number) => {
            warn(fmt!(
                "event {} has unsafe dereference of argument {}\n",
                name,
                number
            ));
            warn(fmt!("print_fmt: {}\n", call.print_fmt()));
        }
        Wrong::Argument(argument) => warn(fmt!(
            "TRACE EVENT ERROR: Bad dereference argument: '{}'\n",
            core::str::from_utf8(argument).unwrap_or("?")
        )),
        Wrong::Double(argument) => warn(fmt!(
            "TRACE EVENT ERROR: Event {} has double dereference in TP_printk: {}\n",
            name,
            core::str::from_utf8(argument).unwrap_or("?")
        )),
    }
}

/// Without memory nothing is logged.
fn warn(what: fmt::Arguments<'_>) {
    if let Ok(text) = CString::try_from_fmt(what) {
        log::warn(until_nul(text.to_bytes()));
    }
}

fn named<'a>(call: &'a Call, name: &[u8]) -> Option<Field<'a>> {
    call.fields().find(|field| field.name.to_bytes() == name)
}

fn is_array(field: &Field<'_>) -> bool {
    field.ty.to_bytes().contains(&b'[')
}

/// The name of the field of `entry` whose string may have been freed, if there is one. Any context.
pub(super) fn string_elsewhere<'a>(call: &'a Call, entry: &[u8]) -> Option<&'a [u8]> {
    if !call.has(Call::TEST_STR) {
        return None;
    }
    let mut found = None;
    let stays = |name: &[u8]| {
        let field = named(call, name)?;
        let address = entry.get(field.offset..)?.first_chunk()?;
        let address = usize::from_ne_bytes(*address);
        let inside = address.wrapping_sub(entry.as_ptr() as usize) < entry.len();
        Some(inside || call.keeps(address))
    };
    examine(
        call.print_fmt().to_bytes(),
        &|name| named(call, name).map(|field| is_array(&field)),
        |name| {
            if found.is_none() && stays(name) != Some(true) {
                found = Some(name);
            }
        },
        |_| {},
    );
    found
}
