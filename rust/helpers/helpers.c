// SPDX-License-Identifier: GPL-2.0
/*
 * One-line shims for C inline functions and macros; included by the kernel's rust/helpers/helpers.c. The files with a header here
 * are objects of their own (Kbuild): what has one address, or is data.
 */
#include "../../kernel/rtrace/rust/helpers/trace.c"
#include "../../kernel/rtrace/rust/helpers/tracefs.c"
#ifdef CONFIG_FUNCTION_TRACER
#include "../../kernel/rtrace/rust/helpers/ftrace.c"
#endif
#include "../../kernel/rtrace/rust/helpers/output.c"
#if defined(CONFIG_HWLAT_TRACER) || defined(CONFIG_OSNOISE_TRACER)
#include "../../kernel/rtrace/rust/helpers/noise.c"
#endif
#ifdef CONFIG_BOOTTIME_TRACING
#include "../../kernel/rtrace/rust/helpers/bootconfig.c"
#endif
#ifdef CONFIG_EVENT_TRACING
#include "../../kernel/rtrace/rust/helpers/events.c"
#include "../../kernel/rtrace/rust/helpers/syscalls.c"
#endif
#ifdef CONFIG_BPF_EVENTS
#include "../../kernel/rtrace/rust/helpers/bpf.c"
#endif
/* The interface for Rust code shows what a traced function returns. */
#if defined(CONFIG_PROBE_EVENTS) || defined(CONFIG_FUNCTION_TRACER)
#include "../../kernel/rtrace/rust/helpers/regs.c"
#endif
#ifdef CONFIG_KPROBE_EVENTS
#include "../../kernel/rtrace/rust/helpers/kprobes.c"
#endif
#ifdef CONFIG_RETHOOK
#include "../../kernel/rtrace/rust/helpers/rethook.c"
#endif
#ifdef CONFIG_UPROBE_EVENTS
#include "../../kernel/rtrace/rust/helpers/uprobes.c"
#endif
#ifdef CONFIG_MMIOTRACE
#include "../../kernel/rtrace/rust/helpers/pci.c"
#endif
#ifdef CONFIG_USER_EVENTS
#include "../../kernel/rtrace/rust/helpers/user_events.c"
#endif
