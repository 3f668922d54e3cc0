// SPDX-License-Identifier: GPL-2.0

//! Which events a word of `set_event` means, also those of modules that are not there yet.

use crate::core::format::Out;
use crate::trace::instance::Instance;
use core::fmt;
use core::ptr::from_ref;
use kernel::prelude::*;

/// Which events are meant.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Match<'a> {
    /// Those of this name, and all of the system of this name.
    pub(crate) either: Option<&'a [u8]>,
    /// Those of this system.
    pub(crate) system: Option<&'a [u8]>,
    /// Those of this name.
    pub(crate) event: Option<&'a [u8]>,
    /// Those of this module, whose name may have `-` for `_`.
    pub(crate) module: Option<&'a [u8]>,
}

impl<'a> Match<'a> {
    /// What `text` means: `SYSTEM:EVENT`, where either may be missing or `*`, or `NAME` of an event
    /// or a system; and behind it `:mod:MODULE`.
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

/// What is to be enabled in an instance when a module comes.
pub(super) struct Waiting {
    /// The instance's address: it is forgotten when the instance goes.
    instance: usize,
    module: KVec<u8>,
    either: Option<KVec<u8>>,
    system: Option<KVec<u8>>,
    event: Option<KVec<u8>>,
}

/// A copy of a name. `ENOMEM`.
pub(super) fn copied(name: &[u8]) -> Result<KVec<u8>> {
    let mut copy = KVec::new();
    copy.extend_from_slice(name, GFP_KERNEL)?;
    Ok(copy)
}

impl Waiting {
    /// What `wanted` means, for `module`. `ENOMEM`.
    pub(super) fn new(instance: &Instance, module: KVec<u8>, wanted: &Match<'_>) -> Result<Self> {
        Ok(Self {
            instance: from_ref(instance) as usize,
            module,
            either: wanted.either.map(copied).transpose()?,
            system: wanted.system.map(copied).transpose()?,
            event: wanted.event.map(copied).transpose()?,
        })
    }

    /// Which events are to be enabled.
    pub(super) fn wanted(&self) -> Match<'_> {
        Match {
            either: self.either.as_deref(),
            system: self.system.as_deref(),
            event: self.event.as_deref(),
            module: Some(&self.module),
        }
    }

    /// Is it enabled in `instance`?
    pub(super) fn is_of(&self, instance: &Instance) -> bool {
        self.instance == from_ref(instance) as usize
    }

    /// Does it wait for the module of this name?
    pub(super) fn is_for(&self, module: &[u8]) -> bool {
        *self.module == *module
    }

    /// Is it one of those that `wanted` means? What `wanted` leaves open matches anything.
    pub(super) fn is_meant(&self, wanted: &Match<'_>) -> bool {
        let same = |asked: Option<&[u8]>, its: &Option<KVec<u8>>| {
            asked.is_none_or(|asked| its.as_deref() == Some(asked))
        };
        same(wanted.either, &self.either)
            && same(wanted.system, &self.system)
            && same(wanted.event, &self.event)
    }

    /// Writes it as `set_event` shows it. Errors of `out`.
    pub(super) fn write(&self, out: &mut dyn Out) -> fmt::Result {
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
