// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers over kernel interfaces that the `kernel` crate lacks; each could go upstream.

#[cfg(CONFIG_BOOTTIME_TRACING)]
pub(crate) mod bootconfig;
#[cfg(CONFIG_BPF_EVENTS)]
pub(crate) mod bpf;
#[cfg(CONFIG_TRACE_BRANCH_PROFILING)]
pub(crate) mod branch_sites;
#[cfg(CONFIG_PROBE_EVENTS_BTF_ARGS)]
pub(crate) mod btf;
#[cfg(all(CONFIG_BLK_DEV_IO_TRACE, CONFIG_BLK_CGROUP))]
pub(crate) mod cgroup;
pub(crate) mod clock;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(crate) mod cold;
pub(crate) mod context;
pub(crate) mod cpus;
#[cfg(CONFIG_USER_EVENTS)]
pub(crate) mod deferred;
#[cfg(CONFIG_DYNAMIC_EVENTS)]
pub(crate) mod dynamic_event;
pub(crate) mod format;
#[cfg(CONFIG_FPROBE_EVENTS)]
pub(crate) mod fprobe;
pub(crate) mod fs;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod ftrace;
#[cfg(CONFIG_FUNCTION_PROFILER)]
pub(crate) mod function_profile;
pub(crate) mod hashed_pointer;
#[cfg(all(CONFIG_HIBERNATION, CONFIG_FUNCTION_GRAPH_TRACER))]
pub(crate) mod hibernation;
pub(crate) mod hotplug;
pub(crate) mod interop;
pub(crate) mod irq_work;
pub(crate) mod kallsyms;
#[cfg(CONFIG_KGDB_KDB)]
pub(crate) mod kdb;
#[cfg(CONFIG_KPROBE_EVENTS)]
pub(crate) mod kprobe;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod kprobes;
#[cfg(any(
    CONFIG_FTRACE_STARTUP_TEST,
    CONFIG_RING_BUFFER_STARTUP_TEST,
    CONFIG_HWLAT_TRACER,
    CONFIG_OSNOISE_TRACER
))]
pub(crate) mod kthread;
#[cfg(any(CONFIG_FPROBE, CONFIG_EVENT_TRACING))]
pub(crate) mod later;
pub(crate) mod mapped;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod memory;
#[cfg(CONFIG_MMIOTRACE)]
pub(crate) mod mmiotrace;
pub(crate) mod module;
#[cfg(any(CONFIG_HWLAT_TRACER, CONFIG_OSNOISE_TRACER))]
pub(crate) mod nmi_callback;
pub(crate) mod nofault;
#[cfg(CONFIG_OSNOISE_TRACER)]
pub(crate) mod osnoise;
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) mod own_event;
pub(crate) mod pages;
#[cfg(CONFIG_MMIOTRACE)]
pub(crate) mod pci;
pub(crate) mod per_context;
pub(crate) mod percpu;
#[cfg(all(CONFIG_EVENT_TRACING, CONFIG_PERF_EVENTS))]
pub(crate) mod perf_trace;
#[cfg(CONFIG_TIMERLAT_TRACER)]
pub(crate) mod pinned_timer;
pub(crate) mod printk;
pub(crate) mod queues;
pub(crate) mod raw_lock;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod rcu_list;
pub(crate) mod rcu_slot;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod recursion;
pub(crate) mod registrations;
#[cfg(CONFIG_PROBE_EVENTS)]
pub(crate) mod regs;
pub(crate) mod relaxed;
pub(crate) mod reserved;
#[cfg(CONFIG_RETHOOK)]
pub(crate) mod rethook;
#[cfg(CONFIG_FUNCTION_TRACER)]
pub(crate) mod slab;
pub(crate) mod sort;
pub(crate) mod stack;
#[cfg(CONFIG_FTRACE_SYSCALLS)]
pub(crate) mod syscall;
pub(crate) mod text;
#[cfg(any(CONFIG_HWLAT_TRACER, CONFIG_OSNOISE_TRACER))]
pub(crate) mod this_task;
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) mod trace_event;
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) mod trace_event_print;
#[cfg(CONFIG_FTRACE_SYSCALLS)]
pub(crate) mod trace_event_table;
#[cfg(CONFIG_EVENT_TRACING)]
pub(crate) mod trace_event_types;
pub(crate) mod trace_export;
pub(crate) mod trace_iterator;
pub(crate) mod trace_seq;
pub(crate) mod tracepoint;
#[cfg(CONFIG_FPROBE_EVENTS)]
pub(crate) mod tracepoint_stub;
pub(crate) mod try_lock;
#[cfg(CONFIG_UPROBE_EVENTS)]
pub(crate) mod uprobe;
#[cfg(CONFIG_USER_EVENTS)]
pub(crate) mod user_event_mm;
#[cfg(any(CONFIG_UPROBE_EVENTS, CONFIG_USER_EVENTS))]
pub(crate) mod user_memory;
pub(crate) mod uts;
pub(crate) mod wait_queue;
pub(crate) mod watchdog;
