// SPDX-License-Identifier: GPL-2.0

//! The files of tracefs: one table that says what exists, and the places where each row stands.
//!
//! A [`Row`] is a name with its mode; its [`Node`] answers when that name is opened at some [`Place`]: at the
//! top or in an instance, for one CPU or for all. Adding a file is adding a row.
//!
//! | module | files |
//! | --- | --- |
//! | [`control`] | not files: what small files of one text have in common ([`Control`](control::Control)) |
//!
//! The modes are those of C. What follows the table is safe Rust; the file system itself is
//! [`crate::kapi::tracefs`].
//!
//! Locks: none is held here while a node runs; nodes take the locks of what they ask.

use super::instance::Instance;
use crate::kapi::{
    pseudo_fs::{FileType, OpenFlags, Opening},
    tracefs::{self, Dir},
};
use kernel::{cpu::CpuId, prelude::*, sync::Arc};

pub(crate) mod control;

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
}

/// Where a row's file exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// At the top only.
    Top,
    /// At the top and in every instance.
    Instance,
    /// Below `per_cpu/` at the top and in every instance, once for each CPU.
    PerCpu,
}

/// One file.
pub(crate) struct Row {
    name: &'static CStr,
    mode: u16,
    scope: Scope,
    node: &'static dyn Node,
}

const fn row(name: &'static CStr, mode: u16, scope: Scope, node: &'static dyn Node) -> Row {
    Row { name, mode, scope, node }
}

/// The files there are, but those of `options/`.
static FILES: &[Row] = &[];

/// A row at its place.
struct Placed {
    row: &'static Row,
    at: Place,
}

impl FileType for Placed {
    fn open(&self, how: &OpenFlags) -> Result<Opening> {
        self.row.node.open(&self.at, how)
    }
}

/// Creates the top-level files. Called once, at boot, after tracefs was registered.
///
/// A file that cannot be created is reported and left out.
pub(crate) fn init() -> Result {
    let top = Instance::top_ref()?;
    let root = Dir::root()?;
    tracefs::automount_on_debugfs();
    create_all(&root, &top)
}

/// Creates the files of `instance` in its directory.
fn create_all(dir: &Dir, instance: &Arc<Instance>) -> Result {
    let all = Place { instance: instance.clone(), cpu: None };
    for row in FILES {
        match row.scope {
            Scope::Top if !instance.is_top() => {}
            Scope::Top | Scope::Instance => create(dir, row, all.clone())?,
            Scope::PerCpu => {}
        }
    }
    Ok(())
}

fn create(dir: &Dir, row: &'static Row, at: Place) -> Result {
    dir.create_file(row.name, row.mode, KBox::new(Placed { row, at }, GFP_KERNEL)?)
}
