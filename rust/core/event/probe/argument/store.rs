// SPDX-License-Identifier: GPL-2.0

//! How the value that was fetched is stored.

use super::super::error::{Errno, Reason, Refused};
use super::super::program::{Bits, Load, Program, Step, Store};
use super::super::types::TextOf;
use super::fetch::{Fetch, OPS_MAX};
use super::typed::{bits, Typed};

impl Fetch<'_, '_> {
    /// Says how the value is stored.
    pub(super) fn finish(mut self, typed: &Typed<'_>) -> Result<Program, Refused> {
        let type_at = self.at.wrapping_add(typed.name.map_or(0, |(_, at)| at));
        let at_type = |reason| Err(Refused::new(reason, type_at));
        let last = self.count.checked_sub(1).and_then(|at| self.steps.get(at));
        let read = match last {
            Some(&Step::Read { offset, user }) => Some((offset, user)),
            _ => None,
        };
        let ops = self.load.ops().wrapping_add(self.count);
        let mut used = ops;
        let store = match typed.ty.text {
            Some(TextOf::Symbol) => {
                let fits = match last {
                    Some(step) => matches!(step, Step::Read { user: false, .. }),
                    None => matches!(
                        self.load,
                        Load::Register(_)
                            | Load::Stack(_)
                            | Load::Returned
                            | Load::Argument(_)
                            | Load::Field(_)
                    ),
                };
                if !fits {
                    return at_type(Reason::BadSymbolString);
                }
                used = used.wrapping_add(1);
                Store::Text {
                    offset: 0,
                    of: TextOf::Symbol,
                }
            }
            Some(of) => match read {
                // The last read is that of the text itself, unless it is one of an array's.
                Some((offset, user)) if typed.count.is_none() => {
                    self.count = self.count.wrapping_sub(1);
                    Store::Text {
                        offset,
                        of: if user { TextOf::User } else { of },
                    }
                }
                _ => {
                    let is_address = matches!(
                        self.load,
                        Load::Immediate(_) | Load::Comm | Load::Text(_) | Load::Field(_)
                    );
                    if read.is_none() && (!is_address || self.count != 0) {
                        return at_type(Reason::BadString);
                    }
                    used = used.wrapping_add(1);
                    Store::Text { offset: 0, of }
                }
            },
            None => match read {
                Some((offset, user)) => {
                    self.count = self.count.wrapping_sub(1);
                    Store::Memory { offset, user }
                }
                None => {
                    used = used.wrapping_add(1);
                    Store::Value
                }
            },
        };
        if used > OPS_MAX {
            let text = typed.ty.text.is_some();
            let errno = if text { Errno::Invalid } else { Errno::TooLong };
            return Err(Refused::new(Reason::TooManyOps, self.at).with(errno));
        }
        let bits = match typed.name {
            Some((name @ [b'b', ..], _)) => Some(bits(name, typed.ty)),
            Some(_) => None,
            None => {
                let place = self.known.and_then(|known| known.bits);
                place.map(|(offset, width)| Bits::new(offset.into(), width.into(), typed.ty))
            }
        };
        let bits = match bits {
            None => None,
            Some(Some(bits)) if used < OPS_MAX => {
                used = used.wrapping_add(1);
                Some(bits)
            }
            // Nobody has asked for a bit-field.
            Some(Some(_)) if typed.name.is_none() => return self.refuse(Reason::TooManyOps),
            Some(_) => return at_type(Reason::BadBitfield),
        };
        if typed.count.is_some() {
            let of_symbols = Store::Text {
                offset: 0,
                of: TextOf::Symbol,
            };
            let fits = match store {
                Store::Value => false,
                Store::Memory { user, .. } => !user,
                Store::Text { .. } => store != of_symbols,
            };
            if !fits {
                return at_type(Reason::BadString);
            }
            if used >= OPS_MAX {
                return Err(Refused::new(Reason::TooManyOps, self.at).with(Errno::TooLong));
            }
        }
        Ok(Program {
            load: self.load,
            steps: self.steps,
            step_count: self.count as u8,
            store,
            bits,
            size: typed.ty.size,
            count: typed.count,
        })
    }
}
