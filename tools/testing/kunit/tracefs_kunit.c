// SPDX-License-Identifier: GPL-2.0
/*
 * <linux/tracefs.h> as C users see it: directories and files with operations of their own. The tests look at what is made; a
 * directory `kunit` stays as long as the module, for user space to read and write.
 */
#include <kunit/test.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/tracefs.h>
#include <linux/uaccess.h>
#include "address_of.h"

static struct dentry *(*tracefs_create_dir_at)(const char *name, struct dentry *parent);
static void (*tracefs_remove_at)(struct dentry *dentry);

static const struct internal internal[] = {
	{ &tracefs_create_dir_at,	"tracefs_create_dir" },
	{ &tracefs_remove_at,		"tracefs_remove" },
};

/* The kernel takes the types away from functions that it calls by their names alone. */
static noinline __nocfi struct dentry *create_dir(const char *name, struct dentry *parent)
{
	return tracefs_create_dir_at(name, parent);
}

static noinline __nocfi void remove_tree(struct dentry *dentry)
{
	tracefs_remove_at(dentry);
}

/* The files' data. */
static char kept[64] = "first\n";
static char other[] = "other\n";

static ssize_t read_text(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	const char *text = file->private_data;

	return simple_read_from_buffer(to, count, pos, text, strlen(text));
}

static ssize_t write_text(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	char *text = file->private_data;
	ssize_t written;

	if (text != kept)
		return -EPERM;
	written = simple_write_to_buffer(text, sizeof(kept) - 1, pos, from, count);
	if (written > 0)
		text[*pos] = 0;
	return written;
}

static const struct file_operations text_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= read_text,
	.write	= write_text,
	.llseek	= default_llseek,
};

static struct dentry *tree;

static void directories(struct kunit *test)
{
	struct dentry *dir, *inner;
	unsigned int links = d_inode(tree)->i_nlink;

	dir = create_dir("dir", tree);
	KUNIT_ASSERT_NOT_NULL(test, dir);
	KUNIT_ASSERT_FALSE(test, IS_ERR(dir));
	KUNIT_EXPECT_PTR_EQ(test, dir->d_parent, tree);
	KUNIT_EXPECT_EQ(test, d_inode(dir)->i_mode, S_IFDIR | 0750);
	KUNIT_EXPECT_EQ(test, d_inode(dir)->i_nlink, 2);
	KUNIT_EXPECT_EQ(test, d_inode(tree)->i_nlink, links + 1);
	KUNIT_EXPECT_NULL(test, create_dir("dir", tree));
	KUNIT_EXPECT_NULL(test, tracefs_create_file("dir", 0644, tree, kept, &text_fops));
	inner = create_dir("dir", dir);
	KUNIT_ASSERT_NOT_NULL(test, inner);
	KUNIT_EXPECT_NOT_NULL(test, tracefs_create_file("file", 0600, inner, other, &text_fops));
	KUNIT_EXPECT_EQ(test, d_inode(dir)->i_nlink, 3);
	/* With all that is in it, and its name is free again. */
	remove_tree(dir);
	KUNIT_EXPECT_EQ(test, d_inode(tree)->i_nlink, links);
	dir = create_dir("dir", tree);
	KUNIT_ASSERT_NOT_NULL(test, dir);
	KUNIT_EXPECT_TRUE(test, simple_empty(dir));
	remove_tree(dir);
	remove_tree(NULL);
	remove_tree(ERR_PTR(-ENOENT));
}

static void files(struct kunit *test)
{
	struct dentry *file = tracefs_create_file("made", 0604, tree, other, &text_fops);
	struct inode *inode;

	KUNIT_ASSERT_NOT_NULL(test, file);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	inode = d_inode(file);
	/* Without a type it is a plain one. */
	KUNIT_EXPECT_EQ(test, inode->i_mode, S_IFREG | 0604);
	KUNIT_EXPECT_PTR_EQ(test, inode->i_private, (void *)other);
	KUNIT_EXPECT_PTR_EQ(test, inode->i_fop, &text_fops);
	KUNIT_EXPECT_EQ(test, inode->i_nlink, 1);
	KUNIT_EXPECT_TRUE(test, uid_eq(inode->i_uid, d_inode(tree)->i_uid));
	KUNIT_EXPECT_TRUE(test, gid_eq(inode->i_gid, d_inode(tree)->i_gid));
	KUNIT_EXPECT_NULL(test, tracefs_create_file("made", 0644, tree, kept, &text_fops));
	KUNIT_EXPECT_NULL(test, create_dir("made", tree));
	KUNIT_EXPECT_PTR_EQ(test, inode->i_private, (void *)other);
	remove_tree(file);
	file = tracefs_create_file("made", S_IFREG | 0440, tree, kept, &text_fops);
	KUNIT_ASSERT_NOT_NULL(test, file);
	KUNIT_EXPECT_EQ(test, d_inode(file)->i_mode, S_IFREG | 0440);
	remove_tree(file);
}

/* In the root, where no parent is named. */
static void in_root(struct kunit *test)
{
	struct dentry *file = tracefs_create_file("kunit_file", 0444, NULL, other, &text_fops);

	KUNIT_ASSERT_NOT_NULL(test, file);
	KUNIT_EXPECT_PTR_EQ(test, file->d_parent, tree->d_parent);
	KUNIT_EXPECT_TRUE(test, IS_ROOT(file->d_parent));
	remove_tree(file);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(directories),
	KUNIT_CASE(files),
	KUNIT_CASE(in_root),
	{}
};

static struct kunit_suite suite = {
	.name		= "tracefs",
	.test_cases	= cases,
};

kunit_test_suite(suite);

static int __init begin(void)
{
	struct dentry *inner;
	int ret = find_internal(internal, ARRAY_SIZE(internal));

	if (ret)
		return ret;
	tree = create_dir("kunit", NULL);
	if (!tree)
		return -ENOMEM;
	inner = create_dir("inner", tree);
	if (inner && tracefs_create_file("kept", 0640, tree, kept, &text_fops) &&
	    tracefs_create_file("other", 0440, inner, other, &text_fops) &&
	    tracefs_create_file("nothing", 0600, inner, NULL, NULL))
		return 0;
	remove_tree(tree);
	return -ENOMEM;
}

static void __exit end(void)
{
	remove_tree(tree);
}

module_init(begin);
module_exit(end);

MODULE_DESCRIPTION("KUnit tests of <linux/tracefs.h>");
MODULE_LICENSE("GPL");
