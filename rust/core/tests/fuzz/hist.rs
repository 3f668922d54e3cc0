// SPDX-License-Identifier: GPL-2.0

//! Any bytes as the definition of a histogram: it is refused at a place that it has, or it is
//! compiled, what is printed of it is the same histogram, and short and long entries are counted in
//! its table and printed.

use core::fmt;
use rtrace_core::event::field::{Field, Kind};
use rtrace_core::event::hist::action::{Action, Actions, Effects, Parameter};
use rtrace_core::event::hist::attributes::{condition, hide_minus, split_filter, Attributes};
use rtrace_core::event::hist::compile::{compile, compile_actions, Found, Scope};
use rtrace_core::event::hist::debug::{Definition, Facts};
use rtrace_core::event::hist::description::{ArrayVec, Description, Form, Node, Target, TypeName};
use rtrace_core::event::hist::error::{position, Errno, Log, Reason};
use rtrace_core::event::hist::evaluate::{Evaluation, Hit};
use rtrace_core::event::hist::map::{Element, Layout, Map};
use rtrace_core::event::hist::plain::{Plain, Rest};
use rtrace_core::event::hist::print::{self, Names};
use rtrace_core::event::hist::{same, KEY_WORDS, VARIABLES};
use rtrace_core::format::symbol::Symbols;
use rtrace_core::format::{LineBuf, Out};
use rtrace_core::sys::Shared;

struct Event;

impl Scope for Event {
    fn field(&self, name: &[u8]) -> Option<(Field, TypeName)> {
        let (kind, offset, size, signed) = match name {
            b"pid" | b"prio" | b"id" => (Kind::Number, 12, 4, true),
            b"len" | b"bytes_req" | b"call_site" => (Kind::Number, 16, 8, false),
            b"u8" => (Kind::Number, 8, 1, false),
            b"s16" => (Kind::Number, 10, 2, true),
            b"comm" | b"next_comm" => (Kind::Array, 24, 10, true),
            b"long" => (Kind::Array, 24, 300, true),
            b"filename" => (Kind::DataLoc, 36, 4, true),
            b"buf" => (Kind::RelLoc, 40, 4, true),
            b"stack" => (Kind::Stacktrace, 60, 4, false),
            b"odd" => (Kind::Number, 44, 3, false),
            b"ip" => (Kind::Function, 16, 8, false),
            _ => return None,
        };
        let ty: &[u8] = if signed { b"int" } else { b"u64" };
        let field = Field {
            kind,
            offset,
            size,
            signed,
        };
        Some((field, TypeName::of(ty)))
    }

    fn field_variable(
        &mut self,
        _: (&[u8], &[u8]),
        name: &[u8],
        _: &Description,
        log: &mut dyn Log,
    ) -> Option<Found> {
        self.variable(None, name, log)
    }

    fn hold_synthetic(&mut self, name: &[u8]) -> Option<u8> {
        name.ends_with(b"lat").then_some(0)
    }

    /// Any number of fields that are numbers, then a text and a stack.
    fn parameter(&self, at: usize) -> Option<Parameter> {
        let form = [Form::Number, Form::Text, Form::Stack][at % 3];
        (at < 3).then_some(Parameter {
            form,
            dynamic: at == 1,
            ty: TypeName::of(b"int"),
            size: 8,
            signed: false,
        })
    }

    fn is_event(&self, system: &[u8], _: &[u8]) -> bool {
        system == b"own"
    }

    fn removes(&self) -> bool {
        false
    }

    fn has_variable(&self, name: &[u8]) -> bool {
        name == b"taken"
    }

    fn variable(
        &mut self,
        _: Option<(&[u8], &[u8])>,
        name: &[u8],
        _: &mut dyn Log,
    ) -> Option<Found> {
        let (variable, node) = match name {
            b"ts0" => (
                0,
                Node {
                    usecs: true,
                    timestamp: true,
                    ..Node::NONE
                },
            ),
            b"ts" | b"x" => (1, Node::NONE),
            b"st" => (
                2,
                Node {
                    form: Form::Stack,
                    ..Node::NONE
                },
            ),
            b"comm" => (
                3,
                Node {
                    form: Form::Text,
                    ..Node::NONE
                },
            ),
            _ => return None,
        };
        let target = Target {
            histogram: 0,
            variable,
        };
        Some(Found { target, node })
    }
}

struct Checked<'a>(&'a [u8]);

impl Log for Checked<'_> {
    fn log(&mut self, _: Reason, token: &[u8]) {
        assert!(usize::from(position(self.0, token)) <= self.0.len());
    }
}

struct Nothing;

impl Effects for Nothing {
    fn trace(&self, _: u8, parameters: &[u8], references: &[u64]) {
        for at in parameters {
            assert!(usize::from(*at) < references.len());
        }
    }

    fn snapshot(&self, _: Element, _: u64, _: bool) {}
}

struct Here;

impl Hit for Here {
    fn cpu(&self) -> u32 {
        1
    }

    fn comm(&self) -> [u8; 16] {
        [b'x'; 16]
    }

    fn is_idle(&self) -> bool {
        false
    }

    fn time(&self, usecs: bool) -> u64 {
        u64::from(usecs)
    }

    fn stack(&self, into: &mut [u64]) {
        into.fill(7);
    }
}

impl Symbols for Here {
    fn write_symbol(
        &self,
        address: usize,
        _offset: bool,
        out: &mut dyn Out,
    ) -> Result<bool, fmt::Error> {
        let is_named = address % 2 == 0;
        if is_named {
            out.bytes(b"f+0x1/0x2")?;
        }
        Ok(is_named)
    }
}

impl Names for Here {
    fn syscall(&self, number: u64) -> Option<&[u8]> {
        (number < 3).then_some(b"sys_read")
    }
}

impl Facts for Here {
    fn type_name(&self, ty: TypeName, out: &mut dyn Out) -> fmt::Result {
        write!(out, "{ty:?}")
    }

    fn table(&self, histogram: u16, out: &mut dyn Out) -> fmt::Result {
        write!(out, "{histogram}")
    }
}

/// Runs `f` on a definition without filter, if it is one.
fn compiled<R>(text: &[u8], f: impl FnOnce(&Description, &Actions<'_>) -> R) -> Result<R, Errno> {
    let mut log = Checked(text);
    let attributes = Attributes::parse(text, &mut log)?;
    assert!((7..=17).contains(&attributes.bits) && !attributes.keys.is_empty());
    let is_event = |_: &[u8], event: &[u8]| !event.is_empty();
    let mut actions = ArrayVec::new(Action::NONE);
    Action::parse_all(attributes.actions(), &is_event, &mut log, &mut actions)?;
    let all = (&attributes, &actions);
    let mut description = Description::EMPTY;
    compile(text, all, &mut Event, &mut log, &mut description)?;
    compile_actions(text, &actions, &mut Event, &mut log, &mut description)?;
    assert!(!description.keys.is_empty() && usize::from(description.slots) <= VARIABLES);
    assert!(usize::from(description.key_words) <= KEY_WORDS);
    Ok(f(&description, &actions))
}

/// What `write` writes.
fn text(write: impl FnOnce(&mut dyn Out) -> fmt::Result) -> Vec<u8> {
    let mut memory = vec![0; 1 << 16];
    let mut out = LineBuf::new(&mut memory);
    write(&mut out).unwrap();
    out.as_bytes().to_vec()
}

fn shown(description: &Description, text_of: &[u8], actions: &Actions<'_>) -> Vec<u8> {
    text(|out| {
        // `nohitcount` is printed elsewhere.
        print::definition(out, description, text_of, true)?;
        let mut all = actions.as_slice().iter();
        all.try_for_each(|action| action.write(out))
    })
}

fn identity(description: &Description, text_of: &[u8], actions: &Actions<'_>) -> Vec<u8> {
    text(|out| same::identity(out, description, text_of, actions))
}

/// What is shown is the definition of a histogram that is shown the same. As in C, not all that is
/// shown can be read: the modifiers of sort fields, the units within expressions.
fn again(description: &Description, text_of: &[u8], actions: &Actions<'_>) {
    let first = shown(description, text_of, actions);
    let mut hidden = first.clone();
    hide_minus(&mut hidden);
    let second = compiled(&hidden, |other, actions| {
        // Operands and references do not tell definitions apart; a stack is shown with a modifier.
        let is_plain = |node: &Node| !node.is_expression() && !node.is_stack();
        let is_simple = !text_of.contains(&b'$') && other.nodes.as_slice().iter().all(is_plain);
        if is_simple {
            let mine = identity(description, text_of, &ArrayVec::new(Action::NONE));
            let theirs = identity(other, &hidden, &ArrayVec::new(Action::NONE));
            assert_eq!(
                mine.escape_ascii().to_string(),
                theirs.escape_ascii().to_string()
            );
        }
        shown(other, &hidden, actions)
    });
    if let Ok(second) = second {
        assert_eq!(
            first.escape_ascii().to_string(),
            second.escape_ascii().to_string()
        );
    }
}

fn map_of(description: &Description) -> Map<Vec<Shared>> {
    let layout = Layout {
        key: description.key_words.into(),
        sums: description.values.len() + 1,
        variables: description.slots.into(),
        comm: description.comm,
        texts: description.texts.into(),
    };
    let zeros = |count| (0..count).map(|_| Shared::new(0)).collect::<Vec<_>>();
    let slots = zeros(Map::<Vec<Shared>>::slots_of(1));
    let words = zeros(Map::<Vec<Shared>>::words_of(1, layout));
    Map::new(1, layout, slots, words).unwrap()
}

/// Counts entries from `bytes`, in the general form and in the plain one.
fn count(description: &Description, text_of: &[u8], bytes: &[u8]) {
    let (map, other) = (map_of(description), map_of(description));
    let long: Vec<u8> = bytes.iter().copied().cycle().take(400).collect();
    // No text has a negative number in it.
    let negative: Vec<u8> = long.iter().map(|byte| !byte).collect();
    for entry in [&[], &long[..8], &long[..30], &long, &negative] {
        let evaluation = Evaluation {
            description,
            entry,
            references: &[9; VARIABLES],
            hit: &Here,
        };
        let mut key = [0; KEY_WORDS];
        let key = &mut key[..description.key_words.into()];
        evaluation.key(key);
        let element = evaluation.count(&map, key, &());
        assert_eq!(element.is_some(), map.find(key).is_some());
        if let Some(element) = element {
            evaluation.respond(&map, element, &Nothing);
        }
        // A shorter entry than the event's structure is never read so.
        let plain = Plain::of(description).filter(|plain| plain.rest() != Rest::References);
        if let Some(plain) = plain.filter(|_| entry.len() >= 64) {
            plain.with_key(entry, |same| assert_eq!(same, key));
            let fresh = map_of(description);
            let (one, two) = (
                plain.count(entry, &other, &()).is_some(),
                evaluation.count(&fresh, key, &()),
            );
            assert!(one || other.drops() != 0);
            let (Some(first), Some(second)) = (other.find(key), two) else {
                continue;
            };
            if other.sum(first, 0) == 1 {
                for sum in 0..other.layout().sums {
                    assert_eq!(other.sum(first, sum), fresh.sum(second, sum));
                }
            }
        }
    }
    let mut elements: Vec<_> = map.elements().collect();
    print::sort(
        (description, text_of),
        &map,
        &mut elements,
        |part, order| {
            part.sort_by(|a, b| order(a, b));
        },
    );
    let statistics = print::statistics(&map, map.elements());
    for element in elements {
        text(|out| {
            print::entry(
                out,
                (description, text_of),
                (&map, element),
                &statistics,
                &Here,
            )
        });
    }
}

pub fn run(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(4095)];
    let Ok((definition, filter)) = split_filter(bytes) else {
        return;
    };
    let filter = filter.map_or(0, |filter| condition(filter).len());
    assert!(definition.len() + filter < bytes.len() || filter == 0);
    let mut definition = definition.to_vec();
    hide_minus(&mut definition);
    let _ = compiled(&definition, |description, actions| {
        again(description, &definition, actions);
        text(|out| {
            let definition = Definition {
                description,
                text: &definition,
                actions,
                facts: &Here,
            };
            definition.write(out)
        });
        count(description, &definition, bytes);
    });
}
