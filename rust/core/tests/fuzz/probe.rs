// SPDX-License-Identifier: GPL-2.0

//! Any bytes as the definition of a probe: it is refused at a place that it has, or what it means
//! written again means the same, its arguments lie behind each other, and they record and print an
//! entry from any memory.

use core::fmt::Debug;
use rtrace_core::event::probe::argument::{
    compile, Argument, Context, Machine, Saved, Word, ARGUMENTS_MAX,
};
use rtrace_core::event::probe::command::{
    words, Definition, DefinitionError, Dentry, Found, NotFound, Place, Removal, Spot, Symbols,
};
use rtrace_core::event::probe::error::Refused;
use rtrace_core::event::probe::kernel_types::{Function, Member, Parameter, Shape, TypeId, Types};
use rtrace_core::event::probe::layout::{write_entry, write_print_fmt, Kind, Named};
use rtrace_core::event::probe::meta::{asks, expand};
use rtrace_core::event::probe::program::{Field, FieldValue, Source, Texts};
use rtrace_core::event::probe::types::TextOf;
use rtrace_core::event::probe::uprobe::Head;
use rtrace_core::event::probe::{attached, function};
use rtrace_core::format::symbol::{self, Style};
use rtrace_core::format::{LineBuf, Out};

/// The kernel, or a program.
struct World {
    is_program: bool,
    has_registers: bool,
}

const KERNEL: World = World {
    is_program: false,
    has_registers: true,
};

impl Symbols for World {
    fn find(&self, symbol: &[u8], offset: u64) -> Result<Found, NotFound> {
        match (symbol.first(), offset) {
            (Some(b'a'..=b'm' | b'v' | b'<'), 0) => Ok(Found::Entry),
            (Some(b'a'..=b'm' | b'v' | b'<'), _) => Ok(Found::Inside),
            (Some(b'n'..=b'p'), _) => Err(NotFound::NotUnique),
            (Some(b'q'..=b's'), _) => Ok(Found::Later),
            _ => Err(NotFound::Missing),
        }
    }
}

impl Machine for World {
    fn register(&self, name: &[u8]) -> Option<u16> {
        let registers: [&[u8]; 3] = [b"ax", b"di", b"si"];
        let at = registers.iter().position(|known| *known == name)?;
        Some(at as u16 * 8)
    }

    fn stack_words(&self) -> u64 {
        2048
    }

    fn is_program(&self) -> bool {
        self.is_program
    }

    fn has_registers(&self) -> bool {
        self.has_registers
    }

    fn field(&self, name: &[u8]) -> Option<Field> {
        let value = match name {
            b"prev_pid" => FieldValue::number(4, true),
            b"prev_comm" => FieldValue::Address,
            b"filename" => FieldValue::Elsewhere,
            b"name" => FieldValue::Behind,
            _ => return None,
        };
        Some(Field { offset: 8, value })
    }
}

/// A kernel's types: structures in each other, with and without names, addresses, texts, numbers.
struct Known;

fn numbered(number: u32) -> TypeId {
    TypeId { object: 0, number }
}

impl Types for Known {
    fn function(&mut self, name: &[u8]) -> Option<Function> {
        let function = Function {
            id: numbered(0),
            returned: (name.len() % 2 == 0).then_some(numbered(1)),
            first: 0,
            parameters: 3,
        };
        matches!(name.first(), Some(b'a' | b'v')).then_some(function)
    }

    fn structure(&mut self, name: &[u8]) -> Option<TypeId> {
        matches!(name.first(), Some(b'f' | b't')).then_some(numbered(0))
    }

    fn parameter(&self, _prototype: TypeId, at: usize) -> Option<Parameter<'_>> {
        let name = *[&b"file"[..], b"buf", b"count"].get(at)?;
        let ty = numbered(at as u32 + 1);
        Some(Parameter { name, ty })
    }

    fn member(&self, structure: TypeId, at: usize) -> Option<Member<'_>> {
        let number = structure.number;
        let inner = if number < 40 { 4 } else { 1 };
        let (name, other, bits) = *[
            (&b"f_path"[..], 1, 0),
            (b"pid", 2, 3),
            (b"", inner, 0),
            (b"name", inner, 0),
        ]
        .get(at)?;
        if number % 4 != 0 {
            return None;
        }
        let (ty, offset) = (numbered(number + other), at as u32 * 40);
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

/// Registers and memory of which some can be read. A text may have become another between being
/// measured and being read.
#[derive(Clone, Copy)]
struct Hit<'a> {
    entry: &'a [u8],
    changes: bool,
}

impl Source for Hit<'_> {
    fn register(&self, at: u16) -> u64 {
        u64::from(at) + 1
    }

    fn stack(&self, at: u32) -> u64 {
        u64::from(at) << 40
    }

    fn stack_pointer(&self) -> u64 {
        u64::MAX
    }

    fn returned(&self) -> u64 {
        7
    }

    fn comm(&self) -> u64 {
        16
    }

    fn current(&self) -> u64 {
        1 << 63
    }

    fn argument(&self, at: u16) -> u64 {
        u64::from(at) * 1000
    }

    fn saved(&self, at: u16) -> u64 {
        u64::from(at)
    }

    fn in_file(&self, offset: u64) -> u64 {
        offset
    }

    fn field(&self, field: Field) -> u64 {
        match field.value {
            FieldValue::Number { .. } => field.value(self.entry),
            // What it is depends on where the entry is.
            _ => u64::from(field.value(self.entry) != 0),
        }
    }

    fn symbol(&self, argument: usize) -> u64 {
        argument as u64
    }

    fn this_cpu(&self, address: u64) -> u64 {
        address ^ 1
    }

    fn read(&self, user: bool, address: u64, to: &mut [u8]) -> bool {
        to.fill(address as u8);
        address % 5 != u64::from(user)
    }

    fn text_length(&self, _: TextOf, address: u64) -> usize {
        (address % 41) as usize
    }

    fn text(&self, of: TextOf, address: u64, to: &mut [u8]) -> usize {
        let more = if self.changes { 10 } else { 0 };
        let length = match self.text_length(of, address) {
            0 => more,
            length => length + more,
        };
        let Some((end, text)) = to
            .get_mut(..length.min(to.len()))
            .and_then(<[u8]>::split_last_mut)
        else {
            return 0;
        };
        text.fill(b'x');
        *end = 0;
        text.len() + 1
    }
}

struct Names;

impl symbol::Symbols for Names {
    fn write_symbol(
        &self,
        address: usize,
        _offset: bool,
        out: &mut dyn Out,
    ) -> Result<bool, core::fmt::Error> {
        let is_named = address % 2 == 0;
        if is_named {
            out.bytes(b"f+0x1/0x2")?;
        }
        Ok(is_named)
    }
}

fn check(bytes: &[u8], refused: &Refused) {
    let length = words(bytes).map(|word| word.len() + 1).sum::<usize>();
    assert!(usize::from(refused.column(words(bytes))) <= length);
}

/// The definition that this is, if it is one.
fn defined<T>(bytes: &[u8], result: Result<T, DefinitionError>) -> Option<T> {
    match result {
        Ok(definition) => Some(definition),
        Err(DefinitionError::OtherKind) => None,
        Err(DefinitionError::Refused(refused)) => {
            check(bytes, &refused);
            None
        }
    }
}

/// A definition with a head, a name, a place, and the arguments of `bytes`.
fn definition(
    head: String,
    (group, event): (Option<&[u8]>, Option<&[u8]>),
    place: Vec<u8>,
    bytes: &[u8],
) -> Vec<u8> {
    let mut text = head.into_bytes();
    if group.is_some() || event.is_some() {
        text.push(b':');
    }
    if let Some(group) = group {
        text.extend_from_slice(group);
        text.push(b'/');
    }
    text.extend_from_slice(event.unwrap_or(&[]));
    let rest = words(bytes).skip(2);
    for word in [&place[..]].into_iter().chain(rest) {
        text.push(b' ');
        text.extend_from_slice(word);
    }
    text
}

/// What was written again means the same. A line with a NUL is refused before it is parsed.
fn is_same<T: PartialEq + Debug>(bytes: &[u8], again: Result<T, DefinitionError>, found: T) {
    if !bytes.contains(&0) {
        assert_eq!(again, Ok(found));
    }
}

fn of_kernel(bytes: &[u8]) -> Option<Event> {
    let found = defined(bytes, Definition::parse(words(bytes), &KERNEL))?;
    let place = match found.place {
        Place::Address(address) => format!("{address}").into_bytes(),
        Place::Symbol { symbol, offset } => {
            let _ = found.write_name(symbol, offset, &mut LineBuf::new(&mut [0; 80]));
            [symbol, format!("+{offset}").as_bytes()].concat()
        }
    };
    let head = match (found.is_return, found.maxactive) {
        (false, _) => "p".into(),
        (true, 0) => "r".into(),
        (true, maxactive) => format!("r{maxactive}"),
    };
    let again = definition(head, (found.group, found.event), place, bytes);
    is_same(bytes, Definition::parse(words(&again), &KERNEL), found);
    let kind = match found.is_return {
        true => Kind::Return,
        false => Kind::Entry,
    };
    Some(Event::new(found.spot, kind, words(bytes).nth(1)))
}

fn of_program(bytes: &[u8]) -> Option<Event> {
    let parse = |bytes| Head::parse(words(bytes)).and_then(|head| Ok(head.finish()?));
    let found = defined(bytes, parse(bytes))?;
    let _ = found.write_name(&mut LineBuf::new(&mut [0; 80]));
    let place = format!(":{}({})", found.offset, found.counter).into_bytes();
    let place = [found.path, &place].concat();
    let head = if found.is_return { "r" } else { "p" };
    let again = definition(head.into(), (found.group, found.event), place, bytes);
    is_same(bytes, parse(&again), found);
    let (spot, kind) = match found.is_return {
        true => (Spot::Return, Kind::ProgramReturn),
        false => (Spot::Inside, Kind::ProgramEntry),
    };
    Some(Event::new(spot, kind, None))
}

fn of_function(bytes: &[u8]) -> Option<Event> {
    use function::Definition;
    let found = defined(bytes, Definition::parse(words(bytes)))?;
    let mut room = [0; 64];
    let mut name = LineBuf::new(&mut room);
    found.write_name(&mut name).unwrap();
    let mut place = found.target.to_vec();
    if found.is_return {
        place.extend_from_slice(b"%return");
    }
    let head = if found.is_tracepoint { "t" } else { "f" };
    let again = definition(head.into(), (found.group, found.event), place, bytes);
    is_same(bytes, Definition::parse(words(&again)), found);
    let kind = match found.is_return {
        true => Kind::Return,
        false => Kind::Entry,
    };
    let mut event = Event::new(found.spot(), kind, Some(found.target));
    event.has_registers = false;
    Some(event)
}

fn of_event(bytes: &[u8]) -> Option<Event> {
    use attached::Definition;
    let found = defined(bytes, Definition::parse(words(bytes)))?;
    assert!(found.arguments <= ARGUMENTS_MAX);
    let place = [found.of_system, found.of_event].join(&b'.');
    let again = definition("e".into(), (found.group, Some(found.event)), place, bytes);
    is_same(bytes, Definition::parse(words(&again)), found);
    let mut event = Event::new(Spot::Event, Kind::Event, None);
    event.words = found.arguments;
    event.has_registers = false;
    Some(event)
}

/// An event, the arguments of which are compiled.
struct Event {
    spot: Spot,
    kind: Kind,
    function: Option<Vec<u8>>,
    /// So many words are arguments.
    words: usize,
    has_registers: bool,
    names: Vec<Vec<u8>>,
    bodies: Vec<Vec<u8>>,
    arguments: Vec<Argument>,
    size: usize,
}

impl Event {
    fn new(spot: Spot, kind: Kind, function: Option<&[u8]>) -> Self {
        Self {
            spot,
            kind,
            function: function.map(<[u8]>::to_vec),
            words: usize::MAX,
            has_registers: true,
            names: Vec::new(),
            bodies: Vec::new(),
            arguments: Vec::new(),
            size: 0,
        }
    }

    fn compile(
        &mut self,
        bytes: &[u8],
        machine: &dyn Machine,
        mut types: Option<&mut dyn Types>,
    ) -> Result<(), Refused> {
        let function = self
            .function
            .as_ref()
            .and_then(|name| types.as_mut()?.function(name));
        let line = words(bytes).skip(2).take(self.words);
        let mut asked = asks(line.clone());
        let mut all = Vec::new();
        let known = types.as_deref().zip(function);
        expand(line, known, |expanded| {
            all.push(([expanded.name, expanded.rest].concat(), expanded.origin));
            Ok::<_, Refused>(())
        })?;
        assert!(all.len() <= ARGUMENTS_MAX);
        let mut saved = Saved::new();
        for (word, origin) in all {
            let mut memory = [0; 300];
            let mut out = LineBuf::new(&mut memory);
            let dentry = Dentry {
                name: 40,
                of_file: 72,
            };
            let (word, origin) = match dentry.expand(&word, &mut out) {
                Ok(true) => (out.as_bytes().to_vec(), origin.whole()),
                _ => (word, origin),
            };
            let is_taken = |name: &[u8]| self.names.iter().any(|known| known == name);
            let refused = |refused: Refused| {
                assert!(refused.offset <= word.len() + 1);
                origin.refused(refused)
            };
            let parsed = Word::parse(&word, types.is_some(), is_taken).map_err(refused)?;
            let body = &word[parsed.body..];
            let mut context = Context {
                spot: self.spot,
                machine,
                types: types.as_deref_mut().map(|types| types as &mut dyn Types),
                function,
                asked,
                saved: &mut saved,
                size: self.size,
            };
            let argument = compile(body, parsed.body, &mut context).map_err(refused)?;
            asked = context.asked;
            assert_eq!(argument.offset, self.size);
            self.size += argument.size();
            assert!(self.size <= 3072 && context.size == self.size);
            if let Some(symbol) = argument.program.symbol() {
                assert!(symbol.end <= body.len());
            }
            let name = parsed.name.map_or(b"arg".to_vec(), |at| word[at].to_vec());
            self.names.push(name);
            self.bodies.push(body.to_vec());
            self.arguments.push(argument);
        }
        Ok(())
    }

    fn hit(&self, bytes: &[u8], changes: bool) {
        let hit = Hit {
            entry: bytes,
            changes,
        };
        let each = || self.arguments.iter().zip(&self.bodies).enumerate();
        let start = self.kind.size();
        let lengths = each().map(|(at, (argument, body))| {
            let length = argument.program.text_length(at, body, hit);
            assert!(length == 0 || argument.program.has_texts());
            length
        });
        let dynamic = lengths.sum::<usize>();
        let mut entry = vec![0xaa; 8 + start + self.size + dynamic];
        let mut texts = Texts {
            header: 8,
            next: start + self.size,
        };
        for (at, (argument, body)) in each() {
            let place = start + argument.offset;
            let (program, fields) = (&argument.program, &mut entry[8..]);
            let before = fields[..place].to_vec();
            program.store(at, body, hit, fields, place, &mut texts);
            assert!(before == fields[..place] && texts.next <= fields.len());
        }
        let plain = each().map(|(_, (argument, _))| {
            let place = start + argument.offset;
            argument.program.plain(place)
        });
        if let Some(all) = plain.collect::<Option<Vec<_>>>() {
            let mut same = entry.clone();
            same[8 + start..].fill(0x55);
            all.iter()
                .for_each(|plain| plain.store(hit, &mut same[8..]));
            assert_eq!(entry, same);
        }
        let named = self.names.iter().zip(&self.arguments);
        let named = named.map(|(name, argument)| Named { name, argument });
        let mut room = [0; 4096];
        let _ = write_print_fmt(self.kind, named.clone(), &mut LineBuf::new(&mut room));
        for entry in [&entry, bytes] {
            let style = Style {
                offset: true,
                addr: false,
            };
            let out = &mut LineBuf::new(&mut room);
            let _ = write_entry(
                (b"ev", b"sys.ev"),
                self.kind,
                named.clone(),
                entry,
                &Names,
                style,
                out,
            );
        }
    }

    fn run(mut self, bytes: &[u8], types: Option<&mut dyn Types>) {
        let world = World {
            is_program: matches!(self.kind, Kind::ProgramEntry | Kind::ProgramReturn),
            has_registers: self.has_registers,
        };
        match self.compile(bytes, &world, types) {
            Err(refused) => check(bytes, &refused),
            Ok(()) => [false, true]
                .into_iter()
                .for_each(|changes| self.hit(bytes, changes)),
        }
    }
}

pub fn run(bytes: &[u8]) {
    if let Some(head) = words(bytes).next() {
        if let Some(removal) = Removal::parse(head) {
            assert!(removal.group.map_or(0, <[u8]>::len) + removal.event.len() < head.len());
        }
    }
    for of in [of_kernel, of_function, of_event] {
        for has_types in [false, true] {
            if let Some(event) = of(bytes) {
                event.run(bytes, has_types.then_some(&mut Known));
            }
        }
    }
    if let Some(event) = of_program(bytes) {
        event.run(bytes, None);
    }
}
