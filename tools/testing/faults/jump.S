/* SPDX-License-Identifier: GPL-2.0 */
/* Leaving functions without returning from them, as setjmp() and longjmp() do. */
#include <linux/annotate.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/nospec-branch.h>
#include <asm/unwind_hints.h>

/* bool faults_run(void **place, void (*f)(void **)): calls f(place); was it left by faults_jump(place)? */
SYM_FUNC_START(faults_run)
	ANNOTATE_NOCFI_SYM
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	subq	$8, %rsp
	movq	%rsp, (%rdi)
	CALL_NOSPEC rsi
	xorl	%eax, %eax
.Lout:
	ANNOTATE_NOENDBR
	addq	$8, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	RET
SYM_FUNC_END(faults_run)

/* void faults_jump(void **place): back to faults_run(). */
SYM_FUNC_START(faults_jump)
	movq	(%rdi), %rsp
	movl	$1, %eax
	leaq	.Lout(%rip), %rcx
	pushq	%rcx
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(faults_jump)
