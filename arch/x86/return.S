/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where functions return to whose return address was exchanged for the hook.
 *
 * The function's RET has taken the hook's address off the stack. It is put there again for the unwinder, which knows it and asks
 * ftrace_graph_ret_addr() where it really leads. (It may still be there, just below; unless an interrupt came in between.)
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
	pushq	$return_to_handler
	UNWIND_HINT_FUNC
	subq	$FRAME_SIZE, %rsp
	movq	%rax, RAX(%rsp)
	movq	%rdx, RDX(%rsp)
	movq	%rbp, RBP(%rsp)
	movq	%rsp, %rdi
	movq	%rax, %rsi
	call	ftrace_return_to_handler

	/* From here on the word above the frame is where to return to, whatever interrupts and unwinds. */
	movq	%rax, FRAME_SIZE(%rsp)
	movq	RAX(%rsp), %rax
	movq	RDX(%rsp), %rdx
	/*
	 * An indirect jump would want an ENDBR where functions return to, and unbalance the CPU's stack of return
	 * addresses; so it is a return from a call, to another address than that call's.
	 */
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lreturn
	int3
.Lreturn:
	addq	$FRAME_SIZE + 8, %rsp
	ALTERNATIVE __stringify(RET), \
		    __stringify(ANNOTATE_UNRET_SAFE; ret; int3), \
		    X86_FEATURE_CALL_DEPTH
SYM_CODE_END(return_to_handler)
