// SPDX-License-Identifier: GPL-2.0

//! The built-in records: struct, layout check, `format` file and reader, each from one description.
//!
//! Ids, field offsets and format texts are ABI: trace-cmd, perf and libtraceevent read binary
//! records by them. A description in this file yields the `#[repr(C)]` struct that the recorder
//! writes, compile-time assertions on its offsets, [`Entry::FIELDS`] for the `format` file, and
//! [`Entry::parse`] for the printers. (It is a `macro_rules!` and not a derive because kbuild
//! builds no procedural macros outside its own.)
//!
//! A struct ends in an array of length 0 where the record has a variable part, as C's flexible
//! array does.

use super::Out;
use core::fmt;
use core::mem::offset_of;

/// A record is shorter than its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

/// One line of a `format` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The C type, of one element where there are several.
    pub ctype: &'static str,
    /// The name.
    pub name: &'static str,
    /// Bytes from the record's start.
    pub offset: usize,
    /// Bytes; 0 for the variable part, unless a length is advertised.
    pub size: usize,
    /// Whether the (element) type is signed; C's `char` is not, in the kernel.
    pub signed: bool,
    /// Elements, where it is an array; 0 where their number varies.
    pub len: Option<usize>,
}

impl Field {
    /// Writes the field's line of the `format` file.
    ///
    /// # Errors
    ///
    /// Only `out`'s own.
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

/// A value of fixed size in a record, in the machine's byte order.
pub trait Value: Copy {
    /// Whether C's type is signed.
    const SIGNED: bool;
    /// Elements, where it is an array.
    const LEN: Option<usize>;

    /// Reads the value at `offset`.
    fn read(record: &[u8], offset: usize) -> Option<Self>;
    /// Writes the value at `offset`.
    fn write(self, record: &mut [u8], offset: usize) -> Option<()>;
}

macro_rules! integers {
    ($($type:ident $signed:literal;)*) => { $(
        impl Value for $type {
            const SIGNED: bool = $signed;
            const LEN: Option<usize> = None;

            fn read(record: &[u8], offset: usize) -> Option<Self> {
                record.get(offset..)?.first_chunk().copied().map(Self::from_ne_bytes)
            }

            fn write(self, record: &mut [u8], offset: usize) -> Option<()> {
                *record.get_mut(offset..)?.first_chunk_mut()? = self.to_ne_bytes();
                Some(())
            }
        }
    )* };
}

integers! { u8 false; u16 false; u32 false; u64 false; usize false; i32 true; i64 true; }

impl<T: Value + Default, const N: usize> Value for [T; N] {
    const SIGNED: bool = T::SIGNED;
    const LEN: Option<usize> = Some(N);

    fn read(record: &[u8], offset: usize) -> Option<Self> {
        let mut values = [T::default(); N];
        for (i, value) in values.iter_mut().enumerate() {
            *value = T::read(record, offset.checked_add(i.checked_mul(size_of::<T>())?)?)?;
        }
        Some(values)
    }

    fn write(self, record: &mut [u8], offset: usize) -> Option<()> {
        for (i, value) in self.into_iter().enumerate() {
            value.write(record, offset.checked_add(i.checked_mul(size_of::<T>())?)?)?;
        }
        Some(())
    }
}

/// What every record begins with.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// The type's id.
    pub id: u16,
    /// Interrupt state: see [`super::line::flag`].
    pub flags: u8,
    /// Depths of preempt-disable (low nibble) and migrate-disable (high nibble).
    pub preempt_count: u8,
    /// The task.
    pub pid: i32,
}

impl Common {
    /// The fields that every `format` file begins with.
    pub const FIELDS: &'static [Field] = &[
        field::<u16>("unsigned short", "common_type", offset_of!(Self, id)),
        field::<u8>("unsigned char", "common_flags", offset_of!(Self, flags)),
        field::<u8>(
            "unsigned char",
            "common_preempt_count",
            offset_of!(Self, preempt_count),
        ),
        field::<i32>("int", "common_pid", offset_of!(Self, pid)),
    ];

    /// Reads the start of any record.
    ///
    /// # Errors
    ///
    /// [`Truncated`] for less than 8 bytes.
    pub fn parse(record: &[u8]) -> Result<Self, Truncated> {
        let read = || {
            Some(Self {
                id: Value::read(record, offset_of!(Self, id))?,
                flags: Value::read(record, offset_of!(Self, flags))?,
                preempt_count: Value::read(record, offset_of!(Self, preempt_count))?,
                pid: Value::read(record, offset_of!(Self, pid))?,
            })
        };
        read().ok_or(Truncated)
    }

    fn store(&self, record: &mut [u8]) -> Option<()> {
        self.id.write(record, offset_of!(Self, id))?;
        self.flags.write(record, offset_of!(Self, flags))?;
        self.preempt_count
            .write(record, offset_of!(Self, preempt_count))?;
        self.pid.write(record, offset_of!(Self, pid))
    }
}

const _: () = assert!(
    size_of::<Common>() == 8 && offset_of!(Common, flags) == 2 && offset_of!(Common, pid) == 4
);

const fn field<T: Value>(ctype: &'static str, name: &'static str, offset: usize) -> Field {
    Field {
        ctype,
        name,
        offset,
        size: size_of::<T>(),
        signed: T::SIGNED,
        len: T::LEN,
    }
}

/// A built-in record type.
pub trait Entry: Sized {
    /// The id, which is ABI.
    const ID: u16;
    /// The name: its directory in `events/ftrace/`.
    const NAME: &'static str;
    /// The bytes of a record before its variable part.
    const SIZE: usize;
    /// The fields after the common ones.
    const FIELDS: &'static [Field];
    /// The `print fmt` of its `format` file.
    const PRINT: &'static str;

    /// Reads the fixed part of a record.
    ///
    /// # Errors
    ///
    /// [`Truncated`] if the record ends before.
    fn parse(record: &[u8]) -> Result<Self, Truncated>;

    /// Writes the fixed part to the start of `record`; padding stays as it was.
    ///
    /// # Errors
    ///
    /// [`Truncated`] if `record` is shorter than [`SIZE`](Self::SIZE); what it then holds is
    /// unspecified.
    fn store(&self, record: &mut [u8]) -> Result<(), Truncated>;

    /// The variable part of a record.
    fn tail(record: &[u8]) -> &[u8] {
        record.get(Self::SIZE..).unwrap_or(&[])
    }

    /// Writes the `format` file.
    ///
    /// # Errors
    ///
    /// Only `out`'s own.
    fn write_format(out: &mut dyn Out) -> fmt::Result {
        write_format(out, Self::NAME, Self::ID, Self::FIELDS, Self::PRINT)
    }
}

/// Writes a `format` file from its parts.
///
/// # Errors
///
/// Only `out`'s own.
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
}

impl Row {
    /// Writes the `format` file.
    ///
    /// # Errors
    ///
    /// Only `out`'s own.
    pub fn write_format(&self, out: &mut dyn Out) -> fmt::Result {
        write_format(out, self.name, self.id, self.fields, self.print)
    }
}

/// The words of a variable part that holds some.
pub fn words(tail: &[u8]) -> impl Iterator<Item = usize> + '_ {
    tail.chunks_exact(size_of::<usize>())
        .filter_map(|chunk| Value::read(chunk, 0))
}

/// One description per type:
///
/// ```text
///   ID "name" Struct {
///       field: type = "C type" @ offset,                          a field, offset checked on 64 bits
///       ; tail: type = "C type" [advertised elements] @ offset,   the variable part, if there is one
///   } print "text after `print fmt: `"
/// ```
macro_rules! entries {
    ($(
        $(#[$doc:meta])*
        $id:literal $name:literal $Type:ident {
            $($(#[$fdoc:meta])* $field:ident: $type:ty = $ctype:literal @ $offset:literal,)*
            $(; $(#[$tdoc:meta])* $tail:ident: $ttype:ty = $tctype:literal [$shown:literal] @ $toffset:literal,)?
        } print $print:literal
    )*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct $Type {
                /// What every record begins with.
                pub common: Common,
                $($(#[$fdoc])* pub $field: $type,)*
                $($(#[$tdoc])* pub $tail: [$ttype; 0],)?
            }

            #[cfg(target_pointer_width = "64")]
            const _: () = {
                $(assert!(offset_of!($Type, $field) == $offset);)*
                $(assert!(offset_of!($Type, $tail) == $toffset);)?
            };

            impl Entry for $Type {
                const ID: u16 = $id;
                const NAME: &'static str = $name;
                const SIZE: usize = {
                    #[allow(unused_mut, unused_assignments, reason = "reassigned for types with a tail")]
                    let mut size = size_of::<Self>();
                    $(size = offset_of!(Self, $tail);)?
                    size
                };
                const FIELDS: &'static [Field] = &[
                    $(field::<$type>($ctype, stringify!($field), offset_of!(Self, $field)),)*
                    $(Field {
                        ctype: $tctype,
                        name: stringify!($tail),
                        offset: offset_of!(Self, $tail),
                        size: size_of::<[$ttype; $shown]>(),
                        signed: <$ttype as Value>::SIGNED,
                        len: Some($shown),
                    },)?
                ];
                const PRINT: &'static str = $print;

                fn parse(record: &[u8]) -> Result<Self, Truncated> {
                    let common = Common::parse(record)?;
                    let read = || Some(Self {
                        common,
                        $($field: Value::read(record, offset_of!(Self, $field))?,)*
                        $($tail: [],)?
                    });
                    read().filter(|_| record.len() >= Self::SIZE).ok_or(Truncated)
                }

                fn store(&self, record: &mut [u8]) -> Result<(), Truncated> {
                    let mut write = || {
                        self.common.store(record)?;
                        $(self.$field.write(record, offset_of!(Self, $field))?;)*
                        record.get(..Self::SIZE).map(|_| ())
                    };
                    write().ok_or(Truncated)
                }
            }
        )*

        /// The built-in types, by id.
        pub const TABLE: &[Row] = &[$(Row {
            id: $Type::ID,
            name: $Type::NAME,
            fields: $Type::FIELDS,
            print: $Type::PRINT,
        },)*];
    };
}

entries! {
    /// A call of a function, by the function tracer.
    1 "function" Function {
        /// The function.
        ip: usize = "unsigned long" @ 8,
        /// Where it was called.
        parent_ip: usize = "unsigned long" @ 16,
        ;
        /// The function's arguments, while they are recorded.
        args: usize = "unsigned long" [0] @ 24,
    } print r#"" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip"#

    /// A CPU turned from one task to another, by the wakeup tracers.
    2 "context_switch" ContextSwitch {
        /// The task that was there, or that woke the other.
        prev_pid: u32 = "unsigned int" @ 8,
        /// The task that comes, or that is woken.
        next_pid: u32 = "unsigned int" @ 12,
        /// The CPU it is to run on.
        next_cpu: u32 = "unsigned int" @ 16,
        /// Priority of the first, the kernel's (100 and more are not real-time).
        prev_prio: u8 = "unsigned char" @ 20,
        /// State of the first; see [`state_letter`].
        prev_state: u8 = "unsigned char" @ 21,
        /// Priority of the other.
        next_prio: u8 = "unsigned char" @ 22,
        /// State of the other.
        next_state: u8 = "unsigned char" @ 23,
    } print r#""%u:%u:%u  ==> %u:%u:%u [%03u]", REC->prev_pid, REC->prev_prio, REC->prev_state, REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu"#

    /// A task woke another, by the wakeup tracers.
    3 "wakeup" Wakeup {
        /// The task that was there, or that woke the other.
        prev_pid: u32 = "unsigned int" @ 8,
        /// The task that comes, or that is woken.
        next_pid: u32 = "unsigned int" @ 12,
        /// The CPU it is to run on.
        next_cpu: u32 = "unsigned int" @ 16,
        /// Priority of the first, the kernel's (100 and more are not real-time).
        prev_prio: u8 = "unsigned char" @ 20,
        /// State of the first; see [`state_letter`].
        prev_state: u8 = "unsigned char" @ 21,
        /// Priority of the other.
        next_prio: u8 = "unsigned char" @ 22,
        /// State of the other.
        next_state: u8 = "unsigned char" @ 23,
    } print r#""%u:%u:%u  ==+ %u:%u:%u [%03u]", REC->prev_pid, REC->prev_prio, REC->prev_state, REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu"#

    /// A kernel stack. The format advertises 8 callers, but `size` tells.
    4 "kernel_stack" KernelStack {
        /// How many callers follow.
        size: i32 = "int" @ 8,
        ;
        /// The callers, innermost first; see [`TRAMPOLINE`].
        caller: usize = "unsigned long" [8] @ 16,
    } print r#""\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n", (void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]"#

    /// Text, from trace_marker or a plain trace_printk().
    5 "print" Print {
        /// Who wrote it.
        ip: usize = "unsigned long" @ 8,
        ;
        /// The text and a NUL.
        buf: u8 = "char" [0] @ 16,
    } print r#""%ps: %s", (void *)REC->ip, REC->buf"#

    /// A trace_printk() with a constant format.
    6 "bprint" Bprint {
        /// Who wrote it.
        ip: usize = "unsigned long" @ 8,
        /// The format's address, to be found in printk_formats.
        fmt: usize = "const char *" @ 16,
        ;
        /// The arguments as vbin_printf() packs them.
        buf: u32 = "u32" [0] @ 24,
    } print r#""%ps: %s", (void *)REC->ip, REC->fmt"#

    /// A condition that is marked as likely or unlikely was looked at, by the branch tracer.
    9 "branch" Branch {
        /// The line.
        line: u32 = "unsigned int" @ 8,
        /// The function's name, up to a NUL.
        func: [u8; 31] = "char" @ 12,
        /// The file's name without its path, up to a NUL.
        file: [u8; 21] = "char" @ 43,
        /// 1 if it was as marked.
        correct: u8 = "char" @ 64,
        /// Not 0 if the compiler knew the condition.
        constant: u8 = "char" @ 65,
    } print r#""%u:%s:%s (%u)%s", REC->line, REC->func, REC->file, REC->correct, REC->constant ? " CONSTANT" : """#

    /// A traced function returned.
    10 "funcgraph_exit" FuncgraphExit {
        /// The function.
        func: usize = "unsigned long" @ 8,
        /// What it returned.
        retval: usize = "unsigned long" @ 16,
        /// Traced functions around it.
        depth: u32 = "unsigned int" @ 24,
        /// Functions of the task that were not traced for want of room.
        overrun: u32 = "unsigned int" @ 28,
        /// When it was entered.
        calltime: u64 = "unsigned long long" @ 32,
        /// When it returned.
        rettime: u64 = "unsigned long long" @ 40,
    } print r#""<-- %ps (%u) (start: %llx  end: %llx) over: %u retval: %lx", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth, REC->retval"#

    /// A function was entered that is traced until it returns.
    11 "funcgraph_entry" FuncgraphEntry {
        /// The function.
        func: usize = "unsigned long" @ 8,
        /// Traced functions around it.
        depth: usize = "unsigned long" @ 16,
        ;
        /// The function's arguments, while they are recorded.
        args: usize = "unsigned long" [0] @ 24,
    } print r#""--> %ps (%lu)", (void *)REC->func, REC->depth"#

    /// The stack of the task in user space.
    13 "user_stack" UserStack {
        /// The task's thread group.
        tgid: u32 = "unsigned int" @ 8,
        /// The callers, innermost first, 0 after the last.
        caller: [usize; 8] = "unsigned long" @ 16,
    } print r#""\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n", (void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]"#

    /// A trace_puts() of a constant string.
    15 "bputs" Bputs {
        /// Who wrote it.
        ip: usize = "unsigned long" @ 8,
        /// The string's address, to be found in printk_formats.
        str: usize = "const char *" @ 16,
    } print r#""%ps: %s", (void *)REC->ip, REC->str"#

    /// Bytes, from trace_marker_raw.
    19 "raw_data" RawData {
        /// The writer's tag.
        id: u32 = "unsigned int" @ 8,
        ;
        /// The bytes.
        buf: u8 = "char" [0] @ 12,
    } print r#""id:%04x %08x", REC->id, (int)REC->buf[0]"#

    /// Equal function records that followed each other, compressed.
    20 "func_repeats" FuncRepeats {
        /// The function.
        ip: usize = "unsigned long" @ 8,
        /// Where it was called.
        parent_ip: usize = "unsigned long" @ 16,
        /// How often more than once.
        count: u16 = "u16" @ 24,
        /// Time from the last call to this record, upper half; see [`FuncRepeats::delta`].
        top_delta_ts: u16 = "u16" @ 26,
        /// Time from the last call to this record, lower half.
        bottom_delta_ts: u32 = "u32" @ 28,
    } print r#"" %ps <-%ps\t(repeats:%u  delta: -%llu)", (void *)REC->ip, (void *)REC->parent_ip, REC->count, (((u64)(REC)->top_delta_ts << 32) | (REC)->bottom_delta_ts)"#
}

/// How many of a function's arguments a [`Function`] record has, where it has any.
pub const ARGUMENTS: usize = 6;

/// The letter of a task state in [`ContextSwitch`] and [`Wakeup`] records, `?` where there is no
/// such state.
pub fn state_letter(state: u8) -> u8 {
    b"RSDTtXZPI"
        .get(usize::from(state))
        .copied()
        .unwrap_or(b'?')
}

/// A caller of [`KernelStack`] that stands for some ftrace trampoline.
pub const TRAMPOLINE: usize = i32::MAX as usize;

impl FuncRepeats {
    /// The time from the last call to this record, in clock units.
    pub fn delta(&self) -> u64 {
        u64::from(self.top_delta_ts) << 32 | u64::from(self.bottom_delta_ts)
    }

    /// Sets that time; 48 bits of it are kept.
    pub fn set_delta(&mut self, delta: u64) {
        // Both truncations take the part that the field is for.
        self.top_delta_ts = (delta >> 32) as u16;
        self.bottom_delta_ts = delta as u32;
    }
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
            text(Function::write_format),
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
                "funcgraph_entry",
                "\
\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned long depth;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned long args[];\toffset:24;\tsize:0;\tsigned:0;
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
        assert_eq!(ids, [1, 2, 3, 4, 5, 6, 9, 10, 11, 13, 15, 19, 20]);
        assert_eq!(
            (Print::SIZE, RawData::SIZE, KernelStack::SIZE, Bputs::SIZE),
            (16, 12, 16, 24)
        );
    }

    #[test]
    fn layout_on_the_wire() {
        let entry = RawData {
            common: Common {
                id: 19,
                flags: 0,
                preempt_count: 1,
                pid: 59,
            },
            id: 0x1234,
            buf: [],
        };
        let mut record = [0xee; 14];
        entry.store(&mut record).unwrap();
        record[12..].copy_from_slice(b"ab");
        assert_eq!(
            record,
            [0x13, 0, 0, 1, 59, 0, 0, 0, 0x34, 0x12, 0, 0, b'a', b'b']
        );
        assert_eq!(RawData::parse(&record), Ok(entry));
        assert_eq!(RawData::tail(&record), b"ab");
        assert_eq!(RawData::parse(&record[..11]), Err(Truncated));
        assert_eq!(entry.store(&mut [0; 11]), Err(Truncated));
        assert_eq!(KernelStack::parse(&[0; 12]), Err(Truncated));
    }

    #[test]
    fn deltas() {
        let mut entry = FuncRepeats::default();
        entry.set_delta(0x1234_5678_9abc);
        assert_eq!(
            (entry.top_delta_ts, entry.bottom_delta_ts),
            (0x1234, 0x5678_9abc)
        );
        assert_eq!(entry.delta(), 0x1234_5678_9abc);
    }

    proptest! {
        #[test]
        fn what_is_stored_is_parsed(ip: usize, tgid: u32, caller: [usize; 8], pid: i32, id: u16) {
            let entry = UserStack { common: Common { id, pid, ..Common::default() }, tgid, caller };
            let mut record = [0; UserStack::SIZE];
            entry.store(&mut record).unwrap();
            prop_assert_eq!(UserStack::parse(&record), Ok(entry));
            let call = Function { ip, parent_ip: caller[0], ..Function::default() };
            call.store(&mut record).unwrap();
            prop_assert_eq!(Function::parse(&record), Ok(call));
        }

        #[test]
        fn short_records_are_refused(record in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(Function::parse(&record).is_ok(), record.len() >= 24);
            prop_assert_eq!(UserStack::parse(&record).is_ok(), record.len() >= 80);
            prop_assert_eq!(words(Function::tail(&record)).count(), record.len().saturating_sub(24) / 8);
        }
    }
}
