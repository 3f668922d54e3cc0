// SPDX-License-Identifier: GPL-2.0

//! What a file of tracefs is: a [`Row`] is a name with its mode; its [`Node`] answers when that name
//! is opened at some [`Place`], at the top or in an instance, for one CPU or for all.

use crate::kernel::fs::pseudo_fs::{FileType, OpenFlags, Opening};
use crate::kernel::fs::tracefs::Dir;
use crate::trace::instance::Instance;
use kernel::{cpu::CpuId, prelude::*, sync::Arc};

/// Where a file stands.
#[derive(Clone)]
pub(crate) struct Place {
    /// The instance whose file it is.
    pub(crate) instance: Arc<Instance>,
    /// The CPU, for files below `per_cpu/`.
    pub(crate) cpu: Option<CpuId>,
}

/// What happens when a file is opened.
pub(crate) trait Node: Sync {
    /// Called for each `open(2)`; permissions and lockdown were checked. Task context, may sleep.
    fn open(&'static self, at: &Place, how: &OpenFlags) -> Result<Opening>;

    /// Is opening it for writing `EACCES` in an instance that holds a copy of another?
    fn is_shut_in_copies(&self) -> bool {
        false
    }
}

/// Where a row's file exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// At the top only.
    Top,
    /// At the top and in every instance.
    Instance,
    /// At the top and in every instance but those that hold a copy of another.
    Recorder,
    /// Below `per_cpu/` at the top and in every instance, once for each CPU.
    PerCpu,
    /// In instances whose buffer outlives the kernel.
    Persistent,
    /// Below `per_cpu/` there.
    PersistentPerCpu,
    /// At the top and in every instance that can have snapshots.
    Snapshot,
    /// Below `per_cpu/` there.
    SnapshotPerCpu,
}

impl Scope {
    /// Are files of this scope there at `at`?
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
    /// Its name.
    pub(super) name: &'static CStr,
    /// Its mode.
    pub(super) mode: u16,
    /// Where it exists.
    pub(super) scope: Scope,
    node: &'static dyn Node,
    /// What `README` says of it; one line.
    pub(super) help: &'static str,
}

/// A row of the table.
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

/// A row at its place.
pub(super) struct Placed {
    /// The row.
    pub(super) row: &'static Row,
    /// Where.
    pub(super) at: Place,
}

impl FileType for Placed {
    fn open(&self, how: &OpenFlags) -> Result<Opening> {
        let held = self.at.instance.hold()?;
        if how.write && self.row.node.is_shut_in_copies() && self.at.instance.is_copy() {
            return Err(EACCES);
        }
        self.row.node.open(&self.at, how)?.keep(held)
    }
}

impl Row {
    /// Creates the file; a failure is reported, and the file is missing.
    pub(super) fn create(&'static self, dir: &Dir, at: &Place) {
        let placed = KBox::new(
            Placed {
                row: self,
                at: at.clone(),
            },
            GFP_KERNEL,
        );
        // The mode of a CPU's own says nothing of that, as in C.
        let shut = at.cpu.is_none() && self.node.is_shut_in_copies() && at.instance.is_copy();
        let mode = if shut { self.mode & 0o444 } else { self.mode };
        let made = placed
            .map_err(Error::from)
            .and_then(|of| dir.create_file(self.name, mode, of));
        if let Err(e) = made {
            pr_warn!("no tracefs file {}: {:?}\n", self.name, e);
        }
    }
}
