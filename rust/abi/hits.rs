// SPDX-License-Identifier: GPL-2.0

//! What patch sites and the return hook lead to: functions that assembly calls, by names that
//! people know from `enabled_functions` and stack traces.
//!
//! Each does what a function of a room says, in line. The rooms get their addresses by the traits
//! that are implemented here.

use crate::kernel::context::PreemptOff;
use crate::kernel::kprobes::no_kprobe;
use crate::trace::buffer::Unfinished;
#[cfg(CONFIG_FPROBE)]
use crate::trace::fgraph::fprobe::{self, hit, ProbeSymbols};
use crate::trace::fgraph::graph_user::{self, GraphSymbols};
use crate::trace::fgraph::recorder::Recorder;
use crate::trace::fgraph::{self, plain, shared, user, EntryFuncs, HookSymbols};
use crate::trace::ftrace::arch::{Arch, Hooking, Machine};
use crate::trace::ftrace::ops::{self, list, thunk, CallbackSymbol, Entry, Func, ListSymbols};
use crate::trace::instance::Instance;
use crate::trace::profilers::function::shared::Profile;
use crate::trace::profilers::function::{self as profile, hot, HotSymbols};
use crate::trace::tracers::function::{self, Careful};
use kernel::bindings::{fgraph_ops, ftrace_graph_ent, ftrace_graph_ret, ftrace_ops, ftrace_regs};
use kernel::ffi::c_int;

/// A site with several ops.
///
/// # Safety
///
/// For trampolines: `fregs` is what they saved.
#[no_mangle]
unsafe extern "C" fn arch_ftrace_ops_list_func(
    ip: usize,
    parent_ip: usize,
    _op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    // SAFETY: the trampoline that calls this saved `fregs`.
    unsafe { list::hit_all(ip, parent_ip, fregs) }
}

/// A site with one ops that asked for protection.
///
/// # Safety
///
/// For trampolines: `op` is the ops that the trampoline was made for, `fregs` what it saved.
#[no_mangle]
unsafe extern "C" fn ftrace_ops_assist_func(
    ip: usize,
    parent_ip: usize,
    op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    // SAFETY: the trampoline that calls this passes its ops, which is registered, and has saved
    // `fregs`.
    unsafe { list::hit_one(ip, parent_ip, op, fregs) }
}

impl ListSymbols for ops::Symbols {
    const ASSIST: Func = ftrace_ops_assist_func;
}

/// Names the function that trampolines call for the callback `$of`.
macro_rules! callback {
    ($symbol:ident: $of:ty $(, $item:item)?) => {
        /// # Safety
        ///
        /// For trampolines and the list, as [`thunk`].
        #[no_mangle]
        unsafe extern "C" fn $symbol(
            ip: usize,
            parent_ip: usize,
            op: *mut ftrace_ops,
            fregs: *mut ftrace_regs,
        ) {
            // SAFETY: only an ops whose callback is a `$of` has this function, as
            // `Ops::set_callback` gave it.
            unsafe { thunk::<$of>(ip, parent_ip, op, fregs) }
        }

        // SAFETY: the function calls the thunk of `$of`.
        unsafe impl CallbackSymbol for $of {
            const ENTRY: Entry = $symbol;
            $($item)?
        }
    };
}

callback!(
    function_trace_call: Instance,
    const RINGS: fn(&Self) -> Option<usize> = |instance| instance.buffer().rings();
);
callback!(function_careful_trace_call: Careful<ops::Nothing>);
callback!(function_args_trace_call: Careful<ops::Arguments>);
callback!(function_trace_probe_call: crate::trace::commands::Probe);

/// What is left of a hit that `ftrace_record_caller` in `arch/x86/entry.S` has begun.
///
/// # Safety
///
/// For trampolines: `op` is an ops whose callback is an `Instance`. Preemption is off by the trampoline,
/// which does not turn it on. `word` says what is left, as of [`Unfinished`].
#[no_mangle]
unsafe extern "C" fn function_trace_rest(
    ip: usize,
    parent_ip: usize,
    op: *mut ftrace_ops,
    word: usize,
) {
    // SAFETY: the trampoline has turned preemption off and leaves the rest to this, with what it says
    // of this CPU's ring; only an ops whose callback is an `Instance` has rings.
    unsafe {
        let left = Unfinished::handed_on(word, PreemptOff::assume());
        let instance = ops::callback_of::<Instance>(op);
        function::finish(&instance, ip, parent_ip, left);
    }
}

/// A site of several graph users, or of one that is not traced alone.
///
/// # Safety
///
/// For trampolines and the list: `fregs` is what the trampoline saved at the entry of the function
/// at `ip`.
#[no_mangle]
unsafe extern "C" fn ftrace_graph_func(
    ip: usize,
    parent_ip: usize,
    _op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    // SAFETY: the trampoline saved `fregs` at the entry of the function at `ip`.
    unsafe { shared::hit(ip, parent_ip, fregs) }
}

/// Names the two functions of a site of a graph user alone: for the list, and for trampolines that save
/// no registers.
macro_rules! hooking {
    ($symbol:ident, $hooking:ident: $hit:path) => {
        /// # Safety
        ///
        /// As [`ftrace_graph_func`].
        #[no_mangle]
        unsafe extern "C" fn $symbol(
            ip: usize,
            _parent_ip: usize,
            _op: *mut ftrace_ops,
            fregs: *mut ftrace_regs,
        ) {
            // SAFETY: the trampoline saved `fregs` at the entry of the function at `ip`.
            unsafe { $hooking(ip, Machine::return_address(fregs)) }
        }

        /// # Safety
        ///
        /// For trampolines: the function at `ip` is entered, and `retp` is where its return address
        /// is on the stack.
        #[no_mangle]
        unsafe extern "C" fn $hooking(ip: usize, retp: *mut usize) {
            // SAFETY: the trampoline says where the return address of the function at `ip` is.
            unsafe { $hit(ip, retp) }
        }
    };
}

hooking!(ftrace_graph_plain, ftrace_graph_plain_hook: plain::hit);
hooking!(ftrace_graph_profile, ftrace_graph_profile_hook: hot::hit);

/// What the return hook calls: where the function returns to.
///
/// # Safety
///
/// For the hook alone: `fregs` is what it saved, `retval` what the function returned.
#[no_mangle]
unsafe extern "C" fn ftrace_return_to_handler(fregs: *mut ftrace_regs, retval: usize) -> usize {
    // SAFETY: the hook, which alone calls this, saved `fregs`.
    unsafe { shared::returns(fregs, retval) }
}

no_kprobe!(
    arch_ftrace_ops_list_func,
    ftrace_ops_assist_func,
    function_trace_call,
    function_trace_rest,
    function_careful_trace_call,
    function_args_trace_call,
    function_trace_probe_call,
    ftrace_graph_func,
    ftrace_graph_plain,
    ftrace_graph_plain_hook,
    ftrace_graph_profile,
    ftrace_graph_profile_hook,
    ftrace_return_to_handler,
);

#[cfg(CONFIG_FPROBE)]
no_kprobe!(fprobe_ftrace_entry, fprobe_fgraph_entry, fprobe_return);

impl HookSymbols for fgraph::Symbols {
    const SHARED: Func = ftrace_graph_func;
    const PLAIN: Func = ftrace_graph_plain;
    const PLAIN_HOOKING: Hooking = ftrace_graph_plain_hook;
    const RETURNS: unsafe extern "C" fn(*mut ftrace_regs, usize) -> usize =
        ftrace_return_to_handler;
}

impl HotSymbols for profile::Symbols {
    const ENTRY: EntryFuncs = EntryFuncs {
        func: ftrace_graph_profile,
        hooking: Some(ftrace_graph_profile_hook),
    };
}

/// Names the functions of the graph user whose callback is a `$of`.
macro_rules! graph_user {
    ($entry:ident, $returned:ident: $of:ty) => {
        /// # Safety
        ///
        /// As [`graph_user::entry`].
        #[no_mangle]
        unsafe extern "C" fn $entry(
            trace: *mut ftrace_graph_ent,
            user: *mut fgraph_ops,
            fregs: *mut ftrace_regs,
        ) -> c_int {
            // SAFETY: only a `GraphUser<$of>` has this function.
            unsafe { graph_user::entry::<$of>(trace, user, fregs) }
        }

        /// # Safety
        ///
        /// As [`graph_user::returned`].
        #[no_mangle]
        unsafe extern "C" fn $returned(
            trace: *mut ftrace_graph_ret,
            user: *mut fgraph_ops,
            fregs: *mut ftrace_regs,
        ) {
            // SAFETY: only a `GraphUser<$of>` has this function.
            unsafe { graph_user::returned::<$of>(trace, user, fregs) }
        }

        // SAFETY: the functions call those of `$of`.
        unsafe impl GraphSymbols for $of {
            const ENTRY: user::Entry = $entry;
            const RETURN: user::Return = $returned;
        }
    };
}

graph_user!(trace_graph_entry, trace_graph_return: Recorder);
graph_user!(profile_graph_entry, profile_graph_return: Profile);

/// A site of fprobes that do not look at returns.
///
/// # Safety
///
/// As [`ftrace_graph_func`].
#[cfg(CONFIG_FPROBE)]
#[no_mangle]
unsafe extern "C" fn fprobe_ftrace_entry(
    ip: usize,
    parent_ip: usize,
    _op: *mut ftrace_ops,
    fregs: *mut ftrace_regs,
) {
    // SAFETY: the trampoline saved `fregs` at the entry of the function at `ip`.
    unsafe { hit::entry_alone(ip, parent_ip, fregs) }
}

/// The function for entries of the graph user of fprobes.
///
/// # Safety
///
/// For [`shared`]: `trace` is the entry, `user` that of fprobes, `fregs` what the trampoline saved.
#[cfg(CONFIG_FPROBE)]
#[no_mangle]
unsafe extern "C" fn fprobe_fgraph_entry(
    trace: *mut ftrace_graph_ent,
    user: *mut fgraph_ops,
    fregs: *mut ftrace_regs,
) -> c_int {
    // SAFETY: `shared` calls it with the entry, the user and what the trampoline saved.
    unsafe { hit::entered(trace, user, fregs) }
}

/// The function for returns of the graph user of fprobes.
///
/// # Safety
///
/// For [`shared`]: `trace` is the return, `user` that of fprobes, `fregs` what the hook saved.
#[cfg(CONFIG_FPROBE)]
#[no_mangle]
unsafe extern "C" fn fprobe_return(
    trace: *mut ftrace_graph_ret,
    user: *mut fgraph_ops,
    fregs: *mut ftrace_regs,
) {
    // SAFETY: `shared` calls it with the return, the user and what the hook saved.
    unsafe { hit::returned(trace, user, fregs) }
}

#[cfg(CONFIG_FPROBE)]
impl ProbeSymbols for fprobe::Symbols {
    const ENTRY_ALONE: Func = fprobe_ftrace_entry;
    const ENTERED: user::Entry = fprobe_fgraph_entry;
    const RETURNED: user::Return = fprobe_return;
}

#[cfg(CONFIG_KPROBE_EVENTS)]
const _: () = {
    use crate::kernel::kprobe;
    use crate::trace::events::dynamic::kprobe::Hits;
    no_kprobe!(
        kprobe::hit::<Hits>,
        kprobe::entered::<Hits>,
        kprobe::returned::<Hits>,
    );
};

#[cfg(CONFIG_FPROBE_EVENTS)]
const _: () = {
    use crate::kernel::fprobe;
    use crate::trace::events::dynamic::fprobe::Hits;
    no_kprobe!(
        fprobe::entered::<Hits>,
        fprobe::save::<Hits>,
        fprobe::returned::<Hits>,
    );
};
