// SPDX-License-Identifier: GPL-2.0

//! `irqsoff`, `preemptoff`, `preemptirqsoff`: the longest time with interrupts off, with preemption off, with either.
//!
//! The measuring is [`critical`](crate::trace::critical)'s; what is here starts and ends it, and records the functions
//! that are called meanwhile (option `function-trace`).

use super::functions::{self, Functions};
use super::{Running, Tracer};
use crate::kapi::rcu_slot::Filled;
use crate::rcore::text::options::{Flag, Set};
use crate::trace::critical::{Critical, Kinds};
use crate::trace::entry::Context;
use crate::trace::instance::Instance;
use crate::trace::ops::{Callback, Hit};
use kernel::prelude::*;
use kernel::sync::Arc;

/// A tracer of sections with interrupts off, preemption off, or either.
pub(super) struct Off<const IRQS: bool, const PREEMPTION: bool>;

impl<const IRQS: bool, const PREEMPTION: bool> Tracer for Off<IRQS, PREEMPTION> {
    fn name(&self) -> &'static str {
        match (IRQS, PREEMPTION) {
            (true, false) => "irqsoff",
            (false, _) => "preemptoff",
            (true, true) => "preemptirqsoff",
        }
    }

    fn start(&self, instance: &Arc<Instance>, _flags: u32) -> Result<KBox<dyn Running>> {
        let critical = Critical::new(instance.clone(), Kinds { irqs: IRQS, preemption: PREEMPTION })?;
        instance.latency().set_longest(0);
        let measuring = critical.begin()?;
        let functions = Functions::start(instance, Arc::new(Inside(critical), GFP_KERNEL)?)?;
        Ok(KBox::new(Tracing { functions, _measuring: measuring }, GFP_KERNEL)?)
    }

    /// A buffer that is full must go on taking entries, or the worst would have no end; and a reader must not find the
    /// trace replaced under its hands.
    fn forces(&self) -> Set {
        Set::NONE.with(Flag::Overwrite, true).with(Flag::LatencyFormat, true).with(Flag::PauseOnTrace, true)
    }

    fn uses_snapshot(&self) -> bool {
        true
    }
}

/// The tracer at work. Fields are dropped from the top: first no function is traced any more.
struct Tracing {
    functions: Functions<Inside>,
    _measuring: Filled<Critical>,
}

impl Running for Tracing {
    fn option(&mut self, flag: Flag, on: bool) -> Result {
        self.functions.option(flag, on)
    }
}

/// Records functions where a section is open.
struct Inside(Arc<Critical>);

impl Callback for Inside {
    fn hit(&self, hit: &Hit<'_>) {
        if self.0.is_inside() {
            functions::record_with_arguments(self.0.instance().buffer(), Context::capture_all(), hit);
        }
    }
}
