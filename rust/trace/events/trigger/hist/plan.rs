// SPDX-License-Identifier: GPL-2.0

//! [`Plan`]: a `hist` trigger that is to be added.

use super::super::{Limits, Registry};
use super::scope::Names;
use super::writing::Writing;
use super::{actions, waiting, HistTrigger, Histogram, PrintedDefinition};
use crate::core::event::hist::action::{Actions, Handler, Kind as Does};
use crate::core::event::hist::attributes::Attributes;
use crate::core::event::hist::compile::compile_actions;
use crate::core::event::hist::description::Description;
use crate::core::event::hist::error::{Log, Reason};
use crate::core::event::hist::plain::Plain;
use crate::core::event::hist::print;
use crate::core::format::Out;
use crate::kernel::text::Text;
use crate::trace::buffer::clock;
use crate::trace::events::dynamic::synthetic;
use crate::trace::events::filter::Filter;
use core::fmt::Write;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, UniqueArc};

/// The number of the next trigger.
static NEXT: Atomic<u64> = Atomic::new(0);

/// A definition in its parts.
#[derive(Clone, Copy)]
pub(super) struct Parsed<'a> {
    /// All but the filter. Names are parts of it.
    pub(super) text: &'a [u8],
    /// The filter.
    pub(super) condition: Option<&'a [u8]>,
    pub(super) attributes: &'a Attributes<'a>,
    pub(super) actions: &'a Actions<'a>,
}

/// The first trigger of a name.
pub(super) struct Named {
    pub(super) histogram: Arc<Histogram>,
    pub(super) description: Arc<Description>,
    pub(super) identity: KVec<u8>,
    /// Its definition as it is printed, with the hit count.
    pub(super) definition: KVec<u8>,
}

/// A trigger that is to be added, compiled but for its actions.
pub(super) struct Plan<'a> {
    pub(super) at: &'a Writing<'a>,
    pub(super) parsed: Parsed<'a>,
    pub(super) description: UniqueArc<Description>,
    pub(super) filter: Option<Arc<Filter>>,
    /// What counts for what is the same: see `core::event::hist::same`.
    pub(super) identity: KVec<u8>,
    /// The trigger whose table it will share.
    pub(super) named: Option<Named>,
    /// Whether the event has the same trigger.
    pub(super) exists: bool,
    /// The tables of the variables that it reads.
    pub(super) tables: KVec<Arc<Histogram>>,
    /// The synthetic events of its actions.
    pub(super) events: KVec<synthetic::Held>,
}

impl Plan<'_> {
    /// Compiles the actions. Adds triggers for the fields in them. Task context, sleeps.
    ///
    /// Not inline: adding a trigger within goes deep, and is to have no stack below it but what is needed.
    #[inline(never)]
    pub(super) fn compile_actions(&mut self, registry: &mut Registry, log: &mut dyn Log) -> Result {
        let mut names = Names {
            registry,
            at: self.at,
            tables: &mut self.tables,
            events: &mut self.events,
        };
        let Parsed { text, actions, .. } = self.parsed;
        compile_actions(text, actions, &mut names, log, &mut self.description)?;
        Ok(())
    }

    /// An instance's snapshot has one owner: `EBUSY` for a second one.
    pub(super) fn check_snapshot(&self) -> Result {
        let actions = self.parsed.actions.as_slice().iter();
        let mut snapshots = actions.filter(|action| action.kind == Does::Snapshot);
        let is_owned = self.at.instance.snapshot().has_owner();
        if snapshots.next().is_some() && (is_owned || snapshots.next().is_some()) {
            return Err(EBUSY);
        }
        Ok(())
    }

    /// Checks it against the triggers there are: that of its name, and the same one.
    ///
    /// # Errors
    ///
    /// `EINVAL` if that of its name is different, `EEXIST` if there is the same one, `ENOENT` if one is
    /// to be resumed or emptied, `ENOMEM`.
    pub(super) fn check_others(&self, log: &mut dyn Log) -> Result {
        let Parsed {
            text, attributes, ..
        } = self.parsed;
        let printed = definition(&self.description, text)?;
        // A field of the same name may be stored in another way in another event.
        let fits = |named: &Named| {
            let same = (&named.identity, &named.definition) == (&self.identity, &printed);
            same && self.description.fits(&named.description)
        };
        if self.named.as_ref().is_some_and(|named| !fits(named)) {
            log.log(Reason::NamedMismatch, attributes.name.unwrap_or(&[]));
            return Err(EINVAL);
        }
        if self.exists {
            log.log(Reason::Exists, &[]);
            return Err(EEXIST);
        }
        if attributes.resume || attributes.clear {
            log.log(Reason::NothingToClear, &[]);
            return Err(ENOENT);
        }
        Ok(())
    }

    /// The row of the clock that the definition names, if it reads times. `EINVAL` if there is none.
    pub(super) fn clock(&self, log: &mut dyn Log) -> Result<Option<usize>> {
        if !self.description.timestamps {
            return Ok(None);
        }
        let name = self.parsed.attributes.clock;
        let clock = clock::find(name).inspect_err(|_| log.log(Reason::NoClock, name))?;
        Ok(Some(clock))
    }

    /// Its table: that of its name, or a new one. Task context, may sleep. Errors as
    /// [`Histogram::new`]; `ENODEV` if the instance is being removed.
    fn table(&self, tables: KVec<Arc<Histogram>>) -> Result<Arc<Histogram>> {
        if let Some(named) = &self.named {
            return Ok(named.histogram.clone());
        }
        let printed = printed_definition(&self.description, self.parsed)?;
        let (description, bits) = (&self.description, self.parsed.attributes.bits);
        let is_linked = !description.variables.is_empty() || !description.references.is_empty();
        let kept = is_linked.then(|| self.at.instance.hold()).transpose()?;
        Histogram::new(description, bits, printed, tables, kept)
    }

    /// The trigger. Task context, may sleep. Errors as [`Plan::table`].
    ///
    /// Not inline, as [`Plan::compile_actions`].
    #[inline(never)]
    pub(super) fn trigger(mut self, clock: Option<usize>) -> Result<Arc<HistTrigger>> {
        let tables = core::mem::replace(&mut self.tables, KVec::new());
        let histogram = self.table(tables)?;
        self.description.no_hitcount = histogram.printed.no_hitcount;
        waiting::prepare()?;
        actions::prepare()?;
        let Parsed {
            text,
            attributes,
            actions,
            ..
        } = self.parsed;
        let trigger = HistTrigger {
            number: NEXT.fetch_add(1, Relaxed),
            text: Text::copy(text)?,
            identity: self.identity,
            name: attributes.name.map(Text::copy).transpose()?,
            plain: Plain::of(&self.description),
            description: self.description.into(),
            histogram,
            events: self.events,
            snapshot: snapshot(actions)?,
            clock,
            is_implied: self.at.is_implied,
            paused: Atomic::new(attributes.pause),
            limits: Limits {
                left: None,
                filter: self.filter,
            },
        };
        Ok(Arc::new(trigger, GFP_KERNEL)?)
    }
}

/// An empty description. It is too large for the stack, so it is written in its place. `ENOMEM`.
#[inline(never)]
pub(super) fn empty() -> Result<UniqueArc<Description>> {
    static EMPTY: Description = Description::EMPTY;
    Ok(UniqueArc::new_uninit(GFP_KERNEL)?.write(EMPTY))
}

/// Writes the definition as it is printed, with the hit count. `ENOMEM`.
pub(super) fn definition(description: &Description, text: &[u8]) -> Result<KVec<u8>> {
    Text::of(|out| print::definition(out, description, text, true))
}

/// Writes the definition as files show it. `ENOMEM`.
fn printed_definition(description: &Description, parsed: Parsed<'_>) -> Result<PrintedDefinition> {
    let Parsed {
        text,
        attributes,
        actions,
        ..
    } = parsed;
    let no_hitcount = attributes.no_hitcount;
    let written = Text::of(|out| {
        print::definition(out, description, text, !no_hitcount)?;
        write!(out, ":size={}", 1u32 << attributes.bits)?;
        if description.timestamps {
            out.bytes(b":clock=")?;
            out.bytes(attributes.clock)?;
        }
        if no_hitcount {
            out.bytes(b":nohitcount")?;
        }
        let mut actions = actions.as_slice().iter();
        actions.try_for_each(|action| action.write(out))
    })?;
    Ok(PrintedDefinition {
        text: written,
        no_hitcount,
    })
}

/// `onmax($VAR)` or `onchange($VAR)` of the action `snapshot()`. `ENOMEM`.
fn snapshot(actions: &Actions<'_>) -> Result<Option<KVec<u8>>> {
    let mut actions = actions.as_slice().iter();
    let Some(action) = actions.find(|action| action.kind == Does::Snapshot) else {
        return Ok(None);
    };
    let (handler, variable): (&[u8], _) = match action.handler {
        Handler::Max(variable) => (b"onmax(", variable),
        Handler::Change(variable) => (b"onchange(", variable),
        Handler::Match { .. } => return Ok(None),
    };
    let text = Text::of(|out| {
        out.bytes(handler)?;
        out.bytes(variable)?;
        out.bytes(b")")
    });
    text.map(Some)
}
