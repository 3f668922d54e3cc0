// SPDX-License-Identifier: GPL-2.0

//! The recorded arguments of a call as text: `(fd=0x3, buf=0x7ffe…, count=0x40)`.
//!
//! The registers of a call say nothing about its parameters; a [`Prototype`] does. The forms are
//! those of ftrace: each register is printed whole, whatever the size of the parameter.

use super::symbol::ARGUMENTS;
use super::Out;
use core::fmt;

/// How a parameter is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The type is unknown, as that of `...` is.
    Unknown,
    /// An address.
    Pointer,
    /// A number without a sign.
    Unsigned,
    /// A number with a sign.
    Signed,
    /// A signed number, whose name follows if it has one.
    Enumeration,
    /// What has no form of its own.
    Other {
        /// What BTF calls such a type.
        name: &'static str,
        /// The size in bytes, which says how many registers it takes.
        size: u32,
    },
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// The name; empty if there is none.
    pub name: &'a [u8],
    /// How it is printed.
    pub kind: Kind,
}

/// The parameters of a function.
pub trait Prototype {
    /// How many there are.
    fn count(&self) -> usize;

    /// The parameter of this number, from 0 on.
    fn parameter(&self, at: usize) -> Option<Parameter<'_>>;

    /// The name of `value` in the enumeration that the parameter of this number is.
    fn enumerator(&self, at: usize, value: usize) -> Option<&[u8]>;
}

/// Writes the arguments, parentheses included.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write(
    out: &mut dyn Out,
    prototype: &dyn Prototype,
    arguments: &[usize; ARGUMENTS],
) -> fmt::Result {
    out.bytes(b"(")?;
    let mut registers = arguments.iter().copied();
    for at in 0..prototype.count() {
        if at > 0 {
            out.bytes(b", ")?;
        }
        let Some(value) = registers.next() else {
            out.bytes(b"...")?;
            break;
        };
        let Some(parameter) = prototype.parameter(at) else {
            break;
        };
        out.bytes(parameter.name)?;
        out.bytes(b"=")?;
        match parameter.kind {
            Kind::Unknown => write!(out, "?{value:#x}")?,
            Kind::Pointer | Kind::Unsigned => write!(out, "{value:#x}")?,
            Kind::Signed => write!(out, "{}", value as isize)?,
            Kind::Enumeration => {
                write!(out, "{}", value as isize)?;
                if let Some(name) = prototype.enumerator(at, value) {
                    out.bytes(b" [")?;
                    out.bytes(name)?;
                    out.bytes(b"]")?;
                }
            }
            Kind::Other { name, size } => {
                write!(out, "({name})[{value:#x}")?;
                let further = (size as usize).div_ceil(size_of::<usize>()).max(1) - 1;
                for _ in 0..further {
                    out.bytes(b":")?;
                    let Some(value) = registers.next() else {
                        return out.bytes(b"...])");
                    };
                    write!(out, "{value:#x}")?;
                }
                out.bytes(b"]")?;
            }
        }
    }
    out.bytes(b")")
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::text;
    use super::*;
    use std::string::String;

    struct Given<'a>(&'a [(&'a str, Kind)]);

    impl Prototype for Given<'_> {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn parameter(&self, at: usize) -> Option<Parameter<'_>> {
            self.0.get(at).map(|&(name, kind)| Parameter {
                name: name.as_bytes(),
                kind,
            })
        }

        fn enumerator(&self, _at: usize, value: usize) -> Option<&[u8]> {
            match value as isize {
                -1 => Some(b"NONE"),
                2 => Some(b"TWO"),
                _ => None,
            }
        }
    }

    fn show(parameters: &[(&str, Kind)], values: [isize; ARGUMENTS]) -> String {
        text(|out| write(out, &Given(parameters), &values.map(|value| value as usize)))
    }

    const OTHER: fn(u32) -> Kind = |size| Kind::Other {
        name: "STRUCT",
        size,
    };

    #[test]
    fn kinds() {
        let values = [-1, 2, 3, 4, 5, 6];
        assert_eq!(show(&[], values), "()");
        assert_eq!(
            show(&[("a", Kind::Pointer), ("b", Kind::Unsigned)], values),
            "(a=0xffffffffffffffff, b=0x2)"
        );
        assert_eq!(
            show(&[("a", Kind::Signed), ("", Kind::Unknown)], values),
            "(a=-1, =?0x2)"
        );
        let of = Kind::Enumeration;
        assert_eq!(
            show(&[("a", of), ("b", of), ("c", of)], values),
            "(a=-1 [NONE], b=2 [TWO], c=3)"
        );
    }

    #[test]
    fn structures_take_several_registers() {
        let values = [1, 2, 3, 4, 5, 6];
        let last = ("z", Kind::Unsigned);
        assert_eq!(
            show(&[("a", OTHER(0)), ("b", OTHER(8)), last], values),
            "(a=(STRUCT)[0x1], b=(STRUCT)[0x2], z=0x3)"
        );
        assert_eq!(
            show(&[("a", OTHER(9)), last], values),
            "(a=(STRUCT)[0x1:0x2], z=0x3)"
        );
        assert_eq!(
            show(&[("a", OTHER(48)), last], values),
            "(a=(STRUCT)[0x1:0x2:0x3:0x4:0x5:0x6], ...)"
        );
        assert_eq!(
            show(&[("a", OTHER(56)), last], values),
            "(a=(STRUCT)[0x1:0x2:0x3:0x4:0x5:0x6:...])"
        );
    }

    #[test]
    fn more_parameters_than_registers() {
        let all = [("a", Kind::Unsigned); ARGUMENTS + 1];
        assert_eq!(
            show(&all, [0; ARGUMENTS]),
            "(a=0x0, a=0x0, a=0x0, a=0x0, a=0x0, a=0x0, ...)"
        );
    }
}
