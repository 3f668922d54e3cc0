// SPDX-License-Identifier: GPL-2.0

//! Encoders for the three instructions that a patch site can hold: a 5-byte NOP, a call, a jump.
//!
//! Plain functions on addresses and bytes, built into the kernel and, as crate `rtrace-x86`, on the
//! host, where the tests at the end run.

#![cfg_attr(not(CONFIG_RTRACE), no_std)]

#[cfg(all(test, not(CONFIG_RTRACE)))]
extern crate std;

/// Bytes of a patch site.
pub const SITE_SIZE: usize = 5;

/// The instruction at a patch site.
pub type Insn = [u8; SITE_SIZE];

/// The NOP that a site holds when it is off: the kernel's `x86_nops[5]`, the one that text patching
/// can emulate.
pub const NOP: Insn = [0x0f, 0x1f, 0x44, 0x00, 0x00];

/// The NOP that rustc puts at a function's entry with `-Zpatchable-function-entry=5`.
pub const RUSTC_NOP: Insn = [0x0f, 0x1f, 0x44, 0x00, 0x08];

/// Where an indirect branch may go: `endbr64`.
const ENDBR: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// The NOP that the kernel puts in its place where no indirect branch goes (`gen_endbr_poison()`).
const SEALED: [u8; 4] = [0x0f, 0x1f, 0x40, 0xd6];

const CALL: u8 = 0xe8;
const JMP: u8 = 0xe9;
const RET: u8 = 0xc3;
const INT3: u8 = 0xcc;

/// Whether it is a NOP as a compiler or `recordmcount` leaves it.
pub fn is_nop(insn: &Insn) -> bool {
    *insn == NOP || *insn == RUSTC_NOP
}

/// `call target` at `at`; `None` when `target` is further than a signed 32-bit displacement
/// reaches.
pub fn call(at: usize, target: usize) -> Option<Insn> {
    relative(CALL, at, target)
}

/// `jmp target` at `at`; `None` as for [`call`].
pub fn jmp(at: usize, target: usize) -> Option<Insn> {
    relative(JMP, at, target)
}

/// A return at `at`, as long as a jump: by way of the return thunk at `thunk`, or at once where that
/// is 0. `None` as for [`call`].
pub fn ret(at: usize, thunk: usize) -> Option<Insn> {
    if thunk == 0 {
        Some([RET, INT3, INT3, INT3, INT3])
    } else {
        jmp(at, thunk)
    }
}

/// The target of the call that `insn` would be at `at`; `None` when it is no call.
pub fn call_target(at: usize, insn: &Insn) -> Option<usize> {
    let [CALL, d0, d1, d2, d3] = *insn else {
        return None;
    };
    let disp = i32::from_le_bytes([d0, d1, d2, d3]) as isize;
    Some(at.wrapping_add(SITE_SIZE).wrapping_add_signed(disp))
}

/// How many bytes at the start of a function mean something to indirect branches alone, so that a
/// call can leave them out; `start` is what the function begins with.
pub fn indirect_prefix(start: &Insn) -> usize {
    let [start @ .., _] = start;
    if *start == ENDBR || *start == SEALED {
        ENDBR.len()
    } else {
        0
    }
}

fn relative(opcode: u8, at: usize, target: usize) -> Option<Insn> {
    let next = at.wrapping_add(SITE_SIZE);
    let disp = i32::try_from(target.wrapping_sub(next) as isize).ok()?;
    let [d0, d1, d2, d3] = disp.to_le_bytes();
    Some([opcode, d0, d1, d2, d3])
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;

    const TEXT: usize = 0xffff_ffff_8100_0000;
    const MODULE: usize = 0xffff_ffff_c000_0000;

    #[test]
    fn forward_and_backward_calls() {
        assert_eq!(call(TEXT, TEXT + 5), Some([0xe8, 0, 0, 0, 0]));
        assert_eq!(call(TEXT, TEXT), Some([0xe8, 0xfb, 0xff, 0xff, 0xff]));
        assert_eq!(call(TEXT, TEXT + 0x105), Some([0xe8, 0, 1, 0, 0]));
        assert_eq!(jmp(TEXT, TEXT + 0x105), Some([0xe9, 0, 1, 0, 0]));
    }

    #[test]
    fn reach_ends_where_the_displacement_does() {
        let next = TEXT + SITE_SIZE;
        let far = i32::MAX as usize;
        assert!(call(TEXT, next.wrapping_add(far)).is_some());
        assert_eq!(call(TEXT, next.wrapping_add(far + 1)), None);
        assert!(call(TEXT, next - far - 1).is_some());
        assert_eq!(call(TEXT, next - far - 2), None);
        assert_eq!(call(TEXT, 0xffff_8880_0000_0000), None);
    }

    #[test]
    fn a_call_decodes_to_its_target() {
        for (at, target) in [
            (TEXT, MODULE),
            (MODULE, TEXT),
            (TEXT, TEXT),
            (TEXT + 3, TEXT + 8),
        ] {
            let insn = call(at, target).unwrap();
            assert_eq!(call_target(at, &insn), Some(target));
            assert_eq!(call_target(at, &jmp(at, target).unwrap()), None);
        }
        assert_eq!(call_target(TEXT, &NOP), None);
    }

    #[test]
    fn a_return_goes_by_its_thunk_if_there_is_one() {
        assert_eq!(ret(TEXT, 0), Some([0xc3, 0xcc, 0xcc, 0xcc, 0xcc]));
        assert_eq!(ret(MODULE, TEXT), jmp(MODULE, TEXT));
        assert_eq!(ret(TEXT, 0xffff_8880_0000_0000), None);
    }

    #[test]
    fn a_call_leaves_out_what_is_for_indirect_branches() {
        assert_eq!(indirect_prefix(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55]), 4);
        assert_eq!(indirect_prefix(&[0x0f, 0x1f, 0x40, 0xd6, 0xe8]), 4);
        // `endbr32`, a site without a prefix, and a function that begins otherwise.
        assert_eq!(indirect_prefix(&[0xf3, 0x0f, 0x1e, 0xfb, 0x55]), 0);
        assert_eq!(indirect_prefix(&NOP), 0);
        assert_eq!(indirect_prefix(&[0x55, 0xf3, 0x0f, 0x1e, 0xfa]), 0);
    }

    #[test]
    fn only_five_byte_nops_are_off() {
        assert!(is_nop(&NOP) && is_nop(&RUSTC_NOP));
        assert!(!is_nop(&call(TEXT, MODULE).unwrap()));
        assert!(!is_nop(&[0x90; SITE_SIZE]));
        assert!(
            !is_nop(&[0xcc, 0x1f, 0x44, 0x00, 0x00]),
            "a site that is being patched"
        );
    }
}
