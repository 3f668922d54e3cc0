// SPDX-License-Identifier: GPL-2.0

//! The function commands of an instance, with the functions where they act.
//!
//! A command that is added for a pattern makes one [`Probe`] for the functions that do not have the
//! command yet: the command with its parameters, its own ops, and the remaining count of each site.
//! The set of sites never grows, so the callback finds a site without a lock. A removal marks the
//! site as removed and takes it out of the filter of the ops. The removal of the last site removes
//! the probe.
//!
//! Words: a probe is *counted* when a parameter limits how often it acts. Counted and unlimited
//! probes of a command are two kinds. A function has at most one probe of each kind.
//!
//! When the text of a site goes, so does the site: another function may come to be there.
//!
//! Lock order: the mutex of [`Probes`], then those of `ftrace::ops`. Callbacks take no lock.

use super::command::{Action, Command, HitCount, SiteCount};
use crate::core::format::Out;
use crate::core::parse::glob::Pattern;
use crate::core::parse::options::Flag;
use crate::kernel::kallsyms::{self, Symbol};
use crate::kernel::rcu_slot::wait_for_readers;
use crate::kernel::sort::sort_by;
use crate::trace::ftrace::ops::{self, Callback, FilterKind, Flags, Hit, Nothing, Ops};
use crate::trace::instance::feature::Feature;
use crate::trace::instance::Instance;
use core::fmt;
use core::ops::Range;
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
    /// The instance that it acts on. This is a reference cycle; [`Probes::clear`] breaks it.
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

    /// Whether it still acts at `addr`.
    fn acts_at(&self, addr: usize) -> bool {
        self.site(addr).is_some_and(|site| site.live.load(Relaxed))
    }

    fn is_kind(&self, command: &dyn Command, counted: bool) -> bool {
        self.command.name() == command.name() && self.counted == counted
    }

    fn write(&self, site: &SiteCount, mut out: &mut dyn Out) -> fmt::Result {
        let demangle = self.instance.options().has(Flag::RustPaths);
        kallsyms::write_name(site.addr, demangle, &mut out)?;
        out.bytes(b":")?;
        self.action.write(out)?;
        let count = self.action.shared().unwrap_or(&site.count);
        match count.left() {
            Some(left) => writeln!(out, ":count={left}"),
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
    /// The indexes of the sites where the probe still acts. These are its lines in a listing.
    live: KVVec<u32>,
}

impl Entry {
    fn line(&self, index: usize) -> Option<&SiteCount> {
        self.probe.sites.get(*self.live.get(index)? as usize)
    }

    /// Removes the sites that `wanted` accepts from the probe. Returns whether there were any.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `ENODEV` if ftrace is disarmed. Nothing changes then.
    fn drop_sites(&mut self, wanted: impl Fn(&SiteCount) -> bool) -> Result<bool> {
        let sites = &self.probe.sites;
        let (mut stay, mut go) = (KVVec::new(), KVVec::new());
        for at in self.live.iter() {
            let goes = sites.get(*at as usize).is_none_or(&wanted);
            let list = if goes { &mut go } else { &mut stay };
            list.push(*at, GFP_KERNEL)?;
        }
        if go.is_empty() {
            return Ok(false);
        }
        let going = || go.iter().filter_map(|at| sites.get(*at as usize));
        if stay.is_empty() {
            // An empty filter would mean all functions.
            self.ops.unregister()?;
        } else {
            let mut edit = self.ops.edit(FilterKind::Filter, false)?;
            for site in going() {
                edit.forget(site.addr);
            }
            edit.commit()?;
        }
        for site in going() {
            site.live.store(false, Relaxed);
        }
        self.live = stay;
        Ok(true)
    }

    /// Removes the sites in `text`, which the filter of the ops has lost.
    fn forget(&mut self, text: &Range<usize>) {
        let sites = &self.probe.sites;
        let before = self.live.len();
        self.live.retain(|at| {
            let Some(site) = sites.get(*at as usize) else {
                return false;
            };
            let stays = !text.contains(&site.addr);
            if !stays {
                site.live.store(false, Relaxed);
            }
            stays
        });
        if self.live.is_empty() && before != 0 {
            // It fails only when tracing was disarmed for good, and then nothing is called any more.
            let _ = self.ops.unregister();
        }
    }
}

/// Ends the probes that act nowhere. What they hold is given back when this returns, as in C. The
/// caller has a reference to the instance: one of theirs is not the last.
fn end_idle(entries: &mut KVec<Entry>) {
    let is_idle = |entry: &Entry| entry.live.is_empty();
    let acts = |entry: &Entry| is_idle(entry) && entry.probe.action.has_effects();
    if entries.iter().any(acts) {
        // Hits run with preemption off, and later ones see that their site was removed.
        wait_for_readers();
    }
    entries.retain(|entry| {
        let ends = is_idle(entry);
        if ends {
            entry.probe.action.end();
        }
        !ends
    });
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
    /// The function commands of `instance`. Any context. Errors as [`Instance::feature`].
    pub(crate) fn of(instance: &Instance) -> Result<&Self> {
        instance.feature()
    }

    /// Adds `command` for the functions that match `pattern`. `instance` owns these probes. Task
    /// context, sleeps.
    ///
    /// # Errors
    ///
    /// `EINVAL` for bad parameters, if no function matches, or if all functions have the command;
    /// `ENOMEM`.
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
            if kind.any(|e| e.probe.acts_at(addr)) {
                continue;
            }
            sites.push(
                SiteCount {
                    addr,
                    count: HitCount::new(count),
                    live: Atomic::new(true),
                },
                GFP_KERNEL,
            )?;
        }
        if sites.is_empty() {
            return Err(EINVAL);
        }

        // INVARIANT: the sites are listed in the order of their addresses.
        let probe = Probe {
            command,
            counted,
            action,
            instance: instance.clone(),
            sites,
        };
        let probe = Arc::new(probe, GFP_KERNEL)?;
        entries.reserve(1, GFP_KERNEL)?;
        let mut live = KVVec::with_capacity(probe.sites.len(), GFP_KERNEL)?;
        for at in 0..probe.sites.len() as u32 {
            live.push(at, GFP_KERNEL)?;
        }
        let ops = Ops::new(probe.clone(), Flags::RECURSION)?;
        let mut edit = ops.edit(FilterKind::Filter, true)?;
        for site in &probe.sites {
            edit.set_ip(site.addr, false)?;
        }
        edit.commit()?;
        ops.register()?;
        // The listing has the kinds one after the other, as C.
        let same = |entry: &Entry| entry.probe.is_kind(command, counted);
        let last = entries.iter().rposition(same);
        let at = last.map_or(entries.len(), |last| last.wrapping_add(1));
        let _ = entries.insert_within_capacity(at, Entry { probe, ops, live });
        Ok(())
    }

    /// Removes `command` from the functions that match `pattern`. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENODEV` and `EINVAL` if no such command exists at these functions; `EINVAL` if it cannot have
    /// these parameters.
    pub(super) fn remove(
        &self,
        instance: &Instance,
        command: &dyn Command,
        params: Option<&[u8]>,
        pattern: &[u8],
    ) -> Result {
        command.check_removal(instance, params)?;
        let counted = command.counted(params);
        let all = pattern.is_empty() || pattern == b"*";
        let pattern = Pattern::parse(pattern);
        let literal = pattern.literal();
        let wanted = |site: &SiteCount| {
            all || Symbol::with(site.addr, |symbol| {
                symbol.matches(&pattern) || literal.is_some_and(|one| symbol.matches(&one))
            }) == Some(true)
        };

        let mut entries = self.entries.lock();
        let kind = |entry: &Entry| entry.probe.is_kind(command, counted);
        if !entries.iter().any(kind) {
            return Err(ENODEV);
        }
        let found = entries
            .iter_mut()
            .filter(|entry| kind(entry))
            .try_fold(false, |found, entry| {
                Ok::<_, Error>(entry.drop_sites(&wanted)? | found)
            });
        // Also those that have lost their sites before one could not.
        end_idle(&mut entries);
        if found? {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }

    /// The sites in `text` are gone, and commands do not act there any more. The caller has a
    /// reference to the instance. Task context, sleeps.
    pub(super) fn forget(&self, text: &Range<usize>) {
        let mut entries = self.entries.lock();
        for entry in entries.iter_mut() {
            entry.forget(text);
        }
        end_idle(&mut entries);
    }

    /// Removes all commands. The caller has a reference to the instance. Task context, sleeps.
    fn clear(&self) {
        self.forget(&(0..usize::MAX));
    }

    /// The number of lines that [`Self::write`] can write. Task context, may sleep.
    pub(crate) fn count(&self) -> usize {
        self.entries
            .lock()
            .iter()
            .map(|entry| entry.live.len())
            .sum()
    }

    /// Writes line `index` of the commands in `set_ftrace_filter`. Returns `Ok(false)` after the
    /// last line.
    ///
    /// Task context, may sleep. Errors only when `out` is full.
    pub(crate) fn write(&self, index: usize, out: &mut dyn Out) -> Result<bool, fmt::Error> {
        let entries = self.entries.lock();
        let mut left = index;
        // The newest kind first.
        for entry in entries.iter().rev() {
            if let Some(site) = entry.line(left) {
                return entry.probe.write(site, out).map(|()| true);
            }
            left = left.saturating_sub(entry.live.len());
        }
        Ok(false)
    }
}
