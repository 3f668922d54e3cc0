// SPDX-License-Identifier: GPL-2.0

//! The interface of a tracer.
//!
//! An instance has one current tracer. `Instance::set_tracer` changes it, and `nop` is current in
//! between. [`Running`] is the state of a tracer while it is current; dropping it stops the tracer.
//! All methods run in task context under the instance's state mutex and may sleep.
//!
//! The tracers of the table are registered at boot
//! ([`Registry::tracers`](super::feature::Registry::tracers)). Modules may [`add`] others, which have
//! neither options nor an output format of their own.
//!
//! Lock order: an instance's state mutex, [`ADDED`].

use super::feature;
use super::Instance;
use crate::core::parse::options::{Flag, Set, TracerOption};
use core::ops::Deref;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex, SetOnce};

/// A step of boot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BootStep {
    /// One CPU, no scheduler, no interrupts.
    Early,
    /// All CPUs are up: `core_initcall`.
    Core,
    /// Everything is there: `late_initcall`.
    Late,
}

/// A tracer that can become the current one.
pub(crate) trait Tracer: Send + Sync {
    /// The name in `current_tracer`.
    fn name(&self) -> &str;

    /// Starts recording into `instance`. `flags` are the tracer's own options.
    ///
    /// # Errors
    ///
    /// After any error the instance goes back to its old tracer.
    fn start(&self, instance: &Arc<Instance>, flags: u32) -> Result<KBox<dyn Running>>;

    /// The tracer's own options.
    fn options(&self) -> &'static [TracerOption] {
        &[]
    }

    /// The bits of its own options that are on by default.
    fn default_flags(&self) -> u32 {
        0
    }

    /// Whether `option`, one of its own, may be set to `on`. The tracer need not be current.
    ///
    /// # Errors
    ///
    /// `EINVAL` if not.
    fn accept(&self, _option: &TracerOption, _on: bool) -> Result {
        Ok(())
    }

    /// Core options that are on while the tracer is current. The user's values are restored
    /// afterwards.
    fn forces(&self) -> Set {
        Set::NONE
    }

    /// Whether instances other than the top one may use it.
    fn in_instances(&self) -> bool {
        true
    }

    /// The step at which the command line starts it.
    fn boot_step(&self) -> BootStep {
        BootStep::Core
    }

    /// Whether the command line and the boot configuration may start it.
    fn at_boot(&self) -> bool {
        true
    }

    /// Whether it keeps its worst trace in the snapshot. Then `trace` shows the snapshot, and no
    /// other user may take one.
    fn uses_snapshot(&self) -> bool {
        false
    }
}

/// A running tracer of one instance. Dropping it stops the tracer: it records nothing afterwards.
pub(crate) trait Running: Send {
    /// `tracing_on` has changed to `on`.
    fn switched(&mut self, _on: bool) {}

    /// Its own options, the pids or the graph filters have changed.
    ///
    /// # Errors
    ///
    /// After any error the tracer goes on as before.
    fn changed(&mut self, _flags: u32) -> Result {
        Ok(())
    }

    /// The core option `flag` is about to change to `on`.
    ///
    /// # Errors
    ///
    /// Any error keeps the old value of the option.
    fn option(&mut self, _flag: Flag, _on: bool) -> Result {
        Ok(())
    }
}

/// A tracer of the table, or one that was added.
#[derive(Clone)]
pub(crate) enum TracerRef {
    /// The tracer in this row.
    Row(usize, &'static dyn Tracer),
    /// It may have been removed since; then it does not start.
    Added(Arc<dyn Tracer>),
}

impl TracerRef {
    /// Its row. One that was added has a row in which there is none.
    pub(super) fn row(&self) -> usize {
        match self {
            Self::Row(row, _) => *row,
            Self::Added(_) => usize::MAX,
        }
    }

    /// Whether it is the same as `other`.
    pub(super) fn is(&self, other: &TracerRef) -> bool {
        match (self, other) {
            (Self::Row(one, _), Self::Row(other, _)) => one == other,
            (Self::Added(one), Self::Added(other)) => same(one, other),
            _ => false,
        }
    }
}

impl Deref for TracerRef {
    type Target = dyn Tracer;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Row(_, tracer) => *tracer,
            Self::Added(tracer) => &**tracer,
        }
    }
}

fn same(one: &Arc<dyn Tracer>, other: &Arc<dyn Tracer>) -> bool {
    core::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

/// The longest name that an added tracer can have.
const NAME_MAX: usize = 63;

/// The added tracers, the newest last.
static ADDED: SetOnce<Pin<KBox<Mutex<KVec<Arc<dyn Tracer>>>>>> = SetOnce::new();

/// Prepares for [`add`]. Once, at boot. `ENOMEM`.
pub(super) fn init() -> Result {
    ADDED.populate(KBox::pin_init(new_mutex!(KVec::new()), GFP_KERNEL)?);
    Ok(())
}

/// Adds a tracer, which any instance can have from now on. Task context, may sleep.
///
/// # Errors
///
/// `EINVAL` for a name that is empty, longer than [`NAME_MAX`], or has other characters than ASCII's
/// visible ones; `EEXIST` if a tracer has it; `ENODEV` before the top instance is made; `ENOMEM`.
pub(crate) fn add(tracer: Arc<dyn Tracer>) -> Result {
    let name = tracer.name();
    let visible = name.bytes().all(|byte| byte.is_ascii_graphic());
    if name.is_empty() || name.len() > NAME_MAX || !visible {
        return Err(EINVAL);
    }
    let mut added = ADDED.as_ref().ok_or(ENODEV)?.lock();
    let mut names = all().iter().map(|tracer| tracer.name());
    if names.any(|other| other == name) || added.iter().any(|other| other.name() == name) {
        return Err(EEXIST);
    }
    Ok(added.push(tracer, GFP_KERNEL)?)
}

/// Takes `tracer` out of those that were added; [`list::remove_tracer`](super::list::remove_tracer)
/// does all. Task context, may sleep.
pub(super) fn take_out(tracer: &Arc<dyn Tracer>) {
    if let Some(added) = ADDED.as_ref() {
        added.lock().retain(|other| !same(other, tracer));
    }
}

/// The tracers of the table. The index of a tracer is its *row*. Any context.
pub(crate) fn all() -> &'static [&'static dyn Tracer] {
    feature::tracers()
}

/// Calls `f` with each tracer in the order of `available_tracers`: the newest first. Task context, may
/// sleep. Errors as those of `f`.
pub(crate) fn each(mut f: impl FnMut(&dyn Tracer) -> Result) -> Result {
    if let Some(added) = ADDED.as_ref() {
        let added = added.lock();
        added.iter().rev().try_for_each(|tracer| f(&**tracer))?;
    }
    all().iter().try_for_each(|tracer| f(*tracer))
}

/// Whether boot may start the tracer called `name`, if there is one. Any context.
pub(crate) fn may_start_at_boot(name: &[u8]) -> bool {
    at_boot(name).is_none_or(|tracer| tracer.at_boot())
}

/// The step of boot at which the command line starts the tracer called `name`, or tells that there is
/// none. Any context.
pub(crate) fn boot_step(name: &[u8]) -> BootStep {
    at_boot(name).map_or(BootStep::Core, |tracer| tracer.boot_step())
}

/// The tracer of the table that boot calls `name`.
fn at_boot(name: &[u8]) -> Option<&'static dyn Tracer> {
    let mut tracers = all().iter().copied();
    tracers.find(|tracer| tracer.name().as_bytes() == name.trim_ascii())
}

/// The tracer in `row`. `EINVAL` if there is none.
pub(super) fn get(row: usize) -> Result<TracerRef> {
    let tracer = all().get(row).copied().ok_or(EINVAL)?;
    Ok(TracerRef::Row(row, tracer))
}

/// The tracer called `name`. Task context, may sleep. `EINVAL` if there is none.
pub(super) fn find(name: &[u8]) -> Result<TracerRef> {
    let is_it = |tracer: &dyn Tracer| tracer.name().as_bytes() == name;
    if let Some(row) = all().iter().position(|tracer| is_it(*tracer)) {
        return get(row);
    }
    let added = ADDED.as_ref().ok_or(EINVAL)?.lock();
    let found = added.iter().find(|tracer| is_it(&***tracer));
    found.cloned().map(TracerRef::Added).ok_or(EINVAL)
}

/// The row of `nop`.
pub(super) fn idle() -> usize {
    all().len().saturating_sub(1)
}
