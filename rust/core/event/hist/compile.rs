// SPDX-License-Identifier: GPL-2.0

//! Parses fields and expressions into a [`Description`].
//!
//! An expression has no parentheses but those after a unary minus. It is split at its last `+` or
//! `-`, else at its last `*` or `/`, so that it is evaluated from left to right.
//! `compile/split.rs` says where, `compile/expression.rs` makes the nodes, `compile/reference.rs`
//! finds variables, and `compile/field.rs` finds fields.
//!
//! `compile/actions.rs` compiles the actions. That is a second step, since it may make triggers of
//! other events.

mod actions;
mod expression;
mod field;
mod reference;
mod split;

use super::action::{cut, Actions, Parameter};
use super::attributes::Attributes;
use super::description::{
    Description, Form, Key, Modifier, Node, NodeId, Place, Sort, SortBy, Span, Target, TypeName,
    Value, Variable,
};
use super::error::{Errno, Log, Reason};
use super::{print, DEPTH, KEY_WORDS, TEXT, VARIABLES};
use crate::core::event::field::Field;
use crate::core::format::LineBuf;
use field::{stack, CHARS};
use split::until_cut;

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
    let mut parser = Parser::new(text, actions, scope, log, into);
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

impl<'a, 'p> Parser<'a, 'p> {
    fn new(
        text: &'a [u8],
        actions: &'p Actions<'a>,
        scope: &'p mut dyn Scope,
        log: &'p mut dyn Log,
        into: &'p mut Description,
    ) -> Self {
        Self {
            text,
            actions,
            scope,
            log,
            into,
            locals: [(&[], &[]); VARIABLES],
            defined: 0,
        }
    }

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
            return self.refuse(Reason::BadModifier, until_cut(text));
        }
        // Its number is an address.
        if purpose == Use::Value && node.form == Form::Text && refers {
            return self.refuse(Reason::InvalidTextOperand, until_cut(text));
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
                b"stacktrace" => self.push(stack(Span::of(self.text, token)))?,
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
}
