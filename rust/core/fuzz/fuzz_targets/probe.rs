// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a definition: it is refused at a place that it has, or its arguments are compiled
//! and lie behind each other.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rtrace_core::event::probe::argument::{compile, Context, Machine, Saved, Word};
use rtrace_core::event::probe::command::{
    words, Definition, DefinitionError, Dentry, Found, NotFound, Removal, Spot, Symbols,
};
use rtrace_core::event::probe::error::{Reason, Refused};
use rtrace_core::event::probe::kernel_types::{Function, Member, Parameter, Shape, TypeId, Types};
use rtrace_core::event::probe::meta::expand;
use rtrace_core::event::probe::uprobe::Head;
use rtrace_core::format::LineBuf;

/// The kernel, or a program.
struct World {
    is_program: bool,
}

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

    fn is_program(&self) -> bool {
        self.is_program
    }
}

/// A kernel's types: structures in each other, with and without names, addresses, texts, numbers.
struct Known;

fn numbered(number: u32) -> TypeId {
    TypeId { object: 0, number }
}

impl Types for Known {
    fn function(&mut self, name: &[u8]) -> Option<Function> {
        let id = numbered(0);
        let function = Function {
            id,
            returned: (name.len() % 2 == 1).then_some(numbered(1)),
            first: 0,
            parameters: 3,
        };
        name.starts_with(b"a").then_some(function)
    }

    fn structure(&mut self, name: &[u8]) -> Option<TypeId> {
        name.starts_with(b"s").then_some(numbered(0))
    }

    fn parameter(&self, _prototype: TypeId, at: usize) -> Option<Parameter<'_>> {
        let name = *[&b"a"[..], b"b", b"c"].get(at)?;
        let ty = numbered(at as u32);
        Some(Parameter { name, ty })
    }

    fn member(&self, structure: TypeId, at: usize) -> Option<Member<'_>> {
        let number = structure.number;
        let inner = if number < 40 { 4 } else { 1 };
        let (name, other, bits) = *[
            (&b"a"[..], 1, 0),
            (b"b", 2, 3),
            (b"", inner, 0),
            (b"c", inner, 0),
        ]
        .get(at)?;
        if number % 4 != 0 {
            return None;
        }
        let (ty, offset) = (numbered(number + other), at as u32 * 37);
        Some(Member {
            name,
            ty,
            offset,
            bits,
        })
    }

    fn shape(&self, ty: TypeId) -> Shape {
        let number = ty.number;
        match number % 4 {
            0 => Shape::Structure,
            1 => Shape::Pointer(numbered(number + 3)),
            2 => Shape::Number {
                size: 1 << (number % 3),
                signed: number % 8 == 2,
            },
            _ => Shape::Array(numbered(number - 1)),
        }
    }
}

fn check(bytes: &[u8], refused: &Refused) {
    assert!(usize::from(refused.column(words(bytes))) <= bytes.len() + 1 || bytes.len() > 65000);
}

/// What arguments may ask for, where the definition is one.
fn in_kernel(bytes: &[u8]) -> Option<Spot> {
    let world = World { is_program: false };
    match Definition::parse(words(bytes), &world) {
        Ok(definition) => Some(definition.spot),
        Err(DefinitionError::OtherKind) => None,
        Err(DefinitionError::Refused(refused)) => {
            check(bytes, &refused);
            None
        }
    }
}

fn in_program(bytes: &[u8]) -> Option<Spot> {
    let definition = Head::parse(words(bytes)).and_then(|head| Ok(head.finish()?));
    match definition {
        Ok(definition) if definition.is_return => Some(Spot::Return),
        Ok(_) => Some(Spot::Inside),
        Err(DefinitionError::OtherKind) => None,
        Err(DefinitionError::Refused(refused)) => {
            check(bytes, &refused);
            None
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(head) = words(bytes).next() {
        let _ = Removal::parse(head);
    }
    if let Some(spot) = in_kernel(bytes) {
        let world = World { is_program: false };
        arguments(bytes, spot, &world, None);
        arguments(bytes, spot, &world, Some(&mut Known));
    }
    if let Some(spot) = in_program(bytes) {
        arguments(bytes, spot, &World { is_program: true }, None);
    }
});

fn arguments(bytes: &[u8], spot: Spot, machine: &World, mut types: Option<&mut dyn Types>) {
    let function = words(bytes)
        .nth(1)
        .and_then(|name| types.as_mut()?.function(name));
    let known = types.as_deref().zip(function);
    let _ = expand(words(bytes).skip(2), known, |word| {
        let refused = word.origin.refused(Refused::new(Reason::BadFetch, 0));
        check(bytes, &refused);
        Ok::<_, Refused>(())
    })
    .map_err(|refused| check(bytes, &refused));
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
        let Ok(parsed) = Word::parse(word, types.is_some(), |_| false) else {
            return;
        };
        let body = &word[parsed.body..];
        let mut context = Context {
            spot,
            machine,
            types: types.as_deref_mut().map(|types| types as &mut dyn Types),
            function,
            asked: false,
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
}
