// SPDX-License-Identifier: GPL-2.0

//! `trace_printk()` and `trace_puts()`: texts from kernel code, recorded in the instance that has
//! option `trace_printk_dest`.
//!
//! A text becomes one of three entries. *print* holds the text. *bprint* holds the address of the
//! format and the packed arguments, and is formatted when it is read. *bputs* holds the address of
//! a constant string.
//!
//! The buffer may outlive a module. So the formats and constants of a module are copied when it
//! loads ([`keep`]), and the module uses the copies. `printk_formats` lists them all.
//!
//! Memory for formatting is allocated when the first caller of `trace_printk()` appears
//! ([`init_buffers`]). A production kernel has no such caller.
//!
//! C header: [`include/linux/trace_printk.h`](srctree/include/linux/trace_printk.h). Recording runs
//! in any context. Lock order: the mutex of [`Users`], then the locks of expanding the buffer and
//! of saving names.

use crate::core::format::entry::{Bprint, Bputs, Print};
use crate::core::format::environment::Strings;
use crate::core::format::Out;
use crate::core::parse::options::Flag;
use crate::kernel::format::{self, Arguments, Constant, Room};
use crate::kernel::per_context::PerContext;
use crate::kernel::printk as log;
use crate::kernel::rcu_slot::RcuSlot;
use crate::trace::buffer::entry::Context;
use crate::trace::instance::feature::{Feature, OptionEffect};
use crate::trace::instance::Instance;
use crate::trace::tasks::cmdlines::{self, Saving};
use core::fmt;
use core::ptr::null;
use kernel::prelude::*;
use kernel::str::{CStr, CString};
use kernel::sync::atomic::{Atomic, Relaxed};
use kernel::sync::{new_mutex, Arc, Mutex, SetOnce};

static SCRATCH: SetOnce<PerContext<Room>> = SetOnce::new();
static USERS: SetOnce<Arc<Users>> = SetOnce::new();

/// Whether `trace_printk()` records. Option `trace_printk` of any instance sets it.
static ENABLED: Atomic<bool> = Atomic::new(true);

/// The instance that `trace_printk()` records in, if it is not the top instance.
static DESTINATION: RcuSlot<Instance> = RcuSlot::new();

/// The feature that handles the options `trace_printk` and `trace_printk_dest`.
pub(crate) struct PrintkOptions;

impl Feature for PrintkOptions {
    fn new(_name: Option<&CStr>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self, GFP_KERNEL)?)
    }

    fn options(&self) -> &'static [OptionEffect] {
        &[
            (Flag::Printk, |_, on| {
                switched(on);
                Ok(())
            }),
            (Flag::TracePrintkDest, set_destination),
        ]
    }

    fn retire(&self, instance: &Arc<Instance>) {
        give_back(instance);
    }
}

/// Runs `f` on the instance that texts are recorded in. `None` before there is one. Any context.
pub(crate) fn with_destination<R>(f: impl FnOnce(&Instance) -> R) -> Option<R> {
    DESTINATION.with(|other| match other {
        Some(instance) => Some(f(instance)),
        None => Instance::top().ok().map(|top| f(top)),
    })
}

/// Sets option `trace_printk_dest`. Exactly one instance has it: setting it clears it in the other
/// instance, and clearing it sets it in the top instance. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` for clearing it in the top instance; `EACCES` in a read-only copy of another instance.
fn set_destination(instance: &Arc<Instance>, on: bool) -> Result {
    if instance.is_copy() {
        return Err(EACCES);
    }
    match on {
        true => Users::moving(|| move_to(instance)),
        false if instance.is_top() => return Err(EINVAL),
        false => give_back(instance),
    }
    Ok(())
}

/// Moves the destination. Only one caller at a time.
fn move_to(instance: &Arc<Instance>) {
    let other = DESTINATION.replace((!instance.is_top()).then(|| instance.clone()));
    match &other {
        Some(other) => other.set_option_bit(Flag::TracePrintkDest, false),
        None => Instance::top()
            .iter()
            .for_each(|top| top.set_option_bit(Flag::TracePrintkDest, false)),
    }
    instance.set_option_bit(Flag::TracePrintkDest, true);
}

fn give_back(instance: &Arc<Instance>) {
    Users::moving(|| {
        if instance.options().has(Flag::TracePrintkDest) {
            Instance::top().iter().for_each(|top| move_to(top));
        }
    });
}

/// The callers of `trace_printk()`.
#[pin_data]
struct Users {
    #[pin]
    state: Mutex<State>,
    /// Held while the destination moves. Nests inside an instance's state mutex. No other lock is
    /// taken under it.
    #[pin]
    moving: Mutex<()>,
}

impl Users {
    /// Runs `f` while no other task moves the destination. Task context, sleeps.
    fn moving(f: impl FnOnce()) {
        let _alone = USERS.as_ref().map(|users| users.moving.lock());
        f();
    }
}

#[derive(Default)]
struct State {
    /// Whether the buffer is expanded and the memory allocated.
    ready: bool,
    /// Saves task names for the callers.
    saving: Option<Saving>,
    /// Copies of the formats and constants of modules, also of unloaded ones. None is ever freed.
    kept: KVec<CString>,
}

/// Prepares for callers. Once, at boot, after the top instance exists. `ENOMEM`.
pub(crate) fn init() -> Result {
    USERS.populate(Arc::pin_init(
        pin_init!(Users {
            state <- new_mutex!(State::default()),
            moving <- new_mutex!(()),
        }),
        GFP_KERNEL,
    )?);
    if format::any_built_in() {
        init_buffers(false);
    }
    Ok(())
}

/// Starts saving task names for callers in the kernel image. Once, late in the boot.
pub(crate) fn late_init() {
    save_names(true);
}

/// Prepares for the first caller: allocates the memory, prints the warning of C to the log, and
/// expands the buffer. With `running` (boot is over), also starts saving task names. Task context,
/// may sleep.
pub(crate) fn init_buffers(running: bool) {
    let Some(users) = USERS.as_ref() else { return };
    if users.state.lock().ready {
        return;
    }
    // This comes before our lock, since an instance's mutex is taken before ours.
    let expanded = Instance::top().and_then(|top| {
        top.expand()?;
        // Who reads it keeps it small.
        top.buffer().to_expand().map_or(Ok(()), |_| Err(EBUSY))
    });
    let mut state = users.state.lock();
    if state.ready {
        return;
    }
    if alloc_scratch().is_err() {
        return log::err(b"ERROR: Could not allocate percpu trace_printk buffer\n");
    }
    NOTICE.iter().for_each(|line| log::warn(line));
    match expanded {
        Ok(()) => state.ready = true,
        Err(_) => log::err(b"Failed to expand tracing buffers for trace_printk() calls\n"),
    }
    if running {
        state.save_names(true);
    }
}

#[rustfmt::skip]
static NOTICE: [&[u8]; 14] = [
    b"\n",
    b"**********************************************************\n",
    b"**   NOTICE NOTICE NOTICE NOTICE NOTICE NOTICE NOTICE   **\n",
    b"**                                                      **\n",
    b"** trace_printk() being used. Allocating extra memory.  **\n",
    b"**                                                      **\n",
    b"** This means that this is a DEBUG kernel and it is     **\n",
    b"** unsafe for production use.                           **\n",
    b"**                                                      **\n",
    b"** If you see this message and you are not debugging    **\n",
    b"** the kernel, report this immediately to your vendor!  **\n",
    b"**                                                      **\n",
    b"**   NOTICE NOTICE NOTICE NOTICE NOTICE NOTICE NOTICE   **\n",
    b"**********************************************************\n",
];

/// Allocates the memory for formatting if there is none yet. Task context, may sleep. `ENOMEM`.
pub(crate) fn alloc_scratch() -> Result {
    if SCRATCH.as_ref().is_none() {
        // If another task was faster, its memory is used.
        SCRATCH.populate(PerContext::new(Room::new())?);
    }
    Ok(())
}

/// Handles a change of option `trace_printk` in any instance. Task context, may sleep.
fn switched(on: bool) {
    ENABLED.store(on, Relaxed);
    save_names(on);
}

/// Starts or stops saving task names, if there are callers.
fn save_names(on: bool) {
    if let Some(users) = USERS.as_ref() {
        let mut state = users.state.lock();
        if state.ready {
            state.save_names(on);
        }
    }
}

impl State {
    fn save_names(&mut self, on: bool) {
        if on != self.saving.is_some() {
            // Without memory, events only lack the names.
            self.saving = if on { cmdlines::start().ok() } else { None };
        }
    }

    /// Implements [`keep`].
    fn keep(&mut self, text: &CStr) -> Result<*const c_char> {
        if let Some(kept) = self.kept.iter().find(|kept| &***kept == text) {
            return Ok(kept.as_char_ptr());
        }
        let kept = CString::try_from(text)?;
        let at = kept.as_char_ptr();
        self.kept.push(kept, GFP_KERNEL)?;
        Ok(at)
    }
}

/// Copies a format or a constant of a module and returns the address of the copy. Entries may point
/// to the copy as long as the kernel runs. Null without memory. Task context, may sleep.
pub(crate) fn keep(text: &CStr) -> *const c_char {
    USERS
        .as_ref()
        .and_then(|users| users.state.lock().keep(text).ok())
        .unwrap_or(null())
}

/// Calls `show` with the address and the text of line `at` of `printk_formats`, if the text is not
/// empty. `None` after the last line. Task context.
pub(crate) fn format_at<R>(at: usize, show: impl FnOnce(usize, &[u8]) -> R) -> Option<Option<R>> {
    let mut show = Some(show);
    let mut line = |text: &CStr| {
        show.take()
            .map(|show| show(text.as_char_ptr() as usize, text.to_bytes()))
    };
    if let Some(text) = format::built_in(at) {
        return Some(text.and_then(line));
    }
    let state = USERS.as_ref()?.state.lock();
    state
        .kept
        .get(at.checked_sub(format::built_in_count())?)
        .map(|text| line(text))
}

/// Runs `f` on the instance that texts are recorded in. Returns 0 if that instance has option
/// `trace_printk` off.
fn with_enabled_destination(f: impl FnOnce(&Instance) -> c_int) -> c_int {
    with_destination(|to| {
        if to.options().has(Flag::Printk) {
            f(to)
        } else {
            0
        }
    })
    .unwrap_or(0)
}

/// `__trace_puts()`: records `text`, with a newline if it lacks one. Returns its length, or 0 if it
/// was not recorded. Any context.
pub(crate) fn puts(ip: usize, text: &[u8]) -> c_int {
    let context = Context::capture_all();
    with_enabled_destination(|to| puts_to(to, context, ip, text))
}

/// Records `text` in instance `to`, whatever its options are. Returns as [`puts`]. Any context.
pub(crate) fn puts_to(to: &Instance, context: Context, ip: usize, text: &[u8]) -> c_int {
    let recorded = to.record_text(context, ip, text);
    recorded.map_or(0, |()| text.len().try_into().unwrap_or(c_int::MAX))
}

/// `__trace_bputs()`: records the address of `text`. Returns 1, or 0 if it was not recorded. Any
/// context.
pub(crate) fn puts_constant(ip: usize, text: Constant) -> c_int {
    let context = Context::capture_all();
    with_enabled_destination(|to| match to.previous_boot() {
        None => to
            .record_message(
                context,
                ip,
                Bputs {
                    ip,
                    str: text.address(),
                },
                [],
            )
            .is_some()
            .into(),
        Some(_) => puts_to(to, context, ip, text.text().to_bytes()),
    })
}

/// Whether option `trace_printk` allows the recording of formatted texts. Any context.
pub(crate) fn is_enabled() -> bool {
    ENABLED.load(Relaxed)
}

/// `trace_vbprintk()`: packs the arguments and records them with the address of the format. Returns
/// the number of words of the packed arguments, also if they were not recorded. Returns 0 if there
/// is no memory for packing. Any context.
pub(crate) fn print_packed(ip: usize, what: Arguments) -> c_int {
    let context = Context::capture_all();
    // The next kernel cannot use the address of a format.
    if with_destination(|to| to.previous_boot().is_some()) == Some(true) {
        return print(ip, what);
    }
    let fmt = what.format();
    with_scratch(|room| {
        let (words, packed) = what.packed(room);
        if let Some(packed) = packed {
            // The return value is the same if it was not recorded.
            with_destination(|to| {
                if to.previous_boot().is_none() {
                    let _ = to.record_message(context, ip, Bprint { ip, fmt }, [packed]);
                }
            });
        }
        words
    })
}

/// `trace_vprintk()`: formats the text and records it. Returns its length under the rules of
/// [`print_packed`]. Any context.
pub(crate) fn print(ip: usize, what: Arguments) -> c_int {
    let context = Context::capture_all();
    with_destination(|to| print_to(to, context, ip, what)).unwrap_or(0)
}

/// Formats a text and records it in instance `to`, whatever its options are. Returns as [`print`].
/// Any context.
pub(crate) fn print_to(to: &Instance, context: Context, ip: usize, what: Arguments) -> c_int {
    with_scratch(|room| {
        let text = what.text(room);
        // As in `print_packed`.
        let _ = to.record_message(context, ip, Print { ip }, [text, b"\0"]);
        text.len().try_into().unwrap_or(c_int::MAX)
    })
}

/// Runs `f` with memory for formatting. Returns 0 if there is none.
fn with_scratch(f: impl FnOnce(&mut Room) -> c_int) -> c_int {
    SCRATCH
        .as_ref()
        .and_then(|scratch| scratch.with(f))
        .unwrap_or(0)
}

/// Reads the strings that bprint and bputs entries point to.
pub(crate) struct Texts;

#[expect(
    unsafe_code,
    reason = "what an entry points to is known only by who made the entry"
)]
impl Strings for Texts {
    fn write_packed(&self, format: usize, args: &[u8], out: &mut dyn Out) -> fmt::Result {
        // SAFETY: bprint entries are made by `print_packed` alone, of what `Arguments::packed` made
        // for this very format; formats are constants of the kernel, or kept.
        out.written(&|room| unsafe { format::unpack(format, args, room) })
    }

    fn write_constant(&self, addr: usize, out: &mut dyn Out) -> fmt::Result {
        // SAFETY: bputs entries are made by `puts_constant` alone, of a constant of the kernel or a
        // kept one.
        out.bytes(unsafe { CStr::from_char_ptr(addr as *const c_char) }.to_bytes())
    }
}
