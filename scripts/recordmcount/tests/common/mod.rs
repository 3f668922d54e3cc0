// SPDX-License-Identifier: GPL-2.0

//! Small ELF files made on the spot, and a text form of them for golden files.
#![allow(dead_code)] // Each test binary uses its part.

use object::elf::{self, SectionHeader64, Sym64};
use object::read::elf::{FileHeader as _, Rela as _, SectionHeader as _, Sym as _};
use object::write::{Object, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, LittleEndian, RelocationFlags, SectionFlags,
    SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use std::fmt::Write as _;
use std::path::Path;

pub const LE: LittleEndian = LittleEndian;
pub const ENDBR64: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
pub const CALL: &[u8] = &[0xe8, 0, 0, 0, 0];
pub const NOP5: &[u8] = &[0x0f, 0x1f, 0x44, 0, 0];
pub const LLVM_NOP5: &[u8] = &[0x0f, 0x1f, 0x44, 0, 8];
pub const PADDING: &[u8] = &[0x90; 16];
pub const RET: &[u8] = &[0xc3];

/// An object in the making, with the few moves that compilers make.
pub struct Builder {
    pub object: Object<'static>,
    fentry: SymbolId,
}

impl Builder {
    pub fn new() -> Self {
        let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let fentry = object.add_symbol(Symbol {
            name: b"__fentry__".to_vec(),
            value: 0,
            size: 0,
            kind: SymbolKind::Unknown,
            scope: SymbolScope::Unknown,
            weak: false,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        });
        Builder { object, fentry }
    }

    pub fn code(&mut self, name: &str) -> SectionId {
        self.object
            .add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::Text)
    }

    /// Appends `parts` as a function; a part that is a call gets its relocation. Returns the
    /// function's offset.
    pub fn function(
        &mut self,
        section: SectionId,
        name: &str,
        parts: &[&[u8]],
        how: Binding,
    ) -> u64 {
        let start = self
            .object
            .append_section_data(section, &parts.concat(), 16);
        let mut at = start;
        for part in parts {
            if *part == CALL {
                self.relocate(section, at + 1, self.fentry, elf::R_X86_64_PLT32, -4);
            }
            at += part.len() as u64;
        }
        if how != Binding::Nameless {
            self.object.add_symbol(Symbol {
                name: name.as_bytes().to_vec(),
                value: start,
                size: at - start,
                kind: SymbolKind::Text,
                scope: match how {
                    Binding::Local => SymbolScope::Compilation,
                    _ => SymbolScope::Linkage,
                },
                weak: how == Binding::Weak,
                section: SymbolSection::Section(section),
                flags: SymbolFlags::None,
            });
        }
        start
    }

    pub fn fentry(&self) -> SymbolId {
        self.fentry
    }

    pub fn relocate(
        &mut self,
        section: SectionId,
        offset: u64,
        symbol: SymbolId,
        r_type: u32,
        addend: i64,
    ) {
        self.object
            .add_relocation(
                section,
                Relocation {
                    offset,
                    symbol,
                    addend,
                    flags: RelocationFlags::Elf { r_type },
                },
            )
            .unwrap();
    }

    /// A list of addresses in `code`, based on its section symbol.
    pub fn list(&mut self, name: &str, code: SectionId, offsets: &[u64]) -> SectionId {
        let symbol = self.object.section_symbol(code);
        let list = self
            .object
            .add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::Data);
        self.object
            .append_section_data(list, &vec![0; offsets.len() * 8], 8);
        for (slot, &offset) in offsets.iter().enumerate() {
            self.relocate(
                list,
                slot as u64 * 8,
                symbol,
                elf::R_X86_64_64,
                offset as i64,
            );
        }
        list
    }

    /// The list of patchable function entries of one function, bound to `code` as LLVM does it.
    pub fn entries(&mut self, code: SectionId, offsets: &[u64]) -> SectionId {
        let list = self.list("__patchable_function_entries", code, offsets);
        self.object.section_mut(list).flags = SectionFlags::Elf {
            sh_flags: u64::from(elf::SHF_ALLOC | elf::SHF_WRITE),
        };
        list
    }

    pub fn write(&self) -> Vec<u8> {
        self.object.write().unwrap()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    Local,
    Global,
    Weak,
    Nameless,
}

/// An object as clang makes it from C: static, global and init functions, and a mention that is no
/// call.
pub fn c_object() -> Vec<u8> {
    let mut b = Builder::new();
    let text = b.code(".text");
    b.object.section_symbol(text);
    b.function(text, "helper", &[CALL, RET], Binding::Local);
    b.function(text, "untraced", &[RET], Binding::Global);
    b.function(text, "sys_thing", &[ENDBR64, CALL, RET], Binding::Global);
    let mention = b.function(
        text,
        "compares",
        &[CALL, &[0x48, 0x81, 0xff, 0, 0, 0, 0], RET],
        Binding::Global,
    );
    b.relocate(text, mention + 8, b.fentry(), elf::R_X86_64_32S, 0);
    let init = b.code(".init.text");
    b.function(init, "setup", &[CALL, RET], Binding::Local);
    b.write()
}

/// An object as rustc makes it: a section and a list of entries for each function.
pub fn rust_object() -> Vec<u8> {
    let mut b = Builder::new();
    for (name, parts) in [
        ("plain", &[LLVM_NOP5, RET] as &[&[u8]]),
        ("branch_tracked", &[ENDBR64, LLVM_NOP5, RET]),
    ] {
        let code = b.code(&format!(".text.{name}"));
        b.function(code, name, parts, Binding::Global);
        let entry = if parts[0] == ENDBR64 { 4 } else { 0 };
        b.entries(code, &[entry]);
    }
    b.write()
}

/// The same with padding before functions, as `-Zpatchable-function-entry=21,16` makes it.
pub fn padded_object() -> Vec<u8> {
    let mut b = Builder::new();
    let text = b.code(".text");
    let first = b.object.append_section_data(text, PADDING, 16);
    b.function(text, "padded", &[ENDBR64, LLVM_NOP5, RET], Binding::Global);
    let second = b.object.append_section_data(text, PADDING, 16);
    b.function(
        text,
        "padded_untraced",
        &[&[0x31, 0xc0], RET],
        Binding::Global,
    );
    b.entries(text, &[first, second]);
    b.write()
}

/// A section that has weak symbols only, and sections that point at symbols behind the local ones.
pub fn weak_object() -> Vec<u8> {
    let mut b = Builder::new();
    let text = b.code(".text.arch");
    b.function(text, "arch_setup", &[CALL, RET], Binding::Weak);
    let weak = b.object.symbol_id(b"arch_setup").unwrap();
    let data = b
        .object
        .add_section(Vec::new(), b".data".to_vec(), SectionKind::Data);
    b.object.append_section_data(data, &[0; 8], 8);
    b.relocate(data, 0, weak, elf::R_X86_64_64, 0);
    let other = b.code(".text");
    b.function(other, "local", &[CALL, RET], Binding::Local);
    b.write()
}

/// A function in a section group, as one that several objects may define, next to an ordinary one.
///
/// Its section has no symbol but the weak one, which is also the group's signature.
pub fn group_object() -> Vec<u8> {
    let mut b = Builder::new();
    let shared = b.code(".text.shared");
    b.function(shared, "shared", &[CALL, RET], Binding::Weak);
    let symbol = b.object.symbol_id(b"shared").unwrap();
    b.object.add_comdat(object::write::Comdat {
        kind: object::ComdatKind::Any,
        symbol,
        sections: vec![shared],
    });
    let text = b.code(".text");
    b.object.section_symbol(text);
    b.function(text, "ordinary", &[CALL, RET], Binding::Global);
    b.write()
}

/// A linked module: an unsorted table, with one site whose weak function was overridden.
pub fn module() -> Vec<u8> {
    let mut b = Builder::new();
    let text = b.code(".text");
    let first = b.function(text, "first", &[NOP5, RET], Binding::Global);
    let stale = b.function(text, "", &[NOP5, RET], Binding::Nameless);
    let last = b.function(text, "last", &[ENDBR64, NOP5, RET], Binding::Local);
    b.list("__mcount_loc", text, &[last + 4, stale, first]);
    b.write()
}

/// Addresses in [`image`].
pub const IMAGE_TEXT: u64 = 0xffff_ffff_8100_0000;
pub const IMAGE_DATA: u64 = 0xffff_ffff_8200_0000;
/// The sites that [`image`] is meant to have after the pass.
pub const IMAGE_SITES: [u64; 3] = [IMAGE_TEXT, IMAGE_TEXT + 0x24, IMAGE_TEXT + 0x30];

/// A linked kernel: code, a table of the given addresses, symbols.
pub fn image(table: &[u64]) -> Vec<u8> {
    let mut text = Vec::new();
    for parts in [
        &[NOP5, RET] as &[&[u8]],
        &[NOP5, RET],
        &[ENDBR64, NOP5, RET],
        &[NOP5, RET],
    ] {
        text.resize(text.len().next_multiple_of(16), 0x90);
        text.extend(parts.concat());
    }
    let mut data = vec![0xaa; 16];
    data.extend(table.iter().flat_map(|address| address.to_le_bytes()));
    data.extend([0xbb; 8]);
    let start = IMAGE_DATA + 16;
    // The function at 0x10 is the weak one that was overridden.
    let symbols = [
        ("first", IMAGE_TEXT, 1, elf::STT_FUNC),
        ("tracked", IMAGE_TEXT + 0x20, 1, elf::STT_FUNC),
        ("last", IMAGE_TEXT + 0x30, 1, elf::STT_FUNC),
        ("__start_mcount_loc", start, 2, elf::STT_NOTYPE),
        (
            "__stop_mcount_loc",
            start + table.len() as u64 * 8,
            2,
            elf::STT_NOTYPE,
        ),
    ];
    write_image(&text, &data, &symbols)
}

fn write_image(text: &[u8], data: &[u8], symbols: &[(&str, u64, usize, u8)]) -> Vec<u8> {
    use object::write::elf::{FileHeader, SectionHeader, Sym, Writer};
    let mut out = Vec::new();
    let mut w = Writer::new(Endianness::Little, true, &mut out);
    w.reserve_null_section_index();
    let text_name = w.add_section_name(b".text");
    let text_index = w.reserve_section_index();
    let data_name = w.add_section_name(b".init.data");
    let data_index = w.reserve_section_index();
    w.reserve_symtab_section_index();
    w.reserve_strtab_section_index();
    w.reserve_shstrtab_section_index();
    let names: Vec<_> = symbols
        .iter()
        .map(|&(name, ..)| w.add_string(name.as_bytes()))
        .collect();
    w.reserve_null_symbol_index();
    for _ in symbols {
        w.reserve_symbol_index(None);
    }
    w.reserve_file_header();
    let text_at = w.reserve(text.len(), 16);
    let data_at = w.reserve(data.len(), 16);
    w.reserve_symtab();
    w.reserve_strtab();
    w.reserve_shstrtab();
    w.reserve_section_headers();

    w.write_file_header(&FileHeader {
        os_abi: 0,
        abi_version: 0,
        e_type: elf::ET_EXEC,
        e_machine: elf::EM_X86_64,
        e_entry: IMAGE_TEXT,
        e_flags: 0,
    })
    .unwrap();
    w.write_align(16);
    w.write(text);
    w.write_align(16);
    w.write(data);
    w.write_null_symbol();
    for (&(_, st_value, section, kind), name) in symbols.iter().zip(names) {
        w.write_symbol(&Sym {
            name: Some(name),
            section: Some(if section == 1 { text_index } else { data_index }),
            st_info: elf::STB_GLOBAL << 4 | kind,
            st_other: 0,
            st_shndx: 0,
            st_value,
            st_size: 0,
        });
    }
    w.write_strtab();
    w.write_shstrtab();
    w.write_null_section_header();
    for (name, flags, sh_addr, at, len) in [
        (
            text_name,
            elf::SHF_EXECINSTR,
            IMAGE_TEXT,
            text_at,
            text.len(),
        ),
        (data_name, elf::SHF_WRITE, IMAGE_DATA, data_at, data.len()),
    ] {
        w.write_section_header(&SectionHeader {
            name: Some(name),
            sh_type: elf::SHT_PROGBITS,
            sh_flags: u64::from(flags | elf::SHF_ALLOC),
            sh_addr,
            sh_offset: at as u64,
            sh_size: len as u64,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: 16,
            sh_entsize: 0,
        });
    }
    w.write_symtab_section_header(1);
    w.write_strtab_section_header();
    w.write_shstrtab_section_header();
    out
}

/// Every builder above that makes a relocatable file, with whether it is Rust code.
pub fn objects() -> Vec<(&'static str, Vec<u8>, bool)> {
    vec![
        ("c_object", c_object(), false),
        ("rust_object", rust_object(), true),
        ("padded_object", padded_object(), true),
        ("weak_object", weak_object(), false),
        ("group_object", group_object(), false),
    ]
}

/// A file as text: sections, symbols, relocations, and the bytes of code, lists and groups.
pub fn dump(data: &[u8]) -> String {
    let mut out = String::new();
    let header = elf::FileHeader64::<LittleEndian>::parse(data).unwrap();
    let sections = header.sections(LE, data).unwrap();
    let symbols = sections.symbols(LE, data, elf::SHT_SYMTAB).unwrap();
    let name = |index: usize| {
        let section = sections.section(object::SectionIndex(index)).unwrap();
        String::from_utf8_lossy(sections.section_name(LE, section).unwrap()).into_owned()
    };
    for (index, section) in sections.enumerate().skip(1) {
        let (kind, flags) = describe(section);
        writeln!(
            out,
            "[{}] {} {kind} {flags} size={:#x} link={} info={}",
            index.0,
            name(index.0),
            section.sh_size(LE),
            section.sh_link(LE),
            section.sh_info(LE),
        )
        .unwrap();
        let bytes = section.data(LE, data).unwrap();
        let shown = flags.contains('A') || kind == "GROUP";
        for line in bytes.chunks(16).filter(|_| shown) {
            let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(out, "    {}", hex.join(" ")).unwrap();
        }
        for rela in section
            .rela(LE, data)
            .unwrap()
            .map_or(&[][..], |(rela, _)| rela)
        {
            let symbol = symbols.symbol(rela.symbol(LE, false).unwrap_or(object::SymbolIndex(0)));
            writeln!(
                out,
                "    {:#x}: type {} {} {:+}",
                rela.r_offset(LE),
                rela.r_type(LE, false),
                symbol_name(&name, symbol.unwrap(), |s| symbols
                    .symbol_name(LE, s)
                    .unwrap()),
                rela.r_addend(LE),
            )
            .unwrap();
        }
    }
    for (index, symbol) in symbols.enumerate().skip(1) {
        writeln!(
            out,
            "({}) {} bind={} type={} section={} value={:#x}",
            index.0,
            symbol_name(&name, symbol, |s| symbols.symbol_name(LE, s).unwrap()),
            symbol.st_bind(),
            symbol.st_type(),
            symbol.st_shndx(LE),
            symbol.st_value(LE),
        )
        .unwrap();
    }
    out
}

fn describe(section: &SectionHeader64<LittleEndian>) -> (String, String) {
    let kind = match section.sh_type(LE) {
        elf::SHT_PROGBITS => "PROGBITS".into(),
        elf::SHT_SYMTAB => "SYMTAB".into(),
        elf::SHT_STRTAB => "STRTAB".into(),
        elf::SHT_RELA => "RELA".into(),
        elf::SHT_GROUP => "GROUP".into(),
        other => format!("{other:#x}"),
    };
    let flags: String = [
        (elf::SHF_WRITE, 'W'),
        (elf::SHF_ALLOC, 'A'),
        (elf::SHF_EXECINSTR, 'X'),
        (elf::SHF_INFO_LINK, 'I'),
        (elf::SHF_GROUP, 'G'),
    ]
    .into_iter()
    .filter(|&(bit, _)| section.sh_flags(LE) & u64::from(bit) != 0)
    .map(|(_, letter)| letter)
    .collect();
    (kind, if flags.is_empty() { "-".into() } else { flags })
}

fn symbol_name<'d>(
    section: &dyn Fn(usize) -> String,
    symbol: &'d Sym64<LittleEndian>,
    name: impl Fn(&'d Sym64<LittleEndian>) -> &'d [u8],
) -> String {
    if symbol.st_type() == elf::STT_SECTION {
        return section(symbol.st_shndx(LE) as usize);
    }
    String::from_utf8_lossy(name(symbol)).into_owned()
}

/// Compares with `tests/golden/NAME.txt`; `UPDATE_GOLDEN=1` in the environment writes it anew.
pub fn check_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert_eq!(golden, text, "differs from {}", path.display());
}
