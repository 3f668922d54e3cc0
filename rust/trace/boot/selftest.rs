// SPDX-License-Identifier: GPL-2.0

//! Tests of tracers at the end of boot (`CONFIG_FTRACE_STARTUP_TEST`).
//!
//! Each tracer runs for a while in the top instance, while something happens that it records. Then
//! there must be entries, all of a known type and none before the one before it. The results are in
//! the kernel log: `Testing tracer NAME: PASSED`, or `FAILED!` and a warning.
//!
//! The tests are left out where the command line or the boot configuration asks for tracing, even if
//! it enables nothing at the top, as with the events of a module that is not loaded yet.

#[cfg(CONFIG_EVENT_TRACE_STARTUP_TEST)]
mod events;
#[cfg(CONFIG_KPROBE_EVENTS)]
mod kprobes;

use crate::core::format::entry;
use crate::kernel::kthread::{Place, Thread};
use crate::trace::buffer::Buffer;
#[cfg(CONFIG_EVENT_TRACING)]
use crate::trace::events::registry;
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::trace::ftrace::ops::{FilterKind, Ops};
use crate::trace::instance::tracer::{self, Tracer};
use crate::trace::instance::{Instance, Side};
#[cfg(CONFIG_IRQSOFF_TRACER)]
use kernel::interrupt::local_interrupt_disable;
use kernel::new_spinlock;
use kernel::prelude::*;
use kernel::sync::{Arc, SetOnce, SpinLock};
use kernel::time::delay::{fsleep, udelay};
use kernel::time::Delta;

/// Why the tests are left out.
static LEFT_OUT: SetOnce<&str> = SetOnce::new();

/// Leaves the tests out, for the first reason of all that are given. Boot.
pub(crate) fn leave_out(reason: &'static str) {
    LEFT_OUT.populate(reason);
}

/// Runs the tests. The end of boot, task context, sleeps.
pub(crate) fn run() {
    let Ok(top) = Instance::top() else {
        return;
    };
    if let Some(reason) = in_use(top) {
        return pr_info!("Ftrace startup test is disabled due to {}\n", reason);
    }
    pr_info!("Running postponed tracer tests:\n");
    for tracer in tracer::all().iter().rev() {
        if let Some(test) = test_of(tracer.name()) {
            test_tracer(top, *tracer, test);
        }
    }
    #[cfg(CONFIG_KPROBE_EVENTS)]
    kprobes::run(top);
    #[cfg(CONFIG_EVENT_TRACE_STARTUP_TEST)]
    events::run(top);
}

/// What the top instance is already used for.
fn in_use(top: &Arc<Instance>) -> Option<&'static str> {
    if let Some(reason) = LEFT_OUT.as_ref() {
        return Some(reason);
    }
    if top.tracer().name() != "nop" {
        return Some("running a tracer");
    }
    #[cfg(CONFIG_EVENT_TRACING)]
    if registry::lock().is_ok_and(|registry| registry.has_enabled()) {
        return Some("running event tracing");
    }
    (!top.tracing_on()).then_some("tracing disabled")
}

/// What happens while a tracer is tested, and what must come of it.
#[derive(Clone, Copy)]
enum Test {
    /// There are entries of what goes on.
    Records(fn()),
    /// There are entries, and only those of one function if a filter says so.
    #[cfg(CONFIG_FUNCTION_TRACER)]
    Filters,
    /// There are no entries.
    Nothing,
}

type Row = (&'static str, Test);

/// The tests by the names of tracers.
const TESTS: &[Row] = &[
    ("nop", Test::Nothing),
    #[cfg(CONFIG_FUNCTION_TRACER)]
    ("function", Test::Filters),
    ("function_graph", Test::Records(wait)),
    ("branch", Test::Records(wait)),
    #[cfg(CONFIG_IRQSOFF_TRACER)]
    ("irqsoff", Test::Records(keep_interrupts_off)),
    ("preemptoff", Test::Records(keep_preemption_off)),
    #[cfg(CONFIG_IRQSOFF_TRACER)]
    ("preemptirqsoff", Test::Records(keep_both_off)),
    ("wakeup", Test::Records(wake)),
    ("wakeup_rt", Test::Records(wake)),
];

fn test_of(name: &str) -> Option<Test> {
    let found = TESTS.iter().find(|(known, _)| *known == name);
    found.map(|(_, test)| *test)
}

fn test_tracer(top: &Arc<Instance>, tracer: &dyn Tracer, test: Test) {
    pr_info!("Testing tracer {}: ", tracer.name());
    #[cfg(CONFIG_FUNCTION_TRACER)]
    if ["function", "function_graph"].contains(&tracer.name()) && is_filtered() {
        return kernel::pr_cont!(" ... kernel command line filter set: force PASS ... PASSED\n");
    }
    let result = top
        .set_tracer(tracer.name().as_bytes())
        .map_err(|_| "it does not start")
        .and_then(|()| test.run(top, tracer));
    let ended = top.set_tracer(b"nop").map_err(|_| "it does not end");
    match result.and(ended) {
        Ok(()) => kernel::pr_cont!("PASSED\n"),
        Err(reason) => {
            kernel::pr_cont!(".. {} .. FAILED!\n", reason);
            kernel::warn_on!(true);
        }
    }
    top.set_tracing_on(true);
    top.buffer().reset();
}

impl Test {
    fn run(self, top: &Arc<Instance>, tracer: &dyn Tracer) -> Result<(), &'static str> {
        let side = match tracer.uses_snapshot() {
            true => Side::Snapshot,
            false => Side::Live,
        };
        let (action, wants) = match self {
            Self::Records(action) => (action, true),
            Self::Nothing => (wait as fn(), false),
            #[cfg(CONFIG_FUNCTION_TRACER)]
            Self::Filters => {
                wait();
                top.set_tracing_on(false);
                entries(top.side(side), true)?;
                return filtered(top);
            }
        };
        action();
        top.set_tracing_on(false);
        entries(top.side(side), wants)
    }
}

/// Reads all entries of `buffer` and checks them. There must be some if they are `wanted`, and none
/// otherwise.
fn entries(buffer: &Buffer, wanted: bool) -> Result<(), &'static str> {
    let mut count = 0u64;
    for part in buffer.cpus() {
        let (left, mut last) = (part.entries(), 0);
        let mut reader = part.lock_reader();
        // What a tracer records meanwhile is not waited for.
        for _ in 0..left {
            let Some(event) = reader.consume() else {
                break;
            };
            let id = event
                .payload
                .first_chunk()
                .map(|id| u16::from_ne_bytes(*id));
            let known = entry::TABLE.iter().any(|row| Some(row.id) == id);
            if !known {
                return Err("an invalid entry");
            }
            if event.time < last {
                return Err("entries out of order");
            }
            (count, last) = (count.wrapping_add(1), event.time);
        }
    }
    match (count, wanted) {
        (0, true) => Err("no entries found"),
        (1.., false) => Err("entries of nothing"),
        _ => Ok(()),
    }
}

/// How often the function of [`filtered`] is called.
#[cfg(CONFIG_FUNCTION_TRACER)]
const CALLS: u64 = 5;

/// With a filter, only one function is traced, each call of it.
#[cfg(CONFIG_FUNCTION_TRACER)]
fn filtered(top: &Arc<Instance>) -> Result<(), &'static str> {
    kernel::pr_cont!("PASSED\n");
    pr_info!("Testing dynamic ftrace: ");
    set_filter(b"kthread_stop").map_err(|_| "the filter is refused")?;
    top.buffer().reset();
    top.set_tracing_on(true);
    wait();
    let count = || top.buffer().cpus().map(|part| part.entries()).sum::<u64>();
    let others = count();
    for _ in 0..CALLS {
        drop(Thread::run(c"rtrace-selftest", Place::Any, |_: &_| ()));
    }
    top.set_tracing_on(false);
    let found = count();
    let checked = entries(top.buffer(), true);
    set_filter(b"").map_err(|_| "the filter stays")?;
    match (others, found) {
        (0, CALLS) => checked,
        (0, _) => Err("filter failed"),
        _ => Err("filter did not filter"),
    }
}

/// Whether the top instance's filters leave functions out, so that there may be nothing to record.
/// They stay.
#[cfg(CONFIG_FUNCTION_TRACER)]
fn is_filtered() -> bool {
    let Some(ops) = Ops::global() else {
        return false;
    };
    [FilterKind::Filter, FilterKind::NoTrace]
        .into_iter()
        .any(|kind| !ops.list(kind).is_ok_and(|list| list.is_default()))
}

/// Makes `pattern` the only one of the top instance's filter, or none if it is empty.
#[cfg(CONFIG_FUNCTION_TRACER)]
fn set_filter(pattern: &[u8]) -> Result {
    let ops = Ops::global().ok_or(ENODEV)?;
    let mut edit = ops.edit(FilterKind::Filter, true)?;
    if !pattern.is_empty() {
        edit.apply(pattern)?;
    }
    edit.commit()
}

/// Functions are called for a tenth of a second.
fn wait() {
    fsleep(Delta::from_millis(100));
}

/// How long sections are.
const SECTION: Delta = Delta::from_micros(100);

#[cfg(CONFIG_IRQSOFF_TRACER)]
fn keep_interrupts_off() {
    let off = local_interrupt_disable();
    udelay(SECTION);
    drop(off);
}

fn keep_preemption_off() {
    with_lock(|| udelay(SECTION));
}

#[cfg(CONFIG_IRQSOFF_TRACER)]
fn keep_both_off() {
    with_lock(keep_interrupts_off);
}

/// Runs `inside` with a lock held.
fn with_lock(inside: impl Fn()) {
    let lock = Arc::pin_init(new_spinlock!(()), GFP_KERNEL);
    if let Ok(lock) = lock {
        let lock: Arc<SpinLock<()>> = lock;
        let held = lock.lock();
        inside();
        drop(held);
    }
}

/// A task with a real-time priority is woken some times.
fn wake() {
    fn sleep() {
        for _ in 0..10 {
            fsleep(Delta::from_millis(2));
        }
    }
    drop(Thread::run(c"rtrace-selftest", Place::Urgent, |_: &_| {
        sleep()
    }));
}
