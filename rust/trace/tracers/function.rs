// SPDX-License-Identifier: GPL-2.0

//! `function`: an entry for every call of every traced function.
//!
//! The [`Instance`] is the callback as long as nothing is asked for but entries: what it does is
//! all inline and on one screen (`Buffer::record`). [`Careful`] is the one for options, pid lists
//! and exports; for arguments there is another one of it, whose trampolines save registers. Each has
//! an ops of its own, so none looks at what another needs; when others are asked for, the new ops
//! takes the place of the old one.
//!
//! `Documentation/function-tracer.md` says where each instruction of the plain path goes.

use super::function_filter::FunctionFilter;
use super::function_pids::FunctionPids;
use crate::core::format::entry::{self, store_words, Entry as _, FuncRepeats, Words as _};
use crate::core::format::symbol::ARGUMENTS;
use crate::core::parse::options::{
    TracerOption, FUNCTION_TRACER, FUNC_ARGS, FUNC_NO_REPEATS, FUNC_STACK_TRACE,
};
use crate::kernel::context::{PreemptCount, PreemptOff};
use crate::kernel::percpu::PerCpu;
use crate::kernel::trace_export::Export;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::{Buffer, Unfinished};
use crate::trace::fgraph::ret_stack::Current;
use crate::trace::ftrace::arch::{Arch, Machine};
use crate::trace::ftrace::ops::{Arguments, Callback, Hit, Nothing, Ops, Saved};
use crate::trace::instance::tracer::{BootStep, Running, Tracer};
use crate::trace::instance::Instance;
use crate::trace::output::export;
use crate::trace::tasks::cmdlines::{self, Saving};
use crate::trace::tasks::pids::PidFilter;
use crate::trace::tasks::stack;
use core::marker::PhantomData;
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
        let pids = FunctionPids::of(instance)?.clone();
        let mut tracing = KBox::new(
            Tracing {
                instance: instance.clone(),
                ops,
                past: None,
                careful: Asked::of(&pids, flags)?,
                cpus: None,
                pids,
                _saving: cmdlines::start()?,
            },
            GFP_KERNEL,
        )?;
        instance.latency()?.note_start();
        let asked = tracing.careful;
        let ready = tracing.prepare(asked)?;
        let ops = &tracing.ops;
        match ready {
            Ready::Plain => ops.set_callback(instance.clone())?,
            Ready::Careful(careful) => ops.set_callback(careful)?,
            Ready::WithArguments(careful) => ops.set_callback(careful)?,
        }
        ops.register()?;
        Ok(tracing)
    }

    fn boot_step(&self) -> BootStep {
        BootStep::Early
    }

    fn options(&self) -> &'static [TracerOption] {
        FUNCTION_TRACER
    }
}

/// The tracer at work.
struct Tracing {
    instance: Arc<Instance>,
    /// Calls the callback: the instance's ops, or one that has taken its place.
    ops: Arc<Ops>,
    /// The one before.
    past: Option<Arc<Ops>>,
    pids: Arc<PidFilter>,
    /// What the careful callback was made for; none while the plain one is in place.
    careful: Option<Asked>,
    /// Of all careful callbacks, one after the other.
    cpus: Option<Arc<PerCpu<Here>>>,
    _saving: Saving,
}

/// What is asked for beside entries.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Asked {
    args: bool,
    stacks: bool,
    no_repeats: bool,
    pids: bool,
    exports: bool,
}

impl Asked {
    /// None where it is nothing. `EINVAL` for arguments together with stacks or repeats, as in C.
    fn of(pids: &PidFilter, flags: u32) -> Result<Option<Self>> {
        let asked = Self {
            args: flags & FUNC_ARGS.bit != 0,
            stacks: flags & FUNC_STACK_TRACE.bit != 0,
            no_repeats: flags & FUNC_NO_REPEATS.bit != 0,
            pids: pids.is_active(),
            exports: export::wanted(Export::FUNCTION),
        };
        if asked.args && (asked.stacks || asked.no_repeats) {
            return Err(EINVAL);
        }
        let any = asked.args || asked.stacks || asked.no_repeats || asked.pids || asked.exports;
        Ok(any.then_some(asked))
    }
}

/// A callback that is not in place yet.
enum Ready {
    Plain,
    Careful(Arc<Careful<Nothing>>),
    WithArguments(Arc<Careful<Arguments>>),
}

impl Tracing {
    /// The callback for `asked`. `ENOMEM`.
    fn prepare(&mut self, asked: Option<Asked>) -> Result<Ready> {
        Ok(match asked {
            None => Ready::Plain,
            Some(asked) if asked.args => Ready::WithArguments(self.careful(asked)?),
            Some(asked) => Ready::Careful(self.careful(asked)?),
        })
    }

    fn careful<S: Recorded>(&mut self, asked: Asked) -> Result<Arc<Careful<S>>> {
        let cpus = match &self.cpus {
            Some(cpus) => cpus.clone(),
            None => Arc::new(PerCpu::new(|_| Here::NEW)?, GFP_KERNEL)?,
        };
        self.cpus = Some(cpus.clone());
        let careful = Careful {
            instance: self.instance.clone(),
            pids: self.pids.clone(),
            asked,
            cpus,
            _recorded: PhantomData,
        };
        Ok(Arc::new(careful, GFP_KERNEL)?)
    }
}

impl Running for Tracing {
    fn changed(&mut self, flags: u32) -> Result {
        let asked = Asked::of(&self.pids, flags)?;
        if asked == self.careful {
            return Ok(());
        }
        let ready = self.prepare(asked)?;
        // However often it changes, one ops waits for its hits. Tracing goes on meanwhile.
        if let Some(past) = self.past.take() {
            past.settle();
        }
        let ops = match ready {
            Ready::Plain => self.ops.replace(self.instance.clone())?,
            Ready::Careful(careful) => self.ops.replace(careful)?,
            Ready::WithArguments(careful) => self.ops.replace(careful)?,
        };
        let past = core::mem::replace(&mut self.ops, ops);
        self.careful = asked;
        // The callback holds the instance, which may hold the ops.
        past.clear_callback()?;
        self.past = Some(past);
        Ok(())
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
        // The callback holds the instance, which may hold the ops.
        let _ = self.ops.clear_callback();
    }
}

/// The callback that records and does nothing else: it needs nothing but the instance.
impl Callback for Instance {
    type Saved = Nothing;

    #[inline(always)]
    fn hit(&self, hit: &Hit<'_, Nothing>) {
        if hit.parent_ip == Machine::return_hook() {
            return hit_after_jump(hit.ip, self);
        }
        self.buffer().record(call(hit));
    }
}

/// The rest of [`Instance::hit`] where the function at `ip` returns to the return hook.
#[cold]
#[inline(never)]
fn hit_after_jump(ip: usize, instance: &Instance) {
    let context = Context::capture_all();
    let parent_ip = hooked_parent();
    instance
        .buffer()
        .record_in(context, entry::Function { ip, parent_ip });
}

/// Where a function that is being entered really returns to if its return address is the return hook:
/// a function whose return is hooked has jumped to it at its end. The innermost frame that does not
/// return to the hook itself is that function's.
#[cold]
#[inline(never)]
fn hooked_parent() -> usize {
    let hook = Machine::return_hook();
    Current::get().innermost_return(hook).unwrap_or(hook)
}

/// What is left of a call of `ip` that the trampoline has tried to record: [`Buffer::finish`].
#[inline(always)]
pub(crate) fn finish(
    instance: &Instance,
    ip: usize,
    parent_ip: usize,
    left: Unfinished<PreemptOff>,
) {
    instance
        .buffer()
        .finish(left, entry::Function { ip, parent_ip });
}

/// The entry of a call.
#[inline(always)]
fn call<S: Saved>(hit: &Hit<'_, S>) -> entry::Function {
    entry::Function {
        ip: hit.ip,
        parent_ip: hit.parent_ip,
    }
}

/// What is recorded of a call, by what the trampoline saves.
pub(crate) trait Recorded: Saved + Sized + Send + Sync + 'static {
    /// Records the call, made in `context`. Any context.
    fn record(buffer: &Buffer, context: Context, hit: &Hit<'_, Self>);

    /// Hands the same entry to who exports entries. Any context.
    fn export(context: Context, hit: &Hit<'_, Self>);
}

impl Recorded for Nothing {
    #[inline(always)]
    fn record(buffer: &Buffer, context: Context, hit: &Hit<'_, Self>) {
        buffer.record_in(context, call(hit));
    }

    fn export(context: Context, hit: &Hit<'_, Self>) {
        export(context, call(hit));
    }
}

impl Recorded for Arguments {
    fn record(buffer: &Buffer, context: Context, hit: &Hit<'_, Self>) {
        let arguments = hit.arguments();
        // Where there is no room the buffer counts it.
        let _ = buffer.write_with(context, size_of_val(&arguments), |_, tail| {
            store_words(tail, arguments);
            call(hit)
        });
    }

    fn export(context: Context, hit: &Hit<'_, Self>) {
        const SIZE: usize = entry::Function::SIZE + ARGUMENTS * size_of::<usize>();
        export_call::<SIZE>(context, call(hit), hit.arguments());
    }
}

/// Hands the entry of a call, made in `context`, to who exports entries. Any context.
pub(super) fn export(context: Context, call: entry::Function) {
    export_call::<{ entry::Function::SIZE }>(context, call, []);
}

/// Exports the entry of a call with `tail` after it, which is `SIZE` bytes with that.
fn export_call<const SIZE: usize>(
    context: Context,
    call: entry::Function,
    tail: impl IntoIterator<Item = usize>,
) {
    let mut entry = [0; SIZE];
    call.words(context.header(entry::Function::ID))
        .store(&mut entry);
    if let Some(place) = entry.get_mut(entry::Function::SIZE..) {
        store_words(place, tail);
    }
    export::write(Export::FUNCTION, &entry);
}

/// The callback that records arguments, looks at tasks, compresses repeats and records stacks, as far
/// as was asked for.
pub(crate) struct Careful<S> {
    instance: Arc<Instance>,
    pids: Arc<PidFilter>,
    asked: Asked,
    cpus: Arc<PerCpu<Here>>,
    _recorded: PhantomData<S>,
}

/// What [`Careful`] keeps on each CPU, and leaves to the one that comes in its place. Only that CPU looks at it; a context that interrupts another
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

impl<S: Recorded> Careful<S> {
    fn record(&self, here: &Here, context: Context, hit: &Hit<'_, S>) {
        let buffer = self.instance.buffer();
        if self.asked.no_repeats {
            if !buffer.is_on() || self.repeats(here, hit) {
                return;
            }
            self.end_repeats(here, context, hit);
        }
        S::record(buffer, context, hit);
        if self.asked.exports && buffer.is_on() {
            S::export(context, hit);
        }
        if self.asked.stacks {
            stack::record_in(buffer, context, hit.ip);
        }
    }

    /// Whether it is the same call as the last one. Then it is counted.
    fn repeats(&self, here: &Here, hit: &Hit<'_, S>) -> bool {
        let same = here.ip.load(Relaxed) == hit.ip && here.parent_ip.load(Relaxed) == hit.parent_ip;
        let count = here.repeats.load(Relaxed);
        if !same || count >= u16::MAX.into() {
            return false;
        }
        here.last.store(self.instance.clock().now(), Relaxed);
        here.repeats.store(count + 1, Relaxed);
        true
    }

    /// Another call: says how often the last one was repeated, and remembers this one.
    fn end_repeats(&self, here: &Here, context: Context, hit: &Hit<'_, S>) {
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

impl<S: Recorded> Callback for Careful<S> {
    type Saved = S;

    fn hit(&self, hit: &Hit<'_, S>) {
        let context = Context::capture_all();
        let bit = 1 << PreemptCount::read().level();
        let _stay = PreemptOff::new();
        let here = self.cpus.this();
        let inside = here.inside.load(Relaxed);
        if inside & bit != 0 || self.asked.pids && !self.pids.traces_current() {
            return;
        }
        here.inside.store(inside | bit, Relaxed);
        let parent_ip = if hit.parent_ip == Machine::return_hook() {
            hooked_parent()
        } else {
            hit.parent_ip
        };
        self.record(here, context, &hit.with_parent(parent_ip));
        here.inside.store(inside, Relaxed);
    }
}
