// SPDX-License-Identifier: GPL-2.0

//! The core options of an instance, and what setting one does.
//!
//! An option is a bit of [`Instance::options`], which whoever goes by it looks at. Where setting it
//! does something at once, that is a row of a table of effects: [`OWN`] for what the rooms below
//! instances do, [`Feature::options`](super::feature::Feature::options) for all else.

use super::feature::OptionEffect;
use super::Instance;
use crate::core::parse::options::{Flag, Set};
use crate::trace::tasks::cmdlines;
use kernel::prelude::*;
use kernel::sync::atomic::Relaxed;
use kernel::sync::Arc;

/// Options that the buffer and the saved names of tasks go by.
const OWN: &[OptionEffect] = &[
    (Flag::Overwrite, |instance, on| {
        instance.buffer.set_overwrite(on);
        Ok(())
    }),
    (Flag::RecordCmd, |_, on| {
        cmdlines::save_names(on);
        Ok(())
    }),
    (Flag::RecordTgid, |_, on| cmdlines::save_tgids(on)),
];

impl Instance {
    /// The core options that are on. Any context.
    pub(crate) fn options(&self) -> Set {
        Set::from_bits(self.options.load(Relaxed))
    }

    /// Sets a core option and does what it means. Task context, may sleep.
    ///
    /// # Errors
    ///
    /// What the current tracer says, then what the option's effect says: `ENOMEM`, `EINVAL` where
    /// the option cannot be cleared, `EACCES` in an instance that nothing is recorded in. It is then
    /// as before.
    pub(crate) fn set_option(self: &Arc<Self>, flag: Flag, on: bool) -> Result {
        let mut state = self.state.lock();
        if self.options().has(flag) == on {
            return Ok(());
        }
        if let Some(running) = &mut state.running {
            running.option(flag, on)?;
        }
        self.act_on(flag, on)?;
        self.show_option(flag, on);
        drop(state);
        self.features
            .iter()
            .for_each(|feature| feature.option_changed(self, flag));
        Ok(())
    }

    /// Does what setting an option means. The state mutex is held. Errors as of the effects.
    pub(super) fn act_on(self: &Arc<Self>, flag: Flag, on: bool) -> Result {
        let of_features = self.features.iter().flat_map(|feature| feature.options());
        Iterator::chain(OWN.iter(), of_features)
            .filter(|effect| effect.0 == flag)
            .try_for_each(|effect| (effect.1)(self, on))
    }

    /// Sets an option's bit, and does nothing else. Any context.
    pub(crate) fn show_option(&self, flag: Flag, on: bool) {
        let mut bits = self.options.load(Relaxed);
        while let Err(now) =
            self.options
                .cmpxchg(bits, Set::from_bits(bits).with(flag, on).bits(), Relaxed)
        {
            bits = now;
        }
    }
}
