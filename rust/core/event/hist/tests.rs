// SPDX-License-Identifier: GPL-2.0

//! Tests definitions against results of C, and the table with interrupted insertions.

use super::action::{Action, Effects, Parameter};
use super::attributes::{condition, hide_minus, split_filter, Attributes};
use super::compile::{compile, compile_actions, Found, Scope};
use super::description::{
    ArrayVec, Description, Form, Modifier, Node, SortBy, Target, TypeName, Value,
};
use super::error::{position, Errno, Log, Reason};
use super::evaluate::{Evaluation, Hit};
use super::map::{Element, Layout, Map, Steps};
use super::print::{self, Names};
use super::same;
use super::{KEY_WORDS, TEXT};
use crate::core::event::field::{Field, Kind};
use crate::core::format::symbol::Symbols;
use crate::core::format::{LineBuf, Out};
use crate::core::sys::Shared;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::string::{String, ToString};
use std::vec::Vec;

mod actions;
mod debug;
mod plain;
mod refusals;
mod table;

struct Event;

std::thread_local! {
    /// How many synthetic events a definition has asked for.
    static HELD: Cell<u8> = const { Cell::new(0) };
    /// Whether definitions are of triggers to be removed.
    static REMOVES: Cell<bool> = const { Cell::new(false) };
}

/// `8 u8  12 s32  16 u64  24 name[10]  36 loc  40 rel  44 odd[3]  60 calls  88 long[300]`
fn field_of(name: &str) -> Option<(Field, TypeName)> {
    let (kind, offset, size, signed, ty) = match name {
        "u8" => (Kind::Number, 8, 1, false, "u8"),
        "s32" => (Kind::Number, 12, 4, true, "int"),
        "u64" => (Kind::Number, 16, 8, false, "u64"),
        "name" => (Kind::Array, 24, 10, true, "char[10]"),
        "loc" => (Kind::DataLoc, 36, 4, true, "__data_loc char[]"),
        "rel" => (Kind::RelLoc, 40, 4, true, "__rel_loc char[]"),
        "calls" => (Kind::Stacktrace, 60, 4, false, "__data_loc unsigned long[]"),
        "long" => (Kind::Array, 88, 300, true, "char[300]"),
        "odd" => (Kind::Number, 44, 3, false, "u8[3]"),
        "ip" => (Kind::Function, 16, 8, false, "unsigned long"),
        _ => return None,
    };
    let field = Field {
        kind,
        offset,
        size,
        signed,
    };
    Some((field, TypeName::of(ty.as_bytes())))
}

/// The fields of the synthetic event `lat`: `u64 lat; pid_t pid; char[10] name; char[] text`.
fn parameter(at: usize) -> Option<Parameter> {
    let (form, dynamic, ty, size, signed) = match at {
        0 => (Form::Number, false, "u64", 8, false),
        1 => (Form::Number, false, "int", 4, true),
        2 => (Form::Text, false, "char[10]", 10, true),
        3 => (Form::Text, true, "char[]", 8, true),
        _ => return None,
    };
    Some(Parameter {
        form,
        dynamic,
        ty: TypeName::of(ty.as_bytes()),
        size,
        signed,
    })
}

impl Scope for Event {
    fn field(&self, name: &[u8]) -> Option<(Field, TypeName)> {
        field_of(core::str::from_utf8(name).ok()?)
    }

    fn field_variable(
        &mut self,
        event: (&[u8], &[u8]),
        name: &[u8],
        of: &Description,
        log: &mut dyn Log,
    ) -> Option<Found> {
        assert!(!of.keys.is_empty());
        if event != (b"sys", b"other") || name != b"prio" {
            log.log(Reason::HistogramNotFound, name);
            return None;
        }
        Some(Found {
            target: Target {
                histogram: 1,
                variable: 0,
            },
            node: Node {
                ty: TypeName::of(b"int"),
                size: 4,
                signed: true,
                ..Node::NONE
            },
        })
    }

    fn hold_synthetic(&mut self, name: &[u8]) -> Option<u8> {
        let number = HELD.get();
        HELD.set(number + 1);
        (name == b"lat").then_some(number)
    }

    fn parameter(&self, at: usize) -> Option<Parameter> {
        parameter(at)
    }

    fn is_event(&self, system: &[u8], event: &[u8]) -> bool {
        (system, event) == (b"sys", b"own")
    }

    fn removes(&self) -> bool {
        REMOVES.get()
    }

    fn has_variable(&self, name: &[u8]) -> bool {
        name == b"taken"
    }

    fn variable(
        &mut self,
        event: Option<(&[u8], &[u8])>,
        name: &[u8],
        _: &mut dyn Log,
    ) -> Option<Found> {
        let constant = match name {
            b"five" => Some(5),
            b"zero" => Some(0),
            _ => None,
        };
        if let Some(constant) = constant {
            return Some(Found {
                target: Target {
                    histogram: 2,
                    variable: constant as u8,
                },
                node: Node {
                    value: Value::Constant(constant),
                    ..Node::NONE
                },
            });
        }
        let variable = match (event, name) {
            (_, b"ts0") => 0,
            (Some((b"sys", b"other")), b"x") => 1,
            (Some((b"sys", b"other")), b"only") => 2,
            (None, b"only") => return None,
            _ => return None,
        };
        Some(Found {
            target: Target {
                histogram: 0,
                variable,
            },
            node: Node {
                value: Value::Timestamp,
                usecs: variable == 0,
                ..Node::NONE
            },
        })
    }
}

#[derive(Default)]
struct Kept(Vec<(Reason, String)>);

impl Log for Kept {
    fn log(&mut self, reason: Reason, token: &[u8]) {
        let token = String::from_utf8_lossy(token);
        self.0.push((reason, token.to_string()));
    }
}

fn compiled(text: &str) -> Result<Description, (Errno, Vec<(Reason, String)>)> {
    let mut kept = Kept::default();
    let mut text = text.as_bytes().to_vec();
    hide_minus(&mut text);
    HELD.set(0);
    let mut description = Description::EMPTY;
    let result = Attributes::parse(&text, &mut kept).and_then(|attributes| {
        let into = &mut description;
        let is_event = |system: &[u8], event: &[u8]| {
            system == b"sys" && (event == b"own" || event == b"other")
        };
        let mut actions = ArrayVec::new(Action::NONE);
        let texts = attributes.actions();
        Action::parse_all(texts, &is_event, &mut kept, &mut actions)?;
        let all = (&attributes, &actions);
        compile(&text, all, &mut Event, &mut kept, into)?;
        compile_actions(&text, &actions, &mut Event, &mut kept, into)
    });
    result
        .map(|()| description)
        .map_err(|errno| (errno, kept.0))
}

fn shown(text: &str) -> String {
    let description = compiled(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let mut memory = [0; 1024];
    let mut out = LineBuf::new(&mut memory);
    let hitcount = !description.no_hitcount;
    print::definition(&mut out, &description, text.as_bytes(), hitcount).unwrap();
    String::from_utf8(out.as_bytes().to_vec()).unwrap()
}

#[test]
fn definitions() {
    for (text, want) in [
        ("keys=u8", "keys=u8:vals=hitcount:sort=hitcount"),
        (
            "keys=u8,s32.hex:vals=u64:sort=s32.descending,u64",
            "keys=u8,s32.hex:vals=hitcount,u64:sort=s32.hex.descending,u64",
        ),
        (
            "key=u64.sym-offset:val=hitcount,u8.percent,u64.graph",
            "keys=u64.sym-offset:vals=hitcount,u8.percent,u64.graph:sort=hitcount",
        ),
        (
            "keys=u64.symXoffset:x=u64.sym-offset-u8",
            "keys=u64.sym-offset:vals=hitcount:x=u64.sym-offset-u8:sort=hitcount",
        ),
        (
            "keys=stacktrace,u64.buckets=10:values=u8:nohitcount",
            "keys=common_stacktrace,u64.buckets=10:vals=u8:sort=hitcount",
        ),
        (
            "keys=common_pid.execname,comm,cpu",
            "keys=common_pid.execname,common_comm,common_cpu:vals=hitcount:sort=hitcount",
        ),
        (
            "keys=u64.bucket=0x7fffffffffffffff",
            "keys=u64.buckets=9223372036854775807:vals=hitcount:sort=hitcount",
        ),
        (
            "keys=u8:ts1=common_timestamp.usecs,y=u64:lat=common_timestamp.usecs-$ts0",
            "keys=u8:vals=hitcount:ts1=common_timestamp.usecs,y=u64,\
             lat=common_timestamp.usecs-$ts0:sort=hitcount",
        ),
        (
            "keys=u8:y=u64:z=$y:a=sys.own.$y:b=sys.other.$x:c=-(u8+3)",
            "keys=u8:vals=hitcount:y=u64,z=u64,a=u64,b=sys.other.$x,c=-(u8+3):sort=hitcount",
        ),
    ] {
        assert_eq!(shown(text), want, "{text}");
        // What is printed is a definition of the same. That of a sort field with a modifier is not
        // readable, as in C, and `nohitcount` is printed later.
        if !text.contains("sort") && !text.contains("nohitcount") {
            assert_eq!(shown(want), want);
        }
    }
}

/// As in C, a size of buckets from 2^63 on is shown as a negative number, but for operations. The keys of
/// a definition that is made of it can be read.
#[test]
fn large_buckets() {
    let text = "keys=u64.buckets=18446744073709551615:x=-(u8.buckets=0x8000000000000000+u8)\
                :sort=u64";
    assert_eq!(
        shown(text),
        "keys=u64.buckets=-1:vals=hitcount:x=-(u8.buckets=9223372036854775808+u8)\
         :sort=u64.buckets=-1"
    );
    let description = compiled(text).unwrap();
    let mut memory = [0; 64];
    let mut out = LineBuf::new(&mut memory);
    print::keys(&mut out, &description, text.as_bytes()).unwrap();
    assert_eq!(out.as_bytes(), b"keys=u64.buckets=18446744073709551615");
}

/// As in C, an operation within another one has its unit behind it, which cannot be read again.
#[test]
fn units_of_operations() {
    let time = "common_timestamp.usecs";
    for (expression, want) in [
        ("T-$ts0-$ts0", "T-$ts0.usecs-$ts0"),
        ("T+T+T", "T+T.usecs+T"),
        ("T+T+T+T", "T+T.usecs+T.usecs+T"),
        ("$ts0+T+T", "$ts0+T.usecs+T"),
        ("-(T+T)", "-(T+T)"),
        ("-(T+T+T)", "-(T+T.usecs+T)"),
        ("-(T)", "-(T)"),
        ("u64+u8+u64", "u64+u8+u64"),
        ("u64.usecs+u8.usecs+T", "u64.usecs+u8.usecs.usecs+T"),
    ] {
        let text = std::format!("keys=u8:x={expression}").replace('T', time);
        let want = std::format!("keys=u8:vals=hitcount:x={want}:sort=hitcount");
        assert_eq!(shown(&text), want.replace('T', time));
    }
    let line = line(&std::format!("keys={time}+{time}+{time}"));
    assert!(line.starts_with(&std::format!(
        "{{ {time}+{time}.usecs+{time}:         21 }}"
    )));
}

#[test]
fn constants() {
    for (expression, want) in [
        ("123", 123),
        ("16-8-4-2", 2),
        ("64/8/4/2", 1),
        ("16-8+4+2", 14),
        ("4*3/2*2", 12),
        ("4+3*2-2", 8),
        ("4+6/2-2", 5),
    ] {
        let text = std::format!("keys=u8:x={expression}");
        let want = std::format!("keys=u8:vals=hitcount:x={want}:sort=hitcount");
        assert_eq!(shown(&text), want);
    }
}

#[test]
fn variables_to_be_removed() {
    for text in ["keys=u8:a=u8,a=s32", "keys=u8:taken=u8"] {
        let (_, kept) = compiled(text).unwrap_err();
        assert_eq!(kept[0].0, Reason::DuplicateVariable);
        REMOVES.set(true);
        compiled(text).unwrap();
        REMOVES.set(false);
    }
}

#[test]
fn filters() {
    let split = |text: &'static str| {
        let (text, filter) = split_filter(text.as_bytes())?;
        let lossy = |text: &[u8]| String::from_utf8_lossy(text).to_string();
        Ok::<_, Errno>((lossy(text), filter.map(|filter| lossy(condition(filter)))))
    };
    assert_eq!(
        split("keys=diff if a == 1"),
        Ok(("keys=diff".to_string(), Some("a == 1".to_string())))
    );
    assert_eq!(split("keys=iffy"), Ok(("keys=iffy".to_string(), None)));
    assert_eq!(split("if a"), Err(Errno::Invalid));
    assert_eq!(split("keys=a if"), Err(Errno::Invalid));
}

#[test]
fn the_minus_of_a_modifier_is_hidden() {
    let mut text = *b"keys=a.sym-offset,b.sym-offs:x=sym-offset:y.sym-offset=c.sym-offset-1";
    hide_minus(&mut text);
    let want = b"keys=a.symXoffset,b.sym-offs:x=sym-offset:y.symXoffset=c.symXoffset-1";
    assert_eq!(&text, want);
}

struct Here;

impl Hit for Here {
    fn cpu(&self) -> u32 {
        3
    }

    fn comm(&self) -> [u8; 16] {
        *b"kworker/5:1\0rest"
    }

    fn is_idle(&self) -> bool {
        false
    }

    fn time(&self, usecs: bool) -> u64 {
        if usecs {
            7
        } else {
            7000
        }
    }

    fn stack(&self, into: &mut [u64]) {
        into.fill(0);
        into[..2].copy_from_slice(&[0x1000, 0x2000]);
    }
}

struct Known;

impl Symbols for Known {
    fn write_symbol(
        &self,
        addr: usize,
        offset: bool,
        out: &mut dyn Out,
    ) -> Result<bool, fmt::Error> {
        if addr >= 0x8000 {
            return Ok(false);
        }
        match offset {
            true => write!(out, "f+0x{addr:x}/0x9")?,
            false => write!(out, "f")?,
        }
        Ok(true)
    }
}

impl Names for Known {
    fn syscall(&self, number: u64) -> Option<&[u8]> {
        (number == 39).then_some(b"sys_getpid")
    }
}

fn entry() -> Vec<u8> {
    let mut entry = Vec::new();
    entry.extend(3u16.to_ne_bytes());
    entry.extend([1, 2]);
    entry.extend(42i32.to_ne_bytes());
    entry.extend([200, 0, 0, 0]);
    entry.extend((-7i32).to_ne_bytes());
    entry.extend(39u64.to_ne_bytes());
    entry.extend(b"abc\0zzzzzz\0\0");
    entry.extend((6u32 << 16 | 48).to_ne_bytes());
    entry.extend((4u32 << 16 | (54 - 44)).to_ne_bytes());
    entry.extend([1, 2, 3, 0]);
    entry.extend(b"hello\0");
    entry.extend(b"rel\0\0\0");
    entry.extend((24u32 << 16 | 64).to_ne_bytes());
    for word in [2u64, 0x1000, 0x2000] {
        entry.extend(word.to_ne_bytes());
    }
    entry.extend([b'x'; 290]);
    entry.extend([0; 10]);
    entry
}

fn map_of(description: &Description, bits: u8) -> Map<Vec<Shared>> {
    let layout = Layout {
        key: description.key_words.into(),
        sums: description.values.len() + 1,
        variables: description.slots.into(),
        comm: description.comm,
        texts: description.texts.into(),
    };
    map_with(layout, bits)
}

fn map_with(layout: Layout, bits: u8) -> Map<Vec<Shared>> {
    let zeros = |count| (0..count).map(|_| Shared::new(0)).collect::<Vec<_>>();
    let slots = zeros(Map::<Vec<Shared>>::slots_of(bits));
    let words = zeros(Map::<Vec<Shared>>::words_of(bits, layout));
    Map::new(bits, layout, slots, words).unwrap()
}

fn line(text: &str) -> String {
    let description = compiled(text).unwrap();
    let map = map_of(&description, 1);
    let entry = entry();
    let evaluation = Evaluation {
        description: &description,
        entry: &entry,
        references: &[],
        hit: &Here,
    };
    for _ in 0..2 {
        let mut key = [u64::MAX; KEY_WORDS];
        let key = &mut key[..description.key_words.into()];
        evaluation.key(key);
        evaluation.count(&map, key, &()).unwrap();
    }
    let elements: Vec<_> = map.elements().collect();
    assert_eq!(elements.len(), 1);
    let statistics = print::statistics(&map, elements.iter().copied());
    let mut memory = [0; 2048];
    let mut out = LineBuf::new(&mut memory);
    let what = (&description, text.as_bytes());
    print::entry(&mut out, what, (&map, elements[0]), &statistics, &Known).unwrap();
    String::from_utf8(out.as_bytes().to_vec()).unwrap()
}

/// The lines are those of Linux 7.3.
#[test]
fn lines() {
    let blanks = |count: usize| " ".repeat(count);
    for (text, want) in [
        ("keys=u8", "{ u8:        200 } hitcount:          2".to_string()),
        ("keys=s32", "{ s32: 18446744073709551609 } hitcount:          2".to_string()),
        (
            "keys=common_pid,u8.hex:vals=u64",
            "{ common_pid:         42, u8: c8 } hitcount:          2  u64:         78".to_string(),
        ),
        (
            "keys=u64.sym:nohitcount:vals=u64.hex",
            std::format!("{{ u64: [27] f{} }}  u64:         4e", blanks(44)),
        ),
        (
            "keys=u64.sym-offset",
            std::format!("{{ u64: [27] f+0x27/0x9{} }} hitcount:          2", blanks(45)),
        ),
        (
            "keys=u64.syscall",
            std::format!("{{ u64: sys_getpid{}[ 39] }} hitcount:          2", blanks(20)),
        ),
        (
            "keys=u8.syscall",
            std::format!("{{ u8: unknown_syscall{}[200] }} hitcount:          2", blanks(15)),
        ),
        (
            "keys=common_pid.execname",
            "{ common_pid: kworker/5:1     [        42] } hitcount:          2".to_string(),
        ),
        ("keys=u8.log2", "{ u8: ~ 2^8  } hitcount:          2".to_string()),
        ("keys=u8.buckets=16", "{ u8: ~ 192-207 } hitcount:          2".to_string()),
        ("keys=name", std::format!("{{ name: abc{} }} hitcount:          2", blanks(47))),
        (
            "keys=long",
            std::format!("{{ long: {} }} hitcount:          2", "x".repeat(290)),
        ),
        ("keys=loc", std::format!("{{ loc: hello{} }} hitcount:          2", blanks(45))),
        ("keys=rel", std::format!("{{ rel: rel{} }} hitcount:          2", blanks(47))),
        ("keys=cpu", "{ cpu:          3 } hitcount:          2".to_string()),
        (
            "keys=common_timestamp.usecs",
            "{ common_timestamp:          7 } hitcount:          2".to_string(),
        ),
        (
            "keys=stacktrace",
            "{ common_stacktrace:\n         f+0x1000/0x9\n         f+0x2000/0x9\n} hitcount:          2"
                .to_string(),
        ),
        (
            "keys=calls,u8",
            "{ calls.stacktrace         f+0x1000/0x9\n         f+0x2000/0x9\n, u8:        200} \
             hitcount:          2"
                .to_string(),
        ),
        (
            "keys=u8:vals=u64.percent,u8.graph",
            "{ u8:        200 } hitcount:          2  u64 (%): 100.00  u8: ####################"
                .to_string(),
        ),
    ] {
        assert_eq!(line(text), want, "{text}");
    }
}

#[test]
fn variables_are_set() {
    let text = "keys=u8:x=u64+3:n=name:c=common_pid.execname:s=common_stacktrace";
    let description = compiled(text).unwrap();
    let map = map_of(&description, 1);
    let entry = entry();
    let evaluation = Evaluation {
        description: &description,
        entry: &entry,
        references: &[],
        hit: &Here,
    };
    let element = evaluation.count(&map, &[200], &()).unwrap();
    assert_eq!(map.read(element, 0, true), Some(42));
    assert_eq!(map.read(element, 0, false), None);
    let mut memory = [0; TEXT];
    map.text(element, 0, &mut memory);
    assert_eq!(&memory[..4], b"abc\0");
    map.text(element, 1, &mut memory);
    assert_eq!(&memory[..12], b"kworker/5:1\0");
    let words: Vec<_> = map
        .text_words(element, 2)
        .iter()
        .map(Shared::load_relaxed)
        .collect();
    assert_eq!(words[..4], [2, 0x1000, 0x2000, 0]);
    assert_eq!(map.find(&[200]), Some(element));
    assert_eq!(map.find(&[201]), None);
    map.clear();
    assert_eq!(map.find(&[200]), None);
}

#[test]
fn signs() {
    for (expression, signed) in [
        ("s32+1", true),
        ("s32.hex+1", true),
        ("s32.log2+1", false),
        ("s32.buckets=10+1", false),
        ("-(s32.log2+1)", false),
        ("u8+s32", false),
    ] {
        let description = compiled(&std::format!("keys=u8:x={expression}")).unwrap();
        let variable = description.variables.as_slice()[0];
        assert_eq!(
            description.node(variable.node).signed,
            signed,
            "{expression}"
        );
    }
    let like = |one: &str, other: &str| {
        let (one, other) = (compiled(one).unwrap(), compiled(other).unwrap());
        let key = |of: &Description| *of.node(of.keys.as_slice()[0].node);
        key(&one).is_like(&key(&other))
    };
    assert!(like("keys=s32.log2", "keys=s32.buckets=10"));
    assert!(!like("keys=s32.log2", "keys=s32"));
}

#[test]
fn words_of_keys() {
    for (keys, words) in [
        ("calls", 32),
        ("calls.stacktrace", 31),
        ("calls.stacktrace,loc", 63),
        ("calls,calls.stacktrace", 63),
        ("calls.stacktrace,calls.stacktrace,u8", 63),
        ("long", 38),
    ] {
        let description = compiled(&std::format!("keys={keys}")).unwrap();
        assert_eq!(description.key_words, words, "{keys}");
    }
    // All words of a key are set, also the one behind a stack.
    let description = compiled("keys=calls").unwrap();
    let evaluation = Evaluation {
        description: &description,
        entry: &entry(),
        references: &[],
        hit: &Here,
    };
    let mut key = [u64::MAX; 32];
    evaluation.key(&mut key);
    assert_eq!(key[..3], [0x1000, 0x2000, 0]);
    assert_eq!(key[3..], [0; 29]);
}

#[test]
fn orders() {
    let text = "keys=s32:vals=u64:sort=u64.descending,s32";
    let description = compiled(text).unwrap();
    assert_eq!(description.sort.as_slice()[0].by, SortBy::Value(0));
    assert_eq!(description.nodes.as_slice()[0].modifier, Modifier::Plain);
    let map = map_of(&description, 3);
    for (key, value) in [(5i64, 1u64), (-2, 1), (9, 7), (3, 1)] {
        let element = map.insert(&[key as u64], &(), |_, _| {}).unwrap();
        map.add(element, 1, value);
    }
    let mut elements: Vec<_> = map.elements().collect();
    let what = (&description, text.as_bytes());
    print::sort(what, &map, &mut elements, |part, order| part.sort_by(order));
    let keys: Vec<_> = elements
        .iter()
        .map(|at| map.key_word(*at, 0) as i64)
        .collect();
    assert_eq!(keys, [9, -2, 3, 5]);
    // A modifier that takes the sign off does not change the order.
    let text = "keys=s32.buckets=1:vals=u64:sort=u64.descending,s32";
    let what = (&compiled(text).unwrap(), text.as_bytes());
    print::sort(what, &map, &mut elements, |part, order| part.sort_by(order));
    let keys = elements.iter().map(|at| map.key_word(*at, 0) as i64);
    assert!(keys.eq([9, -2, 3, 5]));
    // As in C, as many bits are compared as the field has, of which a group of negative numbers needs more.
    let text = "keys=s32.buckets=8589934592:sort=s32";
    let description = compiled(text).unwrap();
    let map = map_of(&description, 3);
    for key in [-8_589_934_592_i64 + 7, 0, -3, 8] {
        map.insert(&[key as u64], &(), |_, _| {}).unwrap();
    }
    let mut elements: Vec<_> = map.elements().collect();
    let what = (&description, text.as_bytes());
    print::sort(what, &map, &mut elements, |part, order| part.sort_by(order));
    let keys = elements.iter().map(|at| map.key_word(*at, 0) as i64);
    assert!(keys.eq([-3, 0, -8_589_934_585, 8]));
}

#[test]
fn constants_of_variables_are_folded() {
    // `$five` is the variable of a constant in another trigger.
    let description = compiled("keys=u8:y=$five*3").unwrap();
    let node = description.node(description.variables.as_slice()[0].node);
    assert_eq!(node.value, Value::Constant(15));
    let (errno, errors) = compiled("keys=u8:y=u64/$zero").unwrap_err();
    assert_eq!(
        (errno, errors[0].0),
        (Errno::Domain, Reason::DivisionByZero)
    );
}

/// As many nodes as a definition can have.
#[test]
fn largest_definition() {
    let sum = "u64+u64+u64+u64";
    let mut text = std::format!("keys={sum},{sum},{sum}:vals={sum},{sum}");
    for variable in 0..super::VARIABLES {
        text += &std::format!(":v{variable}={sum}");
    }
    compiled(&text).unwrap();
}

/// What counts of a definition for what is the same.
fn counted(text: &str) -> Vec<u8> {
    let mut kept = Kept::default();
    let description = compiled(text).unwrap();
    let attributes = Attributes::parse(text.as_bytes(), &mut kept).unwrap();
    let mut actions = ArrayVec::new(Action::NONE);
    let texts = attributes.actions();
    Action::parse_all(texts, &|_, _| true, &mut kept, &mut actions).unwrap();
    let mut memory = [0; 1000];
    let mut line = LineBuf::new(&mut memory);
    same::identity(&mut line, &description, text.as_bytes(), &actions).unwrap();
    line.as_bytes().to_vec()
}

#[test]
fn same_definitions() {
    for (one, other) in [
        ("keys=u64.buckets=5", "keys=u64.buckets=7:size=256"),
        ("keys=u64:vals=1", "keys=u64:vals=2"),
        ("keys=u64:vals=u64+1", "keys=u64:vals=u64*u64"),
        ("keys=u64:x=u64", "keys=u64:x=u64:pause"),
        ("keys=cpu", "keys=common_cpu"),
    ] {
        assert_eq!(counted(one), counted(other), "{one} {other}");
    }
    let different = [
        "keys=u64",
        "keys=s32",
        "keys=u64.hex",
        "keys=u64:vals=u64",
        "keys=u64:vals=1",
        "keys=u64:vals=s32+1",
        "keys=u64:vals=u64+1",
        "keys=u64:x=u64",
        "keys=u64:y=u64",
        "keys=u64:x=common_timestamp",
        "keys=u64:x=common_timestamp.usecs",
        "keys=u64:sort=hitcount.descending",
        "keys=u64:sort=u64",
        "keys=u64,s32",
        "keys=s32,u64",
    ];
    for (at, one) in different.iter().enumerate() {
        for other in &different[..at] {
            assert_ne!(counted(one), counted(other), "{one} {other}");
        }
    }
}

#[test]
fn ties_are_sorted_by_the_bytes_of_the_key_first() {
    let description = compiled("keys=s32").unwrap();
    let map = map_of(&description, 3);
    for key in [0x0100u64, 2, 0x0201, 1] {
        map.insert(&[key], &(), |_, _| {}).unwrap();
    }
    let mut elements: Vec<_> = map.elements().collect();
    print::sort(
        (&description, b"keys=s32"),
        &map,
        &mut elements,
        |part, order| part.sort_by(order),
    );
    let keys: Vec<_> = elements.iter().map(|at| map.key_word(*at, 0)).collect();
    assert_eq!(keys, [0x0100, 1, 0x0201, 2]);
}
