/* SPDX-License-Identifier: GPL-2.0 */
/* What tracefs.c and the Rust side share. */
#ifndef RTRACE_ABI_TRACEFS_H
#define RTRACE_ABI_TRACEFS_H

#include <linux/tracefs.h>

struct dentry *rtrace_make_file(const char *name, umode_t mode, struct dentry *parent, void *data,
					  const struct file_operations *fops);
struct dentry *rtrace_make_dir(const char *name, struct dentry *parent);
void rtrace_remove_entry(struct dentry *dentry);
struct eventfs_inode *rtrace_make_event_dir(struct eventfs_inode *parent);

#endif
