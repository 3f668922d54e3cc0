// SPDX-License-Identifier: GPL-2.0

//! Shadow stacks: where the traced functions of a task return to.
//!
//! A traced function's return address is exchanged for the address of a hook; where it really
//! returns to is kept here, in a page of the task's own, `task_struct.ret_stack`. The task itself
//! writes to it, and what interrupts the task, which leaves it as it was; unwinders read. No lock,
//! any context, NMI included.
//!
//! The page is 512 words, and grows upwards, `curr_ret_stack` words being in use:
//!
//! ```text
//!   frame   retp  ret  func  data  Top        one traced function; see [`Frame`]
//!   data    word...  Top                      what a user of the function keeps until it returns, above its frame
//! ```
//!
//! so that each ends in a [`Top`], which says what lies below it. The last [`VARS`] words are one
//! word for each user that stays with the task, and the number of the registration that this word
//! is of.
//!
//! A frame is written before `curr_ret_stack` covers it. An interrupt may then have overwritten it,
//! and that shows in its first word, as no two live frames have the same place of their return
//! address on the stack ([`Room::push`]).
//!
//! Tasks get their page when they first run a traced function. It comes from a few spare ones
//! ([`prepare`]), since hits cannot allocate; an irq_work replaces them. Fields of
//! `include/linux/sched.h`; freed with the task.

use crate::core::bits::fields;
use crate::kernel::ftrace::{self, running_task, task_struct};
use crate::kernel::irq_work::{IrqWork, Run};
use crate::kernel::tracepoint::TaskView;
use core::ptr::{self, NonNull};
use core::sync::atomic::{compiler_fence, Ordering};
use kernel::cpu::CpuId;
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};
use kernel::sync::SetOnce;
use kernel::types::NotThreadSafe;

/// Words of a shadow stack.
const WORDS: usize = 512;
/// Words at its end that are not for frames.
const VARS: usize = 2 * MAX_USERS;
/// So many users there can be at a time.
pub(crate) const MAX_USERS: usize = 16;
/// Words of a frame.
const FRAME: usize = 5;
/// A frame can begin here at most.
const LAST: usize = WORDS - VARS - FRAME;
/// Spare stacks for each CPU.
const SPARES: usize = 4;

const RETP: usize = 0;
const RET: usize = 1;
const FUNC: usize = 2;
const DATA: usize = 3;
const TOP: usize = 4;

type Page = [u64; WORDS];

/// The last word of a frame or of data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Top(pub(crate) u64);

fields!(Top: u64 {
    /// [`Self::IS_FRAME`], [`Self::IS_DATA`], or 0 for neither.
    kind / with_kind: 0, 2;
    /// Whose data it is.
    user / with_user: 2, 4;
    /// What users call a frame's kind by, or how many words of data there are.
    number / with_number: 8, 56;
});

impl Top {
    const IS_FRAME: u64 = 1;
    const IS_DATA: u64 = 2;

    /// The end of a frame of the kind that users call by a number; below 2^56.
    pub(crate) const fn frame(kind: u64) -> Self {
        Self(0).with_kind(Self::IS_FRAME).with_number(kind)
    }

    const fn data(user: usize, words: usize) -> Self {
        let data = Self(0).with_kind(Self::IS_DATA);
        data.with_user(user as u64).with_number(words as u64)
    }

    const fn is_frame(self) -> bool {
        self.kind() == Self::IS_FRAME
    }

    /// User and number of words, for data.
    const fn as_data(self) -> Option<(usize, usize)> {
        if self.kind() == Self::IS_DATA {
            Some((self.user() as usize, self.number() as usize))
        } else {
            None
        }
    }
}

/// A traced function that has not returned.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// Where its return address was on the stack.
    pub(crate) retp: usize,
    /// Where it returns to.
    pub(crate) ret: usize,
    /// Its patch site.
    pub(crate) func: usize,
    /// What its kind of frame needs.
    pub(crate) data: u64,
    /// Its kind.
    pub(crate) top: Top,
}

/// A task, as far as shadow stacks are concerned.
///
/// # Invariants
///
/// It stays as long as this is used.
#[derive(Clone, Copy)]
struct Task(NonNull<task_struct>);

macro_rules! field {
    ($task:expr, $field:ident as $ty:ty) => {
        // SAFETY: by the invariant of `Task` it is alive, and its field has this size and
        // alignment.
        unsafe { Atomic::<$ty>::from_ptr((&raw mut (*$task.0.as_ptr()).$field).cast()) }
    };
}

impl Task {
    #[inline(always)]
    fn used(&self) -> &Atomic<i32> {
        field!(self, curr_ret_stack as i32)
    }

    #[inline(always)]
    fn stack(&self) -> &Atomic<*mut u64> {
        field!(self, ret_stack as *mut u64)
    }

    /// Word `at` of the stack at `base`.
    ///
    /// # Safety
    ///
    /// `base` is the task's stack and stays so; `at` is below [`WORDS`].
    #[inline(always)]
    unsafe fn word<'a>(&self, base: *mut u64, at: usize) -> &'a Atomic<u64> {
        // SAFETY: `base` is the task's stack and `at` is below `WORDS`: a word of the page. All
        // accesses are atomic.
        unsafe { Atomic::from_ptr(base.wrapping_add(at)) }
    }

    /// The frames from the one below `used` on, innermost first, with where each begins.
    fn frames(&self, used: usize) -> Frames<'_> {
        Frames {
            task: self,
            base: self.stack().load(Relaxed),
            used,
        }
    }
}

/// The task that runs this.
#[derive(Clone, Copy)]
pub(crate) struct Current(Task, NotThreadSafe);

impl Current {
    /// Any context.
    #[inline(always)]
    pub(crate) fn get() -> Self {
        Self(Task(running_task()), NotThreadSafe)
    }

    /// Has it, or who suspends the machine, asked not to be traced?
    #[inline(always)]
    pub(crate) fn is_paused(&self) -> bool {
        field!(self.0, tracing_graph_pause as i32).load(Relaxed) != 0
    }

    /// How many traced functions it is in, less one.
    #[inline(always)]
    pub(crate) fn depth(&self) -> i32 {
        field!(self.0, curr_ret_depth as i32).load(Relaxed)
    }

    /// Sets [`Current::depth`]; undone before the context ends.
    #[inline(always)]
    pub(crate) fn set_depth(&self, depth: i32) {
        field!(self.0, curr_ret_depth as i32).store(depth, Relaxed);
    }

    /// How many functions were not traced for want of room.
    #[inline(always)]
    pub(crate) fn overrun(&self) -> u32 {
        field!(self.0, trace_overrun as u32).load(Relaxed)
    }

    /// How long it was not running, as far as that was counted ([`count_sleep`]).
    pub(crate) fn sleep_time(&self) -> u64 {
        field!(self.0, ftrace_sleeptime as u64).load(Relaxed)
    }

    /// Room for a frame, if it has a stack and that is not full; [`Current::make_room`] may help
    /// then.
    #[inline(always)]
    pub(crate) fn room(&self) -> Option<Room<'_>> {
        let base = self.0.stack().load(Relaxed);
        let at = self.0.used().load(Relaxed) as usize;
        if base.is_null() || at > LAST {
            return None;
        }
        Some(Room {
            task: &self.0,
            base,
            at,
        })
    }

    /// [`Current::room`], if there are `words` left above the frame, too.
    pub(crate) fn room_below(&self, words: usize) -> Option<Room<'_>> {
        self.room()
            .filter(|room| room.at.saturating_add(words) < LAST - FRAME)
    }

    /// [`Current::room_below`], taking a spare stack if it has none. What gets no room is counted.
    #[cold]
    pub(crate) fn make_room(&self, words: usize) -> Option<Room<'_>> {
        if self.0.stack().load(Relaxed).is_null() {
            // What this calls shall not be traced on the way.
            let pause = field!(self.0, tracing_graph_pause as i32);
            pause.fetch_add(1, Relaxed);
            self.take_spare();
            pause.fetch_sub(1, Relaxed);
        }
        let room = if words == 0 {
            self.room()
        } else {
            self.room_below(words)
        };
        if room.is_none() {
            field!(self.0, trace_overrun as u32).fetch_add(1, Relaxed);
        }
        room
    }

    fn take_spare(&self) {
        let Some(page) = SPARE.as_ref().and_then(|spare| spare.take()) else {
            return;
        };
        let page = KBox::into_raw(page).cast();
        if self
            .0
            .stack()
            .cmpxchg(ptr::null_mut(), page, ordering::Full)
            .is_err()
        {
            // An interrupt was traced meanwhile, and has taken another.
            // SAFETY: it came from `KBox::into_raw` just now, and nobody else has it.
            let page = unsafe { KBox::from_raw(page.cast::<Page>()) };
            if let Some(spare) = SPARE.as_ref() {
                spare.give(page);
            }
        }
    }

    /// The innermost frame, if there is no data above it; else something whose words make no frame
    /// that returns by any word of the stack. None if there is none, or the stack is not as it must
    /// be.
    #[inline(always)]
    pub(crate) fn innermost(&self) -> Option<Held<'_>> {
        let base = self.0.stack().load(Relaxed);
        let at = (self.0.used().load(Relaxed) as usize).wrapping_sub(FRAME);
        if base.is_null() || at > LAST {
            return None;
        }
        Some(Held {
            task: &self.0,
            base,
            at,
        })
    }

    /// The frame that begins at `at`.
    ///
    /// # Safety
    ///
    /// There is one, as [`Held::at`] said, and it was not popped since.
    pub(crate) unsafe fn frame_at(&self, at: usize) -> Held<'_> {
        Held {
            task: &self.0,
            base: self.0.stack().load(Relaxed),
            at,
        }
    }

    /// [`Current::innermost`] where there may be data above it.
    pub(crate) fn innermost_below_data(&self) -> Option<Held<'_>> {
        let (at, _) = self.0.frames(self.used()).next()?;
        Some(Held {
            task: &self.0,
            base: self.0.stack().load(Relaxed),
            at,
        })
    }

    /// The innermost frame of a function that returns by the word at `retp`.
    pub(crate) fn returning_by(&self, retp: usize) -> Option<Returning<'_>> {
        let mut end = self.used();
        for (skipped, (at, frame)) in self.0.frames(end).enumerate() {
            if frame.retp == retp {
                let base = self.0.stack().load(Relaxed);
                return Some(Returning {
                    frame: Held {
                        task: &self.0,
                        base,
                        at,
                    },
                    skipped,
                    end,
                });
            }
            end = at;
        }
        None
    }

    /// [`innermost_return`] of this task.
    pub(crate) fn innermost_return(&self, hook: usize) -> Option<usize> {
        // SAFETY: it runs this.
        unsafe { innermost_return(self.0 .0.as_ptr(), hook) }
    }

    /// Words of the stack that are in use.
    pub(crate) fn used(&self) -> usize {
        usize::try_from(self.0.used().load(Relaxed)).unwrap_or(0)
    }

    /// Gives up what is above `at`, where a frame or its data begins.
    ///
    /// # Safety
    ///
    /// `at` is such a place, or [`Current::used`]; the functions of the frames above it return to
    /// where they are really called from, or never.
    #[inline(always)]
    pub(crate) unsafe fn pop(&self, at: usize) {
        compiler_fence(Ordering::SeqCst);
        self.0.used().store(at as i32, Relaxed);
    }

    /// Memory of `bytes` above the innermost frame, kept until that is popped; none if there is not
    /// so much.
    pub(crate) fn reserve(&self, user: usize, bytes: usize) -> Option<&[Atomic<u64>]> {
        let base = self.stack()?;
        let (at, words) = (self.used(), bytes.div_ceil(8));
        let end = at.checked_add(words)?;
        if words > MAX_DATA || end >= LAST {
            return None;
        }
        // SAFETY: the stack stays while the task runs; `end` is below `LAST`.
        let top = unsafe { self.0.word(base.as_ptr(), end) };
        let value = Top::data(user, words).0;
        // Once before it counts and once after, as an interrupt in between uses the same words.
        top.store(value, Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.0.used().store(end as i32 + 1, Relaxed);
        compiler_fence(Ordering::SeqCst);
        top.store(value, Relaxed);
        // SAFETY: words of the page, which stays while the task runs; all accesses are atomic.
        Some(unsafe { core::slice::from_raw_parts(base.as_ptr().add(at).cast(), words) })
    }

    /// What `user` has reserved above the frame of the `depth`th function, 0 being the innermost.
    pub(crate) fn reserved(&self, user: usize, depth: usize) -> Option<&[Atomic<u64>]> {
        let base = self.stack()?;
        let mut used = self.used();
        if let Some(above) = depth.checked_sub(1) {
            used = self.0.frames(used).nth(above)?.0;
        }
        loop {
            let at = used.checked_sub(1).filter(|at| *at < WORDS)?;
            // SAFETY: the stack stays while the task runs.
            let (owner, words) =
                Top(unsafe { self.0.word(base.as_ptr(), at) }.load(Relaxed)).as_data()?;
            used = at.checked_sub(words)?;
            if owner == user {
                // SAFETY: as in `reserve`.
                return Some(unsafe {
                    core::slice::from_raw_parts(base.as_ptr().add(used).cast(), words)
                });
            }
        }
    }

    /// The word that stays with this task for `user`; 0 at first in the registration `since`. None
    /// without a stack.
    pub(crate) fn var(&self, user: usize, since: u64) -> Option<&Atomic<u64>> {
        let base = self.stack()?;
        let at = WORDS - VARS + 2 * (user % MAX_USERS);
        // SAFETY: words of the page, which stays while the task runs.
        let (var, of) = unsafe {
            (
                self.0.word(base.as_ptr(), at),
                self.0.word(base.as_ptr(), at + 1),
            )
        };
        if of.load(Relaxed) != since {
            var.store(0, Relaxed);
            of.store(since, Relaxed);
        }
        Some(var)
    }

    fn stack(&self) -> Option<NonNull<u64>> {
        NonNull::new(self.0.stack().load(Relaxed))
    }
}

/// The most words that one [`Current::reserve`] gets.
pub(crate) const MAX_DATA: usize = 32;

/// What [`Current::returning_by`] finds.
pub(crate) struct Returning<'a> {
    /// The frame.
    pub(crate) frame: Held<'a>,
    /// How many frames lie further in: of functions that were left without returning.
    pub(crate) skipped: usize,
    /// Where those begin.
    pub(crate) end: usize,
}

/// A frame of the running task.
pub(crate) struct Held<'a> {
    task: &'a Task,
    base: *mut u64,
    at: usize,
}

impl Held<'_> {
    #[inline(always)]
    fn word(&self, of: usize) -> &Atomic<u64> {
        // SAFETY: whoever made this found the stack, which stays while the task runs, and a frame
        // in it at `at`.
        unsafe { self.task.word(self.base, self.at.wrapping_add(of)) }
    }

    /// Where it begins.
    #[inline(always)]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// See [`Frame`].
    #[inline(always)]
    pub(crate) fn retp(&self) -> usize {
        self.word(RETP).load(Relaxed) as usize
    }

    /// See [`Frame`].
    #[inline(always)]
    pub(crate) fn ret(&self) -> usize {
        self.word(RET).load(Relaxed) as usize
    }

    /// See [`Frame`].
    #[inline(always)]
    pub(crate) fn func(&self) -> usize {
        self.word(FUNC).load(Relaxed) as usize
    }

    /// See [`Frame`].
    #[inline(always)]
    pub(crate) fn data(&self) -> u64 {
        self.word(DATA).load(Relaxed)
    }

    /// Changes [`Frame::data`].
    pub(crate) fn set_data(&self, data: u64) {
        self.word(DATA).store(data, Relaxed);
    }

    /// See [`Frame`].
    #[inline(always)]
    pub(crate) fn top(&self) -> Top {
        Top(self.word(TOP).load(Relaxed))
    }
}

/// Room for a frame on the running task's stack.
pub(crate) struct Room<'a> {
    task: &'a Task,
    base: *mut u64,
    at: usize,
}

impl Room<'_> {
    /// Puts a frame there. Whatever interrupted the task since has left the stack as it was.
    ///
    /// # Safety
    ///
    /// The function that returns by the word at `frame.retp` is to return to `frame.ret`: the hook
    /// goes there.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, frame: &Frame) {
        // SAFETY: `Current::room` found the stack, which stays while the task runs, with room from
        // `at` on.
        let first = unsafe { self.task.word(self.base, self.at.wrapping_add(RETP)) };
        // First: if it is still there at the end, no interrupt has written here since.
        first.store(frame.retp as u64, Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.fill(frame);
        compiler_fence(Ordering::SeqCst);
        self.task
            .used()
            .store((self.at.wrapping_add(FRAME)) as i32, Relaxed);
        compiler_fence(Ordering::SeqCst);
        if first.load(Relaxed) != frame.retp as u64 {
            self.push_again(frame);
        }
    }

    /// Where the frame begins.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    #[inline(always)]
    fn fill(&self, frame: &Frame) {
        for (at, word) in [
            (RET, frame.ret as u64),
            (FUNC, frame.func as u64),
            (DATA, frame.data),
            (TOP, frame.top.0),
        ] {
            // SAFETY: as in `push`.
            unsafe { self.task.word(self.base, self.at.wrapping_add(at)) }.store(word, Relaxed);
        }
    }

    #[cold]
    fn push_again(&self, frame: &Frame) {
        // SAFETY: as in `push`.
        unsafe { self.task.word(self.base, self.at.wrapping_add(RETP)) }
            .store(frame.retp as u64, Relaxed);
        self.fill(frame);
    }
}

impl Task {
    /// The frame at `at`.
    ///
    /// # Safety
    ///
    /// `base` is the task's stack and stays so; `at` is at most [`LAST`].
    #[inline(always)]
    unsafe fn frame(&self, base: *mut u64, at: usize) -> Frame {
        // SAFETY: `base` is a task's stack that stays, and a frame begins at `at`.
        let word = |of: usize| unsafe { self.word(base, at.wrapping_add(of)) }.load(Relaxed);
        Frame {
            retp: word(RETP) as usize,
            ret: word(RET) as usize,
            func: word(FUNC) as usize,
            data: word(DATA),
            top: Top(word(TOP)),
        }
    }
}

/// See [`Task::frames`]. It ends early where the words make no sense, which can be so for a task
/// that runs on another CPU.
struct Frames<'a> {
    task: &'a Task,
    base: *mut u64,
    used: usize,
}

impl Iterator for Frames<'_> {
    type Item = (usize, Frame);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let last = self
                .used
                .checked_sub(1)
                .filter(|at| *at < WORDS && !self.base.is_null())?;
            // SAFETY: the stack stays: the task runs this, or whoever unwinds it holds a reference;
            // `last` is below `WORDS`.
            let top = Top(unsafe { self.task.word(self.base, last) }.load(Relaxed));
            if let Some((_, words)) = top.as_data() {
                self.used = last.checked_sub(words)?;
                continue;
            }
            self.used = self
                .used
                .checked_sub(FRAME)
                .filter(|at| top.is_frame() && *at <= LAST)?;
            // SAFETY: as above.
            return Some((self.used, unsafe { self.task.frame(self.base, self.used) }));
        }
    }
}

/// Where the function whose return address was at `retp` really returns to; none if it is in no
/// frame of `task`, or only in those that return to `hook` themselves, as functions do that were
/// jumped to at the end of others.
///
/// Looks from the frame that begins at `*from` (0: all) outwards and leaves there the one it found.
/// Any context.
///
/// # Safety
///
/// `task` is a task that the caller has a reference to.
pub(crate) unsafe fn find(
    task: *mut task_struct,
    from: &mut i32,
    retp: usize,
    hook: usize,
) -> Option<usize> {
    let task = Task(NonNull::new(task)?);
    let used = if *from > 0 {
        *from
    } else {
        task.used().load(Relaxed)
    };
    let (at, frame) = task
        .frames(usize::try_from(used).ok()?)
        .find(|(_, frame)| frame.retp == retp && frame.ret != hook)?;
    *from = at as i32;
    Some(frame.ret)
}

/// Where the innermost function of `task` really returns to, `hook` itself apart. Any context.
///
/// # Safety
///
/// `task` is a task that the caller has a reference to.
pub(crate) unsafe fn innermost_return(task: *mut task_struct, hook: usize) -> Option<usize> {
    let task = Task(NonNull::new(task)?);
    let used = usize::try_from(task.used().load(Relaxed)).ok()?;
    let found = task
        .frames(used)
        .map(|(_, frame)| frame.ret)
        .find(|ret| *ret != hook);
    found
}

/// A new task has no stack.
///
/// # Safety
///
/// `task` is being made.
pub(crate) unsafe fn init(task: *mut task_struct) {
    let Some(task) = NonNull::new(task).map(Task) else {
        return;
    };
    task.stack().store(ptr::null_mut(), Relaxed);
    field!(task, trace_overrun as u32).store(0, Relaxed);
    field!(task, ftrace_timestamp as u64).store(0, Relaxed);
    // SAFETY: the task does not run yet.
    unsafe { begin(task.0.as_ptr()) };
}

/// An idle task begins anew; what it was in before its CPU went off line never returns. Nothing
/// happens to the running task, which is in functions that do: the boot CPU's becomes an idle task
/// on the way.
///
/// # Safety
///
/// `task` is the running task, or does not run.
pub(crate) unsafe fn begin(task: *mut task_struct) {
    let Some(task) = NonNull::new(task).map(Task) else {
        return;
    };
    if task.0 == Current::get().0 .0 {
        return;
    }
    task.used().store(0, Relaxed);
    field!(task, curr_ret_depth as i32).store(-1, Relaxed);
}

/// The running task hibernates the machine, or has done so: nothing of it is traced between, when
/// its memory is copied while it runs.
#[cfg(CONFIG_HIBERNATION)]
pub(super) fn pause_around_hibernation(begins: bool) {
    let pause = field!(Current::get().0, tracing_graph_pause as i32);
    if begins {
        pause.fetch_add(1, Relaxed);
    } else {
        pause.fetch_sub(1, Relaxed);
    }
}

/// The idle task of `cpu`, which is down and about to come up, begins anew. Task context.
pub(crate) fn begin_idle(cpu: CpuId) {
    if let Some(task) = ftrace::idle_task(cpu) {
        // SAFETY: the task of a CPU that is down does not run, and stays.
        unsafe { begin(task.as_ptr()) };
    }
}

/// The boot CPU's task was not made by anybody who would have called [`init`]: now it is in no
/// function. At boot, before anything is traced.
pub(crate) fn begin_boot_task() {
    Current::get().set_depth(-1);
}

/// Frees the stack of a task that is gone.
///
/// # Safety
///
/// Nobody else uses `task` any more.
pub(crate) unsafe fn free(task: *mut task_struct) {
    let Some(task) = NonNull::new(task).map(Task) else {
        return;
    };
    let page = task.stack().xchg(ptr::null_mut(), ordering::Full);
    if !page.is_null() {
        // SAFETY: `Current::take_spare` put a box's page there, and nobody uses the task any more.
        drop(unsafe { KBox::from_raw(page.cast::<Page>()) });
    }
}

/// At a switch from `prev` to `next`: counts how long a task does not run, for
/// [`Current::sleep_time`].
pub(crate) fn count_sleep(prev: TaskView<'_>, next: TaskView<'_>, now: u64) {
    // INVARIANT: a `TaskView` is of a task that stays.
    let (prev, next) = (Task(prev.as_ptr()), Task(next.as_ptr()));
    field!(prev, ftrace_timestamp as u64).store(now, Relaxed);
    let since = field!(next, ftrace_timestamp as u64).load(Relaxed);
    if since != 0 {
        let total = field!(next, ftrace_sleeptime as u64);
        total.store(
            total.load(Relaxed).wrapping_add(now.wrapping_sub(since)),
            Relaxed,
        );
    }
}

/// Stacks that no task has yet.
struct Spare {
    /// One place more for each CPU than are filled, for those that are given back.
    pages: KVec<Atomic<*mut Page>>,
    refill: Pin<KBox<IrqWork<Refill>>>,
}

static SPARE: SetOnce<Spare> = SetOnce::new();

/// Puts new stacks where some were taken.
struct Refill;

impl Run for Refill {
    fn run(&self) {
        // Without memory the functions of some task are counted as overrun until the next attempt.
        if let Some(spare) = SPARE.as_ref() {
            let _ = spare.fill(GFP_NOWAIT);
        }
    }
}

impl Spare {
    fn new() -> Result<Self> {
        let mut pages = KVec::new();
        for _ in 0..(SPARES + 1) * kernel::cpu::nr_cpu_ids() as usize {
            pages.push(Atomic::new(ptr::null_mut()), GFP_KERNEL)?;
        }
        Ok(Spare {
            pages,
            refill: KBox::pin_init(IrqWork::new(Refill), GFP_KERNEL)?,
        })
    }

    /// Any context.
    fn take(&self) -> Option<KBox<Page>> {
        let page = self
            .pages
            .iter()
            .filter(|place| !place.load(Relaxed).is_null())
            .map(|place| place.xchg(ptr::null_mut(), ordering::Full))
            .find(|p| !p.is_null());
        self.refill.queue();
        // SAFETY: what is in a place came from `KBox::into_raw`, and the exchange has made it ours
        // alone.
        page.map(|page| unsafe { KBox::from_raw(page) })
    }

    /// Any context. Frees nothing, which would not do there: with more places than `fill` fills,
    /// one is free.
    fn give(&self, page: KBox<Page>) {
        let page = KBox::into_raw(page);
        let _ = self
            .pages
            .iter()
            .filter(|place| place.load(Relaxed).is_null())
            .find(|place| place.cmpxchg(ptr::null_mut(), page, ordering::Full).is_ok());
    }

    /// Fills all places but the last few. `ENOMEM`.
    fn fill(&self, flags: kernel::alloc::Flags) -> Result {
        let filled = self
            .pages
            .iter()
            .filter(|place| !place.load(Relaxed).is_null())
            .count();
        for _ in filled..SPARES * kernel::cpu::nr_cpu_ids() as usize {
            let page = KBox::<Page>::new_uninit(flags | __GFP_ZERO)?;
            // SAFETY: words of zeros are a page.
            self.give(unsafe { page.assume_init() });
        }
        Ok(())
    }
}

kernel::sync::global_lock! {
    /// Two that prepare at the same time.
    // SAFETY: `init` runs before any other use, from `ftrace_init()`.
    pub(crate) unsafe(uninit) static PREPARING: Mutex<()> = ();
}

/// Makes sure that there are spare stacks: before anything is traced. Task context, may sleep.
/// `ENOMEM`.
pub(crate) fn prepare() -> Result {
    let _one = PREPARING.lock();
    if SPARE.as_ref().is_none() {
        SPARE.populate(Spare::new()?);
    }
    SPARE
        .as_ref()
        .map_or(Ok(()), |spare| spare.fill(GFP_KERNEL))
}
