// SPDX-License-Identifier: GPL-2.0

//! The registry: all events, and the files of each instance. The event mutex protects both. Events,
//! files and their texts are borrowed from its guard.

use super::file::EventFile;
use super::matching::Waiting;
use super::pids::{EventPids, EventsFeature, PidProbes};
use super::systems::Systems;
use crate::core::format::entry::{Entry as _, Print};
use crate::core::parse::options::Flag;
use crate::kernel::fs::tracefs::eventfs;
#[cfg(CONFIG_PERF_EVENTS)]
use crate::kernel::perf_trace::InUse;
use crate::kernel::registrations;
use crate::kernel::text::Text;
use crate::kernel::trace_event::{flag, Call, FileBox, Registered};
#[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
use crate::kernel::trace_event_types::Retired;
use crate::trace::instance::Instance;
use crate::trace::tasks::cmdlines::{self, Saving};
use core::ops::Deref;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::atomic::Atomic;
use kernel::sync::{Arc, Mutex, MutexGuard, SetOnce};

/// The systems of the events that patching hits; see [`Event::is_hit_by_patching`].
const HIT_BY_PATCHING: [&[u8]; 7] = [
    b"csd",
    b"ipi",
    b"kmem",
    b"lock",
    b"preemptirq",
    b"rcu",
    b"tlb",
];

/// How many events can be removed before buffers are cleared of their entries.
#[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
pub(super) const MOST_RETIRED: usize = 1024;

/// Identifies an event. A removed event and a new event of the same name have different ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct EventId(u32);

impl EventId {
    /// A number that no other event ever has.
    pub(crate) fn number(self) -> u64 {
        self.0.into()
    }
}

/// A registered event.
pub(crate) struct Event {
    id: EventId,
    /// The [`digest`] of its name.
    digest: u32,
    call: Registered,
    is_hit_by_patching: bool,
    /// What is told when it is enabled or disabled in an instance.
    pub(super) on_switch: Option<Arc<dyn OnSwitch>>,
}

impl Event {
    /// Its id.
    pub(crate) fn id(&self) -> EventId {
        self.id
    }

    /// The event of the kernel's C interface.
    pub(crate) fn registered(&self) -> &Registered {
        &self.call
    }

    /// Whether users can enable it.
    pub(crate) fn is_offered(&self) -> bool {
        self.call.can_record() && !self.call.has(Call::IGNORE_ENABLE)
    }

    /// Whether it can have triggers. `ftrace:print` can, though nobody can enable it.
    pub(crate) fn takes_triggers(&self) -> bool {
        self.is_offered() || self.call.id() == Print::ID
    }

    /// Whether it is hit when the kernel's text is patched, as happens when events are enabled: each
    /// patch takes locks, turns interrupts off, loads another page table and interrupts other CPUs;
    /// each probe is allocated and freed.
    pub(super) fn is_hit_by_patching(&self) -> bool {
        self.is_hit_by_patching
    }
}

impl Deref for Event {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.call
    }
}

/// A number that two names rarely share (FNV-1a). To compare it is cheaper than to compare the names
/// of all events.
fn digest(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |sum: u32, byte| {
        (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// What is told when an event is enabled or disabled in an instance.
pub(crate) trait OnSwitch: Send + Sync {
    /// `event` was enabled or disabled in `instance`. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// Why it cannot be enabled; it is not, then.
    fn switched(
        &self,
        registry: &mut Registry,
        instance: &Arc<Instance>,
        event: EventId,
        on: bool,
    ) -> Result;
}

/// The events of an instance.
pub(crate) struct InstanceEvents {
    instance: Arc<Instance>,
    pub(super) pids: Arc<EventPids>,
    pub(super) probes: PidProbes,
    /// The files, sorted by event. An event for which nothing was set has no file. In whole pages:
    /// where all events have files, the next power of two is nearly twice as much.
    pub(super) files: VVec<EventFile>,
    /// Whether the buffer may have entries of an event that was removed.
    has_unknown: bool,
    /// The number of enabled files.
    enabled: usize,
    /// Saves task names, with option `record-cmd`, while a file is enabled.
    saving: Option<Saving>,
    timed: Arc<Atomic<u32>>,
}

impl InstanceEvents {
    /// The instance.
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// How many histograms of it read times.
    pub(super) fn timed(&self) -> &Arc<Atomic<u32>> {
        &self.timed
    }

    /// The file of `event`, if there is one.
    pub(crate) fn file(&self, event: EventId) -> Option<&EventFile> {
        self.place(event).ok().and_then(|at| self.files.get(at))
    }

    /// As [`InstanceEvents::file`], mutable.
    pub(crate) fn file_mut(&mut self, event: EventId) -> Option<&mut EventFile> {
        self.place(event).ok().and_then(|at| self.files.get_mut(at))
    }

    /// All files.
    pub(crate) fn files(&self) -> &[EventFile] {
        &self.files
    }

    fn wants_names(&self) -> bool {
        self.instance.options().has(Flag::RecordCmd)
    }

    /// Saves task names from now on: a file is about to be enabled. Task context, may sleep. `ENOMEM`.
    pub(super) fn begin_saving(&mut self) -> Result {
        if self.saving.is_none() {
            self.saving = Some(cmdlines::start_for_events(self.wants_names())?);
        }
        Ok(())
    }

    /// Follows option `record-cmd`.
    pub(super) fn follow_names(&mut self) {
        let names = self.wants_names();
        if let Some(saving) = &mut self.saving {
            saving.set_names(names);
        }
    }

    /// Counts a file that was enabled or disabled.
    pub(super) fn count(&mut self, was: bool, is: bool) {
        match (was, is) {
            (false, true) => self.enabled += 1,
            (true, false) => self.enabled -= 1,
            _ => {}
        }
    }

    /// Stops saving task names if no file is enabled.
    pub(super) fn end_saving(&mut self) {
        if self.enabled == 0 {
            self.saving = None;
        }
    }

    /// Where its file is, or would be. As long as no event was removed and all have files, that is the
    /// place with the number of its id.
    fn place(&self, event: EventId) -> Result<usize, usize> {
        let guess = event.0 as usize;
        match self.files.get(guess) {
            Some(file) if file.event() == event => Ok(guess),
            _ => self.files.binary_search_by_key(&event, EventFile::event),
        }
    }
}

/// A system that was looked up, and has an event.
struct NumberedSystem {
    number: u64,
    name: KVec<u8>,
}

/// The data that the event mutex protects.
pub(crate) struct Registry {
    /// Sorted by id, which is the order of registration.
    pub(super) events: KVVec<Event>,
    pub(super) instances: KVec<InstanceEvents>,
    /// Whether exports or the kernel log get all entries.
    pub(super) observed: bool,
    #[cfg(CONFIG_PERF_EVENTS)]
    pub(super) perf: InUse,
    /// The systems that have a number.
    numbered: KVec<NumberedSystem>,
    /// The number that the next of them gets.
    next_system: u64,
    /// Events to enable when a module is loaded.
    pub(super) waiting: KVec<Waiting>,
    /// The types of removed events whose entries are still in buffers.
    #[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
    retired: KVec<Retired>,
    next: u32,
    /// The events with a smaller id are those of the kernel image.
    built_in: u32,
}

static REGISTRY: SetOnce<Pin<KBox<Mutex<Registry>>>> = SetOnce::new();

/// Makes an empty registry. Once, at boot. `ENOMEM`.
pub(super) fn init() -> Result {
    registrations::init()?;
    let empty = Registry {
        events: KVVec::new(),
        instances: KVec::new(),
        observed: false,
        #[cfg(CONFIG_PERF_EVENTS)]
        perf: InUse::new(),
        numbered: KVec::new(),
        next_system: 0,
        waiting: KVec::new(),
        #[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
        retired: KVec::new(),
        next: 0,
        built_in: 0,
    };
    REGISTRY.populate(KBox::pin_init(new_mutex!(empty), GFP_KERNEL)?);
    Ok(())
}

/// Takes the event mutex. Task context, sleeps. `ENODEV` before there are events.
#[inline(never)]
pub(crate) fn lock() -> Result<MutexGuard<'static, Registry>> {
    Ok(REGISTRY.as_ref().ok_or(ENODEV)?.lock())
}

/// Removes all event state of `instance`, which is being removed. Task context, sleeps.
pub(crate) fn retire(instance: &Instance) {
    if let Ok(mut registry) = lock() {
        registry.retire(instance);
    }
}

impl Registry {
    /// Reserves memory for `more` events. `ENOMEM`.
    pub(super) fn reserve(&mut self, more: usize) -> Result {
        Ok(self.events.reserve(more, GFP_KERNEL)?)
    }

    /// Adds an event. `ENOMEM`.
    pub(crate) fn add(&mut self, call: Registered) -> Result<EventId> {
        let id = EventId(self.next);
        let is_hit_by_patching = HIT_BY_PATCHING.contains(&call.system().to_bytes());
        let on_switch = None;
        let name = CString::try_from(call.name())?;
        let event = Event {
            id,
            digest: digest(name.to_bytes()),
            call,
            is_hit_by_patching,
            on_switch,
        };
        eventfs::create_dir(&name, || Ok(self.events.push(event, GFP_KERNEL)?))?;
        self.next = self.next.checked_add(1).ok_or(EOVERFLOW)?;
        Ok(id)
    }

    /// All events of the kernel image have been added.
    pub(super) fn end_of_built_in(&mut self) {
        self.built_in = self.next;
    }

    /// The events with a smaller id were there when `instance` was made, or before the top instance
    /// got its files.
    fn first_late(&self, instance: &Instance) -> EventId {
        let feature = instance.feature::<EventsFeature>().ok();
        EventId(
            feature
                .and_then(|feature| feature.events_before())
                .unwrap_or(self.built_in),
        )
    }

    /// The id that the next event gets, as a number.
    pub(super) fn next_id(&self) -> u32 {
        self.next
    }

    /// The place of `event` among the directories of events in `instance`. An instance got those
    /// that were there when it was made in reverse order.
    pub(crate) fn order(&self, instance: &Instance, event: EventId) -> u64 {
        let feature = instance.feature::<EventsFeature>().ok();
        let before = feature.and_then(|feature| feature.events_before());
        let reversed = before.and_then(|before| before.checked_sub(event.0)?.checked_sub(1));
        reversed.unwrap_or(event.0).into()
    }

    /// Has `on_switch` told when the event is enabled or disabled.
    #[cfg(CONFIG_PROBE_EVENTS)]
    pub(crate) fn set_on_switch(&mut self, id: EventId, on_switch: Arc<dyn OnSwitch>) {
        if let Some(event) = self.events.iter_mut().find(|event| event.id == id) {
            event.on_switch = Some(on_switch);
        }
    }

    /// Removes the events that `is` accepts, with their files. Also clears the buffers and snapshots
    /// of instances where one of them was ever enabled, since another event may get the same type
    /// number. Task context, sleeps. Works without memory: the events of a module must go with it.
    pub(crate) fn remove(&mut self, is: &dyn Fn(&Event) -> bool) -> Result {
        if self.remove_files(is)? {
            self.clear_unknown();
        }
        self.forget_systems(is);
        let going = self.events.iter_mut().filter(|event| is(event));
        Registered::retract_all(going.map(|event| &mut event.call));
        self.events.retain(|event| !is(event));
        Ok(())
    }

    /// Removes the events of `ids`, which are sorted and no more than [`MOST_RETIRED`], with their
    /// files; one wait does for all. The buffers stay as they are until [`Self::clear_unknown`], and
    /// no other event gets the type of one that was ever enabled before. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and the events stay.
    #[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
    pub(crate) fn remove_and_keep_entries(&mut self, ids: &[EventId]) -> Result {
        let was_enabled = |id: &EventId| {
            let files = self.instances.iter().filter_map(|at| at.file(*id));
            files.into_iter().any(EventFile::was_enabled)
        };
        let mut enabled = KVec::with_capacity(ids.len(), GFP_KERNEL)?;
        for id in ids.iter().filter(|id| was_enabled(id)) {
            enabled.push(*id, GFP_KERNEL)?;
        }
        if self.retired.len().saturating_add(enabled.len()) > MOST_RETIRED {
            self.clear_unknown();
        }
        self.retired.reserve(enabled.len(), GFP_KERNEL)?;
        let is = |event: &Event| ids.binary_search(&event.id()).is_ok();
        self.remove_files(&is)?;
        self.forget_systems(&is);
        let going = self.events.iter_mut().filter(|event| is(event));
        Registered::retire_all(
            going.map(|event| (&mut event.call, event.id)),
            |id, retired| {
                if enabled.binary_search(&id).is_ok() {
                    let _ = self.retired.push_within_capacity(retired);
                }
            },
        );
        self.events.retain(|event| !is(event));
        Ok(())
    }

    /// Clears the buffers and snapshots that may have entries of events that were removed. Task
    /// context, sleeps.
    pub(crate) fn clear_unknown(&mut self) {
        for at in self.instances.iter_mut().filter(|at| at.has_unknown) {
            at.has_unknown = false;
            at.instance.buffer().reset();
            at.instance.snapshot().clear(None);
        }
        #[cfg(CONFIG_RTRACE_RETIRED_EVENTS)]
        self.retired.clear();
    }

    /// Removes the files of the events that `is` accepts; says whether one of them was ever enabled.
    fn remove_files(&mut self, is: &dyn Fn(&Event) -> bool) -> Result<bool> {
        let mut next = 0;
        while let Some(event) = self.events.get(next) {
            next += 1;
            if is(event) {
                let id = event.id;
                self.remove_triggers_of(id)?;
            }
        }
        let mut gone: KVVec<EventFile> = KVVec::new();
        let mut was_enabled = false;
        for event in self.events.iter().filter(|event| is(event)) {
            for at in self.instances.iter_mut() {
                let Ok(place) = at.place(event.id) else {
                    continue;
                };
                let file = at.files.remove(place)?;
                at.count(file.is_enabled(), false);
                at.has_unknown |= file.was_enabled();
                was_enabled |= file.was_enabled();
                // Without memory it is dropped here, which waits for its probes.
                let _ = gone.push(file, GFP_KERNEL);
            }
        }
        FileBox::end_all(gone.into_iter().map(EventFile::into_hot));
        self.instances
            .iter_mut()
            .for_each(InstanceEvents::end_saving);
        // They look again when the mutex is free, and the event is gone by then.
        #[cfg(CONFIG_HIST_TRIGGERS)]
        super::trigger::hist::waiting::wake();
        Ok(was_enabled)
    }

    /// Takes the numbers of the systems that have no events but those that `is` accepts.
    fn forget_systems(&mut self, is: &dyn Fn(&Event) -> bool) {
        let Self {
            events, numbered, ..
        } = self;
        let mut last = None;
        for event in events.iter().filter(|event| is(event)) {
            let name = event.system().to_bytes();
            if last.replace(name) == Some(name) {
                continue;
            }
            let at = numbered.iter().position(|system| system.name == name);
            let stays = |other: &Event| other.system().to_bytes() == name && !is(other);
            if let Some(at) = at.filter(|_| !events.iter().any(stays)) {
                let _ = numbered.remove(at);
            }
        }
    }

    /// Whether an event is enabled anywhere.
    #[cfg(CONFIG_FTRACE_STARTUP_TEST)]
    pub(crate) fn has_enabled(&self) -> bool {
        self.instances.iter().any(|at| at.enabled != 0)
    }

    /// All events, the oldest first.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// The events of `instance`: all, or those of some systems.
    pub(crate) fn events_in<'a>(
        &'a self,
        instance: &'a Instance,
    ) -> impl DoubleEndedIterator<Item = &'a Event> + Clone {
        let systems = Systems::of(instance);
        let has = move |event: &&Event| systems.have(event);
        self.events.iter().filter(has)
    }

    /// The events that can be enabled in `instance`, in the order of `available_events`: first
    /// those that came later than the instance, the newest first.
    pub(crate) fn listed<'a>(&'a self, instance: &'a Instance) -> impl Iterator<Item = &'a Event> {
        self.listed_from(instance, 0).map(|(_, event)| event)
    }

    /// Those of [`Registry::listed`] at place `start` and behind it, with their places. A place
    /// stays the same as long as no event is added or removed.
    pub(crate) fn listed_from<'a>(
        &'a self,
        instance: &'a Instance,
        start: usize,
    ) -> impl Iterator<Item = (usize, &'a Event)> {
        self.placed_from(instance, start)
            .filter(|(_, event)| event.is_offered())
    }

    /// The enabled events of `instance` with their places, as [`Registry::listed_from`]. A trigger
    /// enables `ftrace:print`, which nobody else can.
    pub(crate) fn enabled_from<'a>(
        &'a self,
        instance: &'a Instance,
        start: usize,
    ) -> impl Iterator<Item = (usize, &'a Event)> {
        let files = self.of(instance);
        let is_enabled = move |event: &Event| {
            let file = files.and_then(|files| files.file(event.id()));
            file.is_some_and(|file| file.is_enabled())
        };
        self.placed_from(instance, start)
            .filter(move |(_, event)| is_enabled(event))
    }

    /// All events of `instance` with their places.
    fn placed_from<'a>(
        &'a self,
        instance: &'a Instance,
        start: usize,
    ) -> impl Iterator<Item = (usize, &'a Event)> {
        let systems = Systems::of(instance);
        let first_late = self.first_late(instance);
        let at = move |place: usize| {
            let is_late = place < self.events.len();
            let at = match is_late {
                true => self.events.len().wrapping_sub(place).wrapping_sub(1),
                false => place.wrapping_sub(self.events.len()),
            };
            let event = self.events.get(at)?;
            let is_here = (event.id >= first_late) == is_late && systems.have(event);
            is_here.then_some((place, event))
        };
        (start..self.places()).filter_map(at)
    }

    /// The number of places of [`Registry::listed_from`]: each event takes one of two, as later
    /// ones come first, the newest first.
    pub(crate) fn places(&self) -> usize {
        self.events.len().saturating_mul(2)
    }

    /// The event at a place of [`Registry::listed_from`].
    pub(crate) fn listed_at<'a>(
        &'a self,
        instance: &'a Instance,
        place: usize,
    ) -> Option<&'a Event> {
        let mut from = self.listed_from(instance, place);
        from.next()
            .filter(|(at, _)| *at == place)
            .map(|(_, event)| event)
    }

    /// The event of this id, if it was not removed.
    #[inline]
    pub(crate) fn event(&self, id: EventId) -> Option<&Event> {
        // As in `InstanceEvents::place`.
        let guess = self.events.get(id.0 as usize);
        if guess.is_some_and(|event| event.id == id) {
            return guess;
        }
        let at = self.events.binary_search_by_key(&id, Event::id).ok()?;
        self.events.get(at)
    }

    /// The event called `name` in `system`, if it can be enabled in `instance`.
    pub(crate) fn find_in(
        &self,
        instance: &Instance,
        system: &[u8],
        name: &[u8],
    ) -> Option<&Event> {
        self.find(system, name)
            .filter(|event| event.is_offered() && Systems::of(instance).have(event))
    }

    /// The event called `name` in `system`.
    pub(crate) fn find(&self, system: &[u8], name: &[u8]) -> Option<&Event> {
        let digest = digest(name);
        let is = |event: &&Event| {
            event.digest == digest && event.is_named(name) && event.system().to_bytes() == system
        };
        self.events.iter().find(is)
    }

    /// Of each system that `instance` has, an event that tells the place of the system by
    /// [`Registry::order`]: the first one that the instance got of those that are still there.
    pub(crate) fn firsts_in<'a>(
        &'a self,
        instance: &'a Instance,
    ) -> impl Iterator<Item = &'a Event> {
        let of_system = |first: &'a Event| {
            let mine = move |event: &&Event| event.system() == first.system();
            let its = self.events.iter().filter(mine);
            its.min_by_key(|event| self.order(instance, event.id))
        };
        let systems = Systems::of(instance);
        let has = move |event: &&Event| systems.have(event);
        self.first_of_systems().filter(has).filter_map(of_system)
    }

    /// The first event of each system.
    fn first_of_systems(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().enumerate().filter_map(|(at, event)| {
            let system = event.system();
            let is_new = |before: &Event| {
                before.system_key() != event.system_key() && before.system() != system
            };
            self.events.get(..at)?.iter().all(is_new).then_some(event)
        })
    }

    /// The number of the system called `name`, counted from 0; `None` if it has no events. It keeps
    /// the number until its last event is removed, and no other system ever has it. `ENOMEM`.
    pub(crate) fn system_number(&mut self, name: &[u8]) -> Result<Option<u64>> {
        let known = self.numbered.iter().find(|system| system.name == name);
        if let Some(known) = known {
            return Ok(Some(known.number));
        }
        let has = |event: &Event| event.system().to_bytes() == name;
        if !self.events.iter().any(has) {
            return Ok(None);
        }
        let number = self.next_system;
        let name = Text::copy(name)?;
        self.numbered
            .push(NumberedSystem { number, name }, GFP_KERNEL)?;
        self.next_system = number.wrapping_add(1);
        Ok(Some(number))
    }

    /// Whether the system that was given this number has had events ever since.
    pub(crate) fn has_system(&self, number: u64) -> bool {
        let mut known = self.numbered.iter();
        known.any(|system| system.number == number)
    }

    /// Whether the event whose id is this number was not removed.
    pub(crate) fn has_event(&self, number: u64) -> bool {
        let number_of = |event: &Event| event.id.number();
        self.events.binary_search_by_key(&number, number_of).is_ok()
    }

    /// The events, for changing their texts.
    pub(super) fn calls_mut(&mut self) -> impl Iterator<Item = &mut Registered> {
        self.events.iter_mut().map(|event| &mut event.call)
    }

    /// The events of `instance`, if anything was set there.
    pub(crate) fn of(&self, instance: &Instance) -> Option<&InstanceEvents> {
        self.instances
            .iter()
            .find(|at| core::ptr::eq(&**at.instance(), instance))
    }

    /// As [`Registry::of`], mutable.
    pub(crate) fn of_mut(&mut self, instance: &Instance) -> Option<&mut InstanceEvents> {
        self.instances
            .iter_mut()
            .find(|at| core::ptr::eq(&**at.instance(), instance))
    }

    /// As [`Registry::of_mut`], but creates missing state. `ENOMEM`.
    pub(crate) fn of_made(&mut self, instance: &Arc<Instance>) -> Result<&mut InstanceEvents> {
        let found = self
            .instances
            .iter()
            .position(|at| Arc::ptr_eq(at.instance(), instance));
        let at = match found {
            Some(at) => at,
            None => {
                let new = InstanceEvents {
                    instance: instance.clone(),
                    pids: instance.feature::<EventsFeature>()?.pids().clone(),
                    probes: PidProbes::default(),
                    files: VVec::new(),
                    has_unknown: false,
                    enabled: 0,
                    saving: None,
                    timed: Arc::new(Atomic::new(0), GFP_KERNEL)?,
                };
                self.instances.push(new, GFP_KERNEL)?;
                self.instances.len() - 1
            }
        };
        self.instances.get_mut(at).ok_or(ENOMEM)
    }

    /// The file of `event` in `instance`; it is created if it is missing. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the event was removed, `ENOMEM`.
    pub(crate) fn file_made(
        &mut self,
        instance: &Arc<Instance>,
        event: EventId,
    ) -> Result<&mut EventFile> {
        let place = self.of_made(instance)?.place(event);
        let at = match place {
            Ok(at) => at,
            Err(at) => {
                let pids = self.of_made(instance)?.pids.clone();
                let known = self.event(event).ok_or(ENODEV)?;
                let new = EventFile::new(known, instance, &pids)?;
                new.hot().set(flag::OBSERVED, self.observed);
                let files = &mut self.of_made(instance)?.files;
                files.reserve(1, GFP_KERNEL)?;
                files.insert_within_capacity(at, new).map_err(|_| ENOMEM)?;
                at
            }
        };
        self.of_made(instance)?.files.get_mut(at).ok_or(ENODEV)
    }

    /// Removes the files of `instance`, which is being removed. Task context, sleeps.
    fn retire(&mut self, instance: &Instance) {
        self.forget_waiting(instance);
        let found = self
            .instances
            .iter()
            .position(|at| core::ptr::eq(&**at.instance(), instance));
        let Some(mut gone) = found.and_then(|at| self.instances.remove(at).ok()) else {
            return;
        };
        gone.clear_pids();
        // A trigger may hold the flags of a file, even of its own file.
        for file in gone
            .files
            .iter_mut()
            .filter(|file| file.triggers().is_some())
        {
            let _ = file.set_triggers(None);
        }
        FileBox::end_all(gone.files.into_iter().map(EventFile::into_hot));
        #[cfg(CONFIG_HIST_TRIGGERS)]
        self.remove_unread_hists();
    }
}
