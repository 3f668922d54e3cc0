// SPDX-License-Identifier: GPL-2.0

//! Synthetic events: events of given fields, which histograms and kernel code fire.
//!
//! Who fires an event holds it ([`find`]); it cannot be removed then. The events are in a table by
//! name besides the list, since a trigger is made with the event mutex held, under which the list
//! cannot be locked. The table's mutex comes after the event mutex.

use super::list::{self, Dynamic, Kind as EventKind};
use crate::core::event::probe::command::Removal;
use crate::core::event::synth::command::{self, Command, Definition, Reason, Refused};
use crate::core::event::synth::layout::{self, Named};
use crate::core::event::synth::types::{self, Kind, Print, TEXT_ROOM};
use crate::core::format::Out;
use crate::core::parse::parser::is_space;
#[cfg(CONFIG_HIST_TRIGGERS)]
use crate::kernel::context::with_preemption_off;
use crate::kernel::context::PreemptOff;
use crate::kernel::dynamic_event::{DynamicEvent, FieldText, Ops, Texts, VERBOSE};
use crate::kernel::module::Owner;
use crate::kernel::nofault;
use crate::kernel::text::{NulText, Text};
use crate::kernel::trace_event::{Call, COMMON};
use crate::kernel::trace_seq::TraceSeq;
use crate::trace::events::file::{Hot, HotFile};
use crate::trace::events::printer::symbols_of;
use crate::trace::events::recording;
use crate::trace::events::registry::{self, EventId, Registry};
use crate::trace::instance::Instance;
use core::any::Any;
use core::fmt;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex, SetOnce};

/// The system of all of them.
const SYSTEM: &[u8] = b"synthetic";
/// The longest text behind the fields of an entry, its end included; but see [`nofault::text_length`].
const TEXT_MAX: usize = 4096;
/// Words of the longest stack trace, its length included.
const STACK_MAX: usize = 31;
/// What is recorded for a text that cannot be read.
const FAULT: &[u8] = b"(fault)\0";

/// A field.
pub(crate) struct Field {
    name: KVec<u8>,
    ty: KVec<u8>,
    kind: Kind,
}

impl Field {
    fn new(field: &command::Field<'_>) -> Result<Self> {
        Ok(Self {
            name: Text::copy(field.name)?,
            ty: Text::of(|out| field.ty.write(out))?,
            kind: field.kind,
        })
    }

    /// Its name.
    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Its type as the definition has it: `u64`, `char[16]`, `unsigned long[]`.
    pub(crate) fn ty(&self) -> &[u8] {
        &self.ty
    }

    /// Bytes as `format` tells them.
    pub(crate) fn size(&self) -> usize {
        self.kind.size()
    }

    /// Whether `format` calls it signed.
    pub(crate) fn is_signed(&self) -> bool {
        types::is_signed(self.kind, &self.ty)
    }

    /// Whether it is a text.
    pub(crate) fn is_text(&self) -> bool {
        self.kind.is_text()
    }

    /// Whether its value is behind the fields of the entry.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.kind.is_dynamic()
    }

    /// Whether it is a stack trace.
    pub(crate) fn is_stack(&self) -> bool {
        self.kind == Kind::Stack
    }

    fn named(&self) -> Named<'_> {
        Named {
            name: &self.name,
            kind: self.kind,
        }
    }

    /// Writes its type as `format` has it.
    fn write_type(&self, out: &mut dyn Out) -> fmt::Result {
        if self.is_dynamic() {
            out.bytes(b"__data_loc ")?;
        }
        out.bytes(&self.ty)
    }
}

/// The fields of an event, and its name.
pub(crate) struct Fields {
    name: KVec<u8>,
    all: KVec<Field>,
    /// Bytes of an entry, without what is behind the fields.
    size: usize,
    has_dynamic: bool,
    owner: Owner,
}

impl Fields {
    fn new(name: &[u8], all: KVec<Field>, owner: Owner) -> Result<Self> {
        let room: usize = all.iter().map(|field| field.kind.room()).sum();
        Ok(Self {
            name: Text::copy(name)?,
            size: COMMON + room,
            has_dynamic: all.iter().any(Field::is_dynamic),
            all,
            owner,
        })
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Field] {
        &self.all
    }

    /// Bytes of an entry, without what is behind the fields.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether values are behind the fields of an entry.
    pub(crate) fn has_dynamic(&self) -> bool {
        self.has_dynamic
    }

    /// Where the room of each field begins in an entry.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, &Field)> {
        let mut next = COMMON;
        self.all.iter().map(move |field| {
            let at = next;
            next = next.wrapping_add(field.kind.room());
            (at, field)
        })
    }

    fn named(&self) -> impl Iterator<Item = Named<'_>> + Clone {
        self.all.iter().map(Field::named)
    }

    fn texts(&self) -> Result<Texts> {
        let mut fields = KVec::new();
        for (offset, field) in self.places() {
            let text = FieldText {
                ty: Text::nul_text(|out| field.write_type(out))?,
                name: Text::nul_text(|out| out.bytes(&field.name))?,
                offset,
                size: field.size(),
                signed: field.is_signed(),
                len: 0,
                is_stack: field.is_stack(),
            };
            fields.push(text, GFP_KERNEL)?;
        }
        Ok(Texts {
            system: NulText::try_from(c"synthetic")?,
            name: Text::nul_text(|out| out.bytes(&self.name))?,
            print_fmt: Text::nul_text(|out| layout::write_print_fmt(self.named(), out))?,
            fields,
        })
    }

    /// Bytes of an entry with these values. Any context.
    #[inline(always)]
    pub(crate) fn entry_size(&self, values: &[u64]) -> usize {
        match self.has_dynamic {
            false => self.size,
            true => self.dynamic_size(values),
        }
    }

    fn dynamic_size(&self, values: &[u64]) -> usize {
        let with_values = self.all.iter().zip(values);
        let sizes = with_values.map(|(field, value)| match field.kind {
            Kind::DynamicText => {
                let address = *value as usize;
                match nofault::text_length(address, nofault::is_user(address), TEXT_MAX) {
                    0 => FAULT.len(),
                    length => length,
                }
            }
            Kind::Stack => stack_size(*value),
            Kind::Number(_) | Kind::Text(_) => 0,
        });
        sizes.fold(self.size, usize::saturating_add)
    }

    /// Writes what is behind the common fields of an entry. Any context.
    #[inline(always)]
    pub(crate) fn store(&self, values: &[u64], to: &mut [u8]) {
        let mut behind = self.size.wrapping_sub(COMMON);
        let mut at = 0_usize;
        for (field, value) in self.all.iter().zip(values) {
            match field.kind {
                Kind::Number(number) => put(to, at, number.cut(*value)),
                kind => store_long(kind, *value, to, at, &mut behind),
            }
            at = at.wrapping_add(field.kind.room());
        }
    }

    /// Writes the value of one field, whose room begins at `at` behind the common fields. Any
    /// context.
    pub(crate) fn store_one(field: &Field, value: u64, to: &mut [u8], at: usize) {
        match field.kind {
            Kind::Number(number) => put(to, at, number.cut(value)),
            kind => store_long(kind, value, to, at, &mut to.len()),
        }
    }

    fn print(&self, entry: &[u8], flags: c_int, out: &mut TraceSeq) -> fmt::Result {
        out.bytes(&self.name)?;
        out.bytes(b": ")?;
        let verbose = flags & VERBOSE != 0;
        let symbols = symbols_of(flags);
        let last = self.all.len().wrapping_sub(1);
        for (number, (at, field)) in self.places().enumerate() {
            if verbose {
                out.bytes(field.kind.format().as_bytes())?;
                out.bytes(b" ")?;
            }
            layout::write_field(field.named(), entry, at, &symbols, out)?;
            if number != last && field.kind != Kind::Stack {
                out.bytes(b" ")?;
            }
            if matches!(field.kind, Kind::Number(number) if number.print == Print::Flags) {
                out.bytes(b" (")?;
                out.gfp_flags(layout::word(entry, at) as u32);
                out.bytes(b")")?;
            }
        }
        out.bytes(b"\n")
    }

    /// Writes the definition, as `synthetic_events` has it.
    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(&self.name)?;
        out.bytes(b"\t")?;
        for (number, field) in self.all.iter().enumerate() {
            if number != 0 {
                out.bytes(b"; ")?;
            }
            out.bytes(&field.ty)?;
            out.bytes(b" ")?;
            out.bytes(&field.name)?;
        }
        out.bytes(b"\n")
    }
}

#[inline(always)]
fn put(to: &mut [u8], at: usize, word: u64) {
    let room = to.get_mut(at..).and_then(|room| room.first_chunk_mut());
    if let Some(room) = room {
        *room = word.to_ne_bytes();
    }
}

/// Copies the text at `address`, its end included; tells how long it is.
fn put_text(room: &mut [u8], address: u64) -> usize {
    let address = address as usize;
    let copied = nofault::text(room, address, nofault::is_user(address)).map(<[u8]>::len);
    match copied {
        Some(length) => length.wrapping_add(1).min(room.len()),
        None => {
            let length = FAULT.len().min(room.len());
            room.iter_mut()
                .zip(FAULT)
                .for_each(|(to, from)| *to = *from);
            length
        }
    }
}

/// Bytes of a stack trace with its length, which is the first of the words at `address`.
fn stack_size(address: u64) -> usize {
    let mut words = [0; 8];
    if !nofault::read(&mut words, address as usize, false) {
        return 0;
    }
    let count = usize::from_ne_bytes(words);
    count.saturating_add(1).min(STACK_MAX).wrapping_mul(8)
}

/// Writes a value that is no number. `behind` is where the next value goes that is behind the fields.
#[inline(never)]
fn store_long(kind: Kind, value: u64, to: &mut [u8], at: usize, behind: &mut usize) {
    if !kind.is_dynamic() {
        let room = to
            .get_mut(at..at.wrapping_add(TEXT_ROOM))
            .unwrap_or(&mut []);
        let length = put_text(room, value);
        room.get_mut(length..).unwrap_or(&mut []).fill(0);
        return;
    }
    let room = to.get_mut(*behind..).unwrap_or(&mut []);
    let length = match kind {
        Kind::Stack => {
            let size = stack_size(value).min(room.len());
            let read = nofault::read(
                room.get_mut(..size).unwrap_or(&mut []),
                value as usize,
                false,
            );
            if read {
                size
            } else {
                0
            }
        }
        _ => put_text(room, value),
    };
    put(to, at, layout::place(COMMON.wrapping_add(*behind), length));
    *behind = behind.wrapping_add(length);
}

/// [`Fields`], as the event asks them.
struct FieldsOps(Arc<Fields>);

impl Ops for FieldsOps {
    #[allow(unsafe_code, reason = "each hold is undone once")]
    fn enable(&self, on: bool) -> Result {
        match on {
            true => self.0.owner.hold(),
            false => {
                // SAFETY: the event is disabled once for each time that it was enabled.
                unsafe { self.0.owner.release() };
                Ok(())
            }
        }
    }

    fn print(&self, entry: &[u8], flags: c_int, out: &mut TraceSeq) -> fmt::Result {
        self.0.print(entry, flags, out)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// The fields of `event`, if it is a synthetic one. Any context.
pub(crate) fn fields_of(event: &DynamicEvent<Hot>) -> Option<&Fields> {
    let ops = event.ops().as_any()?.downcast_ref::<FieldsOps>()?;
    Some(&ops.0)
}

/// An event.
struct Event {
    fields: Arc<Fields>,
    event: Arc<DynamicEvent<Hot>>,
    /// How many hold it.
    users: Atomic<usize>,
}

type Table = KVec<Arc<Event>>;

static TABLE: SetOnce<Pin<KBox<Mutex<Table>>>> = SetOnce::new();

/// Makes an empty table. Once, at boot. `ENOMEM`.
pub(super) fn init() -> Result {
    TABLE.populate(KBox::pin_init(new_mutex!(KVec::new()), GFP_KERNEL)?);
    Ok(())
}

/// A hold on an event, which is not removed meanwhile.
#[cfg(CONFIG_HIST_TRIGGERS)]
pub(crate) struct Held(Arc<Event>);

/// Holds the event called `name`. Task context, sleeps; the event mutex may be held.
#[cfg(CONFIG_HIST_TRIGGERS)]
pub(crate) fn find(name: &[u8]) -> Option<Held> {
    let table = TABLE.as_ref()?.lock();
    let known = table
        .iter()
        .find(|event| event.fields.name.as_slice() == name)?;
    known.users.fetch_add(1, Relaxed);
    Some(Held(known.clone()))
}

#[cfg(CONFIG_HIST_TRIGGERS)]
impl Held {
    /// Its fields.
    pub(crate) fn fields(&self) -> &[Field] {
        self.0.fields.all()
    }

    /// Records an entry wherever the event is enabled. There is a value for each field: a number, the
    /// address of a text, or the address of a stack trace, which begins with how many words follow. An
    /// address may be invalid. Any context.
    #[inline]
    pub(crate) fn fire(&self, values: &[u64]) {
        let Event { fields, event, .. } = &*self.0;
        with_preemption_off(|stay| {
            for file in event.hit_files(stay) {
                record(stay, file, fields, values);
            }
            #[cfg(CONFIG_PERF_EVENTS)]
            event.submit_here(
                stay,
                || fields.entry_size(values),
                |to| fields.store(values, to),
            );
        });
    }
}

#[cfg(CONFIG_HIST_TRIGGERS)]
impl Drop for Held {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Relaxed);
    }
}

/// Records an entry in one file. Any context.
#[inline(always)]
pub(crate) fn record(stay: &PreemptOff, file: &HotFile, fields: &Fields, values: &[u64]) {
    if recording::is_left_out(file) {
        return;
    }
    let size = fields.entry_size(values);
    recording::record(stay, file, size, |to| fields.store(values, to));
}

/// A definition of a user.
struct Synthetic {
    event: Arc<Event>,
    id: EventId,
}

impl Synthetic {
    /// Whether a module's code has made it.
    fn is_of_module(&self) -> bool {
        self.event.fields.owner.address() != 0
    }
}

impl Dynamic for Synthetic {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(b"s:synthetic/")?;
        self.event.fields.show(out)
    }

    fn show_alone(&self, out: &mut dyn Out) -> fmt::Result {
        self.event.fields.show(out)
    }

    fn is_busy(&self, _registry: &Registry) -> bool {
        let Event { event, users, .. } = &*self.event;
        users.load(Relaxed) != 0 || event.is_in_use() || event.call().is_in_use()
    }

    fn matches(&self, removal: &Removal<'_>, _rest: &mut dyn Iterator<Item = &[u8]>) -> bool {
        let is_of_group = removal.group.is_none_or(|group| group == SYSTEM);
        is_of_group && removal.event == self.event.fields.name.as_slice()
    }

    fn end(&self, _is_last: bool, registry: &mut Registry) -> Result {
        if self.is_busy(registry) {
            return Err(EBUSY);
        }
        match self.is_of_module() {
            // Its entries may have to go without memory, as it goes.
            true => registry.remove(&|known| known.id() == self.id)?,
            false => registry.remove_and_keep_entries(&[self.id])?,
        }
        self.detach();
        Ok(())
    }

    fn event_id(&self) -> EventId {
        self.id
    }

    fn detach(&self) {
        if let Some(table) = TABLE.as_ref() {
            table
                .lock()
                .retain(|known| !Arc::ptr_eq(known, &self.event));
        }
    }

    fn shares_event_with(&self, other: &dyn Dynamic) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| Arc::ptr_eq(&self.event, &other.event))
    }

    fn module_comes(&self, _name: &[u8]) {}
}

/// The kind.
pub(crate) struct Synthetics;

impl EventKind for Synthetics {
    fn has(&self, one: &dyn Dynamic) -> bool {
        one.as_any().is::<Synthetic>()
    }

    fn create(&self, command: &[u8]) -> Result<bool> {
        let line = without_blanks(command);
        match Definition::parse(line) {
            Ok(None) => Ok(false),
            Ok(Some(definition)) => define(&definition, line, Owner::kernel()).map(|()| true),
            Err(refused) => Err(refuse(line, &refused)),
        }
    }

    fn command(&self, command: &[u8]) -> Option<Result> {
        Some(run(without_blanks(command), Owner::kernel()))
    }
}

fn without_blanks(line: &[u8]) -> &[u8] {
    let blanks = line.iter().take_while(|byte| is_space(**byte)).count();
    line.get(blanks..).unwrap_or(&[])
}

/// Runs a line of `synthetic_events` for code of `owner`. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` and `EEXIST`, of which `error_log` says why; `ENOENT` and `EBUSY` of a removal; `ENOMEM`.
pub(crate) fn run(line: &[u8], owner: Owner) -> Result {
    match Command::parse(line) {
        Ok(Command::Define(definition)) => define(&definition, line, owner),
        Ok(Command::Remove(name)) => remove(name),
        Err(refused) => Err(refuse(line, &refused)),
    }
}

/// Removes the event called `name`. As in C, the buffers are only cleared if it is of a module: its
/// entries are of an unknown type otherwise. Task context, sleeps. `ENOENT`, `EBUSY`, `ENOMEM`.
pub(crate) fn remove(name: &[u8]) -> Result {
    let is_called = |one: &Synthetic| one.event.fields.name.as_slice() == name;
    let mut list = list::lock()?;
    let is_of_module = list
        .of::<Synthetic>()
        .any(|one| is_called(one) && one.is_of_module());
    let ended = list.end_those(|one| one.as_any().downcast_ref().is_some_and(is_called));
    if is_of_module {
        registry::lock()?.clear_unknown();
    }
    ended
}

/// Makes the event `name` of these fields. Task context, sleeps. Errors as [`run`].
#[cfg(CONFIG_BOOTTIME_TRACING)]
pub(crate) fn define_of<'a>(name: &[u8], fields: impl Iterator<Item = &'a [u8]>) -> Result {
    let mut fields = fields;
    let text = Text::of(|out| {
        out.bytes(name)?;
        fields.try_for_each(|field| {
            out.bytes(b" ")?;
            out.bytes(field)?;
            out.bytes(b";")
        })
    })?;
    run(&text, Owner::kernel())
}

/// Says in `error_log` what is wrong.
fn refuse(line: &[u8], refused: &Refused<'_>) -> Error {
    if let Ok(top) = Instance::top() {
        let message = refused.reason.text();
        top.errors()
            .push(b"synthetic_events", line, refused.column(line), message);
    }
    match refused.reason {
        Reason::EventExists => EEXIST,
        _ => EINVAL,
    }
}

/// Makes an event and lists it. Task context, sleeps.
fn define(definition: &Definition<'_>, line: &[u8], owner: Owner) -> Result {
    let mut list = list::lock()?;
    let mut registry = registry::lock()?;
    let is_called = |known: &Synthetic| known.event.fields.name.as_slice() == definition.name;
    if list.of().any(is_called) {
        let refused = Refused::at(Reason::EventExists, definition.name);
        return Err(refuse(line, &refused));
    }
    let mut all = KVec::new();
    for field in definition.fields() {
        let field = field.map_err(|refused| refuse(line, &refused))?;
        all.push(Field::new(&field)?, GFP_KERNEL)?;
    }
    let fields = Arc::new(Fields::new(definition.name, all, owner)?, GFP_KERNEL)?;
    let ops = KBox::new(FieldsOps(fields.clone()), GFP_KERNEL)?;
    let event = Event {
        // BPF programs can be at it.
        event: DynamicEvent::new(fields.texts()?, Call::TRACEPOINT, ops)?,
        fields,
        users: Atomic::new(0),
    };
    let event = Arc::new(event, GFP_KERNEL)?;
    // There is memory for what knows the event before it is known.
    let room = KBox::<Synthetic>::new_uninit(GFP_KERNEL)?;
    let mut table = TABLE.as_ref().ok_or(ENODEV)?.lock();
    table.reserve(1, GFP_KERNEL)?;
    list.reserve()?;
    // As in C, an event of another kind may have the name. The directory is that of the older one.
    let id = registry.add(DynamicEvent::register(&event.event)?)?;
    let _ = table.push_within_capacity(event.clone());
    list.push(KBox::write(room, Synthetic { event, id }))
}
