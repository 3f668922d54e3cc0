// SPDX-License-Identifier: GPL-2.0

//! Switches and stacks of `include/linux/trace_printk.h`, whose texts are in `printk.rs`, and the
//! boot steps of `include/linux/ftrace.h`. `boot.c` has what of it only C can make, as the flag
//! behind [`EntryMade`].

use super::boot::Given;
use super::printk::keep_formats;
#[cfg(CONFIG_BOOTTIME_TRACING)]
use crate::kernel::bootconfig::{with_key, Key};
use crate::kernel::reserved::module_text;
use crate::trace::boot;
use crate::trace::buffer::entry::{Context, CpuFlag, EntryMade};
use crate::trace::files::marker::TracingMarkWrite;
use crate::trace::instance::message::EntryFunction;
use crate::trace::instance::snapshot::{self, SnapshotRefused};
use crate::trace::instance::Instance;
use crate::trace::output::printk;
use crate::trace::tasks::stack;
use kernel::bindings;
use kernel::ffi::{c_int, c_ulong, c_void};
use kernel::prelude::*;
use kernel::sync::atomic::{ordering, Atomic, Relaxed};

/// Makes the top instance and starts what the command line asks for. Early boot, one CPU, memory
/// can be had.
#[no_mangle]
pub(crate) extern "C" fn early_trace_init() {
    // SAFETY: this is called between the two that `Given` asks for.
    let given = |param| unsafe { Given::of(param) };
    let snapshot = [
        bindings::rtrace_param_RTRACE_PARAM_SNAPSHOT,
        bindings::rtrace_param_RTRACE_PARAM_BOOT_SNAPSHOT,
    ];
    // SAFETY: there is no other call. What is called at an oops finds no instance, or the top one.
    unsafe { bindings::rtrace_register_dump_notifiers() };
    let size = given(bindings::rtrace_param_RTRACE_PARAM_BUFFER_SIZE);
    boot::early(&boot::Parameters {
        tracer: given(bindings::rtrace_param_RTRACE_PARAM_TRACER).last(),
        clock: given(bindings::rtrace_param_RTRACE_PARAM_CLOCK).last(),
        options: given(bindings::rtrace_param_RTRACE_PARAM_OPTIONS).last(),
        size: size.is_given().then(|| size.last()),
        threshold: given(bindings::rtrace_param_RTRACE_PARAM_THRESHOLD).last(),
        // With `=name` it is for an instance.
        snapshot: snapshot
            .into_iter()
            .flat_map(|param| given(param).all())
            .any(|text| !text.starts_with(b"=")),
    });
}

/// Makes the instances that the command line asks for. Boot, one CPU, behind [`early_trace_init`].
#[no_mangle]
pub(crate) extern "C" fn trace_init() {
    #[cfg(CONFIG_EVENT_TRACING)]
    super::events::start();
    // SAFETY: this is called between the two that `Given` asks for.
    let given = |param| unsafe { Given::of(param) }.all();
    let snapshots = Iterator::chain(
        given(bindings::rtrace_param_RTRACE_PARAM_SNAPSHOT),
        given(bindings::rtrace_param_RTRACE_PARAM_BOOT_SNAPSHOT),
    );
    #[cfg(CONFIG_EVENT_TRACING)]
    let triggers = super::events::boot_triggers();
    #[cfg(not(CONFIG_EVENT_TRACING))]
    let triggers = &[];
    boot::instances(
        given(bindings::rtrace_param_RTRACE_PARAM_INSTANCE),
        snapshots.filter_map(|text| text.strip_prefix(b"=")),
        triggers,
    );
}

impl CpuFlag for EntryMade {
    #[inline(always)]
    fn set(to: bool) {
        // SAFETY: no preconditions.
        unsafe { bindings::set_entry_made(to) };
    }

    #[inline(always)]
    fn get() -> bool {
        // SAFETY: no preconditions.
        unsafe { bindings::get_entry_made() }
    }
}

/// Hears of modules: their formats are kept, and where their text is matters to what outlives the
/// kernel. Task context, sleeps.
///
/// # Safety
///
/// A module notifier's arguments.
#[export]
pub(crate) unsafe extern "C" fn rtrace_module_event(
    _: *mut bindings::notifier_block,
    event: c_ulong,
    module: *mut c_void,
) -> c_int {
    let module = module.cast::<bindings::module>();
    let comes = event == bindings::module_state_MODULE_STATE_COMING as c_ulong;
    if comes || event == bindings::module_state_MODULE_STATE_GOING as c_ulong {
        // SAFETY: the notifier's module is there during the call, and nobody uses its formats
        // while it comes.
        unsafe {
            if comes {
                keep_formats(module);
            }
            module_text(module, |name, text| {
                boot::note_module(name, comes.then_some(text))
            });
        }
    }
    bindings::NOTIFY_OK as c_int
}

/// Switches recording of the top instance on. Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_on() {
    if let Ok(top) = Instance::top() {
        top.buffer().set_on(true);
    }
}

/// Switches recording of the top instance off. Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_off() {
    if let Ok(top) = Instance::top() {
        top.buffer().set_on(false);
    }
}

/// How often recording of the top instance was stopped by [`tracing_stop`].
static STOPPED: Atomic<u32> = Atomic::new(0);

/// Stops recording of the top instance until [`tracing_start`], whatever `tracing_on` says; may be
/// nested. Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_stop() {
    if let Ok(top) = Instance::top() {
        top.buffer().pause_recording();
        STOPPED.fetch_add(1, ordering::Full);
    }
}

/// Undoes one [`tracing_stop`]. Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_start() {
    let Ok(top) = Instance::top() else { return };
    let mut stopped = STOPPED.load(Relaxed);
    loop {
        if stopped == 0 {
            kernel::pr_warn_once!("tracing_start() without tracing_stop()\n");
            return;
        }
        match STOPPED.cmpxchg(stopped, stopped - 1, ordering::Full) {
            Ok(_) => break,
            Err(now) => stopped = now,
        }
    }
    top.buffer().resume_recording();
}

/// Is recording of the top instance switched on? Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_is_on() -> c_int {
    Instance::top().is_ok_and(|top| top.tracing_on()).into()
}

/// Takes a snapshot of the top instance, or says in its buffer why not. Any context.
#[no_mangle]
pub(crate) extern "C" fn tracing_snapshot() {
    if let Ok(top) = Instance::top() {
        snapshot::take_or_report(top);
    }
}

/// Allocates the snapshot of the top instance if there is none, and takes one. Task context,
/// sleeps.
#[no_mangle]
pub(crate) extern "C" fn tracing_snapshot_alloc() {
    if let Ok(top) = Instance::top() {
        if top.allocate_snapshot().is_ok() {
            snapshot::take_or_report(top);
        }
    }
}

/// Boot has ended, and init memory is still there: takes the snapshot that the command line may
/// have asked for.
#[no_mangle]
pub(crate) extern "C" fn ftrace_boot_snapshot() {
    // SAFETY: this is called between the two that `Given` asks for.
    let given = unsafe { Given::of(bindings::rtrace_param_RTRACE_PARAM_BOOT_SNAPSHOT) };
    if given.is_given() {
        boot::end_with_snapshot(ftrace_boot_snapshot as extern "C" fn() as usize);
    }
}

/// The initcall of boot-time tracing: does what the boot configuration says.
#[cfg(CONFIG_BOOTTIME_TRACING)]
#[no_mangle]
pub(crate) extern "C" fn rtrace_boot_config() -> c_int {
    let apply = |key: Key<'_>| {
        #[cfg(CONFIG_FTRACE_STARTUP_TEST)]
        boot::selftest::leave_out("running boot-time tracing");
        boot::config::apply(key);
    };
    // SAFETY: initcalls run before init memory goes.
    unsafe { with_key(c"ftrace", apply) };
    0
}

/// The initcall of the ring buffer's test at the end of boot.
#[cfg(CONFIG_RING_BUFFER_STARTUP_TEST)]
#[no_mangle]
pub(crate) extern "C" fn rtrace_ring_buffer_test() -> c_int {
    boot::ring_buffer_test::run();
    0
}

/// The initcall of the tests at the end of boot.
#[cfg(CONFIG_FTRACE_STARTUP_TEST)]
#[no_mangle]
pub(crate) extern "C" fn rtrace_startup_tests() -> c_int {
    boot::selftest::run();
    0
}

/// The initcall that starts a tracer which waits for all CPUs.
#[no_mangle]
pub(crate) extern "C" fn rtrace_all_cpus_are_up() -> c_int {
    with_tracer(boot::all_cpus_up)
}

/// The initcall that starts what has threads.
#[no_mangle]
pub(crate) extern "C" fn rtrace_tasks_are_there() -> c_int {
    with_tracer(boot::late)
}

/// Calls `f` with `ftrace=` and `trace_options=`, for an initcall.
fn with_tracer(f: fn(&[u8], &[u8])) -> c_int {
    // SAFETY: the command line has been parsed, and initcalls run before init memory goes.
    let last = |param| unsafe { Given::of(param) }.last();
    f(
        last(bindings::rtrace_param_RTRACE_PARAM_TRACER),
        last(bindings::rtrace_param_RTRACE_PARAM_OPTIONS),
    );
    0
}

/// The initcall that ends boot, behind all others: stops recording if the command line says so, and
/// chooses a clock if it does not.
#[no_mangle]
pub(crate) extern "C" fn rtrace_end_of_boot() -> c_int {
    // SAFETY: the command line has been parsed, and initcalls run before init memory goes.
    if unsafe { Given::of(bindings::rtrace_param_RTRACE_PARAM_OFF_AT_END) }.is_given() {
        tracing_off();
    }
    // SAFETY: as above.
    if !unsafe { Given::of(bindings::rtrace_param_RTRACE_PARAM_CLOCK) }.is_given() {
        boot::choose_clock();
    }
    0
}

/// Records the stack where `trace_printk()` goes, from the frame that returns to `from`, or `skip`
/// frames on. Any context.
#[no_mangle]
pub(crate) extern "C" fn rtrace_dump_stack(from: c_ulong, skip: c_int) {
    // The look-up of the destination disables preemption.
    let context = Context::capture_all();
    printk::with_destination(|to| {
        stack::record_skipping(to.buffer(), context, from, skip.try_into().unwrap_or(0));
    });
}

/// The name of what is written to `trace_marker`: entries carry its address. It gives its name, as
/// functions that do the same may become one.
#[no_mangle]
extern "C" fn tracing_mark_write() -> *const c_char {
    c"tracing_mark_write".as_char_ptr()
}

impl EntryFunction for TracingMarkWrite {
    fn address() -> usize {
        tracing_mark_write as extern "C" fn() -> *const c_char as usize
    }
}

/// The name of what is said where no snapshot was taken; as [`tracing_mark_write`].
#[no_mangle]
extern "C" fn tracing_snapshot_instance_cond() -> *const c_char {
    c"tracing_snapshot_instance_cond".as_char_ptr()
}

impl EntryFunction for SnapshotRefused {
    fn address() -> usize {
        tracing_snapshot_instance_cond as extern "C" fn() -> *const c_char as usize
    }
}

crate::abi::same_in_c! {
    fn early_trace_init();
    fn trace_init();
    fn tracing_on();
    fn tracing_off();
    fn tracing_is_on() -> _;
    fn tracing_stop();
    fn tracing_start();
    fn rtrace_dump_stack(_, _);
    fn tracing_snapshot();
    fn tracing_snapshot_alloc();
    fn ftrace_boot_snapshot();
    fn rtrace_all_cpus_are_up() -> _;
    fn rtrace_tasks_are_there() -> _;
    fn rtrace_end_of_boot() -> _;
}
