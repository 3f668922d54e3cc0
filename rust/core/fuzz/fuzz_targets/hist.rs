// SPDX-License-Identifier: GPL-2.0

//! Any bytes as the definition of a histogram: it is refused at a place that it has, or it is
//! compiled, printed, and run on short and long entries.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rtrace_core::event::field::{Field, Kind};
use rtrace_core::event::hist::action::{Action, Effects, Parameter};
use rtrace_core::event::hist::attributes::{hide_minus, split_filter, Attributes};
use rtrace_core::event::hist::compile::{compile, compile_actions, Found, Scope};
use rtrace_core::event::hist::description::{ArrayVec, Description, Form, Node, Target, TypeName};
use rtrace_core::event::hist::error::{position, Log, Reason};
use rtrace_core::event::hist::evaluate::{Evaluation, Hit};
use rtrace_core::event::hist::map::{Element, Layout, Map};
use rtrace_core::event::hist::{print, KEY_WORDS, VARIABLES};
use rtrace_core::format::LineBuf;
use rtrace_core::sys::Shared;

struct Event;

impl Scope for Event {
    fn field(&self, name: &[u8]) -> Option<(Field, TypeName)> {
        let (kind, size) = match name.first()? {
            b'a'..=b'f' => (Kind::Number, 1 << (name.len() % 4)),
            b'g' => (Kind::Array, 10),
            b'h' => (Kind::DataLoc, 4),
            b'i' => (Kind::RelLoc, 4),
            b'j' => (Kind::Stacktrace, 4),
            _ => return None,
        };
        let field = Field {
            kind,
            offset: 8 + 4 * (name.len() as u16 % 16),
            size,
            signed: name.len() % 2 == 0,
        };
        Some((field, TypeName::of(b"int")))
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
        name.starts_with(b"y").then_some(0)
    }

    fn parameter(&self, at: usize) -> Option<Parameter> {
        let form = [Form::Number, Form::Text, Form::Stack][at % 3];
        (at < 5).then_some(Parameter {
            form,
            dynamic: at == 1,
            ty: TypeName::of(b"int"),
            size: 8,
            signed: false,
        })
    }

    fn is_event(&self, system: &[u8], _: &[u8]) -> bool {
        system == b"s"
    }

    fn removes(&self) -> bool {
        false
    }

    fn has_variable(&self, name: &[u8]) -> bool {
        name == b"t"
    }

    fn variable(
        &mut self,
        _: Option<(&[u8], &[u8])>,
        name: &[u8],
        _: &mut dyn Log,
    ) -> Option<Found> {
        let target = Target {
            histogram: 0,
            variable: name.len() as u8,
        };
        let node = Node::NONE;
        name.starts_with(b"v").then_some(Found { target, node })
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

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(4095)];
    let Ok((text, _)) = split_filter(bytes) else {
        return;
    };
    let mut text = text.to_vec();
    hide_minus(&mut text);
    let text = &text[..];
    let mut log = Checked(bytes);
    let Ok(attributes) = Attributes::parse(text, &mut log) else {
        return;
    };
    let is_event = |_: &[u8], event: &[u8]| event.starts_with(b"e");
    let mut actions = ArrayVec::new(Action::NONE);
    if Action::parse_all(attributes.actions(), &is_event, &mut log, &mut actions).is_err() {
        return;
    }
    let all = (&attributes, &actions);
    let mut description = Description::EMPTY;
    if compile(text, all, &mut Event, &mut log, &mut description).is_err() {
        return;
    }
    if compile_actions(text, &actions, &mut Event, &mut log, &mut description).is_err() {
        return;
    }
    let mut memory = [0; 8192];
    let mut out = LineBuf::new(&mut memory);
    let _ = print::definition(&mut out, &description, text, true);
    for action in actions.as_slice() {
        let _ = action.write(&mut out);
    }

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
    let map = Map::new(1, layout, slots, words).unwrap();
    for length in [0, 8, 30, bytes.len()] {
        let evaluation = Evaluation {
            description: &description,
            entry: &bytes[..length.min(bytes.len())],
            references: &[9; VARIABLES],
            hit: &Here,
        };
        let mut key = [0; KEY_WORDS];
        let key = &mut key[..layout.key];
        evaluation.key(key);
        let element = evaluation.count(&map, key, &());
        assert_eq!(element.is_some(), map.find(key).is_some());
        if let Some(element) = element {
            evaluation.respond(&map, element, &Nothing);
        }
    }
});
