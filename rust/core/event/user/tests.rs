// SPDX-License-Identifier: GPL-2.0

use super::command::{same_fields, Definition, Field, Invalid};
use super::layout::{write_definition, write_print_fmt, Check};
use super::request::{Bit, Register};
use crate::core::format::{LineBuf, Out};
use std::string::String;
use std::vec::Vec;

fn definition(line: &str) -> Definition<'_> {
    Definition::parse(line.as_bytes()).unwrap()
}

fn fields(line: &str) -> Result<Vec<Field<'_>>, Invalid> {
    Definition::parse(line.as_bytes())?.fields().collect()
}

fn text(write: impl FnOnce(&mut dyn Out) -> core::fmt::Result) -> String {
    let mut room = [0; 4096];
    let mut out = LineBuf::new(&mut room);
    write(&mut out).unwrap();
    String::from_utf8(out.as_bytes().to_vec()).unwrap()
}

#[test]
fn types_have_sizes() {
    for (ty, size) in [
        ("s64", 8),
        ("u64", 8),
        ("s32", 4),
        ("u32", 4),
        ("int", 4),
        ("unsigned int", 4),
        ("s16", 2),
        ("u16", 2),
        ("short", 2),
        ("unsigned short", 2),
        ("s8", 1),
        ("u8", 1),
        ("char", 1),
        ("unsigned char", 1),
        ("char[20]", 20),
        ("char[0x14]", 20),
        ("unsigned char[1024]", 1024),
        ("__data_loc char[]", 4),
        ("__data_loc unsigned char[]", 4),
        ("__rel_loc char[]", 4),
        ("__rel_loc u8[]", 4),
    ] {
        let line = std::format!("event {ty} a");
        let found = fields(&line).unwrap();
        let field = Field {
            ty: ty.as_bytes(),
            name: b"a",
            offset: 8,
            size,
        };
        assert_eq!(found, [field], "{line}");
        assert_eq!(field.is_signed(), !ty.starts_with('u'));
    }
}

#[test]
fn fields_follow_each_other() {
    let line = "event u8 a;u64 b;; struct thing c 20; char[3] d; ";
    let found = fields(line).unwrap();
    let places: Vec<_> = found
        .iter()
        .map(|field| (field.offset, field.size))
        .collect();
    assert_eq!(places, [(8, 1), (9, 8), (17, 20), (37, 3)]);
    assert!(fields("event").unwrap().is_empty());
    assert!(fields("event ").unwrap().is_empty());
    assert!(fields("event  ; ;").unwrap().is_empty());
}

#[test]
fn bad_fields_are_refused() {
    for wrong in [
        "u32",
        "u32 ",
        "u32  a",
        "u32\ta",
        "u32 a b",
        "u32 a ;u8 b",
        "u32 a 4",
        "long a",
        "unsigned long a",
        "unsigned  int a",
        "bool a",
        "char[] a",
        "char[0] a",
        "char[-1] a",
        "char[aa] a",
        "char[1025] a",
        "char[9999] a",
        "char[0x0000000000001] a",
        "char[20 a",
        "struct thing a",
        "struct thing a 0",
        "struct thing a 0x10",
        "struct thing a -1",
        "struct thing a 4294967296",
        "struct thing a 2147483640",
        "struct thing a 2000000000; struct thing b 2000000000",
        "__data_loc char[]",
        "__data_loc struct thing a",
        "u8 a; u32",
    ] {
        let line = std::format!("event {wrong}");
        assert_eq!(fields(&line), Err(Invalid), "{line}");
    }
    // Nothing follows what is wrong.
    let mut all = definition("event u8 a; u32; u8 b").fields();
    assert!(all.next().unwrap().is_ok());
    assert_eq!(all.next(), Some(Err(Invalid)));
    assert_eq!(all.next(), None);
}

#[test]
fn names() {
    assert_eq!(Definition::parse(b"event: u32 a"), Err(Invalid));
    assert_eq!(Definition::parse(b"event:flag"), Err(Invalid));
    assert_eq!(definition("event u32 a:b").name, b"event");
    for good in ["a", "an-event", "provider_L5K1f", "1", "a.b", "\u{e4}"] {
        assert!(definition(good).has_good_name(), "{good}");
    }
    for bad in ["", " u32 a", "/", "a/b", ".", "..", "a\tb", "a\nb", "a\x7f"] {
        assert!(!definition(bad).has_good_name(), "{bad:?}");
    }
}

fn is_same(line: &str, other: &str) -> bool {
    let known = fields(line).unwrap();
    same_fields(known.iter().copied(), definition(other).words())
}

#[test]
fn definitions_are_compared() {
    for (one, other) in [
        ("event u32 a", "event u32 a"),
        ("event u32 a", "event  u32\ta ;"),
        ("event u32 a; u32 b", "event u32 a; u32 b;"),
        ("event u32 a; u32 b", "event u32 a;u32 b"),
        ("event unsigned char[4] a", "event unsigned  char[4] a"),
        ("event struct thing a 20", "event struct thing a 20"),
        (
            "event struct thing a 20; u8 b",
            "event struct thing a 20;u8 b;",
        ),
        ("event", "event"),
        ("event", "event "),
    ] {
        let expected = other != "event  u32\ta ;";
        assert_eq!(is_same(one, other), expected, "{one} | {other}");
    }
    for (one, other) in [
        ("event u32 a", "event u32 b"),
        ("event u32 a", "event"),
        ("event", "event u32 a"),
        ("event u32 a", "event u32 a; u32 b"),
        ("event u32 a; u32 b", "event u32 a"),
        ("event u32 a; u32 b", "event u32 b; u32 a"),
        ("event u32 a; u32 b", "event u32 a u32 b"),
        ("event u64 a; u64 b", "event u32 a; u32 b"),
        ("event struct thing a 20", "event struct thing b 20"),
        ("event struct thing a 20", "event struct thing a 21"),
        ("event struct thing a 20", "event struct thing a"),
        ("event u32 a", "event u32; a"),
        ("event unsigned int a", "event unsigned"),
    ] {
        assert!(!is_same(one, other), "{one} | {other}");
    }
}

#[test]
fn print_formats() {
    let print = |line: &str| {
        let fields = fields(line).unwrap();
        text(|out| write_print_fmt(fields.iter().copied(), out))
    };
    assert_eq!(print("event"), "\"\"");
    assert_eq!(
        print("event s64 a; u64 b; int c; unsigned char d; char[4] e; struct thing f 20"),
        "\"a=%lld b=%llu c=%d d=%u e=%s f=%llu\", REC->a, REC->b, REC->c, REC->d, REC->e, REC->f"
    );
    assert_eq!(
        print("event __data_loc char[] a; __rel_loc char[] b; __data_loc u8[] c"),
        "\"a=%s b=%s c=%llu\", __get_str(a), __get_rel_str(b), REC->c"
    );
}

#[test]
fn definitions_are_shown() {
    for line in [
        "event",
        "event u32 a",
        "event u32 a; struct thing b 20; __rel_loc char[] c",
    ] {
        let known = fields(line).unwrap();
        let shown = text(|out| write_definition(b"event", known.iter().copied(), out));
        assert_eq!(shown, std::format!("u:{line}\n"));
        let again = Definition::parse(&shown.trim_end().as_bytes()[2..]).unwrap();
        assert!(same_fields(known.iter().copied(), again.words()));
    }
}

fn passes(line: &str, payload: &[u8]) -> bool {
    let fields = fields(line).unwrap();
    let mut checks = fields.iter().filter_map(Check::of);
    checks.all(|check| check.passes(payload))
}

fn with_word(offset: u32, length: u32, rest: &[u8]) -> Vec<u8> {
    let mut payload = (length << 16 | offset).to_ne_bytes().to_vec();
    payload.extend_from_slice(rest);
    payload
}

#[test]
fn values_are_inside_the_entry() {
    let relative = "event __rel_loc char[] a";
    assert!(passes(relative, &with_word(0, 5, b"Test\0")));
    assert!(passes(relative, &with_word(0, 0, b"")));
    for (offset, length, rest) in [
        (1024, 5, &b"Test\0"[..]),
        (1, 5, b"Test\0"),
        (0, 1029, b"Test\0"),
        (0, 6, b"Test\0"),
        (0, 5, b"AAAAA"),
        (0xffff, 0xffff, b""),
    ] {
        assert!(!passes(relative, &with_word(offset, length, rest)));
    }
    let absolute = "event __data_loc char[] a";
    assert!(passes(absolute, &with_word(12, 5, b"Test\0")));
    for (offset, length) in [(12, 6), (12, 4), (0, 0), (0, 8), (13, 5), (4, 4)] {
        assert!(!passes(absolute, &with_word(offset, length, b"Test\0")));
    }
    // Bytes need no end.
    assert!(passes("event __rel_loc u8[] a", &with_word(0, 2, b"AA")));
    assert!(!passes("event __rel_loc u8[] a", &with_word(0, 3, b"AA")));
    // Other fields are not looked at, and short entries do not pass.
    assert!(passes("event u32 a", b""));
    assert!(!passes(relative, b"abc"));
}

fn raw_register(bit: u8, size: u8, flags: u16, address: u64) -> [u8; 28] {
    let mut raw = [0; 28];
    raw[..4].copy_from_slice(&28_u32.to_ne_bytes());
    raw[4] = bit;
    raw[5] = size;
    raw[6..8].copy_from_slice(&flags.to_ne_bytes());
    raw[8..16].copy_from_slice(&address.to_ne_bytes());
    raw[16..24].copy_from_slice(&0x1234_u64.to_ne_bytes());
    raw
}

#[test]
fn requests() {
    let known = Register::parse(&raw_register(31, 4, 2, 0x1004)).unwrap();
    assert_eq!((known.bit.address, known.bit.number), (0x1004, 31));
    assert_eq!(known.size, 4);
    assert_eq!((known.is_multi, known.persists), (true, false));
    assert_eq!(known.definition, 0x1234);
    assert!(
        Register::parse(&raw_register(63, 8, 1, 0x1008))
            .unwrap()
            .persists
    );
    for (bit, size, flags, address) in [
        (32, 4, 0, 0x1000),
        (64, 8, 0, 0x1000),
        (0, 8, 0, 0x1004),
        (0, 4, 0, 0x1002),
        (0, 4, 4, 0x1000),
        (0, 4, 0x8000, 0x1000),
        (0, 0, 0, 0x1000),
        (0, 1, 0, 0x1000),
        (0, 2, 0, 0x1000),
        (0, 128, 0, 0x1000),
    ] {
        assert_eq!(
            Register::parse(&raw_register(bit, size, flags, address)),
            None
        );
    }
    let mut raw = [0; 16];
    raw[4] = 31;
    raw[8..].copy_from_slice(&0x1004_u64.to_ne_bytes());
    let expected = Bit {
        address: 0x1004,
        number: 31,
    };
    assert_eq!(Bit::parse(&raw), Some(expected));
    for at in 5..8 {
        let mut wrong = raw;
        wrong[at] = 1;
        assert_eq!(Bit::parse(&wrong), None);
    }
}
