// SPDX-License-Identifier: GPL-2.0

//! Function commands: `PATTERN:COMMAND[:PARAM…]` in `set_ftrace_filter` has something done when the
//! functions are called.
//!
//! [`COMMANDS`] says what exists. A write that names new functions makes one [`Probe`]: a command
//! with its parameters, an ops of its own, and for each of its sites what is left of the count. Its
//! set of sites never grows, so that the callback can look a site up without a lock; removing marks
//! a site and takes it out of the ops' filter, and the last one takes the probe away.
//!
//! Words: a probe is *counted* when a parameter limits how often it acts; counted and unlimited
//! probes of one command are two kinds, and a function has at most one probe of a kind.
//!
//! Locks: [`Probes`]' mutex, then those of [`super::ftrace::ops`]. Callbacks take none.

#[cfg(CONFIG_EVENT_TRACING)]
mod switch_event;

use super::ftrace::ops::{self, Callback, Edit, FilterKind, Flags, Hit, Nothing, Ops};
use super::instance::feature::Feature;
use super::instance::snapshot::{tracing_snapshot_instance_cond, Armed};
use super::instance::Instance;
use super::output::dump;
use super::tasks::stack;
use crate::core::format::Out;
use crate::core::parse::command::{count, split, Count};
use crate::core::parse::glob::Pattern;
use crate::kernel::kallsyms::{self, Symbol};
use crate::kernel::sort::sort_by;
use core::fmt;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        Arc, Mutex,
    },
};

/// What a command does, its parameters read.
pub(crate) trait Action: Send + Sync {
    /// Acts at a hit of a site of which `left` may still be spent.
    ///
    /// Any context up to NMI; must neither sleep nor allocate.
    fn hit(&self, instance: &Instance, left: &Unfinished);

    /// Writes the command as the filter file shows it, without the count: `traceoff`,
    /// `enable_event:a:b`.
    fn write(&self, out: &mut dyn Out) -> fmt::Result;
}

/// A command of `set_ftrace_filter`.
pub(crate) trait Command: Sync {
    /// The word.
    fn name(&self) -> &'static str;

    /// Whether these parameters limit it. Task context.
    fn counted(&self, params: Option<&[u8]>) -> bool {
        params.is_some()
    }

    /// Reads the parameters. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` and `ERANGE` for bad numbers, and what the command says.
    fn arm(
        &self,
        instance: &Arc<Instance>,
        params: Option<&[u8]>,
    ) -> Result<(KBox<dyn Action>, Count)>;
}

/// What is left of a count at one site.
pub(crate) struct Unfinished {
    addr: usize,
    /// `None` for an unlimited probe.
    count: Option<Atomic<i64>>,
    live: Atomic<bool>,
}

impl Unfinished {
    /// Whether the count allows one more. Any context.
    pub(crate) fn any(&self) -> bool {
        self.count
            .as_ref()
            .is_none_or(|count| count.load(Relaxed) > 0)
    }

    /// Whether the count was below 0 from the start (a colon without number). Any context.
    pub(crate) fn endless(&self) -> bool {
        self.count
            .as_ref()
            .is_some_and(|count| count.load(Relaxed) < 0)
    }

    /// Takes one off the count if it allows that; several CPUs never take the same one. Any
    /// context.
    pub(crate) fn spend(&self) -> bool {
        let Some(count) = &self.count else {
            return true;
        };
        let mut now = count.load(Relaxed);
        while now > 0 {
            match count.cmpxchg(now, now.wrapping_sub(1), Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }
}

/// A command on some sites.
///
/// # Invariants
///
/// `sites` is sorted by address.
pub(crate) struct Probe {
    command: &'static dyn Command,
    counted: bool,
    action: KBox<dyn Action>,
    /// The instance acted on. Makes a cycle, which [`Probes::clear`] breaks.
    instance: Arc<Instance>,
    sites: KVVec<Unfinished>,
}

impl Probe {
    fn site(&self, addr: usize) -> Option<&Unfinished> {
        let at = self
            .sites
            .binary_search_by_key(&addr, |site| site.addr)
            .ok()?;
        self.sites.get(at)
    }

    fn live(&self) -> impl Iterator<Item = &Unfinished> {
        self.sites.iter().filter(|site| site.live.load(Relaxed))
    }

    fn is_kind(&self, command: &dyn Command, counted: bool) -> bool {
        self.command.name() == command.name() && self.counted == counted
    }

    fn write(&self, site: &Unfinished, mut out: &mut dyn Out) -> fmt::Result {
        kallsyms::write_name(site.addr, &mut out)?;
        out.bytes(b":")?;
        self.action.write(out)?;
        match &site.count {
            Some(count) => writeln!(out, ":count={}", count.load(Relaxed)),
            None => out.bytes(b":unlimited\n"),
        }
    }
}

impl Callback for Probe {
    type Saved = Nothing;

    fn hit(&self, hit: &Hit<'_, Nothing>) {
        if let Some(left) = self.site(hit.ip).filter(|site| site.live.load(Relaxed)) {
            self.action.hit(&self.instance, left);
        }
    }
}

struct Entry {
    probe: Arc<Probe>,
    ops: Arc<Ops>,
}

/// The function commands of one instance.
#[pin_data]
pub(crate) struct Probes {
    #[pin]
    entries: Mutex<KVec<Entry>>,
}

impl Feature for Probes {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self { entries <- new_mutex!(KVec::new()) }),
            GFP_KERNEL,
        )
    }

    fn retire(&self, _instance: &Arc<Instance>) {
        self.clear();
    }
}

impl Probes {
    /// Those of `instance`. Any context. Errors as [`Instance::feature`].
    pub(crate) fn of(instance: &Instance) -> Result<&Self> {
        instance.feature()
    }

    /// Applies one token of `set_ftrace_filter` that has a command: adds it for `instance`, whose
    /// probes these are, or removes it after `!`. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an unknown command, bad parameters, no such function, or functions that all
    /// have the command; `ENODEV` and `EINVAL` when there is nothing to remove, of the kind or of
    /// these functions.
    pub(crate) fn apply(&self, instance: &Arc<Instance>, token: &[u8]) -> Result {
        let (pattern, rest) = split(token);
        let (name, params) = split(rest.ok_or(EINVAL)?);
        let command = find(name).ok_or(EINVAL)?;
        match pattern.strip_prefix(b"!") {
            Some(pattern) => self.remove(command, command.counted(params), pattern),
            None => self.add(instance, command, params, pattern),
        }
    }

    fn add(
        &self,
        instance: &Arc<Instance>,
        command: &'static dyn Command,
        params: Option<&[u8]>,
        pattern: &[u8],
    ) -> Result {
        let (action, count) = command.arm(instance, params)?;
        let counted = command.counted(params);
        let mut entries = self.entries.lock();

        let mut found = ops::matching_sites(&Pattern::parse(pattern))?;
        sort_by(&mut found, |a, b| a.addr().cmp(&b.addr()));
        let mut sites = KVVec::new();
        for site in found {
            let addr = site.addr();
            let mut kind = entries.iter().filter(|e| e.probe.is_kind(command, counted));
            if kind.any(|e| e.probe.live().any(|site| site.addr == addr)) {
                continue;
            }
            let count = match count {
                Count::Unlimited => None,
                Count::Times(n) => Some(Atomic::new(n)),
            };
            sites.push(
                Unfinished {
                    addr,
                    count,
                    live: Atomic::new(true),
                },
                GFP_KERNEL,
            )?;
        }
        if sites.is_empty() {
            return Err(EINVAL);
        }

        // INVARIANT: made in the order of what was found.
        let probe = Probe {
            command,
            counted,
            action,
            instance: instance.clone(),
            sites,
        };
        let probe = Arc::new(probe, GFP_KERNEL)?;
        entries.reserve(1, GFP_KERNEL)?;
        let ops = Ops::new(probe.clone(), Flags::RECURSION)?;
        let mut edit = ops.edit(FilterKind::Filter, true)?;
        for site in &probe.sites {
            edit.set_ip(site.addr, false)?;
        }
        edit.commit()?;
        ops.register()?;
        entries.push(Entry { probe, ops }, GFP_KERNEL)?;
        Ok(())
    }

    fn remove(&self, command: &dyn Command, counted: bool, pattern: &[u8]) -> Result {
        let all = pattern.is_empty() || pattern == b"*";
        let pattern = Pattern::parse(pattern);
        let wanted = |site: &Unfinished| {
            all || Symbol::with(site.addr, |symbol| pattern.matches(symbol.name())) == Some(true)
        };

        let mut entries = self.entries.lock();
        let kind = |entry: &&Entry| entry.probe.is_kind(command, counted);
        if !entries.iter().any(|entry| kind(&entry)) {
            return Err(ENODEV);
        }
        let mut found = false;
        for entry in entries.iter().filter(kind) {
            found |= drop_sites(entry, &wanted)?;
        }
        // Dropping an entry unregisters its ops and waits for its callbacks.
        entries.retain(|entry| entry.probe.live().next().is_some());
        if found {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }

    /// Removes every command. Task context, sleeps.
    fn clear(&self) {
        let entries = core::mem::take(&mut *self.entries.lock());
        // Outside the lock: this may drop the last reference to the instance and so to `self`.
        drop(entries);
    }

    /// How many lines there are for [`Self::write`]. Task context, may sleep.
    pub(crate) fn count(&self) -> usize {
        self.entries
            .lock()
            .iter()
            .map(|entry| entry.probe.live().count())
            .sum()
    }

    /// Writes line `index` of the commands' part of `set_ftrace_filter`; `Ok(false)` past the last
    /// one.
    ///
    /// Task context, may sleep. Errors when `out` is full.
    pub(crate) fn write(&self, index: usize, out: &mut dyn Out) -> Result<bool, fmt::Error> {
        let entries = self.entries.lock();
        // The newest first.
        let mut lines = entries
            .iter()
            .rev()
            .flat_map(|e| e.probe.live().map(move |site| (&e.probe, site)));
        match lines.nth(index) {
            Some((probe, site)) => probe.write(site, out).map(|()| true),
            None => Ok(false),
        }
    }
}

/// Takes the `wanted` sites out of a probe; true if there were any.
fn drop_sites(entry: &Entry, wanted: impl Fn(&Unfinished) -> bool) -> Result<bool> {
    let mut edit: Option<Edit> = None;
    for site in entry.probe.live().filter(|site| wanted(site)) {
        let edit = match &mut edit {
            Some(edit) => edit,
            none => none.insert(entry.ops.edit(FilterKind::Filter, false)?),
        };
        edit.set_ip(site.addr, true)?;
        site.live.store(false, Relaxed);
    }
    let Some(edit) = edit else {
        return Ok(false);
    };
    if entry.probe.live().next().is_some() {
        edit.commit()?;
    } else {
        // An empty filter would mean every function.
        entry.ops.unregister()?;
    }
    Ok(true)
}

/// The commands there are.
static COMMANDS: &[&dyn Command] = &[
    &OnOff {
        name: "traceon",
        on: true,
    },
    &OnOff {
        name: "traceoff",
        on: false,
    },
    &Dump {
        name: "dump",
        all: true,
    },
    &Dump {
        name: "cpudump",
        all: false,
    },
    &StackTrace,
    &TakeSnapshot,
    #[cfg(CONFIG_EVENT_TRACING)]
    &switch_event::SwitchEvent {
        name: "enable_event",
        on: true,
    },
    #[cfg(CONFIG_EVENT_TRACING)]
    &switch_event::SwitchEvent {
        name: "disable_event",
        on: false,
    },
];

/// Is there a command called `name`?
pub(crate) fn is_known(name: &[u8]) -> bool {
    find(name).is_some()
}

fn find(name: &[u8]) -> Option<&'static dyn Command> {
    COMMANDS
        .iter()
        .copied()
        .find(|command| command.name().as_bytes() == name)
}

/// `traceon` and `traceoff`: only a change counts.
#[derive(Clone, Copy)]
struct OnOff {
    name: &'static str,
    on: bool,
}

impl Command for OnOff {
    fn name(&self) -> &'static str {
        self.name
    }

    fn arm(&self, _: &Arc<Instance>, params: Option<&[u8]>) -> Result<(KBox<dyn Action>, Count)> {
        Ok((KBox::new(*self, GFP_KERNEL)?, read_count(params)?))
    }
}

impl Action for OnOff {
    fn hit(&self, instance: &Instance, left: &Unfinished) {
        let buffer = instance.buffer();
        if left.any() && buffer.is_on() != self.on && buffer.set_on(self.on) != self.on {
            // Only the CPU whose switch took effect gets here.
            left.spend();
        }
    }

    fn write(&self, out: &mut dyn Out) -> fmt::Result {
        out.write_str(self.name)
    }
}

/// `dump` and `cpudump`: the buffer goes to the console, of all CPUs or of this one. Parameters are
/// ignored.
#[derive(Clone, Copy)]
struct Dump {
    name: &'static str,
    all: bool,
}

impl Command for Dump {
    fn name(&self) -> &'static str {
        self.name
    }

    fn counted(&self, _: Option<&[u8]>) -> bool {
        self.all
    }

    fn arm(&self, _: &Arc<Instance>, _: Option<&[u8]>) -> Result<(KBox<dyn Action>, Count)> {
        let count = if self.all {
            Count::Times(1)
        } else {
            Count::Unlimited
        };
        Ok((KBox::new(*self, GFP_KERNEL)?, count))
    }
}

impl Action for Dump {
    fn hit(&self, _: &Instance, left: &Unfinished) {
        if left.spend() {
            dump::top(if self.all {
                dump::Cpus::All
            } else {
                dump::Cpus::This
            });
        }
    }

    fn write(&self, out: &mut dyn Out) -> fmt::Result {
        out.write_str(self.name)
    }
}

/// `stacktrace`: records the stack that led here. A count without number never ends, as in C.
#[derive(Clone, Copy)]
struct StackTrace;

impl Command for StackTrace {
    fn name(&self) -> &'static str {
        "stacktrace"
    }

    fn arm(&self, _: &Arc<Instance>, params: Option<&[u8]>) -> Result<(KBox<dyn Action>, Count)> {
        Ok((KBox::new(*self, GFP_KERNEL)?, read_count(params)?))
    }
}

impl Action for StackTrace {
    fn hit(&self, instance: &Instance, left: &Unfinished) {
        if instance.tracing_on() && (left.spend() || left.endless()) {
            stack::record(instance.buffer(), left.addr);
        }
    }

    fn write(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(b"stacktrace")
    }
}

/// `snapshot`: takes one. Adding the command allocates it. A count without number allows none, as
/// in C.
struct TakeSnapshot;

impl Command for TakeSnapshot {
    fn name(&self) -> &'static str {
        "snapshot"
    }

    fn arm(
        &self,
        instance: &Arc<Instance>,
        params: Option<&[u8]>,
    ) -> Result<(KBox<dyn Action>, Count)> {
        let count = read_count(params)?;
        Ok((KBox::new(Armed::new(instance)?, GFP_KERNEL)?, count))
    }
}

impl Action for Armed {
    fn hit(&self, instance: &Instance, left: &Unfinished) {
        if left.spend() {
            tracing_snapshot_instance_cond(instance);
        }
    }

    fn write(&self, out: &mut dyn Out) -> fmt::Result {
        out.bytes(b"snapshot")
    }
}

fn read_count(params: Option<&[u8]>) -> Result<Count> {
    count(params).map_err(|e| Error::from_errno(e.errno().wrapping_neg()))
}
