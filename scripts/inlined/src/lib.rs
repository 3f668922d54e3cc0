// SPDX-License-Identifier: GPL-2.0

//! The functions that a linked kernel has only inlined: its debugging information (DWARF) says that
//! they were inlined somewhere, and there is no symbol of their name.
//!
//! A function that is never called is in neither. Names are those that a symbol would have: of Rust
//! the mangled ones. The tracing core's own are left out: they could not be traced anyway, and are the
//! most.

#[path = "../../../rust/core/format/rust_crate.rs"]
mod rust_crate;

use gimli::{AttributeValue, DebuggingInformationEntry, DwInl, EndianSlice, LittleEndian};
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::{BTreeSet, HashSet};
use std::fmt;

/// The crates of the tracing core.
const OWN_CRATES: [&[u8]; 2] = [b"rtrace", b"rustc_demangle"];

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;
type Unit<'a> = gimli::Unit<Slice<'a>>;
type Entry<'a, 'r> = DebuggingInformationEntry<'r, 'r, Slice<'a>>;

/// Why a file has no such names to tell.
#[derive(Debug)]
pub enum Error {
    /// It is no ELF file, or a damaged one.
    Elf(object::Error),
    /// Its debugging information is damaged, or of a kind that is not known.
    Dwarf(gimli::Error),
    /// It has none.
    NoDwarf,
    /// It is compressed.
    Compressed,
    /// The file is not linked yet, so its debugging information has no names.
    Relocatable,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Elf(error) => write!(f, "{error}"),
            Error::Dwarf(error) => write!(f, "debugging information: {error}"),
            Error::NoDwarf => f.write_str("no debugging information"),
            Error::Compressed => f.write_str("its debugging information is compressed"),
            Error::Relocatable => f.write_str("it is not linked"),
        }
    }
}

impl std::error::Error for Error {}

impl From<object::Error> for Error {
    fn from(error: object::Error) -> Self {
        Error::Elf(error)
    }
}

impl From<gimli::Error> for Error {
    fn from(error: gimli::Error) -> Self {
        Error::Dwarf(error)
    }
}

/// The names of the functions that the linked file `data` has only inlined, sorted.
pub fn inlined(data: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let file = object::File::parse(data)?;
    if file.kind() == object::ObjectKind::Relocatable {
        return Err(Error::Relocatable);
    }
    let section = |id: gimli::SectionId| -> Result<Slice<'_>, Error> {
        let Some(section) = file.section_by_name(id.name()) else {
            return Ok(Slice::new(&[], LittleEndian));
        };
        match section.compressed_file_range()?.format {
            object::CompressionFormat::None => Ok(Slice::new(section.data()?, LittleEndian)),
            _ => Err(Error::Compressed),
        }
    };
    let dwarf = Dwarf::load(section)?;
    let symbols: HashSet<&[u8]> = file
        .symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name_bytes().ok())
        .collect();
    let mut names = BTreeSet::new();
    let mut units = dwarf.units();
    let mut any = false;
    while let Some(header) = units.next()? {
        any = true;
        let unit = dwarf.unit(header)?;
        let mut entries = unit.entries();
        while let Some((_, entry)) = entries.next_dfs()? {
            if is_inlined(entry)? {
                let name = name(&dwarf, &unit, entry)?;
                names.extend(name.filter(|name| !symbols.contains(name) && !is_own(name)));
            }
        }
    }
    match any {
        true => Ok(names.into_iter().map(<[u8]>::to_vec).collect()),
        false => Err(Error::NoDwarf),
    }
}

fn is_own(name: &[u8]) -> bool {
    name.starts_with(b"_R")
        && OWN_CRATES
            .into_iter()
            .any(|of| rust_crate::names_crate(name, of))
}

/// Whether it is a function that was inlined somewhere.
fn is_inlined(entry: &Entry<'_, '_>) -> Result<bool, Error> {
    const INLINED: [DwInl; 2] = [gimli::DW_INL_inlined, gimli::DW_INL_declared_inlined];
    if entry.tag() != gimli::DW_TAG_subprogram {
        return Ok(false);
    }
    Ok(match entry.attr_value(gimli::DW_AT_inline)? {
        Some(AttributeValue::Inline(how)) => INLINED.contains(&how),
        _ => false,
    })
}

/// The name that its symbol would have: its own, or that of the declaration that it completes.
fn name<'a>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    entry: &Entry<'a, '_>,
) -> Result<Option<&'a [u8]>, Error> {
    for attribute in [gimli::DW_AT_linkage_name, gimli::DW_AT_name] {
        if let Some(value) = entry.attr_value(attribute)? {
            return Ok(Some(dwarf.attr_string(unit, value)?.slice()));
        }
    }
    match entry.attr_value(gimli::DW_AT_specification)? {
        // A declaration has its name itself.
        Some(AttributeValue::UnitRef(at)) if at != entry.offset() => {
            let declaration = unit.entry(at)?;
            match declaration.attr(gimli::DW_AT_specification)? {
                None => name(dwarf, unit, &declaration),
                Some(_) => Ok(None),
            }
        }
        _ => Ok(None),
    }
}
