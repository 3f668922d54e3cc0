// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a definition of a synthetic event: it is refused at a place that it has, or its fields
//! written again are the same, and an entry of any bytes is printed.

use rtrace_core::event::synth::command::{Command, Definition, Field, Refused, FIELDS_MAX};
use rtrace_core::event::synth::layout::{write_field, write_print_fmt, Named};
use rtrace_core::event::synth::types::{is_possible, is_signed, TEXT_ROOM};
use rtrace_core::format::symbol::Symbols;
use rtrace_core::format::{LineBuf, Out};

struct World;

impl Symbols for World {
    fn write_symbol(
        &self,
        addr: usize,
        _offset: bool,
        out: &mut dyn Out,
    ) -> Result<bool, core::fmt::Error> {
        let named = addr % 2 == 0;
        if named {
            out.bytes(b"symbol+0x0/0x1")?;
        }
        Ok(named)
    }
}

fn check(refused: &Refused<'_>, line: &[u8]) {
    let column = usize::from(refused.column(line));
    assert!(line[column..].starts_with(refused.text));
}

/// The type of a field as one text, and its definition.
fn written(field: &Field<'_>) -> (Vec<u8>, Vec<u8>) {
    let mut room = vec![0; 16 + field.ty.word.len() + field.ty.array.len()];
    let mut out = LineBuf::new(&mut room);
    field.ty.write(&mut out).unwrap();
    let ty = out.as_bytes().to_vec();
    let word = ty.strip_suffix(field.ty.array).unwrap();
    let definition = [word, b" ", field.name, field.ty.array].concat();
    (ty, definition)
}

fn look_at(definition: Definition<'_>, line: &[u8], entry: &[u8]) {
    let fields: Vec<_> = match definition.fields().collect() {
        Ok(fields) => fields,
        Err(refused) => return check(&refused, line),
    };
    assert!((1..=FIELDS_MAX).contains(&fields.len()));
    let mut again = definition.name.to_vec();
    for field in &fields {
        let (ty, text) = written(field);
        assert!(field.kind.size() <= TEXT_ROOM && field.kind.room() <= TEXT_ROOM);
        // What else has a kind holds the name of a stack or a text.
        assert!(is_possible(&ty) && (is_signed(field.kind, &ty) || !field.kind.is_dynamic()));
        again.extend_from_slice(b" ");
        again.extend_from_slice(&text);
        again.extend_from_slice(b";");
    }
    let Ok(Command::Define(other)) = Command::parse(&again) else {
        panic!("{}", again.escape_ascii());
    };
    assert_eq!(other.name, definition.name);
    assert!(other.fields().eq(fields.iter().copied().map(Ok)));

    let fields = fields.iter().map(|field| Named {
        name: field.name,
        kind: field.kind,
    });
    let mut room = [0; 4096];
    let _ = write_print_fmt(fields.clone(), &mut LineBuf::new(&mut room));
    let mut at = 8;
    for field in fields {
        let _ = write_field(field, entry, at, &World, &mut LineBuf::new(&mut room));
        at += field.kind.room();
    }
}

/// A line first, then an entry.
pub fn run(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |&byte| byte == b'\n');
    let (line, entry) = (parts.next().unwrap_or(&[]), parts.next().unwrap_or(&[]));
    match Command::parse(line) {
        Ok(Command::Define(definition)) => look_at(definition, line, entry),
        Ok(Command::Remove(name)) => assert!(name.len() < line.len()),
        Err(refused) => check(&refused, line),
    }
    match Definition::parse(line) {
        Ok(Some(definition)) => look_at(definition, line, entry),
        Ok(None) => {}
        Err(refused) => check(&refused, line),
    }
}
