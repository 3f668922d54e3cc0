// SPDX-License-Identifier: GPL-2.0
/*
 * Opens a file as overlayfs and nfsd do, by dentry_open(), which does not ask for the inode's permission: a path that is
 * written to the parameter is opened and closed, and the write gives the error.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/namei.h>

static int set(const char *text, const struct kernel_param *param)
{
	struct file *file;
	struct path path;
	int error;

	error = kern_path(text, LOOKUP_FOLLOW, &path);
	if (error)
		return error;
	file = dentry_open(&path, O_RDONLY, current_cred());
	path_put(&path);
	if (IS_ERR(file))
		return PTR_ERR(file);
	fput(file);
	return 0;
}

static const struct kernel_param_ops ops = { .set = set };

module_param_cb(path, &ops, NULL, 0200);

static int __init begin(void)
{
	return 0;
}

static void __exit end(void)
{
}

module_init(begin);
module_exit(end);
MODULE_DESCRIPTION("Opens a file by dentry_open()");
MODULE_LICENSE("GPL");
