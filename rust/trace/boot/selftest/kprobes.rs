// SPDX-License-Identifier: GPL-2.0

//! The test of kprobe events at the end of boot (`CONFIG_FTRACE_STARTUP_TEST`): one at the entry of a
//! function and one at its return are each hit once by one call.

use crate::kernel::kprobe::call_selftest_target;
use crate::trace::events::dynamic;
use crate::trace::events::dynamic::kprobe::{self, Kprobes};
use crate::trace::events::matching::Match;
use crate::trace::events::registry;
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::Arc;

/// An event.
struct Row {
    name: &'static [u8],
    definition: &'static [u8],
    removal: &'static [u8],
}

const EVENTS: &[Row] = &[
    Row {
        name: b"testprobe",
        definition: b"p:testprobe kprobe_trace_selftest_target $stack $stack0 +0($stack)",
        removal: b"-:testprobe",
    },
    Row {
        name: b"testprobe2",
        definition: b"r:testprobe2 kprobe_trace_selftest_target $retval",
        removal: b"-:testprobe2",
    },
];

/// Runs the test in the top instance.
pub(super) fn run(top: &Arc<Instance>) {
    pr_info!("Testing kprobe tracing: ");
    let result = test(top);
    let ended = EVENTS
        .iter()
        .map(|event| command(event.removal))
        .fold(Ok(()), |first, this| first.and(this));
    match result.and(ended.map_err(|_| "an event stays")) {
        Ok(()) => kernel::pr_cont!("OK\n"),
        Err(reason) => {
            kernel::pr_cont!("FAILED! {}\n", reason);
            kernel::warn_on!(true);
        }
    }
    top.buffer().reset();
}

fn command(text: &[u8]) -> Result {
    dynamic::command(text, Some(&Kprobes))
}

fn test(top: &Arc<Instance>) -> Result<(), &'static str> {
    for event in EVENTS {
        command(event.definition).map_err(|_| "a definition is refused")?;
    }
    let switch = |on| {
        let wanted = Match {
            system: Some(b"kprobes"),
            ..Match::default()
        };
        registry::lock()?.enable_matching(top, &wanted, on)
    };
    let on = switch(true);
    let sum = call_selftest_target();
    let off = switch(false);
    on.and(off)
        .map_err(|_| "the events are not enabled and disabled")?;
    let once = |event: &Row| kprobe::hits(event.name) == Some(1);
    match sum {
        21 if EVENTS.iter().all(once) => Ok(()),
        21 => Err("each should be hit once"),
        _ => Err("the function returns something else"),
    }
}
