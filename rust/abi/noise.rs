// SPDX-License-Identifier: GPL-2.0

//! NMIs and interrupts that the tracers of noise are told of: `include/linux/ftrace_irq.h`,
//! `include/linux/trace.h`.

#[cfg(CONFIG_OSNOISE_TRACER)]
use crate::kernel::osnoise::Name;
#[cfg(CONFIG_HWLAT_TRACER)]
use crate::trace::tracers::hwlat;
#[cfg(CONFIG_OSNOISE_TRACER)]
use crate::trace::tracers::osnoise::account;
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

#[cfg(CONFIG_HWLAT_TRACER)]
crate::abi::same_in_c! {
    fn trace_hwlat_callback(_);
}
#[cfg(CONFIG_OSNOISE_TRACER)]
crate::abi::same_in_c! {
    fn trace_osnoise_callback(_);
    fn osnoise_trace_irq_entry(_);
}
