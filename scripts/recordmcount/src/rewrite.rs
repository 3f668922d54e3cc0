// SPDX-License-Identifier: GPL-2.0

//! Writes an object anew with its table of sites.
//!
//! What the compiler and objtool have written stays where it is, byte for byte, except for the
//! sites themselves. New and grown parts go to the file's end, behind them a new section header
//! table: sections keep their indices, so ORC tables, groups, relocations and links stay valid
//! without being understood here.

use crate::elf::{Header, Object, ObjectSymbols, Rela, Section, ADDRESS_LEN, LE};
use crate::error::{Error, Result};
use crate::sites::{Patch, Scan, Site};
use crate::symtab;
use crate::x86::NOP5;
use object::elf as abi;
use object::pod::{bytes_of, bytes_of_slice};
use object::read::elf::SectionHeader as _;
use object::{U32, U64};
use std::collections::BTreeMap;
use std::mem::size_of;

/// The name of the table's relocations; the table's own name is the end of it.
const RELA_NAME: &[u8] = b".rela__mcount_loc\0";
/// Length of `.rela`, by which the two names differ.
const RELA_PREFIX_LEN: u32 = 5;

/// A file in the making: the old bytes with patches, then what was appended.
pub struct Output {
    pub bytes: Vec<u8>,
    pub sections: Vec<Section>,
    header: Header,
}

impl Output {
    fn new(elf: &Object<'_>) -> Self {
        let mut bytes = elf.data.to_vec();
        // The old section headers, where they come last as they do from clang, make room for the
        // new ones.
        let table_at = elf.header.e_shoff.get(LE);
        let table_len = std::mem::size_of_val(elf.sections) as u64;
        let last = table_at.checked_add(table_len) == Some(bytes.len() as u64);
        let reached = elf.sections.iter().any(|section| {
            section
                .file_range(LE)
                .is_some_and(|(start, len)| start.saturating_add(len) > table_at)
        });
        if last && !reached {
            bytes.truncate(table_at as usize);
        }
        Output {
            bytes,
            sections: elf.sections.to_vec(),
            header: *elf.header,
        }
    }

    /// Appends `data`, aligned to 8 bytes; returns its file offset.
    fn append(&mut self, data: &[u8]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = self.bytes.len() as u64;
        self.bytes.extend_from_slice(data);
        at
    }

    /// Gives section `index` new contents.
    pub fn replace(&mut self, index: usize, data: &[u8]) {
        let at = self.append(data);
        let section = &mut self.sections[index];
        section.sh_offset.set(LE, at);
        section.sh_size.set(LE, data.len() as u64);
    }

    /// Overwrites bytes in place; the range is one that the scan has read.
    pub fn patch(&mut self, at: usize, data: &[u8]) -> Result<()> {
        at.checked_add(data.len())
            .and_then(|end| self.bytes.get_mut(at..end))
            .map(|bytes| bytes.copy_from_slice(data))
            .ok_or_else(|| Error::header(at as u64, "contents overlap the section headers"))
    }

    fn finish(mut self) -> Result<Vec<u8>> {
        let count = self.sections.len();
        if count >= usize::from(abi::SHN_LORESERVE) {
            return Err(Error::header(60, format!("{count} sections are too many")));
        }
        let sections = std::mem::take(&mut self.sections);
        let at = self.append(bytes_of_slice(&sections));
        self.header.e_shoff.set(LE, at);
        self.header.e_shnum.set(LE, count as u16);
        let header = self.header;
        self.patch(0, bytes_of(&header))?;
        Ok(self.bytes)
    }
}

/// Builds the new file of an object whose sites are `scan`.
pub fn rewrite(elf: &Object<'_>, symbols: &ObjectSymbols<'_>, scan: Scan) -> Result<Vec<u8>> {
    let mut out = Output::new(elf);
    for patch in &scan.patches {
        match *patch {
            Patch::Nop(at) => out.patch(at, &NOP5)?,
            Patch::ClearRelocation(at) => {
                // The type is the low half of `r_info`; the symbol stays, as objtool leaves it.
                let kind = at + std::mem::offset_of!(Rela, r_info);
                out.patch(kind, &abi::R_X86_64_NONE.to_le_bytes())?;
            }
        }
    }
    for &index in &scan.spent {
        out.sections[index].sh_size.set(LE, 0);
    }

    let bases = symtab::bases(elf, symbols, &scan.sites, &mut out)?;
    let groups = groups(elf)?;
    let mut tables: BTreeMap<Option<usize>, Vec<Site>> = BTreeMap::new();
    for site in scan.sites {
        let group = groups.get(&site.section).copied();
        tables.entry(group).or_default().push(site);
    }
    let name = add_name(elf, &mut out)?;
    for (group, sites) in tables {
        let first = out.sections.len();
        add_table(&mut out, name, symbols.section(), &sites, &bases);
        if let Some(group) = group {
            join_group(elf, &mut out, group, first)?;
        }
    }
    out.finish()
}

/// Adds the name of the table's relocations to the names of sections; returns its offset among
/// them.
fn add_name(elf: &Object<'_>, out: &mut Output) -> Result<u32> {
    let index = elf.names_section()?;
    let mut names = elf.bytes(index)?.to_vec();
    if names.last() != Some(&0) {
        names.push(0);
    }
    let name = u32::try_from(names.len())
        .map_err(|_| Error::new(elf.name(index), 0, "the string table is too large"))?;
    names.extend_from_slice(RELA_NAME);
    out.replace(index, &names);
    Ok(name)
}

/// Adds a table of `sites`, all zeros, and the relocations that will fill it.
fn add_table(
    out: &mut Output,
    name: u32,
    symtab: usize,
    sites: &[Site],
    bases: &BTreeMap<usize, symtab::Base>,
) {
    let index = out.sections.len();
    let mut rela = Vec::with_capacity(sites.len() * size_of::<Rela>());
    for (slot, site) in sites.iter().enumerate() {
        let base = bases[&site.section];
        let entry = Rela {
            r_offset: U64::new(LE, slot as u64 * ADDRESS_LEN),
            r_info: U64::new(
                LE,
                u64::from(base.symbol) << 32 | u64::from(abi::R_X86_64_64),
            ),
            r_addend: object::I64::new(LE, site.offset.wrapping_sub(base.value) as i64),
        };
        rela.extend_from_slice(bytes_of(&entry));
    }
    let table_at = out.append(&vec![0; sites.len() * ADDRESS_LEN as usize]);
    let rela_at = out.append(&rela);

    out.sections.push(Section {
        sh_name: U32::new(LE, name + RELA_PREFIX_LEN),
        sh_type: U32::new(LE, abi::SHT_PROGBITS),
        sh_flags: U64::new(LE, u64::from(abi::SHF_ALLOC)),
        sh_addr: U64::new(LE, 0),
        sh_offset: U64::new(LE, table_at),
        sh_size: U64::new(LE, sites.len() as u64 * ADDRESS_LEN),
        sh_link: U32::new(LE, 0),
        sh_info: U32::new(LE, 0),
        sh_addralign: U64::new(LE, ADDRESS_LEN),
        sh_entsize: U64::new(LE, ADDRESS_LEN),
    });
    out.sections.push(Section {
        sh_name: U32::new(LE, name),
        sh_type: U32::new(LE, abi::SHT_RELA),
        sh_flags: U64::new(LE, u64::from(abi::SHF_INFO_LINK)),
        sh_addr: U64::new(LE, 0),
        sh_offset: U64::new(LE, rela_at),
        sh_size: U64::new(LE, rela.len() as u64),
        sh_link: U32::new(LE, symtab as u32),
        sh_info: U32::new(LE, index as u32),
        sh_addralign: U64::new(LE, 8),
        sh_entsize: U64::new(LE, size_of::<Rela>() as u64),
    });
}

/// Which section group each grouped section belongs to.
fn groups(elf: &Object<'_>) -> Result<BTreeMap<usize, usize>> {
    let mut groups = BTreeMap::new();
    for (index, section) in elf.sections.iter().enumerate() {
        if section.sh_type(LE) != abi::SHT_GROUP {
            continue;
        }
        for member in elf.bytes(index)?.chunks_exact(4).skip(1) {
            let member = u32::from_le_bytes([member[0], member[1], member[2], member[3]]);
            groups.insert(member as usize, index);
        }
    }
    Ok(groups)
}

/// Makes the table at index `first`, and its relocations behind it, members of a section group.
///
/// The linker keeps one of several equal groups: the sites in the others must go with them.
fn join_group(elf: &Object<'_>, out: &mut Output, group: usize, first: usize) -> Result<()> {
    let mut words = elf.bytes(group)?.to_vec();
    for index in [first, first + 1] {
        words.extend_from_slice(&(index as u32).to_le_bytes());
        let flags = out.sections[index].sh_flags.get(LE) | u64::from(abi::SHF_GROUP);
        out.sections[index].sh_flags.set(LE, flags);
    }
    out.replace(group, &words);
    Ok(())
}
