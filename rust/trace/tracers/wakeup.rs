// SPDX-License-Identifier: GPL-2.0

//! `wakeup`, `wakeup_rt`, `wakeup_dl`: the longest time that a woken task of the highest priority
//! had to wait for a CPU: any task, one of the real-time or deadline classes, one of the deadline
//! class.
//!
//! One task at a time is *awaited*: from its wake-up to the switch to it, unless one of higher
//! priority is woken meanwhile. Both are recorded with their stacks, and if it took longer than
//! ever, the trace of all CPUs is kept.
//!
//! Locks: `Wakeup::awaited` is taken in the probes, inside run queue locks; in it the locks of the
//! buffer and of saved names. What is asked at every switch and wake-up is in atomics beside it,
//! and asked again with the lock held.

use super::function_filter::FunctionFilter;
use super::functions::{record_mark, Functions, Measures};
use crate::core::format::entry::{self, ContextSwitch, Function};
use crate::core::parse::options::graph::{CPU, DURATION, IRQS, OVERHEAD, PROC, REL_TIME};
use crate::core::parse::options::{Flag, Set};
use crate::kernel::context::PreemptOff;
use crate::kernel::percpu::PerCpu;
use crate::kernel::raw_lock::RawLock;
use crate::kernel::rcu_slot::{Claim, RcuSlot};
use crate::kernel::stack::Caller;
use crate::kernel::tracepoint::{view, Point, Probes, TaskProbe, TaskView};
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Buffer;
use crate::trace::fgraph::measured::Measurement;
use crate::trace::ftrace::ops::Ops;
use crate::trace::instance::latency::{Found, Latency};
use crate::trace::instance::tracer::{Running, Tracer};
use crate::trace::instance::Instance;
use crate::trace::output::graph::GraphOutput;
use crate::trace::output::tracer::TracerOutput;
use crate::trace::tasks::{cmdlines, stack};
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::Arc;
use kernel::task::Task;

/// Which tasks are awaited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// All.
    Any,
    /// Real-time tasks and those with deadlines.
    Urgent,
    /// Those with deadlines.
    Deadline,
}

/// The tracer.
pub(super) struct Wakeups(pub(super) Class);

/// There is one at a time, in whichever instance.
static CURRENT: RcuSlot<Wakeup> = RcuSlot::new();

impl Tracer for Wakeups {
    fn name(&self) -> &'static str {
        match self.0 {
            Class::Any => "wakeup",
            Class::Urgent => "wakeup_rt",
            Class::Deadline => "wakeup_dl",
        }
    }

    fn start(&self, instance: &Arc<Instance>, _flags: u32) -> Result<KBox<dyn Running>> {
        let wakeup = Arc::new(Wakeup::new(instance.clone(), self.0)?, GFP_KERNEL)?;
        let only = CURRENT.claim(wakeup.clone())?;
        wakeup.latency.set_longest(0);
        let points = &[
            Point::Wakeup,
            Point::WakeupNew,
            Point::Switch,
            Point::Migrate,
        ];
        let probes = Probes::register(points, wakeup.clone())?;
        let functions = Functions::start(wakeup.clone())?;
        wakeup.enabled.store(instance.tracing_on(), Relaxed);
        Ok(KBox::new(
            Tracing {
                functions,
                _probes: probes,
                _only: only,
            },
            GFP_KERNEL,
        )?)
    }

    /// A buffer that is full must go on taking entries, or the worst would have no end.
    fn forces(&self) -> Set {
        Set::NONE
            .with(Flag::Overwrite, true)
            .with(Flag::LatencyFormat, true)
    }

    fn uses_snapshot(&self) -> bool {
        true
    }
}

/// How they print.
pub(super) fn output() -> Result<KBox<dyn TracerOutput>> {
    GraphOutput::on_demand(CPU.bit | PROC.bit | REL_TIME | DURATION.bit | OVERHEAD.bit | IRQS.bit)
}

/// The tracer at work. After its own `drop`, fields are dropped from the top.
struct Tracing {
    functions: Functions<Wakeup>,
    _probes: Probes<Wakeup>,
    _only: Claim<Wakeup>,
}

impl Running for Tracing {
    fn switched(&mut self, on: bool) {
        let wakeup = self.functions.what();
        if on {
            wakeup.instance.buffer().reset();
            let before = wakeup.awaited.lock().end(wakeup);
            drop(before);
        }
        wakeup.enabled.store(on, Relaxed);
    }

    fn option(&mut self, flag: Flag, on: bool) -> Result {
        self.functions.option(flag, on)
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        self.functions.what().enabled.store(false, Relaxed);
    }
}

/// The priority of no task: higher than any.
const NOBODYS: i32 = i32::MAX;

/// The measurement.
struct Wakeup {
    instance: Arc<Instance>,
    latency: Arc<Latency>,
    /// Whose gate is open while somebody is awaited.
    functions: Arc<Ops>,
    class: Class,
    /// Is tracing on?
    enabled: Atomic<bool>,
    /// Are places recorded as in a call graph?
    graph: Atomic<bool>,
    /// The awaited task, 0 for none; see [`TaskView::address`].
    task: Atomic<usize>,
    /// Its priority when it was woken; more urgent ones take its place.
    prio: Atomic<i32>,
    /// Whether it has a deadline. Then nothing takes its place.
    deadline: Atomic<bool>,
    /// The CPU that it is to run on by now.
    cpu: Atomic<u32>,
    /// Is that CPU's code in a probe, so that what it calls is not traced?
    inside: PerCpu<Atomic<bool>>,
    awaited: RawLock<Awaited>,
}

/// What else is known of the awaited task.
struct Awaited {
    task: Option<ARef<Task>>,
    /// When it was woken, by the buffer's clock.
    since: u64,
    /// The CPU that it was to run on then.
    cpu: Option<CpuId>,
}

impl Awaited {
    /// Nobody is awaited any more. The task that was is to be given back with the lock open.
    fn end(&mut self, wakeup: &Wakeup) -> Option<ARef<Task>> {
        wakeup.prio.store(NOBODYS, Relaxed);
        wakeup.deadline.store(false, Relaxed);
        wakeup.functions.set_gate(false);
        wakeup.task.store(0, Relaxed);
        self.task.take()
    }
}

impl Wakeup {
    fn new(instance: Arc<Instance>, class: Class) -> Result<Self> {
        let graph = instance.options().has(Flag::DisplayGraph);
        let latency = instance.latency()?.clone();
        let functions = FunctionFilter::of(&instance)?.clone();
        functions.set_gate(false);
        Ok(Self {
            instance,
            latency,
            functions,
            class,
            enabled: Atomic::new(false),
            graph: Atomic::new(graph),
            task: Atomic::new(0),
            prio: Atomic::new(NOBODYS),
            deadline: Atomic::new(false),
            cpu: Atomic::new(0),
            inside: PerCpu::new(|_| Atomic::new(false))?,
            awaited: RawLock::new(Awaited {
                task: None,
                since: 0,
                cpu: None,
            }),
        })
    }

    /// Is `task`, which is just woken, of the class that is asked for, and more urgent than the
    /// task that is awaited?
    fn is_more_urgent(&self, task: TaskView<'_>) -> bool {
        if self.deadline.load(Relaxed) {
            return false;
        }
        match self.class {
            Class::Any | Class::Urgent if task.has_deadline() => true,
            Class::Any => task.prio() < self.prio.load(Relaxed),
            Class::Urgent => task.is_urgent() && task.prio() < self.prio.load(Relaxed),
            Class::Deadline => task.has_deadline(),
        }
    }

    /// Runs `f`, none of whose functions is traced on this CPU. Preemption is off.
    #[inline(always)]
    fn untraced(&self, f: impl FnOnce()) {
        let inside = self.inside.this();
        if !inside.load(Relaxed) {
            inside.store(true, Relaxed);
            f();
            inside.store(false, Relaxed);
        }
    }

    /// `task` is awaited from now on.
    fn begin(&self, task: TaskView<'_>, waker: TaskView<'_>, from: &Caller) {
        let context = Context::capture_all();
        let _before;
        // Recording wakes and unwinds, which is traced; this CPU is `inside`.
        let mut awaited = self.awaited.lock().around_traced();
        if !self.enabled.load(Relaxed) || !self.is_more_urgent(task) {
            return;
        }
        _before = awaited.end(self);
        let buffer = self.instance.buffer();
        awaited.cpu = CpuId::from_u32(task.cpu());
        awaited.since = buffer.now_here(&PreemptOff::new());
        awaited.task = Some(task.hold());
        self.cpu.store(task.cpu(), Relaxed);
        self.prio.store(task.prio(), Relaxed);
        self.deadline.store(task.has_deadline(), Relaxed);
        self.task.store(task.address(), Relaxed);
        self.functions.set_gate(true);
        buffer.record_in(context, entry::Wakeup::from(switch(waker, task)));
        self.record_user(context);
        stack::record_of(buffer, context, from);
        // In C the caller's caller, which nobody knows where there are no frame pointers: it is 0.
        self.mark(context, 0);
    }

    /// Records that this is at `ip`.
    fn mark(&self, context: Context, ip: usize) {
        let mark = Function { ip, parent_ip: 0 };
        let graph = self.graph.load(Relaxed);
        record_mark(self.instance.buffer(), context, graph, mark);
    }

    /// Records the stack in user space with option `userstacktrace`.
    fn record_user(&self, context: Context) {
        if self.instance.options().has(Flag::UserStackTrace) {
            stack::record_user(self.instance.buffer(), context);
        }
    }

    /// The CPU turns from `prev` to `next`, who was awaited.
    fn arrive(&self, prev: TaskView<'_>, next: TaskView<'_>, from: &Caller) {
        let context = Context::capture_all();
        let _before;
        // As in `begin`.
        let mut awaited = self.awaited.lock().around_traced();
        if !self.enabled.load(Relaxed) || self.task.load(Relaxed) != next.address() {
            return;
        }
        let buffer = self.instance.buffer();
        let now = buffer.now_here(&PreemptOff::new());
        let latency = now.wrapping_sub(awaited.since);
        let worse = self.latency.is_worse(latency);
        self.mark(context, from.ip());
        buffer.record_in(context, switch(prev, next));
        self.record_user(context);
        // Unwinding is most of the cost. Where the trace is not kept, only one who reads along
        // would see the stack.
        if worse || self.instance.readers().any() {
            stack::record_of(buffer, context, from);
        }
        if worse {
            self.keep(&awaited, latency);
        }
        _before = awaited.end(self);
    }

    /// Keeps the trace of all CPUs as that of who was awaited, for so long.
    fn keep(&self, awaited: &Awaited, latency: u64) {
        let (Some(task), Some(cpu)) = (&awaited.task, awaited.cpu) else {
            return;
        };
        view(task, |task| {
            let found = Found {
                cpu,
                task,
                since: awaited.since,
                latency,
                section: None,
            };
            self.latency.keep_worst(&self.instance, &found, None);
        });
    }
}

/// The entry of a turn from `prev` to `next`.
fn switch(prev: TaskView<'_>, next: TaskView<'_>) -> ContextSwitch {
    ContextSwitch {
        prev_pid: prev.pid() as u32,
        next_pid: next.pid() as u32,
        next_cpu: next.cpu(),
        // Priorities are stored as C stores them, in an unsigned byte.
        prev_prio: prev.prio() as u8,
        prev_state: prev.state(),
        next_prio: next.prio() as u8,
        next_state: next.state(),
    }
}

impl TaskProbe for Wakeup {
    #[inline(always)]
    fn woken_at(&self, task: TaskView<'_>, from: &Caller) {
        if !self.enabled.load(Relaxed) {
            return;
        }
        TaskView::with_current(|current| {
            cmdlines::remember_both(task, current);
            if self.is_more_urgent(task) && (task.has_deadline() || task.prio() < current.prio()) {
                self.untraced(|| self.begin(task, current, from));
            }
        });
    }

    fn switched_at(&self, prev: TaskView<'_>, next: TaskView<'_>, from: &Caller) {
        cmdlines::remember_both(prev, prev);
        if self.enabled.load(Relaxed) && self.task.load(Relaxed) == next.address() {
            self.untraced(|| self.arrive(prev, next, from));
        }
    }

    fn migrated(&self, task: TaskView<'_>, cpu: u32) {
        if self.task.load(Relaxed) == task.address() {
            self.cpu.store(cpu, Relaxed);
        }
    }
}

/// Functions are of interest on the CPU that the awaited task is to run on.
impl Measurement for Wakeup {
    const GATED: bool = true;

    #[inline(always)]
    fn may_measure(&self) -> bool {
        self.task.load(Relaxed) != 0
    }

    fn is_measuring(&self) -> bool {
        self.task.load(Relaxed) != 0
            && CpuId::current().as_u32() == self.cpu.load(Relaxed)
            && !self.inside.this().load(Relaxed)
    }

    fn buffer(&self) -> &Buffer {
        self.instance.buffer()
    }

    fn set_graph(&self, graph: bool) {
        let _before;
        let mut awaited = self.awaited.lock();
        _before = awaited.end(self);
        self.graph.store(graph, Relaxed);
    }
}

impl Measures for Wakeup {
    fn instance(&self) -> &Instance {
        &self.instance
    }
}
