// SPDX-License-Identifier: GPL-2.0

//! The types of the kernel and of its modules, which they carry as BTF.
//!
//! C headers: `include/linux/btf.h`, `include/uapi/linux/btf.h`.

use super::text::Text;
use crate::core::event::probe::kernel_types::{Function, Member, Parameter, Shape, TypeId, Types};
#[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
use crate::core::format::arguments::{self, Kind, Prototype};
use crate::core::format::Out;
use core::ptr::{null_mut, NonNull};
use kernel::bindings;
use kernel::prelude::*;

/// The BTF of the kernel or of a module, counted.
struct Object(NonNull<bindings::btf>);

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: this gives back the reference that `bpf_find_btf_id()` has taken.
        unsafe { bindings::btf_put(self.0.as_ptr()) };
    }
}

/// What was found by name, with the BTF that it is in.
pub(crate) struct KernelTypes {
    objects: KVec<Object>,
}

/// A type's record in BTF, and what is behind it.
struct Record<'a> {
    object: &'a Object,
    number: u16,
    record: &'a bindings::btf_type,
}

impl<'a> Record<'a> {
    fn kind(&self) -> u32 {
        self.record.info >> 24 & 0x7f
    }

    /// How many parts are behind it.
    fn parts(&self) -> usize {
        (self.record.info & 0xff_ffff) as usize
    }

    /// Whether the places of its members say how many bits those have.
    fn has_bits(&self) -> bool {
        self.record.info >> 31 != 0
    }

    /// The type that it refers to.
    fn other(&self) -> u32 {
        // SAFETY: both variants are a number.
        unsafe { self.record.__bindgen_anon_1.type_ }
    }

    /// Its bytes.
    fn size(&self) -> u32 {
        // SAFETY: both variants are a number.
        unsafe { self.record.__bindgen_anon_1.size }
    }

    /// Whether it is a number with a sign.
    fn is_signed(&self) -> bool {
        if self.kind() != bindings::BTF_KIND_INT {
            return false;
        }
        let behind = core::ptr::from_ref(self.record).wrapping_add(1);
        // SAFETY: behind the record of a number is a word that says how it is to be read.
        let how = unsafe { *behind.cast::<u32>() };
        how >> 24 & bindings::BTF_INT_SIGNED != 0
    }

    fn name(&self, offset: u32) -> &'a [u8] {
        // SAFETY: the BTF is there, and names in it end with NUL and do not change.
        unsafe {
            let name = bindings::btf_name_by_offset(self.object.0.as_ptr(), offset);
            match name.is_null() {
                true => &[],
                false => CStr::from_char_ptr(name).to_bytes(),
            }
        }
    }

    /// The type of this number of the same BTF without qualifiers and other names.
    fn bare(&self, number: u32) -> TypeId {
        let mut bare = number;
        // SAFETY: the BTF is there. The kernel has checked it: the numbers in it are those of types.
        unsafe {
            bindings::btf_type_skip_modifiers(self.object.0.as_ptr(), number, &raw mut bare);
        }
        TypeId {
            object: self.number,
            number: bare,
        }
    }

    /// The part of this number behind it.
    ///
    /// # Safety
    ///
    /// The parts of a record of this kind are `T`.
    unsafe fn part<T>(&self, at: usize) -> Option<&'a T> {
        if at >= self.parts() {
            return None;
        }
        let behind = core::ptr::from_ref(self.record).wrapping_add(1);
        // SAFETY: there are so many parts behind the record, which are `T`, and nobody changes them.
        Some(unsafe { &*behind.cast::<T>().add(at) })
    }
}

impl KernelTypes {
    /// What a kernel that has BTF knows.
    pub(crate) fn new() -> Self {
        Self {
            objects: KVec::new(),
        }
    }

    /// Finds the type `name` of this kind, in the kernel, else in a module. Task context, may sleep. What
    /// there is no memory for is not found.
    fn find(&mut self, name: &[u8], kind: u32) -> Option<TypeId> {
        let name = Text::nul_text(|out| out.bytes(name)).ok()?;
        self.objects.reserve(1, GFP_KERNEL).ok()?;
        let mut found = null_mut();
        // SAFETY: the name ends with NUL, and there is room for the result, which is counted.
        let number = unsafe { bindings::bpf_find_btf_id(name.as_char_ptr(), kind, &raw mut found) };
        let object = Object(NonNull::new(found)?);
        let number = u32::try_from(number).ok()?;
        let known = self.objects.iter().position(|known| known.0 == object.0);
        let at = match known {
            Some(at) => at,
            None => {
                self.objects.push_within_capacity(object).ok()?;
                self.objects.len().checked_sub(1)?
            }
        };
        let object = u16::try_from(at).ok()?;
        Some(TypeId { object, number })
    }

    fn record(&self, ty: TypeId) -> Option<Record<'_>> {
        let object = self.objects.get(usize::from(ty.object))?;
        // SAFETY: the BTF is there as long as the object, and nobody changes it.
        let record = unsafe { bindings::btf_type_by_id(object.0.as_ptr(), ty.number).as_ref() }?;
        Some(Record {
            object,
            number: ty.object,
            record,
        })
    }
}

impl Types for KernelTypes {
    fn function(&mut self, name: &[u8]) -> Option<Function> {
        let function = self.find(name, bindings::BTF_KIND_FUNC)?;
        let record = self.record(function)?;
        let id = TypeId {
            number: record.other(),
            ..function
        };
        let prototype = self.record(id)?;
        if prototype.kind() != bindings::BTF_KIND_FUNC_PROTO {
            return None;
        }
        let returned = prototype.other();
        Some(Function {
            id,
            returned: (returned != 0).then(|| prototype.bare(returned)),
            first: 0,
            parameters: prototype.parts(),
        })
    }

    fn structure(&mut self, name: &[u8]) -> Option<TypeId> {
        self.find(name, bindings::BTF_KIND_STRUCT)
    }

    fn parameter(&self, prototype: TypeId, at: usize) -> Option<Parameter<'_>> {
        let record = self.record(prototype)?;
        if record.kind() != bindings::BTF_KIND_FUNC_PROTO {
            return None;
        }
        // SAFETY: the parts of a prototype are its parameters.
        let parameter = unsafe { record.part::<bindings::btf_param>(at) }?;
        Some(Parameter {
            name: record.name(parameter.name_off),
            ty: record.bare(parameter.type_),
        })
    }

    fn member(&self, structure: TypeId, at: usize) -> Option<Member<'_>> {
        let record = self.record(structure)?;
        let kind = record.kind();
        if kind != bindings::BTF_KIND_STRUCT && kind != bindings::BTF_KIND_UNION {
            return None;
        }
        // SAFETY: the parts of a structure and of a union are its members.
        let member = unsafe { record.part::<bindings::btf_member>(at) }?;
        let (offset, bits) = match record.has_bits() {
            true => (member.offset & 0xff_ffff, member.offset >> 24),
            false => (member.offset, 0),
        };
        Some(Member {
            name: record.name(member.name_off),
            ty: record.bare(member.type_),
            offset,
            bits,
        })
    }

    fn shape(&self, ty: TypeId) -> Shape {
        let Some(record) = self.record(ty) else {
            return Shape::Other;
        };
        let size = record.size();
        match record.kind() {
            bindings::BTF_KIND_INT => Shape::Number {
                size,
                signed: record.is_signed(),
            },
            bindings::BTF_KIND_ENUM | bindings::BTF_KIND_ENUM64 => {
                let signed = true;
                Shape::Number { size, signed }
            }
            bindings::BTF_KIND_PTR => Shape::Pointer(record.bare(record.other())),
            bindings::BTF_KIND_ARRAY => {
                let behind = core::ptr::from_ref(record.record).wrapping_add(1);
                // SAFETY: behind the record of an array is what it is an array of.
                let array = unsafe { &*behind.cast::<bindings::btf_array>() };
                Shape::Array(record.bare(array.type_))
            }
            bindings::BTF_KIND_STRUCT | bindings::BTF_KIND_UNION => Shape::Structure,
            _ => Shape::Other,
        }
    }
}

/// The prototype of a function, with the BTF that it is in.
#[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
pub(crate) struct KnownPrototype {
    types: KernelTypes,
    function: Function,
}

#[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
impl KnownPrototype {
    /// That of the function whose symbol is `name`; none if BTF does not know it. Task context, may
    /// sleep.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        let mut types = KernelTypes::new();
        let function = types.function(name)?;
        Some(Self { types, function })
    }

    /// The record of the type of a parameter.
    fn record(&self, at: usize) -> Option<Record<'_>> {
        let parameter = self.types.parameter(self.function.id, at)?;
        self.types.record(parameter.ty)
    }
}

#[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
impl Prototype for KnownPrototype {
    fn count(&self) -> usize {
        self.function.parameters
    }

    fn parameter(&self, at: usize) -> Option<arguments::Parameter<'_>> {
        let parameter = self.types.parameter(self.function.id, at)?;
        let record = self.types.record(parameter.ty);
        Some(arguments::Parameter {
            name: parameter.name,
            kind: record.map_or(Kind::Unknown, |record| record.printed()),
        })
    }

    fn enumerator(&self, at: usize, value: usize) -> Option<&[u8]> {
        let record = self.record(at)?;
        if record.kind() != bindings::BTF_KIND_ENUM {
            return None;
        }
        // SAFETY: the parts of an enumeration are its values.
        let mut all = (0..).map_while(|at| unsafe { record.part::<bindings::btf_enum>(at) });
        let found = all.find(|one| one.val as usize == value)?;
        Some(record.name(found.name_off))
    }
}

#[cfg(CONFIG_FUNCTION_TRACE_ARGS)]
impl Record<'_> {
    /// How a parameter of this type is printed.
    fn printed(&self) -> Kind {
        let name = match self.kind() {
            bindings::BTF_KIND_UNKN => return Kind::Unknown,
            bindings::BTF_KIND_PTR => return Kind::Pointer,
            bindings::BTF_KIND_ENUM => return Kind::Enumeration,
            bindings::BTF_KIND_INT if self.is_signed() => return Kind::Signed,
            bindings::BTF_KIND_INT => return Kind::Unsigned,
            bindings::BTF_KIND_ARRAY => "ARRAY",
            bindings::BTF_KIND_STRUCT => "STRUCT",
            bindings::BTF_KIND_UNION => "UNION",
            bindings::BTF_KIND_FWD => "FWD",
            bindings::BTF_KIND_FUNC_PROTO => "FUNC_PROTO",
            bindings::BTF_KIND_FLOAT => "FLOAT",
            bindings::BTF_KIND_ENUM64 => "ENUM64",
            _ => "UNKNOWN",
        };
        let size = self.size();
        Kind::Other { name, size }
    }
}
