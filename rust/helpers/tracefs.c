// SPDX-License-Identifier: GPL-2.0

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/fsnotify.h>
#include <linux/security.h>
#include <linux/sysfs.h>

#ifndef CONFIG_SYSFS
__rust_helper int rust_helper_sysfs_create_mount_point(struct kobject *parent, const char *name)
{
	return sysfs_create_mount_point(parent, name);
}
#endif

#ifndef CONFIG_DEBUG_FS
__rust_helper struct dentry *rust_helper_debugfs_create_automount(const char *name, struct dentry *parent,
								  debugfs_automount_t f, void *data)
{
	return debugfs_create_automount(name, parent, f, data);
}
#endif

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

__rust_helper void rust_helper_fsnotify_inode(struct inode *inode, __u32 mask)
{
	fsnotify_inode(inode, mask);
}

__rust_helper bool rust_helper_dir_emit(struct dir_context *ctx, const char *name, int namelen,
					u64 ino, unsigned int type)
{
	return dir_emit(ctx, name, namelen, ino, type);
}

__rust_helper bool rust_helper_dir_emit_dots(struct file *file, struct dir_context *ctx)
{
	return dir_emit_dots(file, ctx);
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

/* With the name that /proc/slabinfo has for C's. */
__rust_helper struct kmem_cache *rust_helper_rtrace_inode_cache(unsigned int size)
{
	return kmem_cache_create("tracefs_inode_cache", size, 0, SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT, NULL);
}

__rust_helper void *rust_helper_alloc_inode_sb(struct super_block *sb, struct kmem_cache *cache, gfp_t flags)
{
	return alloc_inode_sb(sb, cache, flags);
}
