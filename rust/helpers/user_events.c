// SPDX-License-Identifier: GPL-2.0
/* Pages of programs, for the bits that say whether their events are enabled. */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

__rust_helper void rust_helper_put_page(struct page *page)
{
	put_page(page);
}

__rust_helper bool rust_helper_perfmon_capable(void)
{
	return perfmon_capable();
}

__rust_helper bool rust_helper_rtrace_is_user_memory(unsigned long address, unsigned long size)
{
	return access_ok((const void __user *)address, size);
}
