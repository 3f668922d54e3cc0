// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a definition: it is refused at a place that it has, or its arguments are compiled
//! and lie behind each other.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rtrace_core::event::probe::argument::{compile, Context, Machine, Saved, Word};
use rtrace_core::event::probe::command::{
    words, Definition, Dentry, Found, No, NotFound, Removal, Symbols,
};
use rtrace_core::format::LineBuf;

struct World;

impl Symbols for World {
    fn find(&self, symbol: &[u8], offset: u64) -> Result<Found, NotFound> {
        match (symbol.first(), offset) {
            (Some(b'a'..=b'm'), 0) => Ok(Found::Entry),
            (Some(b'a'..=b'm'), _) => Ok(Found::Inside),
            (Some(b'n'..=b'p'), _) => Err(NotFound::NotUnique),
            (Some(b'q'..=b's'), _) => Ok(Found::Later),
            _ => Err(NotFound::Missing),
        }
    }
}

impl Machine for World {
    fn register(&self, name: &[u8]) -> Option<u16> {
        (name == b"di").then_some(112)
    }

    fn stack_words(&self) -> u64 {
        2048
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(head) = words(bytes).next() {
        let _ = Removal::parse(head);
    }
    let definition = match Definition::parse(words(bytes), &World) {
        Ok(definition) => definition,
        Err(No::Other) => return,
        Err(No::Refused(refused)) => {
            assert!(
                usize::from(refused.column(words(bytes))) <= bytes.len() + 1 || bytes.len() > 65000
            );
            return;
        }
    };
    let mut saved = Saved::new();
    let mut size = 0;
    for word in words(bytes).skip(2) {
        let mut memory = [0; 256];
        let mut line = LineBuf::new(&mut memory);
        let dentry = Dentry {
            name: 40,
            of_file: 72,
        };
        let _ = dentry.expand(word, &mut line);
        let Ok(parsed) = Word::parse(word, |_| false) else {
            return;
        };
        let body = &word[parsed.body..];
        let mut context = Context {
            spot: definition.spot,
            machine: &World,
            saved: &mut saved,
            size,
        };
        match compile(body, parsed.body, &mut context) {
            Ok(argument) => {
                assert_eq!(argument.offset, size);
                size += argument.size();
                assert!(size <= 3072 && context.size == size);
                if let Some(symbol) = argument.program.symbol() {
                    assert!(symbol.end <= body.len());
                }
            }
            Err(refused) => {
                assert!(refused.offset <= word.len() + 1);
                return;
            }
        }
    }
});
