// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a definition of a user event: it is refused, or what is shown of it defines the same
//! fields, and an entry of any bytes can be checked.

use rtrace_core::event::user::command::{same_fields, Definition, Field};
use rtrace_core::event::user::layout::{write_definition, write_print_fmt, Check};
use rtrace_core::event::user::request::{Bit, Register};
use rtrace_core::format::LineBuf;
use rtrace_core::parse::parser::is_space;

pub fn run(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |&byte| byte == b'\n');
    let (line, entry) = (parts.next().unwrap_or(&[]), parts.next().unwrap_or(&[]));
    if let Some(raw) = bytes.first_chunk() {
        if let Some(wanted) = Register::parse(raw) {
            assert!(wanted.bit.number < 64 && wanted.bit.address % 4 == 0);
        }
    }
    if let Some(raw) = bytes.first_chunk() {
        let _ = Bit::parse(raw);
    }
    let Ok(definition) = Definition::parse(line) else {
        return;
    };
    let _ = definition.has_good_name();
    let Ok(fields) = definition.fields().collect::<Result<Vec<_>, _>>() else {
        return;
    };
    let mut end = 8;
    for field in &fields {
        assert!(field.offset == end && field.size != 0);
        end = field.end();
        if let Some(check) = Check::of(field) {
            let _ = check.passes(entry);
        }
    }
    let mut room = vec![0; 8 * bytes.len() + 64];
    let _ = write_print_fmt(fields.iter().copied(), &mut LineBuf::new(&mut room));
    let mut out = LineBuf::new(&mut room);
    if write_definition(definition.name, fields.iter().copied(), &mut out).is_err() {
        return;
    }
    let shown = out.as_bytes();
    let shown = &shown[2..shown.len() - 1];
    let again = Definition::parse(shown).unwrap();
    let has_blank = |name: &[u8]| name.iter().any(|byte| is_space(*byte));
    let is_odd = |field: &Field<'_>| {
        has_blank(field.name) || has_blank(field.ty) && field.ty.contains(&b'\t')
    };
    if !fields.iter().any(is_odd) {
        let other: Vec<_> = again.fields().map(Result::unwrap).collect();
        assert_eq!(other, fields);
    }
    // The words of what is shown are those of the definition, but for blanks. As in C, a type without
    // a word behind `struct` or `__rel_loc` is never the same.
    let is_plain = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let is_whole = fields.iter().all(|field| !field.ty.ends_with(b" "));
    if line.iter().all(is_plain) && is_whole {
        assert!(same_fields(fields.iter().copied(), again.words()));
    }
}
