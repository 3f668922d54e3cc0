// SPDX-License-Identifier: GPL-2.0

//! Arguments by name, in a kernel that knows its types.

use super::{words, Event, Hit};
use crate::core::event::probe::command::DefinitionError;
use crate::core::event::probe::error::{Errno, Reason};
use crate::core::event::probe::kernel_types::{Function, Member, Parameter, Shape, TypeId, Types};
use crate::core::event::probe::layout;
use crate::core::format::symbol::tests::text;
use std::vec::Vec;

/// What the kernel of these tests knows: `TYPES`, by their numbers.
struct Known;

enum Is {
    Number(u32, bool),
    Pointer(u32),
    Array(u32),
    /// Name, type, bits in front of it, bits.
    Structure(&'static str, &'static [(&'static str, u32, u32, u32)]),
    /// Name, what is returned, parameters.
    Function(&'static str, u32, &'static [(&'static str, u32)]),
    Void,
}

const VOID: u32 = 0;
const U64: u32 = 1;
const LONG: u32 = 2;
const CHAR: u32 = 3;
const TEXT: u32 = 4;
const NAME: u32 = 5;
const FILE: u32 = 6;
const TO_FILE: u32 = 7;
const PATH: u32 = 8;
const UNNAMED: u32 = 9;
const INNER: u32 = 10;
const U32: u32 = 11;
// `task_struct` is the one between.
const TO_VOID: u32 = 13;
const BYTE: u32 = 14;
const SIGNED_TEXT: u32 = 15;
// Functions are the ones between.
const U128: u32 = 19;
const S128: u32 = 20;

/// `struct file`: 0 mode, 4 bit-fields, 8 name, 16 a structure without name with a union in it, 32 path.
static TYPES: &[Is] = &[
    Is::Void,
    Is::Number(8, false),
    Is::Number(8, true),
    Is::Number(1, false),
    Is::Pointer(CHAR),
    Is::Array(CHAR),
    Is::Structure(
        "file",
        &[
            ("mode", U32, 0, 0),
            ("low", U32, 32, 3),
            ("high", U32, 35, 8),
            ("whole", U32, 48, 8),
            ("name", TEXT, 64, 0),
            ("", UNNAMED, 128, 0),
            ("path", PATH, 256, 0),
            ("back", SIGNED_TEXT, 320, 0),
            ("wide", U128, 384, 0),
            ("signed_wide", S128, 384, 0),
        ],
    ),
    Is::Pointer(FILE),
    Is::Structure("path", &[("next", TO_FILE, 0, 0), ("label", NAME, 0, 0)]),
    Is::Structure("", &[("outer", U64, 0, 0), ("", INNER, 64, 0)]),
    Is::Structure("", &[("a", U32, 0, 0), ("b", BYTE, 0, 0), ("", U32, 8, 3)]),
    Is::Number(4, false),
    Is::Structure(
        "task_struct",
        &[("pid", U32, 0, 0), ("odd", U32, 33, 1), ("se", PATH, 64, 0)],
    ),
    Is::Pointer(VOID),
    Is::Number(1, true),
    Is::Pointer(BYTE),
    Is::Function(
        "vfs_read",
        LONG,
        &[
            ("file", TO_FILE),
            ("buf", TEXT),
            ("count", U64),
            ("any", TO_VOID),
        ],
    ),
    Is::Function("do_exit", VOID, &[("code", LONG)]),
    Is::Function("mod:count", LONG, &[]),
    Is::Number(16, false),
    Is::Number(16, true),
];

fn id(number: u32) -> TypeId {
    TypeId { object: 0, number }
}

fn number_of(found: impl Fn(&Is) -> bool) -> Option<u32> {
    TYPES.iter().position(found).map(|at| at as u32)
}

fn is(ty: TypeId) -> &'static Is {
    assert_eq!(ty.object, 0);
    &TYPES[ty.number as usize]
}

impl Types for Known {
    fn function(&mut self, name: &[u8]) -> Option<Function> {
        let is = |one: &Is| matches!(one, Is::Function(known, ..) if known.as_bytes() == name);
        let number = number_of(is)?;
        let Is::Function(_, returned, parameters) = TYPES[number as usize] else {
            return None;
        };
        Some(Function {
            id: id(number),
            returned: (returned != VOID).then_some(id(returned)),
            first: 0,
            parameters: parameters.len(),
        })
    }

    fn structure(&mut self, name: &[u8]) -> Option<TypeId> {
        let is = |one: &Is| matches!(one, Is::Structure(known, _) if known.as_bytes() == name);
        number_of(is).map(id)
    }

    fn parameter(&self, prototype: TypeId, at: usize) -> Option<Parameter<'_>> {
        let Is::Function(_, _, parameters) = is(prototype) else {
            return None;
        };
        let (name, ty) = parameters.get(at)?;
        let (name, ty) = (name.as_bytes(), id(*ty));
        Some(Parameter { name, ty })
    }

    fn member(&self, structure: TypeId, at: usize) -> Option<Member<'_>> {
        let Is::Structure(_, members) = is(structure) else {
            return None;
        };
        let (name, ty, offset, bits) = *members.get(at)?;
        let (name, ty) = (name.as_bytes(), id(ty));
        Some(Member {
            name,
            ty,
            offset,
            bits,
        })
    }

    fn shape(&self, ty: TypeId) -> Shape {
        match *is(ty) {
            Is::Number(size, signed) => Shape::Number { size, signed },
            Is::Pointer(to) => Shape::Pointer(id(to)),
            Is::Array(of) => Shape::Array(id(of)),
            Is::Structure(..) => Shape::Structure,
            Is::Function(..) | Is::Void => Shape::Other,
        }
    }
}

fn parse(line: &str) -> Event {
    Event::parse_with(line, Some(&mut Known)).unwrap_or_else(|no| panic!("{line}: {no:?}"))
}

/// The caret of `marked`, a definition with one before the place, stands at the place.
fn check(marked: &str, reason: Reason) -> Errno {
    let line = marked.replacen('^', "", 1);
    let Err(DefinitionError::Refused(refused)) = Event::parse_with(&line, Some(&mut Known)) else {
        panic!("{line}: not refused");
    };
    assert_eq!(refused.reason, reason, "{line}");
    let column = refused.column(words(line.as_bytes()));
    assert_eq!(Some(usize::from(column)), marked.find('^'), "{line}");
    refused.errno
}

#[test]
fn errors() {
    use Reason::*;
    let deep =
        "p vfs_read x=(a)((b)((c)((d)((e)((f)((g)((h)(^(i)file->i)->h)->g)->f)->e)->d)->c)->b)->a";
    for (marked, reason, errno) in [
        // Upstream's *_syntax_errors.tc.
        ("p vfs_read args=^$arg*", BadVariable, Errno::Invalid),
        ("p vfs_read +0(^$arg*)", BadVariable, Errno::Invalid),
        ("p vfs_read $arg* ^$arg*", ArgumentsTwice, Errno::Invalid),
        ("p vfs_read+20 ^$arg*", NotAtEntry, Errno::Invalid),
        ("p vfs_read ^hoge", NoParameter, Errno::NotFound),
        ("p do_exit ^$arg10", NoParameter, Errno::NotFound),
        ("p vfs_read ^$arg10000", NoParameter, Errno::NotFound),
        // C reads 1.
        ("p vfs_read ^$arg4294967297", NoParameter, Errno::NotFound),
        ("r do_exit ^$retval", NothingReturned, Errno::NotFound),
        ("r vfs_read $retval->^foo", NoPointer, Errno::Invalid),
        ("p vfs_read file->^foo", NoMember, Errno::NotFound),
        ("p vfs_read file^-.foo", BadHyphen, Errno::Invalid),
        ("p vfs_read ^file:string", NotText, Errno::Invalid),
        (
            "p vfs_read x=(task_struct)file^",
            CastWithoutMember,
            Errno::Invalid,
        ),
        (deep, TooManyNested, Errno::TooLong),
        (
            "p vfs_read x=(task_struct,^odd)file->pid",
            CastNotAligned,
            Errno::Invalid,
        ),
        (
            "p vfs_read x=(task_struct,^foo)file->pid",
            NoMember,
            Errno::NotFound,
        ),
        (
            "p vfs_read x=(^task_struct1)file->pid",
            NoPointer,
            Errno::Invalid,
        ),
        (
            "p vfs_read x=(task_struct,se.next^->mode)file->pid",
            CastArrow,
            Errno::Invalid,
        ),
        (
            "p vfs_read x=(task_struct,^->pid)file->pid",
            NoMember,
            Errno::NotFound,
        ),
        (
            "p vfs_read x=(task_struct,^.pid)file->pid",
            NoMember,
            Errno::NotFound,
        ),
        (
            "p vfs_read x=(task_struct,^.)file->pid",
            NoMember,
            Errno::NotFound,
        ),
        (
            "p vfs_read x=(task_struct)^@symbol+10->pid",
            CastOffset,
            Errno::Invalid,
        ),
        // And more.
        ("p vfs_read ^$arg1x", BadVariable, Errno::NotFound),
        ("p vfs_read ^$arg0", BadArgumentNumber, Errno::Invalid),
        ("p vfs_read file.^mode", ByValue, Errno::NotSupported),
        ("p vfs_read file->path.^hoge", NoMember, Errno::NotFound),
        (
            "p vfs_read file->path.next->^hoge",
            NoMember,
            Errno::NotFound,
        ),
        ("p vfs_read file->path->^next", NoPointer, Errno::Invalid),
        ("p vfs_read file->mode.^next", NoStructure, Errno::Invalid),
        ("p vfs_read any->^next", NoStructure, Errno::Invalid),
        ("p vfs_read file->^", NoMember, Errno::NotFound),
        ("p vfs_read file->path^-next", BadHyphen, Errno::Invalid),
        ("p vfs_read file->^mode:string", NotText, Errno::Invalid),
        ("p vfs_read file->^back:string", NotText, Errno::Invalid),
        ("p vfs_read file->mode:^hoge", BadType, Errno::Invalid),
        ("r vfs_read ^$retvals", NoParameter, Errno::NotFound),
        ("p vfs_read ^$retval->foo", ReturnedAtEntry, Errno::Invalid),
        ("p vfs_read+20 ^file", NoTypes, Errno::Invalid),
        (
            "p vfs_read+20 ^(file)$stack->mode",
            NoTypes,
            Errno::NotSupported,
        ),
        ("p vfs_read $current->^hoge", NoMember, Errno::NotFound),
        (
            "p vfs_read x=(task_struct^",
            DereferenceOpen,
            Errno::Invalid,
        ),
        (
            "p vfs_read x=(task_struct)^(file->pid",
            DereferenceOpen,
            Errno::Invalid,
        ),
        (
            "p vfs_read x=(task_struct)(file)^",
            CastWithoutMember,
            Errno::Invalid,
        ),
        (
            "p vfs_read x=(task_struct)^+0->pid",
            DereferenceNeedsBrace,
            Errno::Invalid,
        ),
        (
            "p vfs_read x=(task_struct)+0(file)^.pid",
            CastWithoutMember,
            Errno::Invalid,
        ),
        (
            "p vfs_read x=(task_struct)(file)->^hoge",
            NoMember,
            Errno::NotFound,
        ),
        (
            "p vfs_read x=(^task_struct)\\\"a\"->pid",
            CommDereferenced,
            Errno::Invalid,
        ),
        // At what stands for others the caret is where the definition has it.
        ("p vfs_read $arg3:^hoge", BadType, Errno::Invalid),
        ("p vfs_read ^$arg1:string", NotText, Errno::Invalid),
        ("p vfs_read file ^$arg*", UsedArgumentName, Errno::Invalid),
        (
            "p vfs_read count ^count:u8",
            UsedArgumentName,
            Errno::Invalid,
        ),
        ("p ^vfs_write file", BadProbeAddress, Errno::Invalid),
    ] {
        assert_eq!(check(marked, reason), errno, "{marked}");
    }
    // A function without parameters. Once another argument has asked for it, C says something else.
    for (marked, reason) in [
        ("r mod:count ^name", NoPrototype),
        ("r mod:count $stack ^name", NoPrototype),
        ("r mod:count $retval ^name", NoParameter),
        ("r mod:count ^name $retval", NoPrototype),
        ("r mod:count $arg1 ^name", NoParameter),
        ("r mod:count ^name $arg1", NoParameter),
    ] {
        assert_eq!(check(marked, reason), Errno::NotFound, "{marked}");
    }
    // A function that the types do not have.
    assert_eq!(check("p mod:f ^name", Reason::NoTypes), Errno::Invalid);
    assert_eq!(check("r mod:f ^name", Reason::NoPrototype), Errno::NotFound);
    assert_eq!(
        check("r mod:f $retval->^name", Reason::NoPrototype),
        Errno::NotFound
    );
    assert_eq!(
        check("r mod:f ^$arg*", Reason::NoTypes),
        Errno::NotSupported
    );
}

/// As many operations as there may be, by arrows, and one more.
#[test]
fn depth() {
    let deep = |arrows: usize, last: &str| {
        let next = "path.next->".repeat(arrows - 1);
        std::format!("p vfs_read file->{next}^{last}")
    };
    let taken = |arrows, last| parse(&deep(arrows, last).replacen('^', "", 1));
    let refused = |arrows, last| check(&deep(arrows, last), Reason::TooManyOps);
    taken(14, "mode");
    assert_eq!(refused(15, "mode"), Errno::Invalid);
    // The text behind the address is one more.
    taken(13, "name:string");
    assert_eq!(refused(14, "name:string"), Errno::TooLong);
    // So is a bit-field, whose type nobody has written.
    taken(13, "low");
    assert_eq!(refused(14, "low"), Errno::Invalid);
}

#[test]
fn names() {
    for (line, expected) in [
        (
            "p vfs_read $arg*",
            &["file=file", "buf=buf", "count=count", "any=any"][..],
        ),
        (
            "p vfs_read $arg3:u8 a=$arg1 $arg2",
            &["count=count:u8", "a=$arg1", "buf=buf"],
        ),
        (
            "p vfs_read x=count file->mode $stack",
            &["x=count", "arg2=file->mode", "arg3=$stack"],
        ),
        ("r mod:f $arg1 $retval", &["arg1=$arg1", "arg2=$retval"]),
    ] {
        let event = parse(line);
        let both = event.names.iter().zip(&event.bodies);
        let all: Vec<_> = both
            .map(|(name, body)| [name, &b"="[..], body].concat())
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect();
        assert_eq!(all, expected, "{line}");
    }
}

/// What the definition does not say is taken from the type.
#[test]
fn types() {
    for (line, expected) in [
        ("p vfs_read $arg*", &["x64", "x64", "u64", "x64"][..]),
        ("p vfs_read count:x8 buf:string", &["x8", "string"]),
        (
            "p vfs_read file->mode file->name file->path",
            &["u32", "x64", "x64"],
        ),
        (
            "p vfs_read file->b file->a file->path.label",
            &["s8", "u32", "x64"],
        ),
        (
            "p vfs_read file->wide file->signed_wide file->wide:x32",
            &["u64", "x64", "x32"],
        ),
        ("p vfs_read +0(file) this_cpu_read(count)", &["x64", "x64"]),
        ("r vfs_read $retval count x=$arg3", &["s64", "u64", "x64"]),
        ("r mod:f $retval", &["x64"]),
    ] {
        let event = parse(line);
        let all: Vec<_> = event.arguments.iter().map(|one| one.ty.name).collect();
        assert_eq!(all, expected, "{line}");
    }
    let event = parse("p vfs_read count pos=any");
    assert_eq!(
        text(|out| layout::write_print_fmt(event.kind(), event.named(), out)),
        r#""(%lx) count=%Lu pos=0x%Lx", REC->__probe_ip, REC->count, REC->pos"#
    );
}

#[test]
fn what_is_recorded() {
    // The first argument is at 0x100, the task at 0x9000.
    let words =
        |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let file = words(&[0x00ab_0abd_0000_81a4, 0x500, 7, 0x0000_ff85, 0x6968]);
    let at = Hit::with(&[
        (0x100, &file),
        (0x300, &words(&[0x1234])),
        (0x310, &words(&[0x5678])),
        (0x500, b"name\0"),
        (0x6968, &words(&[0x4321])),
        (0x200, b"buffer\0\0"),
        (0x9000, &words(&[0x0000_0002_0000_002a, 0x100])),
        (0x8ff8, &words(&[77])),
        (1 << 32 | 0x200, b"user\0"),
    ]);
    for (arguments, expected) in [
        ("file count", "file=0x100 count=768"),
        ("file->mode file->mode:x16", "arg1=33188 arg2=0x81a4"),
        ("file->low file->high", "arg1=5 arg2=87"),
        ("file->whole", "arg1=171"),
        ("file->name:string file->name", "arg1=\"name\" arg2=0x500"),
        ("buf:string x=buf:ustring", "buf=\"buffer\" x=\"user\""),
        ("file->outer file->a file->b", "arg1=7 arg2=65413 arg3=-123"),
        ("file->path.next->mode", "arg1=17185"),
        ("(file,path.next)(file)->mode:x32", "arg1=0x0"),
        ("(file)any->mode:x32", "arg1=0x0"),
        ("(task_struct,se)$current->pid", "arg1=77"),
        ("$current->pid $current->odd", "arg1=42 arg2=1"),
        ("$current->se.next->name:string", "arg1=\"name\""),
        ("(file)((task_struct)$current->se.next)->mode", "arg1=33188"),
        ("(path)+0x20(file)->next", "arg1=0x4321"),
        ("this_cpu_read(count)", "arg1=0x5678"),
        ("this_cpu_read((file)file->path.next)", "arg1=0x0"),
        ("+0(file->path.next):u16", "arg1=17185"),
        ("file->path.label:string", "arg1=\"hi\""),
    ] {
        let event = parse(&std::format!("p vfs_read {arguments}"));
        let expected = std::format!("ev: (vfs_read+0x4/0x190) {expected}\n");
        assert_eq!(event.hit(&at), expected, "{arguments}");
    }
    let event = parse("r vfs_read $retval file count again=file");
    assert_eq!(event.saved.numbers(), [0, 2]);
    assert_eq!(
        event.hit(&at),
        "ev: (ksys_read+0x0/0x190 <- vfs_read) arg1=-2 file=0x40 count=65 again=0x40\n"
    );
}

proptest::proptest! {
    /// Whatever is written is taken or refused, and what is taken can be recorded and printed.
    #[test]
    fn never_panics(
        line in "[pr] (vfs_read|do_exit)( ([-+$():=.,@]|->|file|path|next|mode|task_struct|this_cpu_read|string|arg|retval|current|[0-9*]){0,12}){0,3}"
    ) {
        if let Ok(event) = Event::parse_with(&line, Some(&mut Known)) {
            event.hit(&Hit::default());
        }
    }
}
