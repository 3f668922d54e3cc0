// SPDX-License-Identifier: GPL-2.0

//! The built-in entries. One struct gives the layout, `format` file, reader, writer and printer of
//! each.
//!
//! Numbers, field offsets and format texts are ABI: trace-cmd, perf and libtraceevent use them to
//! read binary entries. An entry is a struct in one of the files below. It has the entry's own
//! fields, those after the [`Common`] fields. `#[derive(Entry)]` makes the rest of the description,
//! and the conversion between struct and bytes. [`Show`] defines the text in `trace`.
//!
//! To add an entry, add such a struct and a row to [`TABLE`]. To record it, pass the struct to the
//! buffer, which adds the common fields.

#[cfg(any(CONFIG_BLK_DEV_IO_TRACE, not(CONFIG_RTRACE)))]
mod blk;
mod branch;
mod function;
mod graph;
mod listed;
mod message;
#[cfg_attr(not(any(CONFIG_MMIOTRACE, not(CONFIG_RTRACE))), allow(dead_code))]
pub mod mmio;
mod noise;
mod sched;
mod stack;

#[cfg(any(CONFIG_BLK_DEV_IO_TRACE, not(CONFIG_RTRACE)))]
pub use blk::Blk;
pub use branch::Branch;
#[cfg(any(CONFIG_BRANCH_TRACER, not(CONFIG_RTRACE)))]
pub use branch::BranchSite;
pub use function::{Arguments, FuncRepeats, Function};
pub use graph::{FuncgraphEntry, FuncgraphExit, FuncgraphRetaddrEntry};
pub use listed::listed;
pub use message::{Bprint, Bputs, Print, RawData};
pub use noise::{Hwlat, Osnoise, Timerlat};
pub use rtrace_macros::Entry;
pub use sched::{ContextSwitch, Wakeup};
pub use stack::{KernelStack, UserStack, TRAMPOLINE};

use super::environment::{Error, Line};
use super::line::Form;
use super::Out;
use crate::core::parse::options::Flag;
use core::fmt;

/// The built-in types: their numbers, which are ABI and are defined only here, and whether this
/// kernel has them.
macro_rules! table {
    ($($(#[$cfg:meta])* $number:literal => $Type:ty $(, if $offered:expr)?;)*) => {
        $($(#[$cfg])* impl Number for $Type {
            const NUMBER: u16 = $number;
        })*

        /// The built-in types, sorted by number.
        pub const TABLE: &[Row] = &[$($(#[$cfg])* Row::of::<$Type>(true $(&& $offered)?)),*];
    };
}

table! {
    1 => Function;
    2 => ContextSwitch;
    3 => Wakeup;
    4 => KernelStack;
    5 => Print;
    6 => Bprint;
    7 => mmio::MmioRw;
    8 => mmio::MmioMap;
    9 => Branch;
    10 => FuncgraphExit;
    11 => FuncgraphEntry;
    12 => FuncgraphRetaddrEntry, if cfg!(CONFIG_FUNCTION_GRAPH_RETADDR);
    13 => UserStack;
    #[cfg(any(CONFIG_BLK_DEV_IO_TRACE, not(CONFIG_RTRACE)))]
    14 => Blk;
    15 => Bputs;
    16 => Hwlat;
    17 => Osnoise;
    18 => Timerlat;
    19 => RawData;
    20 => FuncRepeats;
}

const _: () = {
    let mut i = 1;
    while i < TABLE.len() {
        assert!(TABLE[i - 1].id < TABLE[i].id, "one row for a number");
        i += 1;
    }
};

const _: () = assert!(
    cfg!(target_endian = "little"),
    "entries are stored as little-endian words"
);

/// The type number of a built-in entry. The rows of [`TABLE`] implement it.
pub trait Number {
    /// The number.
    const NUMBER: u16;
}

/// A record is shorter than its type requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

impl From<Truncated> for Error {
    fn from(_: Truncated) -> Self {
        Self::Truncated
    }
}

/// One line of a `format` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The C type; for an array, the type of one element.
    pub ctype: &'static str,
    /// The name.
    pub name: &'static str,
    /// The offset in bytes from the start of the record.
    pub offset: usize,
    /// The size in bytes. 0 for the variable part, unless the format shows a length.
    pub size: usize,
    /// Whether the type (of an element) is signed. In the kernel, C's `char` is not.
    pub signed: bool,
    /// The number of elements of an array. 0 if the number varies.
    pub len: Option<usize>,
}

impl Field {
    /// Writes the line of the field in the `format` file.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write(&self, out: &mut dyn Out) -> fmt::Result {
        let Self {
            ctype,
            name,
            offset,
            size,
            ..
        } = *self;
        write!(out, "\tfield:{ctype} {name}")?;
        match self.len {
            None => {}
            Some(0) => out.bytes(b"[]")?,
            Some(len) => write!(out, "[{len}]")?,
        }
        writeln!(
            out,
            ";\toffset:{offset};\tsize:{size};\tsigned:{};",
            u8::from(self.signed)
        )
    }
}

/// An integer of an entry that is a part of a word.
pub trait ToWord: Copy {
    /// Its bits, as the lowest bits of the word.
    fn to_word(self) -> u64;
}

macro_rules! integers {
    ($($type:ident as $bits:ident,)*) => { $(
        impl ToWord for $type {
            #[inline(always)]
            fn to_word(self) -> u64 {
                self as $bits as u64
            }
        }
    )* };
}

integers! { u8 as u8, u16 as u16, u32 as u32, u64 as u64, usize as u64, i32 as u32,
i64 as u64, }

/// An entry without its tail, in the layout of the buffer.
pub trait Words: Copy {
    /// The size in bytes.
    const SIZE: usize;

    /// Writes it to the start of `bytes`. Bytes that do not fit are dropped.
    fn store(self, bytes: &mut [u8]);
}

impl<const N: usize> Words for [u64; N] {
    const SIZE: usize = 8 * N;

    #[inline]
    fn store(self, bytes: &mut [u8]) {
        for (place, word) in bytes.chunks_exact_mut(8).zip(self) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
    }
}

/// Words, and half a word after them.
impl<const N: usize> Words for ([u64; N], u32) {
    const SIZE: usize = 8 * N + 4;

    #[inline]
    fn store(self, bytes: &mut [u8]) {
        self.0.store(bytes);
        if let Some(half) = bytes.get_mut(8 * N..).and_then(<[u8]>::first_chunk_mut) {
            *half = self.1.to_ne_bytes();
        }
    }
}

/// The common fields of every entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// The number of the type.
    pub id: u16,
    /// The interrupt state: see [`super::line::flag`].
    pub flags: u8,
    /// The depths of preempt-disable (low nibble) and migrate-disable (high nibble).
    pub preempt_count: u8,
    /// The pid of the task.
    pub pid: i32,
}

impl Common {
    /// The size in bytes.
    pub const SIZE: usize = 8;

    /// The common fields in every `format` file.
    #[rustfmt::skip]
    pub const FIELDS: &'static [Field] = &[
        Field { ctype: "unsigned short", name: "common_type", offset: 0, size: 2, signed: false, len: None },
        Field { ctype: "unsigned char", name: "common_flags", offset: 2, size: 1, signed: false, len: None },
        Field { ctype: "unsigned char", name: "common_preempt_count", offset: 3, size: 1, signed: false, len: None },
        Field { ctype: "int", name: "common_pid", offset: 4, size: 4, signed: true, len: None },
    ];

    /// Reads the common fields of a record.
    ///
    /// # Errors
    ///
    /// [`Truncated`] for less than 8 bytes.
    #[inline]
    pub fn parse(record: &[u8]) -> Result<Self, Truncated> {
        let [a, b, flags, preempt_count, pid @ ..] =
            *record.first_chunk::<{ Self::SIZE }>().ok_or(Truncated)?;
        Ok(Self {
            id: u16::from_ne_bytes([a, b]),
            flags,
            preempt_count,
            pid: i32::from_ne_bytes(pid),
        })
    }

    /// The common fields as one word, as in the buffer.
    #[cfg(all(test, not(CONFIG_RTRACE)))]
    pub const fn word(self) -> u64 {
        let [a, b] = self.id.to_ne_bytes();
        let [p, q, r, s] = self.pid.to_ne_bytes();
        u64::from_ne_bytes([a, b, self.flags, self.preempt_count, p, q, r, s])
    }
}

/// A built-in type of entries: a struct of the entry's own fields. It is derived.
pub trait Entry: Copy {
    /// The stored form: the common fields, then the own fields.
    type Words: Words;

    /// The type's number.
    const ID: u16;
    /// The name, which is its directory in `events/ftrace/`.
    const NAME: &'static str;
    /// The size in bytes of a record without its tail.
    const SIZE: usize;
    /// The fields after the common ones.
    const FIELDS: &'static [Field];
    /// The `print fmt` of its `format` file.
    const PRINT: &'static str;

    /// Reads the own fields of a record.
    ///
    /// # Errors
    ///
    /// [`Truncated`] if the record is too short.
    fn parse(record: &[u8]) -> Result<Self, Truncated>;

    /// The stored form of the entry, with the common fields `header`.
    fn words(self, header: u64) -> Self::Words;

    /// The tail of a record: the bytes after the fields.
    fn tail(record: &[u8]) -> &[u8] {
        record.get(Self::SIZE..).unwrap_or(&[])
    }
}

/// The text of an entry in `trace`, after the prefix. If a type does not have a form, its text is
/// `type: number`.
pub trait Show: Entry {
    /// Whether it needs [`Env::strings`](super::environment::Env::strings).
    const NEEDS_STRINGS: bool = false;
    /// Whether it has a text. If not, only the tracer that records it prints it.
    const HAS_TEXT: bool = true;

    /// Writes the normal form, newline included.
    ///
    /// # Errors
    ///
    /// The errors of `out`, or of a tail that is too short.
    fn normal(&self, _line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        no_form::<Self>(out)
    }

    /// Writes the raw form, which shows numbers, newline included.
    ///
    /// # Errors
    ///
    /// As [`Show::normal`].
    fn raw(&self, _line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        no_form::<Self>(out)
    }

    /// Writes the words in hexadecimal digits.
    ///
    /// # Errors
    ///
    /// As [`Show::normal`].
    fn hex(&self, _line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        no_form::<Self>(out)
    }

    /// Writes the words as they are in memory.
    ///
    /// # Errors
    ///
    /// As [`Show::normal`].
    fn bin(&self, _line: &Line<'_>, out: &mut dyn Out) -> Result<(), Error> {
        no_form::<Self>(out)
    }

    /// Writes only the text, if the entry is a message.
    ///
    /// Returns `false` and writes nothing if it is not a message.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    fn message(&self, _line: &Line<'_>, _out: &mut dyn Out) -> Result<bool, fmt::Error> {
        Ok(false)
    }
}

fn no_form<E: Entry>(out: &mut dyn Out) -> Result<(), Error> {
    Ok(writeln!(out, "type: {}", E::ID)?)
}

/// Writes a record of `E` in the form that the options ask for. Returns false if its strings are
/// missing, or it has no text.
fn show<E: Show>(line: &Line<'_>, out: &mut dyn Out) -> Result<bool, Error> {
    if !E::HAS_TEXT || E::NEEDS_STRINGS && line.env.strings.is_none() {
        return Ok(false);
    }
    let set = line.env.set;
    match Form::of(set) {
        // In C, option `fields` does not know the fields of built-in types, either.
        Form::Normal if set.has(Flag::Fields) => writeln!(out, "UNKNOWN TYPE {}", E::ID)?,
        Form::Normal => E::parse(line.record)?.normal(line, out)?,
        Form::Raw => E::parse(line.record)?.raw(line, out)?,
        Form::Hex => E::parse(line.record)?.hex(line, out)?,
        Form::Bin => E::parse(line.record)?.bin(line, out)?,
    }
    Ok(true)
}

/// Writes the text of a record of `E`. Returns false if it is not a message, or its strings are
/// missing.
fn message<E: Show>(line: &Line<'_>, out: &mut dyn Out) -> Result<bool, Error> {
    Ok(E::parse(line.record)?.message(line, out)?)
}

/// Writes a `format` file from its parts.
///
/// # Errors
///
/// Only the errors of `out`.
pub fn write_format(
    out: &mut dyn Out,
    name: &str,
    id: u16,
    fields: &[Field],
    print: &str,
) -> fmt::Result {
    writeln!(out, "name: {name}\nID: {id}\nformat:")?;
    Common::FIELDS
        .iter()
        .try_for_each(|field| field.write(out))?;
    out.bytes(b"\n")?;
    fields.iter().try_for_each(|field| field.write(out))?;
    writeln!(out, "\nprint fmt: {print}")
}

/// A built-in type as a row of [`TABLE`].
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// See [`Entry::ID`].
    pub id: u16,
    /// See [`Entry::NAME`].
    pub name: &'static str,
    /// See [`Entry::FIELDS`].
    pub fields: &'static [Field],
    /// See [`Entry::PRINT`].
    pub print: &'static str,
    /// Whether this kernel has it.
    pub offered: bool,
    show: fn(&Line<'_>, &mut dyn Out) -> Result<bool, Error>,
    message: fn(&Line<'_>, &mut dyn Out) -> Result<bool, Error>,
}

impl Row {
    const fn of<E: Show>(offered: bool) -> Self {
        const {
            assert!(
                E::SIZE == <E::Words as Words>::SIZE,
                "the words are the entry"
            )
        };
        Self {
            id: E::ID,
            name: E::NAME,
            fields: E::FIELDS,
            print: E::PRINT,
            offered,
            show: show::<E>,
            message: message::<E>,
        }
    }

    /// The row of a type.
    pub fn find(id: u16) -> Option<&'static Self> {
        TABLE.iter().find(|row| row.id == id)
    }

    /// Writes the `format` file.
    ///
    /// # Errors
    ///
    /// Only the errors of `out`.
    pub fn write_format(&self, out: &mut dyn Out) -> fmt::Result {
        write_format(out, self.name, self.id, self.fields, self.print)
    }

    /// Writes a record of this type in the form that the options ask for, with its newline.
    ///
    /// Returns `false` and writes nothing if it needs strings that are missing, or has no text.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn show(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<bool, Error> {
        (self.show)(line, out)
    }

    /// Writes the text of a record of this type.
    ///
    /// Returns `false` and writes nothing if it is not a message, or needs strings that are
    /// missing.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn message(&self, line: &Line<'_>, out: &mut dyn Out) -> Result<bool, Error> {
        (self.message)(line, out)
    }
}

/// Writes words to a tail, as many as fit.
#[inline]
pub fn store_words(tail: &mut [u8], words: impl IntoIterator<Item = usize>) {
    for (place, word) in tail.chunks_exact_mut(size_of::<usize>()).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
}

/// The words of a tail.
pub fn words(tail: &[u8]) -> impl Iterator<Item = usize> + '_ {
    tail.chunks_exact(size_of::<usize>())
        .filter_map(|chunk| chunk.first_chunk().copied().map(usize::from_ne_bytes))
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::super::symbol::tests::text;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn function_format() {
        assert_eq!(
            text(|out| write_format(
                out,
                Function::NAME,
                Function::ID,
                Function::FIELDS,
                Function::PRINT
            )),
            "\
name: function
ID: 1
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned long args[];\toffset:24;\tsize:0;\tsigned:0;

print fmt: \" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip
"
        );
    }

    /// The lines between the common fields and `print fmt`.
    fn own_fields(row: &Row) -> std::string::String {
        text(|out| row.fields.iter().try_for_each(|f| f.write(out)))
    }

    #[test]
    fn other_fields() {
        let want = [
            (
                "kernel_stack",
                "\
\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;
\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;
",
            ),
            (
                "print",
                "\
\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;
\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;
",
            ),
            (
                "bprint",
                "\
\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;
\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;
\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;
",
            ),
            (
                "funcgraph_exit",
                "\
\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned long retval;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int depth;\toffset:24;\tsize:4;\tsigned:0;
\tfield:unsigned int overrun;\toffset:28;\tsize:4;\tsigned:0;
\tfield:unsigned long long calltime;\toffset:32;\tsize:8;\tsigned:0;
\tfield:unsigned long long rettime;\toffset:40;\tsize:8;\tsigned:0;
",
            ),
            (
                "branch",
                "\
\tfield:unsigned int line;\toffset:8;\tsize:4;\tsigned:0;
\tfield:char func[31];\toffset:12;\tsize:31;\tsigned:0;
\tfield:char file[21];\toffset:43;\tsize:21;\tsigned:0;
\tfield:char correct;\toffset:64;\tsize:1;\tsigned:0;
\tfield:char constant;\toffset:65;\tsize:1;\tsigned:0;
",
            ),
            (
                "hwlat",
                "\
\tfield:u64 duration;\toffset:8;\tsize:8;\tsigned:0;
\tfield:u64 outer_duration;\toffset:16;\tsize:8;\tsigned:0;
\tfield:u64 nmi_total_ts;\toffset:24;\tsize:8;\tsigned:0;
\tfield:s64 tv_sec;\toffset:32;\tsize:8;\tsigned:1;
\tfield:long tv_nsec;\toffset:40;\tsize:8;\tsigned:1;
\tfield:unsigned int nmi_count;\toffset:48;\tsize:4;\tsigned:0;
\tfield:unsigned int seqnum;\toffset:52;\tsize:4;\tsigned:0;
\tfield:unsigned int count;\toffset:56;\tsize:4;\tsigned:0;
",
            ),
            (
                "timerlat",
                "\
\tfield:unsigned int seqnum;\toffset:8;\tsize:4;\tsigned:0;
\tfield:int context;\toffset:12;\tsize:4;\tsigned:1;
\tfield:u64 timer_latency;\toffset:16;\tsize:8;\tsigned:0;
",
            ),
            (
                "funcgraph_entry",
                "\
\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned long depth;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned long args[];\toffset:24;\tsize:0;\tsigned:0;
",
            ),
            (
                "mmiotrace_rw",
                "\
\tfield:resource_size_t phys;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned long value;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned long pc;\toffset:24;\tsize:8;\tsigned:0;
\tfield:int map_id;\toffset:32;\tsize:4;\tsigned:1;
\tfield:unsigned char opcode;\toffset:36;\tsize:1;\tsigned:0;
\tfield:unsigned char width;\toffset:37;\tsize:1;\tsigned:0;
",
            ),
            (
                "user_stack",
                "\
\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;
\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;
",
            ),
            (
                "bputs",
                "\
\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;
\tfield:const char * str;\toffset:16;\tsize:8;\tsigned:0;
",
            ),
            (
                "raw_data",
                "\
\tfield:unsigned int id;\toffset:8;\tsize:4;\tsigned:0;
\tfield:char buf[];\toffset:12;\tsize:0;\tsigned:0;
",
            ),
            (
                "func_repeats",
                "\
\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;
\tfield:u16 count;\toffset:24;\tsize:2;\tsigned:0;
\tfield:u16 top_delta_ts;\toffset:26;\tsize:2;\tsigned:0;
\tfield:u32 bottom_delta_ts;\toffset:28;\tsize:4;\tsigned:0;
",
            ),
        ];
        for (name, fields) in want {
            let row = TABLE.iter().find(|row| row.name == name).unwrap();
            assert_eq!(own_fields(row), fields, "{name}");
        }
        let ids: Vec<_> = TABLE.iter().map(|row| row.id).collect();
        assert_eq!(
            ids,
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
        );
        assert_eq!(
            (Print::SIZE, RawData::SIZE, KernelStack::SIZE, Bputs::SIZE),
            (16, 12, 16, 24)
        );
    }

    /// The bytes of an entry with common fields and a tail.
    fn stored<E: Entry>(entry: E, header: Common, tail: &[u8]) -> Vec<u8> {
        let mut record = std::vec![0xee; E::SIZE];
        entry.words(header.word()).store(&mut record);
        record.extend(tail);
        record
    }

    #[test]
    fn layout_on_the_wire() {
        let header = Common {
            id: 19,
            flags: 0,
            preempt_count: 1,
            pid: 59,
        };
        let entry = RawData { id: 0x1234 };
        let record = stored(entry, header, b"ab");
        assert_eq!(
            record,
            [0x13, 0, 0, 1, 59, 0, 0, 0, 0x34, 0x12, 0, 0, b'a', b'b']
        );
        assert_eq!(RawData::parse(&record), Ok(entry));
        assert_eq!(Common::parse(&record), Ok(header));
        assert_eq!(RawData::tail(&record), b"ab");
        assert_eq!(RawData::parse(&record[..11]), Err(Truncated));
        assert_eq!(KernelStack::parse(&[0; 12]), Err(Truncated));
        // Padding is 0, whatever the memory held before.
        let stack = KernelStack { size: -2, _pad: 0 };
        assert_eq!(
            stored(stack, Common::default(), b"")[8..],
            [0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0]
        );
        let exit = FuncgraphExit {
            depth: 0x0102_0304,
            overrun: 0x1112_1314,
            ..FuncgraphExit::default()
        };
        assert_eq!(exit.words(7), [7, 0, 0, 0x1112_1314_0102_0304, 0, 0]);
    }

    #[test]
    fn numbers_are_those_of_the_rows() {
        for row in TABLE {
            assert_eq!(Row::find(row.id).map(|found| found.name), Some(row.name));
        }
        assert_eq!((Function::ID, FuncRepeats::ID, Branch::ID), (1, 20, 9));
        assert!(Row::find(21).is_none());
    }

    #[test]
    fn deltas() {
        let entry = FuncRepeats::default().with_delta(0x1234_5678_9abc);
        assert_eq!(
            (entry.top_delta_ts, entry.bottom_delta_ts),
            (0x1234, 0x5678_9abc)
        );
        assert_eq!(entry.delta(), 0x1234_5678_9abc);
    }

    #[test]
    fn branch_sites() {
        let mut entry = Branch {
            line: 567,
            ..Branch::default()
        };
        entry.func[..4].copy_from_slice(b"func");
        entry.func[30] = 1;
        entry.file = *b"a file of 21 letters.";
        let site = BranchSite::of(entry);
        for (correct, constant) in [(true, 0x100), (false, 0x1ff), (true, 7)] {
            let entry = Branch {
                correct: correct.into(),
                constant: constant as u8,
                ..entry
            };
            let words = site.words(0x1234, correct, constant);
            assert_eq!(words, entry.words(0x1234));
            assert_eq!(site.entry(correct, constant), entry);
            let mut record = [0xee; 80];
            words.store(&mut record);
            assert_eq!(Branch::parse(&record), Ok(entry));
            assert_eq!(record[66..], [&[0; 2][..], &[0xee; 12]].concat());
        }
    }

    proptest! {
        #[test]
        fn what_is_stored_is_parsed(ip: usize, tgid: u32, caller: [usize; 8], pid: i32, id: u16) {
            let entry = UserStack { tgid, _pad: 0, caller };
            let header = Common { id, pid, ..Common::default() };
            let record = stored(entry, header, b"");
            prop_assert_eq!(UserStack::parse(&record), Ok(entry));
            prop_assert_eq!(Common::parse(&record), Ok(header));
            let call = Function { ip, parent_ip: caller[0] };
            prop_assert_eq!(Function::parse(&stored(call, header, b"")), Ok(call));
        }

        #[test]
        fn short_records_are_refused(record in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(Function::parse(&record).is_ok(), record.len() >= 24);
            prop_assert_eq!(UserStack::parse(&record).is_ok(), record.len() >= 80);
            prop_assert_eq!(words(Function::tail(&record)).count(), record.len().saturating_sub(24) / 8);
        }

        #[test]
        fn no_more_is_stored_than_fits(len in 0usize..100) {
            let mut record = std::vec![0; len];
            Branch::default().words(u64::MAX).store(&mut record);
            UserStack::default().words(u64::MAX).store(&mut record);
            prop_assert!(record.iter().all(|byte| *byte == 0) == (len < 8));
        }
    }
}
