// SPDX-License-Identifier: GPL-2.0

//! Boot-time tracing: the keys of the boot configuration below `ftrace`
//! (`Documentation/trace/boottime-trace.rst`). Events that users define are made first; `boot/hist.rs`
//! has the keys of histograms.
//!
//! The order in each instance is: options, `tracing_on` and sizes; filters and actions of events;
//! then events are enabled; the tracer starts last.

use super::{set_option, Text};
use crate::core::parse::number;
use crate::core::parse::options::Request;
use crate::kernel::bootconfig::Key;
use crate::kernel::text::NulText;
#[cfg(any(
    CONFIG_KPROBE_EVENTS,
    CONFIG_SYNTH_EVENTS,
    CONFIG_EPROBE_EVENTS,
    CONFIG_FPROBE_EVENTS
))]
use crate::trace::events::dynamic;
#[cfg(CONFIG_EVENT_TRACING)]
use crate::trace::events::{matching::Match, registry};
use crate::trace::files::recording;
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::trace::ftrace::ops::FilterKind;
use crate::trace::instance::{list, Instance};
#[cfg(CONFIG_FUNCTION_TRACER)]
use crate::trace::tracers::function_filter::FunctionFilter;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use kernel::sync::Arc;

/// Texts of this length or more are refused, as in C.
pub(super) const TEXT_MAX: usize = 256;

/// Applies the keys below `ftrace`. An initcall; sleeps. Errors are logged, and the other keys are
/// still applied.
pub(crate) fn apply(ftrace: Key<'_>) {
    let Ok(top) = Instance::top() else { return };
    apply_to(top, ftrace);
    let instances = ftrace.key(c"instance");
    for key in instances.into_iter().flat_map(Key::keys) {
        let held = NulText::new(key.name()).and_then(|name| list::get(&name));
        match held {
            Ok(held) => apply_to(held.instance(), key),
            Err(error) => say("instance", key.name(), error),
        }
    }
}

#[cold]
fn say(what: &str, text: &[u8], error: Error) {
    pr_err!("boot configuration: {} {}: {:?}\n", what, Text(text), error);
}

/// Runs `f` on `text` and logs an error. `what` names the text in the message.
fn attempt(what: &str, text: &[u8], f: impl FnOnce(&[u8]) -> Result) {
    if let Err(error) = f(text) {
        say(what, text, error);
    }
}

/// As [`attempt`], for texts with a limited length.
fn attempt_short(what: &str, text: &[u8], f: impl FnOnce(&[u8]) -> Result) {
    attempt(what, text, |text| {
        if text.len() < TEXT_MAX {
            f(text)
        } else {
            Err(E2BIG)
        }
    });
}

fn apply_to(instance: &Arc<Instance>, at: Key<'_>) {
    for text in at.values(c"options") {
        attempt_short("option", text, |text| {
            let request = Request::parse(text).map_err(|_| EINVAL)?;
            set_option(instance, &request)
        });
    }
    if let Some(text) = at.value(c"tracing_on") {
        attempt("tracing_on", text, |text| {
            // As in C, what is no number switches it off.
            let on = number::nonzero(text).map_err(|_| EINVAL);
            instance.set_tracing_on(on.is_ok_and(|on| on));
            on.map(drop)
        });
    }
    if let Some(text) = at.value(c"trace_clock") {
        attempt("trace_clock", text, |text| instance.set_clock(text));
    }
    if let Some(text) = at.value(c"buffer_size") {
        attempt("buffer_size", text, |text| {
            let (size, _) = number::size(text);
            // As in C, a size below a page is complained of and gives the smallest buffer.
            instance.resize(None, size.max(1).try_into()?)?;
            if size < PAGE_SIZE as u64 {
                return Err(EINVAL);
            }
            Ok(())
        });
    }
    if let Some(text) = at.value(c"cpumask") {
        attempt("cpumask", text, |text| {
            instance.set_cpumask(recording::parse_mask(text)?);
            Ok(())
        });
    }
    #[cfg(CONFIG_EVENT_TRACING)]
    {
        set_events(instance, at);
        for text in at.values(c"events") {
            attempt_short("event", text, |text| enable(instance, &Match::parse(text)));
        }
    }
    #[cfg(CONFIG_FUNCTION_TRACER)]
    for (name, kind) in [
        (c"ftrace.filters", FilterKind::Filter),
        (c"ftrace.notraces", FilterKind::NoTrace),
    ] {
        for text in at.values(name) {
            attempt("function filter", text, |text| {
                let mut edit = FunctionFilter::of(instance)?.edit(kind, false)?;
                edit.apply(text)?;
                edit.commit()
            });
        }
    }
    if let Some(text) = at.value(c"tracer") {
        attempt("tracer", text, |text| super::set_tracer(instance, text));
    }
    // This comes after the tracer, since a tracer may have freed the snapshot.
    if at.key(c"alloc_snapshot").is_some() {
        attempt("alloc_snapshot", b"", |_| instance.allocate_snapshot());
    }
}

#[cfg(CONFIG_EVENT_TRACING)]
fn enable(instance: &Arc<Instance>, wanted: &Match<'_>) -> Result {
    instance.expand()?;
    registry::lock()?.enable_or_wait(instance, wanted, true)
}

/// Applies the keys below `event`: `GROUP.EVENT.…`, and `enable` at each level.
#[cfg(CONFIG_EVENT_TRACING)]
fn set_events(instance: &Arc<Instance>, at: Key<'_>) {
    let Some(events) = at.key(c"event") else {
        return;
    };
    let is_enable = |key: Key<'_>| key.name() == b"enable";
    for group in events.keys().filter(|key| !is_enable(*key)) {
        for event in group.keys().filter(|key| !is_enable(*key)) {
            attempt("event", event.name(), |_| {
                #[cfg(CONFIG_DYNAMIC_EVENTS)]
                define(group.name(), event)?;
                set_event(instance, group.name(), event)
            });
        }
        if group.key(c"enable").is_some() {
            attempt("event", group.name(), |name| {
                let wanted = Match {
                    system: Some(name),
                    ..Match::default()
                };
                enable(instance, &wanted)
            });
        }
    }
    if events.key(c"enable").is_some() {
        attempt("event", b"enable", |_| enable(instance, &Match::default()));
    }
}

/// Makes the event of `key`, if its group is one that definitions are made in.
#[cfg(CONFIG_DYNAMIC_EVENTS)]
fn define(group: &[u8], key: Key<'_>) -> Result {
    // Where no kind of event is configured that has such a group.
    let _ = &key;
    match group {
        #[cfg(CONFIG_KPROBE_EVENTS)]
        b"kprobes" => {
            let mut probes = key.values(c"probes");
            probes.try_for_each(|probe| dynamic::kprobe::define_at(key.name(), probe))
        }
        #[cfg(CONFIG_SYNTH_EVENTS)]
        b"synthetic" => dynamic::synthetic::define_of(key.name(), key.values(c"fields")),
        #[cfg(CONFIG_EPROBE_EVENTS)]
        b"eprobes" => define_probes(group, key, b'e'),
        #[cfg(CONFIG_FPROBE_EVENTS)]
        b"fprobes" => define_probes(group, key, b'f'),
        #[cfg(CONFIG_FPROBE_EVENTS)]
        b"tracepoints" | b"tprobes" => define_probes(group, key, b't'),
        _ => Ok(()),
    }
}

/// Makes the probes of `key`: whole lines of `dynamic_events`, or what follows the name there.
#[cfg(any(CONFIG_EPROBE_EVENTS, CONFIG_FPROBE_EVENTS))]
fn define_probes(group: &[u8], key: Key<'_>, kind: u8) -> Result {
    let is_line = |probe: &[u8]| match probe {
        [first, second, ..] => *first == kind && (*second == b':' || second.is_ascii_whitespace()),
        _ => false,
    };
    for probe in key.values(c"probes") {
        let mut line = KVec::new();
        if !is_line(probe) {
            let parts: [&[u8]; 6] = [&[kind], b":", group, b"/", key.name(), b" "];
            for part in parts {
                line.extend_from_slice(part, GFP_KERNEL)?;
            }
        }
        line.extend_from_slice(probe, GFP_KERNEL)?;
        if line.len() >= TEXT_MAX {
            return Err(E2BIG);
        }
        dynamic::command(&line, None)?;
    }
    Ok(())
}

/// Applies the keys below one event.
#[cfg(CONFIG_EVENT_TRACING)]
fn set_event(instance: &Arc<Instance>, group: &[u8], key: Key<'_>) -> Result {
    let is_enabled = key.key(c"enable").is_some();
    let mut registry = registry::lock()?;
    let event = registry.find_in(instance, group, key.name());
    let event = event.ok_or(ENOENT)?.id();
    if is_enabled {
        // Without memory it is smaller.
        attempt("size of the buffer", b"", |_| instance.expand());
    }
    if let Some(text) = key.value(c"filter") {
        attempt_short("filter", text, |text| {
            registry.write_filter(instance, event, text)
        });
    }
    for text in key.values(c"actions") {
        attempt_short("action", text, |text| {
            registry.write_trigger(instance, event, text)
        });
    }
    #[cfg(CONFIG_HIST_TRIGGERS)]
    if let Some(hist) = key.key(c"hist") {
        super::hist::each(hist, |line| registry.write_trigger(instance, event, line));
    }
    if is_enabled {
        registry.enable(instance, event, true)?;
    }
    Ok(())
}
