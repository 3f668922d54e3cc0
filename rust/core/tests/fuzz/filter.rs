// SPDX-License-Identifier: GPL-2.0

//! Any bytes as a filter: it is refused at a place in the text, or its program goes forward only and
//! says of any entry what a simple evaluator of the text says.

use core::ops::Range;
use rtrace_core::event::field::{of_every_event, Field, Kind};
use rtrace_core::event::filter::error::Refused;
use rtrace_core::event::filter::parse::compile;
use rtrace_core::event::filter::program::{
    matches_plain, plain, Outside, Program, Step, ACCEPT, REJECT,
};
use rtrace_core::event::filter::{NoMemory, Scope, Storage};
use rtrace_core::format::LineBuf;
use rtrace_core::parse::parser::is_space;

const CPUS: usize = 70;

struct Event {
    is_function_event: bool,
}

impl Scope for Event {
    fn field(&self, name: &[u8]) -> Option<Field> {
        let (kind, offset, size, signed) = match name {
            b"u8" => (Kind::Number, 8, 1, false),
            b"s8" => (Kind::Number, 9, 1, true),
            b"u16" => (Kind::Number, 10, 2, false),
            b"s32" => (Kind::Number, 12, 4, true),
            b"u64" => (Kind::Number, 16, 8, false),
            b"s64" => (Kind::Number, 24, 8, true),
            b"name" => (Kind::Array, 32, 8, true),
            b"tail" => (Kind::Array, 32, 0, true),
            b"loc" => (Kind::DataLoc, 40, 4, true),
            b"rel" => (Kind::RelLoc, 44, 4, true),
            b"ptr" => (Kind::Pointer, 48, 8, false),
            b"mask" => (Kind::CpuMask, 56, 4, false),
            b"odd" => (Kind::Number, 60, 3, false),
            b"on" => (Kind::Number, 64, 4, false),
            b"ip" => (Kind::Function, 16, 8, false),
            _ => return None,
        };
        Some(Field {
            kind,
            offset,
            size,
            signed,
        })
    }

    fn function(&self, name: &[u8]) -> Option<Range<u64>> {
        (name == b"schedule").then_some(0x1000..0x1080)
    }

    fn function_at(&self, address: u64) -> Option<Range<u64>> {
        (0x1000..0x1080)
            .contains(&address)
            .then_some(0x1000..0x1080)
    }

    fn cpus(&self) -> usize {
        CPUS
    }

    fn is_function_event(&self) -> bool {
        self.is_function_event
    }
}

const EVENT: Event = Event {
    is_function_event: false,
};

#[derive(Default)]
struct Memory {
    steps: Vec<Step>,
    masks: Vec<u64>,
}

impl Memory {
    fn compile(text: &[u8], event: &Event) -> Result<Self, Refused> {
        let mut memory = Self::default();
        compile(text, event, &mut memory).map(|()| memory)
    }

    fn program<'a>(&'a self, text: &'a [u8]) -> Program<'a> {
        Program {
            text,
            steps: &self.steps,
            masks: &self.masks,
            cpus: CPUS,
        }
    }
}

impl Storage for Memory {
    fn push(&mut self, step: Step) -> Result<(), NoMemory> {
        self.steps.push(step);
        Ok(())
    }

    fn steps(&mut self) -> &mut [Step] {
        &mut self.steps
    }

    fn mask(&mut self, words: usize) -> Result<(usize, &mut [u64]), NoMemory> {
        let first = self.masks.len();
        self.masks.resize(first + words, 0);
        Ok((first, &mut self.masks[first..]))
    }
}

struct Here;

impl Outside for Here {
    fn cpu(&self) -> u32 {
        3
    }

    fn comm(&self) -> [u8; 16] {
        *b"comm\0comm of more"[..16].first_chunk().unwrap()
    }

    fn text(&self, at: u64, user: bool, matches: &dyn Fn(&[u8]) -> bool) -> Option<bool> {
        (at != 0).then(|| matches(if user { b"user" } else { b"kernel" }))
    }
}

/// A filter that was taken, read from left to right. What its predicates say, their own programs
/// tell.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    entry: &'a [u8],
}

impl Reader<'_> {
    fn skip(&mut self, word: &[u8]) -> bool {
        while self.text.get(self.at).is_some_and(|byte| is_space(*byte)) {
            self.at += 1;
        }
        let found = self.text[self.at..].starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn any(&mut self) -> bool {
        let mut value = self.all();
        while self.skip(b"||") {
            value |= self.all();
        }
        value
    }

    fn all(&mut self) -> bool {
        let mut value = self.operand();
        while self.skip(b"&&") {
            value &= self.operand();
        }
        value
    }

    fn operand(&mut self) -> bool {
        if self.skip(b"!") {
            return !self.operand();
        }
        if self.skip(b"(") {
            let value = self.any();
            assert!(self.skip(b")"));
            return value;
        }
        self.predicate()
    }

    fn predicate(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let mut quote = None;
        let is_end = |&at: &usize| match (rest[at], quote) {
            (byte, Some(end)) => {
                if byte == end {
                    quote = None;
                }
                false
            }
            (byte @ (b'\'' | b'"'), None) => {
                quote = Some(byte);
                false
            }
            // A line's end ends a list of CPUs, so that anything follows.
            (b'C', None) if rest[at..].starts_with(b"CPUS{") => {
                quote = Some(b'}');
                false
            }
            (b')', None) => true,
            _ => rest[at..].starts_with(b"&&") || rest[at..].starts_with(b"||"),
        };
        let end = (0..rest.len()).find(is_end).unwrap_or(rest.len());
        let text = &rest[..end];
        self.at += end;
        let memory = Memory::compile(text, &EVENT).unwrap();
        assert_eq!(memory.steps.len(), 1);
        let value = memory.program(text).matches(self.entry, &Here);
        if let Some(simple) = comparison(text, self.entry) {
            assert_eq!(value, simple, "{}", text.escape_ascii());
        }
        value
    }
}

/// What a comparison of a number in the entry with a decimal number says.
fn comparison(text: &[u8], entry: &[u8]) -> Option<bool> {
    let text = core::str::from_utf8(text).ok()?.trim();
    let name = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, rest) = text.split_at(name);
    let field = EVENT
        .field(name.as_bytes())
        .or_else(|| of_every_event(name.as_bytes()))?;
    let is_number = field.kind == Kind::Number && matches!(field.size, 1 | 2 | 4 | 8);
    let digits = rest.find(|c: char| c.is_ascii_digit() || c == '-')?;
    let (operator, digits) = rest.split_at(digits);
    // Of other bases, octal ones with a sign among them, this does not know.
    if !is_number || digits.trim_start_matches('-').starts_with('0') {
        return None;
    }
    let wanted: i128 = digits.parse().ok()?;
    let (start, size) = (usize::from(field.offset), usize::from(field.size));
    let found = entry.get(start..start + size).filter(|_| entry.len() >= 8);
    let cut = |bytes: &[u8]| {
        let is_negative = field.signed && bytes[size - 1] & 0x80 != 0;
        let mut wide = [if is_negative { 0xff } else { 0 }; 16];
        wide[..size].copy_from_slice(&bytes[..size]);
        i128::from_le_bytes(wide)
    };
    let wanted = cut(&wanted.to_le_bytes());
    let operator = operator.trim();
    let Some(found) = found.map(cut) else {
        return Some(operator == "!=");
    };
    Some(match operator {
        "==" => found == wanted,
        "!=" => found != wanted,
        "<" => found < wanted,
        "<=" => found <= wanted,
        ">" => found > wanted,
        ">=" => found >= wanted,
        "&" => found & wanted & ((1 << (8 * size)) - 1) != 0,
        _ => return None,
    })
}

/// What the file shows of a refusal: the caret stands below the text, or right behind it.
fn shown(text: &[u8], refused: &Refused) {
    assert!(refused.position <= text.len() + 2);
    let mut memory = vec![0; 2 * text.len() + 100];
    let mut out = LineBuf::new(&mut memory);
    refused.write(&mut out, text).unwrap();
    let Some(line) = out.as_bytes()[text.len() + 1..]
        .split(|byte| *byte == b'\n')
        .next()
    else {
        panic!("no second line");
    };
    if let Some(caret) = line.iter().position(|byte| *byte == b'^') {
        assert!(caret <= text.len() && caret + 1 == line.len());
    }
}

/// A filter of `ftrace:function` is a list of functions.
fn functions(text: &[u8]) {
    let event = Event {
        is_function_event: true,
    };
    match Memory::compile(text, &event) {
        Err(refused) => shown(text, &refused),
        Ok(memory) => {
            let program = memory.program(text);
            let rules = program.function_rules().flatten();
            assert!(rules.map(|rule| rule.patterns.len()).all(|len| len < 256));
        }
    }
}

/// The entry of the filter's own tests.
fn known_entry() -> Vec<u8> {
    let mut entry = vec![3, 0, 1, 2];
    entry.extend(42i32.to_ne_bytes());
    entry.extend([200, -3i8 as u8]);
    entry.extend(60000u16.to_ne_bytes());
    entry.extend((-7i32).to_ne_bytes());
    entry.extend(0x1010u64.to_ne_bytes());
    entry.extend((-1i64).to_ne_bytes());
    entry.extend(b"abc\0zzzz");
    entry.extend((6u32 << 16 | 68).to_ne_bytes());
    entry.extend((4u32 << 16 | (74 - 48)).to_ne_bytes());
    entry.extend(1u64.to_ne_bytes());
    entry.extend((16u32 << 16 | 78).to_ne_bytes());
    entry.extend([1, 2, 3, 0]);
    entry.extend(69u32.to_ne_bytes());
    entry.extend(b"hello\0rel\0");
    entry.extend((1u64 << 3).to_ne_bytes());
    entry.extend((1u64 << 5 | 1 << 40).to_ne_bytes());
    entry
}

/// Does a list of CPUs have a quote or a parenthesis behind the line's end that ends it? Those of a
/// whole filter may be balanced then, and those of a predicate alone not.
fn has_pairs_in_cpu_list(text: &[u8]) -> bool {
    let lists = text
        .windows(5)
        .enumerate()
        .filter(|(_, part)| part == b"CPUS{");
    lists
        .flat_map(|(at, _)| text[at..].iter().take_while(|byte| **byte != b'}'))
        .any(|byte| matches!(byte, b'\'' | b'"' | b'(' | b')'))
}

fn evaluate(memory: &Memory, text: &[u8], entry: &[u8]) {
    let passes = memory.program(text).matches(entry, &Here);
    if let Some(steps) = plain(&memory.steps, 8).collect::<Option<Vec<_>>>() {
        let mut other = entry.to_vec();
        other.iter_mut().take(8).for_each(|byte| *byte = !*byte);
        assert_eq!(matches_plain(&steps, &other), passes);
    }
    // The name of a function ends at a blank only.
    let has_function = text.windows(9).any(|part| part == b".function");
    if !has_function && !has_pairs_in_cpu_list(text) {
        let mut reader = Reader { text, at: 0, entry };
        assert_eq!(reader.any(), passes, "{}", text.escape_ascii());
        assert!(!reader.skip(b"x") && reader.at == text.len());
    }
}

/// The filter first; an entry is behind the NUL that ends it.
pub fn run(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0);
    let (text, entry) = match end {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    functions(bytes);
    let memory = match Memory::compile(bytes, &EVENT) {
        Err(refused) => return shown(text, &refused),
        Ok(memory) => memory,
    };
    let count = memory.steps.len();
    for (index, step) in memory.steps.iter().enumerate() {
        for next in [step.on_true, step.on_false] {
            let is_step = (index + 1..count).contains(&usize::from(next));
            assert!(is_step || matches!(next, ACCEPT | REJECT));
        }
    }
    evaluate(&memory, text, entry);
    evaluate(&memory, text, &known_entry());
}
