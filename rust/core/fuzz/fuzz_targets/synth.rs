// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a definition of a synthetic event: it is refused at a place that it has, or its fields
//! can be written, and an entry of any bytes printed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rtrace_core::event::synth::command::{Command, Definition, FIELDS_MAX};
use rtrace_core::event::synth::layout::{write_field, write_print_fmt, Named};
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

fn look_at(definition: Definition<'_>, line: &[u8], entry: &[u8]) {
    let mut fields = Vec::new();
    for field in definition.fields() {
        match field {
            Ok(field) => fields.push(Named {
                name: field.name,
                kind: field.kind,
            }),
            Err(refused) => {
                assert!(usize::from(refused.column(line)) <= line.len());
                return;
            }
        }
    }
    assert!((1..=FIELDS_MAX).contains(&fields.len()));
    let mut room = [0; 4096];
    let _ = write_print_fmt(fields.iter().copied(), &mut LineBuf::new(&mut room));
    let mut at = 8;
    for field in fields {
        let _ = write_field(field, entry, at, &World, &mut LineBuf::new(&mut room));
        at += field.kind.room();
    }
}

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |&byte| byte == b'\n');
    let (line, entry) = (parts.next().unwrap_or(&[]), parts.next().unwrap_or(&[]));
    let refused = match Command::parse(line) {
        Ok(Command::Define(definition)) => {
            look_at(definition, line, entry);
            None
        }
        Ok(Command::Remove(name)) => {
            assert!(name.len() < line.len());
            None
        }
        Err(refused) => Some(refused),
    };
    let other = match Definition::parse(line) {
        Ok(Some(definition)) => {
            look_at(definition, line, entry);
            None
        }
        Ok(None) => None,
        Err(refused) => Some(refused),
    };
    for refused in [refused, other].into_iter().flatten() {
        assert!(usize::from(refused.column(line)) <= line.len());
    }
});
