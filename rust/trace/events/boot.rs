// SPDX-License-Identifier: GPL-2.0

//! Events at boot: the events of the kernel image, the events and triggers of the command line; and
//! the events of modules that are loaded and unloaded.

use super::check;
#[cfg(CONFIG_TRACE_EVAL_MAP_FILE)]
use super::evals;
use super::matching::Match;
use super::print;
use super::printer::{self, Events};
use super::registry::{self, Registry};
use super::systems::Systems;
use crate::core::format::event::replace_evals;
use crate::kernel::sort::sort_by;
use crate::kernel::trace_event::{Eval, Registered};
use crate::trace::instance::Instance;
use crate::trace::output::line::EVENT_PRINTER;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::sync::Arc;

/// Creates the registry with `events`, where `None` is the place of the core's own, and calls `known`.
/// Then enables the events of `wanted`, the text of `trace_event=`. Sets `triggers`, the text of
/// `trace_trigger=`. Without a top instance, as under lockdown, the registry stays empty. Boot, one
/// CPU. Errors are logged.
pub(crate) fn start(
    events: impl Iterator<Item = Option<Result<Registered>>>,
    known: impl FnOnce(),
    wanted: &[u8],
    triggers: &[u8],
) {
    let most = Instance::top().map_or(0, |_| usize::MAX);
    if let Err(error) = take_in(events.take(most)).and_then(|()| printer::init()) {
        return pr_err!("no memory for events: {:?}\n", error);
    }
    EVENT_PRINTER.populate(&Events);
    known();
    let Ok(top) = Instance::top() else { return };
    if !wanted.is_empty() || !triggers.is_empty() {
        if let Err(error) = top.expand() {
            pr_warn!("the buffer stays small: {:?}\n", error);
        }
    }
    enable_all(wanted, true);
    set_triggers(top, triggers);
}

/// Sets triggers in `instance` for all events of the given names. The text is a list of
/// `EVENT.TRIGGER`, separated by commas; what has no point is left out. Boot. Errors are logged.
pub(crate) fn set_triggers(instance: &Arc<Instance>, triggers: &[u8]) {
    for text in triggers.split(|&byte| byte == b',') {
        let dot = text.iter().position(|&byte| byte == b'.');
        if let Some((name, trigger)) = dot.and_then(|at| text.split_at_checked(at)) {
            set_trigger(instance, name, trigger.get(1..).unwrap_or(&[]));
        }
    }
}

fn set_trigger(instance: &Arc<Instance>, name: &[u8], trigger: &[u8]) {
    let Ok(mut registry) = registry::lock() else {
        return;
    };
    let mut next = 0;
    while let Some(event) = registry.events().get(next) {
        next += 1;
        let has = event.is_offered() && Systems::of(instance).have(event);
        if !has || event.name().to_bytes() != name {
            continue;
        }
        let id = event.id();
        if registry.write_trigger(instance, id, trigger).is_err() {
            let text = |text| core::str::from_utf8(text).unwrap_or("?");
            pr_err!(
                "Failed to register trigger '{}' on event {}\n",
                text(trigger),
                text(name)
            );
        }
    }
}

fn take_in(events: impl Iterator<Item = Option<Result<Registered>>>) -> Result {
    registry::init()?;
    #[cfg(CONFIG_DYNAMIC_EVENTS)]
    super::dynamic::init()?;
    let mut registry = registry::lock()?;
    registry.reserve(events.size_hint().1.unwrap_or(0))?;
    for event in events {
        match event {
            Some(Ok(mut event)) => {
                check::look_at(&mut event);
                registry.add(event)?;
            }
            Some(Err(_)) => (),
            None => registry.add_own()?,
        }
    }
    registry.end_of_built_in();
    print::init();
    Ok(())
}

/// Enables the events of `wanted` again. Some are only hit if they are enabled when the first task
/// exists. Boot.
pub(crate) fn again(wanted: &[u8]) {
    if !wanted.is_empty() {
        enable_all(wanted, false);
        enable_all(wanted, true);
    }
}

fn enable_all(wanted: &[u8], on: bool) {
    if let Ok(top) = Instance::top() {
        switch(top, wanted.split(|&byte| byte == b','), on);
    }
}

/// Enables the events of these names in `instance`; those of a module that is not loaded when it is.
/// Boot. Errors are logged.
pub(crate) fn enable<'a>(instance: &Arc<Instance>, names: impl Iterator<Item = &'a [u8]>) {
    switch(instance, names, true);
}

fn switch<'a>(instance: &Arc<Instance>, names: impl Iterator<Item = &'a [u8]>, on: bool) {
    for name in names.filter(|name| !name.is_empty()) {
        let result = registry::lock()
            .and_then(|mut registry| registry.enable_or_wait(instance, &Match::parse(name), on));
        if on && result.is_err() {
            pr_warn!(
                "Failed to enable trace event: {}\n",
                core::str::from_utf8(name).unwrap_or("?")
            );
        }
    }
}

/// Replaces enum names by numbers in the formats of the kernel's events. Boot, before init memory
/// is freed.
pub(crate) fn replace<'a>(evals: impl Iterator<Item = Eval<'a>>) {
    let result = registry::lock().and_then(|mut registry| {
        let evals = gathered(evals, 0)?;
        rewrite(&mut registry, &|_| true, evals)
    });
    if let Err(error) = result {
        pr_warn!("names in the formats of events stay: {:?}\n", error);
    }
}

/// The names of `module`, or of the kernel if `module` is 0; `eval_map` keeps them. `ENOMEM`.
fn gathered<'a>(evals: impl Iterator<Item = Eval<'a>>, _module: usize) -> Result<KVVec<Eval<'a>>> {
    let mut list = KVVec::new();
    for eval in evals {
        list.push(eval, GFP_KERNEL)?;
    }
    #[cfg(CONFIG_TRACE_EVAL_MAP_FILE)]
    evals::keep(_module, &list)?;
    Ok(list)
}

/// Puts the numbers of `evals` into the formats of the events that `is` picks. `ENOMEM`.
fn rewrite(
    registry: &mut Registry,
    is: &dyn Fn(&Registered) -> bool,
    evals: KVVec<Eval<'_>>,
) -> Result {
    let mut sorted = evals;
    // Sorted by system. A longer name comes before a name that is its prefix.
    sort_by(&mut sorted, |one, other| {
        (one.system, other.name.to_bytes()).cmp(&(other.system, one.name.to_bytes()))
    });
    // A format that there is no memory for costs none of the others.
    let mut result = Ok(());
    for call in registry.calls_mut().filter(|call| is(call)) {
        let system = call.system_key();
        let from = sorted.partition_point(|eval| eval.system < system);
        let to = sorted.partition_point(|eval| eval.system <= system);
        let Some(names) = sorted.get(from..to).filter(|names| !names.is_empty()) else {
            continue;
        };
        let rewritten = call.rewrite_print_fmt(|text| {
            replace_evals(text, |rest| {
                names
                    .iter()
                    .find(|eval| {
                        let name = eval.name.to_bytes();
                        rest.starts_with(name) && !rest.get(name.len()).is_some_and(is_word)
                    })
                    .map(|eval| (eval.name.to_bytes().len(), eval.value))
            })
        });
        result = result.and(rewritten);
    }
    result
}

fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

/// A module with `events` is loaded. `evals` are the enum names in their formats. Task context,
/// sleeps.
pub(crate) fn module_comes<'a>(
    module: usize,
    events: impl Iterator<Item = Result<Registered>>,
    evals: impl Iterator<Item = Eval<'a>>,
) {
    let result = registry::lock().and_then(|mut registry| {
        // An event that cannot be added costs none of the others.
        let mut result = Ok(());
        for mut event in events.flatten() {
            check::look_at(&mut event);
            result = result.and(registry.add(event).map(drop));
        }
        let evals = gathered(evals, module);
        result = result.and(
            evals.and_then(|evals| rewrite(&mut registry, &|call| call.module() == module, evals)),
        );
        let its = |event: &&registry::Event| event.module() == module;
        if let Some(name) = registry
            .events()
            .iter()
            .find(its)
            .and_then(|event| event.module_name())
        {
            let name = CString::try_from(name)?;
            registry.module_is_here(name.to_bytes());
        }
        result
    });
    if let Err(error) = result {
        pr_warn!("not all events of a module are known: {:?}\n", error);
    }
}

/// A module is unloaded. Removes its events. Task context, sleeps.
pub(crate) fn module_goes(module: usize) {
    #[cfg(CONFIG_TRACE_EVAL_MAP_FILE)]
    evals::forget(module);
    let result = registry::lock().and_then(|mut registry| {
        registry.remove(&|event| event.module() == module)?;
        // As in C, also for a module without events.
        registry.clear_unknown();
        Ok(())
    });
    if let Err(error) = result {
        pr_err!("events of a module that goes: {:?}\n", error);
    }
}
