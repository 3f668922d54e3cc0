// SPDX-License-Identifier: GPL-2.0

//! Names of Rust functions as people read them.
//!
//! A symbol such as `_RNvMNtCs1_6kernel6printkNtB2_4Line5write` is shown as the path that it stands
//! for, `<kernel::printk::Line>::write`. Both manglings are known: `_R…`, and the legacy `_ZN…17h…E`.
//! Hashes are left off. What follows a dot (`.llvm.123`, `.cold`) stays. Every other name is shown
//! as it is.
//!
//! A shown name is one word, for the files that are split at blanks: it consists of visible ASCII
//! characters. The blanks after `,` and `;` are left off, any other blank is a `~`: `<A~as~B>::f`.
//! A colon is always one of two, so that a single one can end the name.

use super::out::marks_of;
use core::fmt::{self, Write};

/// The most bytes of a shown name, as of a symbol. A longer one is shown as the symbol.
pub const LONGEST: usize = 511;

/// Memory for a shown name.
pub struct Room([u8; LONGEST]);

impl Room {
    /// Memory with nothing in it.
    pub const fn new() -> Self {
        Self([0; LONGEST])
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether `symbol` begins as a mangled name does. Most that do not are told by their first byte.
#[inline(always)]
pub const fn is_mangled(symbol: &[u8]) -> bool {
    matches!(
        symbol,
        [b'_', b'R', b'A'..=b'Z', ..] | [b'_', b'Z', b'N', b'0'..=b'9', ..]
    )
}

/// The path that `symbol` stands for. `None` if it is shown as it is: it is no mangled name, or
/// what it stands for is too long, is nested too deeply or has characters that are not ASCII.
///
/// It does not allocate, and calls nothing but the crate `rustc-demangle`. In the kernel that takes
/// up to [`STACK`] bytes of stack.
pub fn shown<'a>(symbol: &[u8], room: &'a mut Room) -> Option<&'a [u8]> {
    if !is_mangled(symbol) || !symbol.is_ascii() {
        return None;
    }
    let symbol = core::str::from_utf8(symbol).ok()?;
    // The crate would leave it off.
    let (stem, suffix) = match symbol.find(".llvm.") {
        Some(at) => symbol.split_at_checked(at)?,
        None => (symbol, ""),
    };
    if stem.starts_with("_Z") && !has_hash(stem.as_bytes()) {
        return None;
    }
    let name = rustc_demangle::try_demangle(stem).ok()?;
    let mut word = Word {
        room: &mut room.0,
        len: 0,
        last: 0,
    };
    write!(word, "{name:#}{suffix}").ok()?;
    let len = word.finish()?;
    let text = room.0.get(..len)?;
    // The crate says so in the text if it finds this late.
    let refused = |said: &[u8]| text.windows(said.len()).any(|part| part == said);
    let is_whole = !refused(b"{recursion~limit~reached}") && !refused(b"{invalid~syntax}");
    is_whole.then_some(text)
}

/// A part of a text, see [`parts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// No mangled name.
    Text(&'a [u8]),
    /// A word that [is mangled](is_mangled), up to an offset or a blank.
    Name(&'a [u8]),
}

/// The parts of `text`, in which symbols are printed: the mangled names, and what is between them.
pub fn parts(text: &[u8]) -> impl Iterator<Item = Part<'_>> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$');
    let mut rest = text;
    let may_have_name = may_have_name(text);
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if !may_have_name {
            return Some(Part::Text(core::mem::take(&mut rest)));
        }
        let mut at = 0;
        while let Some(from) = rest.get(at..).filter(|from| !from.is_empty()) {
            let word = from.iter().take_while(|byte| is_of_name(byte)).count();
            let (name, behind) = from.split_at(word);
            if is_mangled(name) {
                let (before, _) = rest.split_at(at);
                if !before.is_empty() {
                    rest = from;
                    return Some(Part::Text(before));
                }
                rest = behind;
                return Some(Part::Name(name));
            }
            at = at.wrapping_add(word).wrapping_add(1);
        }
        Some(Part::Text(core::mem::take(&mut rest)))
    })
}

/// False if no mangled name begins in `text`. Most texts have none, and to look at each word of them takes
/// ten times as long.
fn may_have_name(text: &[u8]) -> bool {
    let begins = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        matches!((before, text.get(at)), (Some(b'_'), Some(b'R' | b'Z')))
    };
    let mut rest = text;
    while let Some((word, behind)) = rest.split_first_chunk() {
        let start = text.len().wrapping_sub(rest.len());
        let marks = marks_of(*word, b'R') | marks_of(*word, b'Z');
        if marks != 0 && (start..start.wrapping_add(word.len())).any(begins) {
            return true;
        }
        rest = behind;
    }
    (text.len().wrapping_sub(rest.len())..text.len()).any(begins)
}

/// Whether a `print fmt` has a conversion that prints a symbol: `%ps`, `%pS`, `%pB`.
pub fn prints_symbols(print_fmt: &[u8]) -> bool {
    print_fmt
        .windows(3)
        .any(|part| matches!(part, [b'%', b'p', b's' | b'S' | b'B']))
}

/// Room on the stack that [`shown`] may take in the kernel: the crate goes 16 levels deep
/// (`patches/0200-rustc-demangle-depth.patch`), each of up to 500 bytes.
pub const STACK: usize = 9 * 1024 + 768;

/// Whether a legacy name ends with the hash that only Rust's have.
fn has_hash(name: &[u8]) -> bool {
    const MARK: &[u8] = b"17h";
    const HASH: usize = 16;
    let ends = |part: &[u8]| {
        let (digits, end) = part.split_at_checked(HASH).unwrap_or((&[], part));
        !digits.is_empty()
            && digits.iter().all(u8::is_ascii_hexdigit)
            && matches!(end, [b'E'] | [b'E', b'.', ..])
    };
    name.windows(MARK.len())
        .enumerate()
        .filter(|(_, part)| *part == MARK)
        .any(|(at, _)| name.get(at.wrapping_add(MARK.len())..).is_some_and(ends))
}

/// Collects text and makes it one word.
struct Word<'a> {
    room: &'a mut [u8; LONGEST],
    len: usize,
    /// The byte that was last taken; 0 after a pair of colons.
    last: u8,
}

impl Word<'_> {
    fn put(&mut self, byte: u8) -> fmt::Result {
        *self.room.get_mut(self.len).ok_or(fmt::Error)? = byte;
        self.len = self.len.wrapping_add(1);
        Ok(())
    }

    fn take(&mut self, byte: u8) -> fmt::Result {
        // A colon alone is known when the next byte comes.
        if self.last == b':' && byte != b':' {
            self.end_colon()?;
        }
        match byte {
            b' ' if matches!(self.last, b',' | b';') => {}
            b' ' => self.put(b'~')?,
            b'!'..=b'~' => self.put(byte)?,
            _ => return Err(fmt::Error),
        }
        self.last = match (self.last, byte) {
            (b':', b':') => 0,
            _ => byte,
        };
        Ok(())
    }

    /// The colon that was the last byte is no part of a pair: `{shim:vtable#0}`.
    fn end_colon(&mut self) -> fmt::Result {
        let at = self.len.checked_sub(1).ok_or(fmt::Error)?;
        *self.room.get_mut(at).ok_or(fmt::Error)? = b'.';
        Ok(())
    }

    /// The length of the whole text; `None` if it is empty.
    fn finish(mut self) -> Option<usize> {
        if self.last == b':' {
            self.end_colon().ok()?;
        }
        Some(self.len).filter(|len| *len != 0)
    }
}

impl Write for Word<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| self.take(byte))
    }
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;

    fn show(symbol: &str) -> Option<String> {
        let mut room = Room::new();
        shown(symbol.as_bytes(), &mut room).map(|name| String::from_utf8(name.into()).unwrap())
    }

    #[test]
    fn paths() {
        for (symbol, name) in [
            (
                "_RNvMNtCshash_6kernel6printkNtB2_4Line5write",
                "<kernel::printk::Line>::write",
            ),
            ("_RNvCs1_6kernel4init", "kernel::init"),
            // A trait's function for a type.
            (
                "_RNvXs_Cs1_3fooNtB4_3BarNtNtCs2_4core3fmt7Display3fmt",
                "<foo::Bar~as~core::fmt::Display>::fmt",
            ),
            ("_RNCNvC3foo3run0", "foo::run::{closure#0}"),
            ("_RNSNvC3foo3run6vtable", "foo::run::{shim.vtable#0}"),
            ("_RINvC3foo3runmRShE", "foo::run::<u32,&[u8]>"),
            (
                "_RINvC3foo3runQAhj4_PmE",
                "foo::run::<&mut~[u8;4],*const~u32>",
            ),
            ("_RINvC3foo3runKj2a_E", "foo::run::<42>"),
            (
                "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
                "core::fmt::Formatter::pad",
            ),
            (
                "_ZN50_$LT$foo..Bar$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
                "<foo::Bar~as~core::ops::drop::Drop>::drop",
            ),
        ] {
            assert_eq!(show(symbol).as_deref(), Some(name), "{symbol}");
        }
    }

    #[test]
    fn suffixes_stay() {
        for suffix in [
            ".llvm.123",
            ".llvm.4D2A",
            ".cold",
            ".cold.llvm.1",
            ".constprop.0",
        ] {
            let name = format!("foo::run{suffix}");
            assert_eq!(show(&format!("_RNvC3foo3run{suffix}")), Some(name.clone()));
            let legacy = format!("_ZN3foo3run17h0123456789abcdefE{suffix}");
            assert_eq!(show(&legacy), Some(name));
        }
    }

    #[test]
    fn other_names_are_as_they_are() {
        for symbol in [
            "",
            "_",
            "_R",
            "_RNv",
            "_Raw",
            "_Z",
            "_ZN",
            "vfs_read",
            "_raw_spin_lock",
            "__SCT__x",
            "RNvC3foo3run",
            "__RNvC3foo3run",
            "_RNvC3foo4run",
            "_RNvC3foo3run$",
            "_RNvC3foo3run x",
            // C++, whose names have no such hash.
            "_ZN3foo3barE",
            "_ZN3foo3bar17h0123456789abcdeE",
            "_ZN3foo3bar18h0123456789abcdef0E",
            // Not ASCII.
            "_RNvC3foou8grn_5qaa",
            "_RNvC3foo3r\u{fc}n",
        ] {
            assert_eq!(show(symbol), None, "{symbol}");
        }
    }

    #[test]
    fn long_names_are_as_they_are() {
        let ident = "a".repeat(LONGEST - "c::".len());
        let longest = format!("_RNvC1c{}{ident}", ident.len());
        assert_eq!(show(&longest), Some(format!("c::{ident}")));
        assert_eq!(show(&format!("_RNvC1c{}{ident}a", ident.len() + 1)), None);
        // Short symbols can stand for long names.
        let mut nested = String::from("_RINvC1c1fTmm");
        for _ in 0..24 {
            nested.push_str("ETB7_B7_");
        }
        assert_eq!(show(&(nested + "EE")), None);
    }

    #[test]
    fn names_in_a_text() {
        let all = |text: &'static str| parts(text.as_bytes()).collect::<std::vec::Vec<_>>();
        assert_eq!(all(""), []);
        assert_eq!(all("no_Rust here _ZN"), [Part::Text(b"no_Rust here _ZN")]);
        assert_eq!(
            all("call_site=_RNvC1c1f+0x4/0x9 ptr=_RNvC1c1g.cold"),
            [
                Part::Text(b"call_site="),
                Part::Name(b"_RNvC1c1f"),
                Part::Text(b"+0x4/0x9 ptr="),
                Part::Name(b"_RNvC1c1g.cold"),
            ]
        );
        assert_eq!(
            all("_RNvC1c1f\n"),
            [Part::Name(b"_RNvC1c1f"), Part::Text(b"\n")]
        );
    }

    #[test]
    fn what_prints_symbols() {
        assert!(prints_symbols(b"\"site=%pS ptr=%p\", REC->a, REC->b"));
        assert!(prints_symbols(b"\"%ps\", REC->a"));
        assert!(!prints_symbols(b"\"ptr=%p s=%s\", REC->a, REC->b"));
    }

    proptest! {
        #[test]
        fn parts_are_the_text(text in "[ _RZNa.+=0-9]{0,40}") {
            let mut joined = std::vec::Vec::new();
            for part in parts(text.as_bytes()) {
                match part {
                    Part::Text(part) | Part::Name(part) => joined.extend_from_slice(part),
                }
            }
            prop_assert_eq!(joined, text.as_bytes());
        }
    }

    #[test]
    fn deep_names_are_as_they_are() {
        assert_eq!(show(&format!("_RINvC1c1f{}mE", "R".repeat(600))), None);
    }

    proptest! {
        #[test]
        fn always_one_word(tail in "[A-Za-z0-9_]{0,60}") {
            for symbol in [format!("_R{tail}"), format!("_RINvC3foo3run{tail}E"), format!("_ZN{tail}17h0123456789abcdefE")] {
                if let Some(name) = show(&symbol) {
                    prop_assert!(is_word(&name), "{symbol} {name}");
                }
            }
        }
    }

    fn is_word(name: &str) -> bool {
        let alone = name.replace("::", "").contains(':');
        !name.is_empty() && name.bytes().all(|c| c.is_ascii_graphic()) && !alone
    }
}
