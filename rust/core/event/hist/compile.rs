// SPDX-License-Identifier: GPL-2.0

//! Parses fields and expressions into a [`Description`].
//!
//! An expression has no parentheses but those after a unary minus. It is split at its last `+` or
//! `-`, else at its last `*` or `/`, so that it is evaluated from left to right.
//!
//! `compile/actions.rs` compiles the actions. That is a second step, since it may make triggers of
//! other events.

mod actions;

use super::action::{Actions, Handler, Parameter};
use super::attributes::Attributes;
use super::description::{
    Description, Form, Key, Modifier, Node, NodeId, Operator, Place, Reference, Sort, SortBy, Span,
    Target, TypeName, Value, Variable,
};
use super::error::{Errno, Log, Reason};
use super::{print, DEPTH, KEY_WORDS, TEXT, VARIABLES};
use crate::core::event::field::{self, Field, Kind};
use crate::core::format::LineBuf;
use crate::core::parse::number;

pub use actions::compile_actions;

/// What a reference found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The variable.
    pub target: Target,
    /// Its node, in the description of its histogram.
    pub node: Node,
}

/// Resolves the names of a definition.
pub trait Scope {
    /// The event's own field called `name`, and its type.
    fn field(&self, name: &[u8]) -> Option<(Field, TypeName)>;

    /// Whether this is the event.
    fn is_event(&self, system: &[u8], event: &[u8]) -> bool;

    /// Whether the definition is of a trigger to be removed. Its variables are there already.
    fn removes(&self) -> bool;

    /// Whether another trigger of the event has a variable called `name`.
    fn has_variable(&self, name: &[u8]) -> bool;

    /// The variable called `name` of another trigger, on the given event or on any.
    fn variable(
        &mut self,
        event: Option<(&[u8], &[u8])>,
        name: &[u8],
        log: &mut dyn Log,
    ) -> Option<Found>;

    /// The variable that has field `name` of another event, of a trigger with keys like those of
    /// `of`. It is made if there is none. An error was logged if it returns `None`.
    fn field_variable(
        &mut self,
        event: (&[u8], &[u8]),
        name: &[u8],
        of: &Description,
        log: &mut dyn Log,
    ) -> Option<Found>;

    /// Holds the synthetic event called `name`, and returns its number for the action. `None` if
    /// there is none.
    fn hold_synthetic(&mut self, name: &[u8]) -> Option<u8>;

    /// A field of the synthetic event that was held last.
    fn parameter(&self, at: usize) -> Option<Parameter>;
}

type Result<T = ()> = core::result::Result<T, Errno>;

/// Compiles `attributes`, which are of `text`, into `into`, which is [empty](Description::EMPTY). The
/// text has no `.sym-offset`: see [`hide_minus`](super::attributes::hide_minus).
///
/// # Errors
///
/// Those of C. `into` is unspecified then.
#[inline(never)] // A definition may make another one. What this has on the stack is gone then.
pub fn compile(
    text: &[u8],
    (attributes, actions): (&Attributes<'_>, &Actions<'_>),
    scope: &mut dyn Scope,
    log: &mut dyn Log,
    into: &mut Description,
) -> Result {
    into.no_hitcount = attributes.no_hitcount;
    let mut parser = Parser {
        text,
        actions,
        scope,
        log,
        into,
        locals: [(&[], &[]); VARIABLES],
        defined: 0,
    };
    parser.definitions(attributes)?;
    parser.values(attributes)?;
    parser.variables()?;
    parser.keys(attributes)?;
    parser.sort(attributes)
}

/// What an expression is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Key,
    Value,
    Variable,
    Operand,
}

struct Parser<'a, 'p> {
    text: &'a [u8],
    actions: &'p Actions<'a>,
    scope: &'p mut dyn Scope,
    log: &'p mut dyn Log,
    into: &'p mut Description,
    /// The variables that this definition sets, with their expressions.
    locals: [(&'a [u8], &'a [u8]); VARIABLES],
    defined: usize,
}

/// The operator at which an expression is split.
enum Split {
    Negative,
    At(Operator, usize),
}

fn root_of(text: &[u8]) -> Option<Split> {
    let last = |sign: u8| text.iter().rposition(|c| *c == sign);
    let (minus, plus) = (last(b'-'), last(b'+'));
    match (minus, plus) {
        (Some(0), _) => return Some(Split::Negative),
        (minus, Some(plus)) if minus.is_none_or(|minus| plus > minus) => {
            return Some(Split::At(Operator::Plus, plus))
        }
        (Some(minus), _) => return Some(Split::At(Operator::Minus, minus)),
        _ => {}
    }
    match (last(b'/'), last(b'*')) {
        (divide, Some(times)) if divide.is_none_or(|divide| times > divide) => {
            Some(Split::At(Operator::Times, times))
        }
        (Some(divide), _) => Some(Split::At(Operator::Divide, divide)),
        _ => None,
    }
}

/// `text` up to where C cuts it first when it parses it: that is what its log looks for afterwards.
fn until_cut(text: &[u8]) -> &[u8] {
    let (mut start, mut end) = (0_usize, text.len());
    while let Some(part) = text.get(start..end) {
        let at = match root_of(part) {
            Some(Split::At(_, at)) => Some(at),
            Some(Split::Negative) => {
                // Behind `-(`.
                start = start.wrapping_add(2);
                let at = part.iter().rposition(|c| *c == b')');
                at.and_then(|at| at.checked_sub(2))
            }
            None => {
                let mut dots = part.iter().enumerate().filter(|(_, c)| **c == b'.');
                let first = dots.next();
                dots.next().and(first).map(|(at, _)| at)
            }
        };
        let Some(at) = at else {
            break;
        };
        end = start.wrapping_add(at);
    }
    text.get(..end).unwrap_or(text)
}

fn is_reference(text: &[u8]) -> bool {
    text.len() >= 2 && text.starts_with(b"$")
}

/// `text` up to the first `end`, and what follows it.
fn cut(text: &[u8], end: u8) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |c| *c == end);
    (parts.next().unwrap_or(&[]), parts.next())
}

impl<'a> Parser<'a, '_> {
    fn refuse<T>(&mut self, reason: Reason, token: &[u8]) -> Result<T> {
        self.log.log(reason, token);
        Err(Errno::Invalid)
    }

    fn push(&mut self, node: Node) -> Result<NodeId> {
        self.into.nodes.push(node).ok_or(Errno::TooLong)
    }

    /// Splits the assignments.
    fn definitions(&mut self, attributes: &Attributes<'a>) -> Result {
        for assignment in attributes.assignments() {
            for part in assignment.split(|c| *c == b',').take(VARIABLES) {
                let (name, expression) = cut(part, b'=');
                let Some(expression) = expression else {
                    return self.refuse(Reason::MalformedAssignment, name);
                };
                let Some(place) = self.locals.get_mut(self.defined) else {
                    return self.refuse(Reason::TooManyVariables, name);
                };
                *place = (name, expression);
                self.defined = self.defined.wrapping_add(1);
            }
        }
        Ok(())
    }

    fn values(&mut self, attributes: &Attributes<'a>) -> Result {
        let mut rest = attributes.values;
        let (mut tokens, mut hitcounts) = (0, 0);
        while let Some(text) = rest {
            if tokens == 3 || self.into.values.len() == super::VALUES {
                break;
            }
            let (token, after) = cut(text, b',');
            (rest, tokens) = (after, tokens + 1);
            if token == b"hitcount" {
                hitcounts += 1;
                if hitcounts == 1 {
                    continue;
                }
            }
            let node = self.value(token, Use::Value)?;
            self.into.values.push(node).ok_or(Errno::Invalid)?;
        }
        if rest.is_some_and(|rest| rest != b"hitcount") {
            return Err(Errno::Invalid);
        }
        if self.into.values.is_empty() && attributes.no_hitcount {
            self.log.log(Reason::NeedsValue, &[]);
            return Err(Errno::NotFound);
        }
        Ok(())
    }

    /// The expression of a value or of a variable.
    fn value(&mut self, text: &'a [u8], purpose: Use) -> Result<NodeId> {
        let id = self.expression(text, purpose, &mut 0)?;
        let node = self.into.node(id);
        let bad = match purpose {
            Use::Variable => matches!(
                node.modifier,
                Modifier::Graph | Modifier::Percent | Modifier::Buckets(_) | Modifier::Log2
            ),
            _ => {
                node.is_stack()
                    || matches!(
                        node.modifier,
                        Modifier::Buckets(_)
                            | Modifier::Log2
                            | Modifier::Sym
                            | Modifier::SymOffset
                            | Modifier::Syscall
                    )
            }
        };
        let refers = matches!(node.value, Value::Reference(_));
        let is_stack = purpose == Use::Value && node.form == Form::Stack;
        if bad && !refers || is_stack {
            return self.refuse(Reason::BadModifier, text);
        }
        // Its number is an address.
        if purpose == Use::Value && node.form == Form::Text && refers {
            return self.refuse(Reason::InvalidTextOperand, text);
        }
        Ok(id)
    }

    fn variables(&mut self) -> Result {
        for at in 0..self.defined {
            let Some((name, expression)) = self.locals.get(at).copied() else {
                break;
            };
            let text = self.text;
            let known = self.into.variables.as_slice().iter();
            let mut known = known.map(|variable| variable.name.within(text));
            let is_taken = known.any(|known| known == name) || self.scope.has_variable(name);
            if is_taken && !self.scope.removes() {
                return self.refuse(Reason::DuplicateVariable, name);
            }
            let id = self.value(expression, Use::Variable)?;
            let mut node = *self.into.node(id);
            if node.modifier == Modifier::Execname {
                node.value = Value::Text(Place::Execname);
                (node.form, node.ty, node.size) = (Form::Text, CHARS, TEXT as u16);
                node.signed = false;
                if let Some(place) = self.into.nodes.as_mut_slice().get_mut(usize::from(id)) {
                    *place = node;
                }
            }
            let variable = self.place(name, id).ok_or(Errno::Invalid)?;
            self.into.variables.push(variable).ok_or(Errno::Invalid)?;
        }
        Ok(())
    }

    /// A variable of any sort, with its place in the element. `None` if there are too many.
    fn place(&mut self, name: &[u8], id: NodeId) -> Option<Variable> {
        let node = *self.into.node(id);
        let text = (node.is_text() || node.is_stack()).then_some(self.into.texts);
        let slot = self.slot()?;
        self.into.texts = self.into.texts.wrapping_add(u8::from(text.is_some()));
        Some(Variable {
            name: Span::of(self.text, name),
            node: id,
            slot,
            text,
        })
    }

    /// A new place for a number in the element.
    fn slot(&mut self) -> Option<u8> {
        let slot = self.into.slots;
        if usize::from(slot) == VARIABLES {
            return None;
        }
        self.into.slots = slot.wrapping_add(1);
        Some(slot)
    }

    fn keys(&mut self, attributes: &Attributes<'a>) -> Result {
        let mut rest = Some(attributes.keys);
        let mut first = 0;
        while let Some(text) = rest.filter(|_| self.into.keys.len() < super::KEYS) {
            let (token, after) = cut(text, b',');
            rest = after;
            let id = match token {
                b"stacktrace" => self.push(stack(Span::of(self.text, token), Modifier::Plain))?,
                _ => self.expression(token, Use::Key, &mut 0)?,
            };
            if self.refers(id) {
                return self.refuse(Reason::InvalidReferenceKey, until_cut(token));
            }
            let node = self.into.node(id);
            let words = match node.value {
                Value::Text(Place::Array { size, .. }) => usize::from(size).div_ceil(8),
                Value::Text(_) => TEXT / 8,
                Value::Stack => DEPTH,
                Value::StackField(_) => usize::from(node.size).div_ceil(8),
                _ => 1,
            };
            let end = words.checked_add(first).filter(|end| *end <= KEY_WORDS);
            let end = end.ok_or(Errno::Invalid)?;
            let key = Key {
                node: id,
                first: first as u8,
                words: words as u8,
            };
            self.into.keys.push(key).ok_or(Errno::Invalid)?;
            first = end;
        }
        if rest.is_some() {
            return Err(Errno::Invalid);
        }
        self.into.key_words = first as u8;
        Ok(())
    }

    /// Whether a node refers to a variable, itself or in its operands.
    fn refers(&self, id: NodeId) -> bool {
        match self.into.node(id).value {
            Value::Reference(_) => true,
            // Operands come before their operation.
            Value::Negative(of) => of < id && self.refers(of),
            Value::Operation(_, a, b) => a < id && b < id && (self.refers(a) || self.refers(b)),
            _ => false,
        }
    }

    fn sort(&mut self, attributes: &Attributes<'a>) -> Result {
        let mut rest = attributes.sort;
        if rest.is_none() {
            let sort = Sort {
                by: SortBy::Hitcount,
                descending: false,
            };
            self.into.sort.push(sort).ok_or(Errno::Invalid)?;
        }
        while let Some(text) = rest {
            let (token, after) = cut(text, b',');
            if token.is_empty() {
                return self.refuse(Reason::EmptySortField, b"sort=");
            }
            rest = after;
            if self.into.sort.len() + 1 == super::SORTS && rest.is_some() {
                return self.refuse(Reason::TooManySortFields, b"sort=");
            }
            let (name, modifier) = cut(token, b'.');
            if name.is_empty() {
                return self.refuse(Reason::EmptySortField, b"sort=");
            }
            let Some(by) = self.sorted_by(name) else {
                return self.refuse(Reason::InvalidSortField, name);
            };
            let descending = match modifier {
                None | Some(b"ascending") => false,
                Some(b"descending") => true,
                Some(modifier) => return self.refuse(Reason::InvalidSortModifier, modifier),
            };
            let sort = Sort { by, descending };
            self.into.sort.push(sort).ok_or(Errno::Invalid)?;
        }
        Ok(())
    }

    fn sorted_by(&self, name: &[u8]) -> Option<SortBy> {
        if name == b"hitcount" {
            return Some(SortBy::Hitcount);
        }
        let is_called = |id: NodeId| {
            let mut memory = [0; TEXT];
            let mut line = LineBuf::new(&mut memory);
            let written = print::field_name(&mut line, self.into, self.text, id);
            written.is_ok() && line.as_bytes() == name
        };
        let values = self.into.values.as_slice();
        let value = values.iter().position(|id| is_called(*id));
        let keys = self.into.keys.as_slice();
        let key = || keys.iter().position(|key| is_called(key.node));
        value
            .map(|at| SortBy::Value(at as u8))
            .or_else(|| key().map(|at| SortBy::Key(at as u8)))
    }

    fn expression(&mut self, text: &'a [u8], purpose: Use, count: &mut u8) -> Result<NodeId> {
        if *count > 3 {
            return self.refuse(Reason::TooManySubexpressions, text);
        }
        let (operator, at) = match root_of(text) {
            None => return self.atom(text, purpose),
            Some(Split::Negative) => return self.negative(text, count),
            Some(Split::At(operator, at)) => (operator, at),
        };
        *count += 1;
        let left_text = text.get(..at).unwrap_or(&[]);
        let right_text = text.get(at.wrapping_add(1)..).unwrap_or(&[]);
        if left_text.is_empty() || right_text.is_empty() {
            return Err(Errno::Invalid);
        }
        let left = self.operand(left_text, count)?;
        let right = self.operand(right_text, count)?;
        let (a, b) = (*self.into.node(left), *self.into.node(right));
        if a.usecs != b.usecs {
            return self.refuse(Reason::TimestampMismatch, &[]);
        }
        let (constant_a, constant_b) = (self.constant(&a), self.constant(&b));
        let by_zero = operator == Operator::Divide && constant_b == Some(0);
        if by_zero {
            self.log.log(Reason::DivisionByZero, right_text);
            return Err(Errno::Domain);
        }
        for node in [a, b] {
            if let Value::Reference(at) = node.value {
                let references = self.into.references.as_mut_slice();
                if let Some(reference) = references.get_mut(usize::from(at)) {
                    reference.once = true;
                }
            }
        }
        let value = match (constant_a, constant_b) {
            (Some(a), Some(b)) => Value::Constant(operator.apply(a, b)),
            _ => Value::Operation(operator, left, right),
        };
        self.push_operation(Node {
            value,
            ty: a.ty,
            size: a.size,
            signed: a.signed,
            timestamp: a.timestamp,
            usecs: a.usecs,
            ..Node::NONE
        })
    }

    /// A new operation, the text of which has to fit into C's memory for it.
    fn push_operation(&mut self, node: Node) -> Result<NodeId> {
        let id = self.push(node)?;
        let mut memory = [0; TEXT - 1];
        let mut line = LineBuf::new(&mut memory);
        match print::field_name(&mut line, self.into, self.text, id) {
            Ok(()) => Ok(id),
            Err(_) => Err(Errno::TooLong),
        }
    }

    /// The number that a node always has.
    fn constant(&self, node: &Node) -> Option<u64> {
        match node.value {
            Value::Constant(number) => Some(number),
            Value::Reference(at) => {
                let references = self.into.references.as_slice();
                references.get(usize::from(at))?.constant
            }
            _ => None,
        }
    }

    /// An operand, which is not a text.
    fn operand(&mut self, text: &'a [u8], count: &mut u8) -> Result<NodeId> {
        let id = self.expression(text, Use::Operand, count)?;
        let node = self.into.node(id);
        let is_address = node.form != Form::Number && matches!(node.value, Value::Reference(_));
        if node.is_text() || is_address {
            return self.refuse(Reason::InvalidTextOperand, text);
        }
        Ok(id)
    }

    /// `-(expression)`.
    fn negative(&mut self, text: &'a [u8], count: &mut u8) -> Result<NodeId> {
        *count += 1;
        if *count > 3 {
            return self.refuse(Reason::TooManySubexpressions, text);
        }
        let inner = text.get(1..).unwrap_or(&[]);
        if !inner.contains(&b'(') {
            return Err(Errno::Invalid);
        }
        let inner = inner.get(1..).unwrap_or(&[]);
        let end = inner.iter().rposition(|c| *c == b')');
        let end = end.ok_or(Errno::Invalid)?;
        if end.wrapping_add(1) != inner.len() {
            return self.refuse(Reason::UnaryMinusSubexpression, inner);
        }
        let operand = self.operand(inner.get(..end).unwrap_or(&[]), count)?;
        let node = *self.into.node(operand);
        let is_changed = matches!(node.modifier, Modifier::Log2 | Modifier::Buckets(_));
        if matches!(node.value, Value::Negative(_)) || is_changed {
            return Err(Errno::Invalid);
        }
        self.push_operation(Node {
            value: Value::Negative(operand),
            ty: node.ty,
            size: node.size,
            signed: node.signed,
            timestamp: node.timestamp,
            usecs: node.usecs,
            ..Node::NONE
        })
    }

    fn atom(&mut self, text: &'a [u8], purpose: Use) -> Result<NodeId> {
        if text.first().is_some_and(u8::is_ascii_digit) {
            let Ok(constant) = number::unsigned(text, 0) else {
                return self.refuse(Reason::ExpectNumber, text);
            };
            return self.push(Node {
                value: Value::Constant(constant),
                ..Node::NONE
            });
        }
        let mut parts = text.splitn(3, |c| *c == b'.');
        let (event, name) = match (parts.next(), parts.next(), parts.next()) {
            (Some(system), Some(event), Some(name)) => (Some((system, event)), name),
            _ => (None, text),
        };
        if is_reference(name) {
            match self.local(event, name) {
                Some(field) => return self.field(field, purpose),
                None => {
                    if let Some(id) = self.reference(event, name)? {
                        return Ok(id);
                    }
                }
            }
        }
        self.field(name, purpose)
    }

    /// The field that a variable of this definition is.
    fn local(&self, event: Option<(&[u8], &[u8])>, name: &[u8]) -> Option<&'a [u8]> {
        if event.is_some_and(|(system, event)| !self.scope.is_event(system, event)) {
            return None;
        }
        let locals = self.locals.get(..self.defined)?;
        let mut named = locals
            .iter()
            .filter(|(local, _)| name.get(1..) == Some(*local));
        named
            .find_map(|(_, text)| (root_of(text).is_none() && !is_reference(text)).then_some(*text))
    }

    /// A reference to a variable of another trigger. `None` if there is no such variable.
    fn reference(
        &mut self,
        event: Option<(&'a [u8], &'a [u8])>,
        name: &'a [u8],
    ) -> Result<Option<NodeId>> {
        let name = name.get(1..).unwrap_or(&[]);
        let found = self.variable_of(event, name);
        let at = found.and_then(|found| self.refer(event, name, &found));
        let (Some(found), Some(at)) = (found, at) else {
            self.log.log(Reason::VariableNotFound, name);
            return Ok(None);
        };
        let node = Node {
            value: Value::Reference(at),
            form: found.node.form,
            ty: found.node.ty,
            size: found.node.size,
            signed: found.node.signed,
            timestamp: found.node.timestamp,
            usecs: found.node.usecs,
            ..Node::NONE
        };
        self.push(node).map(Some)
    }

    /// The variable called `name` of another trigger, on the given event. If none is given, those
    /// of `onmatch` come first, and then any.
    fn variable_of(&mut self, event: Option<(&[u8], &[u8])>, name: &[u8]) -> Option<Found> {
        if event.is_none() {
            let mut found = None;
            for action in self.actions.as_slice() {
                let Handler::Match { system, event } = action.handler else {
                    continue;
                };
                let here = self.scope.variable(Some((system, event)), name, self.log);
                if here.is_some() && found.is_some() {
                    self.log.log(Reason::VariableNotUnique, name);
                    return None;
                }
                found = found.or(here);
            }
            if found.is_some() {
                return found;
            }
        }
        self.scope.variable(event, name, self.log)
    }

    /// The reference to a variable: the one there is, or a new one.
    fn refer(
        &mut self,
        event: Option<(&'a [u8], &'a [u8])>,
        name: &'a [u8],
        found: &Found,
    ) -> Option<u8> {
        let target = found.target;
        let references = self.into.references.as_slice();
        if let Some(at) = references.iter().position(|known| known.target == target) {
            return Some(at as u8);
        }
        let span = |part: &[u8]| Span::of(self.text, part);
        self.into.references.push(Reference {
            event: event.map(|(system, event)| (span(system), span(event))),
            name: span(name),
            target,
            once: false,
            constant: match found.node.value {
                Value::Constant(number) => Some(number),
                _ => None,
            },
            ty: found.node.ty,
            size: found.node.size,
            signed: found.node.signed,
        })
    }

    fn field(&mut self, text: &'a [u8], purpose: Use) -> Result<NodeId> {
        let (name, modifier) = cut(text, b'.');
        let modifier = match modifier {
            Some(modifier) => self.modifier(name, modifier, purpose)?,
            None => Modifier::Plain,
        };
        let span = Span::of(self.text, name);
        let plain = |value: Value, size: u16| Node {
            value,
            modifier,
            name: span,
            size,
            usecs: modifier == Modifier::Usecs,
            ..Node::NONE
        };
        let chars = |place: Place, ty: TypeName, size: u16| Node {
            form: Form::Text,
            ty,
            ..plain(Value::Text(place), size)
        };
        let cpu = Node {
            ty: TypeName::of(b"unsigned int"),
            ..plain(Value::Cpu, 4)
        };
        let text_of = TEXT as u16;
        // As in C, numbers that are changed have no sign.
        let is_changed = matches!(modifier, Modifier::Log2 | Modifier::Buckets(_));
        let node = match name {
            b"common_timestamp" => {
                self.into.timestamps = true;
                self.into.usecs |= modifier == Modifier::Usecs;
                Node {
                    timestamp: true,
                    ..plain(Value::Timestamp, 8)
                }
            }
            b"common_stacktrace" => stack(span, modifier),
            b"common_cpu" => cpu,
            b"common_comm" => chars(Place::Comm, CHARS, text_of),
            b"hitcount" => plain(Value::Hitcount, 8),
            _ => {
                let shared = || {
                    let shared = field::shared_by_all(name)?;
                    Some((shared.field, TypeName::of(shared.c_type.as_bytes())))
                };
                let Some((field, ty)) = self.scope.field(name).or_else(shared) else {
                    return self.refuse(Reason::FieldNotFound, name);
                };
                match field.kind {
                    Kind::Cpu => cpu,
                    Kind::Comm => chars(Place::Comm, CHARS, text_of),
                    Kind::Stacktrace if field.size == 0 => stack(span, modifier),
                    Kind::Stacktrace => {
                        // Without the modifier, C has room for a text, which is one word more.
                        let (ty, size) = match modifier {
                            Modifier::Stacktrace => (STACK, STACK_SIZE),
                            _ => (ty, text_of),
                        };
                        Node {
                            form: Form::Stack,
                            ty,
                            ..plain(Value::StackField(field.offset), size)
                        }
                    }
                    Kind::Array if field.size != 0 => {
                        let (offset, size) = (field.offset, field.size);
                        chars(Place::Array { offset, size }, ty, size)
                    }
                    Kind::DataLoc => chars(Place::Data(field.offset), ty, text_of),
                    Kind::RelLoc => chars(Place::Relative(field.offset), ty, text_of),
                    Kind::Function => return Err(Errno::NoMemory),
                    _ => match field.size {
                        0 => return self.refuse(Reason::FieldNotFound, name),
                        1 | 2 | 4 | 8 => Node {
                            ty,
                            signed: field.signed && !is_changed,
                            ..plain(
                                Value::Number {
                                    offset: field.offset,
                                    size: field.size as u8,
                                    signed: field.signed,
                                },
                                field.size,
                            )
                        },
                        _ => return Err(Errno::NoMemory),
                    },
                }
            }
        };
        if modifier == Modifier::Stacktrace && !matches!(node.value, Value::StackField(_)) {
            return self.refuse(Reason::BadModifier, text);
        }
        self.into.comm |= modifier == Modifier::Execname;
        self.push(node)
    }

    fn modifier(&mut self, name: &[u8], text: &'a [u8], purpose: Use) -> Result<Modifier> {
        let modifier = match text {
            b"hex" => Modifier::Hex,
            b"sym" => Modifier::Sym,
            // `hide_minus` has changed the name.
            b"symXoffset" => Modifier::SymOffset,
            b"execname" if name == b"common_pid" => Modifier::Execname,
            b"syscall" => Modifier::Syscall,
            b"stacktrace" => Modifier::Stacktrace,
            b"log2" => Modifier::Log2,
            b"usecs" => Modifier::Usecs,
            _ => {
                let of_value = !matches!(purpose, Use::Key | Use::Variable);
                if let Some(size) = text.strip_prefix(b"bucket") {
                    let size = size.strip_prefix(b"s").unwrap_or(size);
                    let Some(number) = size.strip_prefix(b"=") else {
                        return self.refuse(Reason::BadModifier, size);
                    };
                    match number::unsigned(number, 0) {
                        Ok(buckets) if buckets != 0 => Modifier::Buckets(buckets),
                        _ => return self.refuse(Reason::BadModifier, number),
                    }
                } else if text.starts_with(b"percent") && of_value {
                    Modifier::Percent
                } else if text.starts_with(b"graph") && of_value {
                    Modifier::Graph
                } else {
                    return self.refuse(Reason::BadModifier, text);
                }
            }
        };
        Ok(modifier)
    }
}

/// The type of texts that are in no entry.
const CHARS: TypeName = TypeName::of(b"char[]");

/// The type of stacks.
const STACK: TypeName = TypeName::of(b"unsigned long[]");
/// Bytes of a stack.
const STACK_SIZE: u16 = (DEPTH * 8) as u16;

/// The node of the stack.
fn stack(name: Span, modifier: Modifier) -> Node {
    Node {
        value: Value::Stack,
        modifier,
        name,
        usecs: matches!(modifier, Modifier::Usecs),
        form: Form::Stack,
        ty: STACK,
        size: STACK_SIZE,
        ..Node::NONE
    }
}
