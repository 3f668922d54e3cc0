/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a patch site calls.
 *
 * A site is the first instruction of a function (after ENDBR), so at its call the traced function has set up
 * nothing yet, and the stack holds, upwards: the return address into the function (the site + 5), then the
 * function's own return address.
 *
 * ftrace_caller and ftrace_regs_caller are two things at once. They serve, as they stand, the sites with
 * several ops, by arch_ftrace_ops_list_func(). And they are the models of the trampolines made for one ops:
 * trampoline.rs copies them whole (ftrace_caller with the entries behind it, which are nothing else), with the ops's
 * address and the call's target filled in. The unwinder looks up an address in such a copy at the same offset in the
 * model, so the copies must not differ in length or in what is on the stack where.
 *
 * Both make a struct pt_regs on the stack, which is x86's struct ftrace_regs (<asm/ftrace.h>): ftrace_caller
 * fills the arguments, rax, rbp, rsp and rip, and leaves cs 0, which says that the rest is not there.
 */
#include <linux/export.h>
#include <linux/cfi_types.h>
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/processor-flags.h>
#include <asm/ptrace.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>
#include "record.h"
#include <record-offsets.h>

#define SITE_SIZE	5

	.code64
	.section .text, "ax"

/* What the C calling convention may clobber and a function may expect at its entry. */
.macro SAVE_ENTRY_REGS
	subq	$FRAME_SIZE, %rsp
	movq	%rdi, RDI(%rsp)
	movq	%rsi, RSI(%rsp)
	movq	%rdx, RDX(%rsp)
	movq	%rcx, RCX(%rsp)
	movq	%r8, R8(%rsp)
	movq	%r9, R9(%rsp)
	movq	%rax, RAX(%rsp)
	movq	%rbp, RBP(%rsp)
.endm

/* The callback may have changed any of them. The flags stay as they are. */
.macro RESTORE_ENTRY_REGS
	movq	RDI(%rsp), %rdi
	movq	RSI(%rsp), %rsi
	movq	RDX(%rsp), %rdx
	movq	RCX(%rsp), %rcx
	movq	R8(%rsp), %r8
	movq	R9(%rsp), %r9
	movq	RAX(%rsp), %rax
	movq	RBP(%rsp), %rbp
.endm

/*
 * The callback's arguments but for the ops (rdx), and rip, rsp and orig_rax of the registers.
 * \flags: bytes between the registers and the return address.
 */
.macro SET_ARGS flags=0
	movq	FRAME_SIZE+\flags(%rsp), %rdi
	movq	%rdi, RIP(%rsp)
	subq	$SITE_SIZE, %rdi
	leaq	FRAME_SIZE+\flags+8(%rsp), %rcx
	movq	%rcx, RSP(%rsp)
	movq	(%rcx), %rsi
	movq	$0, ORIG_RAX(%rsp)
	movq	%rsp, %rcx
.endm

/*
 * What may hold an argument, for a callback that looks at no registers. No function has one in rax: the kernel's variadic
 * functions do not ask it how many vector registers are in use, as none are.
 */
.macro PUSH_ARGUMENTS
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
.endm

.macro POP_ARGUMENTS
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
.endm

SYM_TYPED_FUNC_START(ftrace_stub)
	CALL_DEPTH_ACCOUNT
	RET
SYM_FUNC_END(ftrace_stub)

/* What the compiler calls before a site is patched for the first time. */
SYM_FUNC_START(__fentry__)
	ANNOTATE_NOENDBR
	CALL_DEPTH_ACCOUNT
	RET
SYM_FUNC_END(__fentry__)
EXPORT_SYMBOL(__fentry__)

SYM_FUNC_START(ftrace_caller)
	ANNOTATE_NOENDBR
.Lcaller:
	SAVE_ENTRY_REGS
	CALL_DEPTH_ACCOUNT
	SET_ARGS
	movq	$0, CS(%rsp)
	CALL_DEPTH_ACCOUNT
.Lops:
	movabsq	$0, %rdx
.Lcall:
	call	arch_ftrace_ops_list_func

	movq	RIP(%rsp), %rax
	movq	%rax, FRAME_SIZE(%rsp)
	RESTORE_ENTRY_REGS
	addq	$FRAME_SIZE, %rsp
.Lreturn:
	RET
SYM_FUNC_END(ftrace_caller)

/*
 * The same for a callback that looks at no registers. It is a model only, right behind ftrace_caller, and a trampoline is a
 * copy of both: so the one ops can be entered by either, and the unwinder finds its way in both.
 */
SYM_FUNC_START(ftrace_plain_caller)
	ANNOTATE_NOENDBR
.Lplain:
	PUSH_ARGUMENTS
	CALL_DEPTH_ACCOUNT
	movq	6*8(%rsp), %rdi
	subq	$SITE_SIZE, %rdi
	movq	7*8(%rsp), %rsi
	CALL_DEPTH_ACCOUNT
.Lplain_ops:
	movabsq	$0, %rdx
.Lplain_call:
	call	ftrace_stub

	POP_ARGUMENTS
.Lplain_return:
	RET
SYM_FUNC_END(ftrace_plain_caller)

/*
 * The same as ftrace_caller while a word is not 0, and else nothing. A model only, right behind the others, and copied with
 * them. Functions expect nothing in r11 at their entry.
 */
SYM_FUNC_START(ftrace_gated_caller)
	ANNOTATE_NOENDBR
.Lgate:
	movabsq	$0, %r11
	cmpq	$0, (%r11)
	jne	.Lcaller
	CALL_DEPTH_ACCOUNT
.Lgated_return:
	RET
SYM_FUNC_END(ftrace_gated_caller)

/*
 * For a function that hooks returns and looks at no registers: its arguments are the site and where the return address is on
 * the stack. A model only, and copied with the others. A copy begins with a NOP if it has such a function to call, or else
 * with a jump to the copy of ftrace_caller, so that what the ops calls may change without patching its sites.
 */
SYM_FUNC_START(ftrace_hook_caller)
	ANNOTATE_NOENDBR
.Lhook:
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	PUSH_ARGUMENTS
	CALL_DEPTH_ACCOUNT
	movq	6*8(%rsp), %rdi
	subq	$SITE_SIZE, %rdi
	leaq	7*8(%rsp), %rsi
	CALL_DEPTH_ACCOUNT
.Lhook_call:
	call	ftrace_stub

	POP_ARGUMENTS
.Lhook_return:
	RET
SYM_FUNC_END(ftrace_hook_caller)

#if RTRACE_RECORDS_IN_ENTRY
/*
 * The function tracer's entry where nothing else is asked for. This does what the callback in Rust does, Buffer::record() with
 * write_plain_at(), but saves three registers instead of six. A model only, and copied with the others. Each step is
 * explained there, and the words in Documentation/ring-buffer.md. The order of the steps matters.
 *
 * What is not the case that nearly always holds is left to the callback, as long as nothing was written, and after that to
 * function_trace_rest(), which gets the ring and how far this came.
 */
SYM_FUNC_START(ftrace_record_caller)
	ANNOTATE_NOENDBR
	/* Another function, whose return is hooked, may have jumped here at its end: the callback finds where that returns to. */
	cmpq	$return_to_handler, 8(%rsp)
	je	.Lplain
	/* Is this a plain task? */
	movq	PER_CPU_VAR(current_task), %rax
	testb	$RTRACE_TASK_RESCHED, RTRACE_TASK_FLAGS(%rax)
	jne	.Lplain
	cmpw	$0, RTRACE_TASK_MIGRATION(%rax)
	jne	.Lplain
	cmpl	$RTRACE_PLAIN_DEPTH, PER_CPU_VAR(__preempt_count)
	ja	.Lplain

	pushq	%rdx
	pushq	%rcx
	pushq	%rsi
	pushq	PER_CPU_VAR(__preempt_count)
	incq	PER_CPU_VAR(__preempt_count)

	/* rcx: this CPU's ring; r11: its position; r10: the bytes used. */
.Lrings:
	movabsq	0, %rax
	movq	%gs:(%rax), %rcx
	movq	RTRACE_RING_POSITION(%rcx), %r11
	movl	%r11d, %r10d
	andl	$RTRACE_POSITION_USED, %r10d
	leaq	RTRACE_EVENT_PAYLOAD(%r10), %rax
	cmpq	%rax, RTRACE_RING_LIMIT(%rcx)
	jle	.Llimit
	cmpq	$0, RTRACE_RING_CONTEXT(%rcx)
	jne	.Lundo

	/* rdx: the time, as sched_native() reads it. */
	rdtsc
	shlq	$(32 + RTRACE_CLOCK_MORE), %rdx
	leaq	(%rdx, %rax, 1 << RTRACE_CLOCK_MORE), %rax
	movl	PER_CPU_VAR(rtrace_scale + RTRACE_SCALE_SEEN), %esi
	mulq	PER_CPU_VAR(rtrace_scale + RTRACE_SCALE_FACTOR)
	addq	PER_CPU_VAR(cyc2ns + RTRACE_CYC2NS_OFFSET), %rdx
	cmpl	PER_CPU_VAR(cyc2ns + RTRACE_CYC2NS_SEQUENCE), %esi
	jne	.Lundo

	/* rsi: the time since the last event; r10: where the event goes; r11: the position after it. */
	movq	$RTRACE_CONTEXT_TASK, RTRACE_RING_CONTEXT(%rcx)
	cmpq	%r11, RTRACE_RING_STAMP_POSITION(%rcx)
	jne	.Labandoned
	movq	%rdx, %rsi
	subq	RTRACE_RING_STAMP(%rcx), %rsi
	addq	RTRACE_RING_RECORDS(%rcx), %r10
	movq	%r11, %rax
	cmpq	$RTRACE_EVENT_LAST_DELTA, %rsi
	ja	.Labandoned
	addq	$RTRACE_POSITION_STEP, %r11
	cmpxchgq %r11, RTRACE_RING_POSITION(%rcx)
	jne	.Labandoned
	movq	%rdx, RTRACE_RING_STAMP(%rcx)
	movq	%r11, RTRACE_RING_STAMP_POSITION(%rcx)

	/* The event's header, the entry's header, the site, and where the function returns to. */
	shll	$RTRACE_EVENT_TYPE_BITS, %esi
	orl	$RTRACE_EVENT_TYPE, %esi
	movl	%esi, (%r10)
	/* (Not where Xen has a flag of its own: there the clock is never native, and recording is left to the callback.) */
	pushfq
	popq	%rax
	shll	$(RTRACE_ENTRY_IRQS_BIT - X86_EFLAGS_IF_BIT), %eax
	andl	$(1 << RTRACE_ENTRY_IRQS_BIT), %eax
	xorl	$(1 << RTRACE_ENTRY_IRQS_BIT | RTRACE_ENTRY_TYPE), %eax
	movl	%eax, RTRACE_EVENT_HEADER(%r10)
	popq	%rax
	movb	%al, RTRACE_ENTRY_PREEMPT(%r10)
	movq	PER_CPU_VAR(current_task), %rax
	movl	RTRACE_TASK_PID(%rax), %eax
	movl	%eax, RTRACE_ENTRY_PID(%r10)
	movq	3*8(%rsp), %rax
	subq	$SITE_SIZE, %rax
	movq	%rax, RTRACE_ENTRY_IP(%r10)
	movq	4*8(%rsp), %rax
	movq	%rax, RTRACE_ENTRY_PARENT(%r10)

	movq	%r11, RTRACE_RING_COMMIT(%rcx)
	andq	$RTRACE_CONTEXT_LEFT, RTRACE_RING_CONTEXT(%rcx)
	cmpq	%r11, RTRACE_RING_POSITION(%rcx)
	jne	.Lunpublished
	cmpl	$0, RTRACE_RING_WAITERS(%rcx)
	jne	.Lwanted
	movb	$1, PER_CPU_VAR(rtrace_entry_made)

.Lrecord_end:
	CALL_DEPTH_ACCOUNT
	popq	%rsi
	popq	%rcx
	popq	%rdx
	decq	PER_CPU_VAR(__preempt_count)
	je	.Lresched
.Lrecord_return:
	RET

	/* Recording may be off for long, with the tracer on. */
.Llimit:
	popq	%rax
	cmpl	$-RTRACE_LIMIT_RECORDS, RTRACE_RING_LIMIT + 4(%rcx)
	jl	.Lrecord_end
	testl	$RTRACE_LIMIT_COUNT, RTRACE_RING_LIMIT + 4(%rcx)
	jne	.Lrecord_end
	pushq	%rax

	/* Nothing was written. The callback turns preemption off again, and schedules at its end if need be. */
.Lundo:
	popq	%rax
	popq	%rsi
	popq	%rcx
	popq	%rdx
	decq	PER_CPU_VAR(__preempt_count)
	jmp	.Lplain

.Labandoned:
	popq	%rax
	movl	$RTRACE_ATTEMPT_ABANDONED, %eax
	jmp	.Lrest
.Lunpublished:
	movl	$RTRACE_ATTEMPT_UNPUBLISHED, %eax
	jmp	.Lrest
.Lresched:
	incq	PER_CPU_VAR(__preempt_count)
	pushq	%rdx
	pushq	%rcx
	pushq	%rsi
	xorl	%ecx, %ecx
	movl	$RTRACE_ATTEMPT_NOTHING, %eax
	/* The call of the site is counted already. */
	jmp	.Lrest_counted
.Lwanted:
	movl	$RTRACE_ATTEMPT_WANTED, %eax
.Lrest:
	CALL_DEPTH_ACCOUNT
.Lrest_counted:
	orq	%rax, %rcx
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	movq	6*8(%rsp), %rdi
	subq	$SITE_SIZE, %rdi
	movq	7*8(%rsp), %rsi
.Lrecord_ops:
	movabsq	$0, %rdx
	call	function_trace_rest

	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rcx
	popq	%rdx
.Lrest_return:
	RET
SYM_FUNC_END(ftrace_record_caller)
#endif
.Lmodel_end:

SYM_FUNC_START(ftrace_regs_caller)
	ANNOTATE_NOENDBR
	pushfq
	SAVE_ENTRY_REGS
	CALL_DEPTH_ACCOUNT
	SET_ARGS flags=8
	movq	%r10, R10(%rsp)
	movq	%r11, R11(%rsp)
	movq	%rbx, RBX(%rsp)
	movq	%r12, R12(%rsp)
	movq	%r13, R13(%rsp)
	movq	%r14, R14(%rsp)
	movq	%r15, R15(%rsp)
	movq	$__KERNEL_CS, CS(%rsp)
	movq	$__KERNEL_DS, SS(%rsp)
	movq	FRAME_SIZE(%rsp), %rdx
	movq	%rdx, EFLAGS(%rsp)
	CALL_DEPTH_ACCOUNT
.Lregs_ops:
	movabsq	$0, %rdx
.Lregs_call:
	call	arch_ftrace_ops_list_func

	movq	R15(%rsp), %r15
	movq	R14(%rsp), %r14
	movq	R13(%rsp), %r13
	movq	R12(%rsp), %r12
	movq	RBX(%rsp), %rbx
	movq	R11(%rsp), %r11
	movq	R10(%rsp), %r10

	/* A direct caller, put there by arch_ftrace_set_direct_caller(), comes between here and the function. */
	movq	RIP(%rsp), %rdx
	movq	EFLAGS(%rsp), %rcx
	movq	ORIG_RAX(%rsp), %rax
	testq	%rax, %rax
	jnz	.Ldirect

.Lreturn_to_rdx:
	movq	%rcx, FRAME_SIZE(%rsp)
	movq	%rdx, FRAME_SIZE+8(%rsp)
	RESTORE_ENTRY_REGS
	addq	$FRAME_SIZE, %rsp
	popfq
.Lregs_return:
	RET

.Ldirect:
	/* Bit 0 marks one to be jumped to: it finds the stack as the traced function does. */
	btrq	$0, %rax
	jnc	.Ldirect_call
	movq	%rax, %rdx
	jmp	.Lreturn_to_rdx

.Ldirect_call:
	/*
	 * As if the site had called it: on top of the return address comes its own address, which the last
	 * RET takes, and the flags move one down, into the registers' last word.
	 */
	movq	%rdx, FRAME_SIZE+8(%rsp)
	movq	%rax, FRAME_SIZE(%rsp)
	movq	%rcx, SS(%rsp)
	RESTORE_ENTRY_REGS
	addq	$SS, %rsp
	popfq
	UNWIND_HINT_FUNC
	/* One call more for the one RET more, or the CPU's stack of return addresses would go out of step. */
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lbalance
	int3
.Lbalance:
	leaq	8(%rsp), %rsp
.Lregs_balanced_return:
	ALTERNATIVE __stringify(RET), \
		    __stringify(ANNOTATE_UNRET_SAFE; ret; int3), \
		    X86_FEATURE_CALL_DEPTH
.Lregs_end:
SYM_FUNC_END(ftrace_regs_caller)

/* A direct caller that does nothing, for a site whose direct caller is being exchanged. */
SYM_FUNC_START(ftrace_stub_direct_tramp)
	ANNOTATE_NOENDBR
	CALL_DEPTH_ACCOUNT
	RET
SYM_FUNC_END(ftrace_stub_direct_tramp)

/* What trampoline.rs must know of the models; struct Model there. */
	.section .rodata
SYM_DATA_START(rtrace_models)
	/*
	 * Size; offset of the entry for callbacks that look at no registers; twice, of the movabsq of the ops and of the call;
	 * of both RETs; of the entry with a gate, which begins with the movabsq of its word, and of its RET; of the entry for what
	 * hooks returns, which begins with the NOP, of its call and of its RET; of the entry that records, which may not be there,
	 * of what loads the rings' place and the ops, and of both RETs.
	 */
	.quad	.Lmodel_end - ftrace_caller, ftrace_plain_caller - ftrace_caller
	.quad	.Lops - ftrace_caller, .Lcall - ftrace_caller, .Lplain_ops - ftrace_caller, .Lplain_call - ftrace_caller
	.quad	.Lreturn - ftrace_caller, .Lplain_return - ftrace_caller
	.quad	.Lgate - ftrace_caller, .Lgated_return - ftrace_caller
	.quad	.Lhook - ftrace_caller, .Lhook_call - ftrace_caller, .Lhook_return - ftrace_caller
#if RTRACE_RECORDS_IN_ENTRY
	.quad	ftrace_record_caller - ftrace_caller, .Lrings - ftrace_caller, .Lrecord_ops - ftrace_caller
	.quad	.Lrecord_return - ftrace_caller, .Lrest_return - ftrace_caller
#else
	.quad	0, 0, 0
	.quad	0, 0
#endif
	.quad	.Lregs_end - ftrace_regs_caller, 0
	.quad	.Lregs_ops - ftrace_regs_caller, .Lregs_call - ftrace_regs_caller
	.quad	.Lregs_ops - ftrace_regs_caller, .Lregs_call - ftrace_regs_caller
	.quad	.Lregs_return - ftrace_regs_caller, .Lregs_balanced_return - ftrace_regs_caller
	.quad	0, 0
	.quad	0, 0, 0
	.quad	0, 0, 0, 0, 0
SYM_DATA_END(rtrace_models)
