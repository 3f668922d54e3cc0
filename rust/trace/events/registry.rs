// SPDX-License-Identifier: GPL-2.0

//! All events, and what each instance has of them. The event mutex guards both: an event, a file
//! and their texts are borrowed from its guard.

use super::file::EventFile;
use super::matching::Waiting;
use super::pids::{EventPids, EventsFeature, PidProbes};
use super::systems::Systems;
#[cfg(CONFIG_PERF_EVENTS)]
use crate::kernel::perf_trace::InUse;
use crate::kernel::trace_event::{flag, Call, FileBox, Registered};
use crate::trace::instance::Instance;
use crate::trace::tasks::cmdlines::Saving;
use core::ops::Deref;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex, MutexGuard, SetOnce};

/// Tells events apart, also one that has gone from one that has its name now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct EventId(u32);

impl EventId {
    /// A number that no other event ever has.
    pub(crate) fn number(self) -> u64 {
        self.0.into()
    }
}

/// An event that is known.
pub(crate) struct Event {
    id: EventId,
    call: Registered,
}

impl Event {
    /// Which it is.
    pub(crate) fn id(&self) -> EventId {
        self.id
    }

    /// What the kernel's interface to events gets.
    pub(crate) fn registered(&self) -> &Registered {
        &self.call
    }

    /// Can it be enabled by users?
    pub(crate) fn is_offered(&self) -> bool {
        self.call.can_record() && !self.call.has(Call::IGNORE_ENABLE)
    }

    fn is_late(&self) -> bool {
        self.call.module() != 0 || self.call.has(Call::DYNAMIC)
    }
}

impl Deref for Event {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.call
    }
}

/// What an instance has of events.
pub(crate) struct InstanceEvents {
    instance: Arc<Instance>,
    pub(super) pids: Arc<EventPids>,
    pub(super) probes: PidProbes,
    /// Sorted by event; those that nothing was set for are not there.
    pub(super) files: KVec<EventFile>,
}

impl InstanceEvents {
    /// The instance.
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// The event there, if something was set for it.
    pub(crate) fn file(&self, event: EventId) -> Option<&EventFile> {
        self.place(event).ok().and_then(|at| self.files.get(at))
    }

    /// [`InstanceEvents::file`] to change it.
    pub(crate) fn file_mut(&mut self, event: EventId) -> Option<&mut EventFile> {
        self.place(event).ok().and_then(|at| self.files.get_mut(at))
    }

    /// All of its files.
    pub(crate) fn files(&self) -> &[EventFile] {
        &self.files
    }

    /// Whose events are recorded there.
    pub(crate) fn pids(&self) -> &EventPids {
        &self.pids
    }

    fn place(&self, event: EventId) -> Result<usize, usize> {
        self.files.binary_search_by_key(&event, EventFile::event)
    }
}

/// What the event mutex guards.
pub(crate) struct Registry {
    /// Sorted by id, which is the order in which they came.
    pub(super) events: KVec<Event>,
    pub(super) instances: KVec<InstanceEvents>,
    /// How many files are enabled, and the names of tasks that are saved meanwhile.
    pub(super) enabled: usize,
    pub(super) saving: Option<Saving>,
    /// Somebody sees all entries beside the buffers.
    pub(super) observed: bool,
    #[cfg(CONFIG_PERF_EVENTS)]
    pub(super) perf: InUse,
    /// Systems that were asked for by name, in the order of their numbers.
    named: KVec<KVec<u8>>,
    /// What is to be enabled when a module comes.
    pub(super) waiting: KVec<Waiting>,
    next: u32,
}

static REGISTRY: SetOnce<Pin<KBox<Mutex<Registry>>>> = SetOnce::new();

/// Makes the registry, empty. Once, at boot. `ENOMEM`.
pub(super) fn init() -> Result {
    let empty = Registry {
        events: KVec::new(),
        instances: KVec::new(),
        enabled: 0,
        saving: None,
        observed: false,
        #[cfg(CONFIG_PERF_EVENTS)]
        perf: InUse::new(),
        named: KVec::new(),
        waiting: KVec::new(),
        next: 0,
    };
    REGISTRY.populate(KBox::pin_init(new_mutex!(empty), GFP_KERNEL)?);
    Ok(())
}

/// The event mutex. Task context, sleeps. `ENODEV` before there are events.
pub(crate) fn lock() -> Result<MutexGuard<'static, Registry>> {
    Ok(REGISTRY.as_ref().ok_or(ENODEV)?.lock())
}

/// `instance` goes, with all that it has of events. Task context, sleeps.
pub(crate) fn retire(instance: &Instance) {
    if let Ok(mut registry) = lock() {
        registry.retire(instance);
    }
}

impl Registry {
    /// Makes room for `more` events. `ENOMEM`.
    pub(super) fn reserve(&mut self, more: usize) -> Result {
        Ok(self.events.reserve(more, GFP_KERNEL)?)
    }

    /// Takes an event in. `ENOMEM`.
    pub(crate) fn add(&mut self, call: Registered) -> Result<EventId> {
        let id = EventId(self.next);
        self.events.push(Event { id, call }, GFP_KERNEL)?;
        self.next = self.next.checked_add(1).ok_or(EOVERFLOW)?;
        Ok(id)
    }

    /// Forgets the events that `is` picks, with all files of them, and what was recorded in
    /// instances where one was enabled at some time: others may get the types of the entries. Task
    /// context, sleeps. `ENOMEM`.
    pub(crate) fn remove(&mut self, is: impl Fn(&Event) -> bool) -> Result {
        let mut going = KVec::new();
        for event in self.events.iter().filter(|event| is(event)) {
            going.push(event.id, GFP_KERNEL)?;
        }
        for event in going {
            self.remove_triggers_of(event)?;
        }
        let mut gone: KVec<EventFile> = KVec::new();
        let mut clear: KVec<Arc<Instance>> = KVec::new();
        for event in self.events.iter().filter(|event| is(event)) {
            for at in self.instances.iter_mut() {
                let Ok(place) = at.place(event.id) else {
                    continue;
                };
                let file = at.files.remove(place)?;
                self.enabled -= usize::from(file.is_enabled());
                let known = clear.iter().any(|known| Arc::ptr_eq(known, at.instance()));
                if file.was_enabled() && !known {
                    clear.push(at.instance().clone(), GFP_KERNEL)?;
                }
                gone.push(file, GFP_KERNEL)?;
            }
        }
        FileBox::end_all(gone.into_iter().map(EventFile::into_hot));
        self.end_saving();
        clear.iter().for_each(|instance| instance.buffer().reset());
        let going = self.events.iter_mut().filter(|event| is(event));
        Registered::retract_all(going.map(|event| &mut event.call));
        self.events.retain(|event| !is(event));
        Ok(())
    }

    /// Nobody needs tasks' names any more?
    pub(super) fn end_saving(&mut self) {
        if self.enabled == 0 {
            self.saving = None;
        }
    }

    /// All events, oldest first.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// The events that `instance` has: all, or those of some systems.
    pub(crate) fn events_in<'a>(
        &'a self,
        instance: &'a Instance,
    ) -> impl DoubleEndedIterator<Item = &'a Event> + Clone {
        let systems = Systems::of(instance);
        let has = move |event: &&Event| systems.has(event.system().to_bytes());
        self.events.iter().filter(has)
    }

    /// The events that can be enabled in `instance`, in the order of `available_events`: those of
    /// modules first, the newest at the top.
    pub(crate) fn listed<'a>(&'a self, instance: &'a Instance) -> impl Iterator<Item = &'a Event> {
        let events = self.events_in(instance);
        let late = events.clone().rev().filter(|event| event.is_late());
        let early = events.filter(|event| !event.is_late());
        Iterator::chain(late, early).filter(|event| event.is_offered())
    }

    /// The event that this is the id of, if it is still there.
    pub(crate) fn event(&self, id: EventId) -> Option<&Event> {
        let at = self.events.binary_search_by_key(&id, Event::id).ok()?;
        self.events.get(at)
    }

    /// The event called `name` in `system` that can be enabled in `instance`.
    pub(crate) fn find_in(
        &self,
        instance: &Instance,
        system: &[u8],
        name: &[u8],
    ) -> Option<&Event> {
        self.find(system, name)
            .filter(|event| event.is_offered() && Systems::of(instance).has(system))
    }

    /// The event called `name` in `system`.
    pub(crate) fn find(&self, system: &[u8], name: &[u8]) -> Option<&Event> {
        self.events
            .iter()
            .find(|event| event.name().to_bytes() == name && event.system().to_bytes() == system)
    }

    /// The names of the systems, each once, in the order in which their first events came.
    pub(crate) fn systems(&self) -> impl Iterator<Item = &CStr> {
        self.events.iter().enumerate().filter_map(|(at, event)| {
            let system = event.system();
            let is_new = |before: &Event| {
                before.system_key() != event.system_key() && before.system() != system
            };
            self.events.get(..at)?.iter().all(is_new).then_some(system)
        })
    }

    /// A number for the system called `name`, from 0 on, which it keeps for good. `ENOMEM`.
    pub(crate) fn system_number(&mut self, name: &[u8]) -> Result<u64> {
        let known = self.named.iter().position(|known| known.as_slice() == name);
        let at = match known {
            Some(at) => at,
            None => {
                let mut new = KVec::new();
                new.extend_from_slice(name, GFP_KERNEL)?;
                self.named.push(new, GFP_KERNEL)?;
                self.named.len().saturating_sub(1)
            }
        };
        Ok(at as u64)
    }

    /// The events, to rewrite their texts.
    pub(super) fn calls_mut(&mut self) -> impl Iterator<Item = &mut Registered> {
        self.events.iter_mut().map(|event| &mut event.call)
    }

    /// What `instance` has of events, if something was set there.
    pub(crate) fn of(&self, instance: &Instance) -> Option<&InstanceEvents> {
        self.instances
            .iter()
            .find(|at| core::ptr::eq(&**at.instance(), instance))
    }

    /// [`Registry::of`] to change it.
    pub(crate) fn of_mut(&mut self, instance: &Instance) -> Option<&mut InstanceEvents> {
        self.instances
            .iter_mut()
            .find(|at| core::ptr::eq(&**at.instance(), instance))
    }

    /// [`Registry::of_mut`] which is made if it is not there. `ENOMEM`.
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
                    files: KVec::new(),
                };
                self.instances.push(new, GFP_KERNEL)?;
                self.instances.len() - 1
            }
        };
        self.instances.get_mut(at).ok_or(ENOMEM)
    }

    /// `event` in `instance`; it gets a file if it has none. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the event has gone, `ENOMEM`.
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

    /// `instance` goes: all of its files do. Task context, sleeps.
    fn retire(&mut self, instance: &Instance) {
        self.forget_waiting(instance);
        let found = self
            .instances
            .iter()
            .position(|at| core::ptr::eq(&**at.instance(), instance));
        let Some(mut gone) = found.and_then(|at| self.instances.remove(at).ok()) else {
            return;
        };
        self.enabled -= gone.files.iter().filter(|file| file.is_enabled()).count();
        gone.clear_pids();
        // A trigger may keep the flags of a file, also of its own.
        for file in gone
            .files
            .iter_mut()
            .filter(|file| file.triggers().is_some())
        {
            let _ = file.set_triggers(None);
        }
        FileBox::end_all(gone.files.into_iter().map(EventFile::into_hot));
        self.end_saving();
    }
}
