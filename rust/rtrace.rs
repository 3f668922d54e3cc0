// SPDX-License-Identifier: GPL-2.0

//! rtrace: the kernel's tracing core, in place of `kernel/trace`, `fs/tracefs` and x86's C ftrace
//! code.
//!
//! This is the root of the one crate that kbuild makes of the project (kbuild does not link
//! dependent Rust crates by itself). The layers, from the bottom up; a module uses only the layers
//! above it in this list:
//!
//! - [`crate::core`]: platform-neutral core, also built and tested on the host as `rtrace-core`;
//! - [`crate::kernel`]: safe wrappers over the kernel's C interfaces, additions to the `kernel`
//!   crate;
//! - [`trace`]: the subsystem itself, safe Rust;
//! - [`arch`]: patch sites and trampolines, implements `trace::ftrace::arch::Arch`;
//! - [`abi`]: every C-callable function and C-visible static.
//!
//! Code that needs patch sites exists only with `CONFIG_FUNCTION_TRACER`, which User Mode Linux
//! does not have.

// If an option excludes a part, code that only this part uses is unused. The lint for dead code is
// on when all parts exist, as in the kernel that `make kernel` builds.
#![cfg_attr(
    not(all(
        CONFIG_FUNCTION_TRACER,
        CONFIG_FUNCTION_PROFILER,
        CONFIG_STACK_TRACER,
        CONFIG_IRQSOFF_TRACER,
        CONFIG_PREEMPT_TRACER,
        CONFIG_SCHED_TRACER,
        CONFIG_HWLAT_TRACER,
        CONFIG_OSNOISE_TRACER,
        CONFIG_TIMERLAT_TRACER,
        CONFIG_EVENT_TRACING,
        CONFIG_FTRACE_SYSCALLS,
        CONFIG_KPROBE_EVENTS,
        CONFIG_UPROBE_EVENTS,
        CONFIG_FPROBE_EVENTS,
        CONFIG_EPROBE_EVENTS,
        CONFIG_SYNTH_EVENTS,
        CONFIG_USER_EVENTS,
        CONFIG_BOOTTIME_TRACING,
        CONFIG_PERF_EVENTS,
        CONFIG_FPROBE,
        CONFIG_MODULES,
        CONFIG_SMP
    )),
    allow(dead_code)
)]

#[path = "abi/mod.rs"]
mod abi;
#[cfg(CONFIG_FUNCTION_TRACER)]
#[path = "../arch/x86/mod.rs"]
mod arch;
#[allow(unreachable_pub)]
#[path = "core/mod.rs"]
mod core;
#[path = "kernel/mod.rs"]
mod kernel;
#[path = "trace/mod.rs"]
mod trace;

/// Prefix of what `pr_*!` prints; `module!` would define it, but this crate is no module.
const __LOG_PREFIX: &[u8] = b"rtrace\0";
