// SPDX-License-Identifier: GPL-2.0

//! Expressions: where they are split, and the nodes that they become.

use super::reference::is_reference;
use super::{Parser, Result, Use};
use crate::core::event::hist::description::{Form, Modifier, Node, NodeId, Operator, Value};
use crate::core::event::hist::error::{Errno, Reason};
use crate::core::event::hist::{print, TEXT};
use crate::core::format::LineBuf;
use crate::core::parse::number;

/// The operator at which an expression is split.
pub(super) enum Split {
    Negative,
    At(Operator, usize),
}

pub(super) fn root_of(text: &[u8]) -> Option<Split> {
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

/// `text` up to where C has cut it when it has parsed it: that is what its log looks for afterwards.
///
/// C ends a part by a NUL in place of what follows it: the part on the left of an operator, what is
/// in the braces of a minus, and each name in `SYSTEM.EVENT.NAME`. Then it parses that part, and so
/// the last cut on the left is the first in the text. Of `sched.waking.$ts+8-4`,
///
/// 1. `sched.waking.$ts+8` is on the left of the minus,
/// 2. `sched.waking.$ts` is on the left of the plus,
/// 3. `sched` is its first name, and is what is left.
pub(super) fn until_cut(text: &[u8]) -> &[u8] {
    const MINUS: &[u8] = b"-(";
    // The part that is looked at.
    let (mut start, mut end) = (0_usize, text.len());
    while let Some(part) = text.get(start..end) {
        let (inside, cut) = match root_of(part) {
            Some(Split::At(_, at)) => (0, Some(at)),
            Some(Split::Negative) => {
                let brace = part.iter().rposition(|c| *c == b')');
                (MINUS.len(), brace.filter(|at| *at >= MINUS.len()))
            }
            None => {
                let mut dots = part.iter().enumerate().filter(|(_, c)| **c == b'.');
                let first = dots.next();
                (0, dots.next().and(first).map(|(at, _)| at))
            }
        };
        let Some(cut) = cut else {
            break;
        };
        (start, end) = (start.wrapping_add(inside), start.wrapping_add(cut));
    }
    text.get(..end).unwrap_or(text)
}

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

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::until_cut;

    #[test]
    fn cuts() {
        for (text, left) in [
            ("sched.waking.$ts+8-4", "sched"),
            ("sched.waking.$ts", "sched"),
            ("waking.$ts", "waking.$ts"),
            ("$ts/2*3", "$ts"),
            ("-($ts+8)", "-($ts"),
            ("-(a.b.$ts)", "-(a"),
            ("-(-($ts))", "-("),
            ("-()", "-("),
            ("-)", "-)"),
            ("-(", "-("),
            ("", ""),
        ] {
            assert_eq!(until_cut(text.as_bytes()), left.as_bytes(), "{text}");
        }
    }
}
