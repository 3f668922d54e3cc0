// SPDX-License-Identifier: GPL-2.0

//! Files of tracefs. A [`Row`] is a name with its mode. Its [`Node`] opens the file at a [`Place`]:
//! at the top or in an instance, for one CPU or for all.

use crate::kernel::fs::pseudo_fs::{FileType, OpenFlags, Opening};
use crate::kernel::fs::tracefs::Dir;
#[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
use crate::kernel::fs::watched::Watched;
use crate::trace::instance::{list, Instance};
use kernel::{cpu::CpuId, prelude::*, sync::Arc};

/// Where a file is.
#[derive(Clone)]
pub(crate) struct Place {
    /// The instance that the file belongs to.
    pub(crate) instance: Arc<Instance>,
    /// The CPU, for files in `per_cpu/`.
    pub(crate) cpu: Option<CpuId>,
}

/// Opens a file.
pub(crate) trait Node: Sync {
    /// Called for each `open(2)`, after the checks of permissions and lockdown. Task context, may
    /// sleep. Its error becomes the error of `open(2)`.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening>;

    /// Whether opening for writing fails with `EACCES` in an instance that is a read-only copy of
    /// another.
    fn is_read_only_in_copies(&self) -> bool {
        false
    }

    /// The file of `at`, if it has changes that no write makes.
    #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
    fn watched(&self, _at: &Place) -> Option<Arc<Watched>> {
        None
    }
}

/// Where the file of a row exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// At the top only.
    Top,
    /// At the top and in every instance.
    Instance,
    /// At the top and in every instance that is not a read-only copy of another.
    Recorder,
    /// In `per_cpu/` at the top and in every instance, once for each CPU.
    PerCpu,
    /// In instances whose buffer outlives the kernel.
    Persistent,
    /// In `per_cpu/` of such instances.
    PersistentPerCpu,
    /// At the top and in every instance that can take snapshots.
    Snapshot,
    /// In `per_cpu/` of such instances.
    SnapshotPerCpu,
}

impl Scope {
    /// Whether files of this scope exist at `at`.
    pub(super) fn includes(self, at: &Place) -> bool {
        let persistent = at.instance.previous_boot().is_some();
        let (here, per_cpu) = match self {
            Self::Top => (at.instance.is_top(), false),
            Self::Instance => (true, false),
            Self::Recorder => (!at.instance.is_copy(), false),
            Self::PerCpu => (true, true),
            Self::Persistent => (persistent, false),
            Self::PersistentPerCpu => (persistent, true),
            Self::Snapshot => (!persistent, false),
            Self::SnapshotPerCpu => (!persistent, true),
        };
        here && per_cpu == at.cpu.is_some()
    }
}

/// One file.
pub(crate) struct Row {
    /// The name.
    pub(super) name: &'static CStr,
    /// The mode.
    pub(super) mode: u16,
    /// Where the file exists.
    pub(super) scope: Scope,
    node: &'static dyn Node,
    /// The text about the file in `README`; one line.
    pub(super) help: &'static str,
}

/// Makes a row of the table.
pub(super) const fn row(
    name: &'static CStr,
    mode: u16,
    scope: Scope,
    node: &'static dyn Node,
    help: &'static str,
) -> Row {
    Row {
        name,
        mode,
        scope,
        node,
        help,
    }
}

/// A row together with its place.
pub(super) struct Placed {
    /// The row.
    pub(super) row: &'static Row,
    /// The place.
    pub(super) at: Place,
}

impl FileType for Placed {
    fn open(&self, how: &OpenFlags) -> Result<Opening> {
        let held = list::hold_opened(&self.at.instance)?;
        if how.write && self.row.node.is_read_only_in_copies() && self.at.instance.is_copy() {
            return Err(EACCES);
        }
        self.row.node.open(&self.at, how)?.keep(held)
    }
}

impl Row {
    /// Creates the file. A failure is logged, and the file is missing then. Task context, may
    /// sleep.
    pub(super) fn create(&'static self, dir: &Dir, at: &Place) {
        let placed = KBox::new(
            Placed {
                row: self,
                at: at.clone(),
            },
            GFP_KERNEL,
        );
        // In a copy, the mode of a file in `per_cpu/` keeps its write bits, as in C.
        let read_only =
            at.cpu.is_none() && self.node.is_read_only_in_copies() && at.instance.is_copy();
        let mode = if read_only {
            self.mode & 0o444
        } else {
            self.mode
        };
        let made = placed
            .map_err(Error::from)
            .and_then(|of| self.create_in(dir, mode, of));
        if let Err(e) = made {
            pr_warn!("no tracefs file {}: {:?}\n", self.name, e);
        }
    }

    #[cfg(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE))]
    fn create_in(&self, dir: &Dir, mode: u16, of: KBox<Placed>) -> Result {
        match self.node.watched(&of.at) {
            Some(watched) => dir.create_watched_file(self.name, mode, of, watched),
            None => dir.create_file(self.name, mode, of),
        }
    }

    #[cfg(not(all(CONFIG_FSNOTIFY, CONFIG_TRACER_MAX_TRACE)))]
    fn create_in(&self, dir: &Dir, mode: u16, of: KBox<Placed>) -> Result {
        dir.create_file(self.name, mode, of)
    }
}
