// SPDX-License-Identifier: GPL-2.0

//! How the value that was fetched is stored.

use super::super::error::{Errno, Reason, Refused};
use super::super::program::{Bits, Load, Program, Step, Store};
use super::super::types::TextOf;
use super::fetch::{Fetch, OPS_MAX};
use super::typed::{bits, Typed};

/// What C adds behind the steps of a program, in this order.
#[derive(Clone, Copy)]
enum Added {
    Store,
    Bits,
    Array,
}

impl Fetch<'_, '_> {
    /// Says how the value is stored.
    pub(super) fn finish(mut self, typed: &Typed<'_>) -> Result<Program, Refused> {
        let store = self.store(typed)?;
        self.count_ops(typed, Added::Store, None)?;
        let bits = self.bits(typed)?;
        if bits.is_some() {
            self.count_ops(typed, Added::Bits, bits)?;
        }
        if typed.count.is_some() {
            if !is_of_array(store) {
                return Err(self.at_type(typed, Reason::BadString));
            }
            self.count_ops(typed, Added::Array, bits)?;
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

    fn at_type(&self, typed: &Typed<'_>, reason: Reason) -> Refused {
        let type_at = typed.name.map_or(0, |(_, at)| at);
        Refused::new(reason, self.at.wrapping_add(type_at))
    }

    /// Chooses how it is stored. Where the store reads it, the last step is not one any more.
    fn store(&mut self, typed: &Typed<'_>) -> Result<Store, Refused> {
        let last = self.count.checked_sub(1).and_then(|at| self.steps.get(at));
        let read = match last {
            Some(&Step::Read { offset, user }) => Some((offset, user)),
            _ => None,
        };
        let (store, reads) = match (typed.ty.text, read) {
            (Some(TextOf::Symbol), _) => {
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
                    return Err(self.at_type(typed, Reason::BadSymbolString));
                }
                let of = TextOf::Symbol;
                (Store::Text { offset: 0, of }, false)
            }
            // The last read is that of the text itself, unless it is one of an array's.
            (Some(of), Some((offset, user))) if typed.count.is_none() => {
                let of = if user { TextOf::User } else { of };
                (Store::Text { offset, of }, true)
            }
            (Some(of), read) => {
                let is_address = matches!(
                    self.load,
                    Load::Immediate(_) | Load::Comm | Load::Text(_) | Load::Field(_)
                );
                if read.is_none() && (!is_address || self.count != 0) {
                    return Err(self.at_type(typed, Reason::BadString));
                }
                (Store::Text { offset: 0, of }, false)
            }
            (None, Some((offset, user))) => (Store::Memory { offset, user }, true),
            (None, None) => (Store::Value, false),
        };
        self.count = self.count.saturating_sub(usize::from(reads));
        Ok(store)
    }

    /// The bits of the value that are stored, if they are not all.
    fn bits(&self, typed: &Typed<'_>) -> Result<Option<Bits>, Refused> {
        let bits = match typed.name {
            Some((name @ [b'b', ..], _)) => bits(name, typed.ty),
            Some(_) => return Ok(None),
            None => match self.known.and_then(|known| known.bits) {
                Some((offset, width)) => Bits::new(offset.into(), width.into(), typed.ty),
                None => return Ok(None),
            },
        };
        match bits {
            Some(bits) => Ok(Some(bits)),
            None => Err(self.at_type(typed, Reason::BadBitfield)),
        }
    }

    /// Refuses a program that has more operations than one of C's, when `last` is added. C counts the
    /// load, each step, the store, which is also that of what it reads, the bits, if there are some,
    /// and the loop over an array.
    fn count_ops(&self, typed: &Typed<'_>, last: Added, bits: Option<Bits>) -> Result<(), Refused> {
        let store = 1_usize;
        let bits = usize::from(bits.is_some());
        let array = usize::from(matches!(last, Added::Array));
        let added = store.wrapping_add(bits).wrapping_add(array);
        let ops = self.load.ops().wrapping_add(self.count);
        if ops.wrapping_add(added) <= OPS_MAX {
            return Ok(());
        }
        let too_many = Refused::new(Reason::TooManyOps, self.at);
        Err(match last {
            Added::Store if typed.ty.text.is_some() => too_many,
            Added::Store | Added::Array => too_many.with(Errno::TooLong),
            // Nobody has asked for a bit-field.
            Added::Bits if typed.name.is_none() => too_many,
            Added::Bits => self.at_type(typed, Reason::BadBitfield),
        })
    }
}

/// Whether elements of an array can be stored in this way.
fn is_of_array(store: Store) -> bool {
    match store {
        Store::Value => false,
        Store::Memory { user, .. } => !user,
        Store::Text { of, .. } => of != TextOf::Symbol,
    }
}
