// SPDX-License-Identifier: GPL-2.0

//! The fields of an event's entries: those that its class has in an array, and those that are
//! defined one by one (`trace_define_field()`).

use super::{Call, COMMON};
use crate::core::event::field::Kind;
use core::ptr::null_mut;
use kernel::alloc::Flags;
use kernel::bindings;
use kernel::error::to_result;
use kernel::prelude::*;

impl Call {
    /// Its fields, without the common ones. Task context.
    pub(crate) fn fields(&self) -> Fields<'_> {
        // SAFETY: the class lives as long as the event.
        let row = unsafe { (*self.class()).fields_array };
        let list = self.field_list();
        Fields {
            row,
            // SAFETY: the list's head is initialised.
            node: unsafe { (*list).prev },
            list,
            offset: COMMON,
            _call: self,
        }
    }

    /// The entry at `entry`, as far as its fields reach. Any context.
    ///
    /// # Safety
    ///
    /// `entry` is a complete entry of this event, which does not change for the lifetime that the
    /// caller picks.
    pub(crate) unsafe fn entry_at<'a>(&self, entry: *const u8) -> &'a [u8] {
        let end = self.fields().fold(COMMON, |end, field| {
            // SAFETY: `entry` is complete, and has this field.
            let data = Dynamic::of(&field).map_or(0, |dynamic| unsafe { dynamic.end_in(entry) });
            end.max(field.offset.wrapping_add(field.size)).max(data)
        });
        // SAFETY: a complete entry reaches as far as its fields do.
        unsafe { core::slice::from_raw_parts(entry, end) }
    }

    /// The list of fields that were defined one by one, the last one first.
    fn field_list(&self) -> *mut bindings::list_head {
        let class = self.class();
        // SAFETY: the class lives as long as the event; the function gives a list that does, too.
        unsafe {
            match (*class).get_fields {
                Some(get) => get(self.as_ptr()),
                None => &raw mut (*class).fields,
            }
        }
    }

    /// Calls the class's function that defines fields, if it has one. Once, before the event is
    /// known. Task context, may sleep.
    pub(super) fn define_fields(&self) -> Result {
        let mut row = self.fields().row;
        let list = self.field_list();
        // SAFETY: the array ends with a row without a type; a row with this type has a function.
        unsafe {
            if (*list).next != list {
                return Ok(());
            }
            while !row.is_null() && !(*row).type_.is_null() {
                if (*row).type_ as usize == usize::MAX {
                    return match (*row).__bindgen_anon_1.define_fields {
                        Some(define) => to_result(define(self.as_ptr())),
                        None => Ok(()),
                    };
                }
                row = row.add(1);
            }
        }
        Ok(())
    }

    /// Defines one more field, in memory with flags that let it sleep. Task context. `ENOMEM`.
    ///
    /// # Safety
    ///
    /// Nobody looks at the fields of this event's class; the texts live as long as that.
    pub(crate) unsafe fn define_field(&self, field: RawField, memory: Flags) -> Result {
        let list = self.field_list();
        let node = KBox::new(
            Node {
                link: bindings::list_head {
                    next: null_mut(),
                    prev: null_mut(),
                },
                field,
            },
            memory,
        )?;
        let node = KBox::into_raw(node);
        // SAFETY: the head is initialised, and nobody looks at the fields of this event's class.
        unsafe {
            let (link, next) = (&raw mut (*node).link, (*list).next);
            (*link).next = next;
            (*link).prev = list;
            (*next).prev = link;
            (*list).next = link;
        }
        Ok(())
    }

    /// Frees the fields that were defined one by one. Task context.
    ///
    /// # Safety
    ///
    /// Nobody looks at the fields of this event's class, now or later.
    pub(in crate::kernel) unsafe fn forget_fields(&self) {
        let list = self.field_list();
        // SAFETY: all but the head are in boxes that `define_field` made.
        unsafe {
            let mut link = (*list).next;
            (*list).next = list;
            (*list).prev = list;
            while link != list {
                let node = link.cast::<Node>();
                link = (*link).next;
                drop(KBox::from_raw(node));
            }
        }
    }
}

/// A field defined by `trace_define_field()`.
#[derive(Clone, Copy)]
pub(crate) struct RawField {
    /// Its C type; lives as long as the event.
    pub(crate) ty: *const c_char,
    /// Its name; lives as long as the event.
    pub(crate) name: *const c_char,
    /// Where it is in an entry.
    pub(crate) offset: u32,
    /// Bytes.
    pub(crate) size: u32,
    /// Whether it is signed.
    pub(crate) signed: bool,
    /// `FILTER_*`.
    pub(crate) filter: i32,
    /// How many elements, if it is an array of a fixed length.
    pub(crate) len: u32,
}

#[repr(C)]
struct Node {
    link: bindings::list_head,
    field: RawField,
}

/// How a field is read that says `filter`, or does not say and is of type `ty`.
fn kind_of(filter: i32, ty: &[u8]) -> Kind {
    match filter as u32 {
        bindings::FILTER_STATIC_STRING => Kind::Array,
        bindings::FILTER_DYN_STRING => Kind::DataLoc,
        bindings::FILTER_RDYN_STRING => Kind::RelLoc,
        bindings::FILTER_PTR_STRING => Kind::Pointer,
        bindings::FILTER_TRACE_FN => Kind::Function,
        bindings::FILTER_CPUMASK => Kind::CpuMask,
        bindings::FILTER_COMM => Kind::Comm,
        bindings::FILTER_CPU => Kind::Cpu,
        bindings::FILTER_STACKTRACE => Kind::Stacktrace,
        _ => Kind::of_type(ty),
    }
}

/// A field of an event's entries.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    /// Its C type as it was written, `__attribute__` and names of lengths included.
    pub(crate) ty: &'a CStr,
    /// Its name.
    pub(crate) name: &'a CStr,
    /// Where it is in an entry, from the common fields on.
    pub(crate) offset: usize,
    /// Bytes.
    pub(crate) size: usize,
    /// Whether it is signed.
    pub(crate) signed: bool,
    /// How many elements, if it is an array of a fixed length; else 0.
    pub(crate) len: usize,
    /// How a filter is to see it.
    pub(crate) kind: Kind,
}

/// How far the entries of an event reach.
pub(crate) struct Reach {
    /// The end of the fields of fixed size.
    end: usize,
    dynamic: KVec<Dynamic>,
}

impl Reach {
    /// The reach of the entries of `call`. Task context, may sleep. `ENOMEM`.
    pub(crate) fn of(call: &Call) -> Result<Self> {
        let mut reach = Self {
            end: COMMON,
            dynamic: KVec::new(),
        };
        for field in call.fields() {
            reach.end = reach.end.max(field.offset.wrapping_add(field.size));
            if let Some(dynamic) = Dynamic::of(&field) {
                reach.dynamic.push(dynamic, GFP_KERNEL)?;
            }
        }
        Ok(reach)
    }

    /// The entry at `entry`. Any context.
    ///
    /// # Safety
    ///
    /// `entry` is a complete entry of that event, which does not change for the lifetime that the
    /// caller picks.
    pub(crate) unsafe fn entry_at<'a>(&self, entry: *const u8) -> &'a [u8] {
        // SAFETY: `entry` is complete, and has these fields.
        let ends = self.dynamic.iter().map(|at| unsafe { at.end_in(entry) });
        let end = ends.fold(self.end, usize::max);
        // SAFETY: a complete entry reaches as far as its fields do.
        unsafe { core::slice::from_raw_parts(entry, end) }
    }
}

/// A field whose word has the offset and the length of its data in the entry.
#[derive(Clone, Copy)]
struct Dynamic {
    offset: usize,
    /// Whether the offset in the word counts from the end of the word.
    relative: bool,
}

impl Dynamic {
    /// `field`, if it is such a field.
    fn of(field: &Field<'_>) -> Option<Self> {
        let ty = field.ty.to_bytes();
        let relative = ty.starts_with(b"__rel_loc");
        let is_dynamic = relative || ty.starts_with(b"__data_loc");
        // The word of a synthetic event has 8 bytes.
        (is_dynamic && field.size >= size_of::<u32>()).then_some(Self {
            offset: field.offset,
            relative,
        })
    }

    /// The end of its data.
    ///
    /// # Safety
    ///
    /// `entry` is complete and has this field.
    unsafe fn end_in(self, entry: *const u8) -> usize {
        // SAFETY: `entry` has this field, which is a word of four bytes.
        let word = unsafe { entry.add(self.offset).cast::<u32>().read_unaligned() } as usize;
        let end = (word & 0xffff).wrapping_add(word >> 16);
        match self.relative {
            true => end.wrapping_add(self.offset).wrapping_add(size_of::<u32>()),
            false => end,
        }
    }
}

/// The fields of an event in the order of an entry.
pub(crate) struct Fields<'a> {
    row: *const bindings::trace_event_fields,
    node: *const bindings::list_head,
    list: *const bindings::list_head,
    offset: usize,
    _call: &'a Call,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        // SAFETY: the array ends with a row without a type or with one that has a function; the
        // texts live as long as the event.
        unsafe {
            if !self.row.is_null()
                && !(*self.row).type_.is_null()
                && (*self.row).type_ as usize != usize::MAX
            {
                let row = &(*self.row).__bindgen_anon_1.__bindgen_anon_1;
                let ty = CStr::from_char_ptr((*self.row).type_);
                let offset = self.offset.next_multiple_of(row.align.max(1) as usize);
                self.offset = offset.wrapping_add(row.size as usize);
                self.row = self.row.add(1);
                return Some(Field {
                    ty,
                    name: CStr::from_char_ptr(row.name),
                    offset,
                    size: row.size as usize,
                    signed: row.is_signed() != 0,
                    len: row.len as usize,
                    kind: kind_of(row.filter_type, ty.to_bytes()),
                });
            }
        }
        if self.node == self.list {
            return None;
        }
        // SAFETY: all nodes but the head are `Node`s, which stay as long as the event.
        unsafe {
            let field = &(*self.node.cast::<Node>()).field;
            self.node = (*self.node).prev;
            let ty = CStr::from_char_ptr(field.ty);
            Some(Field {
                ty,
                name: CStr::from_char_ptr(field.name),
                offset: field.offset as usize,
                size: field.size as usize,
                signed: field.signed,
                len: field.len as usize,
                kind: kind_of(field.filter, ty.to_bytes()),
            })
        }
    }
}
