// SPDX-License-Identifier: GPL-2.0

//! What makes two definitions the same.
//!
//! It is what C compares: for each key, value and variable its kind and its field, for the order
//! the places of its fields, and the actions. So the numbers of constants and buckets, the operands
//! of operations and the variables of references do not tell definitions apart; nor do size, clock
//! and `nohitcount`. The definition is written as a text, which is compared as a whole.

use super::action::Actions;
use super::description::{Description, Node, NodeId, Place, SortBy, Value};
use super::print::list;
use crate::core::format::Out;
use core::fmt;

/// Writes the text. Errors only when `out` is full.
pub fn identity(
    out: &mut dyn Out,
    description: &Description,
    text: &[u8],
    actions: &Actions<'_>,
) -> fmt::Result {
    let each = |out: &mut dyn Out, id: NodeId| like(out, description.node(id), text);
    out.bytes(b"keys=")?;
    let keys = description.keys.as_slice().iter();
    list(out, keys, |out, key| {
        // A key is made of whole words.
        let node = description.node(key.node);
        let size = node.size.next_multiple_of(8);
        like(out, &Node { size, ..*node }, text)
    })?;
    out.bytes(b":vals=")?;
    let values = description.values.as_slice().iter();
    list(out, values, |out, id| each(out, *id))?;
    out.bytes(b":")?;
    let variables = description.variables.as_slice().iter();
    list(out, variables, |out, variable| {
        out.bytes(variable.name.within(text))?;
        out.bytes(b"=")?;
        each(out, variable.node)
    })?;
    out.bytes(b":sort=")?;
    let sort = description.sort.as_slice().iter();
    list(out, sort, |out, sort| {
        let (by, at) = match sort.by {
            SortBy::Hitcount => ("hitcount", 0),
            SortBy::Value(at) => ("value", at),
            SortBy::Key(at) => ("key", at),
        };
        write!(out, "{by}{at}{}", u8::from(sort.descending))
    })?;
    let mut actions = actions.as_slice().iter();
    actions.try_for_each(|action| action.write_same(out))
}

/// Writes what counts of a node.
fn like(out: &mut dyn Out, node: &Node, text: &[u8]) -> fmt::Result {
    let (kind, named) = match node.value {
        Value::Hitcount => ("hitcount", false),
        Value::Constant(_) => ("constant", false),
        Value::Number { .. } => ("number", true),
        // Both have more names than the one they are printed by, which has to find them.
        Value::Text(Place::Comm) => ("comm", false),
        Value::Cpu => ("cpu", false),
        Value::Text(_) => ("text", true),
        Value::Timestamp => ("time", false),
        Value::Stack => ("stack", false),
        Value::StackField(_) => ("stack", true),
        Value::Negative(_) | Value::Operation(..) => ("expression", false),
        Value::Reference(_) => ("reference", false),
    };
    let name = if named { node.name } else { Default::default() };
    let ty = if named { node.ty } else { Node::NONE.ty };
    write!(out, "{kind} {ty:?} {} {} ", node.size, node.signed)?;
    write!(out, "{} {} ", node.timestamp, node.usecs)?;
    out.bytes(node.modifier.name().as_bytes())?;
    out.bytes(b" ")?;
    out.bytes(name.within(text))
}
