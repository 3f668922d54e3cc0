// SPDX-License-Identifier: GPL-2.0

//! The function commands of an instance, each with the functions it acts at.
//!
//! Adding a command to a pattern that names new functions makes one [`Probe`]: a command
//! with its parameters, an ops of its own, and for each of its sites what is left of the count. Its
//! set of sites never grows, so that the callback can look a site up without a lock; removing marks
//! a site and takes it out of the ops' filter, and the last one takes the probe away.
//!
//! Words: a probe is *counted* when a parameter limits how often it acts; counted and unlimited
//! probes of one command are two kinds, and a function has at most one probe of a kind.
//!
//! Locks: [`Probes`]' mutex, then those of `ftrace::ops`. Callbacks take none.

use super::command::{Action, Command, SiteCount};
use crate::core::format::Out;
use crate::core::parse::command::Count;
use crate::core::parse::glob::Pattern;
use crate::kernel::kallsyms::{self, Symbol};
use crate::kernel::sort::sort_by;
use crate::trace::ftrace::ops::{self, Callback, Edit, FilterKind, Flags, Hit, Nothing, Ops};
use crate::trace::instance::feature::Feature;
use crate::trace::instance::Instance;
use core::fmt;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{Arc, Mutex};

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
    sites: KVVec<SiteCount>,
}

impl Probe {
    fn site(&self, addr: usize) -> Option<&SiteCount> {
        let at = self
            .sites
            .binary_search_by_key(&addr, |site| site.addr)
            .ok()?;
        self.sites.get(at)
    }

    fn live(&self) -> impl Iterator<Item = &SiteCount> {
        self.sites.iter().filter(|site| site.live.load(Relaxed))
    }

    fn is_kind(&self, command: &dyn Command, counted: bool) -> bool {
        self.command.name() == command.name() && self.counted == counted
    }

    fn write(&self, site: &SiteCount, mut out: &mut dyn Out) -> fmt::Result {
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
        if let Some(site) = self.site(hit.ip).filter(|site| site.live.load(Relaxed)) {
            self.action.hit(&self.instance, site);
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

    /// Has `command` act in `instance`, whose probes these are, at the functions that `pattern`
    /// matches. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for bad parameters, no such function, or functions that all have the command.
    pub(super) fn add(
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
                SiteCount {
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

    /// Takes `command` away from the functions that `pattern` matches. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENODEV` and `EINVAL` when there is nothing to remove, of the kind or of these functions.
    pub(super) fn remove(&self, command: &dyn Command, counted: bool, pattern: &[u8]) -> Result {
        let all = pattern.is_empty() || pattern == b"*";
        let pattern = Pattern::parse(pattern);
        let wanted = |site: &SiteCount| {
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
        entries.retain(|entry| {
            let stays = entry.probe.live().next().is_some();
            if !stays {
                entry.probe.action.end();
            }
            stays
        });
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
fn drop_sites(entry: &Entry, wanted: impl Fn(&SiteCount) -> bool) -> Result<bool> {
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
