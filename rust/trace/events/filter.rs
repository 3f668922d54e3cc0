// SPDX-License-Identifier: GPL-2.0

//! Filters: a filter rejects entries of an event; the `if` of a trigger is a filter, too.
//!
//! `core::event::filter` has the language, the compiled form and the evaluation. This module
//! resolves the names of a filter in this kernel, provides the data that evaluation needs besides
//! the entry, and implements the `filter` files.
//!
//! A refused filter also removes the old filter, and the file then shows the error, as in C.

use super::file::EventFile;
use super::registry::{Event, EventId, Registry};
use super::scratch;
use crate::core::event::field;
use crate::core::event::filter::error::{Errno, Refused};
use crate::core::event::filter::parse::compile;
use crate::core::event::filter::program::{
    matches_plain, plain, Outside, Place, PlainStep, Program, Step, Test,
};
use crate::core::event::filter::{NoMemory, Scope, Storage};
use crate::core::format::entry::{Entry as _, Function};
use crate::core::format::Out;
use crate::core::parse::parser::{is_space, trim, until_nul};
use crate::kernel::kallsyms;
use crate::kernel::nofault;
use crate::kernel::per_context::PerContext;
use crate::kernel::rcu_slot::Retired;
use crate::kernel::text::Text;
use crate::kernel::trace_event::{Call, Field, Reach, COMMON};
use crate::kernel::tracepoint::TaskView;
use crate::trace::instance::Instance;
use core::fmt;
use core::ops::Range;
use kernel::cpu::{nr_cpu_ids, CpuId};
use kernel::prelude::*;
use kernel::sync::{Arc, SetOnce};

/// The title of filter errors in `error_log`.
const LOCATION: &[u8] = b"event filter parse error";

/// The text of a system's `filter` file after a filter was accepted; C does not keep the filter's
/// text.
pub(crate) const OF_SYSTEM: &str = "### global filter ###\n\
    # Use this to set filters for multiple events.\n\
    # Only events with the given fields will be affected.\n\
    # If no events are modified, an error message will be displayed here\n";

/// The most bytes that are compared of a text behind a pointer field.
const TEXT_MAX: usize = 1024;

/// Memory for copies of such texts. Allocated by the first filter that needs it and never freed.
static TEXTS: SetOnce<PerContext<[u8; TEXT_MAX]>> = SetOnce::new();

/// A filter and its text.
pub(crate) struct Filter {
    text: KVec<u8>,
    steps: KVec<Step>,
    masks: KVec<u64>,
    cpus: usize,
    reach: Reach,
    /// The steps of a plain program; none if it is not one.
    plain: KVec<PlainStep>,
}

impl Filter {
    /// Compiles the filter `text` for entries of `event`. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// The error in the text, or no memory.
    pub(crate) fn new(event: &Call, text: &[u8]) -> Result<Self, Refused> {
        let mut filter = Self {
            text: Text::copy(text).map_err(|_| NoMemory)?,
            steps: KVec::new(),
            masks: KVec::new(),
            cpus: nr_cpu_ids() as usize,
            reach: Reach::of(event).map_err(|_| NoMemory)?,
            plain: KVec::new(),
        };
        let Self { steps, masks, .. } = &mut filter;
        compile(text, &Names(event), &mut Memory { steps, masks })?;

        for step in plain(&filter.steps, COMMON) {
            let Some(step) = step else {
                filter.plain = KVec::new();
                break;
            };
            let pushed = filter.plain.push(step, GFP_KERNEL);
            pushed.map_err(|_| NoMemory)?;
        }

        let follows = |step: &Step| {
            let place = match step.test {
                Test::Text { place, .. } => place,
                _ => Place::Comm,
            };
            matches!(place, Place::Memory { .. })
        };
        if TEXTS.as_ref().is_none() && filter.steps.iter().any(follows) {
            // If another task was faster, its memory is used.
            TEXTS.populate(PerContext::new([0; TEXT_MAX]).map_err(|_| NoMemory)?);
        }
        Ok(filter)
    }

    /// Compiles the filter `text` of a perf event. Task context, may sleep. Errors as
    /// [`Filter::new`], as an errno.
    #[cfg(CONFIG_PERF_EVENTS)]
    pub(crate) fn of_perf(event: &Call, text: &[u8]) -> Result<KBox<Self>> {
        let filter = Self::new(event, text).map_err(|refused| refused.errno)?;
        Ok(KBox::new(filter, GFP_KERNEL)?)
    }

    /// The text as the user wrote it.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// How far the entries reach that it is for.
    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Whether the filter only compares the entry's own numbers, not the common fields.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        !self.plain.is_empty()
    }

    /// The steps of a [plain](Filter::is_plain) filter; none of another one.
    pub(super) fn plain_steps(&self) -> &[PlainStep] {
        &self.plain
    }

    /// [`Filter::passes`] of a [plain](Filter::is_plain) filter. The common fields need not be set.
    #[inline(always)]
    pub(crate) fn passes_plain(&self, entry: &[u8]) -> bool {
        matches_plain(&self.plain, entry)
    }

    /// Whether `entry`, common fields included, passes the filter. Any context, preemption off.
    #[inline]
    pub(crate) fn passes(&self, entry: &[u8]) -> bool {
        self.program().matches(entry, &Now)
    }

    /// The compiled form.
    #[inline(always)]
    pub(crate) fn program(&self) -> Program<'_> {
        Program {
            text: &self.text,
            steps: &self.steps,
            masks: &self.masks,
            cpus: self.cpus,
        }
    }
}

/// The growing memory of a filter under compilation.
struct Memory<'a> {
    steps: &'a mut KVec<Step>,
    masks: &'a mut KVec<u64>,
}

impl Storage for Memory<'_> {
    fn push(&mut self, step: Step) -> Result<(), NoMemory> {
        self.steps.push(step, GFP_KERNEL).map_err(|_| NoMemory)
    }

    fn steps(&mut self) -> &mut [Step] {
        self.steps
    }

    fn mask(&mut self, words: usize) -> Result<(usize, &mut [u64]), NoMemory> {
        let first = self.masks.len();
        let all = first.checked_add(words).ok_or(NoMemory)?;
        self.masks
            .resize(all, 0, GFP_KERNEL)
            .map_err(|_| NoMemory)?;
        Ok((first, self.masks.get_mut(first..).unwrap_or(&mut [])))
    }
}

/// Whether this is `ftrace:function`, whose filter selects the functions to trace.
pub(crate) fn is_function(event: &Call) -> bool {
    event.id() == Function::ID
}

/// Resolves the names in a filter of an event.
struct Names<'a>(&'a Call);

impl Scope for Names<'_> {
    fn field(&self, name: &[u8]) -> Option<field::Field> {
        // If two fields have the same name, C finds the last one.
        let named = |field: &Field<'_>| field.name.to_bytes() == name;
        let field = self.0.fields().filter(named).last();
        field.filter(can_be_named).map(seen)
    }

    fn function(&self, name: &[u8]) -> Option<Range<u64>> {
        self.function_at(kallsyms::address_of(name)? as u64)
    }

    fn function_at(&self, address: u64) -> Option<Range<u64>> {
        let (size, offset) = kallsyms::size_offset(usize::try_from(address).ok()?)?;
        let start = address.checked_sub(offset as u64)?;
        Some(start..start.checked_add(size as u64)?)
    }

    fn cpus(&self) -> usize {
        nr_cpu_ids() as usize
    }

    fn is_function_event(&self) -> bool {
        is_function(self.0)
    }
}

/// Whether filters and histograms can use `field`: it begins in the first 64 KiB of an entry.
pub(super) fn can_be_named(field: &Field<'_>) -> bool {
    u16::try_from(field.offset).is_ok()
}

/// A field in the form that filters use, if it [can be named](can_be_named). Of a longer one they see
/// the first 64 KiB.
pub(super) fn seen(field: Field<'_>) -> field::Field {
    let narrow = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    field::Field {
        kind: field.kind,
        offset: narrow(field.offset),
        size: narrow(field.size),
        signed: field.signed,
    }
}

/// The data of a hit besides the entry: task, CPU, and so on.
struct Now;

impl Outside for Now {
    fn cpu(&self) -> u32 {
        CpuId::current().as_u32()
    }

    fn comm(&self) -> [u8; 16] {
        TaskView::with_current(|task| task.comm())
    }

    fn text(&self, address: u64, user: bool, matches: &dyn Fn(&[u8]) -> bool) -> Option<bool> {
        let address = usize::try_from(address).ok()?;
        TEXTS
            .as_ref()?
            .with(|place| nofault::text(place, address, user).map(|text| matches(text)))?
    }
}

impl Registry {
    /// Handles a write to the `filter` file of `event` in `instance`. `0` removes the filter. Task
    /// context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the event was removed; the error in the filter, which also removes the old one;
    /// `ENOMEM`, and the old filter stays.
    pub(crate) fn write_filter(
        &mut self,
        instance: &Arc<Instance>,
        event: EventId,
        text: &[u8],
    ) -> Result {
        let text = without_end(text);
        if trim(text) == b"0" {
            self.event(event).ok_or(ENODEV)?;
            let found = self.of_mut(instance).and_then(|at| at.file_mut(event));
            if let Some(file) = found {
                file.set_filter(None)?.leave();
            }
            return Ok(());
        }
        match Filter::new(self.event(event).ok_or(ENODEV)?, text) {
            Ok(filter) => {
                let filter = Arc::new(filter, GFP_KERNEL)?;
                self.file_made(instance, event)?
                    .set_filter(Some(filter))?
                    .leave();
                Ok(())
            }
            Err(refused) => {
                let refusal = Refusal::new(text, refused)?;
                let file = self.file_made(instance, event)?;
                refusal.apply(file, instance, text)?.leave();
                Err(refused.errno.into())
            }
        }
    }

    /// Handles a write to the `filter` file of `system` in `instance`. Each event that has the
    /// fields gets the filter; the files of the others show an error. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the system has no events, `ENOMEM`.
    pub(crate) fn write_system_filter(
        &mut self,
        instance: &Arc<Instance>,
        system: &[u8],
        text: &[u8],
    ) -> Result {
        let text = without_end(text);
        let clear = trim(text) == b"0";
        let mut ids = KVec::new();
        let members = self
            .listed(instance)
            .filter(|event| event.system().to_bytes() == system);
        for event in members {
            ids.push(event.id(), GFP_KERNEL)?;
        }
        if ids.is_empty() {
            return Err(ENODEV);
        }

        let mut old = KVec::with_capacity(ids.len(), GFP_KERNEL)?;
        if clear {
            for event in ids {
                if let Some(file) = self.of_mut(instance).and_then(|at| at.file_mut(event)) {
                    old.push(file.set_filter(None)?, GFP_KERNEL)?;
                }
            }
            Retired::end_all(old);
            return Ok(());
        }
        // Whatever asks for memory comes before the first change.
        scratch::prepare()?;
        let mut new = KVec::with_capacity(ids.len(), GFP_KERNEL)?;
        for event in ids {
            let made = match Filter::new(self.event(event).ok_or(ENODEV)?, text) {
                Ok(filter) => Ok(Arc::new(filter, GFP_KERNEL)?),
                Err(refused) => Err(Refusal::new(text, refused.of_system())?),
            };
            self.file_made(instance, event)?;
            new.push((event, made), GFP_KERNEL)?;
        }
        for (event, made) in new {
            let file = self.file_made(instance, event)?;
            let gone = match made {
                Ok(filter) => file.set_filter(Some(filter))?,
                Err(refusal) => refusal.apply(file, instance, text)?,
            };
            old.push(gone, GFP_KERNEL)?;
        }
        Retired::end_all(old);
        Ok(())
    }

    /// Whether `event` in `instance` has a filter or an error text of a refused one.
    pub(crate) fn has_filter(&self, instance: &Instance, event: EventId) -> bool {
        let file = self.of(instance).and_then(|at| at.file(event));
        file.is_some_and(|file| file.refused().is_some() || file.filter().is_some())
    }

    /// Writes the text of the `filter` file of `event` in `instance`. Task context. Errors only
    /// when `out` is full.
    pub(crate) fn show_filter(
        &self,
        instance: &Instance,
        event: EventId,
        out: &mut dyn Out,
    ) -> fmt::Result {
        let file = self.of(instance).and_then(|at| at.file(event));
        match file {
            Some(file) => match (file.refused(), file.filter()) {
                (Some(said), _) => out.bytes(said)?,
                (None, Some(filter)) => out.bytes(filter.text())?,
                (None, None) => out.bytes(b"none")?,
            },
            None => out.bytes(b"none")?,
        }
        out.bytes(b"\n")
    }
}

/// Compiles the filter after the `if` of a trigger, for entries of `event` in `instance`. An error
/// goes to `error_log`. Task context, may sleep.
///
/// # Errors
///
/// The error in the filter.
pub(super) fn of_trigger(instance: &Instance, event: &Event, text: &[u8]) -> Result<Filter> {
    Filter::new(event, text).map_err(|refused| {
        log(instance, text, refused);
        refused.errno.into()
    })
}

fn log(instance: &Instance, text: &[u8], refused: Refused) {
    let reason = refused.reason.text();
    instance
        .errors()
        .push(LOCATION, text, refused.column(), reason);
}

/// `text` without blanks at the end, as C keeps it.
fn without_end(text: &[u8]) -> &[u8] {
    let text = until_nul(text);
    let end = text.iter().rposition(|&c| !is_space(c));
    text.get(..end.map_or(0, |last| last.wrapping_add(1)))
        .unwrap_or(&[])
}

/// A refused filter, and what the file says of it.
struct Refusal {
    refused: Refused,
    said: KBox<KVec<u8>>,
}

impl Refusal {
    /// Makes the text. Task context, may sleep. `ENOMEM`, also for a filter that lacked memory.
    fn new(text: &[u8], refused: Refused) -> Result<Self> {
        if refused.errno == Errno::NoMemory {
            return Err(ENOMEM);
        }
        let said = KBox::new(Text::of(|out| refused.write(out, text))?, GFP_KERNEL)?;
        Ok(Self { refused, said })
    }

    /// Removes the filter of `file`, which then shows the error. Task context, may sleep.
    fn apply(
        self,
        file: &mut EventFile,
        instance: &Instance,
        text: &[u8],
    ) -> Result<Retired<Filter>> {
        let gone = file.set_filter(None)?;
        file.set_refused(self.said);
        log(instance, text, self.refused);
        Ok(gone)
    }
}
