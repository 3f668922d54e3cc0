/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FAULTS_SPOIL_H
#define FAULTS_SPOIL_H

#include <linux/annotate.h>
#include <linux/kprobes.h>

/* Behind an ENDBR, which objtool would miss at an address that it knew. */
static inline unsigned long site_of(unsigned long function)
{
	OPTIMIZER_HIDE_VAR(function);
	return function + (IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? 4 : 0);
}

/* What writes to kernel text is not exported; kprobes tell where it is. */
static noinline __nocfi int spoil(unsigned long site)
{
	static const unsigned char other_nop[MCOUNT_INSN_SIZE] = { 0x66, 0x90, 0x0f, 0x1f, 0x00 };
	static struct kprobe where = { .symbol_name = "text_poke_copy" };
	void *(*poke)(void *addr, const void *opcode, size_t len);
	int ret = register_kprobe(&where);

	if (ret)
		return ret;
	poke = (void *)where.addr;
	unregister_kprobe(&where);
	return poke((void *)site, other_nop, sizeof(other_nop)) ? 0 : -EIO;
}

ANNOTATE_NOCFI_SYM(spoil);

#endif
