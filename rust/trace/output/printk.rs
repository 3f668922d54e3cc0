// SPDX-License-Identifier: GPL-2.0

//! `trace_printk()` and `trace_puts()`: texts of the kernel's own, in the instance that option
//! `trace_printk_dest` names.
//!
//! A text becomes one of three entries: *print*, the text itself; *bprint*, the address of its
//! format and the arguments packed, which is formatted when it is read; *bputs*, the address of a
//! constant. So the formats and constants of modules are kept here when the module loads
//! ([`keep`]), and the module is given the kept ones to use: what is in the buffer can be read
//! after it has gone. `printk_formats` lists them all.
//!
//! Memory to format in is allocated only once somebody calls `trace_printk()` ([`init_buffers`]): a
//! kernel that is used in production has no such caller.
//!
//! C header: [`include/linux/trace_printk.h`](srctree/include/linux/trace_printk.h). Recording: any
//! context. Lock order: the mutex of [`Users`], then what expanding the buffer and saving names
//! take.

use crate::core::format::entry::{Bprint, Bputs, Print};
use crate::core::format::print::Strings;
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

/// May `trace_printk()` record? Switched by option `trace_printk` of any instance.
static ENABLED: Atomic<bool> = Atomic::new(true);

/// Where `trace_printk()` goes when that is not the top instance.
static DESTINATION: RcuSlot<Instance> = RcuSlot::new();

/// The feature: options `trace_printk` and `trace_printk_dest`.
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

/// Runs `f` on the instance where texts go; `None` before there is one. Any context.
fn with_destination<R>(f: impl FnOnce(&Instance) -> R) -> Option<R> {
    DESTINATION.with(|other| match other {
        Some(instance) => Some(f(instance)),
        None => Instance::top().ok().map(|top| f(top)),
    })
}

/// Option `trace_printk_dest`: exactly one instance has it. Setting it takes it from the other,
/// clearing it gives it back to the top. Task context, sleeps.
///
/// # Errors
///
/// `EINVAL` for clearing it in the top instance, `EACCES` in one that nothing is recorded in.
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

/// For those who move it, one at a time.
fn move_to(instance: &Arc<Instance>) {
    let other = DESTINATION.replace((!instance.is_top()).then(|| instance.clone()));
    match &other {
        Some(other) => other.show_option(Flag::TracePrintkDest, false),
        None => Instance::top()
            .iter()
            .for_each(|top| top.show_option(Flag::TracePrintkDest, false)),
    }
    instance.show_option(Flag::TracePrintkDest, true);
}

fn give_back(instance: &Arc<Instance>) {
    Users::moving(|| {
        if instance.options().has(Flag::TracePrintkDest) {
            Instance::top().iter().for_each(|top| move_to(top));
        }
    });
}

/// Who calls `trace_printk()`.
#[pin_data]
struct Users {
    #[pin]
    state: Mutex<State>,
    /// Held while the destination moves. Taken under an instance's state mutex, and holds nothing.
    #[pin]
    moving: Mutex<()>,
}

impl Users {
    /// Runs `f` while nobody else moves the destination. Task context, sleeps.
    fn moving(f: impl FnOnce()) {
        let _alone = USERS.as_ref().map(|users| users.moving.lock());
        f();
    }
}

#[derive(Default)]
struct State {
    /// The buffer is expanded and the memory allocated.
    ready: bool,
    /// Task names are saved on behalf of the callers.
    saving: Option<Saving>,
    /// Formats and constants of modules, present and gone; none is ever dropped.
    kept: KVec<CString>,
}

/// Prepares for users. Once, at boot, after the top instance is there. `ENOMEM`.
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

/// Starts to save task names for callers that are part of the kernel. Once, when boot is far enough
/// for that.
pub(crate) fn late_init() {
    save_names(true);
}

/// What is done when the first caller appears: allocates, warns in the log in C's words, expands
/// the buffer and, if `running` (boot is over), saves task names from now on. Task context, may
/// sleep.
pub(crate) fn init_buffers(running: bool) {
    let Some(users) = USERS.as_ref() else { return };
    if users.state.lock().ready {
        return;
    }
    // Beforehand: an instance's mutex is taken before ours.
    let expanded = Instance::top().and_then(|top| top.expand());
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

/// Makes the memory to format in, if there is none yet. Task context, may sleep. `ENOMEM`.
pub(crate) fn alloc_scratch() -> Result {
    if SCRATCH.as_ref().is_none() {
        // Where another task has made it meanwhile, that is used.
        SCRATCH.populate(PerContext::new(Room::new())?);
    }
    Ok(())
}

/// Option `trace_printk` was switched, in whichever instance. Task context, may sleep.
fn switched(on: bool) {
    ENABLED.store(on, Relaxed);
    save_names(on);
}

/// Saves task names from now on, or no longer, if there are callers.
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
            // Without memory entries lack names, no more.
            self.saving = if on { cmdlines::start().ok() } else { None };
        }
    }

    /// What [`keep`] does.
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

/// Keeps a copy of a module's format or constant and says where: entries may point there as long as the kernel runs.
/// Null without memory. Task context, may sleep.
pub(crate) fn keep(text: &CStr) -> *const c_char {
    USERS
        .as_ref()
        .and_then(|users| users.state.lock().keep(text).ok())
        .unwrap_or(null())
}

/// Calls `show` with the address and text of line `at` of `printk_formats`, if it is not empty;
/// none when there are no more lines. Task context.
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

/// Runs `f` on the instance where texts go, unless that has option `trace_printk` off; 0 then.
fn with_willing_dest(f: impl FnOnce(&Instance) -> c_int) -> c_int {
    with_destination(|to| {
        if to.options().has(Flag::Printk) {
            f(to)
        } else {
            0
        }
    })
    .unwrap_or(0)
}

/// `__trace_puts()`: records `text`, with a newline if it lacks one. Gives its length, 0 if it was
/// not recorded.
pub(crate) fn puts(ip: usize, text: &[u8]) -> c_int {
    let context = Context::capture_all();
    with_willing_dest(|to| puts_to(to, context, ip, text))
}

/// [`puts`] in `context` to an instance, whatever its options.
pub(crate) fn puts_to(to: &Instance, context: Context, ip: usize, text: &[u8]) -> c_int {
    let recorded = to.record_text(context, ip, text);
    recorded.map_or(0, |()| text.len().try_into().unwrap_or(c_int::MAX))
}

/// `__trace_bputs()`: records that `text` was said. Gives 1, or 0 if it was not recorded.
pub(crate) fn puts_constant(ip: usize, text: Constant) -> c_int {
    let context = Context::capture_all();
    with_willing_dest(|to| match to.previous_boot() {
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

/// Does option `trace_printk` allow recording formatted texts?
pub(crate) fn is_enabled() -> bool {
    ENABLED.load(Relaxed)
}

/// `trace_vbprintk()`: packs the arguments and records them with the address of the format. Gives
/// the number of words they take, whether recorded or not; 0 where there is no memory to pack them.
pub(crate) fn print_packed(ip: usize, what: Arguments) -> c_int {
    let context = Context::capture_all();
    // The next kernel cannot follow the address of a format.
    if with_destination(|to| to.previous_boot().is_some()) == Some(true) {
        return print(ip, what);
    }
    let fmt = what.format();
    with_scratch(|room| {
        let (words, packed) = what.packed(room);
        if let Some(packed) = packed {
            // Where it is not recorded, it is only missing.
            with_destination(|to| {
                if to.previous_boot().is_none() {
                    let _ = to.record_message(context, ip, Bprint { ip, fmt }, [packed]);
                }
            });
        }
        words
    })
}

/// `trace_vprintk()`: formats and records the text. Gives its length as [`print_packed`] does.
pub(crate) fn print(ip: usize, what: Arguments) -> c_int {
    let context = Context::capture_all();
    with_destination(|to| print_to(to, context, ip, what)).unwrap_or(0)
}

/// [`print`] in `context` to an instance, whatever its options.
pub(crate) fn print_to(to: &Instance, context: Context, ip: usize, what: Arguments) -> c_int {
    with_scratch(|room| {
        let text = what.text(room);
        // As in `print_packed`.
        let _ = to.record_message(context, ip, Print { ip }, [text, b"\0"]);
        text.len().try_into().unwrap_or(c_int::MAX)
    })
}

/// Gives `f` memory to format in; 0 when there is none.
fn with_scratch(f: impl FnOnce(&mut Room) -> c_int) -> c_int {
    SCRATCH
        .as_ref()
        .and_then(|scratch| scratch.with(f))
        .unwrap_or(0)
}

/// What bprint and bputs entries point to.
pub(crate) struct Texts;

#[expect(
    unsafe_code,
    reason = "what an entry points to is known only by who made the entry"
)]
impl Strings for Texts {
    fn write_packed(&self, format: usize, args: &[u8], out: &mut dyn Out) -> fmt::Result {
        // SAFETY: bprint entries are made by `print_packed` alone, of what `Arguments::packed` made
        // for this very format; formats are constants of the kernel, or kept.
        out.written(&mut |room| unsafe { format::unpack(format, args, room) })
    }

    fn write_constant(&self, addr: usize, out: &mut dyn Out) -> fmt::Result {
        // SAFETY: bputs entries are made by `puts_constant` alone, of a constant of the kernel or a
        // kept one.
        out.bytes(unsafe { CStr::from_char_ptr(addr as *const c_char) }.to_bytes())
    }
}
