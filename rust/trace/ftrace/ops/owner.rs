// SPDX-License-Identifier: GPL-2.0

//! [`Ops`]: an ops that Rust code owns, with a callback that is a type.

use super::edit::{Edit, List};
use super::raw::{flag, FilterKind, OpsRef, StaticOps};
use super::retire::{after_hits, wait_for_trampolines, HitsOut};
use super::trampoline::free_trampoline;
use super::{register, FTRACE};
use crate::core::format::symbol::ARGUMENTS;
use crate::kernel::ftrace::arguments;
#[cfg(CONFIG_STACK_TRACER)]
use crate::kernel::ftrace::stack_pointer;
use crate::kernel::ftrace::{self, ftrace_ops, ftrace_regs};
use core::marker::PhantomData;
use core::ptr;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, ArcBorrow, Mutex, SetOnce},
    types::{ForeignOwnable, Opaque},
};

/// What a callback sees at a hit, for which the trampoline saves what `S` says.
pub(crate) struct Hit<'a, S: Saved> {
    /// Address of the patch site.
    pub(crate) ip: usize,
    /// Return address of the traced function.
    pub(crate) parent_ip: usize,
    /// Where the trampoline saved registers, if it did.
    regs: *mut ftrace_regs,
    _saved: PhantomData<(&'a ftrace_regs, S)>,
}

/// What a trampoline saves for a callback.
pub(crate) trait Saved {
    /// Whether it is nothing.
    const NOTHING: bool;
}

/// The callback looks at no registers.
pub(crate) enum Nothing {}

impl Saved for Nothing {
    const NOTHING: bool = true;
}

/// The callback may look at the function's arguments and at the stack pointer.
pub(crate) enum Arguments {}

impl Saved for Arguments {
    const NOTHING: bool = false;
}

impl<S: Saved> Hit<'_, S> {
    /// The same, of a function that returns to `parent_ip`.
    pub(crate) fn with_parent(&self, parent_ip: usize) -> Self {
        Self { parent_ip, ..*self }
    }
}

impl Hit<'_, Arguments> {
    /// The registers of the function's first arguments, whether it has so many or not.
    #[inline(always)]
    pub(crate) fn arguments(&self) -> [usize; ARGUMENTS] {
        // SAFETY: the trampoline saved these registers.
        unsafe { arguments(self.regs) }
    }

    /// The stack pointer at the function's entry: where its return address is.
    #[cfg(CONFIG_STACK_TRACER)]
    #[inline(always)]
    pub(crate) fn stack_pointer(&self) -> usize {
        // SAFETY: the trampoline saved it.
        unsafe { stack_pointer(self.regs) }
    }
}

const _: () = assert!(ARGUMENTS == ftrace::ARGUMENTS);

/// What runs at a hit; one function per type, called straight from the trampoline.
pub(crate) trait Callback: Send + Sync + Sized + 'static {
    /// What it looks at.
    type Saved: Saved;

    /// Is it to be called only while the gate is open ([`Ops::set_gate`])? Where several ops share a
    /// site it is called all the same.
    const GATED: bool = false;

    /// Runs at every hit of every site in the filter, in any context up to NMI, preemption as the
    /// traced code has it.
    ///
    /// Must not sleep, lock, allocate or call traced functions without a recursion guard of its
    /// own; with [`Flags::RECURSION`] the guard is taken (and preemption disabled) around it.
    fn hit(&self, hit: &Hit<'_, Self::Saved>);
}

/// The function that trampolines call for a [`Callback`]: its [`thunk`]. Those that
/// `enabled_functions` shows by their C names are in the C interface.
///
/// # Safety
///
/// [`CallbackSymbol::ENTRY`] is [`thunk`] of the type, or calls that alone. Only
/// [`Instance`](crate::trace::instance::Instance) has [`CallbackSymbol::RINGS`]: what is left of a hit that a
/// trampoline has begun takes the callback for one.
pub(crate) unsafe trait CallbackSymbol: Callback {
    /// [`thunk`].
    const ENTRY: Entry;

    /// The place of the rings ([`Buffer::rings`](crate::trace::buffer::Buffer::rings)), which live as long as
    /// the callback, if all that it does is to record entries of the function tracer there, and trampolines
    /// are to do that instead of calling it. It is asked once, when the callback is set.
    const RINGS: fn(&Self) -> Option<usize> = |_| None;
}

/// A callback's function as C sees it, `ftrace_func_t`.
pub(crate) type Entry = unsafe extern "C" fn(usize, usize, *mut ftrace_ops, *mut ftrace_regs);

/// Flags of an [`Ops`] at its making; values of `FTRACE_OPS_FL_*`.
#[derive(Clone, Copy)]
pub(crate) struct Flags(pub(crate) u32);

impl Flags {
    /// Guard the callback against recursion.
    pub(crate) const RECURSION: Flags = Flags(flag::RECURSION as u32);
}

/// A callback with its type forgotten.
struct Bound {
    data: *mut c_void,
    /// Drops a reference that `data` is.
    ///
    /// # Safety
    ///
    /// Once, for `data`, when nothing calls the callback any more.
    release: unsafe fn(*mut c_void),
}

// SAFETY: `data` is an `Arc` of a `Callback`, which is `Send + Sync`.
unsafe impl Send for Bound {}

impl Drop for Bound {
    fn drop(&mut self) {
        // SAFETY: once, as this is the drop; who drops it has made sure that nothing calls the
        // callback.
        unsafe { (self.release)(self.data) };
    }
}

/// Owner of a registration. Dropping it unregisters.
#[pin_data(PinnedDrop)]
pub(crate) struct Ops {
    raw: OpsRef,
    #[pin]
    held: Mutex<Held>,
}

/// What must live as long as hits.
struct Held {
    bound: Option<Bound>,
    /// Whether it was registered with this callback.
    used: bool,
    /// The callback before, whose hits may still be going on.
    past: Option<Past>,
    /// Where [`Ops::raw`] points, but for the global ops, which are static.
    memory: Option<KBox<Opaque<ftrace_ops>>>,
    /// Whose sets it uses, if it has none of its own.
    sets_of: Option<Arc<Ops>>,
}

/// A callback that was taken away. Its hits read `private` as the type that they know.
struct Past {
    entry: usize,
    data: *mut c_void,
    out: HitsOut,
}

/// What is left of an [`Ops`] until hits are out.
struct Remains {
    raw: OpsRef,
    // Dropped in this order, after the trampoline.
    _bound: Option<Bound>,
    _memory: Option<KBox<Opaque<ftrace_ops>>>,
    _sets_of: Option<Arc<Ops>>,
}

// SAFETY: nobody else has any of it.
unsafe impl Send for Remains {}

impl Drop for Remains {
    fn drop(&mut self) {
        free_trampoline(self.raw);
    }
}

// SAFETY: `raw` may be used from any task, and all it leads to is behind locks or atomic; the
// addresses of a past callback are only compared.
unsafe impl Send for Ops {}
// SAFETY: all that a shared reference leads to is behind locks or atomic.
unsafe impl Sync for Ops {}

/// The C structure of the top instance's ops.
static GLOBAL_OPS: StaticOps = StaticOps::new();

static GLOBAL: SetOnce<Arc<Ops>> = SetOnce::new();

impl Ops {
    /// A new ops that will call `callback`, not registered, with empty filters. `ENOMEM`.
    pub(crate) fn new<T: CallbackSymbol>(callback: Arc<T>, flags: Flags) -> Result<Arc<Ops>> {
        let ops = Self::without_callback()?;
        ops.raw.set(flags.0 as usize);
        ops.set_callback(callback)?;
        Ok(ops)
    }

    /// A new ops with empty filters that calls nothing until [`Ops::set_callback`]. `ENOMEM`.
    pub(crate) fn without_callback() -> Result<Arc<Ops>> {
        Self::make(None)
    }

    fn make(sets_of: Option<Arc<Ops>>) -> Result<Arc<Ops>> {
        let memory = KBox::new(Opaque::<ftrace_ops>::zeroed(), GFP_KERNEL)?;
        // SAFETY: zeroed memory that lives as long as the `Ops`, whose drop unregisters it and
        // waits for hits.
        let raw = unsafe { OpsRef::from_raw(memory.get()) }.ok_or(EINVAL)?;
        Self::adopt(raw, Some(memory), sets_of)
    }

    fn adopt(
        raw: OpsRef,
        memory: Option<KBox<Opaque<ftrace_ops>>>,
        sets_of: Option<Arc<Ops>>,
    ) -> Result<Arc<Ops>> {
        raw.init();
        raw.record_in_rings(false);
        raw.set(flag::OWNED);
        let has_sets = sets_of.is_none();
        if let Some(other) = &sets_of {
            raw.share_sets(other.raw);
        }
        let held = Held {
            bound: None,
            used: false,
            past: None,
            memory,
            sets_of,
        };
        let ops = Arc::pin_init(pin_init!(Ops { raw, held <- new_mutex!(held) }), GFP_KERNEL)?;
        if has_sets {
            FTRACE.lock().owners.push(raw, GFP_KERNEL)?;
        }
        Ok(ops)
    }

    /// Makes the global ops. Once, at boot. `ENOMEM`.
    pub(crate) fn init_global() -> Result {
        GLOBAL.populate(Self::adopt(GLOBAL_OPS.get(), None, None)?);
        Ok(())
    }

    /// The ops of the top instance: `ftrace_set_global_filter()` and `set_ftrace_filter` at the top
    /// edit it. It has no callback until [`Ops::set_callback`]. `None` before `ftrace_init()`.
    pub(crate) fn global() -> Option<Arc<Ops>> {
        GLOBAL.as_ref().cloned()
    }

    /// The C structure.
    pub(crate) fn raw(&self) -> OpsRef {
        self.raw
    }

    /// Replaces the callback; may wait, long, for the hits of an earlier one. `EBUSY` while
    /// registered.
    pub(crate) fn set_callback<T: CallbackSymbol>(&self, callback: Arc<T>) -> Result {
        let mut held = self.held.lock();
        self.release_callback(&mut held)?;
        let rings = T::RINGS(&callback);
        let data = callback.into_foreign();
        if let Some(past) = held.past.take() {
            let same = past.entry == T::ENTRY as *const () as usize && past.data == data.cast();
            if !same && !past.out.is_so() {
                wait_for_trampolines();
            }
        }
        self.raw.set_private(data.cast());
        self.raw.set_func(Some(T::ENTRY));
        {
            let _state = FTRACE.lock();
            if let Some(rings) = rings {
                self.raw.set_rings(rings);
            }
            for (flag, set) in [
                (flag::PLAIN, T::Saved::NOTHING),
                (flag::GATED, T::GATED && !T::Saved::NOTHING),
                (flag::RECORDS, rings.is_some()),
            ] {
                match set {
                    true => self.raw.set(flag),
                    false => self.raw.clear(flag),
                }
            }
        }
        held.bound = Some(Bound {
            data: data.cast(),
            release: release::<T>,
        });
        Ok(())
    }

    /// Makes a new ops call `callback` in the place of this one, by the same sets and without flags.
    /// Each hit calls one of the two, unless there are very many sites. This one is not registered
    /// any more then. Task context, sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and `EBUSY` when it is not registered: all stays as it was. `ENODEV` when ftrace is
    /// disarmed.
    pub(crate) fn replace<T: CallbackSymbol>(
        self: &Arc<Self>,
        callback: Arc<T>,
    ) -> Result<Arc<Ops>> {
        let lender = self.held.lock().sets_of.clone();
        let ops = Self::make(Some(lender.unwrap_or_else(|| self.clone())))?;
        ops.set_callback(callback)?;
        ops.held.lock().used = true;
        // The callback stays until no site leads to it.
        let _held = self.held.lock();
        register::replace(self.raw, ops.raw)?;
        Ok(ops)
    }

    /// Waits for the hits of the callback that was forgotten last. Task context, may sleep long.
    pub(crate) fn settle(&self) {
        let past = self.held.lock().past.take();
        if past.is_some_and(|past| !past.out.is_so()) {
            wait_for_trampolines();
        }
    }

    /// Forgets the callback, which may hold what holds this ops; it goes in the background, once its
    /// hits are out. `EBUSY` while registered.
    pub(crate) fn clear_callback(&self) -> Result {
        self.release_callback(&mut self.held.lock())
    }

    fn release_callback(&self, held: &mut Held) -> Result {
        if self.is_registered() {
            return Err(EBUSY);
        }
        let Some(bound) = held.bound.take() else {
            return Ok(());
        };
        if core::mem::take(&mut held.used) {
            // The structure keeps both: a walk of the list that came before may read them still.
            let entry = self.raw.func_addr();
            let data = bound.data;
            held.past = after_hits(bound).map(|out| Past { entry, data, out });
        }
        Ok(())
    }

    /// Opens or closes the gate, for callbacks that have one. Any context.
    #[inline]
    pub(crate) fn set_gate(&self, open: bool) {
        self.raw.set_gate(open);
    }

    /// Starts calling. `EINVAL` without a callback, `EBUSY` when it is registered already, `ENODEV`
    /// when ftrace is disarmed.
    pub(crate) fn register(&self) -> Result {
        let mut held = self.held.lock();
        if self.is_registered() {
            return Err(EBUSY);
        }
        if held.bound.is_none() {
            return Err(EINVAL);
        }
        held.used = true;
        register::register(self.raw)
    }

    /// Stops calling; no site leads to the callback when it returns, but hits may still be going on,
    /// which it is kept for. `EBUSY` when it is not
    /// registered, `ENODEV` when ftrace is disarmed.
    pub(crate) fn unregister(&self) -> Result {
        let _held = self.held.lock();
        if !self.is_registered() {
            return Err(EBUSY);
        }
        register::unregister(self.raw)
    }

    /// Whether it is registered.
    pub(crate) fn is_registered(&self) -> bool {
        self.raw.has(flag::ENABLED)
    }

    /// Opens one of its sets for changes: a private copy until [`Edit::commit`]. `ENOMEM`.
    ///
    /// `reset` starts from the empty set (O_TRUNC).
    pub(crate) fn edit(self: &Arc<Self>, which: FilterKind, reset: bool) -> Result<Edit> {
        Edit::open(self.raw, Some(self.clone()), which, reset)
    }

    /// The sites of a set in address order, then the remembered module patterns: what a filter file
    /// reads. `ENOMEM`.
    pub(crate) fn list(&self, which: FilterKind) -> Result<List> {
        List::of(self.raw, which)
    }
}

#[pinned_drop]
impl PinnedDrop for Ops {
    fn drop(self: Pin<&mut Self>) {
        if self.is_registered() {
            // Disarmed or not, it is not called any more.
            let _ = register::unregister(self.raw);
        }
        FTRACE.lock().owners.retain(|op| *op != self.raw);
        // The global ops, which are static, are never dropped.
        let mut held = self.held.lock();
        if held.sets_of.is_none() {
            register::free_sets(self.raw);
        }
        if super::is_dead() {
            // Sites may lead to its trampoline for ever then, and that may read the C structure.
            core::mem::forget(held.memory.take());
        }
        let is_settled = !held.used && held.past.as_ref().is_none_or(|past| past.out.is_so());
        let remains = Remains {
            raw: self.raw,
            _bound: held.bound.take(),
            _memory: held.memory.take(),
            _sets_of: held.sets_of.take(),
        };
        drop(held);
        if is_settled {
            drop(remains);
        } else {
            after_hits(remains);
        }
    }
}

/// # Safety
///
/// As for [`Bound::release`].
unsafe fn release<T: Callback>(data: *mut c_void) {
    // SAFETY: `set_callback` made it of an `Arc<T>`, and it is given back this once.
    drop(unsafe { Arc::<T>::from_foreign(data.cast()) });
}

/// The callback of an ops.
///
/// # Safety
///
/// `op` is the C structure of an [`Ops`] whose callback is a `T`, which is hit meanwhile.
#[inline(always)]
pub(crate) unsafe fn callback_of<'a, T: Callback>(op: *mut ftrace_ops) -> ArcBorrow<'a, T> {
    // SAFETY: a registered ops, to which `set_callback` gave the data, that lives until no hit can
    // be here.
    unsafe {
        let private: *mut c_void = ptr::read(&raw const (*op).private);
        <Arc<T> as ForeignOwnable>::borrow(private.cast())
    }
}

/// What trampolines call: [`Callback::hit`] of `T`.
///
/// # Safety
///
/// `op` is the C structure of an [`Ops`] whose callback is a `T`, `fregs` what the trampoline
/// saved, unless that is nothing.
#[inline(always)]
pub(crate) unsafe extern "C" fn thunk<T: Callback>(
    ip: usize,
    parent_ip: usize,
    op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    // SAFETY: it is the C structure of such an ops, whose trampoline calls this.
    let callback = unsafe { callback_of::<T>(op) };
    callback.hit(&Hit {
        ip,
        parent_ip,
        regs: fregs,
        _saved: PhantomData,
    });
}
