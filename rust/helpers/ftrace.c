// SPDX-License-Identifier: GPL-2.0
/* Patch sites and ops. Those that run at hits must not be traced where they are not inlined. */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/trace_recursion.h>
#include <asm/sections.h>
#include <asm/text-patching.h>

/* Are there tasks besides the one that boots? */
__rust_helper bool rust_helper_rtrace_scheduler_runs(void)
{
	return rcu_scheduler_active; /* 0: inactive. */
}

__rust_helper notrace int rust_helper_rtrace_list_recursion_enter(unsigned long ip, unsigned long parent_ip)
{
	return trace_test_and_set_recursion(ip, parent_ip, TRACE_LIST_START);
}

__rust_helper notrace int rust_helper_rtrace_recursion_enter(unsigned long ip, unsigned long parent_ip)
{
	return ftrace_test_recursion_trylock(ip, parent_ip);
}

__rust_helper notrace void rust_helper_rtrace_recursion_exit(int bit)
{
	trace_clear_recursion(bit);
}

__rust_helper notrace void rust_helper_rtrace_set_direct_caller(struct ftrace_regs *fregs, unsigned long addr)
{
	arch_ftrace_set_direct_caller(fregs, addr);
}

#ifdef CONFIG_FPROBE_EVENTS
/* What perf wants of the registers that were saved at a function's entry or return. */
__rust_helper notrace void rust_helper_rtrace_fill_perf_regs(struct ftrace_regs *fregs, struct pt_regs *regs)
{
	ftrace_fill_perf_regs(fregs, regs);
}
#endif

/* The arguments of a traced function, as far as registers hold them. */
__rust_helper notrace void rust_helper_rtrace_arguments(struct ftrace_regs *fregs, unsigned long *arguments)
{
	unsigned int i;

	for (i = 0; i < FTRACE_REGS_MAX_ARGS; i++)
		arguments[i] = ftrace_regs_get_argument(fregs, i);
}

__rust_helper notrace unsigned long rust_helper_rtrace_stack_pointer(struct ftrace_regs *fregs)
{
	return ftrace_regs_get_stack_pointer(fregs);
}

__rust_helper notrace unsigned long rust_helper_rtrace_instruction_pointer(struct ftrace_regs *fregs)
{
	return ftrace_regs_get_instruction_pointer(fregs);
}

/* kCFI tells an enum from an integer, and Rust's bindings do not: who has one among its arguments is called in C. */
__rust_helper int rust_helper_rtrace_ask_owner(struct ftrace_ops *ops, unsigned long ip, enum ftrace_ops_cmd cmd)
{
	return ops->ops_func(ops, ip, cmd);
}

__rust_helper void rust_helper_rtrace_init_ops_hash(struct ftrace_ops_hash *hash)
{
	mutex_init(&hash->regex_lock);
}

__rust_helper bool rust_helper_rtrace_is_kernel_core_data(unsigned long addr)
{
	return is_kernel_core_data(addr);
}

__rust_helper bool rust_helper_rtrace_is_kernel_text(unsigned long addr)
{
	return is_kernel_text(addr) || is_kernel_inittext(addr);
}

/* Start and end of the parts of the kernel's text whose functions have no sites: SitelessText of rust/kernel/memory.rs. */
__rust_helper void rust_helper_rtrace_siteless_text(unsigned long (*parts)[2])
{
	extern char __static_call_text_start[], __static_call_text_end[];

	parts[0][0] = (unsigned long)_sinittext;
	parts[0][1] = (unsigned long)_einittext;
	parts[1][0] = (unsigned long)__noinstr_text_start;
	parts[1][1] = (unsigned long)__noinstr_text_end;
	parts[2][0] = (unsigned long)__entry_text_start;
	parts[2][1] = (unsigned long)__entry_text_end;
	parts[3][0] = (unsigned long)__static_call_text_start;
	parts[3][1] = (unsigned long)__static_call_text_end;
}

#ifdef CONFIG_RTRACE_INLINED_FUNCTIONS
/* The text that the link has made of the names of inlined functions; there is none before. */
__rust_helper size_t rust_helper_rtrace_inlined_names(const char **names)
{
	extern const char rtrace_inlined[] __weak, rtrace_inlined_end[] __weak;

	*names = rtrace_inlined;
	return rtrace_inlined_end - rtrace_inlined;
}
#endif

__rust_helper void rust_helper_rtrace_announce_code(unsigned long addr, unsigned int size, const char *name, bool made)
{
	/* The code is there only as long as the symbol is. */
	if (!made)
		perf_event_text_poke((void *)addr, (void *)addr, size, NULL, 0);
	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL, addr, size, !made, name);
	if (made)
		perf_event_text_poke((void *)addr, NULL, 0, (void *)addr, size);
}

__rust_helper struct kmem_cache *rust_helper_rtrace_make_cache(const char *name, unsigned int size)
{
	return kmem_cache_create(name, size, 0, 0, NULL);
}

/* Where the build's list of sites is, and the kernel's init text. */
__rust_helper void rust_helper_rtrace_boot_sites(unsigned long **start, unsigned long **stop, unsigned long *init)
{
	extern unsigned long __start_mcount_loc[], __stop_mcount_loc[];

	*start = __start_mcount_loc;
	*stop = __stop_mcount_loc;
	init[0] = (unsigned long)_sinittext;
	init[1] = (unsigned long)_einittext;
}

/* Where init memory is. */
__rust_helper void rust_helper_rtrace_boot_done(unsigned long *init)
{
	init[0] = (unsigned long)__init_begin;
	init[1] = (unsigned long)__init_end;
}

/* Text that nothing runs. text_poke_early() may be init text where there are no modules; then only boot comes here. */
__rust_helper void __ref rust_helper_rtrace_poke_idle_text(void *addr, const void *insn, size_t len)
{
	text_poke_early(addr, insn, len);
}

/* Where a return at @addr has to jump to instead; 0 if nowhere. */
__rust_helper unsigned long rust_helper_rtrace_return_thunk(void *addr)
{
#ifdef CONFIG_MITIGATION_RETHUNK
	if (cpu_wants_rethunk_at(addr))
		return (unsigned long)x86_return_thunk;
#endif
	return 0;
}

/* Does each call count how deep it is? */
__rust_helper bool rust_helper_rtrace_calls_are_counted(void)
{
	return cpu_feature_enabled(X86_FEATURE_CALL_DEPTH);
}

/* kprobes that were set by ftrace can no longer be taken away. */
__rust_helper void rust_helper_rtrace_kprobes_stay(void)
{
	kprobe_ftrace_kill();
}

__rust_helper const unsigned char *rust_helper_rtrace_module_buildid(struct module *module)
{
	return module_buildid(module);
}

#ifdef CONFIG_FPROBE
/* Unless a kprobe's handler runs on this CPU, kprobes are told that one does. Preemption is off. */
__rust_helper notrace bool rust_helper_rtrace_kprobe_begin(void)
{
	if (kprobe_running())
		return false;
	kprobe_busy_begin();
	return true;
}

__rust_helper notrace void rust_helper_rtrace_kprobe_end(void)
{
	kprobe_busy_end();
}
#endif

#ifdef CONFIG_STACK_TRACER
/* Adds to the count of those who keep the stack tracer away from this CPU, and reads it. */
__rust_helper notrace int rust_helper_rtrace_stack_tracer_count(int more)
{
	return this_cpu_add_return(disable_stack_tracer, more);
}
#endif
