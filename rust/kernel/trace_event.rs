// SPDX-License-Identifier: GPL-2.0

//! Events as C code describes them: what `TRACE_EVENT()` and its kin generate, and the structures
//! that the generated code shares with the recording path.
//!
//! C header: `include/linux/trace_events.h`.
//!
//! | file | has |
//! | --- | --- |
//! | [`call`] | an event's description |
//! | [`fields`] | the fields of its entries |
//! | [`registered`] | its life: from its registration to its end, and being held |
//! | [`file`] | an event in an instance |
//! | `file_list` | the files that get the hits of an event |
//! | `owned` | an event that has memory of its own, though it belongs to a module |
//! | [`reservation`] | what a probe keeps of an entry that it makes |
//! | [`sections`] | what the kernel and its modules are built with |

mod call;
mod fields;
mod file;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod file_list;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod owned;
mod registered;
mod reservation;
mod sections;

pub(crate) use call::Call;
pub(crate) use fields::{Field, RawField, Reach};
#[cfg(CONFIG_PERF_EVENTS)]
pub(crate) use file::wait_for_probes;
pub(crate) use file::{flag, File, FileBox, FlagsHandle};
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(crate) use file_list::{FileList, OtherFiles};
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(super) use owned::Owned;
pub(crate) use registered::{HeldCall, Registered};
pub(crate) use reservation::Reservation;
pub(crate) use sections::{built_in, built_in_evals, evals_of_module, of_module, Eval};

use kernel::bindings;

/// Bytes of the fields that all entries begin with.
pub(crate) const COMMON: usize = size_of::<bindings::trace_entry>();
