// SPDX-License-Identifier: GPL-2.0

//! `function`: an entry for every call of every traced function.
//!
//! The [`Instance`] is the callback as long as nothing is asked for but entries: what it does is
//! all inline and on one screen (`Buffer::record`). [`Careful`] is the one for options, pid lists
//! and exports. Which of them is in place changes only while the ops is not registered, so neither
//! looks at what the other needs.
//!
//! `Documentation/function-tracer.md` says where each instruction of the plain path goes.

use super::function_filter::FunctionFilter;
use super::function_pids::FunctionPids;
use crate::core::format::entry::{self, Entry as _, FuncRepeats, Words as _};
use crate::core::parse::options::{
    TracerOption, FUNCTION_TRACER, FUNC_NO_REPEATS, FUNC_STACK_TRACE,
};
use crate::kernel::context::{PreemptCount, PreemptOff};
use crate::kernel::percpu::PerCpu;
use crate::kernel::trace_export::Export;
use crate::trace::buffer::entry::Context;
use crate::trace::ftrace::ops::{Callback, Hit, Nothing, Ops};
use crate::trace::instance::tracer::{Running, Tracer};
use crate::trace::instance::Instance;
use crate::trace::output::export;
use crate::trace::tasks::cmdlines::{self, Saving};
use crate::trace::tasks::pids::PidFilter;
use crate::trace::tasks::stack;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;

/// The tracer.
pub(super) struct Function;

impl Tracer for Function {
    fn name(&self) -> &'static str {
        "function"
    }

    fn start(&self, instance: &Arc<Instance>, flags: u32) -> Result<KBox<dyn Running>> {
        let ops = FunctionFilter::of(instance)?.clone();
        let mut tracing = KBox::new(
            Tracing {
                instance: instance.clone(),
                ops,
                pids: FunctionPids::of(instance)?.clone(),
                careful: None,
                _saving: cmdlines::start()?,
            },
            GFP_KERNEL,
        )?;
        let asked = Asked::of(&tracing.pids, flags);
        let careful = tracing.prepare(asked)?;
        tracing.install(asked, careful)?;
        Ok(tracing)
    }

    fn options(&self) -> &'static [TracerOption] {
        FUNCTION_TRACER
    }
}

/// The tracer at work.
struct Tracing {
    instance: Arc<Instance>,
    ops: Arc<Ops>,
    pids: Arc<PidFilter>,
    /// What the careful callback was made for; none while the plain one is in place.
    careful: Option<Asked>,
    _saving: Saving,
}

/// What is asked for beside entries.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Asked {
    stacks: bool,
    no_repeats: bool,
    pids: bool,
    exports: bool,
}

impl Asked {
    fn of(pids: &PidFilter, flags: u32) -> Option<Self> {
        let asked = Self {
            stacks: flags & FUNC_STACK_TRACE.bit != 0,
            no_repeats: flags & FUNC_NO_REPEATS.bit != 0,
            pids: pids.is_active(),
            exports: export::wanted(Export::FUNCTION),
        };
        let any = asked.stacks || asked.no_repeats || asked.pids || asked.exports;
        any.then_some(asked)
    }
}

impl Tracing {
    /// What the callback for `asked` needs. `ENOMEM`.
    fn prepare(&self, asked: Option<Asked>) -> Result<Option<Arc<Careful>>> {
        let careful = |asked| Careful::new(&self.instance, &self.pids, asked);
        asked
            .map(|asked| Ok(Arc::new(careful(asked)?, GFP_KERNEL)?))
            .transpose()
    }

    /// Puts the callback for `asked` in place, with what was prepared for it, and starts it.
    fn install(&mut self, asked: Option<Asked>, careful: Option<Arc<Careful>>) -> Result {
        match careful {
            None => self.ops.set_callback(self.instance.clone())?,
            Some(careful) => self.ops.set_callback(careful)?,
        }
        self.careful = asked;
        self.ops.register()
    }
}

impl Running for Tracing {
    fn changed(&mut self, flags: u32) -> Result {
        let asked = Asked::of(&self.pids, flags);
        if asked == self.careful {
            return Ok(());
        }
        // Before the old one goes: without memory all stays as it is.
        let careful = self.prepare(asked)?;
        self.ops.unregister()?;
        self.install(asked, careful)
    }

    fn switched(&mut self, on: bool) {
        // As ftrace does: what was recorded before the pause goes.
        if on {
            self.instance.buffer().reset();
        }
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        // It fails only when tracing was disarmed for good, and then nothing is called any more.
        let _ = self.ops.unregister();
        // The callback holds the instance, which holds the ops.
        let _ = self.ops.clear_callback();
    }
}

/// The callback that records and does nothing else: it needs nothing but the instance.
impl Callback for Instance {
    type Saved = Nothing;

    #[inline(always)]
    fn hit(&self, hit: &Hit<'_, Nothing>) {
        self.buffer().record(call(hit));
    }
}

/// The entry of a call.
#[inline(always)]
fn call(hit: &Hit<'_, Nothing>) -> entry::Function {
    entry::Function {
        ip: hit.ip,
        parent_ip: hit.parent_ip,
    }
}

/// The callback that looks at tasks, compresses repeats and records stacks, as far as was asked
/// for.
pub(crate) struct Careful {
    instance: Arc<Instance>,
    pids: Arc<PidFilter>,
    asked: Asked,
    cpus: PerCpu<Here>,
}

/// What [`Careful`] keeps on each CPU. Only that CPU looks at it; a context that interrupts another
/// may mix up a count of repeats, but no more than that.
struct Here {
    /// One bit for each level of contexts that is inside the callback: unwinding is traced itself.
    inside: Atomic<u32>,
    ip: Atomic<usize>,
    parent_ip: Atomic<usize>,
    repeats: Atomic<u32>,
    last: Atomic<u64>,
}

impl Here {
    const NEW: Self = Self {
        inside: Atomic::new(0),
        ip: Atomic::new(0),
        parent_ip: Atomic::new(0),
        repeats: Atomic::new(0),
        last: Atomic::new(0),
    };
}

impl Careful {
    fn new(instance: &Arc<Instance>, pids: &Arc<PidFilter>, asked: Asked) -> Result<Self> {
        Ok(Self {
            instance: instance.clone(),
            pids: pids.clone(),
            asked,
            cpus: PerCpu::new(|_| Here::NEW)?,
        })
    }

    fn record(&self, here: &Here, context: Context, hit: &Hit<'_, Nothing>) {
        let buffer = self.instance.buffer();
        if self.asked.no_repeats {
            if !buffer.is_on() || self.repeats(here, hit) {
                return;
            }
            self.end_repeats(here, context, hit);
        }
        buffer.record_in(context, call(hit));
        if self.asked.exports && buffer.is_on() {
            let mut entry = [0; entry::Function::SIZE];
            call(hit)
                .words(context.header(entry::Function::ID))
                .store(&mut entry);
            export::write(Export::FUNCTION, &entry);
        }
        if self.asked.stacks {
            stack::record_in(buffer, context, hit.ip);
        }
    }

    /// Whether it is the same call as the last one. Then it is counted.
    fn repeats(&self, here: &Here, hit: &Hit<'_, Nothing>) -> bool {
        let same = here.ip.load(Relaxed) == hit.ip && here.parent_ip.load(Relaxed) == hit.parent_ip;
        let count = here.repeats.load(Relaxed);
        if !same || count >= u16::MAX.into() {
            return false;
        }
        here.last.store((self.instance.clock().read)(), Relaxed);
        here.repeats.store(count + 1, Relaxed);
        true
    }

    /// Another call: says how often the last one was repeated, and remembers this one.
    fn end_repeats(&self, here: &Here, context: Context, hit: &Hit<'_, Nothing>) {
        let (ip, parent_ip) = (here.ip.load(Relaxed), here.parent_ip.load(Relaxed));
        let (count, last) = (here.repeats.load(Relaxed), here.last.load(Relaxed));
        if count != 0 {
            let repeats = FuncRepeats {
                ip,
                parent_ip,
                // `repeats` counts no further than this holds.
                count: count as u16,
                ..FuncRepeats::default()
            };
            // Where there is no room the buffer counts it.
            let _ = self.instance.buffer().write_with(context, 0, |now, _| {
                repeats.with_delta(now.wrapping_sub(last))
            });
            here.repeats.store(0, Relaxed);
        }
        here.ip.store(hit.ip, Relaxed);
        here.parent_ip.store(hit.parent_ip, Relaxed);
    }
}

impl Callback for Careful {
    type Saved = Nothing;

    fn hit(&self, hit: &Hit<'_, Nothing>) {
        let context = Context::capture_all();
        let bit = 1 << PreemptCount::read().level();
        let _stay = PreemptOff::new();
        let here = self.cpus.this();
        let inside = here.inside.load(Relaxed);
        if inside & bit != 0 || self.asked.pids && !self.pids.traces_current() {
            return;
        }
        here.inside.store(inside | bit, Relaxed);
        self.record(here, context, hit);
        here.inside.store(inside, Relaxed);
    }
}
