// SPDX-License-Identifier: GPL-2.0

//! Compiles actions.

use super::split::until_dot;
use super::{Found, Parser, Result, Scope, Use};
use crate::core::event::hist::action::{Action, Actions, Handler, Kind, Parameter};
use crate::core::event::hist::description::{
    ArrayVec, Description, Effect, Form, Node, Response, Target, Track, Variable, OWN,
};
use crate::core::event::hist::error::{Errno, Log, Reason};

/// Compiles `actions` of a definition, the rest of which is in `into`. In a field among their
/// parameters, the variables of the definition have no meaning.
///
/// # Errors
///
/// Those of C. `into` is unspecified then.
pub fn compile_actions(
    text: &[u8],
    actions: &Actions<'_>,
    scope: &mut dyn Scope,
    log: &mut dyn Log,
    into: &mut Description,
) -> Result {
    let mut parser = Parser::new(text, actions, scope, log, into);
    for action in actions.as_slice() {
        let response = parser.action(action)?;
        parser.into.responses.push(response).ok_or(Errno::Invalid)?;
    }
    Ok(())
}

/// Bytes of a pointer.
const POINTER: usize = 8;

/// Whether a synthetic event's field takes the value of `node`.
fn takes(field: &Parameter, node: &Node) -> bool {
    let size = usize::from(node.size);
    match (field.form, node.form) {
        (Form::Stack, Form::Stack) => true,
        (Form::Text, Form::Text) if field.dynamic => true,
        (Form::Text, Form::Text) => field.ty == node.ty || field.size == size,
        // The address of a text, such as `const char *filename` of a system call.
        (Form::Text, Form::Number) => size == POINTER && (field.dynamic || field.size == size),
        (Form::Number, Form::Number) => {
            field.ty == node.ty || (field.size, field.signed) == (size, node.signed)
        }
        _ => false,
    }
}

/// The event and the name in a parameter.
type Named<'a> = (Option<(&'a [u8], &'a [u8])>, &'a [u8]);

/// Splits `[SYSTEM.EVENT.]NAME`. `None` for one dot.
fn split(parameter: &[u8]) -> Option<Named<'_>> {
    let mut parts = parameter.splitn(3, |c| *c == b'.');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(system), Some(event), Some(name)) => Some((Some((system, event)), name)),
        (Some(name), None, None) => Some((None, name)),
        _ => None,
    }
}

impl<'a> Parser<'a, '_> {
    fn action(&mut self, action: &Action<'a>) -> Result<Response> {
        let track = match action.handler {
            Handler::Match { .. } => None,
            Handler::Max(variable) => Some(self.track(variable, false)?),
            Handler::Change(variable) => Some(self.track(variable, true)?),
        };
        let effect = match action.kind {
            Kind::Save => self.save(action)?,
            Kind::Trace => self.trace(action)?,
            Kind::Snapshot => Effect::Snapshot,
        };
        Ok(Response { track, effect })
    }

    /// The variable of this definition called `name`.
    fn own(&self, name: &[u8]) -> Option<Found> {
        let mut variables = self.into.variables.as_slice().iter();
        let variable = variables.find(|variable| variable.name.within(self.text) == name)?;
        Some(self.found(variable))
    }

    fn found(&self, variable: &Variable) -> Found {
        let target = Target {
            histogram: OWN,
            variable: variable.slot,
        };
        let node = *self.into.node(variable.node);
        Found { target, node }
    }

    /// Whether a variable cannot be called `name`.
    fn is_taken(&self, name: &[u8]) -> bool {
        self.own(name).is_some() || self.scope.has_variable(name)
    }

    fn track(&mut self, text: &'a [u8], change: bool) -> Result<Track> {
        let Some(name) = text.strip_prefix(b"$") else {
            return self.refuse(Reason::TrackedNotVariable, text);
        };
        let Some(found) = self.own(name) else {
            return self.refuse(Reason::TrackedNotFound, name);
        };
        let reference = self.refer(None, name, &found).ok_or(Errno::NoMemory)?;
        let own_name: &[u8] = if change { b"__change" } else { b"__max" };
        let slot = match self.is_taken(own_name) {
            true => None,
            false => self.slot(),
        };
        let Some(slot) = slot else {
            return self.refuse(Reason::TrackingNotMade, &[]);
        };
        Ok(Track {
            reference,
            slot,
            change,
        })
    }

    fn save(&mut self, action: &Action<'a>) -> Result<Effect> {
        if !self.into.saved.is_empty() {
            self.log.log(Reason::TooManySaves, &[]);
            return Err(Errno::Exists);
        }
        for field in action.parameters() {
            let saved = self.of_field(field);
            let saved = saved.inspect_err(|_| {
                let seen = until_dot(field);
                self.log.log(Reason::FieldVariableNotMade, seen);
            })?;
            self.into.saved.push(saved).ok_or(Errno::Invalid)?;
        }
        Ok(Effect::Save)
    }

    /// A variable for a field of the event.
    fn of_field(&mut self, name: &'a [u8]) -> Result<Variable> {
        let nodes = self.into.nodes.len();
        let id = self.atom(name, Use::Variable);
        let id = id.inspect_err(|_| self.log.log(Reason::FieldNotParsed, until_dot(name)))?;
        let variable = match self.is_taken(name) {
            true => None,
            false => self.place(name, id),
        };
        match variable {
            Some(variable) => Ok(variable),
            None => {
                self.into.nodes.truncate(nodes);
                self.refuse(Reason::VariableNotMade, until_dot(name))
            }
        }
    }

    fn trace(&mut self, action: &Action<'a>) -> Result<Effect> {
        let Some(held) = self.scope.hold_synthetic(action.event) else {
            return self.refuse(Reason::SyntheticNotFound, action.event);
        };
        let mut values = ArrayVec::new(0);
        for (at, parameter) in action.parameters().enumerate() {
            let (event, name) = split(parameter).ok_or(Errno::Invalid)?;
            let found = match name.strip_prefix(b"$") {
                Some(variable) => self.variable(action, event, variable)?,
                None => self.field_of(action, event, name)?,
            };
            let field = self.scope.parameter(at);
            if !field.is_some_and(|field| takes(&field, &found.node)) {
                return self.refuse(Reason::TypeMismatch, name);
            }
            let name = name.strip_prefix(b"$").unwrap_or(name);
            let reference = self.refer(event, name, &found).ok_or(Errno::NoMemory)?;
            values.push(reference).ok_or(Errno::Invalid)?;
        }
        if self.scope.parameter(values.len()).is_some() {
            return self.refuse(Reason::CountMismatch, action.event);
        }
        Ok(Effect::Trace {
            event: held,
            values,
        })
    }

    fn is_own(&self, event: Option<(&[u8], &[u8])>) -> bool {
        event.is_none_or(|(system, event)| self.scope.is_event(system, event))
    }

    /// The event whose variables and fields a parameter means that this event does not have.
    fn other(
        action: &Action<'a>,
        event: Option<(&'a [u8], &'a [u8])>,
    ) -> Option<(&'a [u8], &'a [u8])> {
        event.or(match action.handler {
            Handler::Match { system, event } => Some((system, event)),
            _ => None,
        })
    }

    fn variable(
        &mut self,
        action: &Action<'a>,
        event: Option<(&'a [u8], &'a [u8])>,
        name: &'a [u8],
    ) -> Result<Found> {
        let own = self.is_own(event).then(|| self.own(name)).flatten();
        let found = own.or_else(|| self.variable_of(Self::other(action, event), name));
        match found {
            Some(found) => Ok(found),
            None => self.refuse(Reason::ParameterNotFound, name),
        }
    }

    /// The variable for a field: of this event, or else of the other one.
    fn field_of(
        &mut self,
        action: &Action<'a>,
        event: Option<(&'a [u8], &'a [u8])>,
        name: &'a [u8],
    ) -> Result<Found> {
        if self.is_own(event) {
            if let Ok(variable) = self.of_field(name) {
                self.into.implied.push(variable).ok_or(Errno::Invalid)?;
                let mut found = self.found(&variable);
                // C forgets the sign: a type of another name must be unsigned.
                found.node.signed = false;
                return Ok(found);
            }
        }
        let event = Self::other(action, event).ok_or(Errno::Invalid)?;
        let (scope, log) = (&mut *self.scope, &mut *self.log);
        let found = scope.field_variable(event, name, self.into, log);
        found.ok_or(Errno::Invalid)
    }
}
