// SPDX-License-Identifier: GPL-2.0

//! What a write to a `trigger` file asks for.

use super::super::EventId;
use crate::trace::instance::Instance;
use kernel::sync::Arc;

/// A definition to be added, changed or removed.
pub(super) struct Writing<'a> {
    pub(super) instance: &'a Arc<Instance>,
    pub(super) event: EventId,
    /// The text after `hist:`.
    pub(super) definition: &'a [u8],
    pub(super) remove: bool,
    /// Whether an action of another trigger needs it.
    pub(super) is_implied: bool,
}
