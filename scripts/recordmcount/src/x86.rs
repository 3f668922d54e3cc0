// SPDX-License-Identifier: GPL-2.0

//! The few instructions of x86-64 that a patch site is made of.
//!
//! Byte sequences answer to `arch/x86/include/asm/nops.h` and to what clang and rustc emit.

/// `endbr64`, which precedes a site where the kernel is built for indirect branch tracking.
pub const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// The kernel's 5-byte NOP, `nopl 0(%rax,%rax,1)`: what a site holds when it is off.
pub const NOP5: [u8; 5] = [0x0f, 0x1f, 0x44, 0x00, 0x00];

/// LLVM's 5-byte NOP, `nopl 8(%rax,%rax,1)`: a patchable function entry as compiled.
pub const LLVM_NOP5: [u8; 5] = [0x0f, 0x1f, 0x44, 0x00, 0x08];

/// The 1-byte NOP that padding before a function is filled with.
pub const NOP1: u8 = 0x90;

/// Opcode of `call rel32`; the displacement, and so the relocation, follows it.
pub const CALL: u8 = 0xe8;

/// The addend of the relocation of a `call rel32`, which counts from the instruction's end.
pub const CALL_ADDEND: i64 = -4;

/// Length of a `call rel32` and of a site, in bytes.
pub const SITE_LEN: usize = 5;

/// The site of a patchable function entry that `text` has at `entry`, and whether padding precedes
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The function starts at the entry; its site is at this offset into the text.
    Function(usize),
    /// The entry is at the function's padding; behind it the site is at this offset.
    Padded(usize),
    /// The entry has padding only: a function that is not traced.
    PaddingOnly,
}

/// Reads the patchable function entry at `entry`; `None` where there is neither a NOP nor padding.
pub fn patchable_entry(text: &[u8], entry: usize) -> Option<Entry> {
    let rest = text.get(entry..)?;
    let padding = rest.iter().take_while(|&&byte| byte == NOP1).count();
    let function = &rest[padding..];
    let endbr = if function.starts_with(&ENDBR64) {
        ENDBR64.len()
    } else {
        0
    };
    let code = &function[endbr..];
    let nop = code.starts_with(&LLVM_NOP5) || (padding == 0 && code.starts_with(&NOP5));
    let site = entry + padding + endbr;

    match (nop, padding) {
        (true, 0) => Some(Entry::Function(site)),
        (true, _) => Some(Entry::Padded(site)),
        (false, 0) => None,
        (false, _) => Some(Entry::PaddingOnly),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn entry_at_the_function() {
        let text = bytes(&[&[0xc3], &LLVM_NOP5, &[0xc3]]);
        assert_eq!(patchable_entry(&text, 1), Some(Entry::Function(1)));
        let text = bytes(&[&ENDBR64, &LLVM_NOP5, &[0xc3]]);
        assert_eq!(patchable_entry(&text, 0), Some(Entry::Function(4)));
        assert_eq!(patchable_entry(&text, 4), Some(Entry::Function(4)));
    }

    #[test]
    fn entry_at_the_padding() {
        let text = bytes(&[&[NOP1; 16], &ENDBR64, &LLVM_NOP5, &[0xc3]]);
        assert_eq!(patchable_entry(&text, 0), Some(Entry::Padded(20)));
        let text = bytes(&[&[NOP1; 16], &[0x55, 0xc3]]);
        assert_eq!(patchable_entry(&text, 0), Some(Entry::PaddingOnly));
        // A static branch that is off at a function's start is not a site.
        let text = bytes(&[&[NOP1; 16], &NOP5, &[0xc3]]);
        assert_eq!(patchable_entry(&text, 0), Some(Entry::PaddingOnly));
    }

    #[test]
    fn entry_elsewhere() {
        assert_eq!(patchable_entry(&[0x55, 0xc3], 0), None);
        assert_eq!(patchable_entry(&LLVM_NOP5[..4], 0), None);
        assert_eq!(patchable_entry(&LLVM_NOP5, 5), None);
        assert_eq!(patchable_entry(&LLVM_NOP5, 6), None);
    }
}
