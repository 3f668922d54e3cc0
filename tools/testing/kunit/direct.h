/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KUNIT_DIRECT_H
#define KUNIT_DIRECT_H

#include <asm/asm-offsets.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>

/*
 * Called at a site: counts by one instruction, which changes no register, and goes on in the function. Aligned, as bit 0 of a
 * direct caller's address marks one to be jumped to.
 */
#define DIRECT(name, count)				\
	void name(void *);				\
	asm(".text\n"					\
	    ".balign 16\n"				\
	    ".globl " #name "\n"			\
	    ".type " #name ", @function\n"		\
	    #name ": " ASM_ENDBR CALL_DEPTH_ACCOUNT	\
	    "incl " count "(%rip)\n"			\
	    ASM_RET					\
	    ".size " #name ", .-" #name)

#endif
