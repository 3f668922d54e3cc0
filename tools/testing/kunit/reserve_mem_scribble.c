// SPDX-License-Identifier: GPL-2.0
/*
 * Damages memory that `reserve_mem=` has set aside, for tests of who finds it after a reboot: from where `text=` stands in it
 * to the end of that page there are records that are far too long. Loading fails with ENOENT if there is no such memory or text.
 */
#include <linux/init.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/string.h>

static char *name = "trace";
module_param(name, charp, 0);
static char *text = "";
module_param(text, charp, 0);

static int __init scribble(void)
{
	phys_addr_t start, size;
	size_t at, length = strlen(text);
	char *memory;

	if (!length || !reserve_mem_find_by_name(name, &start, &size))
		return -ENOENT;
	memory = phys_to_virt(start);
	for (at = 0; at + length <= size; at++) {
		if (!memcmp(memory + at, text, length)) {
			memset(memory + at, 0x1d, PAGE_SIZE - at % PAGE_SIZE);
			pr_info("%zu bytes of %s damaged\n", PAGE_SIZE - at % PAGE_SIZE, name);
			return 0;
		}
	}
	return -ENOENT;
}
module_init(scribble);

static void __exit leave(void)
{
}
module_exit(leave);

MODULE_DESCRIPTION("Damages memory that outlives the kernel");
MODULE_LICENSE("GPL");
