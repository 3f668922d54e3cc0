// SPDX-License-Identifier: GPL-2.0

//! Definitions of probes in programs.

use super::{Hit, World};
use crate::core::event::probe::argument::{
    compile, Argument, Context, Machine, Saved, Word, ARGUMENTS_MAX,
};
use crate::core::event::probe::command::{words, DefinitionError, Spot};
use crate::core::event::probe::error::{Errno, Reason, Refused};
use crate::core::event::probe::layout::{self, Kind};
use crate::core::event::probe::program::Texts;
use crate::core::event::probe::uprobe::{self, Head};
use crate::core::format::symbol::tests::{text, Names};
use crate::core::format::symbol::Style;
use std::collections::BTreeMap;
use std::string::ToString;
use std::vec::Vec;

/// A program, on the machine of [`World`].
struct InProgram;

impl Machine for InProgram {
    fn register(&self, name: &[u8]) -> Option<u16> {
        World.register(name)
    }

    fn stack_words(&self) -> u64 {
        World.stack_words()
    }

    fn is_program(&self) -> bool {
        true
    }
}

fn in_program(line: &str) -> Result<(uprobe::Definition<'_>, Vec<Argument>), DefinitionError> {
    let head = Head::parse(words(line.as_bytes()))?;
    let definition = head.finish()?;
    let mut saved = Saved::new();
    let mut arguments = Vec::new();
    let mut size = 0;
    for (at, word) in words(line.as_bytes()).skip(2).enumerate() {
        let refused = |refused: Refused| refused.in_word(at + 2);
        let parsed = Word::parse(word, false, |_| false).map_err(refused)?;
        let spot = match definition.is_return {
            true => Spot::Return,
            false => Spot::Inside,
        };
        let mut context = Context {
            spot,
            machine: &InProgram,
            types: None,
            function: None,
            asked: false,
            saved: &mut saved,
            size,
        };
        let body = &word[parsed.body..];
        arguments.push(compile(body, parsed.body, &mut context).map_err(refused)?);
        size = context.size;
    }
    Ok((definition, arguments))
}

/// Upstream's `uprobe_syntax_errors.tc`, but for what asks for a file, and more.
#[test]
fn probes_in_programs_that_are_refused() {
    use Reason::*;
    let cases = [
        ("p /bin/sh:^10a", BadFilePlace),
        ("p /bin/sh:10(^1a)", BadCounter),
        ("p /bin/sh:10(^)", BadCounter),
        ("p /bin/sh:10(10^", CounterOpen),
        ("p /bin/sh:10(10)^a", BadCounterSuffix),
        ("p /bin/sh:10 ^@+ab", BadFileOffset),
        ("p /bin/sh:10 ^@symbol", SymbolOfProgram),
        ("p /bin/sh:10^%hoge", BadAddressSuffix),
        ("p /bin/sh:10(10)^%return", BadCounterSuffix),
        ("p /bin/sh:10 $stack0:^symstr", BadType),
        ("p /bin/sh:10 $stack0:^symbol", BadType),
        ("p /bin/sh:10 ^$current:u8", BadVariable),
        ("p /bin/sh:10 ^$retval", ReturnedAtEntry),
        ("p /bin/sh:10 ^$arg1", NotAtEntry),
        ("r /bin/sh:10 ^$arg1", NotAtEntry),
        ("p /bin/sh:10 ^$arg2048", NotAtEntry),
        ("p /bin/sh:10 ^$arg2049", BadArgumentNumber),
        ("p /bin/sh:10 ^$arg70000", BadArgumentNumber),
        ("p /bin/sh:10 ^$stack4294967296", BadStackNumber),
        ("p /bin/sh:10 ^name", NoTypes),
        ("r /bin/sh:10 ^name", NoTypes),
        ("p /bin/sh:10 ^this_cpu_read(%di)", NoPerCpu),
        ("p:^/bar /bin/sh:10", NoGroupName),
        ("p:^ /bin/sh:10", NoEventName),
    ];
    for (marked, reason) in cases {
        let line = marked.replacen('^', "", 1);
        let Err(DefinitionError::Refused(refused)) = in_program(&line) else {
            panic!("{line}: taken");
        };
        assert_eq!(refused.reason, reason, "{line}");
        assert_eq!(refused.errno, Errno::Invalid, "{line}");
        let column = refused.column(words(line.as_bytes()));
        assert_eq!(Some(usize::from(column)), marked.find('^'), "{line}");
    }
    for other in [
        "p",
        "p sh:10",
        "p /bin/sh",
        "p /bin/sh:main",
        "q /bin/sh:10",
    ] {
        assert_eq!(
            in_program(other).err(),
            Some(DefinitionError::OtherKind),
            "{other}"
        );
    }
    let most = std::format!("p /bin/sh:10{}", " %di".repeat(ARGUMENTS_MAX + 1));
    let Err(DefinitionError::Refused(refused)) = in_program(&most) else {
        panic!("too many arguments are taken");
    };
    assert_eq!((refused.errno, refused.word), (Errno::TooLong, 2));
}

#[test]
fn probes_in_programs() {
    let shown = |line| {
        let (definition, _) = in_program(line).unwrap();
        let uprobe::Definition {
            path,
            offset,
            counter,
            ..
        } = definition;
        (
            text(|out| uprobe::write_place(path, offset, counter, out)),
            text(|out| definition.write_name(out)),
            definition.is_return,
        )
    };
    let of = |place: &str, name: &str, is_return| (place.to_string(), name.to_string(), is_return);
    assert_eq!(
        shown("p /usr/lib/libc.so.6:0x10"),
        of(
            "/usr/lib/libc.so.6:0x0000000000000010",
            "p_libc_0x10",
            false
        )
    );
    assert_eq!(
        shown("p ./a:b/c_d:16%return(0x20)"),
        of("./a:b/c_d:0x0000000000000010(0x20)", "p_c_0x10", true)
    );
    assert_eq!(
        shown("r:g/e /bin/sh:010"),
        of("/bin/sh:0x0000000000000008", "p_sh_0x8", true)
    );
    let (definition, arguments) = in_program("r:g/e /bin/sh:1 @+0x10 $retval $stack70000").unwrap();
    assert_eq!(definition.group, Some(b"g".as_slice()));
    assert_eq!(definition.event, Some(b"e".as_slice()));
    let mut hit = Hit {
        memory: BTreeMap::new(),
    };
    for (at, byte) in 0x1122_3344_5566_7788_u64.to_ne_bytes().iter().enumerate() {
        hit.memory.insert(0x50_0010 + at as u64, *byte);
    }
    let mut fields = [0; 24];
    for (number, argument) in arguments.iter().enumerate() {
        let mut texts = Texts {
            header: 8,
            next: 24,
        };
        let program = &argument.program;
        program.store(number, b"", &hit, &mut fields, argument.offset, &mut texts);
    }
    assert_eq!(fields[..8], 0x1122_3344_5566_7788_u64.to_ne_bytes());
    assert_eq!(fields[8..16], (-2_i64).to_ne_bytes());
    assert_eq!(fields[16..], (0x5000 + 70_000_u64).to_ne_bytes());
    let entry = [0_u8; 24];
    let style = Style {
        offset: true,
        addr: true,
    };
    let line = |kind| {
        let none = core::iter::empty();
        text(|out| layout::write_entry((b"e", b""), kind, none, &entry, &Names, style, out))
    };
    assert_eq!(line(Kind::ProgramEntry), "e: (0x0)\n");
    assert_eq!(line(Kind::ProgramReturn), "e: (0x0 <- 0x0)\n");
}
