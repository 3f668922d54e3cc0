// SPDX-License-Identifier: GPL-2.0

//! Every C-callable function and C-visible static: pointers become references, one safe call,
//! errno.

/// Compares functions with what the C headers say of them, for those that are safe to call:
/// `#[export]` does it for all, but with rustc 1.85 it takes unsafe ones only.
macro_rules! same_in_c {
    ($(fn $name:ident($($argument:tt),*) $(-> $result:tt)?;)*) => {
        const _: () = {
            $(let _: [unsafe extern "C" fn($($argument),*) $(-> $result)?; 2] = [kernel::bindings::$name, $name];)*
        };
    };
}
pub(crate) use same_in_c;

mod api;
#[cfg(CONFIG_BLK_DEV_IO_TRACE)]
mod blk;
#[cfg(all(CONFIG_BLOCK, CONFIG_EVENT_TRACING))]
mod block;
mod boot;
#[cfg(CONFIG_BPF_EVENTS)]
mod bpf;
#[cfg(CONFIG_TRACE_BRANCH_PROFILING)]
mod branch;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod declared;
mod dump;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod dynamic;
#[cfg(CONFIG_EVENT_TRACING)]
mod event_calls;
#[cfg(CONFIG_EVENT_TRACING)]
mod events;
#[cfg(CONFIG_FUNCTION_TRACER)]
mod fgraph;
#[cfg(CONFIG_FPROBE)]
mod fprobe;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod ftrace;
#[cfg(CONFIG_FUNCTION_TRACER)]
mod ftrace_hash;
#[cfg(CONFIG_FUNCTION_TRACER)]
mod hits;
#[cfg(CONFIG_KGDB_KDB)]
mod kdb;
#[cfg(any(CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER))]
mod latency;
#[cfg(CONFIG_MMIOTRACE)]
mod mmiotrace;
mod module_tracer;
#[cfg(any(CONFIG_HWLAT_TRACER, CONFIG_OSNOISE_TRACER))]
mod noise;
#[cfg(all(CONFIG_EVENT_TRACING, CONFIG_PERF_EVENTS))]
mod perf_event;
#[cfg(all(CONFIG_EVENT_TRACING, CONFIG_PERF_EVENTS, CONFIG_FUNCTION_TRACER))]
mod perf_function;
mod printk;
#[cfg(all(CONFIG_FUNCTION_TRACER, CONFIG_X86))]
mod record;
#[cfg(CONFIG_RETHOOK)]
mod rethook;
mod ring_buffer;
mod ring_buffer_map;
mod ring_buffer_read;
mod snapshot_cond;
#[cfg(CONFIG_STACK_TRACER)]
mod stack_tracer;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
mod synth;
#[cfg(CONFIG_FTRACE_SYSCALLS)]
mod syscalls;
#[cfg(any(CONFIG_EVENT_TRACING, CONFIG_STACK_TRACER))]
mod sysctl;
mod tasks;
mod trace;
mod trace_array;
mod trace_clock;
#[cfg(CONFIG_EVENT_TRACING)]
mod trace_export;
mod trace_seq;
mod tracefs;
#[cfg(CONFIG_USER_EVENTS)]
mod user_events;
