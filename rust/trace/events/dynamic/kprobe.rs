// SPDX-License-Identifier: GPL-2.0

//! Kprobe events: entries recorded when an instruction is reached, or when a function returns.
//!
//! Several probes may be of one event, which is then recorded at all of their places. A probe in a
//! module that is not loaded waits for it.

use super::arguments::{Arguments, No as NoArguments};
use super::text::Text;
use super::{Dynamic, Kind as EventKind, List};
use crate::core::event::probe::argument::Machine;
use crate::core::event::probe::command::{
    self, words, Definition, Dentry, Found, No, NotFound, Place, Removal, NAME_ROOM,
};
use crate::core::event::probe::error::{Errno, Reason, Refused};
use crate::core::event::probe::layout::Kind;
use crate::core::event::probe::program::Source;
use crate::core::event::probe::types::TextOf;
use crate::core::format::symbol::Style;
use crate::core::format::{LineBuf, Out};
use crate::kernel::context::{current_and_name, PreemptOff};
use crate::kernel::dynamic_event::{DynamicEvent, Ops, Texts};
use crate::kernel::kallsyms;
use crate::kernel::kprobe::{
    self, Entry, Handler, Probe, Regs, Returns, Target, DENTRY_NAME, FILE_DENTRY, STACK_WORDS,
};
use crate::kernel::percpu::{self, PerCpu};
use crate::kernel::trace_event::Call;
use crate::kernel::trace_seq::TraceSeq;
use crate::kernel::{module, nofault, relaxed};
use crate::trace::events::file::Hot;
use crate::trace::events::recording;
use crate::trace::events::registry::{self, EventId, Registry};
use crate::trace::ftrace::sites;
use crate::trace::instance::Instance;
use core::any::Any;
use core::fmt;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex};

/// The longest text that is recorded, its end included.
const TEXT_MAX: usize = 4096;
/// Bytes that the arguments of types `%pd` and `%pD` may become.
const DENTRY_ROOM: usize = 256;

/// The registers and the memory at a hit.
struct AtHit<'a> {
    arguments: &'a Arguments,
    regs: &'a Regs,
    saved: &'a [usize],
}

impl Source for AtHit<'_> {
    #[inline(always)]
    fn register(&self, at: u16) -> u64 {
        self.regs.register(at) as u64
    }

    #[inline(always)]
    fn stack(&self, at: u16) -> u64 {
        self.regs.stack(at) as u64
    }

    #[inline(always)]
    fn stack_pointer(&self) -> u64 {
        self.regs.stack_pointer() as u64
    }

    #[inline(always)]
    fn returned(&self) -> u64 {
        self.regs.returned() as u64
    }

    fn comm(&self) -> u64 {
        current_and_name().1 as u64
    }

    fn current(&self) -> u64 {
        current_and_name().0 as u64
    }

    #[inline(always)]
    fn argument(&self, at: u16) -> u64 {
        self.regs.argument(at) as u64
    }

    fn saved(&self, at: u16) -> u64 {
        let word = self.saved.get(usize::from(at));
        word.map_or(0, |word| *word as u64)
    }

    fn symbol(&self, argument: usize) -> u64 {
        self.arguments.symbol(argument) as u64
    }

    fn this_cpu(&self, address: u64) -> u64 {
        percpu::this_address(address as usize) as u64
    }

    fn read(&self, user: bool, address: u64, to: &mut [u8]) -> bool {
        nofault::read(to, address as usize, user)
    }

    fn text_length(&self, of: TextOf, address: u64) -> usize {
        let address = address as usize;
        match of {
            TextOf::Symbol => kallsyms::symbol_text(address, &mut []),
            TextOf::Kernel => nofault::text_length(address, false, TEXT_MAX),
            TextOf::User => nofault::text_length(address, true, TEXT_MAX).min(TEXT_MAX),
        }
    }

    fn text(&self, of: TextOf, address: u64, to: &mut [u8]) -> usize {
        let address = address as usize;
        let user = match of {
            TextOf::Symbol => return kallsyms::symbol_text(address, to),
            TextOf::Kernel => false,
            TextOf::User => true,
        };
        let copied = nofault::text(to, address, user).map(<[u8]>::len);
        // Its end was copied, too.
        copied.map_or(0, |length| length.wrapping_add(1).min(to.len()))
    }
}

/// The handler of a probe.
struct Hits {
    event: Arc<DynamicEvent<Hot>>,
    arguments: Arc<Arguments>,
    count: PerCpu<Atomic<u64>>,
}

impl Hits {
    /// Records a hit in all files of the event, and for perf. The entry begins with `words`.
    #[inline(always)]
    fn record(&self, words: &[usize], at: &AtHit<'_>, stay: &PreemptOff) {
        // Kprobes do not have a probe hit on a CPU while another is.
        let count = self.count.this();
        count.store(relaxed::load(count).wrapping_add(1), Relaxed);
        let arguments = &*self.arguments;
        self.event.each_file(stay, |file| {
            if recording::is_left_out(file) {
                return;
            }
            let size = arguments.entry_size(at);
            recording::record(stay, file, size, |fields| {
                arguments.store(words, at, fields)
            });
        });
        #[cfg(CONFIG_PERF_EVENTS)]
        self.event.submit(
            at.regs,
            stay,
            || arguments.entry_size(at),
            |fields| arguments.store(words, at, fields),
        );
    }

    fn at<'a>(&'a self, regs: &'a Regs, saved: &'a [usize]) -> AtHit<'a> {
        AtHit {
            arguments: &self.arguments,
            regs,
            saved,
        }
    }

    fn count(&self) -> u64 {
        let counts = self.count.iter().map(|(_, count)| relaxed::load(count));
        counts.fold(0, u64::wrapping_add)
    }
}

impl Handler for Hits {
    #[inline(always)]
    fn hit(&self, address: usize, regs: &Regs, stay: &PreemptOff) {
        self.record(&[address], &self.at(regs, &[]), stay);
    }

    fn entered(&self, regs: &Regs, saved: &mut [usize]) {
        for (to, at) in saved.iter_mut().zip(self.arguments.saved()) {
            *to = regs.argument(*at);
        }
    }

    #[inline(always)]
    fn returned(
        &self,
        function: usize,
        to: usize,
        regs: &Regs,
        saved: &[usize],
        stay: &PreemptOff,
    ) {
        self.record(&[function, to], &self.at(regs, saved), stay);
    }
}

type Probes = KVec<Arc<Probe<Hits>>>;

/// The common data of an event's probes.
#[pin_data]
struct Shared {
    name: KVec<u8>,
    /// Those of the first probe; those of the others are stored alike.
    arguments: Arc<Arguments>,
    #[pin]
    probes: Mutex<Probes>,
}

/// [`Shared`], as the event asks it.
struct SharedOps(Arc<Shared>);

impl Ops for SharedOps {
    fn enable(&self, on: bool) -> Result {
        let probes = self.0.probes.lock();
        let switched = probes.iter().try_for_each(|probe| probe.enable(on));
        if on && switched.is_err() {
            for probe in probes.iter() {
                let _ = probe.enable(false);
            }
        }
        switched
    }

    fn print(&self, entry: &[u8], flags: c_int, out: &mut TraceSeq) -> fmt::Result {
        // As the printer has put them there.
        let style = Style {
            offset: flags & 2 != 0,
            addr: flags & 4 != 0,
        };
        self.0.arguments.print(&self.0.name, entry, style, out)
    }
}

/// An event.
struct Event {
    group: KVec<u8>,
    is_return: bool,
    shared: Arc<Shared>,
    event: Arc<DynamicEvent<Hot>>,
}

impl Event {
    /// Makes an event that is not registered yet. `ENOMEM`.
    fn new(group: &[u8], name: &[u8], is_return: bool, arguments: Arc<Arguments>) -> Result<Self> {
        let texts = Texts {
            system: Text::string(|out| out.bytes(group))?,
            name: Text::string(|out| out.bytes(name))?,
            print_fmt: arguments.print_fmt()?,
            fields: arguments.fields()?,
        };
        let name = Text::copy(name)?;
        let shared = Arc::pin_init(
            pin_init!(Shared {
                name,
                arguments,
                probes <- new_mutex!(KVec::new()),
            }? Error),
            GFP_KERNEL,
        )?;
        let ops = KBox::new(SharedOps(shared.clone()), GFP_KERNEL)?;
        Ok(Self {
            group: Text::copy(group)?,
            is_return,
            shared,
            event: DynamicEvent::new(texts, Call::KPROBE, ops)?,
        })
    }

    /// A probe of it, at `target`.
    fn probe(
        &self,
        target: Target,
        maxactive: u32,
        arguments: Arc<Arguments>,
    ) -> Result<Arc<Probe<Hits>>> {
        let returns = self.is_return.then(|| Returns {
            at_once: maxactive,
            saved: arguments.saved().len(),
        });
        let hits = Hits {
            event: self.event.clone(),
            arguments,
            count: PerCpu::new(|_| Atomic::new(0))?,
        };
        let probe = Probe::new(target, returns, hits)?;
        self.shared.probes.lock().push(probe.clone(), GFP_KERNEL)?;
        Ok(probe)
    }

    fn forget(&self, probe: &Arc<Probe<Hits>>) {
        let mut probes = self.shared.probes.lock();
        probes.retain(|known| !Arc::ptr_eq(known, probe));
    }
}

/// Where a probe is, as it was defined.
enum Spot {
    Address(usize),
    Symbol(KVec<u8>, u32),
}

impl Spot {
    fn of(place: Place<'_>) -> Result<Self> {
        Ok(match place {
            Place::Address(address) => Self::Address(address as usize),
            Place::Symbol { symbol, offset } => Self::Symbol(Text::copy(symbol)?, offset),
        })
    }

    fn target(&self) -> Result<Target> {
        Ok(match self {
            Self::Address(address) => Target::Address(*address),
            Self::Symbol(symbol, offset) => {
                Target::Symbol(Text::string(|out| out.bytes(symbol))?, *offset)
            }
        })
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        match self {
            Self::Address(address) => write!(out, "0x{address:016x}"),
            Self::Symbol(symbol, offset) => {
                out.bytes(symbol)?;
                match offset {
                    0 => Ok(()),
                    offset => write!(out, "+{offset}"),
                }
            }
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Address(one), Self::Address(other)) => one == other,
            (Self::Symbol(one, at), Self::Symbol(other, place)) => {
                one.as_slice() == other.as_slice() && at == place
            }
            _ => false,
        }
    }

    /// The module that the definition names.
    fn module(&self) -> Option<&[u8]> {
        match self {
            Self::Address(_) => None,
            Self::Symbol(symbol, _) => split_module(symbol).0,
        }
    }

    fn address(&self) -> Option<usize> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Symbol(symbol, offset) => {
                let start = kallsyms::address_of(symbol)?;
                Some(start.wrapping_add(*offset as usize))
            }
        }
    }
}

/// `MODULE:NAME` or `NAME`.
fn split_module(symbol: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match symbol.iter().position(|&byte| byte == b':') {
        Some(at) => (symbol.get(..at), symbol.get(at + 1..).unwrap_or(&[])),
        None => (None, symbol),
    }
}

/// A probe defined by a user.
pub(crate) struct Kprobe {
    event: Arc<Event>,
    id: EventId,
    spot: Spot,
    arguments: Arc<Arguments>,
    probe: Arc<Probe<Hits>>,
}

impl Kprobe {
    /// Writes its line of `kprobe_profile`.
    pub(crate) fn show_profile(&self, out: &mut dyn Out) -> fmt::Result {
        let name = &self.event.shared.name;
        out.bytes(b"  ")?;
        out.bytes(name)?;
        for _ in name.len()..44 {
            out.bytes(b" ")?;
        }
        let hits = self.probe.handler().count();
        writeln!(out, " {hits:15} {:15}", self.probe.missed())
    }

    fn register(&self, on: bool) -> Result {
        register(&self.spot, &self.arguments, &self.probe, on)
    }

    /// Whether the definition names a module that is not loaded.
    fn waits_for_module(&self) -> bool {
        match self.spot.module() {
            Some(name) => !module::exists(name),
            None => matches!(self.spot, Spot::Address(_)),
        }
    }
}

/// Registers a probe. Task context, sleeps. Errors as [`Probe::register`]; `EPERM` where the kernel is
/// locked down.
fn register(spot: &Spot, arguments: &Arguments, probe: &Probe<Hits>, on: bool) -> Result {
    kprobe::check_lockdown()?;
    if let Some(address) = spot.address().filter(|at| is_not_traceable(*at)) {
        pr_warn!(
            "Could not probe notrace function {}\n",
            kallsyms::SymbolOffset(address)
        );
        return Err(EINVAL);
    }
    arguments.find_symbols()?;
    probe.register(on)
}

/// Whether the function at `address` must not be traced. A part that the compiler has split off is
/// judged as the function that it was split off from.
fn is_not_traceable(address: usize) -> bool {
    let has_no_site = |address: usize| {
        let Some((size, offset)) = kallsyms::size_offset(address) else {
            return false;
        };
        let start = address.wrapping_sub(offset);
        let end = start.wrapping_add(size).wrapping_sub(1);
        sites::in_range(start, end).is_none()
    };
    if !has_no_site(address) {
        return false;
    }
    let whole = kallsyms::Symbol::with(address, |symbol| {
        let name = symbol.name();
        let dot = name.iter().position(|&byte| byte == b'.')?;
        Text::copy(name.get(..dot)?).ok()
    });
    match whole.flatten().and_then(|name| kallsyms::address_of(&name)) {
        Some(whole) => has_no_site(whole),
        None => true,
    }
}

impl Dynamic for Kprobe {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn show(&self, out: &mut dyn Out) -> fmt::Result {
        let Event {
            group, is_return, ..
        } = &*self.event;
        match self.probe.returns_at_once() {
            0 if *is_return => out.bytes(b"r")?,
            at_once if *is_return => write!(out, "r{at_once}")?,
            _ => out.bytes(b"p")?,
        }
        out.bytes(b":")?;
        out.bytes(group)?;
        out.bytes(b"/")?;
        out.bytes(&self.event.shared.name)?;
        out.bytes(b" ")?;
        self.spot.show(out)?;
        self.arguments.show(out)?;
        out.bytes(b"\n")
    }

    fn is_busy(&self, _registry: &Registry) -> bool {
        self.event.event.is_in_use()
    }

    fn matches(&self, removal: &Removal<'_>, rest: &mut dyn Iterator<Item = &[u8]>) -> bool {
        let Event { group, shared, .. } = &*self.event;
        let of_event = removal.event.is_empty() || removal.event == shared.name.as_slice();
        let of_group = removal
            .group
            .is_none_or(|wanted| wanted == group.as_slice());
        if !of_event || !of_group {
            return false;
        }
        let Some(place) = rest.next() else {
            return true;
        };
        let shown = Text::of(|out| self.spot.show(out));
        shown.is_ok_and(|shown| shown.as_slice() == place) && self.arguments.begin_with(rest)
    }

    fn end(&self, is_last: bool, registry: &mut Registry) -> Result {
        let event = &self.event;
        if is_last {
            if event.event.is_in_use() || event.event.call().is_in_use() {
                return Err(EBUSY);
            }
            registry.remove(|known| known.id() == self.id)?;
        }
        self.probe.unregister();
        event.forget(&self.probe);
        Ok(())
    }

    fn shares_event_with(&self, other: &dyn Dynamic) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| Arc::ptr_eq(&self.event, &other.event))
    }

    fn module_comes(&self, name: &[u8]) {
        if self.spot.module() != Some(name) {
            return;
        }
        // An earlier load of the module is gone, with its code.
        self.probe.unregister();
        let Spot::Symbol(symbol, _) = &self.spot else {
            return;
        };
        let found = match count(Some(name), split_module(symbol).1) {
            0 => Err(ENOENT),
            1 => self.register(self.event.event.is_in_use()),
            _ => Err(EADDRNOTAVAIL),
        };
        if let Err(error) = found {
            pr_warn!(
                "Failed to re-register probe {} on {}: {:?}\n",
                self.event.event.call().name(),
                Bytes(name),
                error
            );
        }
    }
}

/// Bytes that should be text.
struct Bytes<'a>(&'a [u8]);

impl kernel::fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        self.0
            .utf8_chunks()
            .try_for_each(|chunk| f.write_str(chunk.valid()))
    }
}

/// How many symbols have this name: in one module, or in the kernel, or else in all modules.
fn count(module: Option<&[u8]>, name: &[u8]) -> usize {
    let mut found = 0_usize;
    let mut one_more = || found = found.saturating_add(1);
    match module {
        Some(module) => {
            if let Ok(module) = Text::string(|out| out.bytes(module)) {
                kallsyms::for_each_in_modules(Some(&module), name, one_more);
            }
        }
        None => {
            kallsyms::for_each_named(name, |_| one_more());
            if found == 0 {
                kallsyms::for_each_in_modules(None, name, || found = found.saturating_add(1));
            }
        }
    }
    found
}

/// The kernel, as definitions ask it.
struct Kernel;

impl command::Symbols for Kernel {
    fn find(&self, symbol: &[u8], offset: u64) -> Result<Found, NotFound> {
        let (of_module, name) = split_module(symbol);
        if of_module.is_none_or(module::exists) {
            match count(of_module, name) {
                0 => return Err(NotFound::Missing),
                1 => {}
                _ => return Err(NotFound::NotUnique),
            }
        }
        let symbol = Text::string(|out| out.bytes(symbol)).map_err(|_| NotFound::Missing)?;
        Ok(match kprobe::entry_of(&symbol, offset as usize) {
            Entry::Yes => Found::Entry,
            Entry::No => Found::Inside,
            Entry::Unknown => Found::Later,
        })
    }
}

impl Machine for Kernel {
    fn register(&self, name: &[u8]) -> Option<u16> {
        kprobe::register(name)
    }

    fn stack_words(&self) -> u64 {
        STACK_WORDS as u64
    }
}

fn errno(errno: Errno) -> Error {
    Error::from_errno(-errno.value())
}

/// The words of a definition, with what `%pd` and `%pD` stand for.
struct Words(KVec<KVec<u8>>);

impl Words {
    /// `ENOMEM`, also where what they stand for is too long.
    fn of<'a>(text: impl Iterator<Item = &'a [u8]>) -> Result<Self> {
        let dentry = Dentry {
            name: DENTRY_NAME,
            of_file: FILE_DENTRY,
        };
        let mut words = KVec::new();
        let mut room = DENTRY_ROOM;
        for (at, word) in text.enumerate() {
            let mut memory = [0; DENTRY_ROOM];
            let mut line = LineBuf::new(memory.get_mut(..room).unwrap_or(&mut []));
            let expanded = at >= 2 && dentry.expand(word, &mut line).map_err(|_| ENOMEM)?;
            let word = match expanded {
                true => Text::copy(line.as_bytes())?,
                false => Text::copy(word)?,
            };
            if expanded {
                room = room.checked_sub(word.len() + 1).ok_or(ENOMEM)?;
            }
            words.push(word, GFP_KERNEL)?;
        }
        Ok(Self(words))
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.0.iter().map(|word| word.as_slice())
    }

    /// Says in `error_log` what is wrong.
    fn log(&self, refused: &Refused) {
        let command = Text::of(|out| {
            for (at, word) in self.iter().enumerate() {
                if at != 0 {
                    out.bytes(b" ")?;
                }
                out.bytes(word)?;
            }
            Ok(())
        });
        if let (Ok(command), Ok(top)) = (command, Instance::top()) {
            let column = refused.column(self.iter());
            let message = refused.reason.text();
            top.errors()
                .push(b"trace_kprobe", &command, column, message);
        }
    }

    /// [`Words::log`] with an errno of its own.
    fn refuse<T>(&self, reason: Reason, word: usize, error: Error) -> Result<T> {
        self.log(&Refused::new(reason, 0).in_word(word));
        Err(error)
    }
}

/// The kind.
pub(crate) struct Kprobes;

impl EventKind for Kprobes {
    fn has(&self, one: &dyn Dynamic) -> bool {
        one.as_any().is::<Kprobe>()
    }

    fn create(&self, command: &[u8], list: &List) -> Result<Option<KBox<dyn Dynamic>>> {
        let plain = words(command);
        let definition = match Definition::parse(plain.clone(), &Kernel) {
            Ok(definition) => definition,
            Err(No::Other) => return Ok(None),
            Err(No::Refused(refused)) => {
                Words::of(plain)?.log(&refused);
                return Err(errno(refused.errno));
            }
        };
        let words = Words::of(plain)?;
        let kind = match definition.is_return {
            true => Kind::Return,
            false => Kind::Entry,
        };
        let arguments = words.iter().skip(2);
        let arguments = match Arguments::new(kind, arguments, definition.spot, &Kernel) {
            Ok(arguments) => Arc::new(arguments, GFP_KERNEL)?,
            Err(NoArguments::Errno(error)) => return Err(error),
            Err(NoArguments::Refused(refused)) => {
                words.log(&refused);
                return Err(errno(refused.errno));
            }
        };
        // What was made could not be dropped: the event is known then.
        let room = KBox::<Kprobe>::new_uninit(GFP_KERNEL)?;
        let made = make(&definition, &words, arguments, list)?;
        let made = KBox::write(room, made);
        let made: KBox<dyn Dynamic> = made;
        Ok(Some(made))
    }
}

/// The name of an event whose definition has none, or the one that it has.
fn name_of(definition: &Definition<'_>) -> Result<KVec<u8>> {
    match definition.event {
        Some(name) => Text::copy(name),
        None => {
            let mut name = Text::of(|out| definition.write_name(out))?;
            name.truncate(NAME_ROOM - 1);
            Ok(name)
        }
    }
}

/// Makes the probe, and the event unless there is one of this name. Task context, sleeps.
fn make(
    definition: &Definition<'_>,
    words: &Words,
    arguments: Arc<Arguments>,
    list: &List,
) -> Result<Kprobe> {
    let name = name_of(definition)?;
    let group = definition.group.unwrap_or(b"kprobes");
    let spot = Spot::of(definition.place)?;
    let mut registry = registry::lock()?;
    let known = || {
        list.of::<Kprobe>().filter(|known| {
            known.event.group.as_slice() == group
                && known.event.shared.name.as_slice() == name.as_slice()
        })
    };
    let (event, id) = match known().next() {
        Some(first) => {
            if first.event.is_return != definition.is_return {
                return words.refuse(Reason::DifferentProbe, 0, EEXIST);
            }
            if let Some(at) = arguments.differs_at(&first.arguments) {
                return words.refuse(Reason::DifferentArgument, at + 2, EEXIST);
            }
            let same =
                |known: &Kprobe| known.spot.is_same(&spot) && known.arguments.is_same(&arguments);
            if known().any(same) {
                return words.refuse(Reason::SameProbe, 0, EEXIST);
            }
            (first.event.clone(), first.id)
        }
        None => {
            if registry.find(group, &name).is_some() {
                return words.refuse(Reason::EventExists, 0, EEXIST);
            }
            let event = Event::new(group, &name, definition.is_return, arguments.clone())?;
            let event = Arc::new(event, GFP_KERNEL)?;
            let id = registry.add(DynamicEvent::register(&event.event)?)?;
            (event, id)
        }
    };
    let is_new = known().next().is_none();
    let result = add_probe(event.clone(), id, spot, definition.maxactive, arguments);
    let Err(error) = result else {
        return result;
    };
    if is_new {
        let _ = registry.remove(|known| known.id() == id);
    }
    let reason = match error {
        error if error == EILSEQ => Reason::BadInstructionBoundary,
        error if error == ENOENT => Reason::BadProbeAddress,
        error if error == ENOMEM || error == EEXIST => return Err(error),
        _ => Reason::NotRegistered,
    };
    words.refuse(reason, 1, error)
}

/// Adds a probe to `event`; it is enabled if that is in use. The caller holds the events lock.
fn add_probe(
    event: Arc<Event>,
    id: EventId,
    spot: Spot,
    maxactive: u32,
    arguments: Arc<Arguments>,
) -> Result<Kprobe> {
    let probe = event.probe(spot.target()?, maxactive, arguments.clone())?;
    let new = Kprobe {
        event,
        id,
        spot,
        arguments,
        probe,
    };
    match new.register(new.event.event.is_in_use()) {
        Err(error) if error == ENOENT && new.waits_for_module() => {
            pr_warn!(
                "This probe might be able to register after target module is loaded. Continue.\n"
            );
        }
        Err(error) => {
            new.event.forget(&new.probe);
            return Err(error);
        }
        Ok(()) => {}
    }
    Ok(new)
}

/// Makes the events of `text`, which is that of `kprobe_event=`, and enables them in the top
/// instance. Boot. Errors are logged.
pub(crate) fn boot(text: &[u8]) {
    let mut any = false;
    for one in text
        .split(|&byte| byte == b';')
        .filter(|one| !one.is_empty())
    {
        any = true;
        let made = Text::copy(one).and_then(|mut one| {
            one.iter_mut()
                .filter(|byte| **byte == b',')
                .for_each(|byte| *byte = b' ');
            super::lock()?.command(&one, Some(&Kprobes))
        });
        if let Err(error) = made {
            pr_warn!(
                "Failed to add event({}): {}\n",
                error.to_errno(),
                Bytes(one)
            );
        }
    }
    if any {
        if let Err(error) = enable_all() {
            pr_warn!("events of kprobe_event= are not enabled: {:?}\n", error);
        }
    }
}

fn enable_all() -> Result {
    let top = Instance::top()?;
    let list = super::lock()?;
    let mut registry = registry::lock()?;
    for kprobe in list.of::<Kprobe>() {
        registry.enable(top, kprobe.id, true)?;
    }
    Ok(())
}

/// A probe for one of perf's events alone, in no list.
#[cfg(CONFIG_PERF_EVENTS)]
pub(super) struct Local {
    event: Event,
    // Goes before what it tells of hits.
    _probe: Arc<Probe<Hits>>,
}

/// Makes a probe for perf alone, and runs `begin` on its event. Task context, sleeps.
///
/// # Errors
///
/// `ENOENT` and `EADDRNOTAVAIL` for a symbol that is not there once, and those of a probe and of
/// `begin`.
#[cfg(CONFIG_PERF_EVENTS)]
pub(crate) fn create_local(
    place: Place<'_>,
    is_return: bool,
    begin: impl FnOnce(&Call) -> Result,
) -> Result {
    if let Place::Symbol { symbol, .. } = place {
        let (of_module, name) = split_module(symbol);
        match count(of_module, name) {
            _ if !of_module.is_none_or(module::exists) => {}
            0 => return Err(ENOENT),
            1 => {}
            _ => return Err(EADDRNOTAVAIL),
        }
    }
    let name = match place {
        Place::Symbol { symbol, .. } => symbol,
        Place::Address(_) => b"DUMMY_EVENT",
    };
    let kind = match is_return {
        true => Kind::Return,
        false => Kind::Entry,
    };
    let nothing = Arguments::new(kind, core::iter::empty(), command::Spot::Inside, &Kernel);
    let arguments = match nothing {
        Ok(arguments) => Arc::new(arguments, GFP_KERNEL)?,
        Err(NoArguments::Errno(error)) => return Err(error),
        Err(NoArguments::Refused(refused)) => return Err(errno(refused.errno)),
    };
    let event = Event::new(b"kprobes", name, is_return, arguments.clone())?;
    let spot = Spot::of(place)?;
    let probe = event.probe(spot.target()?, 0, arguments.clone())?;
    let shared = event.shared.clone();
    let begun = || {
        register(&spot, &arguments, &probe, false)?;
        let mut list = super::lock()?;
        list.locals.reserve(1, GFP_KERNEL)?;
        begin(event.event.call())?;
        let _ = list.locals.push_within_capacity(Local {
            event,
            _probe: probe,
        });
        Ok(())
    };
    // The probe has the event, and the event the probe.
    begun().inspect_err(|_: &Error| shared.probes.lock().clear())
}

/// Undoes [`create_local`]. Task context, sleeps.
#[cfg(CONFIG_PERF_EVENTS)]
pub(crate) fn destroy_local(call: &Call) {
    let gone = super::lock().ok().and_then(|mut list| {
        let is = |local: &Local| core::ptr::eq(local.event.event.call(), call);
        let at = list.locals.iter().position(is)?;
        list.locals.remove(at).ok()
    });
    if let Some(local) = gone {
        local.event.shared.probes.lock().clear();
    }
}
