// SPDX-License-Identifier: GPL-2.0

//! The core options of an instance, and their effects.
//!
//! An option is a bit of [`Instance::options`]; the code that depends on it reads the bit. If a
//! change has an immediate effect, a row of a table of effects says so: [`OWN`] for the rooms below
//! instances, [`Feature::options`](super::feature::Feature::options) for all others.

use super::feature::OptionEffect;
use super::Instance;
use crate::core::parse::options::{Flag, Set};
use crate::trace::tasks::cmdlines;
use kernel::prelude::*;
use kernel::sync::atomic::Relaxed;
use kernel::sync::Arc;

/// Options with an effect on the buffer or on the saved thread groups of tasks.
const OWN: &[OptionEffect] = &[
    (Flag::Overwrite, |instance, on| {
        instance.buffer.set_overwrite(on);
        Ok(())
    }),
    (Flag::RecordTgid, |_, on| cmdlines::save_tgids(on)),
];

impl Instance {
    /// The core options that are on. Any context.
    pub(crate) fn options(&self) -> Set {
        Set::from_bits(self.options.load(Relaxed))
    }

    /// Sets a core option and applies its effect. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// The error of the current tracer, or of the effect: `ENOMEM`; `EINVAL` for an option that
    /// cannot be cleared; `EACCES` in a read-only copy of another instance. The option then stays
    /// as before.
    pub(crate) fn set_option(self: &Arc<Self>, flag: Flag, on: bool) -> Result {
        let mut state = self.state.lock();
        if self.options().has(flag) == on {
            return Ok(());
        }
        if let Some(running) = &mut state.running {
            running.option(flag, on)?;
        }
        self.apply_option(flag, on)?;
        // That one's effect has set the bit already, and another instance may have cleared it since.
        if flag != Flag::TracePrintkDest {
            self.set_option_bit(flag, on);
        }
        drop(state);
        self.features
            .iter()
            .for_each(|feature| feature.option_changed(self, flag));
        Ok(())
    }

    /// An instance other than the top one begins, or ends, with the options that it has. Once each.
    pub(super) fn count_options(&self, begins: bool) {
        if self.options().has(Flag::RecordTgid) {
            cmdlines::count_tgids(begins);
        }
    }

    /// Applies the effect of a change of an option. The state mutex is held. Errors as the effects.
    pub(super) fn apply_option(self: &Arc<Self>, flag: Flag, on: bool) -> Result {
        let of_features = self.features.iter().flat_map(|feature| feature.options());
        Iterator::chain(OWN.iter(), of_features)
            .filter(|effect| effect.0 == flag)
            .try_for_each(|effect| (effect.1)(self, on))
    }

    /// Sets the bit of an option and nothing else. Any context.
    pub(crate) fn set_option_bit(&self, flag: Flag, on: bool) {
        let mut bits = self.options.load(Relaxed);
        while let Err(now) =
            self.options
                .cmpxchg(bits, Set::from_bits(bits).with(flag, on).bits(), Relaxed)
        {
            bits = now;
        }
    }
}
