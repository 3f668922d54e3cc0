// SPDX-License-Identifier: GPL-2.0

//! Kprobe events: entries recorded when an instruction is reached, or when a function returns.
//!
//! Several probes may be of one event, which is then recorded at all of their places. A probe in a
//! module that is not loaded waits for it.

use super::arguments::Arguments;
use super::expanded::{expand, Argument};
use super::hit::AtHit;
use super::list::{self, Dynamic};
use super::probe_event::{define, Defined, Event, Probed, Record, Title};
use super::probe_kind::ProbeKind;
use super::types::Known;
use super::words::Words;
use crate::core::event::probe::argument::Machine;
use crate::core::event::probe::command::{
    self, Definition, DefinitionError, Found, NotFound, Place, NAME_ROOM,
};
use crate::core::event::probe::layout::Kind;
use crate::core::format::Out;
use crate::core::parse::command::split_pattern;
use crate::core::parse::glob::is_path;
#[cfg(CONFIG_BPF_EVENTS)]
use crate::kernel::bpf::Target;
use crate::kernel::context::PreemptOff;
use crate::kernel::hashed_pointer::HashedPointer;
use crate::kernel::kallsyms;
use crate::kernel::kprobe::{
    self, Call as ProbedCall, Entry, Handler, Probe, Returns, Target as ProbeTarget,
};
use crate::kernel::kprobes::check_lockdown;
use crate::kernel::percpu::PerCpu;
use crate::kernel::regs::{self, Regs, STACK_WORDS};
use crate::kernel::text::{NulText, Text};
use crate::kernel::trace_event::Call;
use crate::kernel::{memory, module, relaxed};
use crate::trace::events::recording::Start;
use crate::trace::events::registry;
use crate::trace::ftrace::sites;
use crate::trace::instance::Instance;
use core::cell::Cell;
use core::fmt;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// The handler of a probe.
pub(crate) struct Hits {
    record: Record,
    count: PerCpu<Atomic<u64>>,
}

impl Hits {
    /// Records a hit in all files of the event, and for perf. The entry begins with what `words` gives.
    #[inline(always)]
    fn record<'a, const N: usize>(
        &'a self,
        words: impl Fn() -> [usize; N] + Copy,
        regs: &'a Regs,
        saved: impl Fn() -> &'a [usize] + Copy,
        stay: &PreemptOff,
    ) {
        let at = AtHit {
            arguments: &self.record.arguments,
            regs,
            saved,
        };
        // Kprobes do not have a probe hit on a CPU while another is.
        let count = self.count.this();
        count.store(relaxed::load(count).wrapping_add(1), Relaxed);
        self.record.in_files(words, Start::At(at.regs), at, stay);
        #[cfg(CONFIG_PERF_EVENTS)]
        if self.record.event.perf_takes_kprobe(at.regs, stay) {
            self.record.event.submit(
                at.regs,
                stay,
                move || at.arguments.entry_size(at),
                move |fields| at.arguments.store(words(), at, fields),
            );
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
        self.record(move || [address], regs, || &[], stay);
    }

    fn entered(&self, regs: &Regs, saved: &mut [usize]) {
        for (to, at) in saved.iter_mut().zip(self.record.arguments.saved()) {
            *to = regs.argument(*at);
        }
    }

    #[inline(always)]
    fn returned(&self, call: ProbedCall<'_, Self>, regs: &Regs, stay: &PreemptOff) {
        let words = move || [call.function(), call.to()];
        self.record(words, regs, move || call.saved(), stay);
    }
}

/// Where a probe is, as it was defined.
enum Spot {
    Address(usize),
    Symbol {
        symbol: KVec<u8>,
        offset: u32,
        /// The address of the symbol if it is the kernel's own, which stays there: to find it again
        /// costs more than all else that is done for a probe.
        start: Option<usize>,
    },
}

impl Spot {
    /// `start` is the address of the symbol in `place` if it is the kernel's own.
    fn of(place: Place<'_>, start: Option<usize>) -> Result<Self> {
        Ok(match place {
            Place::Address(address) => Self::Address(address as usize),
            Place::Symbol { symbol, offset } => Self::Symbol {
                symbol: Text::copy(symbol)?,
                offset,
                start,
            },
        })
    }

    fn target(&self) -> Result<ProbeTarget> {
        Ok(match self {
            Self::Address(address) => ProbeTarget::Address(*address),
            Self::Symbol {
                symbol,
                offset,
                start,
            } => ProbeTarget::Symbol {
                name: known(symbol)?,
                offset: *offset,
                start: *start,
            },
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Address(one), Self::Address(other)) => one == other,
            (
                Self::Symbol { symbol, offset, .. },
                Self::Symbol {
                    symbol: other,
                    offset: at,
                    ..
                },
            ) => symbol.as_slice() == other.as_slice() && offset == at,
            _ => false,
        }
    }

    /// The module that the definition names.
    fn module(&self) -> Option<&[u8]> {
        match self {
            Self::Address(_) => None,
            Self::Symbol { symbol, .. } => split_module(symbol).0,
        }
    }

    fn address(&self) -> Option<usize> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Symbol {
                symbol,
                offset,
                start,
            } => {
                let start = start.or_else(|| self.start_of_path());
                let start = start.or_else(|| kallsyms::address_of(symbol))?;
                Some(start.wrapping_add(*offset as usize))
            }
        }
    }

    /// Where a function of a module is that is named by its path: a load of the module may bring another mangled name.
    fn start_of_path(&self) -> Option<usize> {
        let Self::Symbol { symbol, .. } = self else {
            return None;
        };
        match split_module(symbol) {
            (Some(_), path) if is_path(path) => {
                kallsyms::address_of(known(symbol).ok()?.to_bytes())
            }
            _ => None,
        }
    }
}

/// `MODULE:NAME` or `NAME`; the name may be a path.
fn split_module(symbol: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match split_pattern(symbol) {
        (module, Some(name)) => (Some(module), name),
        (name, None) => (None, name),
    }
}

/// `symbol` with the mangled name in place of a path, as kprobes know it; as it is if there is none
/// of this path yet.
fn known(symbol: &[u8]) -> Result<NulText> {
    let (of_module, name) = split_module(symbol);
    if !is_path(name) {
        return Text::nul_text(|out| out.bytes(symbol));
    }
    let mut mangled = KVec::new();
    let mut result = Ok(());
    kallsyms::for_each_of_path(name, of_module, |name, _| {
        if mangled.is_empty() {
            result = mangled.extend_from_slice(name, GFP_KERNEL);
        }
    });
    result?;
    let name = if mangled.is_empty() { name } else { &mangled };
    Text::nul_text(|out| {
        if let Some(module) = of_module {
            out.bytes(module)?;
            out.bytes(b":")?;
        }
        out.bytes(name)
    })
}

/// A probe defined by a user.
pub(crate) struct Kprobe {
    spot: Spot,
    is_return: bool,
    probe: Arc<Probe<Hits>>,
}

impl Kprobe {
    /// A probe of `event`, of the function's return if `is_return`.
    fn new(
        event: &Event<Self>,
        spot: Spot,
        is_return: bool,
        maxactive: u32,
        arguments: Arc<Arguments>,
    ) -> Result<Self> {
        let returns = is_return.then(|| Returns {
            at_once: maxactive,
            saved: arguments.saved().len(),
        });
        let hits = Hits {
            record: Record {
                event: event.event().clone(),
                arguments,
            },
            count: PerCpu::new(|_| Atomic::new(0))?,
        };
        Ok(Self {
            probe: Probe::new(spot.target()?, returns, hits)?,
            spot,
            is_return,
        })
    }

    /// Registers it, whether or not what it probes is there. Errors as [`Probe::register`]; `EPERM`
    /// where the kernel is locked down.
    fn begin(&self, on: bool) -> Result {
        check_lockdown()?;
        if let Some(address) = self.spot.address().filter(|at| is_not_traceable(*at)) {
            pr_warn!(
                "Could not probe notrace function {}\n",
                kallsyms::SymbolOffset(address)
            );
            return Err(EINVAL);
        }
        self.arguments().find_symbols()?;
        self.probe.register(on, self.spot.start_of_path())
    }

    /// Whether the definition names a module that is not loaded.
    fn waits_for_module(&self) -> bool {
        match self.spot.module() {
            Some(name) => !module::exists(name),
            None => matches!(self.spot, Spot::Address(_)),
        }
    }
}

/// Writes the lines of `kprobe_profile`.
pub(crate) fn show_profile(one: &dyn Dynamic, out: &mut dyn Out) -> fmt::Result {
    let Some(kprobe) = one.as_any().downcast_ref::<Defined<Kprobe>>() else {
        return Ok(());
    };
    let name = kprobe.event().name();
    out.bytes(b"  ")?;
    out.bytes(name)?;
    for _ in name.len()..44 {
        out.bytes(b" ")?;
    }
    let probe = &kprobe.probe().probe;
    writeln!(out, " {:15} {:15}", probe.handler().count(), probe.missed())
}

/// How often the first event `name` was hit. Task context, sleeps.
#[cfg(CONFIG_FTRACE_STARTUP_TEST)]
pub(crate) fn hits(name: &[u8]) -> Option<u64> {
    let list = list::lock().ok()?;
    let mut all = list.of::<Defined<Kprobe>>();
    let known = all.find(|known| known.event().name() == name)?;
    Some(known.probe().probe.handler().count())
}

/// Whether the function at `address` must not be traced, unless the kernel's builder wants it. A part that the compiler has split off is
/// judged as the function that it was split off from.
fn is_not_traceable(address: usize) -> bool {
    if cfg!(CONFIG_KPROBE_EVENTS_ON_NOTRACE) {
        return false;
    }
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

impl Probed for Kprobe {
    fn arguments(&self) -> &Arguments {
        &self.probe.handler().record.arguments
    }

    fn register(&self, on: bool) -> Result {
        match self.begin(on) {
            Err(error) if error == ENOENT && self.waits_for_module() => {
                pr_warn!(
                    "This probe might be able to register after target module is loaded. Continue.\n"
                );
                Ok(())
            }
            registered => registered,
        }
    }

    fn unregister(&self) {
        self.probe.unregister();
    }

    fn enable(&self, on: bool) -> Result {
        self.probe.enable(on)
    }

    fn show_head(&self, out: &mut dyn Out) -> fmt::Result {
        match self.probe.returns_at_once() {
            0 if self.is_return => out.bytes(b"r"),
            at_once if self.is_return => write!(out, "r{at_once}"),
            _ => out.bytes(b"p"),
        }
    }

    fn show_place(&self, out: &mut dyn Out) -> fmt::Result {
        match &self.spot {
            Spot::Address(_) => write!(out, "0x{}", HashedPointer::at(self.probe.place().2)),
            Spot::Symbol { symbol, offset, .. } => {
                out.bytes(symbol)?;
                match offset {
                    0 => Ok(()),
                    offset => write!(out, "+{offset}"),
                }
            }
        }
    }

    fn is_same_place(&self, other: &Self) -> bool {
        self.spot.is_same(&other.spot)
    }

    #[cfg(CONFIG_BPF_EVENTS)]
    fn target(&self) -> Option<Target<'_>> {
        let (name, offset, address) = self.probe.place();
        Some(Target {
            name,
            offset: offset.into(),
            address: match address {
                0 => self.spot.address().unwrap_or(0),
                known => known,
            } as u64,
            is_return: self.is_return,
            missed: self.probe.missed(),
        })
    }

    fn module_comes(&self, name: &[u8], event: &Event<Self>) {
        if self.spot.module() != Some(name) {
            return;
        }
        // An earlier load of the module is gone, with its code.
        self.probe.unregister();
        let Spot::Symbol { symbol, .. } = &self.spot else {
            return;
        };
        let found = match symbols(Some(name), split_module(symbol).1).0 {
            0 => Err(ENOENT),
            1 => self.begin(event.event().is_in_use()),
            _ => Err(EADDRNOTAVAIL),
        };
        if let Err(error) = found {
            pr_warn!(
                "Failed to re-register probe {} on {}: {}\n",
                event.event().call().name(),
                Bytes(name),
                error.to_errno()
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

/// How many symbols have this name: in one module, or in the kernel, or else in all modules; and the
/// address of the last of them, where that is told.
fn symbols(module: Option<&[u8]>, name: &[u8]) -> (usize, Option<usize>) {
    let (mut found, mut last) = (0_usize, None);
    let mut one_more = |address| {
        found = found.saturating_add(1);
        last = address;
    };
    if is_path(name) {
        kallsyms::for_each_of_path(name, module, |_, address| one_more(Some(address)));
        return (found, last);
    }
    match module {
        Some(module) => {
            if let Ok(module) = Text::nul_text(|out| out.bytes(module)) {
                kallsyms::for_each_in_modules(Some(&module), name, || one_more(None));
            }
        }
        None => {
            kallsyms::for_each_named(name, |address| one_more(Some(address)));
            if found == 0 {
                kallsyms::for_each_in_modules(None, name, || found = found.saturating_add(1));
            }
        }
    }
    (found, last)
}

/// Looks up symbols for a definition.
#[derive(Default)]
pub(super) struct Kernel {
    /// The address of the symbol that was found, if it is the kernel's own.
    start: Cell<Option<usize>>,
}

impl command::Symbols for Kernel {
    fn find(&self, symbol: &[u8], offset: u64) -> Result<Found, NotFound> {
        let (of_module, name) = split_module(symbol);
        let mut address = None;
        if of_module.is_none_or(module::exists) {
            match symbols(of_module, name) {
                (0, _) => return Err(NotFound::Missing),
                (1, found) => address = found,
                _ => return Err(NotFound::NotUnique),
            }
        }
        self.start
            .set(address.filter(|at| memory::is_kernel_text(*at)));
        let entry = match address {
            // What is known need not be looked up by its name again.
            Some(address) => kprobe::entry_at(address, offset as usize),
            None => {
                let symbol = known(symbol).map_err(|_| NotFound::Missing)?;
                kprobe::entry_of(&symbol, offset as usize)
            }
        };
        Ok(match entry {
            Entry::Yes => Found::Entry,
            Entry::No => Found::Inside,
            Entry::Unknown => Found::Later,
        })
    }
}

impl Machine for Kernel {
    fn register(&self, name: &[u8]) -> Option<u16> {
        regs::register(name)
    }

    fn stack_words(&self) -> u64 {
        STACK_WORDS as u64
    }
}

/// The kind.
pub(crate) struct Kprobes;

fn title<'a>(group: &'a [u8], name: &'a [u8], is_return: bool) -> Title<'a> {
    Title {
        group,
        name,
        flags: Call::KPROBE,
        sort: u8::from(is_return),
    }
}

impl ProbeKind for Kprobes {
    type Probe = Kprobe;
    type Definition<'a> = (Definition<'a>, Kernel);

    const NAME: &'static str = "trace_kprobe";

    fn parse<'a>(
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Self::Definition<'a>, DefinitionError> {
        let kernel = Kernel::default();
        Ok((Definition::parse(words, &kernel)?, kernel))
    }

    fn define((definition, kernel): Self::Definition<'_>, mut words: Words) -> Result {
        let kind = match definition.is_return {
            true => Kind::Return,
            false => Kind::Entry,
        };
        let mut known = match definition.place {
            Place::Symbol { symbol, .. } if words.iter().count() > 2 => {
                Known::of_function(symbol, 0)
            }
            _ => Known::types(),
        };
        let arguments = expand(&mut words, &mut known).and_then(|arguments| {
            let arguments = arguments.iter().map(Argument::parts);
            Arguments::new(kind, arguments, definition.spot, &kernel, &mut known)
        });
        let arguments = Arc::new(words.logged(arguments)?, GFP_KERNEL)?;
        let name = name_of(&definition)?;
        let group = definition.group.unwrap_or(b"kprobes");
        let title = title(group, &name, definition.is_return);
        let spot = Spot::of(definition.place, kernel.start.get())?;
        let list = &mut list::lock()?;
        define(title, &words, arguments.clone(), list, |event| {
            let Definition {
                is_return,
                maxactive,
                ..
            } = definition;
            Kprobe::new(event, spot, is_return, maxactive, arguments)
        })
    }
}

/// The name of an event whose definition has none, or the one that it has.
fn name_of(definition: &Definition<'_>) -> Result<KVec<u8>> {
    match definition.event {
        Some(name) => Text::copy(name),
        None => {
            let mut name = Text::of(|out| {
                let out: &mut dyn Out = out;
                match definition.place {
                    Place::Address(address) => {
                        let kind = if definition.is_return { 'r' } else { 'p' };
                        write!(out, "{kind}_0x{}", HashedPointer::at(address as usize))
                    }
                    Place::Symbol { symbol, offset } => definition.write_name(symbol, offset, out),
                }
            })?;
            name.truncate(NAME_ROOM - 1);
            Ok(name)
        }
    }
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
        let Ok(mut command) = Text::copy(one) else {
            continue;
        };
        command
            .iter_mut()
            .filter(|byte| **byte == b',')
            .for_each(|byte| *byte = b' ');
        if let Err(error) = list::command(&command, Some(&Kprobes)) {
            pr_warn!(
                "Failed to add event({}): {}\n",
                error.to_errno(),
                Bytes(&command)
            );
        }
    }
    if any {
        if let Err(error) = enable_all() {
            pr_warn!("events of kprobe_event= are not enabled: {:?}\n", error);
        }
    }
}

/// Makes a probe of the event `name` at `place`, with arguments behind it, unless there is none. Task
/// context, sleeps. Errors as [`list::command`].
#[cfg(CONFIG_BOOTTIME_TRACING)]
pub(crate) fn define_at(name: &[u8], place: &[u8]) -> Result {
    let text = Text::of(|out| {
        out.bytes(b"p:kprobes/")?;
        out.bytes(name)?;
        out.bytes(b" ")?;
        out.bytes(place)
    })?;
    list::command(&text, Some(&Kprobes))
}

fn enable_all() -> Result {
    let top = Instance::top()?;
    top.expand()?;
    let list = list::lock()?;
    let mut registry = registry::lock()?;
    for kprobe in list.of::<Defined<Kprobe>>() {
        // As in C, those behind one that fails are enabled all the same.
        let _ = registry.enable(top, kprobe.id(), true).inspect_err(|e| {
            pr_warn!(
                "{} is not enabled: {}\n",
                Bytes(kprobe.event().name()),
                e.to_errno()
            )
        });
    }
    Ok(())
}

/// A probe for one of perf's events alone, in no list.
#[cfg(CONFIG_PERF_EVENTS)]
struct Local {
    event: Event<Kprobe>,
    // Goes before what it tells of hits.
    probe: Arc<Kprobe>,
}

#[cfg(CONFIG_PERF_EVENTS)]
impl list::Local for Local {
    fn call(&self) -> &Call {
        self.event.event().call()
    }
}

#[cfg(CONFIG_PERF_EVENTS)]
impl Drop for Local {
    fn drop(&mut self) {
        // The probe has the event, and the event the probe.
        self.event.forget(&self.probe);
    }
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
    let kernel = Kernel::default();
    if let Place::Symbol { symbol, .. } = place {
        let (of_module, name) = split_module(symbol);
        match symbols(of_module, name).0 {
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
    let nothing = Arguments::new(
        kind,
        core::iter::empty(),
        command::Spot::Inside,
        &kernel,
        &mut Known::nothing(),
    );
    let arguments = Arc::new(nothing?, GFP_KERNEL)?;
    let event = Event::local(title(b"kprobes", name, is_return), arguments.clone())?;
    let probe = Kprobe::new(&event, Spot::of(place, None)?, is_return, 0, arguments)?;
    let probe = Arc::new(probe, GFP_KERNEL)?;
    event.add(probe.clone())?;
    let local = Local { event, probe };
    local.probe.begin(false)?;
    list::lock()?.add_local(local, begin)
}

/// Undoes [`create_local`]. Task context, sleeps.
#[cfg(CONFIG_PERF_EVENTS)]
pub(crate) fn destroy_local(call: &Call) {
    let gone = list::lock().ok().and_then(|mut list| list.take_local(call));
    drop(gone);
}
