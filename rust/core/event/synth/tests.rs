// SPDX-License-Identifier: GPL-2.0

use super::command::{Command, Definition, Field, Reason, Refused, FIELDS_MAX};
use super::layout::{place, write_field, write_print_fmt, Named};
use super::types::{is_possible, is_signed, Kind, TypeText};
use crate::core::format::symbol::Symbols;
use crate::core::format::Out;
use std::string::{String, ToString};
use std::vec::Vec;

struct Text(Vec<u8>);

impl core::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.bytes(text.as_bytes())
    }
}

impl Out for Text {
    fn bytes(&mut self, bytes: &[u8]) -> core::fmt::Result {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn written(&mut self, write: &dyn Fn(&mut [u8]) -> usize) -> core::fmt::Result {
        let mut piece = std::vec![0; write(&mut []) + 1];
        let length = write(&mut piece);
        self.bytes(&piece[..length])
    }
}

fn text(write: impl FnOnce(&mut Text) -> core::fmt::Result) -> String {
    let mut text = Text(Vec::new());
    write(&mut text).unwrap();
    String::from_utf8(text.0).unwrap()
}

fn fields(line: &str) -> Result<Vec<Field<'_>>, Refused<'_>> {
    match Command::parse(line.as_bytes())? {
        Command::Define(definition) => definition.fields().collect(),
        Command::Remove(_) => panic!("{line}"),
    }
}

fn kind(ty: &str) -> Option<Option<Kind>> {
    let ty = TypeText {
        is_unsigned: false,
        word: ty.as_bytes(),
        array: b"",
    };
    ty.kind().ok()
}

#[test]
fn definitions_have_fields() {
    for line in [
        "wakeup u64 lat; pid_t pid; unsigned long stack[]; char comm[16]; char who[]",
        "wakeup u64 lat pid_t pid unsigned long stack[] char comm[16] char who[];",
        "wakeup  u64 lat;;pid_t\tpid ; unsigned long stack[] ;char comm[16] char who[] ; ",
    ] {
        let fields = fields(line).unwrap();
        let shown: Vec<String> = fields
            .iter()
            .map(|field| {
                let name = String::from_utf8(field.name.to_vec()).unwrap();
                text(|out| field.ty.write(out)) + " " + &name
            })
            .collect();
        assert_eq!(
            shown,
            [
                "u64 lat",
                "pid_t pid",
                "unsigned long[] stack",
                "char[16] comm",
                "char[] who"
            ]
        );
        let sizes: Vec<_> = fields
            .iter()
            .map(|f| (f.kind.size(), f.kind.room()))
            .collect();
        assert_eq!(sizes, [(8, 8), (4, 8), (8, 8), (16, 256), (8, 8)]);
    }
}

#[test]
fn types_as_in_c() {
    for (name, size, signed) in [
        ("s64", 8, true),
        ("u64", 8, false),
        ("s8", 1, true),
        ("u16", 2, false),
        ("char", 1, true),
        ("long", 8, true),
        ("bool", 1, true),
        ("pid_t", 4, true),
        ("gfp_t", 4, false),
        ("char[16]", 16, true),
        ("uchar[0x9]", 9, false),
        ("char[]", 8, true),
        ("char[0]", 8, true),
        ("uchar[]", 8, true),
        ("long[]", 8, true),
        ("ulong[7]", 8, true),
        ("char[256]", 256, true),
    ] {
        let kind = kind(name).unwrap().unwrap();
        assert_eq!(kind.size(), size, "{name}");
        assert_eq!(is_signed(kind, name.as_bytes()), signed, "{name}");
        assert!(is_possible(name.as_bytes()), "{name}");
    }
    for unknown in ["foo", "int[4]", "u64[]", "unsigned", "double", "size_t", ""] {
        assert_eq!(kind(unknown), Some(None), "{unknown}");
        let is_array = unknown.contains('[');
        assert_eq!(is_possible(unknown.as_bytes()), is_array, "{unknown}");
    }
    for bad in [
        "char[257]",
        "char[-1]",
        "char[x]",
        "char[1024]",
        "char[",
        "char[1]]",
        "char[4]x",
    ] {
        assert_eq!(kind(bad), None, "{bad}");
        assert!(is_possible(bad.as_bytes()), "{bad}");
    }
}

/// The lines of upstream's `trigger-synthetic_event_syntax_errors.tc`, the caret where `^` is.
#[test]
fn carets() {
    for line in [
        "myevent ^chr arg",
        "myevent ^unsigned arg",
        "myevent char ^str]; int v",
        "^mye-vent char str[]",
        "myevent char ^st-r[]",
        "myevent char str;^[]",
        "myevent char str; ^int",
        "myevent char ^str[; int v",
        "myevent char ^str[kdjdk]",
        "myevent char ^str[257]",
        "^mye;vent char str[]",
        "^myevent ; char str[]",
        "^myevent; char str[]",
        "^myevent ;char str[]",
        "^; char str[]",
        "^;myevent char str[]",
        "^myevent",
        "myevent int a; int ^b-d",
        "myevent int a; ^unsigned int",
    ] {
        let column = line.find('^').unwrap();
        let command = line.replace('^', "");
        let refused = fields(&command).unwrap_err();
        assert_eq!(
            usize::from(refused.column(command.as_bytes())),
            column,
            "{line}"
        );
    }
}

#[test]
fn too_many_fields() {
    let define = |count: usize| {
        let fields: Vec<String> = (0..count).map(|at| std::format!("int f{at}")).collect();
        "many ".to_string() + &fields.join(";")
    };
    assert_eq!(fields(&define(FIELDS_MAX)).unwrap().len(), FIELDS_MAX);
    let refused = fields(&define(FIELDS_MAX + 1)).unwrap_err().reason;
    assert_eq!(refused, Reason::TooManyFields);
}

#[test]
fn removals() {
    for (line, name) in [("!gone", "gone"), ("!gone int a", "gone"), ("!", "")] {
        let command = Command::parse(line.as_bytes());
        assert_eq!(command, Ok(Command::Remove(name.as_bytes())));
    }
}

#[test]
fn lines_of_dynamic_events() {
    let parse = |line: &'static str| {
        let parsed = Definition::parse(line.as_bytes());
        parsed.map(|some| some.map(|definition| definition.name))
    };
    assert_eq!(parse("p:foo vfs_read"), Ok(None));
    assert_eq!(parse("s:foo int a"), Ok(Some(&b"foo"[..])));
    assert_eq!(parse("s:synthetic/foo int a"), Ok(Some(&b"foo"[..])));
    for (line, reason) in [
        ("s:foo", Reason::BadCommand),
        ("s:foo int", Reason::BadCommand),
        ("s:synthetic/ int a b", Reason::BadCommand),
        ("s:other/foo int a", Reason::BadDynamicCommand),
        ("s:foo int a/b", Reason::BadDynamicCommand),
        ("s:f-o int a", Reason::BadName),
    ] {
        assert_eq!(parse(line).unwrap_err().reason, reason, "{line}");
    }
}

struct NoSymbols;

impl Symbols for NoSymbols {
    fn write_symbol(&self, _: usize, _: bool, _: &mut dyn Out) -> Result<bool, core::fmt::Error> {
        Ok(false)
    }
}

#[test]
fn printed() {
    let line = "e s8 a; s32 b; u64 c; gfp_t d; char e[4]; char f[]; unsigned long g[]";
    let fields = fields(line).unwrap();
    let named = fields.iter().map(|field| Named {
        name: field.name,
        kind: field.kind,
    });
    assert_eq!(
        text(|out| write_print_fmt(named.clone(), out)),
        "\"a=%d b=%d c=%llu d=%x e=%s f=%s g=%s\", REC->a, REC->b, REC->c, REC->d, REC->e, \
         __get_str(f), __get_stacktrace(g)"
    );
    let mut entry = std::vec![0; 8];
    for value in [255, 0xffff_fffe, 7, 0xcc0] {
        entry.extend_from_slice(&u64::to_ne_bytes(value));
    }
    entry.extend_from_slice(b"four");
    entry.resize(40 + 256, 0);
    let behind = entry.len() + 16;
    entry.extend_from_slice(&place(behind, 8).to_ne_bytes());
    entry.extend_from_slice(&place(behind + 8, 24).to_ne_bytes());
    entry.extend_from_slice(b"dynamic\0");
    for word in [2, 0x1234, 0x5678] {
        entry.extend_from_slice(&u64::to_ne_bytes(word));
    }
    let mut at = 8;
    let shown: Vec<String> = named
        .map(|field| {
            let start = at;
            at += field.kind.room();
            text(|out| write_field(field, &entry, start, &NoSymbols, out))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "a=255",
            "b=-2",
            "c=7",
            "d=cc0",
            "e=four",
            "f=dynamic",
            "g=STACK:\n=> 0x1234\n=> 0x5678\n"
        ]
    );
}
