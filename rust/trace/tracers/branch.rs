// SPDX-License-Identifier: GPL-2.0

//! `branch`: an entry for each condition that is marked as likely or unlikely, and whether it was.
//!
//! The recording is [`recording`]'s. Names of tasks are
//! not saved for it, as with ftrace: entries show them where something else does.

pub(crate) mod recording;

use self::recording::Recording;
use crate::core::format::branch::TRACE_TITLES;
use crate::core::format::Out;
use crate::core::parse::options::Flag;
use crate::trace::instance::feature::Feature;
use crate::trace::instance::tracer::{Running, Tracer};
use crate::trace::instance::Instance;
use crate::trace::output::source::BufferIter;
use crate::trace::output::tracer::TracerOutput;
use crate::trace::output::{Printed, Style};
use core::fmt;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};

/// The tracer.
pub(super) struct Branch;

impl Tracer for Branch {
    fn name(&self) -> &'static str {
        "branch"
    }

    fn start(&self, instance: &Arc<Instance>, _flags: u32) -> Result<KBox<dyn Running>> {
        Ok(KBox::new(Tracing(recording::begin(instance)?), GFP_KERNEL)?)
    }

    fn in_instances(&self) -> bool {
        false
    }
}

/// Option `branch`: branches are recorded beside what the current tracer records. It holds as it was
/// when the tracer was set.
#[pin_data]
pub(crate) struct BesideTracer {
    #[pin]
    recording: Mutex<Option<Recording>>,
}

impl Feature for BesideTracer {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self { recording <- new_mutex!(None) }),
            GFP_KERNEL,
        )
    }

    fn tracer_starts(&self, instance: &Arc<Instance>) -> Result {
        if instance.options().has(Flag::Branch) {
            *self.recording.lock() = Some(recording::begin(instance)?);
        }
        Ok(())
    }

    fn tracer_ended(&self, _instance: &Instance) {
        let ended = self.recording.lock().take();
        drop(ended);
    }
}

/// How it prints.
pub(super) fn output() -> Result<KBox<dyn TracerOutput>> {
    Ok(KBox::new(Titles, GFP_KERNEL)?)
}

/// The tracer at work.
struct Tracing(#[expect(dead_code, reason = "records until it is dropped")] Recording);

impl Running for Tracing {}

/// Its own titles of columns, whatever the options say.
struct Titles;

impl TracerOutput for Titles {
    fn header(
        &mut self,
        _instance: &Instance,
        _look: &mut BufferIter,
        _style: &Style,
        _empty: bool,
        out: &mut dyn Out,
    ) -> Result<Printed, fmt::Error> {
        out.bytes(TRACE_TITLES)?;
        Ok(Printed::Done)
    }
}
