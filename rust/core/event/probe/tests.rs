// SPDX-License-Identifier: GPL-2.0

//! Definitions as users write them: what they mean, what they are refused for, and what is recorded.

use super::argument::{compile, Argument, Context, Machine, Saved, Word, ARGUMENTS_MAX};
use super::command::{
    words, Definition, DefinitionError, Dentry, Found, NotFound, Place, Removal, Spot, Symbols,
};
use super::error::{Errno, Reason, Refused};
use super::kernel_types::Types;
use super::layout::{self, Kind, Named};
use super::meta::{asks, expand};
use super::program::{Source, Texts};
use super::types::TextOf;
use crate::core::format::symbol::tests::{text, Names};
use crate::core::format::symbol::Style;
use std::collections::BTreeMap;
use std::string::{String, ToString};
use std::vec::Vec;

mod named;
mod programs;

/// A kernel with two functions, and a machine with three registers.
struct World;

impl Symbols for World {
    fn find(&self, symbol: &[u8], offset: u64) -> Result<Found, NotFound> {
        match symbol {
            b"vfs_read" | b"do_exit" if offset == 0 => Ok(Found::Entry),
            b"vfs_read" => Ok(Found::Inside),
            b"twice" => Err(NotFound::NotUnique),
            _ if symbol.contains(&b':') => Ok(Found::Later),
            _ => Err(NotFound::Missing),
        }
    }
}

impl Machine for World {
    fn register(&self, name: &[u8]) -> Option<u16> {
        match name {
            b"di" => Some(112),
            b"si" => Some(104),
            b"ax" => Some(80),
            _ => None,
        }
    }

    fn stack_words(&self) -> u64 {
        2048
    }
}

struct Event {
    is_return: bool,
    names: Vec<Vec<u8>>,
    bodies: Vec<Vec<u8>>,
    arguments: Vec<Argument>,
    size: usize,
    saved: Saved,
}

impl Event {
    fn parse(line: &str) -> Result<Self, DefinitionError> {
        Self::parse_with(line, None)
    }

    fn parse_with(line: &str, mut types: Option<&mut dyn Types>) -> Result<Self, DefinitionError> {
        let line = words(line.as_bytes());
        let definition = Definition::parse(line.clone(), &World)?;
        let function = match (definition.place, types.as_deref_mut()) {
            (Place::Symbol { symbol, .. }, Some(types)) => types.function(symbol),
            _ => None,
        };
        let mut all = Vec::new();
        let known = types.as_deref().zip(function);
        let mut asked = asks(line.clone().skip(2));
        expand(line.skip(2), known, |expanded| {
            all.push(([expanded.name, expanded.rest].concat(), expanded.origin));
            Ok::<_, DefinitionError>(())
        })?;
        let mut event = Self {
            is_return: definition.is_return,
            names: Vec::new(),
            bodies: Vec::new(),
            arguments: Vec::new(),
            size: 0,
            saved: Saved::new(),
        };
        for (at, (word, origin)) in all.iter().enumerate() {
            let refused = |refused| origin.refused(refused);
            let is_taken = |name: &[u8]| event.names.iter().any(|known| known == name);
            let parsed = Word::parse(word, types.is_some(), is_taken).map_err(refused)?;
            let name = match &parsed.name {
                Some(range) => word[range.clone()].to_vec(),
                None => std::format!("arg{}", at + 1).into_bytes(),
            };
            let body = &word[parsed.body..];
            let mut context = Context {
                spot: definition.spot,
                machine: &World,
                types: types.as_deref_mut().map(|types| types as &mut dyn Types),
                function,
                asked,
                saved: &mut event.saved,
                size: event.size,
            };
            let argument = compile(body, parsed.body, &mut context).map_err(refused)?;
            (event.size, asked) = (context.size, context.asked);
            event.names.push(name);
            event.bodies.push(body.to_vec());
            event.arguments.push(argument);
        }
        Ok(event)
    }

    fn kind(&self) -> Kind {
        if self.is_return {
            Kind::Return
        } else {
            Kind::Entry
        }
    }

    fn named(&self) -> impl Iterator<Item = Named<'_>> + Clone {
        let both = self.names.iter().zip(&self.arguments);
        both.map(|(name, argument)| Named { name, argument })
    }

    /// Records an entry and prints it.
    fn hit(&self, at: &Hit) -> String {
        let each = || self.arguments.iter().zip(&self.bodies).enumerate();
        let dynamic: usize = each()
            .map(|(number, (argument, body))| argument.program.text_length(number, body, at))
            .sum();
        let start = self.kind().size();
        let mut entry = std::vec![0xaa; 8 + start + self.size + dynamic];
        for word in 0..self.kind().words().len() {
            let value = [0x1004_u64, 0x2000][word];
            entry[8 + 8 * word..16 + 8 * word].copy_from_slice(&value.to_ne_bytes());
        }
        let mut texts = Texts {
            header: 8,
            next: start + self.size,
        };
        for (number, (argument, body)) in each() {
            let place = start + argument.offset;
            let program = &argument.program;
            program.store(number, body, at, &mut entry[8..], place, &mut texts);
        }
        let plain =
            each().map(|(_, (argument, _))| argument.program.plain(start + argument.offset));
        if let Some(all) = plain.collect::<Option<Vec<_>>>() {
            let mut same = entry.clone();
            same[8 + start..].fill(0x55);
            all.iter().for_each(|plain| plain.store(at, &mut same[8..]));
            assert_eq!(entry, same);
        }
        assert!(texts.next <= entry.len() - 8);
        let style = Style {
            offset: false,
            addr: false,
        };
        text(|out| {
            layout::write_entry(
                (b"ev", b""),
                self.kind(),
                self.named(),
                &entry,
                &Names,
                style,
                out,
            )
        })
    }
}

fn refusal(line: &str) -> Refused {
    match Event::parse(line) {
        Err(DefinitionError::Refused(refused)) => refused,
        Err(DefinitionError::OtherKind) => panic!("{line}: of another kind"),
        Ok(_) => panic!("{line}: taken"),
    }
}

/// The caret of `marked`, a definition with one before the place, stands at the place.
fn check(marked: &str, reason: Reason) -> Errno {
    let line = marked.replacen('^', "", 1);
    let refused = refusal(&line);
    assert_eq!(refused.reason, reason, "{line}");
    let column = refused.column(words(line.as_bytes()));
    assert_eq!(Some(usize::from(column)), marked.find('^'), "{line}");
    refused.errno
}

/// Upstream's kprobe_syntax_errors.tc, as far as what is refused is not what the kernel has.
#[test]
fn syntax_errors_of_upstream() {
    use Reason::*;
    for (marked, reason) in [
        ("p^100 vfs_read", BadMaxActiveType),
        ("r^1a111 vfs_read", BadMaxActive),
        ("r^100000 vfs_read", MaxActiveTooBig),
        // C takes these two as negative numbers, and with them its default.
        ("r^2147483648 vfs_read", MaxActiveTooBig),
        ("r^4294967295 vfs_read", MaxActiveTooBig),
        ("p ^non_exist_func", BadProbeAddress),
        ("p ^hoge-fuga", BadProbeAddress),
        ("p ^hoge+1000-1000", BadProbeAddress),
        ("r ^vfs_read+10", BadReturnProbe),
        ("p:^/bar vfs_read", NoGroupName),
        (
            "p:^12345678901234567890123456789012345678901234567890123456789012345/bar vfs_read",
            GroupTooLong,
        ),
        ("p:^foo.1/bar vfs_read", BadGroupName),
        ("p:^ vfs_read", NoEventName),
        (
            "p:foo/^12345678901234567890123456789012345678901234567890123456789012345 vfs_read",
            EventTooLong,
        ),
        ("p:foo/^bar.1 vfs_read", BadEventName),
        ("p vfs_read ^$retval", ReturnedAtEntry),
        ("p vfs_read ^$stack10000", BadStackNumber),
        ("p vfs_read ^$arg10000", BadArgumentNumber),
        ("p vfs_read ^$none_var", BadVariable),
        ("p vfs_read ^%none_reg", BadRegisterName),
        ("p vfs_read ^@12345678abcde", BadMemoryAddress),
        ("p vfs_read ^@+10", FileOffset),
        ("p vfs_read arg1=\\^x", BadImmediate),
        ("p vfs_read arg1=\\\"abcd^", TextNotClosed),
        ("p vfs_read ^+0@0)", DereferenceNeedsBrace),
        ("p vfs_read ^+0ab1(@0)", BadDereferenceOffset),
        ("p vfs_read +0(+0(@0^)", DereferenceOpen),
        ("p vfs_read +0(^$comm)", CommDereferenced),
        ("p vfs_read ^&1", BadFetch),
        (
            "p vfs_read +0(+0(+0(+0(+0(+0(+0(+0(^+0(@0)))))))))",
            TooManyNested,
        ),
        ("p vfs_read +0(@11):u8[10^", ArrayNotClosed),
        ("p vfs_read +0(@11):u8[10]^a", BadArraySuffix),
        ("p vfs_read +0(@11):u8[^10a]", BadArrayNumber),
        ("p vfs_read +0(@11):u8[^256]", ArrayTooBig),
        ("p vfs_read @11:^unknown_type", BadType),
        ("p vfs_read @<a::B>::c:^unknown_type", BadType),
        ("p vfs_read @11:^:x32", BadType),
        ("p vfs_read +0(@sym):^:u64", BadType),
        ("p vfs_read @sym+4:^:8", BadType),
        ("p vfs_read $stack0:^:x32", BadType),
        ("p vfs_read $stack0:^string", BadString),
        ("p vfs_read @11:^b10@a/16", BadBitfield),
        (
            "p vfs_read ^arg123456789012345678901234567890=@11",
            ArgumentNameTooLong,
        ),
        ("p vfs_read ^=@11", NoArgumentName),
        ("p vfs_read ^var.1=@11", BadArgumentName),
        ("p vfs_read var1=@11 ^var1=@12", UsedArgumentName),
        ("p vfs_read arg1=^", NoArgumentBody),
        ("p vfs_read^%hoge", BadAddressSuffix),
        ("p ^vfs_read+10%return", BadReturnProbe),
        ("p vfs_read ^$arg*", NoTypes),
    ] {
        check(marked, reason);
    }
    let long = std::format!(
        "p vfs_read ^{}@1234{}",
        "+1234567(".repeat(26),
        ")".repeat(26)
    );
    assert_eq!(check(&long, ArgumentTooLong), Errno::TooLong);
}

#[test]
fn more_errors() {
    use Reason::*;
    for (marked, reason, errno) in [
        ("p ^twice", NotUnique, Errno::Invalid),
        ("p ^vfs_read+4294967296", BadProbeAddress, Errno::Invalid),
        ("p vfs_read ^foo", NoTypes, Errno::NotSupported),
        ("p vfs_read+4 ^foo", NoTypes, Errno::Invalid),
        (
            "p vfs_read ^(task_struct)foo->pid",
            NoTypes,
            Errno::NotSupported,
        ),
        ("p vfs_read +8(^$foo)", BadVariable, Errno::Invalid),
        ("p vfs_read +-8^($foo)", BadVariable, Errno::Invalid),
        ("p vfs_read +u-^8($foo)", BadVariable, Errno::Invalid),
        ("p vfs_read+4 ^$arg1", NotAtEntry, Errno::Invalid),
        ("p vfs_read+4 x=^$arg1", NotAtEntry, Errno::Invalid),
        ("p vfs_read $arg* ^$arg*", ArgumentsTwice, Errno::Invalid),
        ("p vfs_read ^$argx", BadVariable, Errno::Invalid),
        ("p vfs_read ^$stackx", BadVariable, Errno::Invalid),
        ("p vfs_read ^$current->pid", BadVariable, Errno::Invalid),
        (
            "p vfs_read ^@99999999999999999999",
            BadMemoryAddress,
            Errno::Range,
        ),
        ("p vfs_read $comm:^u8", NeedsStringType, Errno::Invalid),
        ("p vfs_read $stack:^u8@somewhere", BadType, Errno::Invalid),
        (
            "p vfs_read $comm:^string[2]",
            NeedsStringType,
            Errno::Invalid,
        ),
        ("p vfs_read %di:^symstr[2]", BadString, Errno::Invalid),
        ("p vfs_read %di:^u8[2]", BadString, Errno::Invalid),
        ("p vfs_read $comm=^%di", BadArgumentName, Errno::Invalid),
        (
            "p vfs_read ^common_pid=%di",
            UsedArgumentName,
            Errno::Invalid,
        ),
        (
            "p vfs_read this_cpu_ptr(^%xx)",
            BadRegisterName,
            Errno::Invalid,
        ),
        (
            "p vfs_read this_cpu_ptr(@x^",
            DereferenceOpen,
            Errno::Invalid,
        ),
        ("p vfs_read @11:^b0@0/8", BadBitfield, Errno::Invalid),
        ("p vfs_read @11:^b4@5/8", BadBitfield, Errno::Invalid),
        (
            "p vfs_read @11:^b18446744073709551615@2/8",
            BadBitfield,
            Errno::Invalid,
        ),
        ("p vfs_read ^$stack2049", BadStackNumber, Errno::Invalid),
        ("p vfs_read @11:^b4@0/9", BadType, Errno::Invalid),
        ("p vfs_read -^-1(%di)", BadDereferenceOffset, Errno::Invalid),
    ] {
        // The last two marks are beside the place, as in C.
        let marked = match marked {
            "p vfs_read $comm=^%di" => "p vfs_read ^$comm=%di",
            "p vfs_read -^-1(%di)" => "p vfs_read ^--1(%di)",
            marked => marked,
        };
        assert_eq!(check(marked, reason), errno, "{marked}");
    }
    let many = "p vfs_read".to_string() + &" \\1".repeat(ARGUMENTS_MAX);
    assert!(Event::parse(&many).is_ok());
    let refused = refusal(&(many + " \\1"));
    assert_eq!((refused.reason, refused.word), (TooManyArguments, 2));
    assert_eq!(refused.errno, Errno::TooLong);
    let big = "p vfs_read".to_string() + &" +0(%di):u64[64]".repeat(7);
    assert_eq!(refusal(&big).reason, EventTooBig);
    // Eight reads of per-CPU memory in each other are as many operations as there may be, and more.
    let nested = |depth: usize| {
        let open = "this_cpu_read(".repeat(depth);
        std::format!("p vfs_read {open}%di{}", ")".repeat(depth))
    };
    assert!(Event::parse(&nested(7)).is_ok());
    assert_eq!(refusal(&nested(8)).reason, TooManyOps);
}

#[test]
fn of_another_kind() {
    for line in [
        "",
        "p",
        "x:foo vfs_read",
        "-:foo",
        "p /bin/sh:0x10",
        "!p:foo vfs_read",
    ] {
        assert!(
            matches!(Event::parse(line), Err(DefinitionError::OtherKind)),
            "{line}"
        );
    }
}

#[test]
fn definitions() {
    let parse = |line: &'static str| Definition::parse(words(line.as_bytes()), &World).expect(line);
    let name = |line| {
        let definition = parse(line);
        let Place::Symbol { symbol, offset } = definition.place else {
            panic!("{line}");
        };
        text(|out| definition.write_name(symbol, offset, out))
    };
    let all = parse("r10:grp-1/ev vfs_read");
    assert!(all.is_return && all.maxactive == 10 && all.spot == Spot::Return);
    assert_eq!(
        (all.group, all.event),
        (Some(&b"grp-1"[..]), Some(&b"ev"[..]))
    );
    let none = parse("p vfs_read+0x10");
    assert_eq!(
        (none.group, none.event, none.spot),
        (None, None, Spot::Inside)
    );
    let symbol = b"vfs_read";
    assert_eq!(none.place, Place::Symbol { symbol, offset: 16 });
    assert_eq!(parse("p:grp/ vfs_read").group, Some(&b"grp"[..]));
    assert_eq!(parse("p:grp.ev vfs_read").event, Some(&b"ev"[..]));
    assert!(parse("p vfs_read%return").is_return);
    assert_eq!(parse("p 0x1234").place, Place::Address(0x1234));
    assert_eq!(name("p vfs_read+0x10"), "p_vfs_read_16");
    assert_eq!(name("r vfs_read"), "r_vfs_read_0");
    assert_eq!(name("p mod:a.b"), "p_mod_a_b_0");
}

#[test]
fn functions() {
    use super::function::Definition;
    let parse = |line: &'static str| Definition::parse(words(line.as_bytes()));
    let name = |line| text(|out| parse(line).expect(line).write_name(out));
    let all = parse("f:grp/ev vfs_*%return $arg1").unwrap();
    assert!(all.is_return && !all.is_tracepoint && all.spot() == Spot::Return);
    assert_eq!(
        (all.group, all.event, all.target),
        (Some(&b"grp"[..]), Some(&b"ev"[..]), &b"vfs_*"[..])
    );
    assert_eq!(name("f vfs_read"), "vfs_read__entry");
    assert_eq!(name("f vfs_read a=$retval:s32"), "vfs_read__exit");
    assert_eq!(name("f vfs_read $retvals"), "vfs_read__entry");
    assert_eq!(name("f vfs_rea*"), "vfs_rea___entry");
    assert_eq!(name("f *vfs_r?a[d]"), "*vfs_r?a[d]__entry");
    assert_eq!(name("f <a::B<[u8]>>::c*"), "_a__B__u8_____c___entry");
    assert_eq!(name("t 9p_msg"), "_9p_msg");
    // A name has at most 63 bytes, with what is put in front.
    let digit: &'static str = std::format!("t 9{}", "p".repeat(80)).leak();
    assert_eq!(name(digit), std::format!("_9{}", "p".repeat(61)));
    let letter: &'static str = std::format!("t {}", "p".repeat(80)).leak();
    assert_eq!(name(letter), "p".repeat(63));
    assert_eq!(parse("p vfs_read"), Err(DefinitionError::OtherKind));
    assert_eq!(parse("f"), Err(DefinitionError::OtherKind));
    for (line, reason, word, offset) in [
        ("f7 vfs_read%return", Reason::BadMaxActive, 0, 1),
        ("f:ev vfs_read%hoge", Reason::BadAddressSuffix, 1, 8),
        ("t kfree%return", Reason::BadAddressSuffix, 1, 5),
        ("t kmem/kfree", Reason::BadTracepointName, 1, 4),
        ("t kfree \\1 a=$retval", Reason::ReturnedAtEntry, 3, 2),
        ("f: vfs_read", Reason::NoEventName, 0, 2),
    ] {
        let refused = Refused::new(reason, offset).in_word(word);
        assert_eq!(
            parse(line),
            Err(DefinitionError::Refused(refused)),
            "{line}"
        );
    }
}

#[test]
fn attached() {
    use super::attached::Definition;
    let parse = |line: &'static str| Definition::parse(words(line.as_bytes()));
    let all = parse("e:grp/ev sched/sched_switch a=$prev_pid if prev_pid == 0").unwrap();
    assert_eq!((all.group, all.event), (Some(&b"grp"[..]), &b"ev"[..]));
    assert_eq!(
        (all.of_system, all.of_event),
        (&b"sched"[..], &b"sched_switch"[..])
    );
    assert_eq!((all.arguments, all.filter), (1, Some(4)));
    let plain = parse("e sched.sched_switch a=$prev_pid b=prev_comm").unwrap();
    assert_eq!((plain.group, plain.event), (None, &b"sched_switch"[..]));
    assert_eq!((plain.arguments, plain.filter), (2, None));
    let many = |count| std::format!("e a.b{} if c", " d=$e".repeat(count));
    assert_eq!(
        Definition::parse(words(many(128).as_bytes()))
            .unwrap()
            .arguments,
        128
    );
    let refused = Refused::new(Reason::TooManyArguments, 0)
        .in_word(2)
        .with(Errno::TooLong);
    assert_eq!(
        Definition::parse(words(many(129).as_bytes())),
        Err(DefinitionError::Refused(refused))
    );
    let refused = Refused::new(Reason::NoEventInfo, 0).in_word(1);
    for line in ["e a.", "e ab"] {
        assert_eq!(
            parse(line),
            Err(DefinitionError::Refused(refused)),
            "{line}"
        );
    }
    for (line, reason, offset) in [
        ("e .b", Reason::NoGroupName, 0),
        ("e a.1", Reason::BadEventName, 2),
    ] {
        let refused = refused.because(Refused::new(reason, offset));
        assert_eq!(
            parse(line),
            Err(DefinitionError::Refused(refused)),
            "{line}"
        );
    }
}

#[test]
fn fields_of_entries() {
    use super::program::{Field, FieldValue};
    let mut entry = [0_u8; 24];
    entry[8..12].copy_from_slice(&(-3_i32).to_ne_bytes());
    entry[12..16].copy_from_slice(&(4_u32 << 16 | 20).to_ne_bytes());
    let value = |offset, value| Field { offset, value }.value(&entry);
    let number = FieldValue::number;
    let address = |at: usize| entry[at..].as_ptr() as u64;
    assert_eq!(value(8, number(4, true)), -3_i64 as u64);
    assert_eq!(value(8, number(4, false)), 0xffff_fffd);
    assert_eq!(value(8, number(1, false)), 0xfd);
    assert_eq!(value(8, number(1, true)), 0xfd);
    assert_eq!(value(8, number(2, true)), -3_i64 as u64);
    assert_eq!(value(20, number(8, false)), 0);
    assert_eq!(value(8, FieldValue::Address), address(8));
    assert_eq!(value(12, FieldValue::Elsewhere), address(20));
    assert_eq!(value(12, FieldValue::Behind), 0);
}

#[test]
fn removals() {
    let parse = |head: &'static str| {
        Removal::parse(head.as_bytes()).map(|removal| (removal.group, removal.event))
    };
    assert_eq!(parse("-:ev"), Some((None, &b"ev"[..])));
    assert_eq!(parse("-:grp/ev"), Some((Some(&b"grp"[..]), &b"ev"[..])));
    assert_eq!(parse("-:grp/"), Some((Some(&b"grp"[..]), &b""[..])));
    assert_eq!(parse("!p:ev"), Some((None, &b"ev"[..])));
    for head in ["-", "-ev", "-:", "!p"] {
        assert_eq!(parse(head), None, "{head}");
    }
}

#[test]
fn names_of_directory_entries() {
    let dentry = Dentry {
        name: 40,
        of_file: 72,
    };
    let expand = |word: &str| text(|out| dentry.expand(word.as_bytes(), out).map(drop));
    assert_eq!(expand("$arg1:%pd"), "+0x0(+0x28($arg1)):string");
    assert_eq!(expand("n=$arg1:%pD"), "n=+0x0(+0x28(+0x48($arg1))):string");
    assert_eq!(expand("$arg1:u8"), "");
    assert!(Event::parse("p vfs_read +0x0(+0x28(+0x48($arg1))):string").is_ok());
}

/// What there is at a hit.
#[derive(Default)]
struct Hit {
    memory: BTreeMap<u64, u8>,
}

impl Hit {
    fn with(parts: &[(u64, &[u8])]) -> Self {
        let mut hit = Self::default();
        for (start, bytes) in parts {
            for (address, byte) in (*start..).zip(*bytes) {
                hit.memory.insert(address, *byte);
            }
        }
        hit
    }

    fn string(&self, address: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for address in address.. {
            match self.memory.get(&address)? {
                0 => break,
                byte => text.push(*byte),
            }
        }
        text.push(0);
        Some(text)
    }

    fn text_of(&self, of: TextOf, address: u64) -> Option<Vec<u8>> {
        match of {
            TextOf::Symbol => Some(std::format!("sym_{address:x}\0").into_bytes()),
            TextOf::Kernel => self.string(address),
            // The user's addresses are others.
            TextOf::User => self.string(address | 1 << 32),
        }
    }
}

impl Source for &Hit {
    fn register(&self, at: u16) -> u64 {
        if at == 112 {
            0x100
        } else {
            0xffff_ffff_ffff_fff0
        }
    }

    fn stack(&self, at: u32) -> u64 {
        0x5000 + u64::from(at)
    }

    fn stack_pointer(&self) -> u64 {
        0x7000
    }

    fn returned(&self) -> u64 {
        -2_i64 as u64
    }

    fn comm(&self) -> u64 {
        0x300
    }

    fn current(&self) -> u64 {
        0x9000
    }

    fn argument(&self, at: u16) -> u64 {
        0x100 * (u64::from(at) + 1)
    }

    fn saved(&self, at: u16) -> u64 {
        0x40 + u64::from(at)
    }

    fn symbol(&self, argument: usize) -> u64 {
        0x400 + argument as u64
    }

    fn in_file(&self, offset: u64) -> u64 {
        0x50_0000_u64.wrapping_add(offset)
    }

    fn this_cpu(&self, address: u64) -> u64 {
        address + 0x10
    }

    fn read(&self, user: bool, address: u64, to: &mut [u8]) -> bool {
        let base = address | u64::from(user) << 32;
        for (at, byte) in to.iter_mut().enumerate() {
            match self.memory.get(&(base.wrapping_add(at as u64))) {
                Some(value) => *byte = *value,
                None => return false,
            }
        }
        true
    }

    fn text_length(&self, of: TextOf, address: u64) -> usize {
        self.text_of(of, address).map_or(0, |text| text.len())
    }

    fn text(&self, of: TextOf, address: u64, to: &mut [u8]) -> usize {
        let Some(text) = self.text_of(of, address) else {
            return 0;
        };
        let length = text.len().min(to.len());
        to[..length].copy_from_slice(&text[..length]);
        to[length - 1] = 0;
        length
    }
}

/// [`Event::hit`] compares those with what the general way stores.
#[test]
fn numbers_without_steps_are_plain() {
    let is_plain = |line: &str| {
        let event = Event::parse(line).unwrap();
        let mut programs = event.arguments.iter().map(|argument| &argument.program);
        programs.all(|program| program.plain(0).is_some())
    };
    assert!(is_plain(
        "p vfs_read %si:u16 $arg1:u32 %si:u8 $arg2 %di:u16 %si:u8"
    ));
    assert!(is_plain("r vfs_read $retval $arg1:u8"));
    for other in ["+0(%di)", "+0(%di):string", "+0(%di):u8[3]", "%di:b4@4/8"] {
        assert!(!is_plain(&std::format!("p vfs_read {other}")), "{other}");
    }
}

#[test]
fn what_is_recorded() {
    let pointers = [0x200_u64.to_ne_bytes(), 0x208_u64.to_ne_bytes()].concat();
    let at = Hit::with(&[
        (0x100, &[0x8f, 0xff, 0x34, 0x12, 5, 6, 7, 8]),
        (0x108, &pointers),
        (0x200, b"hello\0"),
        (0x208, b"you\0"),
        (0x300, b"sh\0"),
        (0x401, &0x1234_u64.to_ne_bytes()),
        (1 << 32 | 0x100, b"user\0abc"),
    ]);
    for (arguments, expected) in [
        ("%di", "arg1=0x100"),
        ("a=%di:u8 b=$stack3:s32", "a=0 b=20483"),
        ("$stack $current", "arg1=0x7000 arg2=0x9000"),
        ("%si:s8 %si:x8 %si:u16", "arg1=-16 arg2=0xf0 arg3=65520"),
        (
            "%si:u16 $arg1:u32 %si:u8 $arg2 %di:u16 %si:u8",
            "arg1=65520 arg2=256 arg3=240 arg4=0x200 arg5=256 arg6=240",
        ),
        ("\\-1:s64 \\0x7f:char", "arg1=-1 arg2='\x7f'"),
        (
            "+0(%di):u8 +0(%di):s8 +1(%di):x16",
            "arg1=143 arg2=-113 arg3=0x34ff",
        ),
        ("+0(%di):u16[3]", "arg1={65423,4660,1541}"),
        // Elements that are not there are 0.
        ("+0x116(\\0):x8[4]", "arg1={0x0,0x0,0x0,0x0}"),
        (
            "+0(%di):b4@4/8 +0(%di):b4@0/8 +0(%di):b12@4/16",
            "arg1=8 arg2=15 arg3=4088",
        ),
        ("+0(+8(%di)):string", "arg1=\"hello\""),
        ("+8(%di):string[2]", "arg1={\"hello\",\"you\"}"),
        (
            "+8(%di):string[3] +0($arg1):u8",
            "arg1={\"hello\",\"you\",(fault)} arg2=143",
        ),
        ("+0(%si):string +0(%si):u32", "arg1=(fault) arg2=0"),
        ("+0(+0(%si)):u8", "arg1=0"),
        ("$comm comm=$COMM:string", "arg1=\"sh\" comm=\"sh\""),
        ("\\\"text\" b=$comm", "arg1=\"text\" b=\"sh\""),
        (
            "+0(%di):ustring +u0(%di):string +u5(%di):char",
            "arg1=\"user\" arg2=\"user\" arg3='a'",
        ),
        ("%di:symstr %di:symbol", "arg1=\"sym_100\" arg2=0x100"),
        ("\\0x1004:symbol", "arg1=vfs_read+0x4/0x190"),
        ("\\1 @somewhere", "arg1=0x1 arg2=0x1234"),
        (
            "this_cpu_ptr(%di) this_cpu_read(%di)",
            "arg1=0x110 arg2=0x208",
        ),
        // Of a symbol the address is wanted.
        ("this_cpu_ptr(@somewhere)", "arg1=0x410"),
        ("$arg3 -0x1f0($arg3):u8[1]", "arg1=0x300 arg2={8}"),
    ] {
        let line = std::format!("p vfs_read {arguments}");
        let event = Event::parse(&line).unwrap_or_else(|no| panic!("{line}: {no:?}"));
        let expected = std::format!("ev: (vfs_read+0x4/0x190) {expected}\n");
        assert_eq!(event.hit(&at), expected, "{line}");
    }
    let event = Event::parse("r vfs_read $retval:s32 a=$arg2 b=$arg7 c=$arg2").unwrap();
    assert_eq!(event.saved.numbers(), [1, 6]);
    assert_eq!(
        event.hit(&at),
        "ev: (ksys_read+0x0/0x190 <- vfs_read) arg1=-2 a=0x40 b=0x41 c=0x40\n"
    );
}

#[test]
fn layouts() {
    let event = Event::parse("p vfs_read a=%di:s8 b=+0(%di):string c=%di:x64").unwrap();
    let offsets: Vec<_> = event
        .arguments
        .iter()
        .map(|a| (a.offset, a.size()))
        .collect();
    assert_eq!(offsets, [(0, 1), (1, 4), (5, 8)]);
    assert_eq!(
        text(|out| layout::write_print_fmt(event.kind(), event.named(), out)),
        r#""(%lx) a=%d b=\"%s\" c=0x%Lx", REC->__probe_ip, REC->a, __get_str(b), REC->c"#
    );
    let event = Event::parse("r vfs_read a=+0($retval):u16[2] b=+0($retval):string[2]").unwrap();
    assert_eq!(
        text(|out| layout::write_print_fmt(event.kind(), event.named(), out)),
        concat!(
            r#""(%lx <- %lx) a={%u,%u} b={\"%s\",\"%s\"}", REC->__probe_func, "#,
            r#"REC->__probe_ret_ip, REC->a[0], REC->a[1], __get_str(b[0]), __get_str(b[1])"#
        )
    );
    let types: Vec<_> = event
        .arguments
        .iter()
        .map(|argument| text(|out| layout::write_type(argument, out)))
        .collect();
    assert_eq!(types, ["u16[2]", "__data_loc char[][2]"]);
}

proptest::proptest! {
    /// Whatever is written is taken or refused, and what is taken can be recorded and printed.
    #[test]
    fn never_panics(
        line in "[pr]([0-9]{0,2})(:[a-z./]{0,5})? (vfs_read|do_exit|twice|0x[0-9]{2})( [-+@%$\\\\\"=:()\\[\\]a-z0-9]{0,30}){0,4}"
    ) {
        if let Ok(event) = Event::parse(&line) {
            event.hit(&Hit::default());
        }
    }
}
