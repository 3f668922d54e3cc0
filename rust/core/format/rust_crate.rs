// SPDX-License-Identifier: GPL-2.0

//! The crates that mangled names of Rust functions have in them. `scripts/inlined` has this file, too.

/// Whether a mangled name (`_R…`) has the crate `name` in it: as its own, as that of a type in it, or
/// as that which it was made for.
pub fn names_crate(symbol: &[u8], name: &[u8]) -> bool {
    symbol
        .windows(name.len().max(1))
        .enumerate()
        .filter(|(_, part)| *part == name)
        .any(|(at, _)| {
            symbol
                .get(..at)
                .is_some_and(|before| is_crate_root(before, name.len()))
        })
}

/// Whether an identifier of `len` bytes after `before` is the name of a crate: a `C`, then `s`, a
/// number in base 62 and `_` if there is one, then the identifier's length.
fn is_crate_root(before: &[u8], len: usize) -> bool {
    let digits = before
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (root, digits) = before.split_at(before.len().wrapping_sub(digits));
    let number = core::str::from_utf8(digits)
        .ok()
        .and_then(|d| d.parse().ok());
    if number != Some(len) {
        return false;
    }
    match root {
        [.., b'C'] => true,
        [root @ .., b'_'] => root
            .rsplit(|byte| !byte.is_ascii_alphanumeric())
            .next()
            .is_some_and(|last| last.windows(2).any(|pair| pair == b"Cs")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates() {
        let names = |symbol: &str, name: &str| names_crate(symbol.as_bytes(), name.as_bytes());
        // Its own crate, with and without a number, that of a type, and that which it was made for.
        assert!(names("_RNvCs1EKtwoKEMO2_6kernel4init", "kernel"));
        assert!(names("_RNvC6kernel4init", "kernel"));
        assert!(names("_RNvCs_6kernel4init", "kernel"));
        let drop = "_RINvNtCs1pe_4core3ptr13drop_in_placeNtNtCs45Y_6rtrace5trace5LanesEBK_";
        assert!(names(drop, "core") && names(drop, "rtrace"));
        let made = "_RNvXs6_NtCs1EK_6kernel3fmtINtB5_7AdapterRyENtNtCs1pe_4core3fmt7Display3fmtCsdq_6rtrace";
        assert!(names(made, "rtrace") && names(made, "kernel"));
        // Modules, functions and longer names are none.
        assert!(!names("_RNvNtCs1_6kernel6rtrace4init", "rtrace"));
        assert!(!names("_RNvNtCs1_6kernels_6rtrace4init", "rtrace"));
        assert!(!names("_RNvCs1_15rtrace_function4init", "rtrace"));
        assert!(!names("_RNvCs1_10my6rtrace_4init", "rtrace"));
        assert!(!names("rtrace", "rtrace") && !names("", "rtrace") && !names("_RNvC1a1b", ""));
    }
}
