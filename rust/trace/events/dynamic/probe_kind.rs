// SPDX-License-Identifier: GPL-2.0

//! What the kinds of probes have in common when a line of `dynamic_events`, or of a file of their own,
//! defines one.

use super::list::{Dynamic, Kind};
use super::probe_event::{Defined, Probed};
use super::words::Words;
use crate::core::event::probe::command::{words, DefinitionError};
use kernel::prelude::*;

/// A kind of events that are of probes.
pub(super) trait ProbeKind: Sync {
    /// Its probes.
    type Probe: Probed;

    /// What the words of a definition say, but for the arguments.
    type Definition<'a>;

    /// What `error_log` calls it.
    const NAME: &'static str;

    /// Reads a definition's words. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and whether it is one of this kind.
    fn parse<'a>(
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Self::Definition<'a>, DefinitionError>;

    /// Makes what is defined, whose words are `words`, and lists it. As [`Kind::create`].
    fn define(definition: Self::Definition<'_>, words: Words) -> Result;
}

impl<K: ProbeKind> Kind for K {
    fn has(&self, one: &dyn Dynamic) -> bool {
        one.as_any().is::<Defined<K::Probe>>()
    }

    fn create(&self, command: &[u8]) -> Result<bool> {
        let plain = words(command);
        match K::parse(plain.clone()) {
            Ok(definition) => {
                K::define(definition, Words::of(K::NAME, plain)?)?;
                Ok(true)
            }
            Err(DefinitionError::OtherKind) => Ok(false),
            Err(DefinitionError::Refused(refused)) => Words::of(K::NAME, plain)?.refused(&refused),
        }
    }
}
