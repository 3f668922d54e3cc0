/* SPDX-License-Identifier: GPL-2.0 */
/* The C headers that rtrace answers to; included by the kernel's rust/bindings/bindings_helper.h. */
#ifdef CONFIG_BLOCK
#include <linux/blktrace_api.h>
#endif
#include <linux/bootconfig.h>
#ifdef CONFIG_BPF_EVENTS
#include <linux/btf.h>
#endif
#ifdef CONFIG_BLK_DEV_IO_TRACE
#include <linux/cgroup.h>
#endif
#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/execmem.h>
#ifdef CONFIG_FPROBE
#include <linux/fprobe.h>
#endif
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/fsnotify.h>
#include <linux/ftrace.h>
#include <linux/ftrace_irq.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#ifdef CONFIG_KGDB_KDB
#include <linux/kdb.h>
#endif
#include <linux/kobject.h>
#include <linux/kthread.h>
#ifdef CONFIG_KPROBES
#include <linux/kprobes.h>
#endif
#include <linux/magic.h>
#include <linux/memory.h>
#ifdef CONFIG_MMIOTRACE
#include <linux/mmiotrace.h>
#include <linux/pci.h>
#endif
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/mount.h>
#include <linux/kdebug.h>
#include <linux/namei.h>
#include <linux/notifier.h>
#include <linux/ring_buffer.h>
#include <linux/sched/clock.h>
#include <linux/stacktrace.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/set_memory.h>
#include <linux/sort.h>
#include <linux/splice.h>
#include <linux/sysctl.h>
#include <linux/sysfs.h>
#ifdef CONFIG_OSNOISE_TRACER
#include <linux/interrupt.h>
#endif
#include <linux/trace.h>
#include <linux/trace_clock.h>
#include <linux/trace_events.h>
#include <linux/trace_seq.h>
#include <linux/tracefs.h>
#include <linux/uaccess.h>
#ifdef CONFIG_UPROBES
#include <linux/uprobes.h>
#endif
#ifdef CONFIG_USER_EVENTS
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/uio.h>
#include <linux/user_events.h>
#endif

/* Tracepoints that rust/api/tracepoint.rs can probe. */
#ifdef CONFIG_BLOCK
#include <trace/events/block.h>
#endif
#include <trace/events/irq.h>
#include <trace/events/kmem.h>
#ifdef CONFIG_NET
#include <trace/events/net.h>
#endif
#include <trace/events/power.h>
#include <trace/events/sched.h>
#include <trace/events/signal.h>
#include <trace/events/task.h>
#include <trace/events/timer.h>
#include <trace/events/workqueue.h>

#ifdef CONFIG_FUNCTION_TRACER
#include <asm/text-patching.h>
#endif
#ifdef CONFIG_X86
#include <asm/timer.h>
#endif
#include "../../kernel/rtrace/rust/abi/api.h"
#ifdef CONFIG_BLK_DEV_IO_TRACE
#include "../../kernel/rtrace/rust/abi/blk.h"
#endif
#include "../../kernel/rtrace/rust/abi/boot.h"
#ifdef CONFIG_X86
#include "../../kernel/rtrace/arch/x86/record.h"
#endif
#ifdef CONFIG_DYNAMIC_EVENTS
#include "../../kernel/rtrace/rust/abi/dynamic.h"
#endif
#include "../../kernel/rtrace/rust/abi/events.h"
#include "../../kernel/rtrace/rust/abi/latency.h"
#ifdef CONFIG_FTRACE_SYSCALLS
#include <trace/syscall.h>
#include <trace/events/syscalls.h>
#include "../../kernel/rtrace/rust/abi/syscalls.h"
#endif

#include "../../kernel/rtrace/rust/abi/printk.h"
#include "../../kernel/rtrace/rust/abi/trace_seq.h"
#include "../../kernel/rtrace/rust/abi/tracefs.h"
#include "../../kernel/rtrace/rust/bindings/sections.h"
#ifdef CONFIG_OSNOISE_TRACER
#include "../../kernel/rtrace/rust/helpers/osnoise.h"
#endif
#include "../../kernel/rtrace/rust/helpers/own_event.h"
#include "../../kernel/rtrace/rust/helpers/percpu.h"
#if defined(CONFIG_FTRACE_STARTUP_TEST) && defined(CONFIG_KPROBE_EVENTS)
#include "../../kernel/rtrace/rust/helpers/selftest.h"
#endif
#include "../../kernel/rtrace/rust/helpers/tracepoint.h"

/* Constants behind casts, which bindgen does not see. */
const fmode_t RUST_CONST_HELPER_FMODE_BACKING = FMODE_BACKING;
const fmode_t RUST_CONST_HELPER_FMODE_READ = FMODE_READ;
const fmode_t RUST_CONST_HELPER_FMODE_WRITE = FMODE_WRITE;
const int RUST_CONST_HELPER_IOCB_NOWAIT = IOCB_NOWAIT;
const unsigned int RUST_CONST_HELPER_LOOKUP_FOLLOW = LOOKUP_FOLLOW;
const unsigned int RUST_CONST_HELPER_LOOKUP_RCU = LOOKUP_RCU;
/* Room for a token of a filter file, its end included. */
const size_t RUST_CONST_HELPER_FILTER_TOKEN_MAX = KSYM_SYMBOL_LEN + 4;
#ifdef CONFIG_FTRACE_SYSCALLS
/* Numbers of system calls are below; bytes of user memory in an entry; what a compiler works out. */
const size_t RUST_CONST_HELPER_RTRACE_SYSCALLS = NR_syscalls;
const u32 RUST_CONST_HELPER_RTRACE_SYSCALL_USER_BYTES = CONFIG_TRACE_SYSCALL_BUF_SIZE_DEFAULT;
const u64 RUST_CONST_HELPER_RTRACE_O_TMPFILE = O_TMPFILE;
#endif
#ifdef CONFIG_FTRACE_RECORD_RECURSION
const size_t RUST_CONST_HELPER_RTRACE_RECURSED_FUNCTIONS = CONFIG_FTRACE_RECORD_RECURSION_SIZE;
#endif
/* Bytes of a task's stack. */
const size_t RUST_CONST_HELPER_RTRACE_THREAD_SIZE = THREAD_SIZE;
#ifdef CONFIG_PROBE_EVENTS
/* Where a directory entry has the address of its name, and an open file that of its directory entry. */
const size_t RUST_CONST_HELPER_RTRACE_DENTRY_NAME = offsetof(struct dentry, d_name.name);
const size_t RUST_CONST_HELPER_RTRACE_FILE_DENTRY = offsetof(struct file, f_path.dentry);
#endif
