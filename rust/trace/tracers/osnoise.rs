// SPDX-License-Identifier: GPL-2.0

//! `osnoise` and `timerlat`: what takes time from a task, and how late a timer and the task that it
//! wakes are.
//!
//! The two share all but their threads: the accounts of each CPU ([`account`]), which probes of
//! interrupts and of the scheduler keep, the settings ([`settings`]), and the list of the instances
//! that record ([`recorders`]). There is one workload ([`workload`]), of one of the two, however many
//! instances record it.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`settings`] | the numbers and options of the files in `osnoise/` |
//! | [`account`] | what has disturbed a CPU, and the events that say so |
//! | [`recorders`] | entries, texts and the end of recording in all instances |
//! | [`places`] | what the lines of texts begin with |
//! | [`sampling`] | the threads of `osnoise`, which look for lost time |
//! | `timerlat` | the threads and timers of `timerlat`, and the tasks of programs in their place |
//! | [`workload`] | start and stop of all that |
//!
//! `Documentation/noise-tracers.md` describes the whole.
//!
//! Lock order: an instance's state mutex, the mutex of the workload, the lock against CPU hotplug, the
//! mutex of the workers. A thread of the workload takes none of them: whoever holds one may be waiting
//! for it to end.

pub(crate) mod account;
pub(crate) mod places;
mod recorders;
mod sampling;
pub(crate) mod settings;
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) mod timerlat;
pub(crate) mod workload;

use self::workload::{Kind, User};
use crate::core::format::header;
use crate::core::format::Out;
use crate::trace::instance::tracer::{BootStep, Running, Tracer};
use crate::trace::instance::Instance;
use crate::trace::output::source::BufferIter;
use crate::trace::output::tracer::TracerOutput;
use crate::trace::output::{Printed, Style};
use core::fmt;
use kernel::prelude::*;
use kernel::sync::Arc;

/// One of the two tracers.
pub(super) struct Noise(pub(super) Kind);

impl Tracer for Noise {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn start(&self, instance: &Arc<Instance>, _flags: u32) -> Result<KBox<dyn Running>> {
        let user = User::new(self.0, instance)?;
        instance.latency()?.set_longest(0);
        let mut tracing = KBox::new(Tracing(user), GFP_KERNEL)?;
        tracing.0.start()?;
        Ok(tracing)
    }

    /// It has threads, and follows CPUs that come up.
    fn boot_step(&self) -> BootStep {
        BootStep::Late
    }
}

/// The tracer at work.
struct Tracing(User);

impl Running for Tracing {
    fn switched(&mut self, on: bool) {
        if !on {
            return self.0.stop();
        }
        if let Err(error) = self.0.start() {
            pr_err!("osnoise: the tracer did not go on: {:?}\n", error);
        }
    }
}

/// How `osnoise` prints.
pub(super) fn output() -> Result<KBox<dyn TracerOutput>> {
    Ok(KBox::new(Titles(header::write_osnoise), GFP_KERNEL)?)
}

/// How `timerlat` prints.
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(super) fn timerlat_output() -> Result<KBox<dyn TracerOutput>> {
    Ok(KBox::new(Titles(header::write_timerlat), GFP_KERNEL)?)
}

/// Titles of their own, whatever the options say.
struct Titles(fn(&mut dyn Out, bool, bool) -> fmt::Result);

impl TracerOutput for Titles {
    fn header(
        &mut self,
        _instance: &Instance,
        _iter: &mut BufferIter,
        _style: &Style,
        _empty: bool,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        (self.0)(out, cfg!(CONFIG_PREEMPT_RT), recorders::is_tainted())?;
        Ok(Printed::Done)
    }
}
