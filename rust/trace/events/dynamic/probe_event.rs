// SPDX-License-Identifier: GPL-2.0

//! What events of probes have in common, whatever is probed: their event, several probes of one
//! event, the rules of definition and removal, and what is recorded.
//!
//! A kind has a type that is [`Probed`]; its definitions are [`Defined`].

use super::arguments::Arguments;
#[cfg(CONFIG_FPROBE_EVENTS)]
use super::list::Change;
use super::list::{Dynamic, List};
use super::words::Words;
use crate::core::event::probe::command::Removal;
use crate::core::event::probe::error::Reason;
use crate::core::event::probe::program::Source;
use crate::core::format::symbol::Style;
use crate::core::format::Out;
#[cfg(CONFIG_BPF_EVENTS)]
use crate::kernel::bpf::Target;
use crate::kernel::context::PreemptOff;
use crate::kernel::dynamic_event::{DynamicEvent, FieldText, Ops, Texts};
use crate::kernel::text::Text;
use crate::kernel::trace_event::COMMON;
use crate::kernel::trace_seq::TraceSeq;
use crate::trace::events::file::Hot;
use crate::trace::events::printer::symbols_of;
use crate::trace::events::recording::{self, HitEntry, Start};
use crate::trace::events::registry::{self, EventId, OnSwitch, Registry};
#[cfg(CONFIG_EPROBE_EVENTS)]
use crate::trace::instance::Instance;
use core::any::Any;
use core::fmt;
use core::mem::size_of;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};

/// A probe of a kind.
pub(super) trait Probed: Send + Sync + Sized + 'static {
    /// What it records.
    fn arguments(&self) -> &Arguments;

    /// Registers it, enabled if `on`: once it is part of its event. Task context, sleeps. The caller
    /// holds the events lock.
    ///
    /// # Errors
    ///
    /// Why there can be no such probe.
    fn register(&self, on: bool) -> Result;

    /// Undoes [`Probed::register`], and waits for hits under way. Task context, sleeps.
    fn unregister(&self);

    /// Enables or disables it. Task context, sleeps. The caller holds the events lock.
    fn enable(&self, on: bool) -> Result;

    /// Disables all of these, whatever one of them says; the first error is returned. As
    /// [`Probed::enable`].
    fn disable_all(probes: &[Arc<Self>]) -> Result {
        let disabled = probes.iter().map(|probe| probe.enable(false));
        disabled.fold(Ok(()), |first, this| first.and(this))
    }

    /// Whether it is in programs.
    const IS_OF_PROGRAMS: bool = false;

    /// Perf wants the hits of more programs, or of fewer. Task context, sleeps. The caller holds the
    /// events lock.
    fn apply(&self, _more: bool) -> Result {
        Ok(())
    }

    /// Writes what a definition has in front of the colon.
    fn show_head(&self, out: &mut dyn Out) -> fmt::Result;

    /// Writes what is probed, as a definition has it.
    fn show_place(&self, out: &mut dyn Out) -> fmt::Result;

    /// Whether the words of a removal mean what is probed.
    fn is_at(&self, place: &[u8]) -> bool {
        let shown = Text::of(|out| self.show_place(out));
        shown.is_ok_and(|shown| shown.as_slice() == place)
    }

    /// Whether `other` probes the same.
    fn is_same_place(&self, other: &Self) -> bool;

    /// What is told when the event is enabled or disabled in an instance. `ENOMEM`.
    fn on_switch(&self) -> Result<Option<Arc<dyn OnSwitch>>> {
        Ok(None)
    }

    /// What it is at, if BPF programs can be there.
    #[cfg(CONFIG_BPF_EVENTS)]
    fn target(&self) -> Option<Target<'_>> {
        None
    }

    /// The module `name`, which is being loaded, may have what `event` is to probe. Task context,
    /// sleeps. The caller holds the events lock.
    fn module_comes(&self, _name: &[u8], _event: &Event<Self>) {}

    /// As [`Dynamic::tracepoints_change`]. The caller holds the events lock.
    #[cfg(CONFIG_FPROBE_EVENTS)]
    fn tracepoints_change(&self, _change: &Change) {}
}

/// What records a probe's hits.
pub(super) struct Record {
    /// The event that is hit.
    pub(super) event: Arc<DynamicEvent<Hot>>,
    /// What is recorded.
    pub(super) arguments: Arc<Arguments>,
}

impl Record {
    /// Records a hit in all files of the event. The entry begins with what `words` gives, its stack at `start`.
    #[inline(always)]
    pub(super) fn in_files<const N: usize>(
        &self,
        words: impl Fn() -> [usize; N] + Copy,
        start: Start<'_>,
        at: impl Source,
        stay: &PreemptOff,
    ) {
        recording::record_hits(stay, &self.event, start, self.made(words, at));
    }

    #[inline(always)]
    fn made<S, W, const N: usize>(&self, words: W, at: S) -> Made<'_, S, W, N> {
        Made {
            words,
            arguments: &self.arguments,
            at,
        }
    }
}

/// The entry of a hit: the words that its kind begins with, and the arguments.
#[derive(Clone, Copy)]
struct Made<'a, S, W, const N: usize> {
    words: W,
    arguments: &'a Arguments,
    at: S,
}

impl<S, W, const N: usize> HitEntry for Made<'_, S, W, N>
where
    S: Source,
    W: Fn() -> [usize; N] + Copy,
{
    const LEAST: usize = COMMON + N * size_of::<usize>();

    #[inline(always)]
    fn size(self) -> usize {
        self.arguments.entry_size(self.at)
    }

    #[inline(always)]
    fn fill(self, fields: &mut [u8]) {
        self.arguments.store((self.words)(), self.at, fields);
    }
}

#[cfg(CONFIG_EPROBE_EVENTS)]
impl Record {
    /// [`Record::in_files`] in the file of one instance, of a hit of another event.
    pub(super) fn in_file_of(&self, instance: &Instance, at: impl Source, stay: &PreemptOff) {
        let made = self.made::<_, _, 0>(|| [], at);
        for file in self.event.hit_files(stay) {
            if core::ptr::eq(&**file.instance(), instance) {
                recording::record_hit(stay, file, Start::Unknown, made);
            }
        }
    }
}

/// The common data of an event's probes.
#[pin_data]
struct Shared<P> {
    name: KVec<u8>,
    /// Those of the first probe; those of the others are stored alike.
    arguments: Arc<Arguments>,
    #[pin]
    probes: Mutex<KVec<Arc<P>>>,
    /// Those that were removed while perf had the event: BPF may have been told their names. They are not
    /// registered, and go when another is removed while perf has it no more, or with the event.
    #[pin]
    removed: Mutex<KVec<Arc<P>>>,
}

/// [`Shared`], as the event asks it.
struct SharedOps<P>(Arc<Shared<P>>);

impl<P: Probed> Ops for SharedOps<P> {
    fn enable(&self, on: bool) -> Result {
        let probes = self.0.probes.lock();
        if !on {
            return P::disable_all(&probes);
        }
        let enabled = probes.iter().try_for_each(|probe| probe.enable(true));
        enabled.inspect_err(|_| {
            let _ = P::disable_all(&probes);
        })
    }

    fn are_of_programs(&self) -> bool {
        P::IS_OF_PROGRAMS
    }

    fn apply(&self, more: bool) -> Result {
        let probes = self.0.probes.lock();
        probes.iter().try_for_each(|probe| probe.apply(more))
    }

    #[cfg(CONFIG_BPF_EVENTS)]
    fn with_target(&self, f: &mut dyn FnMut(&Target<'_>)) {
        let probes = self.0.probes.lock();
        if let Some(target) = probes.first().and_then(|probe| probe.target()) {
            f(&target);
        }
    }

    fn print(&self, entry: &[u8], flags: c_int, out: &mut TraceSeq) -> fmt::Result {
        // As the printer has put them there.
        let style = Style {
            offset: flags & 2 != 0,
            addr: flags & 4 != 0,
        };
        let how = (style, symbols_of(flags));
        self.0.arguments.print(&self.0.name, entry, how, out)
    }
}

/// What an event is called, and of which sort it is.
#[derive(Clone, Copy)]
pub(super) struct Title<'a> {
    /// Its group.
    pub(super) group: &'a [u8],
    /// Its name.
    pub(super) name: &'a [u8],
    /// `Call::KPROBE` and the like.
    pub(super) flags: u32,
    /// All probes of an event are of one sort.
    pub(super) sort: u8,
}

impl Title<'_> {
    /// The texts of an event of this title. `ENOMEM`.
    fn texts(&self, arguments: &Arguments, fields: KVec<FieldText>) -> Result<Texts> {
        Ok(Texts {
            system: Text::nul_text(|out| out.bytes(self.group))?,
            name: Text::nul_text(|out| out.bytes(self.name))?,
            print_fmt: arguments.print_fmt()?,
            fields,
        })
    }
}

/// An event of probes.
pub(super) struct Event<P> {
    group: KVec<u8>,
    sort: u8,
    shared: Arc<Shared<P>>,
    event: Arc<DynamicEvent<Hot>>,
}

impl<P: Probed> Event<P> {
    /// Makes an event that is not registered yet. `ENOMEM`.
    pub(super) fn new(title: Title<'_>, arguments: Arc<Arguments>) -> Result<Self> {
        let fields = arguments.fields()?;
        Self::with_fields(title, arguments, fields)
    }

    /// Makes an event for one of perf's events alone, whose filter knows the common fields only, as in
    /// C. `ENOMEM`.
    #[cfg(any(CONFIG_UPROBE_EVENTS, all(CONFIG_KPROBE_EVENTS, CONFIG_PERF_EVENTS)))]
    pub(super) fn local(title: Title<'_>, arguments: Arc<Arguments>) -> Result<Self> {
        Self::with_fields(title, arguments, KVec::new())
    }

    fn with_fields(
        title: Title<'_>,
        arguments: Arc<Arguments>,
        fields: KVec<FieldText>,
    ) -> Result<Self> {
        let texts = title.texts(&arguments, fields)?;
        let name = Text::copy(title.name)?;
        let shared = Arc::pin_init(
            pin_init!(Shared {
                name,
                arguments,
                probes <- new_mutex!(KVec::new()),
                removed <- new_mutex!(KVec::new()),
            }? Error),
            GFP_KERNEL,
        )?;
        let ops = KBox::new(SharedOps(shared.clone()), GFP_KERNEL)?;
        Ok(Self {
            group: Text::copy(title.group)?,
            sort: title.sort,
            shared,
            event: DynamicEvent::new(texts, title.flags, ops)?,
        })
    }

    /// The event that users enable.
    pub(super) fn event(&self) -> &Arc<DynamicEvent<Hot>> {
        &self.event
    }

    /// Its name.
    pub(super) fn name(&self) -> &[u8] {
        &self.shared.name
    }

    /// Whether it is the event of this title.
    #[cfg(CONFIG_EPROBE_EVENTS)]
    pub(super) fn is(&self, title: &Title<'_>) -> bool {
        self.group.as_slice() == title.group && self.name() == title.name
    }

    /// Adds a probe, which is switched with the event from now on. `ENOMEM`.
    pub(super) fn add(&self, probe: Arc<P>) -> Result {
        Ok(self.shared.probes.lock().push(probe, GFP_KERNEL)?)
    }

    /// Undoes [`Event::add`].
    pub(super) fn forget(&self, probe: &Arc<P>) {
        let mut probes = self.shared.probes.lock();
        probes.retain(|known| !Arc::ptr_eq(known, probe));
    }

    /// Whether something gets its hits or holds it. The caller holds the events lock.
    fn is_used(&self) -> bool {
        self.event.is_in_use() || self.event.call().is_in_use()
    }

    /// Whether perf has it, and may have told BPF where its first probe is. The caller holds the events lock.
    fn is_known_to_bpf(&self) -> bool {
        cfg!(CONFIG_BPF_EVENTS) && self.event.call().is_in_use()
    }

    /// Keeps a probe, which is to be removed, while BPF may read its names. The caller holds the events lock.
    /// `ENOMEM`.
    fn keep(&self, probe: &Arc<P>) -> Result {
        Ok(self.shared.removed.lock().push(probe.clone(), GFP_KERNEL)?)
    }

    /// Drops what [`Event::keep`] has kept: perf has the event no more.
    fn drop_removed(&self) {
        let removed = core::mem::take(&mut *self.shared.removed.lock());
        drop(removed);
    }
}

/// A probe that a user has defined.
pub(super) struct Defined<P> {
    event: Arc<Event<P>>,
    id: EventId,
    probe: Arc<P>,
}

impl<P: Probed> Defined<P> {
    /// Its event.
    pub(super) fn event(&self) -> &Event<P> {
        &self.event
    }

    /// Its event, among all.
    pub(super) fn id(&self) -> EventId {
        self.id
    }

    /// What it probes.
    pub(super) fn probe(&self) -> &P {
        &self.probe
    }
}

/// Makes the probe that `make` gives, and the event of this title unless there is one, and lists it.
/// Task context, sleeps.
///
/// # Errors
///
/// `EEXIST` if the event is of others, or differs; those of the probe. `error_log` gets them.
pub(super) fn define<P: Probed>(
    title: Title<'_>,
    words: &Words,
    arguments: Arc<Arguments>,
    list: &mut List,
    make: impl FnOnce(&Event<P>) -> Result<P>,
) -> Result {
    list.reserve()?;
    // What was made could not be dropped: the event is known then.
    let room = KBox::<Defined<P>>::new_uninit(GFP_KERNEL)?;
    let mut registry = registry::lock()?;
    let known = registry
        .find(title.group, title.name)
        .map(registry::Event::id);
    let first = |id| list.of::<Defined<P>>().find(|known| known.id == id);
    let (event, id, is_new) = match known.map(first) {
        Some(None) => return words.refuse(Reason::EventExists, 0, EEXIST),
        Some(Some(first)) => {
            if first.event.sort != title.sort {
                return words.refuse(Reason::DifferentProbe, 0, EEXIST);
            }
            if let Some(at) = arguments.differs_at(first.probe.arguments()) {
                return words.refuse(Reason::DifferentArgument, at + 2, EEXIST);
            }
            (first.event.clone(), first.id, false)
        }
        None => {
            let event = Arc::new(Event::new(title, arguments)?, GFP_KERNEL)?;
            let id = registry.add(DynamicEvent::register(&event.event)?)?;
            (event, id, true)
        }
    };
    let made = || {
        let probe = Arc::new(make(&event)?, GFP_KERNEL)?;
        let is_same = |other: &Arc<P>| {
            other.is_same_place(&probe) && other.arguments().is_same(probe.arguments())
        };
        if event.shared.probes.lock().iter().any(is_same) {
            return words.refuse(Reason::SameProbe, 0, EEXIST);
        }
        event.add(probe.clone())?;
        let registered = probe.on_switch().and_then(|on_switch| {
            if let Some(on_switch) = on_switch {
                registry.set_on_switch(id, on_switch);
            }
            probe.register(event.event.is_in_use())
        });
        registered.inspect_err(|_| event.forget(&probe))?;
        Ok(probe)
    };
    let error = match made() {
        Ok(probe) => {
            return list.push(KBox::write(room, Defined { event, id, probe }));
        }
        Err(error) => error,
    };
    if is_new {
        let _ = registry.remove(&|known| known.id() == id);
    }
    let reason = match error {
        error if error == EILSEQ => Reason::BadInstructionBoundary,
        error if error == ENOENT => Reason::BadProbeAddress,
        error if error == ENOMEM || error == EEXIST => return Err(error),
        _ => Reason::NotRegistered,
    };
    words.refuse(reason, 1, error)
}

impl<P: Probed> Dynamic for Defined<P> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        self.probe.show_head(out)?;
        out.bytes(b":")?;
        out.bytes(&self.event.group)?;
        out.bytes(b"/")?;
        out.bytes(self.event.name())?;
        out.bytes(b" ")?;
        self.probe.show_place(out)?;
        self.probe.arguments().show(out)?;
        out.bytes(b"\n")
    }

    fn is_busy(&self, _registry: &Registry) -> bool {
        self.event.event.is_in_use()
    }

    fn matches(&self, removal: &Removal<'_>, rest: &mut dyn Iterator<Item = &[u8]>) -> bool {
        let of_event = removal.event.is_empty() || removal.event == self.event.name();
        let of_group = removal
            .group
            .is_none_or(|wanted| wanted == self.event.group.as_slice());
        if !of_event || !of_group {
            return false;
        }
        let Some(place) = rest.next() else {
            return true;
        };
        self.probe.is_at(place) && self.probe.arguments().begin_with(rest)
    }

    fn end(&self, is_last: bool, registry: &mut Registry) -> Result {
        let event = &self.event;
        match (is_last, event.is_used()) {
            (true, true) => return Err(EBUSY),
            (true, false) => registry.remove(&|known| known.id() == self.id)?,
            (false, _) if event.is_known_to_bpf() => event.keep(&self.probe)?,
            (false, _) => {}
        }
        self.detach();
        Ok(())
    }

    fn event_id(&self) -> EventId {
        self.id
    }

    fn detach(&self) {
        self.probe.unregister();
        self.event.forget(&self.probe);
        if !self.event.is_known_to_bpf() {
            self.event.drop_removed();
        }
    }

    fn shares_event_with(&self, other: &dyn Dynamic) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| Arc::ptr_eq(&self.event, &other.event))
    }

    fn module_comes(&self, name: &[u8]) {
        self.probe.module_comes(name, &self.event);
    }

    #[cfg(CONFIG_FPROBE_EVENTS)]
    fn tracepoints_change(&self, change: &Change) {
        self.probe.tracepoints_change(change);
    }
}
