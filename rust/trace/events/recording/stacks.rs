// SPDX-License-Identifier: GPL-2.0

//! The stack traces of a hit, and where they begin.

use crate::core::parse::options::Flag;
#[cfg(CONFIG_PROBE_EVENTS)]
use crate::kernel::regs::Regs;
use crate::trace::buffer::entry::Context;
use crate::trace::buffer::HeldRing;
use crate::trace::events::file::HotFile;
use crate::trace::tasks::stack;

/// Without probes there are no registers of hits.
#[cfg(not(CONFIG_PROBE_EVENTS))]
type Regs = ();

/// Where the kernel stack of a hit begins.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// Behind the probe's own functions.
    Unknown,
    /// In the function that contains this address.
    #[cfg_attr(not(CONFIG_FPROBE_EVENTS), allow(dead_code))]
    In(usize),
    /// Where these were the registers.
    #[cfg_attr(not(CONFIG_KPROBE_EVENTS), allow(dead_code))]
    At(&'a Regs),
}

/// Records the stack of a hit of `file` in `context`, without the frames of the probe, in which this
/// is called.
pub(in crate::trace::events) fn record_stack(file: &HotFile, context: Context) {
    stack::record_behind(file.instance.buffer(), context, file.call().probe());
}

/// Copies the stack of a hit of `file` to `into`, as [`record_stack`] records it, and 0 after it.
#[cfg(CONFIG_HIST_TRIGGERS)]
pub(in crate::trace::events) fn copy_stack(file: &HotFile, into: &mut [u64]) {
    stack::copy_behind(into, file.call().probe());
}

/// Records the stack traces that follow an entry made in `context`. They go to its `ring`: as in C they
/// are where the entry is, also if a trigger has taken a snapshot.
pub(super) fn follow(file: &HotFile, ring: &HeldRing, context: Context, start: Start<'_>) {
    let to = &file.instance.buffer().on(ring);
    let options = file.instance.options();
    if options.has(Flag::StackTrace) {
        match start {
            #[cfg(CONFIG_DYNAMIC_EVENTS)]
            Start::In(ip) => stack::record_from(to, context, ip),
            #[cfg(CONFIG_KPROBE_EVENTS)]
            Start::At(regs) => stack::record_regs(to, context, regs),
            _ => stack::record_behind(to, context, file.call().probe()),
        }
    }
    // As in C, the option has no effect if the architecture cannot unwind a user stack.
    if cfg!(CONFIG_USER_STACKTRACE_SUPPORT) && options.has(Flag::UserStackTrace) {
        stack::record_user(to, context);
    }
}
