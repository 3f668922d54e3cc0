// SPDX-License-Identifier: GPL-2.0

//! Fields: of the event, of every event, and how they are read or printed.

use super::{cut, Parser, Result, Use};
use crate::core::event::field::{self, Kind};
use crate::core::event::hist::description::{
    Form, Modifier, Node, NodeId, Place, Span, TypeName, Value,
};
use crate::core::event::hist::error::{Errno, Reason};
use crate::core::event::hist::{DEPTH, TEXT};
use crate::core::parse::number;

impl<'a> Parser<'a, '_> {
    pub(super) fn field(&mut self, text: &'a [u8], purpose: Use) -> Result<NodeId> {
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
pub(super) const CHARS: TypeName = TypeName::of(b"char[]");

/// The type of stacks.
const STACK: TypeName = TypeName::of(b"unsigned long[]");
/// Bytes of a stack.
const STACK_SIZE: u16 = (DEPTH * 8) as u16;

/// The node of the stack.
pub(super) fn stack(name: Span, modifier: Modifier) -> Node {
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
