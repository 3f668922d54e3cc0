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
        let known = FIXED.iter().find(|(fixed, _)| *fixed == name);
        let node = match known {
            Some((_, node)) => *node,
            None => self.recorded(name, modifier)?,
        };
        let node = Node {
            modifier,
            name: Span::of(self.text, name),
            usecs: modifier == Modifier::Usecs,
            ..node
        };
        if node.value == Value::Timestamp {
            self.into.timestamps = true;
            self.into.usecs |= node.usecs;
        }
        if modifier == Modifier::Stacktrace && !matches!(node.value, Value::StackField(_)) {
            return self.refuse(Reason::BadModifier, text);
        }
        self.into.comm |= modifier == Modifier::Execname;
        self.push(node)
    }

    /// A field that is in the entries, but for its name and how it is printed.
    fn recorded(&mut self, name: &[u8], modifier: Modifier) -> Result<Node> {
        let shared = || {
            let shared = field::shared_by_all(name)?;
            Some((shared.field, TypeName::of(shared.c_type.as_bytes())))
        };
        let Some((field, ty)) = self.scope.field(name).or_else(shared) else {
            return self.refuse(Reason::FieldNotFound, name);
        };
        let (offset, size) = (field.offset, field.size);
        let node = match field.kind {
            Kind::Cpu => CPU,
            Kind::Comm => COMM,
            Kind::Stacktrace if size == 0 => STACK,
            Kind::Stacktrace => {
                // Without the modifier, C has room for a text, which is one word more.
                let (ty, size) = match modifier {
                    Modifier::Stacktrace => (STACK.ty, STACK.size),
                    _ => (ty, COMM.size),
                };
                Node {
                    form: Form::Stack,
                    ty,
                    ..plain(Value::StackField(offset), size)
                }
            }
            Kind::Array if size != 0 => chars(Place::Array { offset, size }, ty, size),
            Kind::DataLoc => chars(Place::Data(offset), ty, COMM.size),
            Kind::RelLoc => chars(Place::Relative(offset), ty, COMM.size),
            Kind::Function => return Err(Errno::NoMemory),
            _ => match size {
                0 => return self.refuse(Reason::FieldNotFound, name),
                1 | 2 | 4 | 8 => {
                    let signed = field.signed;
                    let number = Value::Number {
                        offset,
                        size: size as u8,
                        signed,
                    };
                    // As in C, numbers that are changed have no sign.
                    let is_changed = matches!(modifier, Modifier::Log2 | Modifier::Buckets(_));
                    Node {
                        ty,
                        signed: signed && !is_changed,
                        ..plain(number, size)
                    }
                }
                _ => return Err(Errno::NoMemory),
            },
        };
        Ok(node)
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

/// A number, but for its name and how it is printed.
const fn plain(value: Value, size: u16) -> Node {
    Node {
        value,
        size,
        ..Node::NONE
    }
}

/// A text.
const fn chars(place: Place, ty: TypeName, size: u16) -> Node {
    Node {
        form: Form::Text,
        ty,
        ..plain(Value::Text(place), size)
    }
}

/// The type of texts that are in no entry.
pub(super) const CHARS: TypeName = TypeName::of(b"char[]");

const TIMESTAMP: Node = Node {
    timestamp: true,
    ..plain(Value::Timestamp, 8)
};
const CPU: Node = Node {
    ty: TypeName::of(b"unsigned int"),
    ..plain(Value::Cpu, 4)
};
const COMM: Node = chars(Place::Comm, CHARS, TEXT as u16);
const STACK: Node = Node {
    form: Form::Stack,
    ty: TypeName::of(b"unsigned long[]"),
    ..plain(Value::Stack, (DEPTH * 8) as u16)
};

/// The fields that histograms of every event have.
const FIXED: &[(&[u8], Node)] = &[
    (b"common_timestamp", TIMESTAMP),
    (b"common_stacktrace", STACK),
    (b"common_cpu", CPU),
    (b"common_comm", COMM),
    (b"hitcount", plain(Value::Hitcount, 8)),
];

/// The stack as a key that is called so.
pub(super) const fn stack(name: Span) -> Node {
    Node { name, ..STACK }
}
