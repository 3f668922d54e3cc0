// SPDX-License-Identifier: GPL-2.0

//! Tests filters against results of C, and against a simple evaluator of the text.

use super::error::{Errno, Reason};
use super::parse::compile;
use super::program::{matches_plain, part_of_any, plain, Outside, PlainStep, Program, REJECT};
use super::*;
use crate::core::event::field::Kind;
use crate::core::format::LineBuf;
use proptest::prelude::*;
use std::boxed::Box;
use std::format;
use std::string::String;
use std::vec::Vec;

const CPUS: usize = 70;

/// The event of these tests: common fields, numbers of each width, texts and a mask.
///
/// ```text
///   8 u8  9 s8  10 u16  12 s32  16 u64  24 s64  32 name[8]  40 loc  44 rel  48 ptr  56 mask
///   60 odd[3]  64 cpu number  68… what the locations point to
/// ```
fn field_of(name: &str) -> Option<Field> {
    let (kind, offset, size, signed) = match name {
        "u8" => (Kind::Number, 8, 1, false),
        "s8" => (Kind::Number, 9, 1, true),
        "u16" => (Kind::Number, 10, 2, false),
        "s32" => (Kind::Number, 12, 4, true),
        "u64" => (Kind::Number, 16, 8, false),
        "s64" => (Kind::Number, 24, 8, true),
        "name" => (Kind::Array, 32, 8, true),
        "loc" => (Kind::DataLoc, 40, 4, true),
        "rel" => (Kind::RelLoc, 44, 4, true),
        "ptr" => (Kind::Pointer, 48, 8, false),
        "mask" => (Kind::CpuMask, 56, 4, false),
        "odd" => (Kind::Number, 60, 3, false),
        "tail" => (Kind::Array, 32, 0, true),
        "on" => (Kind::Number, 64, 4, false),
        _ => return None,
    };
    Some(Field {
        kind,
        offset,
        size,
        signed,
    })
}

struct Event {
    functions: bool,
}

const EVENT: Event = Event { functions: false };

impl Scope for Event {
    fn field(&self, name: &[u8]) -> Option<Field> {
        if self.functions && name == b"ip" {
            return field_of("u64");
        }
        field_of(core::str::from_utf8(name).ok()?)
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
        self.functions
    }
}

#[derive(Default)]
struct Memory {
    steps: Vec<Step>,
    masks: Vec<u64>,
}

impl Storage for Memory {
    fn push(&mut self, step: Step) -> core::result::Result<(), NoMemory> {
        self.steps.push(step);
        Ok(())
    }

    fn steps(&mut self) -> &mut [Step] {
        &mut self.steps
    }

    fn mask(&mut self, words: usize) -> core::result::Result<(usize, &mut [u64]), NoMemory> {
        let first = self.masks.len();
        self.masks.resize(first + words, 0);
        Ok((first, &mut self.masks[first..]))
    }
}

struct Here;

impl Outside for Here {
    fn cpu(&self) -> u32 {
        5
    }

    fn comm(&self) -> [u8; 16] {
        *b"kworker/5:1\0rest"
    }

    fn text(&self, address: u64, user: bool, matches: &dyn Fn(&[u8]) -> bool) -> Option<bool> {
        match (address, user) {
            (1, false) => Some(matches(b"kernel")),
            (1, true) => Some(matches(b"user\0x")),
            _ => None,
        }
    }
}

fn entry() -> Vec<u8> {
    let mut entry = Vec::new();
    entry.extend(3u16.to_ne_bytes());
    entry.extend([1, 2]);
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
    entry.extend(b"hello\0");
    entry.extend(b"rel\0");
    entry.extend((1u64 << 3).to_ne_bytes());
    entry.extend((1u64 << 5 | 1 << 40).to_ne_bytes());
    entry
}

fn run(text: &str, entry: &[u8]) -> bool {
    let mut memory = Memory::default();
    compile(text.as_bytes(), &EVENT, &mut memory).unwrap_or_else(|e| panic!("{text:?}: {e:?}"));
    for (index, step) in memory.steps.iter().enumerate() {
        for next in [step.on_true, step.on_false] {
            assert!(usize::from(next) > index, "{text:?} goes back");
            assert!(usize::from(next) < memory.steps.len() || next >= REJECT);
        }
    }
    let program = Program {
        text: text.as_bytes(),
        steps: &memory.steps,
        masks: &memory.masks,
        cpus: CPUS,
    };
    let passes = program.matches(entry, &Here);
    let steps: Option<Vec<_>> = plain(&memory.steps, 8).collect();
    if let Some(steps) = steps {
        let mut other = entry.to_vec();
        other[..8].fill(0xa5);
        assert_eq!(matches_plain(&steps, &other), passes, "{text:?}");
    }
    passes
}

/// What a plain filter says does not depend on the common fields: `run` sees to that.
#[test]
fn plain_programs() {
    let is_plain = |text: &str| {
        let mut memory = Memory::default();
        compile(text.as_bytes(), &EVENT, &mut memory).unwrap();
        let mut steps = plain(&memory.steps, 8);
        steps.all(|step| step.is_some())
    };
    for text in [
        "s64 == -1",
        "u64 & 0x10 && !(s64 > 3)",
        "u8 == 200 || s8 < 0",
        "u16 >= 3 && s32 != 7",
    ] {
        assert!(is_plain(text), "{text:?}");
        run(text, &entry());
    }
    for text in [
        "common_pid == 42",
        "u64 == 1 || common_type == 3",
        "s64 == 1 && !(common_flags & 1)",
        "name == \"abc\"",
        "s64 == 1 && CPU == 0",
    ] {
        assert!(!is_plain(text), "{text:?}");
    }
}

/// Plain programs as one: it accepts what any of them does.
#[test]
fn any_of_plain_programs() {
    let compiled = |text: &str| -> Vec<PlainStep> {
        let mut memory = Memory::default();
        compile(text.as_bytes(), &EVENT, &mut memory).unwrap();
        plain(&memory.steps, 8).map(Option::unwrap).collect()
    };
    let texts = [
        "s64 == -1",
        "u8 == 1",
        "u8 == 1 || s8 == 0 && u16 == 3",
        "(u8 == 200 || s64 == 4) && !(u16 == 60000)",
        "(u8 == 200 || s64 == 4) && u16 == 60000",
    ];
    let entry = entry();
    for number in 0..texts.len().pow(3) {
        let chosen = [number % 5, number / 5 % 5, number / 25];
        let chosen = &chosen[..1 + number % 3];
        let mut joined = Vec::new();
        for (at, text) in chosen.iter().enumerate() {
            let steps = compiled(texts[*text]);
            let is_last = at + 1 == chosen.len();
            joined.extend(part_of_any(&steps, joined.len(), is_last).unwrap());
        }
        let any = chosen.iter().any(|text| run(texts[*text], &entry));
        assert_eq!(matches_plain(&joined, &entry), any, "{chosen:?}");
    }
    let steps = compiled("u8 == 1");
    assert!(part_of_any(&steps, usize::from(REJECT) - 1, true).is_none());
    assert!(part_of_any(&steps, usize::from(REJECT) - 2, true).is_some());
}

#[test]
fn numbers() {
    for (text, want) in [
        ("u8 == 200", true),
        ("u8 == 0xc8", true),
        ("u8 == 0310", true),
        ("u8 == 456", true), // Cut to the field's width.
        ("u8 != 200", false),
        ("u8 < 201", true),
        ("u8 < 200", false),
        ("u8 <= 200", true),
        ("u8 > 199", true),
        ("u8 > 200", false),
        ("u8 >= 200", true),
        ("u8 >= 201", false),
        ("u8 < 0", false),
        ("u8 > 255", false),
        ("u8 <= 255", true),
        ("u8 >= 0", true),
        ("u8 & 8", true),
        ("u8 & 7", false),
        ("s8 == -3", true),
        ("s8 < 0", true),
        ("s8 < -3", false),
        ("s8 <= -3", true),
        ("s8 > -4", true),
        ("s8 > -3", false),
        ("s8 >= -128", true),
        ("s8 < -128", false),
        ("s8 > 127", false),
        ("u16 == 60000", true),
        ("u16 > 59999", true),
        ("s32 == -7", true),
        ("s32 > -8 && s32 < -6", true),
        ("s32 & 0x80000000", true),
        ("u64 == 0x1010", true),
        ("u64 <= 18446744073709551615", true),
        ("s64 < 0", true),
        ("s64 == -1", true),
        ("s64 > -2", true),
        ("s64 >= 0", false),
        ("common_type == 3", true),
        ("common_flags == 1", true),
        ("common_preempt_count > 1", true),
        ("common_preempt_count > 2", false),
        ("common_pid == 42", true),
        ("common_pid != 42", false),
        ("odd == 1", false),
        ("odd != 1", false),
        ("!odd == 1", true),
        ("mask == 0", false),
        ("stacktrace == 0", false),
        ("u64.function == schedule", true),
        ("u64.function != schedule", false),
        ("u64.function == 0x107f", true),
        ("s64.function == schedule", false),
        ("CPU == 5", true),
        ("cpu != 5", false),
        ("common_cpu >= 5 && cpu <= 5 && cpu > 4 && cpu < 6", true),
        ("cpu > -1", true),
        ("cpu & 5", false),
        ("u8==200&&s8==-3", true),
    ] {
        assert_eq!(run(text, &entry()), want, "{text:?}");
    }
}

#[test]
fn texts() {
    for (text, want) in [
        ("name == 'abc'", true),
        ("name == \"abc\"", true),
        ("name == \"abcz\"", false),
        ("name != 'abc'", false),
        ("name ~ 'a*'", true),
        ("name ~ '*c'", true),
        ("name ~ '*b*'", true),
        ("name ~ '*z*'", false),
        ("name ~ 'a?c'", true),
        ("name ~ '[a-b]bc'", true),
        ("name ~ '!a*'", false),
        ("name ~ '!*x'", true),
        ("name ~ 'ab'", false),
        ("name ~ ''", false),
        ("name ~ '*'", true),
        ("name ~ '7*'", false),
        ("tail == 'abc'", true),
        ("tail ~ 'a*'", true),
        ("tail != 'abc'", false),
        ("loc == 'hello'", true),
        ("loc ~ '*lo'", true),
        ("loc ~ '*el*'", true),
        ("loc != 'hello'", false),
        ("rel == 'rel'", true),
        ("rel ~ 're*'", true),
        ("ptr == 'kernel'", true),
        ("ptr != 'kernel'", false),
        ("ptr.ustring == 'user'", true),
        ("ptr.ustring ~ 'us*'", true),
        ("comm == 'kworker/5:1'", true),
        ("COMM ~ 'kworker*'", true),
        ("COMM ~ '*:1'", true),
        ("comm != 'x'", true),
        ("name == 'a(b' || name == 'a&&b' || name == 'abc'", true),
    ] {
        assert_eq!(run(text, &entry()), want, "{text:?}");
    }
    // An unreadable text matches neither way.
    let mut unreadable = entry();
    unreadable[48..56].fill(9);
    assert!(!run("ptr == 'kernel'", &unreadable));
    assert!(!run("ptr != 'kernel'", &unreadable));
    assert!(run("!(ptr != 'kernel')", &unreadable));
    // A text without a fixed size reaches to the end of the entry, if it has no NUL.
    let open = |text: &[u8]| [&[0; 32], text].concat();
    assert!(run(
        "tail == 'longer than eight'",
        &open(b"longer than eight")
    ));
    assert!(!run("tail == 'longer'", &open(b"longer than eight")));
    assert!(run("tail == ''", &open(b"")) == run("name == ''", &open(b"\0\0\0\0\0\0\0\0")));
    assert!(!run("tail ~ '*'", &[0; 31]));
    // A location outside the entry gives no text.
    let mut outside = entry();
    outside[40..44].fill(0xff);
    assert!(!run("loc ~ '*'", &outside));
    assert!(!run("u8 == 200", &[0; 8]));
}

#[test]
fn cpu_lists() {
    for (text, want) in [
        ("cpu & CPUS{0-7}", true),
        ("cpu & CPUS{0-4}", false),
        ("cpu == CPUS{5}", true),
        ("cpu & CPUS{5}", true),
        ("cpu != CPUS{5}", false),
        ("cpu == CPUS{4,5}", false),
        ("cpu != CPUS{4,5}", true),
        ("on & CPUS{64-69}", true),
        ("on & CPUS{N}", true),
        ("on == CPUS{69}", true),
        ("on & CPUS{0-68}", false),
        ("u16 & CPUS{0-69}", false), // No such CPU.
        ("u16 != CPUS{0-69}", false),
        ("odd & CPUS{1,2}", false),
        ("mask == CPUS{3,69}", true),
        ("mask != CPUS{3,69}", false),
        ("mask & CPUS{0-3}", true),
        ("mask & CPUS{0-2}", false),
        ("mask & CPUS{3}", true),
        ("mask == CPUS{3}", false),
        ("mask != CPUS{3}", true),
        ("mask & CPUS{4}", false),
        ("mask & CPUS{ }", false),
    ] {
        assert_eq!(run(text, &entry()), want, "{text:?}");
    }
}

#[test]
fn joins() {
    for (text, want) in [
        ("u8 == 0 && u8 == 0 || u8 == 200", true),
        ("u8 == 200 || u8 == 0 && u8 == 0", true),
        ("(u8 == 200 || u8 == 0) && u8 == 0", false),
        ("!(u8 == 200 || u8 == 0) || u8 == 0", false),
        ("!(u8 == 200 && u8 == 0)", true),
        ("!!u8 == 200", true),
        ("!(!(u8 == 200))", true),
        ("((((u8 == 200))))", true),
        ("! ( u8 == 0 ) && ! s8 == 0", true),
    ] {
        assert_eq!(run(text, &entry()), want, "{text:?}");
    }
}

/// `reason`, position and errno as in the parser of Linux 7.3.
#[test]
fn refusals() {
    for (text, reason, position, errno) in [
        ("foo == 1", Reason::FieldNotFound, 4, 22),
        ("u8 == 1 && foo == 1", Reason::FieldNotFound, 15, 22),
        ("u8 ? 1", Reason::InvalidOperator, 4, 22),
        ("u8.bad == 1", Reason::InvalidOperator, 3, 22),
        ("u8 = 1", Reason::InvalidOperator, 4, 22),
        ("(u8 == 1", Reason::TooManyOpen, 0, 2),
        ("u8 == 1 || ((u8 == 2)", Reason::TooManyOpen, 11, 2),
        ("u8 == 1)", Reason::TooManyClose, 7, 1),
        ("name == 'x", Reason::MissingQuote, 8, 3),
        ("name == \"x'", Reason::MissingQuote, 8, 3),
        ("u8 & CPUS", Reason::MissingBraceOpen, 11, 22),
        ("u8 & CPUS{1", Reason::MissingBraceClose, 12, 22),
        ("u8 & CPUS{}", Reason::InvalidCpuList, 11, 22),
        ("u8 & CPUS{x}", Reason::InvalidCpuList, 12, 22),
        ("u8 & CPUS{70}", Reason::InvalidCpuList, 13, 22),
        ("u8 < CPUS{1}", Reason::IllegalFieldOperator, 6, 22),
        ("name & CPUS{1}", Reason::IllegalFieldOperator, 8, 22),
        (
            "u8 == 1234567890123456789012345",
            Reason::OperandTooLong,
            32,
            22,
        ),
        ("name == 1", Reason::ExpectString, 9, 22),
        ("u8 == 'x'", Reason::ExpectDigit, 7, 22),
        ("name < 'x'", Reason::IllegalFieldOperator, 8, 22),
        ("u8 ~ 1", Reason::IllegalFieldOperator, 6, 22),
        ("u8 == 1x", Reason::IllegalNumber, 7, 22),
        ("u8 == -1", Reason::IllegalNumber, 7, 22),
        ("s64 == 9223372036854775808", Reason::IllegalNumber, 8, 22),
        ("u8 == x", Reason::InvalidValue, 7, 22),
        ("name == abc", Reason::InvalidValue, 9, 22),
        ("u8 && s8", Reason::InvalidValue, 5, 22),
        ("u8 == ", Reason::InvalidValue, 7, 22),
        ("u8 == 1 u8 == 2", Reason::TooManyPredicates, 8, 1),
        ("u8 == 1 & u8 == 2", Reason::TooManyPredicates, 8, 1),
        ("(u8 == 1) (u8 == 2)", Reason::TooManyPredicates, 10, 1),
        ("u8 == 1 &&", Reason::Meaningless, 10, 22),
        ("u8 == 1 && !", Reason::Meaningless, 12, 22),
        ("!", Reason::NoFilter, 1, 22),
        ("u64.function == nosuch", Reason::NoFunction, 23, 22),
        ("u64.function == 0x2000", Reason::NoFunction, 23, 22),
        ("u64.function == 0xg", Reason::InvalidValue, 20, 22),
        ("u64.function < schedule", Reason::InvalidOperator, 16, 22),
        (
            "u8.function == schedule",
            Reason::IllegalFieldOperator,
            16,
            22,
        ),
        ("", Reason::Unsaid, 0, 22),
        ("()", Reason::Unsaid, 0, 22),
        ("!= 3", Reason::Unsaid, 0, 1),
        ("&& u8 == 1", Reason::Unsaid, 0, 1),
        ("(u8 == 1 && )", Reason::Unsaid, 0, 1),
    ] {
        let refused = compile(text.as_bytes(), &EVENT, &mut Memory::default()).unwrap_err();
        assert_eq!(
            (refused.reason, refused.position, refused.errno.value()),
            (reason, position, errno),
            "{text:?}"
        );
    }
    let long = format!("name == '{}'", "x".repeat(256));
    let refused = compile(long.as_bytes(), &EVENT, &mut Memory::default()).unwrap_err();
    assert_eq!(refused.reason, Reason::OperandTooLong);
    assert!(!run(&long.replacen('x', "", 1), &entry()));
}

#[test]
fn deep_and_long() {
    let deep = format!("{}u8 == 200{}", "(".repeat(4000), ")".repeat(4000));
    assert!(run(&deep, &entry()));
    let too_deep = format!("{}u8 == 200{}", "(".repeat(5000), ")".repeat(5000));
    let refused = compile(too_deep.as_bytes(), &EVENT, &mut Memory::default()).unwrap_err();
    assert_eq!(refused.errno, Errno::Invalid);
    let long = format!("{}u8==200", "u8==1||".repeat(9000));
    assert!(run(&long, &entry()));
    let too_long = format!("{}u8==200", "u8==1||".repeat(70000));
    let refused = compile(too_long.as_bytes(), &EVENT, &mut Memory::default()).unwrap_err();
    assert_eq!(refused.reason, Reason::TooManyPredicates);
}

#[test]
fn what_the_file_shows() {
    let shown = |text: &str| {
        let refused = compile(text.as_bytes(), &EVENT, &mut Memory::default()).unwrap_err();
        let mut memory = [0; 256];
        let mut out = LineBuf::new(&mut memory);
        refused.write(&mut out, text.as_bytes()).unwrap();
        String::from_utf8(out.as_bytes().to_vec()).unwrap()
    };
    assert_eq!(
        shown("foo == 1"),
        "foo == 1\n    ^\nparse_error: Field not found\n"
    );
    assert_eq!(
        shown("(u8 == 1"),
        "(u8 == 1\n^\nparse_error: Too many '('\n"
    );
    assert_eq!(shown("()"), "()\nError: (0)\n");
    assert_eq!(
        shown("u8 == x"),
        "u8 == x\n       ^\nparse_error: Invalid value (did you forget quotes)?\n"
    );
}

#[test]
fn functions_of_the_function_event() {
    let rules = |text: &'static str| {
        let mut memory = Memory::default();
        let event = Event { functions: true };
        compile(text.as_bytes(), &event, &mut memory).unwrap();
        let program = Program {
            text: text.as_bytes(),
            steps: &memory.steps,
            masks: &memory.masks,
            cpus: CPUS,
        };
        program
            .function_rules()
            .map(|rule| {
                rule.map(|rule| {
                    (
                        rule.not,
                        String::from_utf8_lossy(rule.patterns).into_owned(),
                    )
                })
            })
            .collect::<Option<Vec<_>>>()
    };
    let list = |rules: &[(bool, &str)]| {
        Some(
            rules
                .iter()
                .map(|(not, text)| (*not, String::from(*text)))
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(rules("ip == sched*,vfs*"), list(&[(false, "sched*,vfs*")]));
    assert_eq!(
        rules("ip == 'a b'||ip != c"),
        list(&[(false, "a b"), (true, "c")])
    );
    assert_eq!(rules("(ip == a && ip == b) || ip == c"), None);
    assert_eq!(rules("!(ip == a)"), None);
    assert_eq!(rules("ip.function == schedule"), None);
    assert_eq!(rules("ip == a || ip.function != schedule"), None);
    let refused = compile(
        b"u8 == 1",
        &Event { functions: true },
        &mut Memory::default(),
    );
    assert_eq!(refused.unwrap_err().reason, Reason::IpFieldOnly);
}

/// An expression as a tree.
#[derive(Clone, Debug)]
enum Tree {
    Compare(&'static str, &'static str, i64),
    Not(Box<Tree>),
    And(Vec<Tree>),
    Or(Vec<Tree>),
}

impl Tree {
    fn text(&self, out: &mut String) {
        let list = |out: &mut String, trees: &[Tree], join: &str| {
            for (index, tree) in trees.iter().enumerate() {
                if index != 0 {
                    out.push_str(join);
                }
                let bare = matches!(tree, Tree::Compare(..) | Tree::Not(_))
                    || join == " || " && matches!(tree, Tree::And(_));
                if !bare {
                    out.push('(');
                }
                tree.text(out);
                if !bare {
                    out.push(')');
                }
            }
        };
        match self {
            Tree::Compare(field, operator, value) => {
                out.push_str(&format!("{field} {operator} {value}"))
            }
            Tree::Not(tree) => {
                let bare = matches!(**tree, Tree::Compare(..) | Tree::Not(_));
                out.push_str(if bare { "!" } else { "!(" });
                tree.text(out);
                out.push_str(if bare { "" } else { ")" });
            }
            Tree::And(trees) => list(out, trees, "&&"),
            Tree::Or(trees) => list(out, trees, " || "),
        }
    }

    fn value(&self, entry: &[u8]) -> bool {
        match self {
            Tree::Compare(name, operator, value) => {
                let field = field_of(name).unwrap();
                let (offset, size) = (usize::from(field.offset), usize::from(field.size));
                let bytes = &entry[offset..offset + size];
                let fill = if field.signed && bytes[size - 1] & 0x80 != 0 {
                    0xff
                } else {
                    0
                };
                let mut wide = [fill; 16];
                wide[..size].copy_from_slice(bytes);
                let found = i128::from_le_bytes(wide);
                // The value is cut to the width of the field, too.
                let mut cut = [0; 16];
                cut[..size].copy_from_slice(&value.to_le_bytes()[..size]);
                if field.signed && cut[size - 1] & 0x80 != 0 {
                    cut[size..].fill(0xff);
                }
                let value = i128::from_le_bytes(cut);
                match *operator {
                    "==" => found == value,
                    "!=" => found != value,
                    "<" => found < value,
                    "<=" => found <= value,
                    ">" => found > value,
                    ">=" => found >= value,
                    "&" => found & value & ((1i128 << (8 * size)) - 1) != 0,
                    _ => unreachable!(),
                }
            }
            Tree::Not(tree) => !tree.value(entry),
            Tree::And(trees) => trees.iter().all(|tree| tree.value(entry)),
            Tree::Or(trees) => trees.iter().any(|tree| tree.value(entry)),
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let compare = (
        prop::sample::select(&["u8", "s8", "u16", "s32", "u64", "s64"][..]),
        prop::sample::select(&["==", "!=", "<", "<=", ">", ">=", "&"][..]),
        prop_oneof![0i64..4, 126i64..130, 254i64..258, 0i64..i64::MAX, -4i64..0],
    )
        .prop_map(|(field, operator, value)| {
            let signed = field_of(field).unwrap().signed;
            Tree::Compare(
                field,
                operator,
                if signed {
                    value
                } else {
                    value.saturating_abs()
                },
            )
        });
    compare.prop_recursive(6, 60, 5, |inner| {
        prop_oneof![
            inner.clone().prop_map(|tree| Tree::Not(Box::new(tree))),
            prop::collection::vec(inner.clone(), 1..5).prop_map(Tree::And),
            prop::collection::vec(inner, 1..5).prop_map(Tree::Or),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_the_tree(
        tree in tree(),
        small in prop::collection::vec(prop::sample::select(&[0u8, 1, 2, 3, 127, 128, 255][..]), 24),
    ) {
        let mut entry = entry();
        entry[8..32].copy_from_slice(&small);
        let mut text = String::new();
        tree.text(&mut text);
        prop_assert_eq!(run(&text, &entry), tree.value(&entry), "{}", text);
    }

    #[test]
    fn any_text_ends(text in "[ ()!&|=<>~'\"{}CPUS0-9x.a-z,\\-]{0,60}") {
        let mut memory = Memory::default();
        if compile(text.as_bytes(), &EVENT, &mut memory).is_ok() {
            run(&text, &entry());
        }
    }

    #[test]
    fn any_tokens_end(tokens in prop::collection::vec(prop::sample::select(&[
        "u8", "s32", "name", "ptr", "mask", "cpu", "comm", "(", ")", "!", "&&", "||", "==", "!=",
        "<", "&", "~", "'a*'", "\"", "1", "-1", "0x", "CPUS{0-3}", "CPUS{", ".function", " ",
        ".ustring", "schedule",
    ][..]), 0..24)) {
        let text = tokens.concat();
        let mut memory = Memory::default();
        match compile(text.as_bytes(), &EVENT, &mut memory) {
            Ok(()) => { run(&text, &entry()); }
            Err(refused) => prop_assert!(refused.position <= text.len() + 2),
        }
    }
}
