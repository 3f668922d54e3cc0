// SPDX-License-Identifier: GPL-2.0
/* What include/linux/bootconfig.h has is init code: it is called while init memory is there. */

#include <linux/bootconfig.h>

__rust_helper struct xbc_node *__ref rust_helper_rtrace_bootconfig_key(struct xbc_node *parent, const char *name)
{
	struct xbc_node *node = xbc_node_find_subkey(parent, name);

	return node && xbc_node_is_key(node) ? node : NULL;
}

__rust_helper struct xbc_node *__ref rust_helper_rtrace_bootconfig_first(struct xbc_node *key)
{
	return xbc_node_get_subkey(key);
}

__rust_helper struct xbc_node *__ref rust_helper_rtrace_bootconfig_next(struct xbc_node *key)
{
	return xbc_node_get_next(key);
}

__rust_helper struct xbc_node *__ref rust_helper_rtrace_bootconfig_value(struct xbc_node *key)
{
	struct xbc_node *child = xbc_node_get_child(key);

	return child && xbc_node_is_value(child) ? child : NULL;
}

__rust_helper struct xbc_node *__ref rust_helper_rtrace_bootconfig_next_value(struct xbc_node *value)
{
	return xbc_node_get_child(value);
}

__rust_helper const char *__ref rust_helper_rtrace_bootconfig_text(struct xbc_node *node)
{
	return xbc_node_get_data(node);
}
