// SPDX-License-Identifier: GPL-2.0
/*
 * tracefs is traced like any other file system, but what is in Rust below kernel/rtrace has no sites. These have, and whoever makes
 * a directory goes through here, the core itself, too: people probe them to see which directories come, as upstream's tests do.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include "tracefs.h"

/* As in C, `modprobe fs-tracefs` finds that it is there. */
MODULE_ALIAS_FS("tracefs");

struct dentry *tracefs_create_file(const char *name, umode_t mode, struct dentry *parent, void *data,
				   const struct file_operations *fops)
{
	return rtrace_make_file(name, mode, parent, data, fops);
}

struct dentry *tracefs_create_dir(const char *name, struct dentry *parent)
{
	return rtrace_make_dir(name, parent);
}

void tracefs_remove(struct dentry *dentry)
{
	rtrace_remove_entry(dentry);
}

#ifdef CONFIG_EVENT_TRACING
/* The entries of an event's directory are found when they are looked at: neither they nor their data are told here. */
struct eventfs_inode *eventfs_create_dir(const char *name, struct eventfs_inode *parent, const struct eventfs_entry *entries,
					 int size, void *data)
{
	return rtrace_make_event_dir(parent);
}
#endif
