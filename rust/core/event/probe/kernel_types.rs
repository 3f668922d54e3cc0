// SPDX-License-Identifier: GPL-2.0

//! The kernel's own types, as arguments ask for them: the parameters of functions and the members of
//! structures, by name.

use super::types::Type;

/// Structures without name inside each other and beside each other that are looked into at most.
const UNNAMED_MAX: usize = 16;

/// A type, without the names and qualifiers that a declaration gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeId {
    /// In which part of the kernel it is: the kernel itself or a module.
    pub object: u16,
    /// Its number there.
    pub number: u32,
}

/// What a type is.
// A kernel without types makes none of these.
#[cfg_attr(
    all(CONFIG_RTRACE, not(CONFIG_PROBE_EVENTS_BTF_ARGS)),
    expect(dead_code)
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A number. An enumeration is a signed one.
    Number {
        /// Its bytes.
        size: u32,
        /// Whether it is signed.
        signed: bool,
    },
    /// An address of such a type.
    Pointer(TypeId),
    /// Elements of such a type.
    Array(TypeId),
    /// A structure or a union.
    Structure,
    /// Any other, or none.
    Other,
}

impl Shape {
    /// What a value of it is stored as where the definition does not say.
    pub(super) fn stored_as(self) -> &'static Type {
        let name: &[u8] = match self {
            Self::Number { size, signed } => match (size, signed) {
                (1, false) => b"u8",
                (2, false) => b"u16",
                (4, false) => b"u32",
                (8, false) => b"u64",
                (1, true) => b"s8",
                (2, true) => b"s16",
                (4, true) => b"s32",
                (8, true) => b"s64",
                // As in C, the lower half.
                (_, false) => b"u64",
                (_, true) => b"x64",
            },
            _ => b"x64",
        };
        Type::named(name).unwrap_or(Type::word())
    }

    /// Whether texts are made of it.
    pub(super) fn is_character(self) -> bool {
        let character = Self::Number {
            size: 1,
            signed: false,
        };
        self == character
    }
}

/// The prototype of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// The prototype.
    pub id: TypeId,
    /// What it returns, if it does.
    pub returned: Option<TypeId>,
    /// The first parameter that users know.
    pub first: usize,
    /// How many of them there are.
    pub parameters: usize,
}

impl Function {
    /// The same without its first `hidden` parameters.
    pub fn without(self, hidden: u16) -> Self {
        let hidden = usize::from(hidden).min(self.parameters);
        Self {
            first: self.first.saturating_add(hidden),
            parameters: self.parameters.saturating_sub(hidden),
            ..self
        }
    }

    /// The parameter of this number, from 0 on, of those that users know.
    pub(super) fn parameter(self, types: &dyn Types, at: usize) -> Option<Parameter<'_>> {
        match at < self.parameters {
            true => types.parameter(self.id, self.first.saturating_add(at)),
            false => None,
        }
    }
}

/// A function's parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its type.
    pub ty: TypeId,
}

/// A member of a structure.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Its name; empty if it has none.
    pub name: &'a [u8],
    /// Its type.
    pub ty: TypeId,
    /// Bits in front of it.
    pub offset: u32,
    /// Its bits if it is a bit-field, or 0.
    pub bits: u32,
}

/// What knows the types.
pub trait Types {
    /// The prototype of the function of this name.
    fn function(&mut self, name: &[u8]) -> Option<Function>;

    /// The structure of this name.
    fn structure(&mut self, name: &[u8]) -> Option<TypeId>;

    /// The parameter of a prototype, from 0 on.
    fn parameter(&self, prototype: TypeId, at: usize) -> Option<Parameter<'_>>;

    /// The member of a structure, from 0 on; none of any other type.
    fn member(&self, structure: TypeId, at: usize) -> Option<Member<'_>>;

    /// What a type is.
    fn shape(&self, ty: TypeId) -> Shape;
}

/// A kernel that does not know its types. One that does has no use for it.
#[allow(dead_code)]
pub enum Unknown {}

impl Types for Unknown {
    fn function(&mut self, _name: &[u8]) -> Option<Function> {
        match *self {}
    }

    fn structure(&mut self, _name: &[u8]) -> Option<TypeId> {
        match *self {}
    }

    fn parameter(&self, _prototype: TypeId, _at: usize) -> Option<Parameter<'_>> {
        match *self {}
    }

    fn member(&self, _structure: TypeId, _at: usize) -> Option<Member<'_>> {
        match *self {}
    }

    fn shape(&self, _ty: TypeId) -> Shape {
        match *self {}
    }
}

/// The member `name` of a structure, or of one without name in it. Its offset is that in `structure`.
pub(super) fn find_member<'a>(
    types: &'a dyn Types,
    structure: TypeId,
    name: &[u8],
) -> Option<Member<'a>> {
    let mut waiting = [(structure, 0_u32); UNNAMED_MAX];
    let mut count = 1_usize;
    while let Some(last) = count.checked_sub(1) {
        count = last;
        let (structure, before) = *waiting.get(last)?;
        let members = (0..).map_while(|at| types.member(structure, at));
        for member in members {
            let offset = before.saturating_add(member.offset);
            if !member.name.is_empty() {
                if member.name == name {
                    return Some(Member { offset, ..member });
                }
            } else if types.shape(member.ty) == Shape::Structure {
                if let Some(place) = waiting.get_mut(count) {
                    *place = (member.ty, offset);
                    count = count.saturating_add(1);
                }
            }
        }
    }
    None
}
