// SPDX-License-Identifier: GPL-2.0

//! The running task's shadow stack: frames come and go, and users keep their words.

use super::layout::{Frame, Top, DATA, FRAME, FUNC, LAST, MAX_USERS, RET, RETP, TOP, VARS, WORDS};
use super::task::{field, innermost_return, Task};
use crate::core::sys::{computed, word_holds};
use crate::kernel::context::current_anew;
use crate::kernel::ftrace::running_task;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::{compiler_fence, Ordering};
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::types::NotThreadSafe;

/// The task that runs this.
#[derive(Clone, Copy)]
pub(crate) struct Current(pub(super) Task, NotThreadSafe);

impl Current {
    /// Any context.
    #[inline(always)]
    pub(crate) fn get() -> Self {
        Self(Task(running_task()), NotThreadSafe)
    }

    /// [`Current::get`] for code that has no register in which it could stay since then.
    #[inline(always)]
    pub(crate) fn get_anew() -> Self {
        Self(Task(current_anew()), NotThreadSafe)
    }

    /// Its pid.
    #[inline(always)]
    pub(crate) fn pid(&self) -> i32 {
        // It does not change while the task runs.
        field!(self.0, pid as i32).load(Relaxed)
    }

    /// Has the task, or the code that suspends the machine, paused graph tracing of it?
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

    /// How long it was not running, as far as that was counted ([`count_sleep`](super::count_sleep)).
    pub(crate) fn sleep_time(&self) -> u64 {
        field!(self.0, ftrace_sleeptime as u64).load(Relaxed)
    }

    /// Room for a frame, if it has a stack and that is not full; [`Current::make_room`] may help
    /// then.
    #[inline(always)]
    pub(crate) fn room(&self) -> Option<Room<'_>> {
        let at = self.0.used().load(Relaxed) as u32 as usize;
        (at <= LAST).then(|| self.room_at(at))
    }

    /// Is there a [`Current::room`]?
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.0.used().load(Relaxed) as u32 <= LAST as u32
    }

    /// The room that there is.
    ///
    /// # Safety
    ///
    /// [`Current::has_room`] said so, and no frame or data came since.
    #[inline(always)]
    pub(crate) unsafe fn room_again(&self) -> Room<'_> {
        // An interrupt leaves the stack as it found it.
        self.room_at(self.0.used().load(Relaxed) as u32 as usize)
    }

    /// The room at `at`, which is how much is used, and at most `LAST`.
    #[inline(always)]
    fn room_at(&self, at: usize) -> Room<'_> {
        // There is a stack, by the invariant of `Task`.
        Room {
            task: &self.0,
            base: self.0.stack().load(Relaxed),
            at,
        }
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

    /// The innermost frame, if it is that of the function that returned by the word at `retp`. None
    /// if there are others or data above that.
    ///
    /// # Safety
    ///
    /// The function's return was hooked, and its frame is there.
    #[inline(always)]
    pub(crate) unsafe fn innermost_of(&self, retp: usize) -> Option<Held<'_>> {
        let (used, base) = (self.0.used().load(Relaxed), self.0.stack().load(Relaxed));
        let used = used as u32 as usize;
        // SAFETY: there is a frame, and so there are as many words below what is used as it has. Words
        // of data above it may hold anything, but end in a `Top` that is not that of a frame.
        let is_it =
            unsafe { word_holds::<{ RETP as isize - FRAME as isize }>(base, used, retp as u64) };
        is_it.then(|| Held {
            task: &self.0,
            base,
            at: used.wrapping_sub(FRAME),
        })
    }

    /// What [`Current::innermost_of`] gives.
    ///
    /// # Safety
    ///
    /// It has given something, and no frame or data has come or gone since.
    #[inline(always)]
    pub(crate) unsafe fn innermost_again(&self) -> Held<'_> {
        let at = (self.0.used().load(Relaxed) as u32 as usize).wrapping_sub(FRAME);
        // SAFETY: there is that frame still: an interrupt leaves the stack as it found it.
        unsafe { self.frame_at(at) }
    }

    /// The frame that begins at `at`.
    ///
    /// # Safety
    ///
    /// There is one, as [`Held::at`] said, and it was not popped since.
    #[inline(always)]
    pub(crate) unsafe fn frame_at(&self, at: usize) -> Held<'_> {
        Held {
            task: &self.0,
            base: self.0.stack().load(Relaxed),
            at,
        }
    }

    /// The innermost frame, where there may be data above it.
    #[inline]
    pub(crate) fn innermost_below_data(&self) -> Option<Held<'_>> {
        let base = self.stack()?.as_ptr();
        let mut used = self.used();
        loop {
            let last = used.checked_sub(1).filter(|at| *at < WORDS)?;
            // SAFETY: the stack stays while the task runs; `last` is below `WORDS`.
            let top = Top(unsafe { self.0.word(base, last) }.load(Relaxed));
            let Some((_, words)) = top.as_data() else {
                let at = used.checked_sub(FRAME).filter(|_| top.is_frame())?;
                return Some(Held {
                    task: &self.0,
                    base,
                    at,
                });
            };
            used = last.checked_sub(words)?;
        }
    }

    /// What lies above the innermost frame of a function that returns by the word at `retp`.
    pub(crate) fn returning_by(&self, retp: usize) -> Option<Returning> {
        let mut end = self.used();
        for (skipped, (at, frame)) in self.0.frames(end).enumerate() {
            if frame.retp == retp {
                return Some(Returning { skipped, end });
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

    /// Gives up the innermost frame.
    ///
    /// # Safety
    ///
    /// There is no data above it, and its function returns to where it is really called from.
    #[inline(always)]
    pub(crate) unsafe fn pop_innermost(&self) {
        // SAFETY: there is a frame, which is as long.
        unsafe { self.0.change_used::<{ -(FRAME as i32) }>() };
    }

    /// [`Held::func`] and [`Held::data`] of [`Current::innermost_again`], by one register.
    ///
    /// # Safety
    ///
    /// As of that.
    #[inline(always)]
    pub(crate) unsafe fn innermost_call(&self) -> Call<'_> {
        let used = self.0.used().load(Relaxed) as u32 as usize;
        let end = self.0.stack().load(Relaxed).wrapping_add(used);
        // INVARIANT: there is that frame still, which ends there, on the stack of the running task.
        Call {
            end: computed(end.expose_provenance() as u64),
            _task: PhantomData,
        }
    }

    /// Memory of `bytes` above the innermost frame, kept until that is popped; none if there is not
    /// so much.
    #[inline]
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
        // SAFETY: words of the stack, which stays while the task runs; all accesses are atomic.
        Some(unsafe { core::slice::from_raw_parts(base.as_ptr().add(at).cast(), words) })
    }

    /// What `user` has reserved above the frame of the `depth`th function, 0 being the innermost.
    #[inline]
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
                // SAFETY: so many words of the stack are below its data's end; it stays while the
                // task runs, and all accesses are atomic.
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
        // SAFETY: words of the stack, which stays while the task runs.
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
const MAX_DATA: usize = 32;
/// The same in bytes.
pub(crate) const MAX_DATA_BYTES: usize = MAX_DATA * size_of::<u64>();

/// What [`Current::returning_by`] finds.
pub(crate) struct Returning {
    /// How many frames lie further in: of functions that were left without returning.
    pub(crate) skipped: usize,
    /// Where those begin.
    pub(crate) end: usize,
}

/// The innermost frame of the running task, by its end.
///
/// # Invariants
///
/// A frame ended at `end` when this was made, on the stack of the running task, which stays while the
/// task runs. (Where the frame has gone since, its words are others: they are atomic.)
pub(crate) struct Call<'a> {
    end: u64,
    /// Of the task, in which it stays.
    _task: PhantomData<(&'a Current, NotThreadSafe)>,
}

impl Call<'_> {
    #[inline(always)]
    fn word(&self, of: usize) -> &Atomic<u64> {
        let end: *mut u64 = core::ptr::with_exposed_provenance_mut(self.end as usize);
        // SAFETY: by the invariant a word of the stack, which stays while the task runs.
        unsafe { Atomic::from_ptr(end.wrapping_sub(FRAME - of)) }
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
        // SAFETY: only the task changes its word, and interrupts leave it as it was; the frame's
        // first word is in the stack, which stays.
        unsafe {
            self.task.change_used::<{ FRAME as i32 }>();
            if !word_holds::<{ RETP as isize }>(self.base, self.at, frame.retp as u64) {
                self.push_again(frame);
            }
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
            // SAFETY: `Current::room` found the stack, which stays while the task runs, with room
            // from `at` on.
            unsafe { self.task.word(self.base, self.at.wrapping_add(at)) }.store(word, Relaxed);
        }
    }

    #[cold]
    fn push_again(&self, frame: &Frame) {
        // SAFETY: `Current::room` found the stack, which stays while the task runs, with room from
        // `at` on.
        unsafe { self.task.word(self.base, self.at.wrapping_add(RETP)) }
            .store(frame.retp as u64, Relaxed);
        self.fill(frame);
    }
}
