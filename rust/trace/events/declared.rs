// SPDX-License-Identifier: GPL-2.0

//! Events that Rust code declares, in the kernel or in modules, and hits itself.
//!
//! All that an event is lies in the core's memory: of the code that has registered it nothing is
//! kept. So the event may end while somebody holds it, perf for instance: it is known no more then,
//! and its memory goes with the last holder. `Documentation/events.md` has the details.

use super::file::Hot;
use super::recording::{self, Filled, Start};
use super::registry::{self, EventId};
use crate::core::event::declared::{
    is_name, Description, Dynamic, Field as FieldOf, Kind, Lengths, Piece as PieceOf,
};
use crate::core::format::{copy_short, Out};
use crate::kernel::context::PreemptOff;
use crate::kernel::dynamic_event::{DynamicEvent, FieldText, Ops, Texts};
use crate::kernel::module::Owner;
use crate::kernel::text::{NulText, Text};
use crate::kernel::trace_event::COMMON;
use crate::kernel::trace_seq::TraceSeq;
use core::fmt;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// Bytes of the fields of an entry at most, common fields included.
const FIXED_MAX: usize = 2048;

/// A field.
struct Field {
    name: KVec<u8>,
    ty: KVec<u8>,
    like: FieldOf<'static>,
}

impl Field {
    fn new(field: &FieldOf<'_>) -> Result<Self> {
        Ok(Self {
            name: Text::copy(field.name)?,
            ty: Text::copy(field.ty)?,
            like: FieldOf {
                name: b"",
                ty: b"",
                ..*field
            },
        })
    }

    fn of(&self) -> FieldOf<'_> {
        FieldOf {
            name: &self.name,
            ty: &self.ty,
            ..self.like
        }
    }

    fn text(&self) -> Result<FieldText> {
        let field = self.of();
        Ok(FieldText {
            ty: Text::nul_text(|out| field.write_type(out))?,
            name: Text::nul_text(|out| out.bytes(&self.name))?,
            offset: field.offset,
            size: field.room(),
            signed: field.signed,
            len: match field.kind {
                Kind::Array(count) => count.into(),
                _ => 0,
            },
            is_stack: false,
        })
    }
}

/// A part of the text of entries.
struct Piece {
    text: KVec<u8>,
    like: PieceOf<'static>,
}

impl Piece {
    fn new(piece: &PieceOf<'_>) -> Result<Self> {
        Ok(Self {
            text: Text::copy(piece.text)?,
            like: PieceOf {
                text: b"",
                value: piece.value,
            },
        })
    }

    fn of(&self) -> PieceOf<'_> {
        PieceOf {
            text: &self.text,
            ..self.like
        }
    }
}

/// What entries are.
struct Shape {
    name: CString,
    fields: KVec<Field>,
    pieces: KVec<Piece>,
    dynamic: KVec<Dynamic>,
    /// Bytes of an entry, without what is behind the fields.
    size: usize,
    /// Whether somebody wants entries.
    is_wanted: Atomic<u32>,
}

impl Shape {
    fn description(
        &self,
    ) -> Description<
        impl Iterator<Item = FieldOf<'_>> + Clone,
        impl Iterator<Item = PieceOf<'_>> + Clone,
    > {
        Description {
            fields: self.fields.iter().map(Field::of),
            pieces: self.pieces.iter().map(Piece::of),
        }
    }

    fn texts(&self, system: &CStr) -> Result<Texts> {
        let mut fields = KVec::with_capacity(self.fields.len(), GFP_KERNEL)?;
        for field in &self.fields {
            fields.push(field.text()?, GFP_KERNEL)?;
        }
        Ok(Texts {
            system: NulText::try_from(system)?,
            name: NulText::try_from(&*self.name)?,
            print_fmt: Text::nul_text(|out| self.description().write_print_fmt(out))?,
            fields,
        })
    }
}

/// [`Shape`], as the event asks it.
struct ShapeOps(Arc<Shape>);

impl Ops for ShapeOps {
    fn enable(&self, on: bool) -> Result {
        self.0.is_wanted.store(on.into(), Relaxed);
        Ok(())
    }

    fn print(&self, entry: &[u8], _flags: c_int, out: &mut TraceSeq) -> fmt::Result {
        out.bytes(self.0.name.to_bytes())?;
        out.bytes(b": ")?;
        self.0.description().write_line(entry, out)?;
        out.bytes(b"\n")
    }
}

/// What an event is to be. The texts are only looked at.
pub(crate) struct Declaration<'a> {
    /// The system that it belongs to.
    pub(crate) system: &'a CStr,
    /// Its name.
    pub(crate) name: &'a CStr,
    /// Bytes of the fields of its entries, common fields included.
    pub(crate) size: usize,
    /// The fields.
    pub(crate) fields: KVec<FieldOf<'a>>,
    /// The text of entries.
    pub(crate) pieces: KVec<PieceOf<'a>>,
}

/// A registered event. Dropping it ends the event: task context, sleeps.
pub(crate) struct Declared {
    shape: Arc<Shape>,
    event: Arc<DynamicEvent<Hot>>,
    id: EventId,
}

impl Declared {
    /// Registers an event of `owner`. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for names, fields or a text that are none, `E2BIG` for fields that are too long,
    /// `EEXIST` if there is an event of this name, `ENODEV` before there are events, `ENOMEM`.
    pub(crate) fn register(declaration: &Declaration<'_>, owner: Owner) -> Result<Self> {
        let Declaration {
            system, name, size, ..
        } = *declaration;
        let (system_name, event_name) = (system.to_bytes(), name.to_bytes());
        let described = Description {
            fields: declaration.fields.iter().copied(),
            pieces: declaration.pieces.iter().copied(),
        };
        // Files in the directories of systems and of events have these names.
        let is_file = |name: &[u8]| matches!(name, b"enable" | b"filter");
        let is_good = is_name(system_name)
            && is_name(event_name)
            && !is_file(system_name)
            && !matches!(system_name, b"header_page" | b"header_event")
            && !is_file(event_name)
            && described.is_good(size);
        if !is_good {
            return Err(EINVAL);
        }
        if size > FIXED_MAX {
            return Err(E2BIG);
        }
        let mut fields = KVec::with_capacity(declaration.fields.len(), GFP_KERNEL)?;
        let mut dynamic = KVec::new();
        for field in &declaration.fields {
            fields.push(Field::new(field)?, GFP_KERNEL)?;
            if let Some(field) = Dynamic::of(field) {
                dynamic.push(field, GFP_KERNEL)?;
            }
        }
        let mut pieces = KVec::with_capacity(declaration.pieces.len(), GFP_KERNEL)?;
        for piece in &declaration.pieces {
            pieces.push(Piece::new(piece)?, GFP_KERNEL)?;
        }
        let shape = Shape {
            name: CString::try_from(name)?,
            fields,
            pieces,
            dynamic,
            size,
            is_wanted: Atomic::new(0),
        };
        let shape = Arc::new(shape, GFP_KERNEL)?;
        let texts = shape.texts(system)?;
        let ops = KBox::new(ShapeOps(shape.clone()), GFP_KERNEL)?;
        let event = DynamicEvent::owned(texts, owner, ops)?;

        let mut registry = registry::lock()?;
        if registry.find(system_name, event_name).is_some() {
            return Err(EEXIST);
        }
        let id = registry.add(DynamicEvent::register(&event)?)?;
        registry.is_here(id);
        drop(registry);
        Ok(Self { shape, event, id })
    }

    /// The word that says whether somebody wants entries; it is there as long as this.
    pub(crate) fn wanted(&self) -> &Atomic<u32> {
        &self.shape.is_wanted
    }

    /// Records an entry wherever the event is enabled. `fixed` has the fields, without the common ones;
    /// `values` are those of the fields of variable length, in their order. Any context.
    ///
    /// A text ends at its first NUL. What would make the entry too long is cut.
    #[inline(always)]
    pub(crate) fn record<'a>(&self, fixed: &[u8], values: impl Iterator<Item = &'a [u8]> + Clone) {
        let Shape { dynamic, size, .. } = &*self.shape;
        if dynamic.is_empty() {
            return self.hit(*size, |to| {
                if to.len() == fixed.len() {
                    copy_short(to, fixed);
                }
            });
        }
        let lengths = Lengths::of(*size, dynamic, values.clone());
        self.hit(lengths.entry, |to| {
            lengths.fill(to, fixed, dynamic, values.clone());
        });
    }

    /// Records an entry of `length` bytes, of which `fill` writes those behind the common fields.
    #[inline(always)]
    fn hit(&self, length: usize, fill: impl Fn(&mut [u8])) {
        // Not `with_preemption_off()`: what the common fields tell of preemption is that of the caller.
        let stay = PreemptOff::new();
        recording::record_hits(&stay, &self.event, Start::Unknown, Filled(length, &fill));
        #[cfg(CONFIG_PERF_EVENTS)]
        self.event.submit_here(&stay, || length, &fill);
    }

    /// Bytes of the fields of an entry, without the common ones.
    #[inline(always)]
    pub(crate) fn fixed_size(&self) -> usize {
        self.shape.size.wrapping_sub(COMMON)
    }

    /// How many fields are of variable length.
    #[inline(always)]
    pub(crate) fn values(&self) -> usize {
        self.shape.dynamic.len()
    }
}

impl Drop for Declared {
    fn drop(&mut self) {
        let ended = registry::lock()
            .and_then(|mut registry| registry.remove(&|event| event.id() == self.id));
        if let Err(error) = ended {
            // It is known until its module goes, and hit no more.
            pr_err!("an event stays: {:?}\n", error);
        }
    }
}
