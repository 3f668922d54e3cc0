// SPDX-License-Identifier: GPL-2.0

//! `events/`: which events there are, what they look like, and what is switched on.
//!
//! | module | what it has |
//! | --- | --- |
//! | [`directories`] | the directories, whose entries are made when they are looked at |
//! | [`layout`] | `header_event`, `header_page`, and the core's own entries below `ftrace/` |

mod directories;
mod layout;

use super::{Place, Row, Scope};
use crate::kernel::fs::tracefs::Dir;
use directories::Top;
use kernel::prelude::*;
use layout::{Enable, HeaderEvent, HeaderPage};

/// The files right in `events/`. A row's place is the number of its file.
#[rustfmt::skip]
static FILES: &[Row] = &[
    super::row(c"header_page", 0o440, Scope::Instance, &HeaderPage, "the head of a sub-buffer"),
    super::row(c"header_event", 0o440, Scope::Instance, &HeaderEvent, "the header of a record in the ring buffer"),
    super::row(c"enable", 0o640, Scope::Recorder, &Enable, "switches all events; there are none yet"),
];

/// Makes the directory. Task context, may sleep; errors as [`Dir::create_lazy_dir`].
pub(super) fn create(parent: &Dir, at: &Place) -> Result {
    parent.create_lazy_dir(c"events", KBox::new(Top(at.clone()), GFP_KERNEL)?)
}
