// SPDX-License-Identifier: GPL-2.0

//! What programs ask for by `ioctl(2)` of `user_events_data`: the structures of
//! `include/uapi/linux/user_events.h`.

/// A bit in the memory of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bit {
    /// The address of the word that it is in.
    pub address: u64,
    /// Its number in that word.
    pub number: u8,
}

/// The request to use an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// The bit that says whether the event is enabled.
    pub bit: Bit,
    /// Bytes of the word that it is in.
    pub size: u8,
    /// Whether the event stays without users.
    pub persists: bool,
    /// Whether events of the same name may have other fields.
    pub is_multi: bool,
    /// The address of the definition.
    pub definition: u64,
}

/// Bytes of `struct user_reg` up to the last field that is known.
pub const REGISTER_SIZE: usize = 28;
/// Where it has the index, which is an output.
pub const REGISTER_INDEX: usize = 24;
/// Bytes of `struct user_unreg` up to its last field.
pub const UNREGISTER_SIZE: usize = 16;

const PERSIST: u16 = 1 << 0;
const MULTI_FORMAT: u16 = 1 << 1;

fn part<const N: usize>(raw: &[u8], at: usize) -> Option<[u8; N]> {
    raw.get(at..)?.first_chunk().copied()
}

impl Register {
    /// Reads a `struct user_reg`; none if it is not valid.
    pub fn parse(raw: &[u8; REGISTER_SIZE]) -> Option<Self> {
        let [number, size] = part(raw, 4)?;
        let flags = u16::from_ne_bytes(part(raw, 6)?);
        let address = u64::from_ne_bytes(part(raw, 8)?);
        let is_size = matches!(size, 4 | 8);
        let is_inside = number < size.saturating_mul(8);
        if flags & !(PERSIST | MULTI_FORMAT) != 0
            || !is_size
            || address & u64::from(size.wrapping_sub(1)) != 0
            || !is_inside
        {
            return None;
        }
        Some(Self {
            bit: Bit { address, number },
            size,
            persists: flags & PERSIST != 0,
            is_multi: flags & MULTI_FORMAT != 0,
            definition: u64::from_ne_bytes(part(raw, 16)?),
        })
    }
}

impl Bit {
    /// Reads a `struct user_unreg`; none if it is not valid.
    pub fn parse(raw: &[u8; UNREGISTER_SIZE]) -> Option<Self> {
        let [number, reserved @ ..] = part::<4>(raw, 4)?;
        (reserved == [0; 3]).then_some(Self {
            address: u64::from_ne_bytes(part(raw, 8)?),
            number,
        })
    }
}
