// SPDX-License-Identifier: GPL-2.0

//! What is known of types where a probe is.

use crate::core::event::probe::kernel_types::{Function, Types};
#[cfg(CONFIG_PROBE_EVENTS_BTF_ARGS)]
use crate::kernel::btf::KernelTypes;

/// A kernel without types has nothing that could know them.
#[cfg(not(CONFIG_PROBE_EVENTS_BTF_ARGS))]
type KernelTypes = crate::core::event::probe::kernel_types::Unknown;

/// The kernel's types, and the function that is probed.
pub(super) struct Known {
    types: Option<KernelTypes>,
    function: Option<Function>,
    /// Whether an argument has asked for the function.
    pub(super) asked: bool,
}

impl Known {
    /// Nothing.
    pub(super) const fn nothing() -> Self {
        Self {
            types: None,
            function: None,
            asked: false,
        }
    }

    /// The types, if the kernel has them.
    #[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_FPROBE_EVENTS, CONFIG_EPROBE_EVENTS))]
    pub(super) fn types() -> Self {
        Self {
            #[cfg(CONFIG_PROBE_EVENTS_BTF_ARGS)]
            types: Some(KernelTypes::new()),
            #[cfg(not(CONFIG_PROBE_EVENTS_BTF_ARGS))]
            types: None,
            function: None,
            asked: false,
        }
    }

    /// The types, and what they say of the function `name` but for its first `hidden` parameters. Task
    /// context, may sleep.
    #[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_FPROBE_EVENTS))]
    pub(super) fn of_function(name: &[u8], hidden: u16) -> Self {
        let mut known = Self::types();
        let types = known.types.as_mut();
        let function = types.and_then(|types| types.function(name));
        known.function = function.map(|function| function.without(hidden));
        known
    }

    /// The function and its types.
    #[cfg(any(CONFIG_KPROBE_EVENTS, CONFIG_FPROBE_EVENTS))]
    pub(super) fn function(&self) -> Option<(&dyn Types, Function)> {
        match (&self.types, self.function) {
            (Some(types), Some(function)) => Some((types, function)),
            _ => None,
        }
    }

    /// The types, and the function.
    pub(super) fn parts(&mut self) -> (Option<&mut dyn Types>, Option<Function>) {
        let types = self.types.as_mut();
        (types.map(|types| types as &mut dyn Types), self.function)
    }
}
