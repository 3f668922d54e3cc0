// SPDX-License-Identifier: GPL-2.0

//! Whose functions an instance traces: `set_ftrace_pid`, `set_ftrace_notrace_pid`, and option
//! `function-fork`.

use crate::core::parse::options::Flag;
use crate::trace::instance::feature::{Feature, OptionEffect};
use crate::trace::instance::Instance;
use crate::trace::tasks::pids::{PidFilter, PidListKind};
use kernel::prelude::*;
use kernel::sync::Arc;

/// The pids of an instance.
pub(crate) struct FunctionPids(Arc<PidFilter>);

impl Feature for FunctionPids {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        let pids = Arc::pin_init(PidFilter::new(), GFP_KERNEL)?;
        Ok(Arc::new(Self(pids), GFP_KERNEL)?)
    }

    fn options(&self) -> &'static [OptionEffect] {
        &[(Flag::FunctionFork, |instance, on| {
            FunctionPids::of(instance)?.follow_forks(on)
        })]
    }

    fn retire(&self, _instance: &Arc<Instance>) {
        // Only taking away: neither asks for memory.
        let _ = self.0.follow_forks(false);
        self.0.clear(PidListKind::Only);
        self.0.clear(PidListKind::Not);
        self.0.rest();
    }
}

impl FunctionPids {
    /// Those of `instance`. Any context. Errors as [`Instance::feature`].
    pub(crate) fn of(instance: &Instance) -> Result<&Arc<PidFilter>> {
        Ok(&instance.feature::<Self>()?.0)
    }

    /// Adds the pids of one write to a list, all or none; gives what the write returns. Task
    /// context, may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` for what is no number or too large, `ENOMEM`. The list is then as before.
    pub(crate) fn write(instance: &Instance, which: PidListKind, text: &[u8]) -> Result<usize> {
        let pids = Self::of(instance)?;
        let before = pids.pids(which)?;
        let used = pids.write(which, text)?;
        instance
            .refresh_tracer()
            .inspect_err(|_| pids.restore(which, before.unwrap_or_default()))?;
        pids.rest();
        Ok(used)
    }

    /// Forgets a list of pids. Task context, may sleep. `ENOMEM`.
    pub(crate) fn clear(instance: &Instance, which: PidListKind) -> Result {
        let pids = Self::of(instance)?;
        pids.clear(which);
        // If it fails, the callback goes on to ask.
        instance.refresh_tracer()?;
        pids.rest();
        Ok(())
    }
}
