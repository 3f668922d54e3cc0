// SPDX-License-Identifier: GPL-2.0

//! NMIs and interrupts that the tracers of noise are told of: `include/linux/ftrace_irq.h`,
//! `include/linux/trace.h`.

#[cfg(CONFIG_OSNOISE_TRACER)]
use crate::kernel::osnoise::Name;
#[cfg(CONFIG_OSNOISE_TRACER)]
use crate::trace::instance::message::EntryFunction;
#[cfg(CONFIG_HWLAT_TRACER)]
use crate::trace::tracers::hwlat;
#[cfg(CONFIG_OSNOISE_TRACER)]
use crate::trace::tracers::osnoise::{account, places};
#[cfg(CONFIG_OSNOISE_TRACER)]
use kernel::prelude::*;

/// An NMI begins (`enter`) or ends, while `hwlat` has asked for that.
#[cfg(CONFIG_HWLAT_TRACER)]
#[no_mangle]
pub(crate) extern "C" fn trace_hwlat_callback(enter: bool) {
    hwlat::nmi(enter);
}

/// An NMI begins (`enter`) or ends, while `osnoise` has asked for that.
#[cfg(CONFIG_OSNOISE_TRACER)]
#[no_mangle]
pub(crate) extern "C" fn trace_osnoise_callback(enter: bool) {
    account::nmi(enter);
}

/// The handler of an interrupt of the architecture begins.
#[cfg(CONFIG_OSNOISE_TRACER)]
#[no_mangle]
pub(crate) extern "C" fn osnoise_trace_irq_entry(_id: c_int) {
    account::irq_begins();
}

/// It ends.
///
/// # Safety
///
/// `desc` is a string.
#[cfg(CONFIG_OSNOISE_TRACER)]
#[export]
pub(crate) unsafe extern "C" fn osnoise_trace_irq_exit(id: c_int, desc: *const c_char) {
    // SAFETY: a string, which stays during the call.
    account::irq_ends(id, unsafe { Name::new(desc) });
}

#[cfg(CONFIG_OSNOISE_TRACER)]
impl EntryFunction for places::IrqExit {
    fn address() -> usize {
        osnoise_trace_irq_exit as unsafe extern "C" fn(c_int, *const c_char) as usize
    }
}

/// A function by the name that C has for a place: texts that come from there carry its address. It
/// gives its name, as functions that do the same may become one.
#[cfg(CONFIG_OSNOISE_TRACER)]
macro_rules! place {
    ($place:ident, $name:ident) => {
        #[no_mangle]
        extern "C" fn $name() -> *const c_char {
            const NAME: &str = concat!(stringify!($name), "\0");
            NAME.as_ptr().cast()
        }

        impl EntryFunction for places::$place {
            fn address() -> usize {
                $name as extern "C" fn() -> *const c_char as usize
            }
        }
    };
}

#[cfg(CONFIG_OSNOISE_TRACER)]
place!(OsnoiseMain, osnoise_main);
#[cfg(all(CONFIG_OSNOISE_TRACER, not(CONFIG_PREEMPT_RT)))]
place!(SoftirqExit, trace_softirq_exit_callback);
#[cfg(CONFIG_OSNOISE_TRACER)]
place!(Switch, trace_sched_switch_callback);
#[cfg(CONFIG_TIMERLAT_TRACER)]
place!(TimerlatIrq, timerlat_irq);
#[cfg(CONFIG_TIMERLAT_TRACER)]
place!(TimerlatMain, timerlat_main);
#[cfg(CONFIG_TIMERLAT_TRACER)]
place!(TimerlatRead, timerlat_fd_read);
#[cfg(CONFIG_TIMERLAT_TRACER)]
place!(Migration, trace_sched_migrate_callback);

#[cfg(CONFIG_HWLAT_TRACER)]
crate::abi::same_in_c! {
    fn trace_hwlat_callback(_);
}
#[cfg(CONFIG_OSNOISE_TRACER)]
crate::abi::same_in_c! {
    fn trace_osnoise_callback(_);
    fn osnoise_trace_irq_entry(_);
}
