// SPDX-License-Identifier: GPL-2.0

//! Entries for conditions that are marked as likely or unlikely.
//!
//! At most one [`Recorder`] is the current one, that of the tracer that began last ([`begin`]): the
//! tracer `branch`, or option `branch` of an instance whose tracer was set while it was on. When it
//! ends, the one before goes on.
//!
//! [`record`] is called in any context, at very many places. It records with interrupts off: then
//! no interrupt's entries are held up, nothing asks for a reschedule at the end (the scheduler is
//! full of such conditions), and what it looks at stays. The plain path calls no C function and so
//! meets no condition itself; the other one is guarded, level by level of contexts, so that an NMI
//! within it records, too. Where RCU does not watch nothing is recorded.
//!
//! Locks: the mutex of [`USERS`] is taken under an instance's state mutex, and holds nothing.

use crate::core::format::branch::Place;
use crate::core::format::entry::{Branch, BranchSite, Entry};
use crate::kernel::branch_sites::{self, Annotated, ANNOTATED_SIZE};
use crate::kernel::context::{IrqsOff, LentOff};
use crate::kernel::percpu::PerCpu;
use crate::kernel::rcu_slot::RcuSlot;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::Unfinished;
use crate::trace::instance::Instance;
use kernel::prelude::*;
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{new_mutex, Arc, Mutex, SetOnce};

/// The current recorder. The hot path checks whether there is one.
static CURRENT: RcuSlot<Recorder> = RcuSlot::new();

/// The tracers that could record, oldest first.
#[pin_data]
struct Users {
    #[pin]
    list: Mutex<KVec<Arc<Recorder>>>,
}

static USERS: SetOnce<Arc<Users>> = SetOnce::new();

/// Prepares for users. Once, at boot, before a tracer is set. `ENOMEM`.
pub(crate) fn init() -> Result {
    USERS.populate(Arc::pin_init(
        pin_init!(Users { list <- new_mutex!(KVec::new()) }),
        GFP_KERNEL,
    )?);
    Ok(())
}

/// Records into one instance.
struct Recorder {
    instance: Arc<Instance>,
    /// What is recorded of each annotated site of the kernel's, whichever way it goes.
    said: KVVec<BranchSite>,
    /// Where those sites begin.
    first: usize,
    /// On each CPU a bit for each level of contexts that is in [`Recorder::record_slowly`].
    inside: PerCpu<Atomic<u32>>,
}

/// Records as long as it lives, unless somebody begins after it. Dropping it: task context, sleeps.
pub(crate) struct Recording(Arc<Recorder>);

/// Begins to record into `instance`. Task context, sleeps. `ENOMEM`.
pub(crate) fn begin(instance: &Arc<Instance>) -> Result<Recording> {
    let recorder = Arc::new(Recorder::new(instance.clone())?, GFP_KERNEL)?;
    let mut users = USERS.as_ref().ok_or(ENODEV)?.list.lock();
    users.push(recorder.clone(), GFP_KERNEL)?;
    CURRENT.replace(Some(recorder.clone()));
    Ok(Recording(recorder))
}

impl Drop for Recording {
    fn drop(&mut self) {
        let Some(users) = USERS.as_ref() else {
            return;
        };
        let mut users = users.list.lock();
        users.retain(|user| !Arc::ptr_eq(user, &self.0));
        CURRENT.replace(users.last().cloned());
    }
}

/// Does anybody record? Any context, by one load.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    !CURRENT.is_empty()
}

/// The condition of `site` was looked at. Any context; access to user memory is closed.
#[inline(never)]
pub(crate) fn record(site: Annotated, correct: bool) {
    let context = Context::capture();
    IrqsOff::with(|stay| {
        if let Some(recorder) = CURRENT.get_watched(stay) {
            recorder.record(stay.lend(), context, site, correct);
        }
    });
}

impl Recorder {
    fn new(instance: Arc<Instance>) -> Result<Self> {
        let sites = branch_sites::annotated();
        let mut said = KVVec::with_capacity(sites.len(), GFP_KERNEL)?;
        let mut first = 0;
        for site in sites.iter() {
            if said.is_empty() {
                first = site.address();
            }
            said.push(said_of(site), GFP_KERNEL)?;
        }
        Ok(Self {
            instance,
            said,
            first,
            inside: PerCpu::new(|_| Atomic::new(0))?,
        })
    }

    /// The hot path: interrupts are off, RCU watches.
    #[inline(always)]
    fn record(&self, stay: LentOff<'_>, context: Context, site: Annotated, correct: bool) {
        let buffer = self.instance.buffer();
        let index = site.address().wrapping_sub(self.first) / ANNOTATED_SIZE;
        let Some(said) = self.said.get(index) else {
            return self.record_of_module(stay, context, site, correct);
        };
        let inside = || self.inside.this().load(Relaxed) != 0;
        let Some(task) = context.plain_task().filter(|_| !inside()) else {
            let left = Unfinished::no_attempt(stay);
            return self.record_slowly(context, site, correct, said, left);
        };
        let header = task.header(Branch::ID);
        let words = |_| said.words(header, correct, site.constant());
        let (left, _) = buffer.record_words(stay, task, words);
        if !left.is_done() {
            self.record_slowly(context, site, correct, said, left);
        }
    }

    /// A module may be gone when its entries are read: names are copied there and then.
    #[cold]
    #[inline(never)]
    fn record_of_module(
        &self,
        stay: LentOff<'_>,
        context: Context,
        site: Annotated,
        correct: bool,
    ) {
        self.record_slowly(
            context,
            site,
            correct,
            &said_of(site),
            Unfinished::no_attempt(stay),
        );
    }

    /// What is `left` after an attempt. It calls C functions, whose conditions are not recorded.
    #[cold]
    #[inline(never)]
    fn record_slowly(
        &self,
        context: Context,
        site: Annotated,
        correct: bool,
        said: &BranchSite,
        left: Unfinished<LentOff<'_>>,
    ) {
        let buffer = self.instance.buffer();
        let inside = self.inside.this();
        let (bit, before) = (1 << context.level(), inside.load(Relaxed));
        if before & bit != 0 {
            // There was no attempt then.
            return;
        }
        inside.store(before | bit, Relaxed);
        if !buffer.complete(left).0 && buffer.is_on() {
            let entry = said.entry(correct, site.constant());
            // Where there is no room the buffer counts it.
            let _ = buffer.write_in(context.rest(), entry, []);
        }
        inside.store(before, Relaxed);
    }
}

/// What is recorded of a site but for the way it goes. Any context.
fn said_of(annotated: Annotated) -> BranchSite {
    let site = annotated.site();
    Place {
        function: site.function(),
        file: site.file(),
        line: site.line(),
    }
    .entries()
}
