// SPDX-License-Identifier: GPL-2.0

//! The pass over what has been linked: sorts the table and drops sites that belong to no function.
//!
//! Where a weak function is overridden, the linker drops its symbol but keeps its code and the
//! record of its site. The kernel would find such a site inside, or behind, the function before it.
//! So a site stays only where a function symbol stands at it, or 4 bytes before it at an `endbr64`.
//!
//! A module is relocatable still, so dropped records go for good. The slots of `vmlinux` cannot go:
//! code holds the table's end, and with KASLR each slot is relocated at boot. They get copies of
//! the last address instead.

use crate::elf::{Elf, Rela, Symbols, ADDRESS_LEN, LE, MCOUNT_LOC};
use crate::error::{Error, Result};
use crate::sites::Site;
use crate::x86::{ENDBR64, NOP5};
use object::elf as abi;
use object::pod::bytes_of;
use object::read::elf::{SectionHeader as _, Sym as _};
use object::read::ReadRef;
use std::collections::HashSet;
use std::mem::size_of;

/// How many sites a linked file has, and how many it had too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    pub sites: usize,
    pub dropped: usize,
}

/// The new contents of the table of a linked kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagePatch {
    /// Where the table is in the file, in bytes.
    pub offset: u64,
    /// The whole table.
    pub bytes: Vec<u8>,
    pub pruned: Pruned,
}

/// A site as [`list`] tells it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    pub section: String,
    pub offset: u64,
}

/// What the symbols and the code of a linked file say about a place.
struct Code<'d, R: ReadRef<'d>> {
    elf: Elf<'d, R>,
    /// Where function symbols stand: section, and offset there (an address in `vmlinux`).
    functions: HashSet<(usize, u64)>,
}

impl<'d, R: ReadRef<'d>> Code<'d, R> {
    fn new(elf: Elf<'d, R>, symbols: &Symbols<'d, R>) -> Self {
        let functions = symbols
            .all()
            .iter()
            .enumerate()
            .filter(|(_, symbol)| symbol.st_type() == abi::STT_FUNC)
            .filter_map(|(index, symbol)| Some((symbols.home(index, symbol)?, symbol.st_value(LE))))
            .collect();
        Code { elf, functions }
    }

    /// The bytes of section `index` from `value` on, which is an address or an offset as symbols
    /// are.
    fn at(&self, index: usize, value: u64) -> Result<&'d [u8]> {
        let bytes = self.elf.bytes(index)?;
        let offset = value.wrapping_sub(self.elf.sections[index].sh_addr(LE));
        Ok(usize::try_from(offset)
            .ok()
            .and_then(|offset| bytes.get(offset..))
            .unwrap_or_default())
    }

    /// Whether the site at `value` in section `index` is at a function's start, and if so, that it
    /// is a NOP.
    fn keeps(&self, index: usize, value: u64) -> Result<bool> {
        let behind = value.wrapping_sub(ENDBR64.len() as u64);
        let found = self.functions.contains(&(index, value))
            || (self.functions.contains(&(index, behind))
                && self.at(index, behind)?.starts_with(&ENDBR64));
        if found && !self.at(index, value)?.starts_with(&NOP5) {
            let offset = value.wrapping_sub(self.elf.sections[index].sh_addr(LE));
            return Err(Error::new(
                self.elf.name(index),
                offset,
                "a recorded site is not the 5-byte NOP",
            ));
        }
        Ok(found)
    }
}

/// Sorts the table of a linked kernel, `vmlinux`, and drops its stale sites.
///
/// The new table ascends strictly; where sites were dropped, its last address then repeats to the
/// table's end.
pub fn prune_image<'d, R: ReadRef<'d>>(data: R) -> Result<ImagePatch> {
    let elf = Elf::parse(data, &[abi::ET_EXEC, abi::ET_DYN])?;
    let symbols = elf
        .symbols()?
        .ok_or_else(|| Error::header(0, "no symbol table"))?;
    let table = ImageTable::find(&elf, &symbols)?;
    let slots = table.bytes.len() / ADDRESS_LEN as usize;
    let mut addresses = table.addresses(&elf)?;
    addresses.sort_unstable();
    addresses.dedup();

    let mut code: Vec<(u64, u64, usize)> = (0..elf.sections.len())
        .filter(|&index| elf.is_code(index))
        .map(|index| {
            let section = &elf.sections[index];
            let start = section.sh_addr(LE);
            (start, start.saturating_add(section.sh_size(LE)), index)
        })
        .collect();
    code.sort_unstable();
    let view = Code::new(elf, &symbols);
    let mut kept = Vec::with_capacity(slots);
    for address in addresses {
        let above = code.partition_point(|&(start, _, _)| start <= address);
        let home = code[..above].last().filter(|&&(_, end, _)| address < end);
        if let Some(&(_, _, index)) = home {
            if view.keeps(index, address)? {
                kept.push(address);
            }
        }
    }
    let Some(&last) = kept.last() else {
        return Err(Error::new(
            view.elf.name(table.section),
            table.start,
            "no site is at a function",
        ));
    };
    let pruned = Pruned {
        sites: kept.len(),
        dropped: slots - kept.len(),
    };
    kept.resize(slots, last);
    Ok(ImagePatch {
        offset: table.offset,
        bytes: kept
            .iter()
            .flat_map(|address| address.to_le_bytes())
            .collect(),
        pruned,
    })
}

/// The table as the linker has gathered it.
struct ImageTable<'d> {
    /// The section it lies in, and the offsets of the table in that section and in the file.
    section: usize,
    start: u64,
    offset: u64,
    bytes: &'d [u8],
}

impl<'d> ImageTable<'d> {
    fn find<R: ReadRef<'d>>(elf: &Elf<'d, R>, symbols: &Symbols<'d, R>) -> Result<Self> {
        let (mut start, mut stop) = (None, None);
        for (index, symbol) in symbols.all().iter().enumerate() {
            if symbols.is_named(symbol, b"__start_mcount_loc") {
                start = symbols.home(index, symbol).zip(Some(symbol.st_value(LE)));
            } else if symbols.is_named(symbol, b"__stop_mcount_loc") {
                stop = Some(symbol.st_value(LE));
            }
        }
        let symtab = elf.name(symbols.section());
        let (Some((index, start)), Some(stop)) = (start, stop) else {
            return Err(Error::new(
                symtab,
                0,
                "no symbols __start_mcount_loc and __stop_mcount_loc",
            ));
        };
        let section = elf.section(index, &symtab)?;
        let offset = start.wrapping_sub(section.sh_addr(LE));
        let fail = |message: String| Err(Error::new(elf.name(index), offset, message));
        let len = stop.wrapping_sub(start);
        if len == 0 {
            return fail("the table of sites is empty".into());
        }
        if len % ADDRESS_LEN != 0 {
            return fail(format!(
                "the table of sites is {len} bytes, not a number of addresses"
            ));
        }
        let bytes = elf.bytes(index)?;
        let range = usize::try_from(offset)
            .ok()
            .zip(usize::try_from(len).ok())
            .and_then(|(offset, len)| bytes.get(offset..offset.checked_add(len)?));
        match range {
            Some(bytes) => Ok(ImageTable {
                section: index,
                start: offset,
                offset: section.sh_offset(LE) + offset,
                bytes,
            }),
            None => fail(format!(
                "the table of sites, {len} bytes, is not inside the section"
            )),
        }
    }

    fn addresses<R: ReadRef<'d>>(&self, elf: &Elf<'d, R>) -> Result<Vec<u64>> {
        let mut addresses = Vec::with_capacity(self.bytes.len() / ADDRESS_LEN as usize);
        for (slot, bytes) in self.bytes.chunks_exact(ADDRESS_LEN as usize).enumerate() {
            let mut address = [0; ADDRESS_LEN as usize];
            address.copy_from_slice(bytes);
            if address == [0; ADDRESS_LEN as usize] {
                let offset = self.start + slot as u64 * ADDRESS_LEN;
                let message =
                    "an address is 0: in a dynamic relocation, or dropped by another tool";
                return Err(Error::new(elf.name(self.section), offset, message));
            }
            addresses.push(u64::from_le_bytes(address));
        }
        Ok(addresses)
    }
}

/// The tables of an object or a module: the index of each, and that of its relocations.
fn tables<'d, R: ReadRef<'d>>(elf: &Elf<'d, R>) -> Result<Vec<(usize, usize)>> {
    let mut tables = Vec::new();
    for index in elf.named(MCOUNT_LOC) {
        let mut owners = elf.rela_sections().filter(|&(_, target)| target == index);
        let size = elf.sections[index].sh_size(LE);
        match (owners.next(), owners.next()) {
            (None, _) if size == 0 => (),
            (Some((rela, _)), None) => {
                let count = elf.rela(rela)?.len() as u64;
                if size != count * ADDRESS_LEN {
                    let message = format!("{size} bytes of table have {count} relocations");
                    return Err(Error::new(elf.name(index), 0, message));
                }
                tables.push((index, rela));
            }
            _ => {
                return Err(Error::new(
                    elf.name(index),
                    0,
                    "a table without its one relocation section",
                ))
            }
        }
    }
    Ok(tables)
}

/// The site that a record of a table names.
fn recorded<'d, R: ReadRef<'d>>(
    elf: &Elf<'d, R>,
    symbols: &Symbols<'d, R>,
    index: usize,
    rela: &Rela,
) -> Result<Site> {
    let place = match rela.r_type(LE, false) {
        abi::R_X86_64_64 => symbols.target(rela),
        _ => None,
    };
    match place {
        Some((section, offset)) if elf.is_code(section) => Ok(Site { section, offset }),
        _ => Err(Error::new(
            elf.name(index),
            rela.r_offset.get(LE),
            "a record is not the address of code",
        )),
    }
}

/// Sorts the table of a linked module and drops its stale sites.
///
/// The table shrinks by what was dropped. Returns the new file, or `None` where the module has no
/// table.
pub fn prune_module(data: &[u8]) -> Result<Option<(Vec<u8>, Pruned)>> {
    let elf = Elf::parse(data, &[abi::ET_REL])?;
    let tables = tables(&elf)?;
    let Some(symbols) = elf.symbols()?.filter(|_| !tables.is_empty()) else {
        return Ok(None);
    };
    let view = Code::new(elf, &symbols);
    let elf = &view.elf;
    let mut out = data.to_vec();
    let mut sections = elf.sections.to_vec();
    let mut pruned = Pruned {
        sites: 0,
        dropped: 0,
    };

    for (index, rela_index) in tables {
        let mut records = Vec::new();
        for rela in elf.rela(rela_index)? {
            let site = recorded(elf, &symbols, index, rela)?;
            if view.keeps(site.section, site.offset)? {
                records.push((site, *rela));
            } else {
                pruned.dropped += 1;
            }
        }
        records.sort_by_key(|&(site, _)| site);
        let before = records.len();
        records.dedup_by_key(|&mut (site, _)| site);
        pruned.dropped += before - records.len();
        pruned.sites += records.len();

        let at = elf.sections[rela_index].sh_offset(LE) as usize;
        for (slot, (_, rela)) in records.iter_mut().enumerate() {
            rela.r_offset.set(LE, slot as u64 * ADDRESS_LEN);
            let at = at + slot * size_of::<Rela>();
            out[at..at + size_of::<Rela>()].copy_from_slice(bytes_of(rela));
        }
        sections[index]
            .sh_size
            .set(LE, records.len() as u64 * ADDRESS_LEN);
        sections[rela_index]
            .sh_size
            .set(LE, (records.len() * size_of::<Rela>()) as u64);
    }
    let headers = object::pod::bytes_of_slice(&sections);
    let at = elf.header.e_shoff.get(LE) as usize;
    out[at..at + headers.len()].copy_from_slice(headers);
    Ok(Some((out, pruned)))
}

/// The sites in the table of an object, a module or a linked kernel, sorted, repetitions included.
pub fn list<'d, R: ReadRef<'d>>(data: R) -> Result<Vec<Listed>> {
    let elf = Elf::parse(data, &[abi::ET_REL, abi::ET_EXEC, abi::ET_DYN])?;
    let Some(symbols) = elf.symbols()? else {
        return Ok(Vec::new());
    };
    let mut sites = if elf.header.e_type.get(LE) == abi::ET_REL {
        list_relocatable(&elf, &symbols)?
    } else {
        list_image(&elf, &symbols)?
    };
    sites.sort();
    Ok(sites)
}

fn list_relocatable<'d, R: ReadRef<'d>>(
    elf: &Elf<'d, R>,
    symbols: &Symbols<'d, R>,
) -> Result<Vec<Listed>> {
    let mut sites = Vec::new();
    for (index, rela_index) in tables(elf)? {
        for rela in elf.rela(rela_index)? {
            let site = recorded(elf, symbols, index, rela)?;
            sites.push(Listed {
                section: elf.name(site.section),
                offset: site.offset,
            });
        }
    }
    Ok(sites)
}

fn list_image<'d, R: ReadRef<'d>>(
    elf: &Elf<'d, R>,
    symbols: &Symbols<'d, R>,
) -> Result<Vec<Listed>> {
    let table = ImageTable::find(elf, symbols)?;
    let mut sites = Vec::new();
    for (slot, address) in table.addresses(elf)?.into_iter().enumerate() {
        let home = (0..elf.sections.len())
            .filter(|&index| elf.is_code(index))
            .find_map(|index| {
                let section = &elf.sections[index];
                let offset = address.checked_sub(section.sh_addr(LE))?;
                (offset < section.sh_size(LE)).then(|| (elf.name(index), offset))
            });
        let Some((section, offset)) = home else {
            let offset = table.start + slot as u64 * ADDRESS_LEN;
            let message = format!("the address {address:#x} is in no code");
            return Err(Error::new(elf.name(table.section), offset, message));
        };
        sites.push(Listed { section, offset });
    }
    Ok(sites)
}
