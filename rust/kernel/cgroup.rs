// SPDX-License-Identifier: GPL-2.0

//! Cgroups.
//!
//! C header: `include/linux/cgroup.h`.

use crate::core::parse::parser::until_nul;
use kernel::bindings;

/// The longest path that is given, with its NUL.
const LONGEST: usize = 256;

/// Gives `f` the path of the cgroup with the number `id`; `<...>` if there is none. Any context but NMI
/// and hard interrupts.
pub(crate) fn with_path<R>(id: u64, f: impl FnOnce(&[u8]) -> R) -> R {
    let mut path = [0u8; LONGEST];
    for (place, letter) in path.iter_mut().zip(b"<...>") {
        *place = *letter;
    }
    // SAFETY: `path` has so much room; a string is put there, or it stays as it is.
    unsafe { bindings::cgroup_path_from_kernfs_id(id, path.as_mut_ptr().cast(), path.len()) };
    f(until_nul(&path))
}
