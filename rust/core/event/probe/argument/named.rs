// SPDX-License-Identifier: GPL-2.0

//! Parameters and members by name, and casts: `prev->comm`, `$retval->i_mode`, `$current->pid`,
//! `(task_struct,se)entity->pid`.

use super::super::command::Spot;
use super::super::error::{Errno, Reason, Refused};
use super::super::kernel_types::{find_member, Function, Shape, TypeId, Types};
use super::super::program::{Load, Step};
use super::fetch::{Fetch, Outer, POINTER, READ};
use super::typed::Typed;
use crate::core::parse::parser::split_at_byte;

/// What the kernel's types say of the value that was found last.
#[derive(Clone, Copy)]
pub(super) struct Known {
    ty: TypeId,
    /// Its place in its first byte, and its bits, if it is a bit-field.
    pub(super) bits: Option<(u32, u32)>,
}

impl Known {
    fn of(ty: TypeId) -> Self {
        Self { ty, bits: None }
    }
}

/// A name in a path of members.
struct Part<'t> {
    name: &'t [u8],
    /// What follows.
    rest: Option<(Link, &'t [u8])>,
}

/// What stands between two names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Arrow,
    Dot,
}

/// What members are looked for in.
enum Of {
    /// What this is an address of.
    Target(TypeId),
    /// This structure. The address is one of so many bytes behind its start.
    Structure(TypeId, u32),
}

/// A member of a structure, or of one that is in it.
struct Place<'t> {
    ty: TypeId,
    /// Bits in front of it.
    offset: u32,
    bits: u32,
    /// What follows an arrow.
    rest: Option<&'t [u8]>,
}

/// A cast whose inside is looked at first.
#[derive(Clone, Copy)]
pub(super) struct Cast<'t> {
    /// The structure, and a member if there is one.
    target: &'t [u8],
    target_at: usize,
    members: &'t [u8],
    members_at: usize,
}

/// Where the brace that `text` begins with is closed.
fn closed_at(text: &[u8]) -> Option<usize> {
    let mut open = 0_usize;
    text.iter().position(|byte| {
        match byte {
            b'(' => open = open.saturating_add(1),
            b')' => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0
    })
}

impl Fetch<'_, '_> {
    fn types(&self) -> Option<&dyn Types> {
        self.context.types.as_deref()
    }

    fn shape(&self, ty: TypeId) -> Shape {
        self.types().map_or(Shape::Other, |types| types.shape(ty))
    }

    fn not_found<T>(&self, reason: Reason) -> Result<T, Refused> {
        Err(Refused::new(reason, self.at).with(Errno::NotFound))
    }

    fn split<'t>(&self, path: &'t [u8]) -> Result<Part<'t>, Refused> {
        let at = path.iter().position(|byte| matches!(byte, b'.' | b'-'));
        let Some((name, rest)) = at.and_then(|at| path.split_at_checked(at)) else {
            let (name, rest) = (path, None);
            return Ok(Part { name, rest });
        };
        let rest = match rest {
            [b'-', b'>', rest @ ..] => (Link::Arrow, rest),
            [b'.', rest @ ..] => (Link::Dot, rest),
            _ => {
                let at = self.at.saturating_add(name.len());
                return Err(Refused::new(Reason::BadHyphen, at));
            }
        };
        let rest = Some(rest);
        Ok(Part { name, rest })
    }

    /// Moves the caret from the start of `path` to that of `rest`, its end.
    fn advance(&mut self, path: &[u8], rest: &[u8]) {
        let length = path.len().saturating_sub(rest.len());
        self.at = self.at.saturating_add(length);
    }

    /// A parameter, `$retval` or `$current`, and what is behind an arrow.
    pub(super) fn named(&mut self, text: &[u8]) -> Result<(), Refused> {
        let part = self.split(text)?;
        if let Some((Link::Dot, rest)) = part.rest {
            self.advance(text, rest);
            let refused = Refused::new(Reason::ByValue, self.at);
            return Err(refused.with(Errno::NotSupported));
        }
        let of = match part.name {
            b"$current" => {
                let types = self.context.types.as_deref_mut();
                let Some(task) = types.and_then(|types| types.structure(b"task_struct")) else {
                    return self.not_found(Reason::NoPrototype);
                };
                self.load = Load::Current;
                Of::Structure(task, 0)
            }
            b"$retval" if self.context.spot == Spot::Return => {
                self.load = Load::Returned;
                self.context.asked = true;
                match (self.context.function, part.rest) {
                    (Some(function), _) => match function.returned {
                        Some(ty) => Of::Target(ty),
                        None => return self.not_found(Reason::NothingReturned),
                    },
                    (None, None) => return Ok(()),
                    (None, Some((_, rest))) => {
                        self.advance(text, rest);
                        return self.not_found(Reason::NoPrototype);
                    }
                }
            }
            name => Of::Target(self.parameter(name)?),
        };
        match (part.rest, of) {
            (Some((_, rest)), of) => {
                self.advance(text, rest);
                self.members(rest, of)
            }
            (None, Of::Target(ty) | Of::Structure(ty, _)) => {
                self.known = Some(Known::of(ty));
                Ok(())
            }
        }
    }

    /// Loads the parameter `name`, and returns its type.
    fn parameter(&mut self, name: &[u8]) -> Result<TypeId, Refused> {
        let asked = self.context.asked;
        let function = self.context.function;
        let function = function.filter(|known| known.parameters != 0 || asked);
        let (Some(function), Some(types)) = (function, self.types()) else {
            return self.not_found(Reason::NoPrototype);
        };
        let parameters = |function: Function| {
            let each = 0..function.parameters;
            each.map_while(move |at| Some((at, function.parameter(types, at)?)))
        };
        let found = parameters(function).find(|(_, parameter)| parameter.name == name);
        let found = found.map(|(at, parameter)| (u16::try_from(at), parameter.ty));
        let Some((Ok(at), ty)) = found else {
            return self.not_found(Reason::NoParameter);
        };
        self.load = self.parameter_at(at)?;
        Ok(ty)
    }

    /// Follows a path of members.
    fn members(&mut self, path: &[u8], of: Of) -> Result<(), Refused> {
        let (mut structure, mut back) = match of {
            Of::Target(ty) => (self.target(ty)?, 0),
            Of::Structure(structure, back) => (structure, back),
        };
        let mut path = path;
        loop {
            let place = self.place(structure, path)?;
            let offset = i64::from(place.offset / 8) - i64::from(back);
            self.push(Step::Read {
                // Structures are not as large as that.
                offset: offset as i32,
                user: false,
            })?;
            self.known = Some(Known {
                ty: place.ty,
                bits: (place.bits != 0).then_some((place.offset % 8, place.bits)),
            });
            let Some(rest) = place.rest else {
                return Ok(());
            };
            structure = self.target(place.ty)?;
            back = 0;
            path = rest;
        }
    }

    fn target(&self, ty: TypeId) -> Result<TypeId, Refused> {
        match self.shape(ty) {
            Shape::Pointer(to) => Ok(to),
            _ => self.refuse(Reason::NoPointer),
        }
    }

    /// Finds what `path` names up to an arrow. The caret goes behind that.
    fn place<'t>(&mut self, structure: TypeId, path: &'t [u8]) -> Result<Place<'t>, Refused> {
        let (mut structure, mut path, mut before) = (structure, path, 0_u32);
        loop {
            let part = self.split(path)?;
            if self.shape(structure) != Shape::Structure {
                return self.refuse(Reason::NoStructure);
            }
            let types = self.types();
            let found = types.and_then(|types| find_member(types, structure, part.name));
            let Some((ty, offset, bits)) = found.map(|found| (found.ty, found.offset, found.bits))
            else {
                return self.not_found(Reason::NoMember);
            };
            let offset = before.saturating_add(offset);
            if let Some((_, rest)) = part.rest {
                self.advance(path, rest);
            }
            match part.rest {
                Some((Link::Dot, rest)) => {
                    (structure, path, before) = (ty, rest, offset);
                }
                rest => {
                    return Ok(Place {
                        ty,
                        offset,
                        bits,
                        rest: rest.map(|(_, rest)| rest),
                    })
                }
            }
        }
    }

    /// `(STRUCTURE[,MEMBER])FETCH->MEMBERS`, where `FETCH` has braces unless it is a name.
    pub(super) fn cast<'t>(&mut self, text: &'t [u8]) -> Result<(Outer<'t>, &'t [u8]), Refused> {
        let knows = match self.context.spot {
            _ if self.context.machine.is_program() => false,
            Spot::Entry | Spot::Return | Spot::Event => self.types().is_some(),
            Spot::Inside => false,
        };
        if !knows {
            return Err(Refused::new(Reason::NoTypes, self.at).with(Errno::NotSupported));
        }
        let start = self.at;
        let refuse = |reason, at: usize| Err(Refused::new(reason, at));
        let Some((target, rest)) = text.get(1..).and_then(|text| split_at_byte(text, b')')) else {
            return refuse(Reason::DereferenceOpen, start.saturating_add(text.len()));
        };
        self.advance(text, rest);
        let behind = |at: usize| self.at.saturating_add(at);
        let is_cpu = rest.starts_with(READ) || rest.starts_with(POINTER);
        let end = match rest {
            [b'(', ..] => match closed_at(rest) {
                Some(end) => end.saturating_add(1),
                None => return refuse(Reason::DereferenceOpen, self.at),
            },
            _ if is_cpu || matches!(rest, [b'+' | b'-', ..]) => {
                let Some(open) = rest.iter().position(|&byte| byte == b'(') else {
                    return refuse(Reason::DereferenceNeedsBrace, self.at);
                };
                let Some(end) = rest.get(open..).and_then(closed_at) else {
                    return refuse(Reason::DereferenceOpen, behind(rest.len()));
                };
                open.saturating_add(end).saturating_add(1)
            }
            _ => {
                let sign = rest.iter().position(|byte| matches!(byte, b'+' | b'-'));
                let next = sign.and_then(|sign| rest.get(sign.saturating_add(1)));
                if rest.starts_with(b"@") && next.is_some_and(u8::is_ascii_digit) {
                    return refuse(Reason::CastOffset, self.at);
                }
                let hyphen = rest.iter().position(|&byte| byte == b'-');
                let is_arrow = |at: &usize| rest.get(at.saturating_add(1)) == Some(&b'>');
                match hyphen.filter(is_arrow) {
                    Some(hyphen) => hyphen,
                    None => return refuse(Reason::CastWithoutMember, behind(rest.len())),
                }
            }
        };
        let (inside, members) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        let [b'-', b'>', members @ ..] = members else {
            return refuse(Reason::CastWithoutMember, behind(end));
        };
        let cast = Cast {
            target,
            target_at: start.saturating_add(1),
            members,
            members_at: start.saturating_add(text.len().saturating_sub(members.len())),
        };
        let inside = match inside {
            [b'(', inside @ .., b')'] => {
                self.at = self.at.saturating_add(1);
                inside
            }
            inside => inside,
        };
        Ok((Outer::Cast(cast), inside))
    }

    /// Casts what was found inside, and follows the members.
    pub(super) fn apply_cast(&mut self, cast: &Cast<'_>) -> Result<(), Refused> {
        self.at = cast.target_at;
        if matches!(self.load, Load::Text(_)) {
            // It has no address.
            return self.refuse(Reason::CommDereferenced);
        }
        let (name, member) = match split_at_byte(cast.target, b',') {
            Some((name, member)) => (name, Some(member)),
            None => (cast.target, None),
        };
        let types = self.context.types.as_deref_mut();
        let Some(structure) = types.and_then(|types| types.structure(name)) else {
            return self.refuse(Reason::NoPointer);
        };
        let mut back = 0;
        if let Some(member) = member {
            self.advance(cast.target, member);
            let place = self.place(structure, member)?;
            if place.offset % 8 != 0 {
                return self.refuse(Reason::CastNotAligned);
            }
            if place.rest.is_some() {
                self.at = self.at.saturating_sub(2);
                return self.refuse(Reason::CastArrow);
            }
            back = place.offset / 8;
        }
        self.at = cast.members_at;
        self.members(cast.members, Of::Structure(structure, back))
    }

    /// Takes from the value's type what the definition does not say.
    pub(super) fn apply_type(&mut self, typed: &mut Typed<'_>) -> Result<(), Refused> {
        let Some(known) = self.known else {
            return Ok(());
        };
        let shape = self.shape(known.ty);
        let is_text = |ty| self.shape(ty).is_character();
        match (typed.name, shape) {
            (None, shape) => typed.ty = shape.stored_as(),
            (Some((b"string" | b"ustring", _)), Shape::Array(of)) if is_text(of) => {}
            (Some((name @ (b"string" | b"ustring"), _)), Shape::Pointer(to)) if is_text(to) => {
                let read = Step::Read {
                    offset: 0,
                    user: name == b"ustring",
                };
                let pushed = self.push(read);
                pushed.map_err(|refused| refused.with(Errno::TooLong))?;
            }
            (Some((b"string" | b"ustring", _)), _) => return self.refuse(Reason::NotText),
            _ => {}
        }
        Ok(())
    }
}
