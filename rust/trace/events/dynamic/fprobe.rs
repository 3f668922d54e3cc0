// SPDX-License-Identifier: GPL-2.0

//! Events of functions' entries and returns, by fprobes, and of tracepoints, by fprobes of their
//! stubs.
//!
//! Probes are registered as long as their event is enabled. A tracepoint of a module may come and
//! go meanwhile.

use super::arguments::Arguments;
use super::expanded::{expand, Argument};
use super::hit::AtHit;
use super::list::{self, Change};
use super::probe_event::{define, Probed, Record, Title};
use super::probe_kind::ProbeKind;
use super::types::Known;
use super::words::Words;
use crate::core::event::probe::argument::Machine;
use crate::core::event::probe::command::DefinitionError;
use crate::core::event::probe::error::Reason;
use crate::core::event::probe::function::Definition;
use crate::core::event::probe::layout::Kind;
use crate::core::format::Out;
use crate::kernel::context::PreemptOff;
use crate::kernel::fprobe::{self, Handler, Probe, Returns, Target};
use crate::kernel::kprobes::check_lockdown;
use crate::kernel::regs::{Regs, STACK_WORDS};
use crate::kernel::text::{NulText, Text};
use crate::kernel::trace_event::Call;
use crate::kernel::tracepoint_stub::{self, Stub};
use crate::trace::events::recording::Start;
use core::fmt;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};

/// The handler of a probe.
pub(crate) struct Hits(Record);

impl Hits {
    #[inline(always)]
    fn record<const N: usize>(
        &self,
        words: [usize; N],
        regs: &Regs,
        saved: &[usize],
        stay: &PreemptOff,
    ) {
        let arguments = &self.0.arguments;
        let at = AtHit {
            arguments,
            regs,
            saved: move || saved,
        };
        // What is entered, or returned to.
        let start = words.last().map_or(Start::Unknown, |ip| Start::In(*ip));
        self.0.in_files(move || words, start, at, stay);
        #[cfg(CONFIG_PERF_EVENTS)]
        self.0.event.submit_partial(
            regs,
            stay,
            move || arguments.entry_size(at),
            move |fields| arguments.store(words, at, fields),
        );
    }
}

impl Handler for Hits {
    #[inline(always)]
    fn entered(&self, function: usize, regs: &Regs, stay: &PreemptOff) {
        self.record([function], regs, &[], stay);
    }

    fn save(&self, regs: &Regs, saved: &mut [usize]) {
        for (to, at) in saved.iter_mut().zip(self.0.arguments.saved()) {
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
        self.record([function, to], regs, saved, stay);
    }
}

/// What a probe of a tracepoint is about.
struct Tracepoint {
    /// Whether the event is enabled.
    is_wanted: bool,
    /// Calls what is probed, while the tracepoint is there.
    stub: Option<Stub>,
}

/// A probe defined by a user.
pub(super) struct Fprobe {
    target: NulText,
    is_return: bool,
    tracepoint: Option<Pin<KBox<Mutex<Tracepoint>>>>,
    probe: Arc<Probe<Hits>>,
}

impl Fprobe {
    fn new(definition: &Definition<'_>, record: Record) -> Result<Self> {
        let is_return = definition.is_return;
        let returns = is_return.then(|| Returns(record.arguments.saved().len()));
        let tracepoint = match definition.is_tracepoint {
            false => None,
            true => {
                let unused = Tracepoint {
                    is_wanted: false,
                    stub: None,
                };
                Some(KBox::pin_init(new_mutex!(unused), GFP_KERNEL)?)
            }
        };
        Ok(Self {
            target: Text::nul_text(|out| out.bytes(definition.target))?,
            is_return,
            tracepoint,
            probe: Probe::new(returns, Hits(record))?,
        })
    }

    /// Probes the tracepoint, if it is there.
    fn attach(&self, tracepoint: &mut Tracepoint) -> Result {
        if !tracepoint.is_wanted || tracepoint.stub.is_some() {
            return Ok(());
        }
        #[allow(unsafe_code, reason = "the order in which things go")]
        // SAFETY: `detach` drops it before the module goes.
        let Some(stub) = (unsafe { Stub::new(self.target.to_bytes()) })?
        else {
            return Ok(());
        };
        self.probe.register(&Target::Entry(stub.address()))?;
        tracepoint.stub = Some(stub);
        Ok(())
    }

    fn detach(&self, tracepoint: &mut Tracepoint) {
        self.probe.unregister();
        tracepoint.stub = None;
    }
}

impl Probed for Fprobe {
    fn arguments(&self) -> &Arguments {
        &self.probe.handler().0.arguments
    }

    fn register(&self, on: bool) -> Result {
        if self.tracepoint.is_none() {
            fprobe::count(&self.target)?;
        }
        match on {
            true => self.enable(true),
            false => Ok(()),
        }
    }

    fn unregister(&self) {
        let _ = self.enable(false);
    }

    fn enable(&self, on: bool) -> Result {
        if on {
            check_lockdown()?;
            self.arguments().find_symbols()?;
        }
        match (&self.tracepoint, on) {
            (None, true) => self.probe.register(&Target::Matching(&self.target)),
            (None, false) => {
                self.probe.unregister();
                Ok(())
            }
            (Some(tracepoint), on) => {
                let mut tracepoint = tracepoint.lock();
                tracepoint.is_wanted = on;
                match on {
                    true => self.attach(&mut tracepoint),
                    false => {
                        self.detach(&mut tracepoint);
                        Ok(())
                    }
                }
            }
        }
    }

    fn show_head(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(match self.tracepoint {
            Some(_) => b"t",
            None => b"f",
        })
    }

    fn show_place(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(self.target.to_bytes())?;
        match self.is_return {
            true => out.bytes(b"%return"),
            false => Ok(()),
        }
    }

    fn is_at(&self, place: &[u8]) -> bool {
        self.target.to_bytes() == place
    }

    fn is_same_place(&self, other: &Self) -> bool {
        self.target.to_bytes() == other.target.to_bytes()
    }

    fn tracepoints_change(&self, change: &Change) {
        let Some(tracepoint) = &self.tracepoint else {
            return;
        };
        let mut tracepoint = tracepoint.lock();
        match change {
            Change::Comes => {
                if let Err(error) = self.attach(&mut tracepoint) {
                    pr_warn!("tracepoint {} is not probed: {:?}\n", &*self.target, error);
                }
            }
            Change::Goes(text) => {
                let goes = |stub: &Stub| stub.is_in(text);
                if tracepoint.stub.as_ref().is_some_and(goes) {
                    self.detach(&mut tracepoint);
                }
            }
        }
    }
}

/// What arguments may ask for.
struct Function {
    /// Arguments in front of those that users know.
    hidden: u16,
}

impl Machine for Function {
    fn register(&self, _name: &[u8]) -> Option<u16> {
        None
    }

    fn stack_words(&self) -> u64 {
        STACK_WORDS as u64
    }

    fn has_registers(&self) -> bool {
        false
    }

    fn hidden_arguments(&self) -> u16 {
        self.hidden
    }
}

/// The kind.
pub(super) struct Fprobes;

impl ProbeKind for Fprobes {
    type Probe = Fprobe;
    type Definition<'a> = Definition<'a>;

    const NAME: &'static str = "trace_fprobe";

    fn parse<'a>(
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Definition<'a>, DefinitionError> {
        Definition::parse(words)
    }

    fn define(definition: Definition<'_>, mut words: Words) -> Result {
        let Definition {
            is_return,
            is_tracepoint,
            ..
        } = definition;
        let kind = match is_return {
            true => Kind::Return,
            false => Kind::Entry,
        };
        let function = Function {
            // Whoever registers a probe of a tracepoint gets a pointer of its own in front.
            hidden: u16::from(is_tracepoint),
        };
        let mut known = match words.iter().count() {
            0..=2 => Known::types(),
            _ => {
                let stub = is_tracepoint.then(|| tracepoint_stub::name_of(definition.target));
                let stub = stub.flatten();
                let probed = stub.as_deref().unwrap_or(definition.target);
                Known::of_function(probed, function.hidden)
            }
        };
        let arguments = expand(&mut words, &mut known).and_then(|arguments| {
            let arguments = arguments.iter().map(Argument::parts);
            Arguments::new(kind, arguments, definition.spot(), &function, &mut known)
        });
        let arguments = Arc::new(words.logged(arguments)?, GFP_KERNEL)?;
        let name = match definition.event {
            Some(name) => Text::copy(name)?,
            None => Text::of(|out| definition.write_name(out))?,
        };
        let group: &[u8] = match is_tracepoint {
            true => b"tracepoints",
            false => b"fprobes",
        };
        let title = Title {
            group: definition.group.unwrap_or(group),
            name: &name,
            flags: Call::FPROBE,
            sort: u8::from(is_tracepoint) << 1 | u8::from(is_return),
        };
        if arguments.saved().len() > fprobe::SAVED_MAX {
            return words.refuse(Reason::TooManyEntryArguments, 2, E2BIG);
        }
        let list = &mut list::lock()?;
        let made = define::<Fprobe>(title, &words, arguments.clone(), list, |event| {
            let record = Record {
                event: event.event().clone(),
                arguments,
            };
            Fprobe::new(&definition, record)
        });
        // Whatever else it is, C says this.
        made.map_err(|error| if error == ENOMEM { ENOMEM } else { EINVAL })
    }
}
