// SPDX-License-Identifier: GPL-2.0

//! The systems whose events an instance has: all, unless its creator has named some.

use crate::kernel::text::Text;
use crate::kernel::trace_event::Call;
use crate::trace::instance::feature::Feature;
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::{Arc, SetOnce};

/// The names of systems, separated by commas or blanks.
pub(crate) struct SystemsFeature(SetOnce<KVec<u8>>);

impl Feature for SystemsFeature {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self(SetOnce::new()), GFP_KERNEL)?)
    }
}

/// The systems of an instance: the named ones, or all.
#[derive(Clone, Copy)]
pub(crate) struct Systems<'a>(Option<&'a [u8]>);

impl<'a> Systems<'a> {
    /// The systems of `instance`. Any context.
    pub(crate) fn of(instance: &'a Instance) -> Self {
        let feature = instance.feature::<SystemsFeature>().ok();
        Self(feature.and_then(|named| named.0.as_ref().map(|names| names.as_slice())))
    }

    /// Whether the instance has the events of `system`.
    pub(crate) fn has(self, system: &[u8]) -> bool {
        let between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        self.0
            .is_none_or(|names| names.split(between).any(|name| name == system))
    }

    /// Whether the instance has `event`.
    pub(crate) fn have(self, event: &Call) -> bool {
        self.0.is_none() || self.has(event.system().to_bytes())
    }
}

/// Limits `instance`, which is being created, to the events of the systems in `names`. Task
/// context, may sleep. `ENOMEM`.
pub(crate) fn restrict(instance: &Instance, names: &[u8]) -> Result {
    let names = Text::copy(names)?;
    instance.feature::<SystemsFeature>()?.0.populate(names);
    Ok(())
}
