// SPDX-License-Identifier: GPL-2.0
/* Exports of fprobe.rs. */
#include <linux/export.h>
#include <linux/fprobe.h>

EXPORT_SYMBOL_GPL(register_fprobe);
EXPORT_SYMBOL_GPL(register_fprobe_ips);
EXPORT_SYMBOL_GPL(register_fprobe_syms);
EXPORT_SYMBOL_GPL(unregister_fprobe);
