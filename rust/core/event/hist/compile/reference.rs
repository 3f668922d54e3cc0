// SPDX-License-Identifier: GPL-2.0

//! References: names of variables, of this definition and of other triggers.

use super::split::root_of;
use super::{Found, Parser, Result};
use crate::core::event::hist::action::Handler;
use crate::core::event::hist::description::{Node, NodeId, Reference, Span, Value};
use crate::core::event::hist::error::Reason;

pub(super) fn is_reference(text: &[u8]) -> bool {
    text.len() >= 2 && text.starts_with(b"$")
}

impl<'a> Parser<'a, '_> {
    /// The field that a variable of this definition is.
    pub(super) fn local(&self, event: Option<(&[u8], &[u8])>, name: &[u8]) -> Option<&'a [u8]> {
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
    pub(super) fn reference(
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
    pub(super) fn variable_of(
        &mut self,
        event: Option<(&[u8], &[u8])>,
        name: &[u8],
    ) -> Option<Found> {
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
    pub(super) fn refer(
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
}
