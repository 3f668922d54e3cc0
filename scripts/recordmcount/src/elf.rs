// SPDX-License-Identifier: GPL-2.0

//! A checked view of an x86-64 ELF file, on the raw structures of the `object` crate.
//!
//! Every accessor bounds-checks what the file says, so that a malformed file ends in an [`Error`]
//! naming the place. [`Elf`] is generic over where bytes come from: a slice for objects, a read
//! cache for the far larger `vmlinux`.

use crate::error::{Error, Result};
use object::elf::{self, FileHeader64, Rela64, SectionHeader64, Sym64};
use object::read::elf::{FileHeader as _, SectionHeader as _, Sym as _, SymbolTable};
use object::read::ReadRef;
use object::{LittleEndian, SectionIndex, SymbolIndex};

/// The byte order of everything in an x86-64 file.
pub const LE: LittleEndian = LittleEndian;

pub type Header = FileHeader64<LittleEndian>;
pub type Section = SectionHeader64<LittleEndian>;
pub type Symbol = Sym64<LittleEndian>;
pub type Rela = Rela64<LittleEndian>;

/// The table that the pass writes, and the kernel's linker script gathers.
pub const MCOUNT_LOC: &str = "__mcount_loc";

/// Where the compiler lists patchable function entries.
pub const PATCHABLE: &str = "__patchable_function_entries";

/// Section type of `.llvm_addrsig`, the symbols whose addresses matter.
pub const SHT_LLVM_ADDRSIG: u32 = 0x6fff_4c03;

/// Size in bytes of an address, and so of one slot of the two tables above.
pub const ADDRESS_LEN: u64 = 8;

/// An x86-64 ELF file, its section headers read.
pub struct Elf<'d, R: ReadRef<'d>> {
    pub data: R,
    pub header: &'d Header,
    pub sections: &'d [Section],
    names: &'d [u8],
}

/// The symbol table of a file, its strings read.
pub struct Symbols<'d, R: ReadRef<'d>> {
    table: SymbolTable<'d, Header, R>,
    names: &'d [u8],
}

/// An object, which is read whole.
pub type Object<'d> = Elf<'d, &'d [u8]>;
/// The symbol table of an object that is read whole.
pub type ObjectSymbols<'d> = Symbols<'d, &'d [u8]>;

impl<'d, R: ReadRef<'d>> Elf<'d, R> {
    /// Reads the headers; `types` are the values of `e_type` that the caller can deal with.
    pub fn parse(data: R, types: &[u16]) -> Result<Self> {
        let ident = data
            .read_bytes_at(0, 20)
            .map_err(|()| Error::header(0, "not an ELF file: too short"))?;
        check_ident(ident)?;
        let header = Header::parse(data).map_err(|e| Error::header(0, e.to_string()))?;
        let e_type = header.e_type.get(LE);
        if !types.contains(&e_type) {
            return Err(Error::header(
                16,
                format!("unexpected ELF file type {e_type}"),
            ));
        }
        let sections = header
            .section_headers(LE, data)
            .map_err(|e| Error::header(header.e_shoff.get(LE), e.to_string()))?;
        let mut elf = Elf {
            data,
            header,
            sections,
            names: &[],
        };
        if !sections.is_empty() {
            elf.names = elf.bytes(elf.names_section()?)?;
        }
        Ok(elf)
    }

    /// Index of the section that holds the names of sections.
    pub fn names_section(&self) -> Result<usize> {
        let index = self
            .header
            .shstrndx(LE, self.data)
            .map_err(|e| Error::header(62, e.to_string()))? as usize;
        match self.sections.get(index) {
            Some(section) if section.sh_type(LE) == elf::SHT_STRTAB => Ok(index),
            _ => Err(Error::header(
                62,
                format!("section {index} is no string table"),
            )),
        }
    }

    /// The section at `index`, which `user` refers to.
    pub fn section(&self, index: usize, user: &str) -> Result<&'d Section> {
        match self.sections.get(index) {
            Some(section) if index != 0 => Ok(section),
            _ => Err(Error::new(
                user,
                0,
                format!("refers to section {index}, which does not exist"),
            )),
        }
    }

    /// The raw name of a section; empty where it has none or lies outside the string table.
    pub fn name_bytes(&self, section: &Section) -> &'d [u8] {
        string_at(self.names, section.sh_name(LE)).unwrap_or_default()
    }

    /// The name of section `index` for messages.
    pub fn name(&self, index: usize) -> String {
        match self
            .sections
            .get(index)
            .map(|section| self.name_bytes(section))
        {
            None | Some([]) => format!("<section {index}>"),
            Some(name) => String::from_utf8_lossy(name).into_owned(),
        }
    }

    /// Indices of the sections called `name`.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + use<'a, 'd, R> {
        self.sections
            .iter()
            .enumerate()
            .filter(move |(_, section)| self.name_bytes(section) == name.as_bytes())
            .map(|(index, _)| index)
    }

    /// Whether section `index` holds code that is part of the program.
    pub fn is_code(&self, index: usize) -> bool {
        let code = u64::from(elf::SHF_ALLOC | elf::SHF_EXECINSTR);
        self.sections.get(index).is_some_and(|section| {
            section.sh_type(LE) == elf::SHT_PROGBITS && section.sh_flags(LE) & code == code
        })
    }

    /// The contents of section `index`.
    pub fn bytes(&self, index: usize) -> Result<&'d [u8]> {
        let section = self
            .sections
            .get(index)
            .ok_or_else(|| Error::header(0, format!("no section {index}")))?;
        section.data(LE, self.data).map_err(|_| {
            Error::new(
                self.name(index),
                0,
                "contents reach beyond the end of the file",
            )
        })
    }

    /// The relocations in section `index`, which is of type `SHT_RELA`.
    pub fn rela(&self, index: usize) -> Result<&'d [Rela]> {
        let bytes = self.bytes(index)?;
        let entry = std::mem::size_of::<Rela>();
        let section = &self.sections[index];
        if section.sh_entsize(LE) != entry as u64 || bytes.len() % entry != 0 {
            let message = format!(
                "{} bytes are not a table of {entry}-byte relocations",
                bytes.len()
            );
            return Err(Error::new(self.name(index), 0, message));
        }
        Ok(object::pod::slice_from_bytes(bytes, bytes.len() / entry)
            .map_err(|()| Error::new(self.name(index), 0, "unreadable relocations"))?
            .0)
    }

    /// Indices of the `SHT_RELA` sections, each with the index of the section it applies to.
    pub fn rela_sections(&self) -> impl Iterator<Item = (usize, usize)> + use<'_, 'd, R> {
        self.sections
            .iter()
            .enumerate()
            .filter(|(_, section)| section.sh_type(LE) == elf::SHT_RELA)
            .map(|(index, section)| (index, section.sh_info(LE) as usize))
    }

    /// The symbol table, or `None` where the file has none.
    pub fn symbols(&self) -> Result<Option<Symbols<'d, R>>> {
        let mut tables = self
            .sections
            .iter()
            .enumerate()
            .filter(|(_, section)| section.sh_type(LE) == elf::SHT_SYMTAB);
        let Some((index, section)) = tables.next() else {
            return Ok(None);
        };
        if let Some((other, _)) = tables.next() {
            return Err(Error::new(self.name(other), 0, "a second symbol table"));
        }
        let entry = std::mem::size_of::<Symbol>() as u64;
        if section.sh_entsize(LE) != entry || section.sh_size(LE) % entry != 0 {
            return Err(Error::new(
                self.name(index),
                0,
                "not a table of 24-byte symbols",
            ));
        }
        let table = self
            .header
            .sections(LE, self.data)
            .and_then(|sections| {
                SymbolTable::parse(LE, self.data, &sections, SectionIndex(index), section)
            })
            .map_err(|e| Error::new(self.name(index), 0, e.to_string()))?;
        let names = self.bytes(table.string_section().0)?;
        Ok(Some(Symbols { table, names }))
    }
}

impl<'d, R: ReadRef<'d>> Symbols<'d, R> {
    /// Index of the section that holds the table.
    pub fn section(&self) -> usize {
        self.table.section().0
    }

    /// Whether a second table extends the 16-bit section indices of this one.
    pub fn has_extended_indices(&self) -> bool {
        self.table.shndx_section().0 != 0
    }

    /// All symbols, the null symbol at index 0 included.
    pub fn all(&self) -> &'d [Symbol] {
        self.table.symbols()
    }

    /// Whether a symbol has this name.
    pub fn is_named(&self, symbol: &Symbol, name: &[u8]) -> bool {
        self.names
            .get(symbol.st_name(LE) as usize..)
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.first() == Some(&0))
    }

    /// Index of the section that the symbol is defined in, or `None` where it is undefined or
    /// absolute.
    pub fn home(&self, index: usize, symbol: &Symbol) -> Option<usize> {
        self.table
            .symbol_section(LE, symbol, SymbolIndex(index))
            .ok()
            .flatten()
            .map(|section| section.0)
    }

    /// Section and offset that a relocation points at, or `None` where its symbol is no place in a
    /// section.
    pub fn target(&self, rela: &Rela) -> Option<(usize, u64)> {
        let index = rela.r_sym(LE, false) as usize;
        let symbol = self.all().get(index)?;
        let home = self.home(index, symbol)?;
        let addend = rela.r_addend.get(LE);
        Some((home, symbol.st_value(LE).checked_add_signed(addend)?))
    }
}

/// The NUL-terminated string at `offset`.
fn string_at(strings: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = strings.get(offset as usize..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    Some(&rest[..end])
}

/// Checks the first 20 bytes of a file: an ELF file, 64 bits, little-endian, x86-64.
fn check_ident(ident: &[u8]) -> Result<()> {
    if ident.starts_with(b"BC\xc0\xde") {
        return Err(Error::header(0, "LLVM bitcode, not an ELF file"));
    }
    if !ident.starts_with(&elf::ELFMAG) {
        return Err(Error::header(0, "not an ELF file"));
    }
    if ident[4] != elf::ELFCLASS64 {
        return Err(Error::header(
            4,
            format!("ELF class {} is not 64-bit", ident[4]),
        ));
    }
    if ident[5] != elf::ELFDATA2LSB {
        return Err(Error::header(
            5,
            format!("byte order {} is not little-endian", ident[5]),
        ));
    }
    let machine = u16::from_le_bytes([ident[18], ident[19]]);
    if machine != elf::EM_X86_64 {
        return Err(Error::header(
            18,
            format!("machine {machine} is not x86-64"),
        ));
    }
    Ok(())
}
