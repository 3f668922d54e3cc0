// SPDX-License-Identifier: GPL-2.0

//! Selection of events by a word of `set_event`, also for modules that are not loaded yet.

use crate::core::format::Out;
use crate::kernel::text::Text;
use crate::trace::instance::Instance;
use core::fmt;
use core::ptr::from_ref;
use kernel::prelude::*;

/// Conditions that select events.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Match<'a> {
    /// Either the name of the event or its system.
    pub(crate) either: Option<&'a [u8]>,
    /// The system.
    pub(crate) system: Option<&'a [u8]>,
    /// The name of the event.
    pub(crate) event: Option<&'a [u8]>,
    /// The module. Its name may have `-` for `_`.
    pub(crate) module: Option<&'a [u8]>,
}

impl<'a> Match<'a> {
    /// Parses `SYSTEM:EVENT`, where either may be empty or `*`, or `NAME` of an event or a system.
    /// `:mod:MODULE` may follow.
    pub(crate) fn parse(text: &'a [u8]) -> Self {
        const MOD: &[u8] = b":mod:";
        let cut = text.windows(MOD.len()).position(|at| at == MOD);
        let (text, module) = match cut {
            Some(at) => (text.get(..at).unwrap_or(&[]), text.get(at + MOD.len()..)),
            None => (text, None),
        };
        let named = |part: &'a [u8]| (!part.is_empty() && part != b"*").then_some(part);
        match text.iter().position(|&byte| byte == b':') {
            Some(at) => Self {
                either: None,
                system: text.get(..at).and_then(named),
                event: text.get(at + 1..).and_then(named),
                module,
            },
            None if module.is_some() => Self {
                either: named(text),
                module,
                ..Self::default()
            },
            None => Self {
                either: Some(text),
                ..Self::default()
            },
        }
    }
}

/// Events that an instance enables when a module is loaded.
pub(crate) struct Waiting {
    /// The address of the instance. It is removed together with the instance.
    instance: usize,
    module: KVec<u8>,
    either: Option<KVec<u8>>,
    system: Option<KVec<u8>>,
    event: Option<KVec<u8>>,
}

impl Waiting {
    /// Saves the conditions `wanted` for `module`. `ENOMEM`.
    pub(super) fn new(instance: &Instance, module: KVec<u8>, wanted: &Match<'_>) -> Result<Self> {
        Ok(Self {
            instance: from_ref(instance) as usize,
            module,
            either: wanted.either.map(Text::copy).transpose()?,
            system: wanted.system.map(Text::copy).transpose()?,
            event: wanted.event.map(Text::copy).transpose()?,
        })
    }

    /// The conditions.
    pub(super) fn wanted(&self) -> Match<'_> {
        Match {
            either: self.either.as_deref(),
            system: self.system.as_deref(),
            event: self.event.as_deref(),
            module: Some(&self.module),
        }
    }

    /// Whether it belongs to `instance`.
    pub(super) fn is_of(&self, instance: &Instance) -> bool {
        self.instance == from_ref(instance) as usize
    }

    /// Whether it belongs to the module called `module`.
    pub(super) fn is_for(&self, module: &[u8]) -> bool {
        *self.module == *module
    }

    /// Whether it is among those that `wanted` selects. A missing condition matches anything.
    pub(super) fn is_meant(&self, wanted: &Match<'_>) -> bool {
        let same = |asked: Option<&[u8]>, its: &Option<KVec<u8>>| {
            asked.is_none_or(|asked| its.as_deref() == Some(asked))
        };
        same(wanted.either, &self.either)
            && same(wanted.system, &self.system)
            && same(wanted.event, &self.event)
    }

    /// Writes it as `set_event` shows it. Errors only of `out`.
    pub(crate) fn write(&self, out: &mut dyn Out) -> fmt::Result {
        let part = |part: &Option<KVec<u8>>, out: &mut dyn Out| match part {
            Some(name) => out.bytes(name),
            None => out.bytes(b"*"),
        };
        if let Some(either) = &self.either {
            out.bytes(either)?;
        } else {
            part(&self.system, out)?;
            out.bytes(b":")?;
            part(&self.event, out)?;
        }
        out.bytes(b":mod:")?;
        out.bytes(&self.module)?;
        out.bytes(b"\n")
    }
}
