/* SPDX-License-Identifier: GPL-2.0 */
/* The names of functions that were only inlined, one a line. scripts/link-vmlinux.sh assembles it for the image. */
	.section .rodata, "a"
	.globl rtrace_inlined, rtrace_inlined_end
rtrace_inlined:
	.incbin INLINED
rtrace_inlined_end:

	.section .note.GNU-stack, "", %progbits
