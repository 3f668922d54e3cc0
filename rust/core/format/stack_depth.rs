// SPDX-License-Identifier: GPL-2.0

//! `stack_trace`: the deepest measured stack, function by function.

use super::symbol::Symbols;
use super::Out;
use core::fmt;

/// The text above the rows while the stack tracer is off and has measured nothing.
const OFF: &[u8] = b"\
#\n\
#  Stack tracer disabled\n\
#\n\
# To enable the stack tracer, either add 'stacktrace' to the\n\
# kernel command line\n\
# or 'echo 1 > /proc/sys/kernel/stack_tracer_enabled'\n\
#\n";

/// Writes the text above `count` rows. `off` means that nothing was measured and the stack tracer
/// is off.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_header(out: &mut dyn Out, count: usize, off: bool) -> fmt::Result {
    writeln!(out, "        Depth    Size   Location    ({count} entries)")?;
    out.bytes(b"        -----    ----   --------\n")?;
    if off {
        out.bytes(OFF)?;
    }
    Ok(())
}

/// Writes row `index`. The stack is `depth` bytes deep at the return address `call`. `beyond` is
/// the depth of the next row, which is its caller's.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_row(
    out: &mut dyn Out,
    symbols: &dyn Symbols,
    index: usize,
    (call, depth): (usize, usize),
    beyond: usize,
) -> fmt::Result {
    let size = depth.saturating_sub(beyond);
    write!(out, "{index:3}) {depth:8}   {size:5}   ")?;
    if !symbols.write_symbol(call, true, out)? {
        write!(out, "0x{call:x}")?;
    }
    out.bytes(b"\n")
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::{text, Names};
    use super::*;

    #[test]
    fn rows() {
        let row = |index, row, beyond| text(|out| write_row(out, &Names, index, row, beyond));
        assert_eq!(
            row(0, (0x1004, 1200), 1152),
            "  0)     1200      48   vfs_read+0x4/0x190\n"
        );
        assert_eq!(
            row(12, (0x2010, 8), 0),
            " 12)        8       8   ksys_read+0x10/0x190\n"
        );
        assert_eq!(row(1, (0x77, 8), 0), "  1)        8       8   0x77\n");
    }

    #[test]
    fn headers() {
        let header = text(|out| write_header(out, 37, false));
        assert_eq!(
            header,
            "        Depth    Size   Location    (37 entries)\n        -----    ----   --------\n"
        );
        let off = text(|out| write_header(out, 0, true));
        assert!(off.contains("(0 entries)\n") && off.ends_with("--------\n#\n#  Stack tracer disabled\n#\n# To enable the stack tracer, either add 'stacktrace' to the\n# kernel command line\n# or 'echo 1 > /proc/sys/kernel/stack_tracer_enabled'\n#\n"));
    }
}
