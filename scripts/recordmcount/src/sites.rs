// SPDX-License-Identifier: GPL-2.0

//! Finds the patch sites of one object.
//!
//! C code calls `__fentry__` at the start of each traced function (`-pg -mfentry`); rustc leaves a
//! 5-byte NOP there and lists it in `__patchable_function_entries`
//! (`-Zpatchable-function-entry=5`). Nothing is changed here: the result is a list of sites and of
//! the few bytes to overwrite, see `rewrite`.

use crate::elf::{Elf, Rela, Symbols, ADDRESS_LEN, LE, PATCHABLE};
use crate::error::{Error, Result};
use crate::x86::{self, Entry};
use object::elf as abi;
use object::read::elf::SectionHeader as _;
use object::read::ReadRef;

/// The symbol that C code calls.
const FENTRY: &[u8] = b"__fentry__";

/// The place of a site: a code section's index and the offset of the site's first byte in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    pub section: usize,
    pub offset: u64,
}

/// Bytes of the file to overwrite; lengths stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patch {
    /// Put the kernel's 5-byte NOP at this file offset.
    Nop(usize),
    /// Make the relocation entry at this file offset one of type `R_X86_64_NONE`.
    ClearRelocation(usize),
}

/// What an object needs to have done.
#[derive(Debug, Default)]
pub struct Scan {
    /// All sites, sorted, each once.
    pub sites: Vec<Site>,
    pub patches: Vec<Patch>,
    /// Sections whose contents have moved to `__mcount_loc`, to be left with a size of 0.
    pub spent: Vec<usize>,
}

/// Finds the sites of `elf`; patchable function entries count where `entries` says so.
pub fn scan<'d, R: ReadRef<'d>>(
    elf: &Elf<'d, R>,
    symbols: &Symbols<'d, R>,
    entries: bool,
) -> Result<Scan> {
    let mut scan = Scan::default();
    if let Some(fentry) = find_fentry(symbols) {
        for (rela_index, code) in elf.rela_sections().filter(|&(_, code)| elf.is_code(code)) {
            scan_calls(elf, rela_index, code, fentry, &mut scan)?;
        }
    }
    if entries {
        scan_entries(elf, symbols, &mut scan)?;
    }
    scan.sites.sort_unstable();
    if let Some(twice) = scan.sites.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = "the same site is recorded twice";
        return Err(Error::new(
            elf.name(twice[0].section),
            twice[0].offset,
            message,
        ));
    }
    Ok(scan)
}

/// Index of the symbol for the function that C code calls.
fn find_fentry<'d, R: ReadRef<'d>>(symbols: &Symbols<'d, R>) -> Option<u32> {
    symbols
        .all()
        .iter()
        .position(|symbol| symbols.is_named(symbol, FENTRY))
        .map(|index| index as u32)
}

/// Finds the calls of symbol number `fentry` in the section `code`, by its relocations in section
/// `rela_index`.
fn scan_calls<'d, R: ReadRef<'d>>(
    elf: &Elf<'d, R>,
    rela_index: usize,
    code: usize,
    fentry: u32,
    scan: &mut Scan,
) -> Result<()> {
    let table = elf.rela(rela_index)?;
    let table_at = elf.sections[rela_index].sh_offset(LE) as usize;
    let text_at = elf.sections[code].sh_offset(LE) as usize;

    for (number, rela) in table.iter().enumerate() {
        if rela.r_sym(LE, false) != fentry {
            continue;
        }
        let Some(offset) = call_site(elf, code, rela)? else {
            continue;
        };
        scan.sites.push(Site {
            section: code,
            offset: offset as u64,
        });
        scan.patches.push(Patch::Nop(text_at + offset));
        scan.patches.push(Patch::ClearRelocation(
            table_at + number * std::mem::size_of::<Rela>(),
        ));
    }
    Ok(())
}

/// Offset of the call that `rela` belongs to, or `None` where it is a reference of another kind.
fn call_site<'d, R: ReadRef<'d>>(
    elf: &Elf<'d, R>,
    code: usize,
    rela: &Rela,
) -> Result<Option<usize>> {
    let at = rela.r_offset.get(LE);
    let fail = |message: String| Err(Error::new(elf.name(code), at, message));
    let kind = rela.r_type(LE, false);

    match kind {
        abi::R_X86_64_PLT32 | abi::R_X86_64_PC32 => (),
        // The function's address as a number, as in comparing with MCOUNT_ADDR, or a call that is a
        // NOP already.
        abi::R_X86_64_NONE | abi::R_X86_64_32 | abi::R_X86_64_32S | abi::R_X86_64_64 => {
            return Ok(None)
        }
        _ => {
            return fail(format!(
                "__fentry__ is referred to by a relocation of type {kind}"
            ))
        }
    }

    let text = elf.bytes(code)?;
    let opcode = usize::try_from(at).ok().and_then(|at| at.checked_sub(1));
    let call = opcode.and_then(|opcode| text.get(opcode..opcode.checked_add(x86::SITE_LEN)?));
    let (Some(opcode), Some(call)) = (opcode, call) else {
        return fail("the relocation of a call of __fentry__ is not inside the section".into());
    };
    if call[0] != x86::CALL {
        if kind == abi::R_X86_64_PC32 {
            return Ok(None);
        }
        return fail(format!(
            "__fentry__ is reached by opcode {:#04x}, not by a call",
            call[0]
        ));
    }
    let addend = rela.r_addend.get(LE);
    if addend != x86::CALL_ADDEND {
        return fail(format!(
            "a call of __fentry__ has the addend {addend}, not {}",
            x86::CALL_ADDEND
        ));
    }
    Ok(Some(opcode))
}

/// Finds the sites that all `__patchable_function_entries` sections list.
fn scan_entries<'d, R: ReadRef<'d>>(
    elf: &Elf<'d, R>,
    symbols: &Symbols<'d, R>,
    scan: &mut Scan,
) -> Result<()> {
    if elf.named(PATCHABLE).next().is_none() {
        return Ok(());
    }
    let mut listed = vec![None; elf.sections.len()];
    for (rela_index, list) in elf.rela_sections() {
        let Some(slot) = listed.get_mut(list) else {
            continue;
        };
        let list_has_name = elf.name_bytes(&elf.sections[list]) == PATCHABLE.as_bytes();
        if list_has_name && slot.replace(rela_index).is_some() {
            return Err(Error::new(
                elf.name(rela_index),
                0,
                "a second relocation section for one list",
            ));
        }
    }
    for list in elf.named(PATCHABLE) {
        let size = elf.sections[list].sh_size(LE);
        match listed[list] {
            Some(rela_index) => scan_list(elf, symbols, list, rela_index, scan)?,
            None if size == 0 => (),
            None => return Err(Error::new(elf.name(list), 0, "entries without relocations")),
        }
    }
    Ok(())
}

/// Finds the sites that one list names, and marks it spent where all of it has become sites.
fn scan_list<'d, R: ReadRef<'d>>(
    elf: &Elf<'d, R>,
    symbols: &Symbols<'d, R>,
    list: usize,
    rela_index: usize,
    scan: &mut Scan,
) -> Result<()> {
    let table = elf.rela(rela_index)?;
    let size = elf.sections[list].sh_size(LE);
    if size != table.len() as u64 * ADDRESS_LEN {
        let message = format!("{size} bytes of entries have {} relocations", table.len());
        return Err(Error::new(elf.name(list), 0, message));
    }
    let mut padded = false;
    for rela in table {
        let (section, entry) = entry_target(elf, symbols, list, size, rela)?;
        let text = elf.bytes(section)?;
        let here = usize::try_from(entry)
            .ok()
            .and_then(|entry| x86::patchable_entry(text, entry));
        let offset = match here {
            Some(Entry::Function(offset)) => offset,
            Some(Entry::Padded(offset)) => {
                padded = true;
                offset
            }
            Some(Entry::PaddingOnly) => {
                padded = true;
                continue;
            }
            None => {
                let message = "a patchable function entry is neither a 5-byte NOP nor padding";
                return Err(Error::new(elf.name(section), entry, message));
            }
        };
        scan.sites.push(Site {
            section,
            offset: offset as u64,
        });
        scan.patches.push(Patch::Nop(
            elf.sections[section].sh_offset(LE) as usize + offset,
        ));
    }
    // objtool still names the padding by these lists; the linker script of x86 discards them.
    if !padded && !table.is_empty() {
        scan.spent.extend([list, rela_index]);
    }
    Ok(())
}

/// Section and offset that an entry of a list points at.
fn entry_target<'d, R: ReadRef<'d>>(
    elf: &Elf<'d, R>,
    symbols: &Symbols<'d, R>,
    list: usize,
    size: u64,
    rela: &Rela,
) -> Result<(usize, u64)> {
    let at = rela.r_offset.get(LE);
    let fail = |message: &str| Err(Error::new(elf.name(list), at, message));

    if at % ADDRESS_LEN != 0 || at >= size {
        return fail("a relocation is not on an entry of the list");
    }
    if rela.r_type(LE, false) != abi::R_X86_64_64 {
        return fail("the relocation of an entry is not of type R_X86_64_64");
    }
    match symbols.target(rela) {
        Some((section, offset)) if elf.is_code(section) => Ok((section, offset)),
        _ => fail("an entry does not point into code"),
    }
}
