// SPDX-License-Identifier: GPL-2.0

//! Formats beside libc's, and where the kernel's differ.

use core::ffi::{c_char, c_int, CStr};
use rtrace_core::format::printf::{hexadecimal, write, write_place, Arguments, Refused};
use rtrace_core::format::LineBuf;

/// An address that is not printed.
const UNSAID: usize = 99;

#[derive(Clone, Copy, Debug)]
enum Argument {
    Number(i64),
    Text(&'static CStr),
}

struct List<'a>(&'a [Argument]);

impl List<'_> {
    fn next(&mut self) -> Argument {
        let (first, rest) = self.0.split_first().expect("too few arguments");
        self.0 = rest;
        *first
    }
}

impl Arguments for List<'_> {
    fn int(&mut self) -> i32 {
        self.long() as i32
    }

    fn long(&mut self) -> i64 {
        match self.next() {
            Argument::Number(number) => number,
            Argument::Text(text) => text.as_ptr() as i64,
        }
    }

    fn text(&self, address: usize, most: Option<usize>) -> Option<&[u8]> {
        // SAFETY: numbers that texts are asked of are 0 here.
        let text = (address != 0).then(|| unsafe { CStr::from_ptr(address as *const c_char) })?;
        let text = text.to_bytes();
        Some(&text[..most.unwrap_or(text.len()).min(text.len())])
    }

    fn pointer(&self, address: usize, conversion: &[u8], room: &mut [u8]) -> Option<usize> {
        let text = format!("<{} {address:x}>", conversion.escape_ascii());
        let fits = text.len().min(room.len());
        room[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        (address != UNSAID).then_some(text.len())
    }
}

/// What the format makes of the arguments; `None` if it is not known.
fn made(format: &str, arguments: &[Argument]) -> Option<String> {
    let mut memory = [0; 256];
    let mut list = List(arguments);
    let length = match write(format.as_bytes(), &mut list, &mut memory) {
        Ok(length) => length,
        Err(refused) => {
            assert_eq!(refused, Refused::Unknown);
            return None;
        }
    };
    assert!(list.0.is_empty(), "{format}: arguments are left");
    // What is longer than the room is refused, at each length.
    for short in 0..length {
        let mut list = List(arguments);
        assert_eq!(
            write(format.as_bytes(), &mut list, &mut memory[..short]),
            Err(Refused::Full)
        );
    }
    write(
        format.as_bytes(),
        &mut List(arguments),
        &mut memory[..length],
    )
    .unwrap();
    Some(String::from_utf8(memory[..length].to_vec()).unwrap())
}

fn number(format: &str, number: i64) -> String {
    made(format, &[Argument::Number(number)]).unwrap()
}

extern "C" {
    fn snprintf(to: *mut c_char, size: usize, format: *const c_char, ...) -> c_int;
}

#[test]
fn numbers_are_as_libc_prints_them() {
    let values = [
        0,
        1,
        7,
        8,
        9,
        10,
        15,
        16,
        99,
        100,
        255,
        256,
        999,
        32767,
        32768,
        65535,
        99_999,
        100_000,
        1_234_567,
        2_147_483_647,
        2_147_483_648,
        4_294_967_295,
        4_294_967_296,
        999_999_999_999,
        i64::MAX,
        -1,
        -7,
        -128,
        -129,
        -32769,
        i64::MIN,
        -2_147_483_648,
    ];
    let sizes = ["", "hh", "h", "l", "ll", "z"];
    let flags = ["", "-", "0", "+", " ", "-+", "+0", " 0"];
    let widths = ["", "1", "4", "20", ".3", ".12", "9.4", "4.9"];
    for value in values {
        for (size, flag, width) in sizes
            .iter()
            .flat_map(|size| flags.map(|flag| widths.map(|width| (size, flag, width))))
            .flatten()
        {
            // libc leaves out zeros where there is a precision, the kernel does not.
            if flag.contains('0') && width.contains('.') {
                continue;
            }
            for letter in ["d", "i", "u", "x", "X", "o"] {
                // Only signed ones have signs.
                if !matches!(letter, "d" | "i") && flag.contains(['+', ' ']) {
                    continue;
                }
                let text = format!("<%{flag}{width}{size}{letter}>\0");
                let mut room = [0u8; 128];
                // SAFETY: the argument fits each of these formats.
                let length = unsafe {
                    snprintf(
                        room.as_mut_ptr().cast(),
                        room.len(),
                        text.as_ptr().cast(),
                        value,
                    )
                };
                let wanted = core::str::from_utf8(&room[..length as usize]).unwrap();
                assert_eq!(
                    number(text.trim_end_matches('\0'), value),
                    wanted,
                    "{text} of {value}"
                );
            }
        }
    }
}

#[test]
fn numbers_are_as_the_kernel_prints_them_where_libc_differs() {
    assert_eq!(number("%#x", 0), "0x0");
    assert_eq!(number("%#X", 0xab), "0XAB");
    assert_eq!(number("%#010x", 0xab), "0x000000ab");
    assert_eq!(number("%#-6x|", 0xab), "0xab  |");
    assert_eq!(number("%#o", 0), "0");
    assert_eq!(number("%#o", 8), "010");
    assert_eq!(number("%.0d", 0), "0");
    assert_eq!(number("%08.4d", 12), "00000012");
    assert_eq!(number("%#lx", -1), "0xffffffffffffffff");
    assert_eq!(number("%lo", -1), "1777777777777777777777");
}

#[test]
fn texts_and_letters() {
    let ab = [Argument::Text(c"ab")];
    for (format, wanted) in [
        ("%s", "ab"),
        ("%5s|", "   ab|"),
        ("%-5s|", "ab   |"),
        ("%.1s", "a"),
        ("%4.1s", "   a"),
        ("%.9s", "ab"),
        ("%.0s", ""),
    ] {
        assert_eq!(made(format, &ab).as_deref(), Some(wanted), "{format}");
    }
    let star =
        |width, format: &str| made(format, &[Argument::Number(width), Argument::Text(c"ab")]);
    assert_eq!(star(4, "%*s|").as_deref(), Some("  ab|"));
    assert_eq!(star(-4, "%*s|").as_deref(), Some("ab  |"));
    assert_eq!(star(1, "%.*s|").as_deref(), Some("a|"));
    // As none at all is printed of it.
    assert_eq!(star(-1, "%.*s|").as_deref(), Some("|"));
    assert_eq!(number("%c%%", 0x41), "A%");
    assert_eq!(number("%3c|%%", 0x41), "  A|%");
    assert_eq!(number("%-3c|", 0x141), "A  |");
    assert_eq!(made("nothing", &[]).as_deref(), Some("nothing"));
    assert_eq!(made("", &[]).as_deref(), Some(""));
}

#[test]
fn percent_signs_are_found_at_each_place() {
    for (before, behind) in (0..20).flat_map(|before| (0..20).map(move |behind| (before, behind))) {
        // One less than a percent sign, and one with the highest bit.
        let (before, behind) = ("$\u{a5}".repeat(before), "\u{25}%&".repeat(behind));
        let wanted = format!("{before}7{}", behind.replace("%%", "%"));
        assert_eq!(number(&format!("{before}%d{behind}"), 7), wanted);
    }
}

#[test]
fn pointers_are_handed_on_with_what_follows() {
    assert_eq!(number("at %p.", 16), "at <%p 10>.");
    assert_eq!(number("at %pS%%", 16), "at <%pS 10>%");
    assert_eq!(number("at %-18pISpc", 16), "at <%-18pISpc 10>");
    assert_eq!(made("at %px", &[Argument::Number(UNSAID as i64)]), None);
    assert_eq!(made("at %p\u{e9}", &[Argument::Number(16)]), None);
}

#[test]
fn what_is_not_known_is_left_to_c() {
    let numbers = [Argument::Number(0); 3];
    for format in [
        "%",
        "a%",
        "%l",
        "%5",
        "%n",
        "%f",
        "%Lx",
        "%jd",
        "%td",
        "%qx",
        "%ls",
        "%lc",
        "%hs",
        "%.d",
        "%.-3d",
        "%*pbl",
        "%99999d",
        "%99999999999d",
        "%.5000s",
        "%s",
        "%lp",
        "%pAAAAAAAAAAAAAAAAAAAA",
        "%'d",
        "%\u{e4}",
    ] {
        assert_eq!(made(format, &numbers), None, "{format}");
    }
}

#[test]
fn places() {
    let mut memory = [0; 64];
    let mut line = LineBuf::new(&mut memory);
    write_place(b"vfs_read", 0x1f, 0x2a0, &mut line).unwrap();
    assert_eq!(line.as_bytes(), b"vfs_read+0x1f/0x2a0");
}

#[test]
fn all_hexadecimal_digits() {
    let mut value = 1u64;
    for value in std::iter::from_fn(|| {
        value = value.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(9);
        Some(value)
    })
    .take(10_000)
    .chain([0, u64::MAX, 0x0123_4567_89ab_cdef, 0x9999_aaaa_ffff_0000])
    {
        assert_eq!(hexadecimal(value), format!("{value:016x}").as_bytes());
    }
}
