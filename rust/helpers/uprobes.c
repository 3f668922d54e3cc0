// SPDX-License-Identifier: GPL-2.0
/* Files that programs are mapped from, for probes in them. */
#include <linux/dcache.h>
#include <linux/fs.h>

__rust_helper struct inode *rust_helper_d_real_inode(const struct dentry *dentry)
{
	return d_real_inode(dentry);
}

__rust_helper bool rust_helper_d_is_reg(const struct dentry *dentry)
{
	return d_is_reg(dentry);
}
