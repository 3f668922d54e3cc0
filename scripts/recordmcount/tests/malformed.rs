// SPDX-License-Identifier: GPL-2.0

//! Files that are not what they should be: a clear error, never a panic.

mod common;

use common::*;
use object::elf;
use recordmcount::{annotate, list, prune_image, prune_module};

/// All that can be done to a file's bytes; only panics and endless loops fail here.
fn do_everything(data: &[u8]) {
    for entries in [false, true] {
        if let Ok(Some((new, _))) = annotate(data, entries) {
            let _ = annotate(&new, entries);
            let _ = list(&new[..]);
            let _ = prune_module(&new);
        }
    }
    let _ = prune_module(data);
    let _ = prune_image(data);
    let _ = list(data);
}

fn every_file() -> Vec<Vec<u8>> {
    let mut files: Vec<Vec<u8>> = objects().into_iter().map(|(_, data, _)| data).collect();
    files.push(module());
    files.push(image(&IMAGE_SITES));
    files
}

#[test]
fn truncated_at_every_byte() {
    for (name, data, entries) in objects() {
        for len in 0..data.len() {
            let error =
                annotate(&data[..len], entries).expect_err(&format!("{name} cut to {len} bytes"));
            assert!(!error.message.is_empty());
        }
    }
    for data in every_file() {
        for len in 0..data.len() {
            do_everything(&data[..len]);
        }
    }
}

/// A small generator (xorshift), so that a failure repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

#[test]
fn flipped_bits_and_odd_numbers() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for data in every_file() {
        for _ in 0..3000 {
            let mut bad = data.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bad.len());
                match random.below(3) {
                    0 => bad[at] ^= 1 << random.below(8),
                    1 => bad[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
                    _ => {
                        let end = (at + 8).min(bad.len());
                        bad[at..end].fill([0, 0xff][random.below(2)]);
                    }
                }
            }
            do_everything(&bad);
        }
    }
}

/// `annotate` must fail with exactly this message.
fn refused(data: &[u8], entries: bool, message: &str) {
    assert_eq!(annotate(data, entries).unwrap_err().to_string(), message);
}

fn with_byte(mut data: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    data[at] = byte;
    data
}

#[test]
fn other_kinds_of_files() {
    let data = c_object();
    refused(b"", false, "<header>+0x0: not an ELF file: too short");
    refused(
        b"!<arch>\nkernel/built-in.a/",
        false,
        "<header>+0x0: not an ELF file",
    );
    let bitcode = b"BC\xc0\xde\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    refused(
        bitcode,
        false,
        "<header>+0x0: LLVM bitcode, not an ELF file",
    );
    refused(
        &with_byte(data.clone(), 4, 1),
        false,
        "<header>+0x4: ELF class 1 is not 64-bit",
    );
    refused(
        &with_byte(data.clone(), 5, 2),
        false,
        "<header>+0x5: byte order 2 is not little-endian",
    );
    refused(
        &with_byte(data.clone(), 18, 183),
        false,
        "<header>+0x12: machine 183 is not x86-64",
    );
    refused(
        &with_byte(data, 16, 2),
        false,
        "<header>+0x10: unexpected ELF file type 2",
    );
}

/// An object with one function and a relocation of `__fentry__` made as told.
fn one_reference(parts: &[&[u8]], at: u64, r_type: u32, addend: i64) -> Vec<u8> {
    let mut b = Builder::new();
    let text = b.code(".text");
    b.function(text, "f", parts, Binding::Global);
    b.relocate(text, at, b.fentry(), r_type, addend);
    b.write()
}

#[test]
fn calls_that_are_none() {
    let call: &[u8] = &[0xe8, 0, 0, 0, 0, 0xc3];
    let jump: &[u8] = &[0xe9, 0, 0, 0, 0, 0xc3];
    let plt = elf::R_X86_64_PLT32;
    for (file, message) in [
        (
            one_reference(&[jump], 1, plt, -4),
            ".text+0x1: __fentry__ is reached by opcode 0xe9, not by a call",
        ),
        (
            one_reference(&[call], 1, plt, 0),
            ".text+0x1: a call of __fentry__ has the addend 0, not -4",
        ),
        (
            one_reference(&[call], 0, plt, -4),
            ".text+0x0: the relocation of a call of __fentry__ is not inside the section",
        ),
        (
            one_reference(&[call], 3, plt, -4),
            ".text+0x3: the relocation of a call of __fentry__ is not inside the section",
        ),
        (
            one_reference(&[call], 1, elf::R_X86_64_GOTPCREL, -4),
            ".text+0x1: __fentry__ is referred to by a relocation of type 9",
        ),
    ] {
        refused(&file, false, message);
    }
    // The address of the function, relative to the instruction that takes it.
    let lea: &[u8] = &[0x48, 0x8d, 0x05, 0, 0, 0, 0, 0xc3];
    assert_eq!(
        annotate(&one_reference(&[lea], 3, elf::R_X86_64_PC32, -4), false),
        Ok(None)
    );
}

#[test]
fn one_call_recorded_twice() {
    let mut b = Builder::new();
    let text = b.code(".text");
    b.function(text, "f", &[CALL, RET], Binding::Global);
    b.relocate(text, 1, b.fentry(), elf::R_X86_64_PLT32, -4);
    refused(
        &b.write(),
        false,
        ".text+0x0: the same site is recorded twice",
    );
}

#[test]
fn entries_that_are_none() {
    let make = |parts: &[&[u8]], offsets: &[u64]| {
        let mut b = Builder::new();
        let text = b.code(".text");
        b.function(text, "f", parts, Binding::Global);
        b.entries(text, offsets);
        b.write()
    };
    refused(
        &make(&[&[0x55], RET], &[0]),
        true,
        ".text+0x0: a patchable function entry is neither a 5-byte NOP nor padding",
    );
    refused(
        &make(&[LLVM_NOP5], &[64]),
        true,
        ".text+0x40: a patchable function entry is neither a 5-byte NOP nor padding",
    );

    let mut b = Builder::new();
    let data = b
        .object
        .add_section(Vec::new(), b".data".to_vec(), object::SectionKind::Data);
    b.object.append_section_data(data, LLVM_NOP5, 8);
    b.entries(data, &[0]);
    refused(
        &b.write(),
        true,
        "__patchable_function_entries+0x0: an entry does not point into code",
    );

    let mut b = Builder::new();
    let text = b.code(".text");
    b.function(text, "f", &[LLVM_NOP5, RET], Binding::Global);
    let list = b.entries(text, &[0]);
    b.object.append_section_data(list, &[0; 8], 8);
    refused(
        &b.write(),
        true,
        "__patchable_function_entries+0x0: 16 bytes of entries have 1 relocations",
    );
}

#[test]
fn a_table_that_lacks_a_site() {
    let mut b = Builder::new();
    let text = b.code(".text");
    b.function(text, "f", &[CALL, RET], Binding::Global);
    b.list("__mcount_loc", text, &[0]);
    refused(
        &b.write(),
        false,
        ".text+0x0: a site that the object's __mcount_loc section cannot know of",
    );
}

#[test]
fn linked_files_that_are_wrong() {
    let refused = |data: &[u8], message: &str| {
        assert_eq!(prune_image(data).unwrap_err().to_string(), message);
    };
    refused(&image(&[]), ".init.data+0x10: the table of sites is empty");
    refused(
        &image(&[IMAGE_TEXT + 0x10]),
        ".init.data+0x10: no site is at a function",
    );
    refused(
        &image(&[IMAGE_TEXT, 0]),
        ".init.data+0x18: an address is 0: in a dynamic relocation, or dropped by another tool",
    );
    // A site that is still a call.
    let mut data = image(&IMAGE_SITES);
    let at = data.windows(5).position(|bytes| bytes == NOP5).unwrap();
    data[at] = 0xe8;
    refused(&data, ".text+0x0: a recorded site is not the 5-byte NOP");

    let mut b = Builder::new();
    let text = b.code(".text");
    b.function(text, "f", &[CALL, RET], Binding::Global);
    b.list("__mcount_loc", text, &[0]);
    assert_eq!(
        prune_module(&b.write()).unwrap_err().to_string(),
        ".text+0x0: a recorded site is not the 5-byte NOP"
    );
}
