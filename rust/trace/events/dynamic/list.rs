// SPDX-License-Identifier: GPL-2.0

//! The list of events that users define, and what a kind of them has to be.

use crate::core::event::probe::command::{words, Removal};
use crate::core::format::Out;
use crate::kernel::sort::sort_by;
use crate::kernel::trace_event::Call;
use crate::trace::events::registry::{self, EventId, Registry};
use crate::trace::instance::Instance;
use core::any::Any;
use core::fmt;
#[cfg(CONFIG_FPROBE_EVENTS)]
use core::ops::Range;
use kernel::new_mutex;
use kernel::prelude::*;
use kernel::sync::{Mutex, MutexGuard, SetOnce};

/// A kind of events.
pub(crate) trait Kind: Sync {
    /// Makes the definition in `command`, which is not empty, and lists it; `false` if it is of
    /// another kind. Task context, sleeps.
    ///
    /// The caller has not locked the list. To find what a definition names may load a module: a path
    /// may be mounted when it is walked. That module waits for the list.
    ///
    /// # Errors
    ///
    /// What is wrong with the command; `error_log` gets it, too.
    fn create(&self, command: &[u8]) -> Result<bool>;

    /// Whether `one` is of this kind.
    fn has(&self, one: &dyn Dynamic) -> bool;

    /// Runs a line of the kind's own file, if that has commands of its own. As [`command`].
    fn command(&self, _command: &[u8]) -> Option<Result> {
        None
    }
}

/// A definition of a user.
pub(crate) trait Dynamic: Send + Sync {
    /// Its type.
    fn as_any(&self) -> &dyn Any;

    /// Writes the definition, as a line.
    fn show(&self, out: &mut dyn Out) -> fmt::Result;

    /// The same in the file of its kind.
    fn show_alone(&self, out: &mut dyn Out) -> fmt::Result {
        self.show(out)
    }

    /// Whether a file or perf gets hits of its event.
    fn is_busy(&self, registry: &Registry) -> bool;

    /// Whether `removal`, with the words `rest` after the name, selects it.
    fn matches(&self, removal: &Removal<'_>, rest: &mut dyn Iterator<Item = &[u8]>) -> bool;

    /// Removes it; with `is_last`, its event too. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `EBUSY` if the event is used, `ENOMEM`.
    fn end(&self, is_last: bool, registry: &mut Registry) -> Result;

    /// Whether the caller may remove it. `EPERM`.
    fn may_end(&self) -> Result {
        Ok(())
    }

    /// Its event, which others may share.
    fn event_id(&self) -> EventId;

    /// What [`Dynamic::end`] does where the event is gone or stays. Task context, sleeps.
    fn detach(&self);

    /// Whether `other` is of the same event.
    fn shares_event_with(&self, other: &dyn Dynamic) -> bool;

    /// Registers the probe if it is in the module `name`, which is being loaded. Task context,
    /// sleeps.
    #[cfg_attr(
        not(CONFIG_FUNCTION_TRACER),
        expect(dead_code, reason = "no kind has probes in modules")
    )]
    fn module_comes(&self, name: &[u8]);

    /// A module was loaded as far as its tracepoints, or is about to go. Task context, sleeps.
    #[cfg(CONFIG_FPROBE_EVENTS)]
    fn tracepoints_change(&self, _change: &Change) {}
}

/// A change of modules, of which tracepoints are part.
#[cfg(CONFIG_FPROBE_EVENTS)]
pub(crate) enum Change {
    /// One is loaded; its tracepoints can be probed.
    Comes,
    /// One goes, with its text.
    Goes(Range<usize>),
}

/// An event that perf made for itself. No file lists it.
pub(super) trait Local: Send {
    /// The event.
    fn call(&self) -> &Call;
}

/// All definitions, oldest first.
pub(crate) struct List {
    all: KVec<KBox<dyn Dynamic>>,
    kinds: &'static [&'static dyn Kind],
    locals: KVec<KBox<dyn Local>>,
}

static LIST: SetOnce<Pin<KBox<Mutex<List>>>> = SetOnce::new();

/// Makes an empty list, for definitions of `kinds`. Once, at boot. `ENOMEM`.
pub(super) fn init(kinds: &'static [&'static dyn Kind]) -> Result {
    let empty = List {
        all: KVec::new(),
        kinds,
        locals: KVec::new(),
    };
    LIST.populate(KBox::pin_init(new_mutex!(empty), GFP_KERNEL)?);
    Ok(())
}

/// Takes the mutex of the list. Task context, sleeps. `ENODEV` before there are events.
pub(crate) fn lock() -> Result<MutexGuard<'static, List>> {
    Ok(LIST.as_ref().ok_or(ENODEV)?.lock())
}

/// Runs one command: a definition, or a removal that begins with `-` or `!`. With `kind` the command
/// is of that kind, and `!` is not known. Task context, sleeps. The caller has not locked the list.
///
/// # Errors
///
/// `EINVAL` for what no kind knows, and what is wrong with it, both of which are in `error_log`;
/// `ENOENT` and `EBUSY` as [`List::remove`].
pub(crate) fn command(text: &[u8], kind: Option<&dyn Kind>) -> Result {
    if words(text).next().is_none() {
        return Ok(());
    }
    if let Some(result) = kind.and_then(|kind| kind.command(text)) {
        return result;
    }
    if text.starts_with(b"-") || kind.is_none() && text.starts_with(b"!") {
        return lock()?.remove(text, kind);
    }
    if let Some(kind) = kind {
        return if kind.create(text)? {
            Ok(())
        } else {
            Err(EINVAL)
        };
    }
    let kinds = lock()?.kinds;
    for kind in kinds {
        if kind.create(text)? {
            return Ok(());
        }
    }
    let message = "No matching dynamic event type";
    let top = Instance::top()?;
    top.errors().push(b"dynevent", text, 0, message);
    Err(EINVAL)
}

impl List {
    /// All of them.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &dyn Dynamic> {
        self.all.iter().map(|dynamic| &**dynamic)
    }

    /// The first of `kind`, or of any, at index `from` or behind it, with its index.
    pub(crate) fn seek(
        &self,
        kind: Option<&dyn Kind>,
        from: usize,
    ) -> Option<(usize, &dyn Dynamic)> {
        let mut all = self.iter().enumerate().skip(from);
        all.find(|(_, one)| kind.is_none_or(|kind| kind.has(*one)))
    }

    /// Those of one type.
    pub(crate) fn of<T: 'static>(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.iter().filter_map(|any| any.as_any().downcast_ref())
    }

    /// Makes room for one more. `ENOMEM`.
    pub(super) fn reserve(&mut self) -> Result {
        Ok(self.all.reserve(1, GFP_KERNEL)?)
    }

    /// Adds `made`. The room was made before it was: one that is not listed could not be removed.
    pub(super) fn push<D: Dynamic + 'static>(&mut self, made: KBox<D>) -> Result {
        self.all.push_within_capacity(made).map_err(|_| ENOMEM)
    }

    /// Removes the one at `at`.
    fn end(&mut self, at: usize, registry: &mut Registry) -> Result {
        let Some(one) = self.all.get(at) else {
            return Ok(());
        };
        let others = self.iter().filter(|other| one.shares_event_with(*other));
        let is_last = others.count() == 1;
        one.may_end()?;
        one.end(is_last, registry)?;
        self.all.remove(at).map(drop).map_err(|_| EINVAL)
    }

    /// Removes those that `text` selects, and the entries of all events that were removed.
    ///
    /// # Errors
    ///
    /// `EINVAL` for what is no removal, `ENOENT` if there is none, `EBUSY` for one that is used.
    pub(super) fn remove(&mut self, text: &[u8], kind: Option<&dyn Kind>) -> Result {
        let mut parts = words(text);
        let head = parts.next().ok_or(EINVAL)?;
        let removal = Removal::parse(head).ok_or(EINVAL)?;
        let ended = self.end_those(|one| {
            kind.is_none_or(|kind| kind.has(one)) && one.matches(&removal, &mut parts.clone())
        });
        registry::lock()?.clear_unknown();
        ended
    }

    /// Removes those that `is` accepts, up to one that cannot be removed.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none, `EBUSY` for one that is used, `ENOMEM`.
    pub(super) fn end_those(&mut self, is: impl Fn(&dyn Dynamic) -> bool) -> Result {
        let mut registry = registry::lock()?;
        let mut result = Err(ENOENT);
        let mut at = 0;
        while let Some(one) = self.all.get(at) {
            if !is(&**one) {
                at += 1;
                continue;
            }
            result = self.end(at, &mut registry);
            if result.is_err() {
                break;
            }
        }
        result
    }

    /// Removes those with the events `ids`, which share them with no others and are not used; the
    /// buffers keep their entries. As [`Registry::remove_and_keep_entries`].
    #[cfg(CONFIG_USER_EVENTS)]
    pub(super) fn end_together(&mut self, ids: &[EventId], registry: &mut Registry) -> Result {
        registry.remove_and_keep_entries(ids)?;
        self.all
            .retain(|one| ids.binary_search(&one.event_id()).is_err());
        Ok(())
    }

    /// Removes the events of those that `is` selects, all at once, as one wait does for all of them.
    /// Does nothing if something holds one of them. `ENOMEM`.
    fn end_events(
        &self,
        is: impl Fn(&dyn Dynamic) -> bool,
        registry: &mut Registry,
    ) -> Result<bool> {
        let mut events = KVec::new();
        for one in self.iter().filter(|one| is(*one)) {
            events.push(one.event_id(), GFP_KERNEL)?;
        }
        sort_by(&mut events, EventId::cmp);
        let is_held = |id: &EventId| {
            let event = registry.event(*id);
            event.is_some_and(|event| event.is_in_use())
        };
        if events.iter().any(is_held) {
            return Ok(false);
        }
        registry.remove(&|event| events.binary_search(&event.id()).is_ok())?;
        Ok(true)
    }

    /// Removes all, or those of `kind`, none if one is in use; and the entries of all events that were
    /// removed.
    ///
    /// # Errors
    ///
    /// `EBUSY`, `ENOMEM`.
    pub(crate) fn clear(&mut self, kind: Option<&dyn Kind>) -> Result {
        let mut registry = registry::lock()?;
        let ended = self.end_all(kind, &mut registry);
        registry.clear_unknown();
        ended
    }

    fn end_all(&mut self, kind: Option<&dyn Kind>, registry: &mut Registry) -> Result {
        let is = |one: &dyn Dynamic| kind.is_none_or(|kind| kind.has(one));
        let busy = |one: &dyn Dynamic| is(one) && one.is_busy(registry);
        if self.iter().any(busy) {
            return Err(EBUSY);
        }
        for one in self.iter().filter(|one| is(*one)) {
            one.may_end()?;
        }
        if self.end_events(is, registry)? {
            self.iter()
                .filter(|one| is(*one))
                .for_each(|one| one.detach());
            self.all.retain(|one| !is(&**one));
            return Ok(());
        }
        // An event that holds another one may go before that.
        let mut at = 0;
        while let Some(one) = self.all.get(at) {
            match is(&**one) {
                true => self.end(at, registry)?,
                false => at += 1,
            }
        }
        Ok(())
    }

    /// Keeps `local`, if `begin` succeeds. Task context, sleeps. `ENOMEM`, and the errors of
    /// `begin`.
    #[cfg(any(CONFIG_UPROBE_EVENTS, all(CONFIG_KPROBE_EVENTS, CONFIG_PERF_EVENTS)))]
    pub(super) fn add_local<L: Local + 'static>(
        &mut self,
        local: L,
        begin: impl FnOnce(&Call) -> Result,
    ) -> Result {
        let local = KBox::new(local, GFP_KERNEL)?;
        self.locals.reserve(1, GFP_KERNEL)?;
        begin(local.call())?;
        self.locals.push_within_capacity(local).map_err(|_| ENOMEM)
    }

    /// The local event of `call`, which is kept no longer.
    #[cfg(any(CONFIG_UPROBE_EVENTS, all(CONFIG_KPROBE_EVENTS, CONFIG_PERF_EVENTS)))]
    pub(super) fn take_local(&mut self, call: &Call) -> Option<KBox<dyn Local>> {
        let is = |local: &KBox<dyn Local>| core::ptr::eq(local.call(), call);
        let at = self.locals.iter().position(is)?;
        self.locals.remove(at).ok()
    }
}
