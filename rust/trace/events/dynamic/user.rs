// SPDX-License-Identifier: GPL-2.0

//! User events: programs define them by their fields, and write their entries.
//!
//! Who uses an event holds it ([`Held`]): open files that programs write through, and the bits in
//! programs' memory that say whether it is enabled ([`enablers`]). An event without users goes by
//! itself, unless it persists. `Documentation/user-events.md` has the details.
//!
//! New users find an event under the list's lock, and others come from users that there are. So an
//! event that has none while the list is locked gets none.

pub(crate) mod enablers;

use super::list::{self, Dynamic, Kind as EventKind, List};
use crate::core::event::field::Kind as FieldKind;
use crate::core::event::probe::command::Removal;
use crate::core::event::user::command::{same_fields, Definition, Field as FieldOf, Invalid};
use crate::core::event::user::layout::{write_definition, write_print_fmt, Check};
use crate::core::format::fields as by_field;
use crate::core::format::Out;
use crate::core::parse::parser::is_space;
use crate::kernel::context::with_preemption_off;
use crate::kernel::deferred::Deferred;
use crate::kernel::dynamic_event::{DynamicEvent, FieldText, Ops, Texts};
use crate::kernel::reserved;
use crate::kernel::text::Text;
use crate::kernel::trace_event::{Call, COMMON};
use crate::kernel::trace_seq::TraceSeq;
use crate::kernel::user_event_mm::{max_events, may_persist};
use crate::trace::events::file::Hot;
use crate::trace::events::printer;
use crate::trace::events::recording;
use crate::trace::events::registry::{self, EventId, Registry, MOST_RETIRED};
use core::any::Any;
use core::fmt;
use core::ops::Deref;
use kernel::alloc::Flags;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering::Full, Acquire, Atomic, Relaxed};
use kernel::sync::{Arc, SetOnce};

/// The system of those that have a name to themselves.
const SYSTEM: &[u8] = b"user_events";
/// The system of those whose name others may have, with other fields.
const SYSTEM_MULTI: &[u8] = b"user_events_multi";

/// The memory of an event is charged to who registers it: there may be many. Its places in the lists of
/// all events are not: those lists grow for whoever comes next, and stay when the event goes. Nobody
/// waits for a lock while it is allocated: the program's group may have to have memory freed first.
const MEMORY: Flags = GFP_KERNEL_ACCOUNT;

/// Which events a program asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sort {
    /// It stays without users.
    pub(crate) persists: bool,
    /// Others of the same name may have other fields.
    pub(crate) is_multi: bool,
}

/// The number in the name of the next event whose name others may have.
static NEXT_MULTI: Atomic<u64> = Atomic::new(0);
/// Removes events without users.
static REAPER: SetOnce<Arc<Deferred>> = SetOnce::new();

/// Prepares the removal of events without users. Once, at boot. `ENOMEM`.
pub(super) fn init() -> Result {
    REAPER.populate(Deferred::new(reap)?);
    enablers::init()
}

/// A field.
struct Field {
    ty: KVec<u8>,
    name: KVec<u8>,
    offset: usize,
    size: usize,
}

impl Field {
    fn new(field: &FieldOf<'_>) -> Result<Self> {
        Ok(Self {
            ty: Text::copy_with(MEMORY, field.ty)?,
            name: Text::copy_with(MEMORY, field.name)?,
            offset: field.offset,
            size: field.size,
        })
    }

    fn of(&self) -> FieldOf<'_> {
        FieldOf {
            ty: &self.ty,
            name: &self.name,
            offset: self.offset,
            size: self.size,
        }
    }
}

/// What the event asks, and its users.
struct Shared {
    /// The name in definitions.
    name: KVec<u8>,
    /// The name in the system; with a number, if others may have the same.
    own_name: KVec<u8>,
    sort: Sort,
    fields: KVec<Field>,
    checks: KVec<Check>,
    /// Bytes of an entry without the common fields, at least.
    least: usize,
    /// Whether somebody wants its entries.
    is_enabled: Atomic<bool>,
    /// How many hold it.
    users: Atomic<usize>,
}

impl Shared {
    fn fields(&self) -> impl Iterator<Item = FieldOf<'_>> + Clone {
        self.fields.iter().map(Field::of)
    }

    fn system(&self) -> &'static [u8] {
        match self.sort.is_multi {
            true => SYSTEM_MULTI,
            false => SYSTEM,
        }
    }

    fn texts(&self) -> Result<Texts> {
        let mut fields = KVec::new();
        for field in self.fields() {
            let text = FieldText {
                ty: Text::nul_text_with(MEMORY, |out| out.bytes(field.ty))?,
                name: Text::nul_text_with(MEMORY, |out| out.bytes(field.name))?,
                offset: field.offset,
                size: field.size,
                signed: field.is_signed(),
                len: 0,
                is_stack: false,
            };
            fields.push(text, MEMORY)?;
        }
        Ok(Texts {
            system: Text::nul_text_with(MEMORY, |out| out.bytes(self.system()))?,
            name: Text::nul_text_with(MEMORY, |out| out.bytes(&self.own_name))?,
            print_fmt: Text::nul_text_with(MEMORY, |out| write_print_fmt(self.fields(), out))?,
            fields,
        })
    }

    /// Has it removed, if nobody holds it.
    fn look_for_users(&self) {
        if self.users.load(Acquire) == 0 && !self.sort.persists {
            request_reaping();
        }
    }
}

fn request_reaping() {
    if let Some(reaper) = REAPER.as_ref() {
        Deferred::request(reaper);
    }
}

/// [`Shared`], as the event asks it.
struct SharedOps(Arc<Shared>);

impl Ops for SharedOps {
    fn enable(&self, on: bool) -> Result {
        self.0.is_enabled.store(on, Relaxed);
        enablers::update(&self.0);
        if !on {
            self.0.look_for_users();
        }
        Ok(())
    }

    fn print(&self, entry: &[u8], flags: c_int, out: &mut TraceSeq) -> fmt::Result {
        let symbols = printer::symbols_of(flags);
        out.bytes(&self.0.own_name)?;
        out.bytes(b":")?;
        for FieldOf {
            ty,
            name,
            offset,
            size,
        } in self.0.fields()
        {
            let field = by_field::Field {
                name,
                offset,
                size,
                shown: printer::shown(FieldKind::of_type(ty), ty, size),
            };
            let (text, texts) = (reserved::text_start(), printer::TextAt(&symbols));
            by_field::write(&field, entry, text, &symbols, &texts, out)?;
        }
        if self.0.fields.is_empty() {
            out.bytes(b"No fields found")?;
        }
        out.bytes(b"\n")
    }
}

/// An event.
pub(crate) struct Event {
    shared: Arc<Shared>,
    event: Arc<DynamicEvent<Hot>>,
}

impl Event {
    /// Bytes of an entry without the common fields, at least. Any context.
    #[inline(always)]
    pub(crate) fn least(&self) -> usize {
        self.shared.least
    }

    /// Whether a file or perf wants its entries. Any context.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.event.is_in_use()
    }

    /// Records an entry with `payload` after the common fields wherever the event is enabled. Any
    /// context.
    ///
    /// # Errors
    ///
    /// `EFAULT` if a value is not inside the entry, or a text in it has no end, where an entry would be
    /// made.
    #[inline]
    pub(crate) fn record(&self, payload: &[u8]) -> Result {
        let is_good = self.shared.checks.iter().all(|check| check.passes(payload));
        let mut is_refused = false;
        let length = payload.len().saturating_add(COMMON);
        let fill = |to: &mut [u8]| {
            if to.len() == payload.len() {
                to.copy_from_slice(payload);
            }
        };
        with_preemption_off(|stay| {
            let files = self.event.hit_files(stay);
            for file in files.filter(|file| !recording::is_left_out(file)) {
                match is_good {
                    true => recording::record(stay, file, length, fill),
                    false => is_refused |= recording::is_made(stay, file, length),
                }
            }
            #[cfg(CONFIG_PERF_EVENTS)]
            match is_good {
                true => self.event.submit_here(stay, || length, fill),
                false => is_refused |= self.event.takes_here(stay),
            }
        });
        if is_refused {
            return Err(EFAULT);
        }
        Ok(())
    }

    /// Whether it is used: held, or enabled.
    fn is_used(&self) -> bool {
        self.shared.users.load(Acquire) != 0
            || self.event.is_in_use()
            || self.event.call().is_in_use()
    }
}

/// A hold on an event, which is not removed meanwhile.
pub(crate) struct Held(Arc<Event>);

impl Held {
    fn new(event: &Arc<Event>) -> Self {
        event.shared.users.fetch_add(1, Relaxed);
        Self(event.clone())
    }

    /// Whether both are of one event.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.0.shared, shared)
    }

    fn is_enabled(&self) -> bool {
        self.0.shared.is_enabled.load(Relaxed)
    }

    /// Its name in definitions.
    fn name(&self) -> &[u8] {
        &self.0.shared.name
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Deref for Held {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.shared.users.fetch_sub(1, Full);
        self.0.shared.look_for_users();
    }
}

/// A definition of a user.
struct User {
    event: Arc<Event>,
    id: EventId,
}

impl User {
    fn may_go_alone(&self) -> bool {
        !self.event.shared.sort.persists && !self.event.is_used()
    }
}

impl Dynamic for User {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        let shared = &self.event.shared;
        write_definition(&shared.name, shared.fields(), out)
    }

    fn is_busy(&self, _registry: &Registry) -> bool {
        self.event.is_used()
    }

    fn matches(&self, removal: &Removal<'_>, rest: &mut dyn Iterator<Item = &[u8]>) -> bool {
        let shared = &self.event.shared;
        let is_of_group = |group| group == SYSTEM || group == SYSTEM_MULTI;
        removal.group.is_none_or(is_of_group)
            && removal.event == shared.name.as_slice()
            && same_fields(shared.fields(), rest)
    }

    fn end(&self, _is_last: bool, registry: &mut Registry) -> Result {
        if self.event.is_used() {
            return Err(EBUSY);
        }
        registry.remove_and_keep_entries(&[self.id])
    }

    fn may_end(&self) -> Result {
        if self.event.is_used() {
            return Err(EBUSY);
        }
        match self.event.shared.sort.persists && !may_persist() {
            true => Err(EPERM),
            false => Ok(()),
        }
    }

    fn event_id(&self) -> EventId {
        self.id
    }

    fn detach(&self) {}

    fn shares_event_with(&self, other: &dyn Dynamic) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| Arc::ptr_eq(&self.event, &other.event))
    }

    fn module_comes(&self, _name: &[u8]) {}
}

/// The kind.
pub(crate) struct Users;

impl EventKind for Users {
    fn has(&self, one: &dyn Dynamic) -> bool {
        one.as_any().is::<User>()
    }

    fn create(&self, command: &[u8]) -> Result<bool> {
        let Some(text) = command.strip_prefix(b"u:") else {
            return Ok(false);
        };
        let sort = Sort {
            persists: true,
            is_multi: false,
        };
        let blanks = text.iter().take_while(|byte| is_space(**byte)).count();
        find_or_make(text.get(blanks..).unwrap_or(&[]), sort).map(|_| true)
    }
}

/// The event of `definition`, if there is one, and how many events there are.
///
/// # Errors
///
/// `EADDRINUSE` if it has other fields, and must not.
fn find(list: &List, definition: &Definition<'_>, sort: Sort) -> Result<(Option<Held>, u32)> {
    let mut count = 0_u32;
    for known in list.of::<User>() {
        count = count.saturating_add(1);
        let shared = &known.event.shared;
        if shared.sort.is_multi != sort.is_multi || shared.name.as_slice() != definition.name {
            continue;
        }
        if same_fields(shared.fields(), definition.words()) {
            return Ok((Some(Held::new(&known.event)), count));
        }
        if !sort.is_multi {
            return Err(EADDRINUSE);
        }
    }
    Ok((None, count))
}

/// The event of the definition in `text`, which is made if there is none. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` for a definition that is not understood, `EPERM` without the right to an event that
/// persists, `EADDRINUSE` if the event has other fields, `EMFILE` if there are as many as may be,
/// `ENOMEM`.
pub(crate) fn find_or_make(text: &[u8], sort: Sort) -> Result<Held> {
    let definition = Definition::parse(text).map_err(|Invalid| EINVAL)?;
    if sort.persists && !may_persist() {
        return Err(EPERM);
    }
    let (known, _) = find(&*list::lock()?, &definition, sort)?;
    if let Some(held) = known {
        return Ok(held);
    }
    // All that is charged is allocated without the locks.
    let shared = Arc::new(shared_of(&definition, sort)?, MEMORY)?;
    let ops = KBox::new(SharedOps(shared.clone()), MEMORY)?;
    let event = Event {
        // BPF programs can be at it.
        event: DynamicEvent::charged(shared.texts()?, Call::TRACEPOINT, ops)?,
        shared,
    };
    let event = Arc::new(event, MEMORY)?;
    // There is memory for what knows the event before it is known.
    let room = KBox::<User>::new_uninit(MEMORY)?;
    let mut list = list::lock()?;
    // Another task may have made it meanwhile.
    let (known, count) = find(&list, &definition, sort)?;
    if let Some(held) = known {
        return Ok(held);
    }
    if count >= max_events() {
        return Err(EMFILE);
    }
    list.reserve()?;
    let mut registry = registry::lock()?;
    // As in C, an event of another kind may have the name. The directory is that of the older one.
    let id = registry.add(DynamicEvent::register(&event.event)?)?;
    let held = Held::new(&event);
    list.push(KBox::write(room, User { event, id }))?;
    Ok(held)
}

fn shared_of(definition: &Definition<'_>, sort: Sort) -> Result<Shared> {
    if !definition.has_good_name() {
        return Err(EINVAL);
    }
    // As in C, a definition whose fields are wrong takes a number, too.
    let number = match sort.is_multi {
        false => None,
        true => Some(NEXT_MULTI.fetch_add(1, Relaxed)),
    };
    let mut fields = KVec::new();
    let mut checks = KVec::new();
    let mut end = COMMON;
    for field in definition.fields() {
        let field = field.map_err(|Invalid| EINVAL)?;
        fields.push(Field::new(&field)?, MEMORY)?;
        if let Some(check) = Check::of(&field) {
            checks.push(check, MEMORY)?;
        }
        end = field.end();
    }
    let own_name = match number {
        None => Text::copy_with(MEMORY, definition.name)?,
        Some(number) => Text::with(MEMORY, |out| {
            out.bytes(definition.name)?;
            fmt::Write::write_fmt(out, format_args!(".{number:x}"))
        })?,
    };
    Ok(Shared {
        name: Text::copy_with(MEMORY, definition.name)?,
        own_name,
        sort,
        fields,
        checks,
        least: end.saturating_sub(COMMON),
        is_enabled: Atomic::new(false),
        users: Atomic::new(0),
    })
}

/// Removes the events called `name` in definitions, from the newest on. Task context, sleeps.
///
/// # Errors
///
/// `ENOENT` if there is none, `EBUSY` for one that is used, `EPERM` without the right to one that
/// persists, `ENOMEM`.
pub(crate) fn remove(name: &[u8]) -> Result {
    let goes = |user: &User| match user.event.shared.name.as_slice() == name {
        true => user.may_end().map(|()| true),
        false => Ok(false),
    };
    match remove_all(goes)? {
        0 => Err(ENOENT),
        _ => Ok(()),
    }
}

/// Removes the events that nobody uses.
fn reap() {
    // One that is enabled at this moment stays.
    if let Err(error) = remove_all(|user| Ok(user.may_go_alone())) {
        pr_warn!("user_events: Unable to delete event: {:?}\n", error);
    }
}

/// Removes the events that `goes` accepts, from the newest on, as in C, and up to one that it gives an
/// error for. Says how many. Task context, sleeps. `ENOMEM`.
fn remove_all(goes: impl Fn(&User) -> Result<bool>) -> Result<usize> {
    let mut count = 0_usize;
    loop {
        let some = remove_some(&goes)?;
        count = count.saturating_add(some);
        if some < MOST_RETIRED {
            return Ok(count);
        }
    }
}

/// [`remove_all`] of the newest [`MOST_RETIRED`] of them. Readers are waited for once, with the locks
/// held: a program may leave thousands of events behind.
fn remove_some(goes: impl Fn(&User) -> Result<bool>) -> Result<usize> {
    let mut list = list::lock()?;
    let mut registry = registry::lock()?;
    let mut ids = KVec::new();
    let mut result = Ok(());
    for user in list.of::<User>().rev() {
        match goes(user) {
            Ok(true) => ids.push(user.id, GFP_KERNEL)?,
            Ok(false) => {}
            Err(error) => {
                result = Err(error);
                break;
            }
        }
        if ids.len() >= MOST_RETIRED {
            break;
        }
    }
    // The list's order is that of the ids.
    ids.reverse();
    if !ids.is_empty() {
        list.end_together(&ids, &mut registry)?;
    }
    result.map(|()| ids.len())
}

/// Writes the events and who gets their entries, as `user_events_status` has it. Task context,
/// sleeps. `ENOMEM`.
pub(crate) fn write_status(out: &mut dyn Out) -> Result {
    let list = list::lock()?;
    // Nobody switches an event meanwhile.
    let _registry = registry::lock()?;
    let (mut active, mut busy) = (0_usize, 0_usize);
    let mut write = || {
        for User { event, .. } in list.of::<User>() {
            out.bytes(&event.shared.own_name)?;
            if event.is_wanted() {
                out.bytes(b" # Used by")?;
                if event.event.is_for_files() {
                    out.bytes(b" ftrace")?;
                }
                if event.event.is_for_perf() {
                    out.bytes(b" perf")?;
                }
                busy += 1;
            }
            out.bytes(b"\n")?;
            active += 1;
        }
        write!(out, "\nActive: {active}\nBusy: {busy}\n")
    };
    write().map_err(|fmt::Error| ENOMEM)
}
