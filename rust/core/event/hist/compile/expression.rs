// SPDX-License-Identifier: GPL-2.0

//! Expressions: the nodes that they become.

use super::reference::is_reference;
use super::split::{root_of, until_cut, Split};
use super::{Parser, Result, Use};
use crate::core::event::hist::description::{Form, Modifier, Node, NodeId, Operator, Value};
use crate::core::event::hist::error::{Errno, Reason};
use crate::core::event::hist::{print, TEXT};
use crate::core::format::LineBuf;
use crate::core::parse::number;

impl<'a> Parser<'a, '_> {
    pub(super) fn expression(
        &mut self,
        text: &'a [u8],
        purpose: Use,
        count: &mut u8,
    ) -> Result<NodeId> {
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
            self.log.log(Reason::DivisionByZero, until_cut(right_text));
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
            return self.refuse(Reason::InvalidTextOperand, until_cut(text));
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

    pub(super) fn atom(&mut self, text: &'a [u8], purpose: Use) -> Result<NodeId> {
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
}
