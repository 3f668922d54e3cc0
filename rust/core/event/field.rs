// SPDX-License-Identifier: GPL-2.0

//! The fields of an entry, in the form that filters use.
//!
//! An event's own fields come from its class: name, C type, offset, size and sign.
//! [`Kind::of_type`] decides from the C type how the bytes are read. Every event also has the
//! common fields ([`COMMON`]), and fields that are not in the entry ([`GENERIC`]). A name is looked
//! up first in the event's own fields, then in the generic ones, then in the common ones.

use crate::core::format::event::write_type;
use crate::core::format::LineBuf;

/// How the bytes of a field are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number of 1, 2, 4 or 8 bytes. For any other size every comparison fails.
    Number,
    /// `char name[N]`, up to its first NUL. Without `N` it reaches to the end of the entry.
    Array,
    /// `__data_loc char[]`: a word with the text's offset in the entry and its length.
    DataLoc,
    /// `__rel_loc char[]`: the same, but the offset counts from the end of the word.
    RelLoc,
    /// `char *`: the address of a text in kernel memory or, with `.ustring`, in the task's memory.
    Pointer,
    /// The address of a traced function. Otherwise it is a number.
    Function,
    /// `__data_loc cpumask_t`.
    CpuMask,
    /// The name of the current task.
    Comm,
    /// The CPU of the event.
    Cpu,
    /// The stack. A filter cannot use it.
    Stacktrace,
}

impl Kind {
    /// The kind of a field of C type `name`. Attributes do not matter.
    pub fn of_type(name: &[u8]) -> Self {
        let has = |part: &[u8]| name.windows(part.len()).any(|found| found == part);
        if has(b"__data_loc") && has(b"char") {
            Self::DataLoc
        } else if has(b"__data_loc") && has(b"cpumask_t") {
            Self::CpuMask
        } else if has(b"__rel_loc") && has(b"char") {
            Self::RelLoc
        } else if has(b"[") && has(b"char") {
            Self::Array
        } else if is_text_pointer(name) {
            Self::Pointer
        } else {
            Self::Number
        }
    }

    /// Whether a filter compares it with a quoted text, not with a number.
    pub const fn is_text(self) -> bool {
        matches!(
            self,
            Self::Array | Self::DataLoc | Self::RelLoc | Self::Pointer | Self::Comm
        )
    }
}

/// Whether C type `name` is that of an address of a text, such as `char __attribute__((x)) *`.
fn is_text_pointer(name: &[u8]) -> bool {
    const TYPES: [&[u8]; 2] = [b"char *", b"const char *"];
    if !name.ends_with(b"*") || TYPES.contains(&name) {
        return TYPES.contains(&name);
    }
    let mut room = [0; 16];
    let mut line = LineBuf::new(&mut room);
    write_type(name, &mut line).is_ok() && TYPES.contains(&line.as_bytes())
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// How its bytes are read.
    pub kind: Kind,
    /// The offset in the entry, in bytes.
    pub offset: u16,
    /// The size in bytes. 0 for a field that is not in the entry, and for one without a fixed size.
    pub size: u16,
    /// Whether the number is signed.
    pub signed: bool,
}

/// A field of every event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The name.
    pub name: &'static str,
    /// The C type.
    pub c_type: &'static str,
    /// The field.
    pub field: Field,
}

const fn shared(
    name: &'static str,
    c_type: &'static str,
    kind: Kind,
    offset: u16,
    size: u16,
    signed: bool,
) -> Shared {
    Shared {
        name,
        c_type,
        field: Field {
            kind,
            offset,
            size,
            signed,
        },
    }
}

/// Fields that are not in the entry.
pub const GENERIC: &[Shared] = &[
    shared("CPU", "int", Kind::Cpu, 0, 0, true),
    shared("cpu", "int", Kind::Cpu, 0, 0, true),
    shared("common_cpu", "int", Kind::Cpu, 0, 0, true),
    shared("COMM", "char *", Kind::Comm, 0, 0, false),
    shared("comm", "char *", Kind::Comm, 0, 0, false),
    shared("stacktrace", "char *", Kind::Stacktrace, 0, 0, false),
    shared("STACKTRACE", "char *", Kind::Stacktrace, 0, 0, false),
];

/// The common fields at the start of every entry.
pub const COMMON: &[Shared] = &[
    shared("common_type", "unsigned short", Kind::Number, 0, 2, false),
    shared("common_flags", "unsigned char", Kind::Number, 2, 1, false),
    shared(
        "common_preempt_count",
        "unsigned char",
        Kind::Number,
        3,
        1,
        false,
    ),
    shared("common_pid", "int", Kind::Number, 4, 4, true),
];

/// The field called `name` that every event has. An event's own field of that name hides it.
pub fn of_every_event(name: &[u8]) -> Option<Field> {
    shared_by_all(name).map(|shared| shared.field)
}

/// [`of_every_event`], with its name and type.
pub fn shared_by_all(name: &[u8]) -> Option<&'static Shared> {
    let mut all = GENERIC.iter().chain(COMMON);
    all.find(|shared| shared.name.as_bytes() == name)
}

#[cfg(all(test, not(CONFIG_RTRACE)))]
mod tests {
    use super::*;

    #[test]
    fn types() {
        for (name, kind) in [
            ("int", Kind::Number),
            ("unsigned long", Kind::Number),
            ("unsigned long[6]", Kind::Number),
            ("char", Kind::Number),
            ("char[16]", Kind::Array),
            ("unsigned char[6]", Kind::Array),
            ("__data_loc char[]", Kind::DataLoc),
            ("__data_loc unsigned char[]", Kind::DataLoc),
            ("__data_loc unsigned long[]", Kind::Number),
            ("__data_loc cpumask_t", Kind::CpuMask),
            ("__rel_loc char[]", Kind::RelLoc),
            ("__rel_loc u8[]", Kind::Number),
            ("char *", Kind::Pointer),
            ("const char *", Kind::Pointer),
            ("char * ", Kind::Number),
            ("const void *", Kind::Number),
            ("const char **", Kind::Number),
            (
                "const char __attribute__((btf_type_tag(\"user\"))) *",
                Kind::Pointer,
            ),
            ("char __attribute__((noderef)) *", Kind::Pointer),
            ("const char __attribute__((noderef)) **", Kind::Number),
            ("struct filename __attribute__((noderef)) *", Kind::Number),
            ("const char my__attribute__((noderef)) *", Kind::Number),
            ("const char __attribute__((noderef *", Kind::Number),
        ] {
            assert_eq!(Kind::of_type(name.as_bytes()), kind, "{name:?}");
        }
    }

    #[test]
    fn fields_of_every_event() {
        assert_eq!(of_every_event(b"common_pid").unwrap().offset, 4);
        assert_eq!(of_every_event(b"cpu").unwrap().kind, Kind::Cpu);
        assert_eq!(of_every_event(b"pid"), None);
        // Only a field outside the entry may have a kind that differs from the one of its type.
        for shared in COMMON {
            assert_eq!(Kind::of_type(shared.c_type.as_bytes()), shared.field.kind);
        }
    }
}
