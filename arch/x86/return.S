/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where functions return to whose return address was exchanged for the hook.
 *
 * The function's RET has taken the hook's address off the stack; the word is still there, just below. It is covered again at
 * once, so that an interrupt leaves it alone and the unwinder finds it: it knows the hook's address, and
 * ftrace_graph_ret_addr() tells it where that really leads.
 *
 * What the function returned, rax and rdx, is all that must survive; callee-saved registers do by themselves. The struct
 * pt_regs, x86's struct ftrace_regs, has these and rbp; rsp and rip are filled in where somebody wants them.
 */
#include <linux/cfi_types.h>
#include <linux/linkage.h>
#include <asm/asm-offsets.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace.h>
#include <asm/unwind_hints.h>

	.code64
	.section .text, "ax"

SYM_CODE_START(return_to_handler)
	UNWIND_HINT_UNDEFINED
	ANNOTATE_NOENDBR
	subq	$8, %rsp
	UNWIND_HINT_FUNC
	subq	$FRAME_SIZE, %rsp
	movq	%rax, RAX(%rsp)
	movq	%rdx, RDX(%rsp)
	movq	%rbp, RBP(%rsp)
	movq	%rsp, %rdi
	movq	%rax, %rsi
	call	ftrace_return_to_handler

	movq	%rax, %rcx
	movq	RAX(%rsp), %rax
	movq	RDX(%rsp), %rdx
	addq	$FRAME_SIZE + 8, %rsp
	/*
	 * An indirect jump would want an ENDBR where functions return to, and unbalance the CPU's stack of return
	 * addresses; so it is a return from a call, to another address than that call's.
	 */
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lreturn
	int3
.Lreturn:
	movq	%rcx, (%rsp)
	ALTERNATIVE __stringify(RET), \
		    __stringify(ANNOTATE_UNRET_SAFE; ret; int3), \
		    X86_FEATURE_CALL_DEPTH
SYM_CODE_END(return_to_handler)
