// SPDX-License-Identifier: GPL-2.0

//! Lines of `printk_formats`. Tools use them to turn the addresses in bprint and bputs entries into
//! text.

use super::Out;
use core::fmt;

/// Writes the line of the format (or constant string) `text` at `addr`.
///
/// As in ftrace, a backslash is not escaped, so a tool cannot tell a backslash and an `n` from a
/// newline.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_line(out: &mut dyn Out, addr: usize, text: &[u8]) -> fmt::Result {
    write!(out, "{addr:#x} : \"")?;
    for byte in text {
        match byte {
            b'\n' => out.bytes(b"\\n")?,
            b'\t' => out.bytes(b"\\t")?,
            b'"' => out.bytes(b"\\\"")?,
            byte => out.bytes(&[*byte])?,
        }
    }
    out.bytes(b"\"\n")
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::text;
    use super::*;

    #[test]
    fn escapes() {
        let line = |text_: &[u8]| text(|out| write_line(out, 0xffff_ffff_8210_0a00, text_));
        assert_eq!(line(b"pid %d\n"), "0xffffffff82100a00 : \"pid %d\\n\"\n");
        assert_eq!(
            line(b"a\tb \"c\" d\\e"),
            "0xffffffff82100a00 : \"a\\tb \\\"c\\\" d\\e\"\n"
        );
        assert_eq!(line(b""), "0xffffffff82100a00 : \"\"\n");
    }
}
