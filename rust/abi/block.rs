// SPDX-License-Identifier: GPL-2.0

//! What events of block devices call, of `include/linux/blktrace_api.h`.

use kernel::bindings;
use kernel::ffi::c_char;
use kernel::prelude::export;

/// What a request does, in the letters that block events and their readers have for it.
const OPERATIONS: [(bindings::req_op, &[u8]); 12] = [
    (bindings::req_op_REQ_OP_READ, b"R"),
    (bindings::req_op_REQ_OP_WRITE, b"W"),
    (bindings::req_op_REQ_OP_FLUSH, b"F"),
    (bindings::req_op_REQ_OP_DISCARD, b"D"),
    (bindings::req_op_REQ_OP_SECURE_ERASE, b"DE"),
    (bindings::req_op_REQ_OP_WRITE_ZEROES, b"WZ"),
    (bindings::req_op_REQ_OP_ZONE_APPEND, b"ZA"),
    (bindings::req_op_REQ_OP_ZONE_OPEN, b"ZO"),
    (bindings::req_op_REQ_OP_ZONE_CLOSE, b"ZC"),
    (bindings::req_op_REQ_OP_ZONE_FINISH, b"ZF"),
    (bindings::req_op_REQ_OP_ZONE_RESET, b"ZR"),
    (bindings::req_op_REQ_OP_ZONE_RESET_ALL, b"ZRA"),
];

/// Any other request.
const OTHER: &[u8] = b"N";

/// How it does it; these letters come last.
const FLAGS: [(bindings::req_flag_bits, u8); 5] = [
    (bindings::req_flag_bits___REQ_FUA, b'F'),
    (bindings::req_flag_bits___REQ_RAHEAD, b'A'),
    (bindings::req_flag_bits___REQ_SYNC, b'S'),
    (bindings::req_flag_bits___REQ_META, b'M'),
    (bindings::req_flag_bits___REQ_ATOMIC, b'U'),
];

/// The letters of a request.
fn letters(request: bindings::blk_opf_t) -> impl Iterator<Item = u8> {
    let has = move |bit: bindings::req_flag_bits| request & (1 << bit) != 0;
    let operation = request & ((1 << bindings::REQ_OP_BITS) - 1);
    let (_, text) = OPERATIONS
        .iter()
        .find(|(known, _)| *known == operation)
        .unwrap_or(&(0, OTHER));
    has(bindings::req_flag_bits___REQ_PREFLUSH)
        .then_some(b'F')
        .into_iter()
        .chain(text.iter().copied())
        .chain(
            FLAGS
                .iter()
                .filter_map(move |(bit, letter)| has(*bit).then_some(*letter)),
        )
}

/// Writes what the request `opf` does and how, in letters, with a NUL at the end. Any context.
///
/// # Safety
///
/// `rwbs` has room for the letters of `opf`, at most 9, and a NUL.
#[export]
pub(crate) unsafe extern "C" fn blk_fill_rwbs(rwbs: *mut c_char, opf: bindings::blk_opf_t) {
    let mut at = rwbs;
    for letter in letters(opf).chain([0]) {
        // SAFETY: the buffer has room for each of the letters and the NUL.
        unsafe {
            at.write(letter);
            at = at.add(1);
        }
    }
}
