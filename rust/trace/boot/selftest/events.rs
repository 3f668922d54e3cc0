// SPDX-License-Identifier: GPL-2.0

//! Tests of events at the end of boot (`CONFIG_EVENT_TRACE_STARTUP_TEST`): each is enabled alone,
//! then the events of each system, then all, while things happen of which many have events. With
//! the function tracer all of that is done again.

use crate::kernel::kthread::{Place, Thread};
use crate::trace::events::matching::Match;
use crate::trace::events::registry;
use crate::trace::instance::Instance;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Arc, Mutex};
use kernel::time::{delay::fsleep, Delta};

/// Runs the tests in the top instance.
pub(super) fn run(top: &Arc<Instance>) {
    if let Err(error) = test(top) {
        pr_warn!("events were not tested: {:?}\n", error);
    }
    #[cfg(CONFIG_FUNCTION_TRACER)]
    if top.set_tracer(b"function").is_ok() {
        pr_info!("Running tests again, along with the function tracer\n");
        if let Err(error) = test(top) {
            pr_warn!("events were not tested: {:?}\n", error);
        }
        let _ = top.set_tracer(b"nop");
    }
    top.buffer().reset();
}

/// An event, by its system and its name.
type Names = (KVec<u8>, KVec<u8>);

fn copy(text: &[u8]) -> Result<KVec<u8>> {
    let mut copy = KVec::with_capacity(text.len(), GFP_KERNEL)?;
    copy.extend_from_slice(text, GFP_KERNEL)?;
    Ok(copy)
}

/// The events that are tested alone.
fn events(top: &Arc<Instance>) -> Result<KVec<Names>> {
    let registry = registry::lock()?;
    let mut all = KVec::new();
    for event in registry.listed(top) {
        let (system, name) = (event.system().to_bytes(), event.name().to_bytes());
        let is_call = system == b"syscalls";
        if cfg!(CONFIG_EVENT_TRACE_TEST_SYSCALLS) || !is_call {
            all.push((copy(system)?, copy(name)?), GFP_KERNEL)?;
        }
    }
    Ok(all)
}

fn test(top: &Arc<Instance>) -> Result {
    let text = |bytes| core::str::from_utf8(bytes).unwrap_or("?");
    let all = events(top)?;
    pr_info!("Running tests on trace events:\n");
    for (system, name) in &all {
        pr_info!("Testing event {}: ", text(name));
        let wanted = Match {
            system: Some(system),
            event: Some(name),
            ..Match::default()
        };
        enabled(top, &wanted);
    }
    pr_info!("Running tests on trace event systems:\n");
    for (at, (system, _)) in all.iter().enumerate() {
        let is_first = !all
            .iter()
            .take(at)
            .any(|(before, _)| before[..] == system[..]);
        if is_first && &**system != b"ftrace" {
            pr_info!("Testing event system {}: ", text(system));
            let wanted = Match {
                system: Some(system),
                ..Match::default()
            };
            enabled(top, &wanted);
        }
    }
    pr_info!("Running tests on all trace events:\n");
    pr_info!("Testing all events: ");
    enabled(top, &Match::default());
    Ok(())
}

/// Lets things happen while the events of `wanted` are enabled, and says how that went.
fn enabled(top: &Arc<Instance>, wanted: &Match<'_>) {
    let switch = |on| registry::lock()?.enable_matching(top, wanted, on);
    let on = switch(true);
    if on.is_ok() {
        things_happen();
    }
    let off = switch(false);
    match on.and(off) {
        Ok(()) => kernel::pr_cont!("OK\n"),
        Err(error) => {
            kernel::pr_cont!("FAILED! {:?}\n", error);
            kernel::warn_on!(true);
        }
    }
    top.buffer().reset();
}

/// A thread starts, allocates, takes a lock, sleeps and ends.
fn things_happen() {
    fn act() {
        let lock: Result<Arc<Mutex<u8>>> = Arc::pin_init(new_mutex!(0), GFP_KERNEL);
        let memory = KVec::<u8>::with_capacity(1234, GFP_KERNEL);
        if let Ok(lock) = lock {
            let held = lock.lock();
            fsleep(Delta::from_millis(1));
            drop(held);
        }
        drop(memory);
    }
    drop(Thread::run(c"test-events", Place::Any, move |_: &_| act()));
}
