// SPDX-License-Identifier: GPL-2.0

//! Which innermost frames of a stack are the tracing core's own.
//!
//! Only the name of a function tells that, and a look-up of a name costs more than a thousand
//! instructions. Therefore the answers are kept, a word each.

use crate::core::format::{rust_crate::names_crate, rust_name::is_mangled};
use crate::kernel::kallsyms::Symbol;
use kernel::sync::atomic::{Atomic, Relaxed};

/// The number of answers that are kept. A power of two. A probe has about eight own frames.
const KEPT: usize = 128;

/// Set in each address of kernel code. In a kept word it is the answer.
const OWN: usize = 1 << (usize::BITS - 1);

/// The answers: return addresses with [`OWN`] as the answer, 0 if there is none. An answer stays right.
/// Code of the core stays where it is, and no other code ever lies there.
static ANSWERS: [Atomic<usize>; KEPT] = [const { Atomic::new(0) }; KEPT];

/// The number of innermost frames in `calls` that are the tracing core's own. Any context.
pub(super) fn own_frames(calls: &[usize]) -> usize {
    let first = calls.iter().position(|call| !is_own(*call));
    first.unwrap_or(0)
}

/// Whether the return address `call` is in the core's own code.
fn is_own(call: usize) -> bool {
    let place = (call ^ (call >> 8)) % KEPT;
    let Some(kept) = ANSWERS.get(place) else {
        return false;
    };
    let word = kept.load(Relaxed);
    if word | OWN == call {
        return word & OWN != 0;
    }
    let own = has_own_name(call);
    let word = if own { call } else { call & !OWN };
    kept.store(word, Relaxed);
    own
}

/// Whether the function that the return address `call` is in has a name of the core's.
fn has_own_name(call: usize) -> bool {
    // A return address may be behind the end of its function.
    let own = Symbol::with(call.wrapping_sub(1), |symbol| {
        symbol.module().is_none()
            && is_mangled(symbol.name())
            && names_crate(symbol.name(), b"rtrace")
    });
    own == Some(true)
}
