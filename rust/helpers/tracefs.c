// SPDX-License-Identifier: GPL-2.0

#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/fsnotify.h>
#include <linux/security.h>

__rust_helper void rust_helper_inode_lock(struct inode *inode)
{
	inode_lock(inode);
}

__rust_helper void rust_helper_inode_lock_nested(struct inode *inode, unsigned int subclass)
{
	inode_lock_nested(inode, subclass);
}

__rust_helper void rust_helper_inode_unlock(struct inode *inode)
{
	inode_unlock(inode);
}

__rust_helper struct dentry *rust_helper_dget(struct dentry *dentry)
{
	return dget(dentry);
}

__rust_helper void rust_helper_fsnotify_create(struct inode *dir, struct dentry *dentry)
{
	fsnotify_create(dir, dentry);
}

__rust_helper void rust_helper_fsnotify_mkdir(struct inode *dir, struct dentry *dentry)
{
	fsnotify_mkdir(dir, dentry);
}

#ifndef CONFIG_SECURITY
__rust_helper int rust_helper_security_locked_down(enum lockdown_reason what)
{
	return security_locked_down(what);
}
#endif

__rust_helper int rust_helper_vfs_parse_fs_string(struct fs_context *fc, const char *key,
						  const char *value)
{
	return vfs_parse_fs_string(fc, key, value);
}
