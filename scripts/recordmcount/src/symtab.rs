// SPDX-License-Identifier: GPL-2.0

//! The symbols that the table's relocations are based on.
//!
//! A site is recorded as an offset from a symbol of its section: the section's own symbol where
//! there is one, as objtool and the C recordmcount do. A weak symbol will not do: another object's
//! definition may take its place, and the record with it. Where a section has weak symbols only, it
//! gets a section symbol. That is a local one, which ELF wants in front of all others, so every
//! index that points behind it moves.

use crate::elf::{Object, ObjectSymbols, Rela, Section, Symbol, LE, SHT_LLVM_ADDRSIG};
use crate::error::{Error, Result};
use crate::rewrite::Output;
use crate::sites::Site;
use object::elf as abi;
use object::pod::bytes_of;
use object::read::elf::{SectionHeader as _, Sym as _};
use object::{U16, U32, U64};
use std::collections::BTreeMap;
use std::mem::size_of;

/// A symbol that sites of one section can be counted from.
#[derive(Debug, Clone, Copy)]
pub struct Base {
    /// Index of the symbol.
    pub symbol: u32,
    /// Offset of the symbol in its section.
    pub value: u64,
}

/// How a symbol serves as a base; the least is the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fitness {
    Section,
    Local,
    Global,
}

/// A base for each section that has sites; adds symbols to `out` for the sections that have none to
/// offer.
pub fn bases(
    elf: &Object<'_>,
    symbols: &ObjectSymbols<'_>,
    sites: &[Site],
    out: &mut Output,
) -> Result<BTreeMap<usize, Base>> {
    let mut best: BTreeMap<usize, Option<(Fitness, Base)>> =
        sites.iter().map(|site| (site.section, None)).collect();
    for (index, symbol) in symbols.all().iter().enumerate().skip(1) {
        let Some(fitness) = fitness(symbol) else {
            continue;
        };
        let Some(slot) = symbols
            .home(index, symbol)
            .and_then(|home| best.get_mut(&home))
        else {
            continue;
        };
        if slot.is_none_or(|(other, _)| fitness < other) {
            let base = Base {
                symbol: index as u32,
                value: symbol.st_value(LE),
            };
            *slot = Some((fitness, base));
        }
    }

    let missing: Vec<usize> = best
        .iter()
        .filter(|(_, base)| base.is_none())
        .map(|(&section, _)| section)
        .collect();
    if missing.is_empty() {
        return Ok(best
            .into_iter()
            .filter_map(|(home, base)| Some((home, base?.1)))
            .collect());
    }
    let shift = Shift::new(elf, symbols, missing.len())?;
    add_section_symbols(elf, symbols, &missing, shift, out)?;
    Ok(best
        .into_iter()
        .map(|(home, base)| match base {
            Some((_, base)) => (home, shift.base(base)),
            None => (
                home,
                shift.new_base(missing.partition_point(|&section| section < home)),
            ),
        })
        .collect())
}

/// How well `symbol` serves as a base, or `None` where it does not.
fn fitness(symbol: &Symbol) -> Option<Fitness> {
    match (symbol.st_bind(), symbol.st_type()) {
        (_, abi::STT_TLS | abi::STT_FILE | abi::STT_COMMON) => None,
        (abi::STB_LOCAL, abi::STT_SECTION) => Some(Fitness::Section),
        (abi::STB_LOCAL, _) => Some(Fitness::Local),
        (abi::STB_GLOBAL, _) => Some(Fitness::Global),
        _ => None,
    }
}

/// The move of symbol indices that makes room for `count` symbols behind the local ones.
#[derive(Clone, Copy)]
struct Shift {
    locals: u32,
    count: u32,
}

impl Shift {
    fn new(elf: &Object<'_>, symbols: &ObjectSymbols<'_>, count: usize) -> Result<Self> {
        let index = symbols.section();
        let fail = |message: &str| Err(Error::new(elf.name(index), 0, message));
        let locals = elf.sections[index].sh_info(LE);
        if locals == 0 || locals as usize > symbols.all().len() {
            return fail("the number of local symbols is wrong");
        }
        if symbols.has_extended_indices() {
            return fail("extended section indices are not supported");
        }
        if elf
            .sections
            .iter()
            .any(|section| section.sh_type(LE) == abi::SHT_CREL)
        {
            return fail("compact relocations are not supported");
        }
        Ok(Shift {
            locals,
            count: count as u32,
        })
    }

    fn index(self, old: u32) -> u32 {
        if old < self.locals {
            old
        } else {
            old.wrapping_add(self.count)
        }
    }

    fn base(self, old: Base) -> Base {
        Base {
            symbol: self.index(old.symbol),
            ..old
        }
    }

    fn new_base(self, number: usize) -> Base {
        Base {
            symbol: self.locals + number as u32,
            value: 0,
        }
    }
}

/// Adds a symbol for each section in `missing`, and moves every symbol index in the file
/// accordingly.
fn add_section_symbols(
    elf: &Object<'_>,
    symbols: &ObjectSymbols<'_>,
    missing: &[usize],
    shift: Shift,
    out: &mut Output,
) -> Result<()> {
    let symtab = symbols.section();
    let mut table = elf.bytes(symtab)?.to_vec();
    let mut added = Vec::with_capacity(missing.len() * size_of::<Symbol>());
    for &section in missing {
        let shndx = u16::try_from(section)
            .map_err(|_| Error::header(60, format!("section index {section} is too large")))?;
        added.extend_from_slice(bytes_of(&section_symbol(shndx)));
    }
    let at = shift.locals as usize * size_of::<Symbol>();
    table.splice(at..at, added);

    for (index, section) in elf.sections.iter().enumerate() {
        if section.sh_link(LE) as usize != symtab {
            continue;
        }
        match section.sh_type(LE) {
            abi::SHT_RELA => shift_relocations(elf, index, section, size_of::<Rela>(), shift, out)?,
            abi::SHT_REL => {
                shift_relocations(elf, index, section, size_of::<Rela>() - 8, shift, out)?
            }
            abi::SHT_GROUP => {
                let signature = shift.index(section.sh_info(LE));
                out.sections[index].sh_info.set(LE, signature);
            }
            SHT_LLVM_ADDRSIG => {
                let moved =
                    shift_address_significance(elf.bytes(index)?, shift).ok_or_else(|| {
                        Error::new(elf.name(index), 0, "not a list of symbol indices")
                    })?;
                out.replace(index, &moved);
            }
            _ => (),
        }
    }
    out.replace(symtab, &table);
    let locals = shift.locals + shift.count;
    out.sections[symtab].sh_info.set(LE, locals);
    Ok(())
}

fn section_symbol(shndx: u16) -> Symbol {
    Symbol {
        st_name: U32::new(LE, 0),
        st_info: (abi::STB_LOCAL << 4) | abi::STT_SECTION,
        st_other: abi::STV_DEFAULT,
        st_shndx: U16::new(LE, shndx),
        st_value: U64::new(LE, 0),
        st_size: U64::new(LE, 0),
    }
}

/// Moves the symbol indices of relocations, which are `entry` bytes each with `r_info` in the
/// second word.
fn shift_relocations(
    elf: &Object<'_>,
    index: usize,
    section: &Section,
    entry: usize,
    shift: Shift,
    out: &mut Output,
) -> Result<()> {
    let table_at = section.sh_offset(LE) as usize;
    let table = elf.bytes(index)?;
    if table.len() % entry != 0 {
        return Err(Error::new(
            elf.name(index),
            0,
            format!("not a table of {entry}-byte relocations"),
        ));
    }
    for (number, bytes) in table.chunks_exact(entry).enumerate() {
        let old = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        let new = shift.index(old);
        if new != old {
            out.patch(table_at + number * entry + 12, &new.to_le_bytes())?;
        }
    }
    Ok(())
}

/// Moves the indices in `.llvm_addrsig`, a list of LEB128 numbers; `None` where the bytes are none.
fn shift_address_significance(bytes: &[u8], shift: Shift) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + 8);
    let mut number = 0u32;
    let mut bits = 0;
    for &byte in bytes {
        let low = u32::from(byte & 0x7f);
        if bits >= 32 || (low << bits) >> bits != low {
            return None;
        }
        number |= low << bits;
        bits += 7;
        if byte & 0x80 == 0 {
            push_leb128(&mut out, shift.index(number));
            (number, bits) = (0, 0);
        }
    }
    (bits == 0).then_some(out)
}

fn push_leb128(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_significance_moves() {
        let shift = Shift {
            locals: 5,
            count: 200,
        };
        assert_eq!(
            shift_address_significance(&[4, 5, 0x80, 1], shift),
            Some(vec![4, 0xcd, 1, 0xc8, 2])
        );
        assert_eq!(shift_address_significance(&[0x80], shift), None);
        assert_eq!(shift_address_significance(&[0xff; 6], shift), None);
    }
}
